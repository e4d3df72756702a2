//! What is sent to Telegram's servers and what they send, each as a type with the Bot API's own names. What is read takes
//! anything: a field that is not what it should be counts as one that is not there.

pub(super) mod answers;
pub(super) mod requests;
