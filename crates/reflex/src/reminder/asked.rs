//! What comes of a request for a reminder or a message.

use metnos_proto::msg::common::Lang;
use metnos_proto::msg::schedule::Order;

/// What is asked for about reminders and messages.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// Something to be done, in this language.
    Order(Order, Lang),
    /// Something is missing or may be one of two: the text asks for it.
    Unclear(String),
}
