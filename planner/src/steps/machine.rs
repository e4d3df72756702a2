//! The turn itself: a state machine from what has happened to what is to be asked. It asks for funds before it thinks,
//! registers the intent before the first act, and ends within its bounds whatever a model says.

use metnos_proto::ids::HandleId;
use metnos_proto::msg::common::{CallRef, Lang, Outcome, Refusal};
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::msg::policyd::MAX_SLOTS;
use metnos_proto::prompt::{Message, Prompt, Reply, Stop};
use metnos_reflex::answer::{Rendered, Template, speech as told};
use metnos_reflex::look_up::{answers, best, finds_best, has_all};
use metnos_texts::{Key, say as sentence};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::choices::Choice;
use super::fields::{self, Filled, Kind};
use super::purse::{Price, Purse};
use super::results;
use super::talk::{Setting, shortened};
use super::thoughts::{self, Chosen, Finding};
use super::{CHOICE_TOKENS, FILL_TOKENS, MAX_NAMES, MAX_ROUNDS, MAX_USELESS, READ_TOKENS};
use crate::thinking::calls::{CallEntry, CallRejection, Calls, RunResult, State};
use crate::thinking::core::{Ask, Event, Settled, WAITING};
use crate::thinking::reply::Draft;
use crate::thinking::said::{self, Act, Became};
use crate::thinking::speech::{self, EndReason};
use crate::thinking::text_calls::looks_like_call;
use crate::thinking::{BYTES_PER_TOKEN, Wish, data, intent};

/// How mind's rules begin by which a thought is refused for want of funds; also when a new mind knows of none.
const FUNDS: &str = "mind.fund";
/// From how many bytes on an answer that stands in the last prompt is no answer; a shorter one may be meant.
const MIN_ECHO: usize = 24;
/// How much of the lines that were found is quoted, in bytes.
const MAX_QUOTE: usize = 480;
/// What is shown in the place of data for which the window of the model has no room any more.
const LEFT_OUT: &str = "(shown before, and left out now)";
/// Words after which a request goes on, in English and Italian.
const GOES_ON: [&str; 6] = ["and", "then", "also", "e", "poi", "anche"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    New,
    Funding,
    Thinking,
    Intending,
    Acting,
    Suspended,
    Over,
}

/// What the thought is about that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Step {
    /// Nothing: the files are searched for what a question is about.
    Look,
    Choose,
    Fill,
    Read,
    Write,
    More,
}

/// Whether a text has a word in it.
fn says_something(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// A turn with a small model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepLoop {
    setting: Setting,
    messages: Vec<Message>,
    calls: Calls,
    purse: Purse,
    stage: Stage,
    step: Step,
    /// The executor that was chosen, and its call once there is one.
    chosen: Option<(String, Option<CallRef>)>,
    /// Executors that were tried and did not help, or have been used.
    spent: Vec<String>,
    rounds: (u32, u32),
    /// The most tokens that the model reads and writes at once; 0 when that is not known.
    window: u32,
    /// What the person was told.
    told: String,
    /// The data that was shown last.
    shown: String,
    /// The lines that hold all words of a question.
    #[serde(default)]
    looked: String,
}

impl StepLoop {
    /// A turn that begins. `window` is the model's, 0 when it is not known.
    #[must_use]
    pub fn new(setting: Setting, window: u32) -> Self {
        let messages = vec![Message::User { text: setting.request() }];
        Self {
            setting,
            messages,
            calls: Calls::default(),
            purse: Purse::default(),
            stage: Stage::New,
            step: Step::Choose,
            chosen: None,
            spent: Vec::new(),
            rounds: (1, 0),
            window,
            told: String::new(),
            shown: String::new(),
            looked: String::new(),
        }
    }

    /// The calls, for anyone who carries out an ask.
    #[must_use]
    pub const fn calls(&self) -> &Calls {
        &self.calls
    }

    /// The language of the words.
    #[must_use]
    pub const fn lang(&self) -> Lang {
        self.setting.lang
    }

    /// What is asked first.
    pub fn start(&mut self) -> Vec<Ask> {
        match self.stage {
            Stage::New => self.look().unwrap_or_else(|| self.think()),
            Stage::Funding | Stage::Thinking | Stage::Intending | Stage::Acting | Stage::Suspended | Stage::Over => {
                Vec::new()
            }
        }
    }

    /// Searches the files for what a question is about, before the model is asked anything: it searches worse than it reads.
    fn look(&mut self) -> Option<Vec<Ask>> {
        let finder = self.setting.choices.iter().find(|one| one.is_open && finds_best(&one.candidate))?;
        let field = finder.fields.iter().find(|field| field.kind == Kind::Words)?;
        if self.setting.topic.is_empty() {
            return None;
        }
        let mut arguments = Map::from_iter([(field.name.clone(), Value::from(self.setting.topic.as_str()))]);
        best(&finder.candidate, &mut arguments);
        let draft = Draft { executor: finder.name().to_owned(), arguments: Value::Object(arguments) };
        self.step = Step::Look;
        self.chosen = Some((draft.executor.clone(), None));
        Some(self.begin(vec![draft]))
    }

    /// Whether the model may answer by itself: a fact only from what was said before.
    const fn may_answer(&self) -> bool {
        !self.setting.is_for_fact || self.setting.has_talk
    }

    /// Whether what was said before bears out an answer.
    fn was_said(&self, answer: &str) -> bool {
        let (said, words) = (&self.setting.around, &self.setting.words);
        self.setting.has_talk && results::bears_out(said, words, answer) && results::adds(said, words, answer)
    }

    /// Nothing that was looked at says it.
    fn found_nothing(&mut self) -> Vec<Ask> {
        let why = sentence(self.setting.lang, Key::StepsNotFound);
        self.end(TurnEnd::Unsuccessful, why)
    }

    /// The files say nothing about the question: the model chooses, as if they had not been searched.
    fn look_elsewhere(&mut self) -> Vec<Ask> {
        self.spent.extend(self.chosen.take().map(|(name, _)| name));
        self.step = Step::Choose;
        if !self.may_answer() && self.offered().is_empty() {
            return self.found_nothing();
        }
        self.think()
    }

    /// What follows from an event. One that nobody waits for changes nothing.
    pub fn on(&mut self, event: Event) -> Vec<Ask> {
        match (self.stage, event) {
            (Stage::Funding, Event::Funded(0)) => self.broken(&EndReason::UsedUp),
            (Stage::Funding, Event::Funded(tokens)) => {
                self.purse.grant(tokens);
                let price = self.purse.next();
                self.ask(price)
            }
            (Stage::Funding, Event::NotFunded(no)) => self.broken(&EndReason::Unfunded(no)),
            (Stage::Thinking, Event::Thought(reply, tokens)) => {
                self.purse.spend(tokens);
                self.has_thought(&reply)
            }
            (Stage::Thinking, Event::NoThought(no)) if no.rule.starts_with(FUNDS) && self.purse.beg() => self.think(),
            (Stage::Thinking, Event::NoThought(no)) => self.broken(&EndReason::Unasked(no)),
            (Stage::Intending, Event::Frozen) => {
                self.stage = Stage::Acting;
                self.act()
            }
            (Stage::Acting, Event::Ran(place, left)) => {
                self.calls.ran(place, left);
                self.act()
            }
            (Stage::Acting, Event::Denied(place, no)) => self.denied(place, &no),
            (Stage::Acting, Event::Released(place, bytes, _)) => self.released(place, &bytes),
            (Stage::Acting, Event::NotReleased(_, no)) => self.refused(&no),
            (Stage::Suspended, Event::Settled(acts)) => self.settled(acts),
            (Stage::Suspended, Event::NotSuspended) => self.end(TurnEnd::Denied, speech::waits(self.setting.lang)),
            (
                Stage::New
                | Stage::Funding
                | Stage::Thinking
                | Stage::Intending
                | Stage::Acting
                | Stage::Suspended
                | Stage::Over,
                _,
            ) => Vec::new(),
        }
    }

    // ---- thinking --------------------------------------------------------

    fn think(&mut self) -> Vec<Ask> {
        let Some(tokens) = self.fit() else { return self.broken(&EndReason::TooLong) };
        let price = self.purse.price(tokens);
        self.ask(price)
    }

    fn ask(&mut self, price: Price) -> Vec<Ask> {
        match price {
            Price::Bound => self.broken(&EndReason::Bound),
            Price::Wanted(tokens) => {
                self.stage = Stage::Funding;
                vec![Ask::Fund(tokens)]
            }
            Price::Paid(thought) => {
                self.stage = Stage::Thinking;
                vec![Ask::Think { thought, prompt: Box::new(self.prompt()), max_tokens: self.most() }]
            }
        }
    }

    const fn most(&self) -> u32 {
        match self.step {
            Step::Look | Step::Choose | Step::Write | Step::More => CHOICE_TOKENS,
            Step::Fill => FILL_TOKENS,
            Step::Read => READ_TOKENS,
        }
    }

    fn prompt(&self) -> Prompt {
        let names = self.offered();
        let schema = match self.step {
            Step::Look | Step::Choose => thoughts::choice_schema(&names, self.may_answer()),
            Step::More => thoughts::more_schema(&names),
            Step::Read => thoughts::finding_schema(),
            Step::Write => thoughts::text_schema(),
            Step::Fill => {
                let fields = self.choice().map_or(&[][..], |choice| &choice.fields);
                fields::schema(fields, &self.setting.names)
            }
        };
        self.setting.prompt(&self.messages, schema)
    }

    /// The executors that may be chosen now, in the order in which they are shown. What reads files is one of them once a
    /// result has named some.
    fn offered(&self) -> Vec<&str> {
        let has_address = self.setting.words.contains("://");
        let reads = |one: &Choice| self.setting.reader.as_ref().is_some_and(|reader| reader.executor == one.name());
        let open = self.setting.choices.iter().filter(|one| one.is_open || self.rounds.0 > 1 && reads(one));
        let possible = open.filter(|one| one.is_possible(&self.setting.names, has_address));
        let mut names: Vec<&str> =
            possible.map(Choice::name).filter(|name| !self.spent.iter().any(|spent| spent == name)).collect();
        names.sort_unstable();
        names
    }

    fn choice(&self) -> Option<&Choice> {
        let (name, _) = self.chosen.as_ref()?;
        self.setting.choices.iter().find(|one| one.name() == name)
    }

    /// Leaves out what was shown first until the model's window holds the prompt; how many tokens it takes, about.
    fn fit(&mut self) -> Option<u64> {
        loop {
            let bytes = self.setting.system().len()
                + self
                    .messages
                    .iter()
                    .map(|message| serde_json::to_vec(message).map_or(0, |bytes| bytes.len()))
                    .sum::<usize>();
            let tokens = bytes.div_ceil(BYTES_PER_TOKEN) as u64 + u64::from(self.most());
            if self.window == 0 || tokens <= u64::from(self.window) {
                return Some(tokens);
            }
            let last = self.messages.len().saturating_sub(1);
            let mut shown = self.messages[..last].iter_mut().skip(1).filter_map(|message| match message {
                Message::User { text } if text.len() > LEFT_OUT.len() => Some(text),
                Message::User { .. } | Message::Assistant { .. } | Message::Results { .. } => None,
            });
            LEFT_OUT.clone_into(shown.next()?);
        }
    }

    fn has_thought(&mut self, reply: &Reply) -> Vec<Ask> {
        match reply.stop {
            Stop::Refused => {
                return self.end(TurnEnd::Unsuccessful, speech::why(&EndReason::Refused, self.setting.lang));
            }
            Stop::Length if self.step == Step::Read && self.can_quote() => return self.quote(),
            Stop::Length => return self.end(TurnEnd::Unsuccessful, speech::why(&EndReason::CutOff, self.setting.lang)),
            Stop::End | Stop::Calls | Stop::Stopped => {}
        }
        let text = reply.text.trim();
        match self.step {
            Step::Look | Step::Choose | Step::More => match thoughts::choice(text, &self.offered()) {
                Ok(chosen) => self.has_chosen(text, chosen),
                Err(why) => self.mend(&why),
            },
            Step::Fill => match self.drafts(text) {
                Ok(drafts) => {
                    self.heard(text);
                    self.begin(drafts)
                }
                Err(why) => self.mend(&why),
            },
            Step::Write => match thoughts::written(text) {
                Ok(said) if self.echoes(&said) => self.has_no_answer(),
                Ok(said) => self.answer(&said),
                Err(why) => self.mend(&why),
            },
            Step::Read => match thoughts::finding(text) {
                Ok(finding) => self.has_found(text, &finding),
                Err(why) => self.mend(&why),
            },
        }
    }

    /// Whether an answer only repeats a part of the last prompt.
    fn echoes(&self, said: &str) -> bool {
        let last = match self.messages.last() {
            Some(Message::User { text }) => text.as_str(),
            Some(Message::Assistant { .. } | Message::Results { .. }) | None => "",
        };
        let said = said.trim().trim_end_matches(['.', '…']).to_lowercase();
        said.len() >= MIN_ECHO && last.to_lowercase().contains(&said)
    }

    fn has_no_answer(&mut self) -> Vec<Ask> {
        if self.calls.each().next().is_some() {
            return self.found_nothing();
        }
        let why = sentence(self.setting.lang, Key::StepsCannot);
        self.end(TurnEnd::Unsuccessful, why)
    }

    fn heard(&mut self, text: &str) {
        self.messages.push(Message::Assistant { text: text.to_owned(), calls: Vec::new() });
    }

    /// Says once what is wrong with a reply, and asks again.
    fn mend(&mut self, why: &str) -> Vec<Ask> {
        self.rounds.1 += 1;
        if self.rounds.1 >= MAX_USELESS {
            if self.step == Step::Read && self.can_quote() {
                return self.quote();
            }
            // What it has looked at did not help it to an answer.
            if self.calls.each().next().is_some_and(|one| matches!(one.state, State::Ran(_))) {
                return self.found_nothing();
            }
            return self.broken(&EndReason::Useless);
        }
        let wrong = format!(
            "Your last reply could not be used: {}. Reply in the form that is asked for.",
            data::line(why, 120)
        );
        match self.messages.last_mut() {
            Some(Message::User { text }) => text.push_str(&format!("\n({wrong})")),
            Some(Message::Assistant { .. } | Message::Results { .. }) | None => {
                self.messages.push(Message::User { text: wrong });
            }
        }
        self.think()
    }

    // ---- choosing and filling ---------------------------------------------

    fn has_chosen(&mut self, text: &str, chosen: Chosen) -> Vec<Ask> {
        match chosen {
            // Whatever server does not hold to the schema: a fact comes from what was read.
            Chosen::Answer(said) | Chosen::AskBack(said) if self.setting.is_for_fact && !self.was_said(&said) => {
                self.found_nothing()
            }
            // Dots stand in the examples for what is to be said, and a small model copies them.
            Chosen::Answer(said) | Chosen::AskBack(said) if !says_something(&said) => {
                self.heard(text);
                let order = self.setting.asks_for_text();
                self.messages.push(Message::User { text: order });
                self.step = Step::Write;
                self.think()
            }
            Chosen::Answer(said) | Chosen::AskBack(said) if self.echoes(&said) => self.has_no_answer(),
            Chosen::Answer(said) | Chosen::AskBack(said) => self.answer(&said),
            Chosen::Cannot if self.step == Step::Choose && !self.looked.is_empty() => self.found_nothing(),
            Chosen::Cannot if self.step == Step::Choose => {
                let why = sentence(self.setting.lang, Key::StepsCannot);
                let wish = Wish::of(&self.setting.words);
                self.stage = Stage::Over;
                vec![Ask::End { end: TurnEnd::Unsuccessful, why, wish }]
            }
            Chosen::Cannot | Chosen::Done => self.end(TurnEnd::Answered, String::new()),
            Chosen::Tool(name) => {
                self.heard(text);
                self.chosen = Some((name.clone(), None));
                let Some(choice) = self.choice() else { return self.broken(&EndReason::Useless) };
                if choice.fields.is_empty() {
                    let drafts = vec![self.draft(&name, Map::new())];
                    return self.begin(drafts);
                }
                let asked = self.setting.asks_for(choice);
                self.messages.push(Message::User { text: asked });
                self.step = Step::Fill;
                self.think()
            }
        }
    }

    /// The calls that filled arguments make: the executor's own, behind those that read the files it is to have the texts of.
    fn drafts(&self, text: &str) -> Result<Vec<Draft>, String> {
        let choice = self.choice().ok_or("nothing was chosen")?;
        let mut filled = fields::filled(&choice.fields, &self.setting.names, thoughts::object(text)?)?;
        if !choice.reads() && !choice.is_deed() {
            // What leaves the house with a request is said by the person: a small model takes it from an example.
            self.keep_said(choice, &mut filled)?;
        }
        let (mut drafts, mut arguments) = (Vec::new(), Map::new());
        for (name, value) in filled {
            let value = match value {
                Filled::Value(value) => value,
                Filled::File(path) => {
                    let reader = self.setting.reader.as_ref().ok_or("no tool reads files")?;
                    let place = self.calls.next().0 + u16::try_from(drafts.len()).unwrap_or(u16::MAX);
                    let path = Map::from_iter([(reader.argument.clone(), Value::from(path))]);
                    drafts.push(Draft { executor: reader.executor.clone(), arguments: Value::Object(path) });
                    let reference = format!("c{place}#/{}", reader.text);
                    Value::Object(Map::from_iter([("$ref".to_owned(), Value::from(reference))]))
                }
            };
            arguments.insert(name, value);
        }
        drafts.push(self.draft(choice.name(), arguments));
        Ok(drafts)
    }

    /// Leaves out the texts that do not stand in the request.
    fn keep_said(&self, choice: &Choice, filled: &mut Vec<(String, Filled)>) -> Result<(), String> {
        let words = self.setting.words.to_lowercase();
        filled.retain(|(_, value)| match value {
            Filled::Value(Value::String(text)) => words.contains(&text.to_lowercase()),
            Filled::Value(_) | Filled::File(_) => true,
        });
        let is_there = |field: &fields::Field| !field.required || filled.iter().any(|(name, _)| *name == field.name);
        match choice.fields.iter().find(|field| !is_there(field)) {
            Some(field) => Err(format!("`{}` must be words of the request", field.name)),
            None => Ok(()),
        }
    }

    /// A call with what the instance gives of itself.
    fn draft(&self, name: &str, mut arguments: Map<String, Value>) -> Draft {
        if let Some(choice) = self.setting.choices.iter().find(|one| one.name() == name) {
            metnos_reflex::at_home(&mut arguments, &choice.candidate.input, &self.setting.zone, &self.setting.offset);
        }
        Draft { executor: name.to_owned(), arguments: Value::Object(arguments) }
    }

    // ---- acting ----------------------------------------------------------

    fn begin(&mut self, drafts: Vec<Draft>) -> Vec<Ask> {
        let is_first = self.calls.each().next().is_none();
        let mut calls = self.calls.clone();
        let mut last = None;
        for draft in drafts {
            match calls.add(draft) {
                Ok(place) => last = Some(place),
                Err(CallRejection::Repeated(no)) => return self.refused(&no),
                Err(CallRejection::Say(why)) => return self.mend(&why),
                Err(CallRejection::Bound) => return self.broken(&EndReason::Bound),
            }
        }
        self.calls = calls;
        if let Some((_, place)) = &mut self.chosen {
            *place = last;
        }
        if is_first {
            self.stage = Stage::Intending;
            return vec![Ask::Intend(intent::slots(&self.calls, &[], MAX_SLOTS))];
        }
        self.stage = Stage::Acting;
        self.act()
    }

    /// Starts what can be started; when nothing runs any more, has the last result released.
    fn act(&mut self) -> Vec<Ask> {
        let started: Vec<Ask> = self.calls.start().into_iter().map(Ask::Act).collect();
        if !started.is_empty() || !self.calls.each().all(CallEntry::is_settled) {
            return started;
        }
        let Some((name, Some(place))) = self.chosen.clone() else { return self.broken(&EndReason::Useless) };
        // What it needed may have failed before it: then that is what is told.
        let failed =
            self.calls.each().find(|one| matches!(&one.state, State::Ran(left) if left.outcome != Outcome::Ok));
        let failed = failed.map(|one| one.place).filter(|at| *at < place && !self.ran(place));
        let place = failed.unwrap_or(place);
        match self.calls.get(place).map(|one| one.state.clone()) {
            Some(State::Ran(left)) => match told::outcome(left.outcome, self.setting.lang) {
                Some(_) if self.step == Step::Look => self.look_elsewhere(),
                Some(why) => self.end(TurnEnd::Unsuccessful, why),
                None if left.handle == HandleId::NONE => self.after_act(&name, None),
                None => vec![Ask::Release(place, left.handle)],
            },
            Some(State::Denied(_) | State::Waits(_) | State::Skipped(_) | State::Pending | State::Running) | None => {
                self.end(TurnEnd::Unsuccessful, told::unreadable(self.setting.lang))
            }
        }
    }

    fn ran(&self, place: CallRef) -> bool {
        matches!(self.calls.get(place).map(|one| &one.state), Some(State::Ran(_)))
    }

    fn denied(&mut self, place: CallRef, no: &Refusal) -> Vec<Ask> {
        if no.rule != WAITING {
            self.calls.denied(place, no);
            return if self.step == Step::Look { self.look_elsewhere() } else { self.refused(no) };
        }
        self.calls.waits(place, no);
        self.stage = Stage::Suspended;
        vec![Ask::Suspend]
    }

    fn settled(&mut self, acts: Vec<Settled>) -> Vec<Ask> {
        let waiting: Vec<(CallRef, String)> = self
            .calls
            .each()
            .filter(|one| matches!(one.state, State::Waits(_)))
            .map(|one| (one.place, one.executor.clone()))
            .collect();
        self.stage = Stage::Acting;
        for (place, executor) in waiting {
            match acts.iter().find(|act| act.executor == executor).and_then(|act| act.left.clone()) {
                Some(left) => self.calls.ran(place, left),
                None => return self.end(TurnEnd::Denied, sentence(self.setting.lang, Key::StepsNotAllowed)),
            }
        }
        self.act()
    }

    // ---- reading and answering ---------------------------------------------

    fn released(&mut self, place: CallRef, bytes: &[u8]) -> Vec<Ask> {
        let Some((executor, integrity)) = self.calls.get(place).and_then(|one| match &one.state {
            State::Ran(RunResult { label, .. }) => Some((one.executor.clone(), label.integrity)),
            State::Pending | State::Running | State::Denied(_) | State::Waits(_) | State::Skipped(_) => None,
        }) else {
            return Vec::new();
        };
        if self.step == Step::Look && !answers(&self.setting.words, bytes) {
            return self.look_elsewhere();
        }
        let rendered = self.template(place).map(|template| template.tell(bytes));
        if let Some(Rendered::Trouble(why)) = &rendered {
            return self.another(why);
        }
        let choice = self.setting.choices.iter().find(|one| one.name() == executor);
        if choice.is_some_and(|choice| !choice.reads())
            && let Some(Rendered::Answer(text)) = rendered
        {
            return self.after_act(&executor, Some(text));
        }
        let told = if let Some(Rendered::Answer(text)) = rendered { text } else { String::new() };
        match results::read(bytes, &told) {
            Ok(outcome) => {
                self.know(outcome.names);
                let text = self.setting.shows(&executor, integrity, &outcome.shown);
                self.shown = outcome.shown;
                if self.step == Step::Look && has_all(bytes) {
                    self.looked.clone_from(&self.shown);
                }
                self.messages.push(Message::User { text });
                self.step = Step::Read;
                self.think()
            }
            Err(_) => self.another(&told::unreadable(self.setting.lang)),
        }
    }

    /// How the result of a call reads.
    fn template(&self, place: CallRef) -> Option<Template> {
        let one = self.calls.get(place)?;
        let choice = self.setting.choices.iter().find(|choice| choice.name() == one.executor)?;
        let mut template = Template::of(&choice.candidate, self.setting.lang);
        if let Some(arguments) = one.arguments.as_object() {
            template = template.called(arguments, &self.setting.zone);
            template.tell_of(arguments.get("path").and_then(Value::as_str), Vec::new());
        }
        Some(template)
    }

    /// Files that a result has named may be read next; a tool that had none to read may be used then.
    fn know(&mut self, names: Vec<String>) {
        for name in names {
            if self.setting.names.len() < MAX_NAMES && !self.setting.names.contains(&name) {
                self.setting.names.push(name);
            }
        }
    }

    /// Something was done: its record is what is said of it. What is left of the request is asked for where it goes on.
    fn after_act(&mut self, name: &str, text: Option<String>) -> Vec<Ask> {
        let mut asks: Vec<Ask> = text.map(|text| self.say(text)).into_iter().collect();
        self.spent.push(name.to_owned());
        let mut words = self.setting.words.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        let goes_on = words.any(|word| GOES_ON.contains(&word.as_str()));
        if !goes_on || self.rounds.0 >= MAX_ROUNDS || self.offered().is_empty() {
            asks.extend(self.end(TurnEnd::Answered, String::new()));
            return asks;
        }
        self.rounds.0 += 1;
        let text = self.setting.asks_for_more(name);
        self.messages.push(Message::User { text });
        self.step = Step::More;
        asks.extend(self.think());
        asks
    }

    fn has_found(&mut self, text: &str, finding: &Finding) -> Vec<Ask> {
        if finding.found && results::bears_out(&self.shown, &self.setting.words, &finding.text) {
            if self.can_quote() && !results::adds(&self.shown, &self.setting.words, &finding.text) {
                return self.quote();
            }
            return self.answer(&finding.text);
        }
        self.heard(text);
        let why = sentence(self.setting.lang, Key::StepsNotFound);
        self.another(&why)
    }

    /// Whether what was shown are lines of files that say something about the question.
    fn can_quote(&self) -> bool {
        let finder =
            |name: &str| self.setting.choices.iter().any(|one| one.name() == name && finds_best(&one.candidate));
        !self.setting.topic.is_empty()
            && !self.shown.is_empty()
            && self.chosen.as_ref().is_some_and(|(name, _)| finder(name))
    }

    /// Where the model makes nothing of the lines that were found, the person reads them as they stand.
    fn quote(&mut self) -> Vec<Ask> {
        let text = format!("{}\n{}\n", told::found(self.setting.lang), shortened(&self.shown, MAX_QUOTE));
        let mut asks = vec![self.say(data::spoken(&text))];
        asks.extend(self.end(TurnEnd::Answered, String::new()));
        asks
    }

    /// What was tried did not help: another tool, or an honest end.
    fn another(&mut self, why: &str) -> Vec<Ask> {
        if let Some((name, _)) = self.chosen.take() {
            self.spent.push(name);
        }
        self.rounds.0 += 1;
        if self.rounds.0 > MAX_ROUNDS || self.offered().is_empty() {
            return self.end(TurnEnd::Unsuccessful, why.to_owned());
        }
        let text = self.setting.asks_again(&data::line(why, 300));
        self.messages.push(Message::User { text });
        self.step = Step::Choose;
        self.think()
    }

    /// What the model says to the person, unless it looks like anything but words.
    fn answer(&mut self, text: &str) -> Vec<Ask> {
        if looks_like_call(text) || !says_something(text) {
            return self.mend("text must be words for a person");
        }
        let mut asks = vec![self.say(text.trim().to_owned() + "\n")];
        asks.extend(self.end(TurnEnd::Answered, String::new()));
        asks
    }

    fn say(&mut self, text: String) -> Ask {
        self.told.push_str(&text);
        Ask::Say(text)
    }

    // ---- the end ---------------------------------------------------------

    /// What became of each call, for what stands below the answer.
    fn acts(&self) -> Vec<Act> {
        let lang = self.setting.lang;
        let one = |one: &CallEntry| {
            let (line, became) = match &one.state {
                State::Ran(left) if left.outcome == Outcome::Ok => (left.line, Became::Done { used: true }),
                State::Ran(left) => (left.line, Became::Failed(said::why_not(left.outcome, &left.class, lang))),
                State::Denied(why) => {
                    let why = self.calls.refusal(one).map_or_else(|| why.clone(), |no| metnos_texts::because(lang, no));
                    (0, Became::Refused(data::line(&why, 200)))
                }
                State::Pending | State::Running | State::Waits(_) | State::Skipped(_) => (0, Became::NotMade),
            };
            let choice = self.setting.choices.iter().find(|choice| choice.name() == one.executor);
            // What reads files for others is among the choices, or only reads.
            let class = choice.map_or(metnos_reflex::READ, |choice| choice.candidate.class.as_str()).to_owned();
            Act { executor: one.executor.clone(), class, line, became }
        };
        self.calls.each().map(one).collect()
    }

    fn refused(&mut self, no: &Refusal) -> Vec<Ask> {
        let why = metnos_texts::refusal(self.setting.lang, no);
        self.end(TurnEnd::Denied, why)
    }

    fn broken(&mut self, why: &EndReason) -> Vec<Ask> {
        let why = speech::why(why, self.setting.lang);
        self.end(TurnEnd::Broken, why)
    }

    fn end(&mut self, end: TurnEnd, why: String) -> Vec<Ask> {
        // Lines that hold all words of the question are no worse an answer than none, whatever the model made of them.
        if matches!(end, TurnEnd::Unsuccessful | TurnEnd::Broken) && !self.looked.is_empty() && self.told.is_empty() {
            self.shown = std::mem::take(&mut self.looked);
            return self.quote();
        }
        self.stage = Stage::Over;
        let (acts, lang) = (self.acts(), self.setting.lang);
        let (mut asks, mut why) = (Vec::new(), why);
        if self.told.trim().is_empty() {
            let done = said::done(&acts, lang);
            if !done.is_empty() {
                why = format!("{why}\n{done}").trim().to_owned();
            }
        } else {
            let below = said::below(&self.told, &acts, lang);
            asks.extend((!below.is_empty()).then_some(Ask::Below(below)));
        }
        asks.push(Ask::End { end, why: data::spoken(&why), wish: Wish::default() });
        asks
    }
}
