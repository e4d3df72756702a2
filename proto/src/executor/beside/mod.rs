//! What goes beside the arguments and the result of a call: a file, a model's words about it, a message to a person.

pub mod file;
pub mod message;
pub mod thinking;

pub use file::FileTransfer;
pub use message::MessageArguments;
pub use thinking::Thinking;
