// An edge whose line names no phase machine and gives no reason for having none.
mod vocabulary {
    pub use metnos_proto::msg::common::*;
    pub use metnos_proto::msg::mind::*;
}

metnos_proto::edges! {
    /// The door asks which models can be called.
    DoorMind in door_mind = 4: Gatewayd => Mind {
        ask health(MindHealth, 0) -> (MindReport, 0) within 5_000;
    }
}

fn main() {}
