//! Plans for tests, of an installation that is nowhere.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use metnos_proto::control::FolderSettings;
use metnos_proto::executor::Manifest;
use metnos_proto::ids::Blake3;

use super::{Installation, Plan, PlanError};
use crate::machine::commands::{Command, NOT_INSTALLED, Programs};
use crate::machine::interpreter::{Interpreter, NetParts};

/// The installation.
pub fn installation() -> Installation {
    Installation {
        interpreter: Interpreter {
            program: "/usr/bin/python3.11".to_owned(),
            loader: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
            libraries: vec!["/usr/lib/x86_64-linux-gnu/libc.so.6".to_owned()],
            stdlib: "/usr/lib/python3.11".to_owned(),
            extensions: vec!["/usr/lib/python3.11/lib-dynload/_json.so".to_owned()],
            modules: vec!["_json".to_owned()],
            net: NetParts {
                libraries: vec!["/usr/lib/x86_64-linux-gnu/libssl.so.3".to_owned()],
                extensions: vec!["/usr/lib/python3.11/lib-dynload/_ssl.so".to_owned()],
                modules: vec!["_ssl".to_owned()],
            },
            abi: "cpython-311-x86_64-linux-gnu".to_owned(),
            version: "3.11.2".to_owned(),
        },
        seccomp: [Blake3::of(b"filter"), Blake3::of(b"start")],
        host: Blake3::of(b"host"),
        seal: Blake3::of(b"seal"),
        net: Some(Blake3::of(b"net")),
        folders: FolderSettings {
            home: "/home/ada".to_owned(),
            read: vec!["/home/ada/Pictures".to_owned()],
            write: vec!["/srv/photos".to_owned()],
        },
        programs_seccomp: [Blake3::of(b"programs"), Blake3::of(b"programs start")],
        programs: Programs {
            listed: ["/usr/bin/awk", "/usr/bin/ls", "/usr/bin/none", "/usr/bin/wc"].map(str::to_owned).to_vec(),
            found: vec![
                Command {
                    path: "/usr/bin/wc".to_owned(),
                    libraries: vec!["/usr/lib/x86_64-linux-gnu/libc.so.6".to_owned()],
                    data: vec!["/usr/share/words".to_owned()],
                },
                Command {
                    path: "/usr/bin/ls".to_owned(),
                    libraries: vec![
                        "/opt-lib/libselinux.so.1".to_owned(),
                        "/usr/lib/x86_64-linux-gnu/libc.so.6".to_owned(),
                    ],
                    data: Vec::new(),
                },
            ],
            missing: [("/usr/bin/awk", "it is a link to /usr/bin/mawk"), ("/usr/bin/none", NOT_INSTALLED)]
                .map(|(path, why)| (path.to_owned(), why.to_owned()))
                .to_vec(),
        },
    }
}

/// The plan of a reader of the workspace.
pub fn reader() -> Plan {
    let manifest = include_bytes!("../../../executors/fs_read/manifest.toml");
    installation().plan(&Manifest::parse(manifest).unwrap()).unwrap()
}

/// The plan of a writer of these folders.
pub fn writer(folders: &str) -> Result<Plan, PlanError> {
    let text = String::from_utf8_lossy(include_bytes!("../../../executors/fs_read/manifest.toml")).into_owned();
    let text = text
        .replace("fs-read-workspace", "fs-write-workspace")
        .replace("{ fs_read = [\"workspace/\"] }", &format!("{{ fs_write = [{folders}] }}"));
    installation().plan(&Manifest::parse(text.as_bytes()).unwrap())
}
