//! What an executor's signed manifest says of its effect, its arguments and its output, in
//! the form that the rules read. What is missing means the worst: class `send`, role
//! `payload`, output `X` (design: policy §7).

use metnos_proto::executor::{Capability, Class, Manifest, Role};
use metnos_proto::json;
use metnos_proto::msg::accounts::AccountKind;
use metnos_proto::msg::common::Readers;
use serde_json::Value;

/// What a call does to the world: the classes of a manifest, and three that only foreign
/// catalogues have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// A class of a manifest.
    Of(Class),
    /// Puts something into a basket that is paid for elsewhere.
    Cart,
    /// Opens or changes a session of the owner's own.
    Session,
    /// Marks something as read, done or starred.
    Mark,
}

impl Effect {
    /// The name used in catalogues; a name that is not known is the worst class.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "cart" => Self::Cart,
            "session" => Self::Session,
            "mark" => Self::Mark,
            other => Self::Of(other.parse().unwrap_or_default()),
        }
    }

    /// The name used in manifests and catalogues.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Of(class) => class.name(),
            Self::Cart => "cart",
            Self::Session => "session",
            Self::Mark => "mark",
        }
    }

    /// Whether it changes nothing, here or elsewhere.
    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Self::Of(Class::Read | Class::NetRead))
    }

    /// Whether it reaches people, money or the outside.
    #[must_use]
    pub const fn outbound(self) -> bool {
        match self {
            Self::Of(class) => match class {
                Class::Send
                | Class::Share
                | Class::Publish
                | Class::Acl
                | Class::Money
                | Class::Account
                | Class::Book
                | Class::Confirm => true,
                Class::Read
                | Class::NetRead
                | Class::SelfCreate
                | Class::SelfModify
                | Class::Destroy
                | Class::Shell
                | Class::Schedule => false,
            },
            Self::Cart | Self::Session | Self::Mark => false,
        }
    }
}

/// Which parts of an output an executor vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vouched {
    /// Every atom.
    All,
    /// Every atom in a field of this name, at any depth.
    Field(String),
    /// What fits this pointer pattern.
    Pointer(String),
}

impl Vouched {
    fn fits(&self, pointer: &str) -> bool {
        match self {
            Self::All => true,
            Self::Field(name) => pointer.rsplit('/').find(|token| !is_index(token)) == Some(name),
            Self::Pointer(pattern) => json::pointer_fits(pattern, pointer),
        }
    }
}

/// Whether a token of a pointer is a place in a list.
#[must_use]
pub fn is_index(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit())
}

/// What holds for a part of an output that nobody vouches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// It is untrusted.
    Untrusted,
    /// It repeats what went in: the join of context and arguments.
    Echo,
}

/// What a manifest says of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSpec {
    /// What is vouched for.
    pub vouched: Vec<Vouched>,
    /// What holds for the rest.
    pub rest: Rest,
    /// The field of a row that names who wrote its text.
    pub author: Option<String>,
    /// Who may read it.
    pub readers: Readers,
}

impl OutputSpec {
    /// Whether the part at `pointer` is vouched for, if it is an atom.
    #[must_use]
    pub fn vouches(&self, pointer: &str) -> bool {
        self.vouched.iter().any(|vouched| vouched.fits(pointer))
    }
}

/// An executor as the rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// What it does to the world.
    pub effect: Effect,
    /// Whether that can be undone.
    pub reversible: bool,
    /// Whether a second identical call changes nothing more.
    pub idempotent: bool,
    /// Roles by pointer pattern; a pattern stands for everything below it too.
    pub roles: Vec<(String, Role)>,
    /// What it puts out.
    pub output: OutputSpec,
    /// A model is shown its arguments.
    pub thinks: bool,
    /// A call without a path may be about a file in the private folder of the person.
    pub own_file: bool,
    /// Policyd has somebody of the household told what its arguments say, and it reaches nobody else.
    pub tells: bool,
    /// The pointers of paths that it only reads, although it makes something.
    pub reads: Vec<String>,
}

impl Spec {
    /// What a signed manifest says.
    #[must_use]
    pub fn of(manifest: &Manifest) -> Self {
        let reads_files = |capability: &Capability| match capability {
            Capability::FsRead(_) | Capability::FsWrite(_) | Capability::Secret(_) | Capability::Exec(_) => true,
            Capability::Net(_) => false,
        };
        // What a search finds is everybody's; what any other account shows is its person's.
        let own = manifest.account().is_some_and(|kind| kind != AccountKind::Search);
        let private = own || manifest.sandbox.capabilities.iter().any(reads_files);
        let pointer = |pattern: &str| Vouched::Pointer(pattern.to_owned());
        Self {
            name: manifest.executor.name.clone(),
            effect: Effect::Of(manifest.effects.class),
            reversible: manifest.effects.reversible,
            idempotent: manifest.contract.idempotent,
            thinks: manifest.mind.is_some(),
            own_file: manifest.contract.own_file.is_some(),
            tells: manifest.message.is_some(),
            reads: manifest.contract.reads.clone(),
            roles: manifest.args.iter().map(|(pattern, role)| (pattern.clone(), *role)).collect(),
            output: OutputSpec {
                // The discriminator of every result is a constant of the contract, not data.
                vouched: ["/ok"]
                    .into_iter()
                    .chain(manifest.output.vouched.iter().map(String::as_str))
                    .map(pointer)
                    .collect(),
                rest: Rest::Untrusted,
                author: None,
                readers: if private { Readers::Private } else { Readers::Public },
            },
        }
    }

    /// An entry of a catalogue (`{effect, reversible, idempotent, args, output}`). What is missing or
    /// not understood means the worst.
    #[must_use]
    pub fn from_catalogue(name: &str, entry: &Value) -> Self {
        let flag = |key: &str| entry.get(key).and_then(Value::as_bool).unwrap_or(false);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let roles = entry.get("args").and_then(Value::as_object).into_iter().flatten();
        let output = entry.get("output");
        let part = |key: &str| output.and_then(|output| output.get(key));
        let fields = part("V").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let mut vouched: Vec<Vouched> = fields
            .map(|field| match field {
                "*" => Vouched::All,
                field if field.starts_with('/') => Vouched::Pointer(field.to_owned()),
                field => Vouched::Field(field.to_owned()),
            })
            .collect();
        if part("i").and_then(Value::as_str) == Some("V") && vouched.is_empty() {
            vouched.push(Vouched::All);
        }
        Self {
            name: name.to_owned(),
            effect: Effect::named(entry.get("effect").and_then(Value::as_str).unwrap_or_default()),
            reversible: flag("reversible"),
            idempotent: flag("idempotent"),
            thinks: flag("thinks"),
            own_file: false,
            tells: false,
            reads: Vec::new(),
            roles: roles
                .map(|(argument, role)| {
                    let pointer = if argument.starts_with('/') { argument.clone() } else { json::child("", argument) };
                    (pointer, role.as_str().and_then(|role| role.parse().ok()).unwrap_or_default())
                })
                .collect(),
            output: OutputSpec {
                vouched,
                rest: if part("i").and_then(Value::as_str) == Some("echo") { Rest::Echo } else { Rest::Untrusted },
                author: text(part("author")),
                readers: match part("conf").and_then(Value::as_str) {
                    Some("public") => Readers::Public,
                    Some("secret") => Readers::Secret,
                    Some(_) | None => Readers::Private,
                },
            },
        }
    }

    /// The role of the argument at `pointer`: of the most precise pattern that stands for it or for
    /// something it lies in; payload when there is none.
    #[must_use]
    pub fn role(&self, pointer: &str) -> Role {
        let depth = |pattern: &str| pattern.split('/').count();
        let stands = |pattern: &str| {
            let fits =
                pattern.split('/').zip(pointer.split('/')).all(|(wanted, found)| wanted == "*" || wanted == found);
            fits && depth(pattern) <= depth(pointer)
        };
        let found = self.roles.iter().filter(|(pattern, _)| stands(pattern)).max_by_key(|(pattern, _)| depth(pattern));
        found.map_or(Role::Payload, |(_, role)| *role)
    }
}

/// Whether a value is a bounded atom: a number, a boolean, or a token of at most 64 characters
/// without spaces (design: policy §7).
#[must_use]
pub fn is_atom(value: &Value) -> bool {
    const MAX_ATOM: usize = metnos_proto::executor::lint::MAX_ATOM as usize;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => {
            let token = !text.chars().any(|c| c.is_whitespace() || c.is_control()) && text.chars().count() <= MAX_ATOM;
            token || crate::text::dates::Moment::parse(text).is_some()
        }
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether what this role carries is decided on by where it came from (design: policy §7).
#[must_use]
pub const fn is_critical(role: Role) -> bool {
    match role {
        Role::Dest
        | Role::Selector
        | Role::Amount
        | Role::Time
        | Role::Secret
        | Role::Entity
        | Role::Url
        | Role::Path => true,
        Role::Payload | Role::Query | Role::Flag | Role::Argv => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn incomplete_catalogue_entry_defaults_to_the_strictest() {
        let spec = Spec::from_catalogue("x", &json!({}));
        assert_eq!(spec.effect, Effect::Of(Class::Send));
        assert!(!spec.reversible && !spec.idempotent);
        assert_eq!(spec.role("/anything"), Role::Payload);
        assert_eq!(Spec::from_catalogue("x", &json!({"effect": "harmless"})).effect, Effect::Of(Class::Send));
        assert!(!spec.output.vouches("/id"));
    }

    #[test]
    fn the_most_precise_role_wins_and_covers_what_lies_below() {
        let spec = Spec::from_catalogue("x", &json!({"args": {"to": "dest", "/to/*/name": "payload"}}));
        assert_eq!(spec.role("/to/0"), Role::Dest);
        assert_eq!(spec.role("/to/0/address"), Role::Dest);
        assert_eq!(spec.role("/to/0/name"), Role::Payload);
        assert_eq!(spec.role("/top"), Role::Payload);
    }

    #[test]
    fn an_atom_has_no_spaces_and_an_end() {
        for value in [json!(1), json!(true), json!("GB29NWBK60161331926819"), json!("2024-05-15 10:00")] {
            assert!(is_atom(&value), "{value}");
        }
        for value in [json!("pay me"), json!("x".repeat(65)), json!("a\nb"), json!([]), json!({})] {
            assert!(!is_atom(&value), "{value}");
        }
    }

    #[test]
    fn a_field_is_vouched_for_at_any_depth_and_only_by_its_name() {
        let spec = Spec::from_catalogue("x", &json!({"output": {"i": "X", "V": ["id", "/rows/*/n"]}}));
        for pointer in ["/id", "/3/id", "/a/id/0", "/rows/7/n"] {
            assert!(spec.output.vouches(pointer), "{pointer}");
        }
        for pointer in ["/ids", "/id/name", "/n", ""] {
            assert!(!spec.output.vouches(pointer), "{pointer}");
        }
    }
}
