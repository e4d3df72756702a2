//! `[message]`: an executor whose call has a person of the household told something. Its process reaches nobody: policyd passes on
//! what the arguments of an allowed call say, through the door, as it passes on what one person says to another.

use serde::{Deserialize, Serialize};

use crate::executor::{Class, Manifest, ManifestError, Role};
use crate::json;
use crate::msg::common::Channel;

/// `[message]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageArguments {
    /// The argument that holds the text, as a JSON pointer; its role is payload.
    pub text: String,
    /// The argument that names the person who is told, as a JSON pointer; its role is dest. Without it, or where a call leaves it
    /// out, that is the person whose turn it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The only channel on which it is told; `telegram`. Missing means where the person is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

impl MessageArguments {
    /// The channel that [`Self::channel`] names.
    #[must_use]
    pub fn only_on(&self) -> Option<Channel> {
        self.channel.as_deref().and_then(Channel::named)
    }

    pub(in crate::executor) fn validate(&self, manifest: &Manifest) -> Result<(), ManifestError> {
        let roles = [(Some(&self.text), "message.text", Role::Payload), (self.to.as_ref(), "message.to", Role::Dest)];
        for (pointer, field, role) in roles {
            let Some(pointer) = pointer else { continue };
            if pointer.is_empty() || !json::is_pointer(pointer) || manifest.role(pointer) != role {
                return Err(ManifestError::field(field, pointer, format!("the pointer of an argument of role {role}")));
            }
        }
        if let Some(channel) = self.channel.as_ref().filter(|_| self.only_on() != Some(Channel::Telegram)) {
            return Err(ManifestError::field("message.channel", channel, "`telegram`, or nothing"));
        }
        if manifest.effects.class != Class::Send || manifest.effects.reversible {
            return Err(ManifestError::field(
                "message",
                manifest.effects.class,
                "class `send`, which is not reversible",
            ));
        }
        // Whatever it could reach by itself would be another way out.
        if !manifest.sandbox.capabilities.is_empty() || manifest.mind.is_some() || manifest.file.is_some() {
            return Err(ManifestError::field(
                "message",
                "more than arguments",
                "no capability, no [mind] and no [file]",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NOTIFY: &str = include_str!("../../../../executors/notify/manifest.toml");

    fn parse(from: &str, to: &str) -> Result<Manifest, ManifestError> {
        assert!(NOTIFY.contains(from), "{from}");
        Manifest::parse(NOTIFY.replacen(from, to, 1).as_bytes())
    }

    #[test]
    fn manifest_with_a_message_names_its_text_and_its_person() {
        let message = parse("", "").unwrap().message.unwrap();
        assert_eq!(
            (message.text.as_str(), message.to.as_deref(), message.only_on()),
            ("/message", Some("/person"), None)
        );
        let telegram = parse("to = \"/person\"", "to = \"/person\"\nchannel = \"telegram\"").unwrap().message.unwrap();
        assert_eq!(telegram.only_on(), Some(Channel::Telegram));
        assert_eq!(parse("to = \"/person\"\n", "").unwrap().message.unwrap().to, None);
    }

    #[test]
    fn a_message_that_could_go_another_way_is_no_message() {
        for (from, to) in [
            ("text = \"/message\"", "text = \"/person\""),
            ("to = \"/person\"", "to = \"/message\""),
            ("to = \"/person\"", "to = \"person\""),
            ("to = \"/person\"", "to = \"/person\"\nchannel = \"http\""),
            ("to = \"/person\"", "to = \"/person\"\nchannel = \"mail\""),
            ("class = \"send\"", "class = \"self_create\""),
            ("reversible = false", "reversible = true"),
            ("capabilities = []", "capabilities = [{ net = [\"example.org:443\"] }]"),
            ("capabilities = []", "capabilities = [{ fs_read = [\"workspace/\"] }]"),
            ("[message]", "[file]\ngives_mb = 1\n\n[message]"),
        ] {
            assert!(parse(from, to).is_err(), "{to}");
        }
    }
}
