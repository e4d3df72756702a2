//! One rule for each class of effects (design: policy §7). Each says under which evidence the
//! effect may happen without a question; without that evidence it asks.

use metnos_proto::executor::{Class, Role};
use metnos_proto::json;
use metnos_proto::msg::common::Level;
use serde_json::Value;

use crate::call::argv;
use crate::call::fields::{Claim, Field, Source};
use crate::call::spec::{Effect, is_critical};
use crate::evidence::intent::Fit;
use crate::rules::net;
use crate::rules::{Case, Ruling, name};
use crate::text::carriers;

/// `read` and `net_read`; none for what has an effect.
#[must_use]
pub fn reading(case: &Case<'_>) -> Option<Ruling> {
    match case.asked.spec.effect {
        Effect::Of(Class::Read) => Some(Ruling::allow("read.granted", "it only reads")),
        Effect::Of(Class::NetRead) => Some(net::net_read(case)),
        Effect::Of(
            Class::SelfCreate
            | Class::SelfModify
            | Class::Destroy
            | Class::Send
            | Class::Share
            | Class::Publish
            | Class::Acl
            | Class::Money
            | Class::Account
            | Class::Book
            | Class::Shell
            | Class::Schedule
            | Class::Confirm,
        )
        | Effect::Cart
        | Effect::Session
        | Effect::Mark => None,
    }
}

/// Everything that has an effect.
#[must_use]
pub fn acting(case: &Case<'_>) -> Ruling {
    match case.asked.spec.effect {
        Effect::Of(class) => match class {
            Class::Read | Class::NetRead => Ruling::deny("effects.order", "what reads is decided before what acts"),
            Class::SelfCreate => self_create(case),
            Class::SelfModify => self_modify(case),
            Class::Destroy => destroy(case),
            Class::Send | Class::Share | Class::Publish => send(case),
            Class::Acl | Class::Account | Class::Book => all_frozen(case),
            Class::Money => money(case),
            Class::Shell => shell(case),
            Class::Schedule => schedule(case),
            Class::Confirm => confirm(case),
        },
        Effect::Cart | Effect::Session | Effect::Mark => mark(case),
    }
}

/// The first argument of these roles that nobody endorses.
fn unendorsed<'a>(case: &Case<'a>, roles: &[Role]) -> Option<&'a Field<'a>> {
    let fields = &case.fields.all;
    fields.iter().find(|field| roles.contains(&field.role) && !field.is_endorsed())
}

fn asks_for(rule: &'static str, field: &Field<'_>) -> Ruling {
    let from = match field.source {
        Source::Contact => "it is a contact, which is not enough here",
        Source::Slot => "it was fixed beforehand, but the owner's words do not contain it",
        Source::Result => "it was taken from a result that nobody has pointed at",
        Source::Called => "the owner has only called it by a name",
        Source::Intent | Source::Prompt | Source::Owner | Source::Designated => "it is not frozen at this place",
        Source::Ctx => "it was composed in this turn",
    };
    Ruling::ask(rule, format!("{} is not endorsed: {from}", name(field)))
}

/// Something new of the owner's own: in a clean context, or where it was foreseen. What replaces something is no new thing.
fn self_create(case: &Case<'_>) -> Ruling {
    if replaces(case) {
        return self_modify(case);
    }
    // Whom it reaches and what it opens or overwrites is not its own matter.
    let untouched = case.is_clean() || case.fields.all.iter().all(|field| !is_content(field) || field.is_literal());
    if let Some(field) =
        unendorsed(case, &[Role::Dest, Role::Secret]).filter(|field| !(field.source == Source::Contact && untouched))
    {
        return asks_for("self_create.dest", field);
    }
    let place = unendorsed(case, &[Role::Path, Role::Selector, Role::Url]);
    if case.context.is_clean() {
        return match place.filter(|field| field.is_untrusted()) {
            Some(field) => asks_for("self_create.place", field),
            None => Ruling::allow(
                "self_create.clean",
                "it makes something of the owner's own, and nothing untrusted was read",
            ),
        };
    }
    match place {
        Some(field) => asks_for("self_create.place", field),
        None => Ruling::allow("self_create.slot", "it makes something of the owner's own, as was foreseen"),
    }
}

/// Whether something is there that would be replaced, or it is ordered to replace whatever is there.
fn replaces(case: &Case<'_>) -> bool {
    let there = &case.asked.files.there;
    let places = || case.fields.of_roles(&[Role::Path, Role::Selector]);
    let told = || case.fields.of_roles(&[Role::Flag]).any(|field| field.value == Some(&Value::Bool(true)));
    let only_read = |field: &Field<'_>| case.asked.spec.reads.contains(&field.pointer);
    places().any(|field| there.contains(&field.pointer) && !only_read(field)) || places().next().is_some() && told()
}

fn self_modify(case: &Case<'_>) -> Ruling {
    // Full asks for what is not idempotent as well (design: policy §2).
    let spec = case.asked.spec;
    let home = case.world.level == Level::Full && case.is_clean() && spec.reversible && spec.idempotent;
    let critical: &[Role] = if case.context.is_clean() {
        &[Role::Selector, Role::Path, Role::Dest, Role::Secret]
    } else {
        &[Role::Selector, Role::Path, Role::Dest, Role::Secret, Role::Url, Role::Amount, Role::Time, Role::Entity]
    };
    // A list that was called by its name is added to, and can be put back as it was; it is not replaced.
    let adds = case.asked.spec.reversible && case.asked.spec.effect == Effect::Of(Class::SelfModify);
    let called = |field: &Field<'_>| adds && field.source == Source::Called;
    let open = case.fields.all.iter().find(|it| critical.contains(&it.role) && !it.is_endorsed() && !called(it));
    match open {
        Some(field) if home && field.role != Role::Dest => {
            Ruling::allow("self_modify.home", "it can be undone and repeated, and nothing untrusted was read")
        }
        Some(field) => asks_for("self_modify.selector", field),
        None => Ruling::allow("self_modify.endorsed", "what it changes was pointed at by the owner"),
    }
}

fn destroy(case: &Case<'_>) -> Ruling {
    if !case.asked.spec.reversible {
        return Ruling::ask("destroy.irreversible", "it cannot be undone");
    }
    if case.fields.of_roles(&[Role::Flag]).any(|field| field.value == Some(&Value::Bool(true))) {
        return Ruling::ask("destroy.many", "it may remove more than one thing at once");
    }
    let meant = case.fields.of_roles(&[Role::Selector, Role::Path]).next().is_some();
    let all: Vec<Role> = Role::ALL.iter().copied().filter(|role| is_critical(*role)).collect();
    match unendorsed(case, &all) {
        Some(field) => asks_for("destroy.selector", field),
        None if !meant => Ruling::ask("destroy.selector", "nothing says what it removes"),
        None => {
            Ruling::allow("destroy.designated", "what it removes was pointed at by the owner, and it can be undone")
        }
    }
}

/// Messages, shares and publications.
fn send(case: &Case<'_>) -> Ruling {
    if case.asked.spec.tells {
        return told(case);
    }
    let dests: Vec<&Field<'_>> = case.fields.of_roles(&[Role::Dest]).collect();
    let to_owner = !dests.is_empty()
        && dests.iter().all(|field| field.value.and_then(Value::as_str).is_some_and(|id| case.world.is_owner(id)));
    if to_owner && case.asked.spec.effect == Effect::Of(Class::Send) {
        return Ruling::allow("send.owner", "it goes to the owner alone; links that he did not type are made inert");
    }
    if let Some(field) = dests.iter().find(|field| !(field.is_endorsed() || field.source == Source::Contact)) {
        return asks_for("send.dest", field);
    }
    let targets = [Role::Selector, Role::Path, Role::Url, Role::Secret];
    if let Some(field) = unendorsed(case, &targets) {
        return asks_for("send.selector", field);
    }
    let derived: Vec<&Field<'_>> =
        case.fields.all.iter().filter(|field| is_content(field) && !field.is_literal()).collect();
    if derived.is_empty() {
        return Ruling::allow("send.literal", "every destination is endorsed, and all of it was typed by the owner");
    }
    if case.world.level == Level::Full && harmless(case, &dests, &derived) {
        let why = "the destination was typed by the owner, nothing private was read unasked, and it leads nowhere";
        return Ruling::allow("send.full", why);
    }
    let first = derived.first().map(|field| name(field)).unwrap_or_default();
    if case.is_clean() {
        // A planner may be hijacked in a clean turn too, and its prompt holds private things.
        return Ruling::ask("send.composed", format!("{first} was not typed by the person in whose name it is sent"));
    }
    Ruling::ask("send.derived", format!("{first} was composed after untrusted data was read"))
}

/// Decides on a message to a person of the household. A planner may be hijacked in a clean turn too, so a message to another person
/// needs a recipient and a text from the person's own words. A message to the person who asks needs neither: the planner can say the
/// same in its answer.
fn told(case: &Case<'_>) -> Ruling {
    let mut dests = case.fields.of_roles(&[Role::Dest]).peekable();
    if dests.peek().is_none() {
        return Ruling::allow("send.self", "the message goes only to the person who asked");
    }
    if let Some(field) = dests.find(|field| !field.is_endorsed()) {
        return asks_for("send.dest", field);
    }
    // What a planner has announced before it read anything is its own text all the same.
    match case.fields.all.iter().find(|field| is_content(field) && !field.is_frozen()) {
        Some(field) => Ruling::ask(
            "send.composed",
            format!("{} was not typed by the person in whose name it is said", name(field)),
        ),
        None => Ruling::allow("send.household", "the person typed the recipient and the whole message"),
    }
}

/// What is passed on, as opposed to whom and which.
const fn is_content(field: &Field<'_>) -> bool {
    match field.role {
        Role::Payload | Role::Query | Role::Flag | Role::Argv | Role::Amount | Role::Time | Role::Entity => true,
        Role::Dest | Role::Selector | Role::Secret | Role::Url | Role::Path => false,
    }
}

/// What level Full lets go out although it was derived.
fn harmless(case: &Case<'_>, dests: &[&Field<'_>], derived: &[&Field<'_>]) -> bool {
    let leads = |field: &&Field<'_>| match (field.role, field.value) {
        (Role::Payload, Some(Value::String(text))) => carriers::foreign(text, &case.context.words),
        (Role::Payload, Some(Value::Number(number))) => carriers::foreign(&number.to_string(), &case.context.words),
        (Role::Payload, Some(Value::Bool(_))) => false,
        // What is not seen, or is no payload, is not known to be harmless.
        _ => true,
    };
    !dests.is_empty()
        && dests.iter().all(|field| field.is_frozen())
        && !case.context.pried
        && !derived.iter().any(leads)
}

/// `acl`, `account`, `book`: every critical argument frozen, and nothing else composed under taint.
fn all_frozen(case: &Case<'_>) -> Ruling {
    let critical: Vec<&Field<'_>> = case.fields.all.iter().filter(|field| is_critical(field.role)).collect();
    if let Some(field) = critical.iter().find(|field| !field.is_frozen()) {
        return asks_for("account.frozen", field);
    }
    if critical.is_empty() && !case.context.is_clean() {
        return Ruling::ask("account.frozen", "nothing in it was typed by the owner");
    }
    match loose(case) {
        Some(field) => asks_for("account.payload", field),
        None => Ruling::allow("account.frozen", "every critical argument was typed by the owner"),
    }
}

/// Content that was composed after untrusted data was read.
fn loose<'a>(case: &Case<'a>) -> Option<&'a Field<'a>> {
    let fields = &case.fields.all;
    let tainted = |field: &Field<'_>| !case.context.is_clean() || field.is_untrusted();
    fields.iter().find(|field| tainted(field) && !is_critical(field.role) && !field.is_literal())
}

fn money(case: &Case<'_>) -> Ruling {
    let payee = case.fields.of_roles(&[Role::Dest]).next();
    if let Some(field) = case.fields.of_roles(&[Role::Dest]).find(|field| !field.is_frozen()) {
        return asks_for("money.payee", field);
    }
    // Without a payee, what is selected stands for him: then it must have been typed itself.
    let selector = case
        .fields
        .of_roles(&[Role::Selector])
        .find(|field| if payee.is_some() { !field.is_endorsed() } else { !field.is_frozen() });
    if let Some(field) = selector {
        return asks_for("money.selector", field);
    }
    if payee.is_none() && case.fields.of_roles(&[Role::Selector]).next().is_none() {
        return Ruling::ask("money.payee", "nothing says who is paid");
    }
    if let Some(field) =
        case.fields.of_roles(&[Role::Amount]).find(|field| !(field.is_frozen() || owed(case, field, payee)))
    {
        return asks_for("money.amount", field);
    }
    // The owner has typed many words; as an amount counts a number.
    if let Some(field) = case.fields.of_roles(&[Role::Amount]).find(|field| amount_of(field).is_none()) {
        return Ruling::ask("money.amount", format!("{} is no amount", name(field)));
    }
    let over = |field: &Field<'_>| {
        let amount = amount_of(field);
        case.world.money_cap.is_some_and(|cap| amount.is_none_or(|amount| !(0.0..=cap).contains(&amount)))
    };
    if case.fields.of_roles(&[Role::Amount]).any(over) {
        return Ruling::ask("money.cap", "it is more than is paid without asking");
    }
    let rest: &[Role] = match case.world.level {
        Level::Full => &[Role::Secret, Role::Entity, Role::Url, Role::Path],
        Level::ReadOnly | Level::Supervised => &[Role::Secret, Role::Entity, Role::Url, Role::Path, Role::Time],
    };
    if let Some(field) = unendorsed(case, rest).filter(|field| !(field.role == Role::Time && case.is_clean())) {
        return asks_for("money.argument", field);
    }
    match loose(case) {
        Some(field) => asks_for("money.payload", field),
        None => Ruling::allow("money.frozen", "payee and amount were typed by the owner"),
    }
}

/// The amount, if it is one: a number, or a text that writes nothing else, not below nought.
fn amount_of(field: &Field<'_>) -> Option<f64> {
    let amount = match field.value? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.replace(',', ".").parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    amount.filter(|amount| amount.is_finite() && *amount >= 0.0)
}

/// At level Full an amount may also be one that a signed executor vouches for, in the very row that
/// names the payee whom the owner has typed: what he is owed, or what he has paid.
fn owed(case: &Case<'_>, amount: &Field<'_>, payee: Option<&Field<'_>>) -> bool {
    let (Level::Full, Some(value), Some(payee)) = (case.world.level, amount.value, payee.and_then(|field| field.value))
    else {
        return false;
    };
    let (digest, payee) = (json::digest(value), json::digest(payee));
    let vouched = |claim: &&Claim<'_>| {
        let leaf = claim.output.at(&claim.leaf);
        leaf.is_some_and(|leaf| {
            leaf.part.digest == digest
                && leaf.part.atom
                && leaf.label.integrity != metnos_proto::msg::common::Integrity::Untrusted
                && last_name(&claim.leaf) == last_name(&amount.pointer)
        }) && claim.output.row_has(&claim.leaf, &payee)
    };
    case.asked.claims.iter().filter(|claim| claim.pointer == amount.pointer).any(|claim| vouched(&claim))
}

/// A field's own name, so that a running number is never taken for an amount.
fn last_name(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or_default()
}

fn shell(case: &Case<'_>) -> Ruling {
    if !case.context.is_clean() {
        return Ruling::ask("shell.tainted", "it runs a command, and untrusted data was read in this turn");
    }
    if case.fields.of_roles(&[Role::Argv]).any(Field::is_untrusted) {
        return Ruling::ask("shell.tainted", "it runs a command, and a word of that comes from untrusted data");
    }
    // A word that was handed on unseen may be the very one that is run.
    let words = case.fields.of_roles(&[Role::Argv]).map(|field| field.value.and_then(Value::as_str).map(str::to_owned));
    let Some(words) = words.collect::<Option<Vec<String>>>() else {
        return Ruling::ask("shell.unlisted", "a word of the command was taken from a result that nobody has read");
    };
    if argv::is_listed(&words, &case.world.commands) {
        return Ruling::allow("shell.listed", "everything that it runs is on the owner's list");
    }
    let what = match argv::comes_to(&words) {
        argv::UnwrappedCommand::To(programs) => {
            format!("it comes to {}, which is not on the owner's list", programs.join(", "))
        }
        argv::UnwrappedCommand::Opaque(why) => format!("what it would run cannot be followed: {why}"),
    };
    Ruling::ask("shell.unlisted", what)
}

fn schedule(case: &Case<'_>) -> Ruling {
    if case.is_clean() {
        return Ruling::allow("schedule.clean", "nothing untrusted was read in this turn");
    }
    match case.fields.all.iter().find(|field| !field.is_frozen()) {
        Some(field) => asks_for("schedule.literal", field),
        None => Ruling::allow("schedule.literal", "all of it was typed by the owner"),
    }
}

/// A code is entered only right after the act that it confirms.
fn confirm(case: &Case<'_>) -> Ruling {
    if case.context.confirmable {
        return Ruling::allow("confirm.follows", "it confirms the act before it, which was allowed");
    }
    Ruling::ask("confirm.alone", "there is no act right before it that it could confirm")
}

/// Baskets, sessions and marks, which can all be taken back.
fn mark(case: &Case<'_>) -> Ruling {
    let foreseen = case.context.is_clean() || matches!(case.fields.fit, Fit::Slot(_));
    if case.asked.spec.reversible && foreseen {
        return Ruling::allow("mark.reversible", "it can be taken back, and was foreseen");
    }
    Ruling::ask("mark.lasting", "it cannot be taken back")
}
