//! The two ways in which a turn with a model goes, as the daemon side drives either: with tools, or in steps that are each
//! held to a schema.

use metnos_proto::envelope::Envelope;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::mind::RoleModel;
use serde::{Deserialize, Serialize};

use crate::steps::machine::StepLoop;
use crate::steps::talk::Setting;
use crate::thinking::calls::Calls;
use crate::thinking::core::{Ask, Event, ModelLoop};
use crate::thinking::prompt::{Frame, impossible, opening};

/// A turn with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum TurnLoop {
    /// With tools.
    Tools(Box<ModelLoop>),
    /// In steps.
    Steps(Box<StepLoop>),
}

impl TurnLoop {
    /// A turn that begins with these words, and with what a webhook has brought, at this time in seconds since 1970. `known`
    /// is what the reflex knows to be impossible in it, for a model with tools.
    pub(super) fn new(
        envelope: &Envelope,
        (words, data): (&str, &str),
        lang: Lang,
        (model, known): (&RoleModel, &str),
        now: i64,
    ) -> Self {
        if model.constrained {
            let setting = Setting::of(envelope, (words, data), lang, now);
            return Self::Steps(Box::new(StepLoop::new(setting, model.context)));
        }
        let mut frame = Frame::within(envelope, model.tools, model.context);
        frame.lang = lang;
        let before = envelope.recent.last().map(|recent| recent.text.clone());
        frame.said = std::iter::once(words.to_owned()).chain(before).collect();
        Self::Tools(Box::new(ModelLoop::new(frame, impossible(known) + &opening(envelope, words, data), model.context)))
    }

    pub(super) fn start(&mut self) -> Vec<Ask> {
        match self {
            Self::Tools(turn) => turn.start(),
            Self::Steps(turn) => turn.start(),
        }
    }

    pub(super) fn on(&mut self, event: Event) -> Vec<Ask> {
        match self {
            Self::Tools(turn) => turn.on(event),
            Self::Steps(turn) => turn.on(event),
        }
    }

    pub(super) fn calls(&self) -> &Calls {
        match self {
            Self::Tools(turn) => turn.calls(),
            Self::Steps(turn) => turn.calls(),
        }
    }

    /// The language of the words.
    pub(super) fn lang(&self) -> Lang {
        match self {
            Self::Tools(turn) => turn.lang(),
            Self::Steps(turn) => turn.lang(),
        }
    }

    /// Whether the model writes what the person sees as it is, so that it can be shown as it comes.
    pub(super) fn streams(&self) -> bool {
        match self {
            Self::Tools(turn) => turn.streams(),
            Self::Steps(_) => false,
        }
    }
}
