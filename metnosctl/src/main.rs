//! `metnosctl`: see the library beside it. It must never do anything by itself.

fn main() -> std::process::ExitCode {
    metnosctl::start().into()
}
