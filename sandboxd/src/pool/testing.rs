//! An executor for the tests of this folder, made from a seed of the repository.
#![allow(clippy::unwrap_used)]

use metnos_proto::executor::Manifest;
use metnos_proto::msg::common::ExecutorId;

use crate::plan::testing::installation;
use crate::verify::{ExecutorFiles, Texts};

pub(crate) fn fs_read() -> ExecutorFiles {
    let texts = Texts {
        manifest: include_bytes!("../../../executors/fs_read/manifest.toml").to_vec(),
        code: include_bytes!("../../../executors/fs_read/main.py").to_vec(),
        schema: include_bytes!("../../../executors/fs_read/schema.json").to_vec(),
    };
    let manifest = Manifest::parse(&texts.manifest).unwrap();
    let id = ExecutorId { name: manifest.executor.name, version: manifest.executor.version };
    ExecutorFiles::of(&id, texts, &installation()).unwrap()
}
