//! What a person may see of the instance on his channel: policyd knows who he is, so it says what he is shown. The owner
//! sees everything that is not said or done in a turn; anybody else what is at work, and what he has caused himself.

use metnos_proto::doc::executor::ExecutorSeen;
use metnos_proto::edge::RpcError;
use metnos_proto::executor::{Example, Manifest};
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::{Lang, Refusal, RefusalCode, Standing};
use metnos_proto::msg::memoryd::{PageOf, PageQuery, QueryResult, RememberedOf};
use metnos_proto::msg::people::{MAX_LOOKED_FOR, MAX_PAGE, ViewRequest, ViewSubject};
use metnos_proto::msg::policyd::{ExecutorRow, ExecutorState};
use metnos_proto::payload::Sealed;

use crate::executors::Executors;
use crate::people::principal::stranger;

/// The most examples that are shown of an executor.
const MAX_EXAMPLES: usize = 3;

impl Executors {
    /// One page for whoever that is.
    ///
    /// # Errors
    /// When he is a stranger, it is not for him, or memoryd does not answer.
    pub(crate) async fn view(&self, ask: &ViewRequest) -> Result<(QueryResult, Sealed), Refusal> {
        let principal = self.people.who(ask.channel, &ask.sender)?;
        let is_owner = match principal.standing {
            Standing::Owner => true,
            Standing::Adult | Standing::Guest => false,
            Standing::Stranger => return Err(stranger(&principal)),
        };
        let lines = ask.lines.clamp(1, MAX_PAGE);
        let page = |principal: String| PageOf { principal, from: ask.from, lines };
        let wanted = match ask.at {
            ViewSubject::Executors => {
                let lang = self.people.lang_of(&principal.name);
                return self.executors_of((is_owner, lang), ask.from, lines);
            }
            ViewSubject::Mnests if is_owner => PageQuery::Mnests(page(String::new())),
            ViewSubject::Mnests => {
                let why = "what the house has learnt from use, only its owner sees";
                return Err(Refusal::new(RefusalCode::Denied, "house.owner", why));
            }
            ViewSubject::Schedules => PageQuery::Schedules(page(principal.name)),
            // Nobody reads along: also the owner only what he has said himself.
            ViewSubject::Exchanges => PageQuery::Exchanges(page(principal.name)),
            ViewSubject::Remembered if ask.words.len() > MAX_LOOKED_FOR => {
                let why = format!("what is looked for has {} bytes, and at most {MAX_LOOKED_FOR}", ask.words.len());
                return Err(Refusal::new(RefusalCode::Invalid, "look.words", why));
            }
            ViewSubject::Remembered => {
                PageQuery::Remembered(RememberedOf { page: page(principal.name), words: ask.words.clone() })
            }
            ViewSubject::Audit if is_owner => PageQuery::Audit(page(String::new())),
            ViewSubject::Audit => PageQuery::Audit(page(principal.name)),
        };
        let (looked, [page]) =
            self.base.memory.query_page(TraceId::NONE, wanted, []).await.map_err(RpcError::into_refusal)?;
        Ok((looked, page))
    }

    fn executors_of(
        &self,
        (is_owner, lang): (bool, Lang),
        from: u64,
        lines: u32,
    ) -> Result<(QueryResult, Sealed), Refusal> {
        let is_at_work = |row: &ExecutorRow| matches!(row.state, ExecutorState::Active);
        // What was made for this instance may say what the instance is about: a guest sees the seeds.
        let may_see = |row: &ExecutorRow| is_owner || is_at_work(row) && self.is_seed(&row.id.name);
        let rows: Vec<ExecutorRow> = self.registry.borrow().list();
        let all: Vec<&ExecutorRow> = rows.iter().filter(|row| may_see(row)).collect();
        let begin = usize::try_from(from).unwrap_or(usize::MAX).min(all.len());
        let end = begin.saturating_add(lines as usize).min(all.len());
        let unwritten = |why: String| Refusal::new(RefusalCode::Internal, "look.page", why);
        let mut page = String::new();
        for row in &all[begin..end] {
            let manifest = self.registry.borrow().manifest(&row.id);
            page += &serde_json::to_string(&seen(row, manifest.as_ref(), (is_owner, lang)))
                .map_err(|error| unwritten(error.to_string()))?;
            page.push('\n');
        }
        let next = if end < all.len() { end as u64 } else { 0 };
        let sealed = Sealed::new(page.as_bytes()).map_err(|error| unwritten(error.to_string()))?;
        Ok((QueryResult { lines: u32::try_from(end - begin).unwrap_or(u32::MAX), next }, sealed))
    }

    fn is_seed(&self, name: &str) -> bool {
        let registry = self.registry.borrow();
        registry.row_of(name).is_some_and(|row| !registry.is_grown(row))
    }
}

fn seen(row: &ExecutorRow, manifest: Option<&Manifest>, (is_owner, lang): (bool, Lang)) -> ExecutorSeen {
    let works = matches!(row.state, ExecutorState::Active);
    let examples = manifest.filter(|_| works).map_or(&[][..], |manifest| &manifest.executor.examples);
    let speaks = |example: &&Example| metnos_reflex::spoken_in(example.say()) == Some(lang);
    ExecutorSeen {
        name: row.id.name.clone(),
        version: row.id.version.clone(),
        state: (&row.state).into(),
        summary: manifest.map_or_else(|| row.summary.clone(), |manifest| manifest.executor.summary.clone()),
        class: row.class.clone(),
        why: (is_owner && !row.why.is_empty()).then(|| row.why.clone()),
        examples: examples.iter().filter(speaks).take(MAX_EXAMPLES).map(|example| example.say().to_owned()).collect(),
    }
}
