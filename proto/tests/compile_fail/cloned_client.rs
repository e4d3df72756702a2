// Nor can a client, which holds one.
use metnos_proto::edges::PolicydSandboxd;
use metnos_proto::link_async::Client;

fn copy(client: Client<PolicydSandboxd>) -> (Client<PolicydSandboxd>, Client<PolicydSandboxd>) {
    (client.clone(), client)
}

fn main() {}
