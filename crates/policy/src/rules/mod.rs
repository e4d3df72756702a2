//! The rules in order, first match (design: policy §7). An act that is neither covered nor
//! forbidden asks; what is forbidden is denied, and no approval can help it.

pub mod effects;
pub mod files;
pub mod guard;
pub mod net;

use metnos_proto::executor::guests::{self, Privacy};
use metnos_proto::executor::{Class, EVERYBODY, Role};
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{Label, Level};

use crate::call::fields::{CallRequest, Field, Fields, Source};
use crate::call::paths;
use crate::call::spec::Effect;
use crate::evidence::context::{Confirm, Context, MAX_QUESTIONS, Who, World};
use crate::evidence::intent::Fit;
use crate::evidence::results::Inputs;
use crate::rules::guard::shown;

/// What may become of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It may happen.
    Allow,
    /// It may, if a person says so.
    Ask,
    /// It may not.
    Deny,
}

impl Decision {
    /// The name used in a verdict.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What a rule says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// What may become of the call.
    pub decision: Decision,
    /// The rule that fired.
    pub rule: &'static str,
    /// Why, for a person.
    pub why: String,
}

impl Ruling {
    /// It may happen.
    #[must_use]
    pub fn allow(rule: &'static str, why: impl Into<String>) -> Self {
        Self { decision: Decision::Allow, rule, why: why.into() }
    }

    /// A person must say so.
    #[must_use]
    pub fn ask(rule: &'static str, why: impl Into<String>) -> Self {
        Self { decision: Decision::Ask, rule, why: why.into() }
    }

    /// It may not happen.
    #[must_use]
    pub fn deny(rule: &'static str, why: impl Into<String>) -> Self {
        Self { decision: Decision::Deny, rule, why: why.into() }
    }
}

/// Where one argument came from, for the card and the explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its pointer.
    pub pointer: String,
    /// What it is to the call.
    pub role: Role,
    /// Its label.
    pub label: Label,
    /// Who stands behind it.
    pub source: Source,
}

/// What was decided, and what follows when the call is carried out.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The rule that fired.
    pub ruling: Ruling,
    /// The arguments.
    pub fields: Vec<Shown>,
    /// How the call met the intent.
    pub fit: Fit,
    /// Endorsements that are used up with it.
    pub uses: Vec<Blake3>,
    /// What its output inherits.
    pub inputs: Inputs,
    /// What it does to the world.
    pub effect: Effect,
    /// Something foresaw it: a slot, or a context in which nothing untrusted was read.
    pub foreseen: bool,
}

impl Context {
    /// A question was put.
    pub fn asked(&mut self) {
        self.questions = self.questions.saturating_add(1);
    }

    /// The call is carried out: its slot and its endorsements are used.
    pub fn carried_out(&mut self, judgement: &Judgement) {
        if let Fit::Slot(at) = judgement.fit {
            self.intent.spend(at);
        }
        self.used.extend(judgement.uses.iter().copied());
        if !judgement.effect.reads() {
            self.confirmable = judgement.effect != Effect::Of(Class::Confirm);
        }
    }

    /// The call is not carried out: what would confirm it has nothing to confirm.
    pub fn dropped(&mut self, effect: Effect) {
        if !effect.reads() {
            self.confirmable = false;
        }
    }
}

/// Judges a call. Pure and total.
#[must_use]
pub fn judge(world: &World, context: &Context, asked: &CallRequest<'_>) -> Judgement {
    let fields = Fields::of(world, context, asked);
    let effect = asked.spec.effect;
    let case = Case { world, context, asked, fields: &fields };
    let mut ruling = first_match(&case);
    if ruling.decision == Decision::Ask && context.questions >= MAX_QUESTIONS {
        let why = format!(
            "{MAX_QUESTIONS} questions were put in this turn, which is the limit: it stops here ({})",
            ruling.why
        );
        ruling = Ruling::ask("turn.questions", why);
    }
    Judgement {
        ruling,
        fit: fields.fit,
        uses: fields.all.iter().filter_map(|field| field.key(&asked.spec.name)).collect(),
        inputs: Inputs { secret: files::opens_secret(&case), ..fields.inputs(context) },
        effect,
        foreseen: matches!(fields.fit, Fit::Slot(_)),
        fields: fields
            .all
            .iter()
            .map(|field| Shown {
                pointer: field.pointer.clone(),
                role: field.role,
                label: field.label,
                source: field.source,
            })
            .collect(),
    }
}

/// Everything that a rule looks at.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The instance.
    pub world: &'a World,
    /// The turn.
    pub context: &'a Context,
    /// The call.
    pub asked: &'a CallRequest<'a>,
    /// Its arguments.
    pub fields: &'a Fields<'a>,
}

impl Case<'_> {
    /// Whether nothing untrusted has had a say in it: neither read before, nor handed on in one of its arguments.
    pub(crate) fn is_clean(&self) -> bool {
        self.context.is_clean() && !self.fields.all.iter().any(Field::is_untrusted)
    }
}

/// Whether a rule speaks of what a principal may do without asking, and not of where arguments came from.
#[must_use]
pub fn is_about_autonomy(rule: &str) -> bool {
    matches!(
        rule,
        "guest.supervised" | "people.may" | "guest.write" | "level.readonly" | "confirm.card" | "turn.questions"
    )
}

fn first_match(case: &Case<'_>) -> Ruling {
    let forbidden = unpaired(case)
        .or_else(|| not_there_for_guests(case))
        .or_else(|| core_path(case))
        .or_else(|| others_folder(case))
        .or_else(|| files::secret_sink(case))
        .or_else(|| files::workspace_core(case))
        .or_else(|| files::secret_file(case))
        .or_else(|| not_his_to_write(case));
    if let Some(ruling) = forbidden {
        return ruling;
    }
    if let Some(ruling) = effects::reading(case).or_else(|| unforeseen(case)) {
        return ruling;
    }
    confirmed(case, effects::acting(case))
}

fn unpaired(case: &Case<'_>) -> Option<Ruling> {
    match case.context.who {
        Who::Unpaired => Some(Ruling::deny("principal.unpaired", "the sender is not known to this instance")),
        Who::Owner | Who::Adult | Who::Guest => None,
    }
}

/// A guest reads what guests may read. Whatever else he names gets one and the same answer, whether it is there or not.
fn not_there_for_guests(case: &Case<'_>) -> Option<Ruling> {
    if case.context.reads_everything() || !case.asked.spec.effect.reads() {
        return None;
    }
    let shown = |text: &str| {
        below_workspace(case, text).is_some_and(|below| guests::may_name(&below, &case.world.guest_folders))
    };
    let unseen = |field: &&Field<'_>| !field.value.and_then(serde_json::Value::as_str).is_some_and(shown);
    case.fields
        .of_roles(&[Role::Path])
        .find(unseen)
        .map(|_| Ruling::deny("guest.read", format!("guests read {}", listed(&case.world.guest_folders))))
}

/// What a text names below the workspace; nothing when that is elsewhere.
fn below_workspace(case: &Case<'_>, text: &str) -> Option<String> {
    let path = paths::resolve(text, &case.world.places).path;
    let below = path.strip_prefix(case.world.places.workspace.as_str())?;
    (below.is_empty() || below.starts_with('/')).then(|| below.trim_start_matches('/').to_owned())
}

/// A guest whom the owner lets write what guests may read, where it can be undone.
fn is_let_write(case: &Case<'_>) -> bool {
    case.world.guest_writes && case.world.level != Level::ReadOnly && writes_what_is_read(case)
}

/// A child whom the owner lets call this executor: where a guest may be let write, in the own folder as well, and with no word of a
/// text that the child has not said in this turn.
fn is_chosen(case: &Case<'_>) -> bool {
    let everybody = |field: &Field<'_>| {
        field.pointer.strip_prefix('/') == Some(EVERYBODY) && field.value != Some(&serde_json::Value::Bool(false))
    };
    // A call without a file is about the one in the own folder, unless it says that it is for everybody.
    let own = case.asked.spec.own_file
        && case.world.own_folder.is_some()
        && case.world.own_is_there
        && case.asked.spec.reversible
        && case.fields.of_roles(&[Role::Path, Role::Selector, Role::Dest]).next().is_none()
        && !case.fields.all.iter().any(everybody);
    case.world.may_call.contains(&case.asked.spec.name) && (own || writes_what_is_read(case)) && is_heard(case)
}

/// Whether each word of the texts that are handed over stands in what was just said here. A child's words make no context clean, so
/// they are looked at themselves: what was read has no say in it.
fn is_heard(case: &Case<'_>) -> bool {
    let is_said = |text: &str| {
        let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().any(char::is_alphabetic));
        words.all(|word| case.context.heard.mention(word))
    };
    case.fields.of_roles(&[Role::Payload, Role::Query]).all(|field| match field.value {
        Some(serde_json::Value::String(text)) => is_said(text),
        Some(serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_)) => true,
        // A reference, or something with parts.
        Some(serde_json::Value::Array(_) | serde_json::Value::Object(_)) | None => false,
    })
}

/// Whether it makes or changes only files in the folders that this person reads, and can be undone.
fn writes_what_is_read(case: &Case<'_>) -> bool {
    let at_home = matches!(case.asked.spec.effect, Effect::Of(Class::SelfCreate | Class::SelfModify));
    let within = |field: &Field<'_>| {
        let below = field.value.and_then(serde_json::Value::as_str).and_then(|text| below_workspace(case, text));
        below.is_some_and(|below| {
            case.world.guest_folders.iter().any(|folder| below != *folder && guests::is_within(&below, folder))
        })
    };
    let files = [Role::Path, Role::Selector, Role::Dest];
    at_home
        && case.asked.spec.reversible
        && case.fields.of_roles(&files).next().is_some()
        && case.fields.of_roles(&files).all(within)
}

/// The folders that guests read, as they are named to one.
fn listed(folders: &[String]) -> String {
    let names: Vec<String> = folders.iter().map(|folder| format!("{folder}/")).collect();
    format!("{} of the workspace, and nothing else is there for them", names.join(", "))
}

/// Core forbidden paths, whatever the class; the value of an argument, not a mention of it.
fn core_path(case: &Case<'_>) -> Option<Ruling> {
    let names_a_file = [Role::Path, Role::Selector, Role::Dest, Role::Url, Role::Argv];
    case.fields.of_roles(&names_a_file).find_map(|field| {
        let text = field.value?.as_str()?;
        let objection = guard::check(&name(field), text, &case.world.places)?;
        Some(Ruling::deny(objection.rule, objection.why))
    })
}

/// Denies every path in another person's private folder, for every class of effect and every principal, the owner included. Also
/// denies effects on `people/` itself and on a private folder as a whole; reading `people/` is allowed, since sandboxd hides the
/// folders of others in it. A path with no known reading is denied.
fn others_folder(case: &Case<'_>) -> Option<Ruling> {
    let acts = !case.asked.spec.effect.reads();
    let names_a_file = [Role::Path, Role::Selector, Role::Dest, Role::Url, Role::Argv];
    let is_closed = |text: &str| {
        // Programs may be told more than one path at once.
        let parts = text.split(['=', ',', ':', ';']).filter(|part| !part.is_empty()).chain([text]);
        let closed = |below: String| {
            match guests::privacy(&below.to_lowercase()) {
                Privacy::Open => false,
                Privacy::People => acts,
                // As it is written, and not the folder itself, whose trash would lie among those of others.
                Privacy::Of(_) => {
                    let own = case.world.own_folder.as_deref();
                    let is_own = matches!(guests::privacy(&below), Privacy::Of(name) if own == Some(name));
                    !is_own || acts && below.matches('/').count() == 1
                }
            }
        };
        let mut read = parts.map(|part| below_in_any_reading(case, part));
        read.any(|below| below.is_none_or(|below| below.into_iter().any(closed)))
    };
    let field = case
        .fields
        .of_roles(&names_a_file)
        .find(|field| field.value.and_then(serde_json::Value::as_str).is_some_and(is_closed))?;
    let why =
        format!("{} lies in the private folder of somebody else: only that person is shown what is there", name(field));
    Some(Ruling::deny("people.private", why))
}

/// The paths below the workspace that the readings of a text name; `None` when the text is encoded too deeply to be read.
fn below_in_any_reading(case: &Case<'_>, text: &str) -> Option<Vec<String>> {
    let readings = paths::readings(text)?;
    Some(readings.iter().filter_map(|reading| below_workspace(case, &reading.text)).collect())
}

/// Guests and read-only principals: every effect is the owner's to allow.
fn not_his_to_write(case: &Case<'_>) -> Option<Ruling> {
    if case.asked.spec.effect.reads() {
        return None;
    }
    let class = case.asked.spec.effect.name();
    match (case.context.who, case.world.level) {
        (Who::Guest, _) if is_chosen(case) => {
            Some(Ruling::allow("people.may", "the owner lets this child do that in the folders that the child reads"))
        }
        (Who::Guest, Level::Supervised | Level::Full) if is_let_write(case) => {
            Some(Ruling::allow("guest.supervised", "the owner lets this guest write in the folders that guests read"))
        }
        (Who::Guest, _) => {
            Some(Ruling::ask("guest.write", format!("a guest asks for an effect (`{class}`): the owner decides")))
        }
        (_, Level::ReadOnly) => Some(Ruling::ask(
            "level.readonly",
            format!("this principal may only read without asking, and this is `{class}`"),
        )),
        (_, Level::Supervised | Level::Full) => None,
    }
}

/// Any side effect under taint needs a slot that is not used up.
fn unforeseen(case: &Case<'_>) -> Option<Ruling> {
    if case.context.is_clean() {
        return None;
    }
    let name = shown(&case.asked.spec.name);
    match case.fields.fit {
        Fit::Slot(_) => None,
        Fit::Spent => {
            Some(Ruling::ask("intent.spent", format!("{name} was foreseen, and was already done as often as that")))
        }
        Fit::None => {
            let why = format!(
                "untrusted data was read in this turn, and {name} with these arguments was not foreseen before that"
            );
            Some(Ruling::ask("intent.none", why))
        }
    }
}

/// The extra confirmation, where it is wanted, for what reaches others or cannot be taken back.
fn confirmed(case: &Case<'_>, ruling: Ruling) -> Ruling {
    let spec = case.asked.spec;
    let lasting = !spec.idempotent && !spec.reversible;
    // A message to the person who asks needs no confirmation. One to another person does, even if each of its words was typed: "don't
    // tell Marco that ..." holds them as well. Only a call that the owner typed argument by argument is confirmed by that.
    let at_home = matches!(ruling.rule, "send.owner" | "send.self")
        || ruling.rule == "send.household" && case.context.intent.is_typed();
    if ruling.decision != Decision::Allow || at_home {
        return ruling;
    }
    match case.world.confirm {
        Confirm::Literal => ruling,
        Confirm::Card if spec.effect.outbound() || lasting => {
            let why = format!(
                "it would be allowed ({}), but it reaches others or cannot be taken back, and so it is shown first",
                ruling.why
            );
            Ruling::ask("confirm.card", why)
        }
        Confirm::Card => ruling,
    }
}

/// An argument as a person names it.
#[must_use]
pub fn name(field: &Field<'_>) -> String {
    match field.pointer.strip_prefix('/') {
        Some(name) => shown(&name.replace("~1", "/").replace("~0", "~")),
        None => "the arguments".to_owned(),
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
#[path = "clean_tests.rs"]
mod clean_tests;
