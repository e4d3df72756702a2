// The door has no word to have anything executed or decided.
use metnos_proto::edges::DoorPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::Client;

async fn act(client: &Client<DoorPolicyd>, ask: metnos_proto::msg::policyd::Act, fds: [metnos_proto::payload::Sealed; 1]) {
    let _ = client.act(TraceId::NONE, ask, fds).await;
}

fn main() {}
