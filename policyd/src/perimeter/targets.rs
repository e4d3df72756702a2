//! The files that a call names, as policyd finds them: by descriptor, beneath the workspace or a listed folder, without
//! following a link. Whether something is there already, and whether it begins like a file of secrets, decides what the call
//! is; whatever cannot be looked at counts as there (design: policy §2, §7).

use metnos_policy::call::fields::Files;
use metnos_proto::executor::Role;
use serde_json::Value;

use crate::arguments::{self, Filled};
use crate::executors::registry::Signed;
use crate::paths;
use crate::perimeter::Perimeter;
use crate::perimeter::owner_files::Seen;

/// The most paths of one call that are looked at; what lies beyond counts as a file of secrets that is there.
const MAX_LOOKED_AT: usize = 256;

impl Perimeter {
    /// What is known of the files that these arguments name.
    pub(crate) fn looked_at(&self, signed: &Signed, filled: &Filled) -> Files {
        let mut files = Files::default();
        let named = arguments::named(&signed.spec, &filled.value, |role| role == Role::Path);
        for (at, (pointer, text)) in named.into_iter().enumerate() {
            let seen = if at < MAX_LOOKED_AT { self.seen_at(text) } else { Seen { there: true, secret: true } };
            if seen.secret {
                files.secret.insert(pointer.clone());
            }
            if seen.there {
                files.there.insert(pointer);
            }
        }
        files
    }

    /// Where each path of an act leads, as a card shows it: below the workspace, or absolute.
    pub(crate) fn targets_of(&self, signed: &Signed, value: &Value) -> Vec<(String, String)> {
        let places = &self.setting.places;
        let named = arguments::named(&signed.spec, value, |role| role == Role::Path);
        let meant = |text: &str| {
            let path = paths::resolve(text, places).path;
            match path.strip_prefix(&places.workspace) {
                Some("") => ".".to_owned(),
                Some(below) if below.starts_with('/') => below.trim_start_matches('/').to_owned(),
                Some(_) | None => path,
            }
        };
        // Where nothing is named, the executor takes what its schema says.
        let missing =
            signed.manifest.args.iter().filter(|(at, role)| **role == Role::Path && value.pointer(at).is_none());
        let defaults = missing.filter_map(|(at, _)| {
            let part = signed.schema.part(signed.schema.input(), at)?;
            Some((at.clone(), meant(part.get("default")?.as_str()?)))
        });
        let told = named.into_iter().filter_map(|(pointer, text)| {
            let path = meant(text);
            (path != text).then_some((pointer, path))
        });
        told.chain(defaults).take(MAX_LOOKED_AT).collect()
    }

    fn seen_at(&self, text: &str) -> Seen {
        let places = &self.setting.places;
        let path = paths::resolve(text, places).path;
        let below = path.strip_prefix(&places.workspace).map(|below| below.trim_start_matches('/'));
        let seen = below.map_or_else(|| self.folders.look(&path), |below| self.files.look(below));
        // Where a link is on the way, `..` leads elsewhere than it seems.
        let turns_back = text.split('/').any(|part| part == "..");
        Seen { there: seen.there || turns_back, ..seen }
    }
}
