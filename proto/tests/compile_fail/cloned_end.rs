// An end cannot be copied.
use metnos_proto::edge::AskerEnd;
use metnos_proto::edges::PolicydSandboxd;

fn copy(end: &AskerEnd<PolicydSandboxd>) -> AskerEnd<PolicydSandboxd> {
    end.clone()
}

fn main() {}
