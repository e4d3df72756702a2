//! One run of drafts: what it costs is funded first; then a specification, examples, the function, its trial, its correction,
//! and the proof of its tests. The order of the stages is here; what each is made of is pure and stands in `draft`. Nothing that
//! is drafted runs but through policyd, in the profile `synth` (design: growth §1).

use std::rc::Rc;

use metnos_proto::doc::draft::{DraftEnd, DraftOrder, DraftReport, DraftTrial, Mutants, TriedInput};
use metnos_proto::doc::executor::CaseReport;
use metnos_proto::edge::RpcError;
use metnos_proto::edges::{CtlSyntd, SyntdMind, SyntdPolicyd, ctl_syntd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::{Client, Notes};
use metnos_proto::msg::common::{ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::drafting::{DraftStep, MAX_STEP, MAX_TRIAL_INPUTS, OfferDraft, TryDraft};
use metnos_proto::msg::mind::Draft;
use metnos_proto::msg::policyd::FundDrafts;
use metnos_proto::msg::sandboxd::BirthCase;
use metnos_proto::parcel::Texts;
use metnos_proto::payload::Sealed;
use metnos_proto::prompt::{Prompt, Reply};
use serde_json::{Map, Value};

use crate::draft::files::{self, VERSION};
use crate::draft::mutants::{self, MIN_KILLED};
use crate::draft::spec::{MIN_EXAMPLES, Spec};
use crate::draft::{code, prompts, strange};

/// The most drafts of the code that are written anew.
pub const MAX_CANDIDATES: u32 = 3;
/// How often each is corrected.
pub const MAX_REPAIRS: u32 = 2;
/// How free the choice of words is for each candidate, in hundredths.
const TEMPERATURES: [u16; MAX_CANDIDATES as usize] = [20, 60, 90];
/// The maximum number of failed tests in one repair prompt.
const MAX_FAILURES: usize = 4;
/// The tokens that a run asks for at once.
const TOKENS: u64 = 30_000;
/// The most tokens of one reply.
const MAX_REPLY_TOKENS: u32 = 1_500;

/// Whom a run asks.
#[derive(Debug)]
pub struct Peers {
    /// Funds it, has drafts tried, and takes one into the pool.
    pub policyd: Rc<Client<SyntdPolicyd>>,
    /// Has things written.
    pub mind: Rc<Client<SyntdMind>>,
}

/// A run that is open.
#[derive(Debug)]
pub struct Run<'a> {
    peers: &'a Peers,
    steps: Notes<CtlSyntd>,
    id: TurnId,
    thoughts: u32,
    day: String,
    report: DraftReport,
}

/// A draft that passes its tests.
#[derive(Debug)]
struct Survivor {
    code: String,
    cases: Vec<BirthCase>,
    weaknesses: Vec<String>,
}

/// What came of a trial.
enum Tried {
    /// It passes; and what came of the inputs.
    Passed(Vec<BirthCase>, Vec<TriedInput>),
    /// A test failed, or the tests could not be run: the text for the repair prompt.
    Failed(String),
    /// Its text is none that may run.
    Unfit(String),
}

impl<'a> Run<'a> {
    /// Has a run funded; its name.
    ///
    /// # Errors
    /// As policyd refuses it: no model has the role, a budget is used up, everything is stopped.
    pub async fn fund(peers: &Peers) -> Result<TurnId, Refusal> {
        let ask = FundDrafts { run: TurnId::NONE, tokens: TOKENS };
        let (funded, []) = peers.policyd.fund_drafts(TraceId::NONE, ask, []).await.map_err(RpcError::into_refusal)?;
        Ok(funded.run)
    }

    /// A run that is funded. `day` is that of its manifest, such as `2026-11-30`.
    #[must_use]
    pub fn new(peers: &'a Peers, id: TurnId, steps: Notes<CtlSyntd>, order: &DraftOrder, day: String) -> Self {
        let report = DraftReport {
            name: order.name.clone(),
            version: VERSION.to_owned(),
            run: id.to_string(),
            wish: order.wish.clone(),
            end: DraftEnd::Failed,
            why: String::new(),
            model: String::new(),
            summary: String::new(),
            candidates: 0,
            repairs: 0,
            cases: Vec::new(),
            mutants: Mutants::default(),
            weaknesses: Vec::new(),
            outputs: Vec::new(),
            tokens: 0,
            micro: 0,
            took_ms: 0,
            files: Map::new(),
        };
        Self { peers, steps, id, thoughts: 0, day, report }
    }

    /// Goes through all stages. What stands in the way of one is in the report.
    pub async fn draft(mut self, order: &DraftOrder, dry_run: bool) -> DraftReport {
        if let Err(refusal) = self.stages(order, dry_run).await {
            self.report.why = match refusal.remedy.as_str() {
                "" => refusal.why,
                remedy => format!("{} ({remedy})", refusal.why),
            };
        }
        self.report
    }

    async fn stages(&mut self, order: &DraftOrder, dry_run: bool) -> Result<(), Refusal> {
        let mut spec = self.specify(order).await?;
        self.report.name.clone_from(&spec.name);
        self.report.summary.clone_from(&spec.summary);
        if spec.examples.len() < MIN_EXAMPLES {
            self.exemplify(&mut spec).await?;
        }
        if spec.examples.len() < MIN_EXAMPLES || spec.examples.iter().all(|example| example.output.is_none()) {
            let why = format!("{} examples are too few: {MIN_EXAMPLES} are needed", spec.examples.len());
            return Err(failed(&why, "give examples of your own: `metnosctl synt run --example`"));
        }
        let mut best = self.best(&spec).await?;
        self.prove(&mut spec, &mut best).await?;
        self.report.weaknesses.extend(best.weaknesses);
        self.report.cases = best.cases.iter().map(shown).collect();
        let texts = files::write(&spec, &best.code, self.id, &self.day);
        self.report.outputs = self.outputs(&spec, &best.code, &order.inputs).await?;
        if let Value::Object(files) = texts.document() {
            self.report.files = files;
        }
        self.report.end = DraftEnd::Shown;
        if dry_run {
            "`dry_run` of [synt] is true (`metnosctl synt dry-run off`)".clone_into(&mut self.report.why);
            return Ok(());
        }
        self.offer(&spec, &texts).await
    }

    /// What is wanted: by the owner's examples, else by a model's specification.
    async fn specify(&mut self, order: &DraftOrder) -> Result<Spec, Refusal> {
        if let Some(spec) = Spec::of_examples(order) {
            return Ok(spec);
        }
        self.step("asks the model what goes in and out").await;
        let reply = self.think(&prompts::specify(&order.wish)).await?;
        Spec::of_reply(order, &reply)
            .map_err(|why| failed(&why, "give examples of your own: `metnosctl synt run --example`"))
    }

    /// More examples, before there is any code. A reply without any is no end: the owner's may do.
    async fn exemplify(&mut self, spec: &mut Spec) -> Result<(), Refusal> {
        self.step("asks the model for examples, before there is any code").await;
        let reply = self.think(&prompts::exemplify(spec)).await?;
        if let Err(why) = spec.add_examples(&reply) {
            self.step(&why).await;
        }
        Ok(())
    }

    /// The best draft that passes its tests: the first without a weakness, else the one with the fewest.
    async fn best(&mut self, spec: &Spec) -> Result<Survivor, Refusal> {
        let mut best: Option<Survivor> = None;
        let mut why = String::new();
        for temperature in TEMPERATURES {
            self.report.candidates += 1;
            self.step(&format!("has the function written ({} of {MAX_CANDIDATES})", self.report.candidates)).await;
            let reply = match self.think(&prompts::write(spec, temperature, &why)).await {
                Ok(reply) => reply,
                // One with weaknesses is better than none.
                Err(_) if best.is_some() => break,
                Err(refusal) => return Err(refusal),
            };
            let found = match code::of_reply(&reply) {
                Ok(code) => self.corrected(spec, code, &mut why).await?,
                Err(none) => {
                    why = none;
                    None
                }
            };
            let Some(found) = found else { continue };
            why = found.weaknesses.join("; ");
            if best.as_ref().is_none_or(|best| found.weaknesses.len() < best.weaknesses.len()) {
                best = Some(found);
            }
            if best.as_ref().is_some_and(|best| best.weaknesses.is_empty()) {
                break;
            }
        }
        best.ok_or_else(|| {
            failed(&format!("no draft passes its tests: {why}"), "another model may do it, or more examples")
        })
    }

    /// Tries a draft, and has it corrected with what has failed.
    async fn corrected(
        &mut self,
        spec: &Spec,
        mut code: String,
        why: &mut String,
    ) -> Result<Option<Survivor>, Refusal> {
        let strange = strange::inputs(spec);
        let again = strange::second_run(spec);
        let inputs: Vec<Map<String, Value>> = strange
            .iter()
            .map(|(_, input)| input.clone())
            .chain(again.iter().map(|example| example.input.clone()))
            .collect();
        for repair in 0..=MAX_REPAIRS {
            *why = match self.try_code(spec, &code, &inputs, true).await? {
                Tried::Passed(cases, came) => {
                    let mut weaknesses = strange::weaknesses(&strange, &came);
                    weaknesses.extend(strange::unsteady(spec, &again, came.get(strange.len()..).unwrap_or_default()));
                    return Ok(Some(Survivor { code, cases, weaknesses }));
                }
                Tried::Failed(why) | Tried::Unfit(why) => why,
            };
            if repair == MAX_REPAIRS {
                break;
            }
            self.report.repairs += 1;
            self.step(&format!("has it corrected: {why}")).await;
            let reply = self.think(&prompts::repair(spec, &code, why)).await?;
            match code::of_reply(&reply) {
                Ok(corrected) if corrected != code => code = corrected,
                // It has nothing more to say.
                Ok(_) | Err(_) => break,
            }
        }
        Ok(None)
    }

    /// How sharp the tests are; when they are blunt, a model is asked for more, and those that hold are kept.
    async fn prove(&mut self, spec: &mut Spec, best: &mut Survivor) -> Result<(), Refusal> {
        self.report.mutants = self.mutants(spec, &best.code).await?;
        if self.report.mutants.killed * 100 >= self.report.mutants.made * MIN_KILLED || spec.owners >= 2 * MIN_EXAMPLES
        {
            return Ok(());
        }
        let mut sharper = spec.clone();
        if self.exemplify(&mut sharper).await.is_err() {
            // The draft stays what it is, and the owner sees how blunt its tests are.
            return Ok(());
        }
        for example in sharper.examples.drain(spec.examples.len()..) {
            let mut with_it = spec.clone();
            with_it.examples.push(example);
            match self.try_code(&with_it, &best.code, &[], false).await? {
                Tried::Passed(cases, _) => (*spec, best.cases) = (with_it, cases),
                Tried::Failed(why) | Tried::Unfit(why) => {
                    self.report.weaknesses.push(format!("the model expects something else of it: {why}"));
                }
            }
        }
        self.report.mutants = self.mutants(spec, &best.code).await?;
        Ok(())
    }

    async fn mutants(&mut self, spec: &Spec, code: &str) -> Result<Mutants, Refusal> {
        let all = mutants::of(code);
        self.step(&format!("tries {} changed copies, which its tests must notice", all.len())).await;
        let mut counted = Mutants::default();
        for mutant in all {
            match self.try_code(spec, &mutant, &[], false).await? {
                Tried::Passed(..) => counted.made += 1,
                Tried::Failed(_) => {
                    counted.made += 1;
                    counted.killed += 1;
                }
                Tried::Unfit(_) => {}
            }
        }
        Ok(counted)
    }

    /// What comes of the further inputs of the order, as many at once as one trial takes. On a busy machine a test may run out of
    /// time that held before: a trial that fails is made once more.
    async fn outputs(
        &mut self,
        spec: &Spec,
        code: &str,
        inputs: &[Map<String, Value>],
    ) -> Result<Vec<TriedInput>, Refusal> {
        let mut all = Vec::new();
        for some in inputs.chunks(MAX_TRIAL_INPUTS) {
            let mut tried = self.try_code(spec, code, some, false).await?;
            if matches!(tried, Tried::Failed(_)) {
                tried = self.try_code(spec, code, some, false).await?;
            }
            match tried {
                Tried::Passed(_, came) => all.extend(came),
                Tried::Failed(why) | Tried::Unfit(why) => return Err(failed(&why, "")),
            }
        }
        Ok(all)
    }

    async fn offer(&mut self, spec: &Spec, texts: &Texts) -> Result<(), Refusal> {
        let ask = OfferDraft { run: self.id, id: id(spec), wish: spec.wish.clone(), model: self.report.model.clone() };
        let files = sealed(texts.document().to_string().as_bytes())?;
        let offered = self.peers.policyd.offer_draft(TraceId::NONE, ask, [files]).await;
        offered.map_err(RpcError::into_refusal)?;
        self.report.end = DraftEnd::Offered;
        Ok(())
    }

    /// Has a draft tried, with all tests or up to the first that fails.
    async fn try_code(
        &mut self,
        spec: &Spec,
        code: &str,
        inputs: &[Map<String, Value>],
        all: bool,
    ) -> Result<Tried, Refusal> {
        let texts = files::write(spec, code, self.id, &self.day);
        let Value::Object(files) = texts.document() else { return Ok(Tried::Unfit(String::new())) };
        let trial = DraftTrial { files, inputs: inputs.to_vec(), all };
        let trial = serde_json::to_vec(&trial).map_err(|error| failed(&error.to_string(), ""))?;
        let ask = TryDraft { run: self.id, id: id(spec) };
        let tried = self.peers.policyd.try_draft(TraceId::NONE, ask, [sealed(&trial)?]).await;
        let (tried, [came]) = match tried {
            Ok(tried) => tried,
            Err(RpcError::Refused(refusal)) => return unfit(refusal),
            Err(error) => return Err(error.into_refusal()),
        };
        let failed = tried.cases.iter().enumerate().filter(|(_, case)| !case.passed);
        let failed: Vec<String> = failed
            .take(MAX_FAILURES)
            .map(|(at, case)| format!("{}: {}", case.name, prompts::failure(spec, at, &case.detail)))
            .collect();
        if !failed.is_empty() {
            return Ok(Tried::Failed(failed.join("\n")));
        }
        let came = came.read().ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(Tried::Passed(tried.cases, came.unwrap_or_default()))
    }

    /// Asks the model, with more tokens where those of the run are used up.
    async fn think(&mut self, prompt: &Prompt) -> Result<String, Refusal> {
        let bytes = serde_json::to_vec(prompt).map_err(|error| failed(&error.to_string(), ""))?;
        for again in [false, true] {
            self.thoughts += 1;
            let ask = Draft { turn: self.id, thought: self.thoughts, max_tokens: MAX_REPLY_TOKENS };
            let (by, [reply, _]) = match self.peers.mind.draft(TraceId::NONE, ask, [sealed(&bytes)?]).await {
                Ok(thought) => thought,
                Err(RpcError::Refused(refusal)) if refusal.rule == "mind.fund" && !again => {
                    let more = FundDrafts { run: self.id, tokens: TOKENS };
                    let funded = self.peers.policyd.fund_drafts(TraceId::NONE, more, []).await;
                    funded.map_err(RpcError::into_refusal)?;
                    continue;
                }
                Err(error) => return Err(error.into_refusal()),
            };
            self.report.tokens = self.report.tokens.saturating_add(by.usage.tokens());
            self.report.micro = self.report.micro.saturating_add(by.usage.micro);
            self.report.model = by.model;
            let reply: Option<Reply> = reply.read().ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            return reply.map(|reply| reply.text).ok_or_else(|| failed("the model's reply cannot be read", ""));
        }
        Err(failed("the tokens of this run are used up", "`metnosctl budget show metnos:synth`"))
    }

    async fn step(&self, text: &str) {
        let mut text = text.to_owned();
        text.truncate(text.floor_char_boundary(MAX_STEP));
        // An owner who does not look on any more has the report.
        let _unseen = self.steps.send(ctl_syntd::Note::DraftStep(DraftStep { text })).await;
    }
}

fn id(spec: &Spec) -> ExecutorId {
    ExecutorId { name: spec.name.clone(), version: VERSION.to_owned() }
}

fn shown(case: &BirthCase) -> CaseReport {
    CaseReport { name: case.name.clone(), passed: case.passed, detail: case.detail.clone() }
}

fn failed(why: &str, remedy: &str) -> Refusal {
    Refusal::new(RefusalCode::Invalid, "draft.failed", why.to_owned()).remedy(remedy)
}

fn sealed(bytes: &[u8]) -> Result<Sealed, Refusal> {
    Sealed::new(bytes).map_err(|error| Refusal::new(RefusalCode::Internal, "draft.sealed", error.to_string()))
}

/// A refusal of the draft itself is for the model to mend; any other ends the run.
fn unfit(refusal: Refusal) -> Result<Tried, Refusal> {
    match refusal.rule.as_str() {
        "birth.tests" => Ok(Tried::Failed(refusal.why)),
        "birth.scan" => Ok(Tried::Unfit(refusal.why)),
        _ => Err(refusal),
    }
}
