// An edge that has no phases and does not say why. `edges!` has this constant for every edge.
use metnos_proto::edge::Order;

const ORDER: Order = metnos_proto::edges!(@order none);

fn main() {
    let _ = ORDER;
}
