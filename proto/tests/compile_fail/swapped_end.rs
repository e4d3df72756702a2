// Who holds the answering end cannot ask with it.
use metnos_proto::edge::AnswererEnd;
use metnos_proto::edges::PlannerPolicyd;
use metnos_proto::link::BlockingClient;

fn ask(end: AnswererEnd<PlannerPolicyd>) {
    let _ = BlockingClient::new(end);
}

fn main() {}
