//! An executor for the tests of this folder, made from a seed of the repository.
#![allow(clippy::unwrap_used)]

use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::ExecutorId;

use super::verify::{Formed, Texts};
use crate::interp::Interpreter;
use crate::plan::Installation;

pub(super) fn installation() -> Installation {
    Installation {
        interpreter: Interpreter {
            program: "/usr/bin/python3.11".into(),
            loader: None,
            libraries: Vec::new(),
            stdlib: "/usr/lib/python3.11".into(),
            extensions: Vec::new(),
            abi: "cpython-311-x86_64-linux-gnu".into(),
            version: "3.11.2".into(),
        },
        seccomp: Blake3::of(b"seccomp"),
        host: Blake3::of(b"host"),
    }
}

pub(super) fn fs_read() -> Formed {
    let texts = Texts {
        manifest: include_bytes!("../../../executors/fs_read/manifest.toml").to_vec(),
        code: include_bytes!("../../../executors/fs_read/main.py").to_vec(),
        schema: include_bytes!("../../../executors/fs_read/schema.json").to_vec(),
    };
    let id = ExecutorId { name: "fs_read".into(), version: "1.0.0".into() };
    Formed::of(&id, texts, &installation()).unwrap()
}
