// An edge that leads downhill: sandboxd would ask the planner. `edges!` has this line for every edge.
use metnos_proto::edge::uphill;
use metnos_proto::role::{Planner, Sandboxd};

const _: () = uphill::<Sandboxd, Planner>();

fn main() {}
