//! Stands in for a daemon under its name, with its real ends, its uid and its lock, and behaves as badly
//! as the words of the matrix allow. It must never be told anything but over those ends.

mod door;
mod life;
mod mind;
mod planner;
mod syntd;

use std::process::ExitCode;

fn main() -> ExitCode {
    let path = std::env::args().next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let lived = match name {
        "metnos-planner" => planner::live(),
        "metnos-gatewayd" => door::live(),
        "metnos-mind" => mind::live(),
        "metnos-syntd" => syntd::live(),
        other => Err(format!("`{other}` is nobody that is presumed hostile").into()),
    };
    match lived {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hostile {name}: {error}");
            ExitCode::FAILURE
        }
    }
}
