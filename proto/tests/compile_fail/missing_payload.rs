// A word brings exactly the payloads that it declares.
use metnos_proto::edges::PlannerPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::Client;

async fn act(client: &Client<PlannerPolicyd>, ask: metnos_proto::msg::policyd::Act) {
    let _ = client.act(TraceId::NONE, ask, []).await;
}

fn main() {}
