//! The door: the only process that listens to people and programs. Open this file first.
//!
//! [`session`] is what all its channels share: who speaks, the turns that were opened, and what is passed back. [`http`]
//! is the channel for programs and pages, [`telegram`] that of chats; [`hooks`] is what fires without a person. After the
//! lock nothing here opens a file, and only the bot makes a socket.

pub mod chance;
pub mod hooks;
pub mod http;
pub mod session;
pub mod telegram;

#[cfg(test)]
mod testing;
