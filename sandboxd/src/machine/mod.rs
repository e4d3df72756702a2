//! What is installed on this machine: the interpreter, programs, libraries and mounts.

pub mod commands;
pub mod elf;
pub mod interpreter;
pub mod libraries;
pub mod mounted;
pub mod walk;
