//! Which attempts of the suite say something about Metnos alone, so that they cannot be given to another sandbox, and why.

use metnos_sandboxd::selftest::escape::{Case, Layer};

/// Why an attempt is not tried in other sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Own {
    /// It lies over the channel on which sandboxd reads results.
    Channel,
    /// It is aimed at a file, a descriptor or an identity that only a process of sandboxd has.
    Parts,
    /// It types into the terminal behind descriptor 0; nothing is started from a terminal here.
    Terminal,
}

impl Own {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Channel, Self::Parts, Self::Terminal];

    /// Its name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Parts => "own parts",
            Self::Terminal => "terminal",
        }
    }

    /// What it means, for the line below the table.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Channel => "they lie over the channel on which sandboxd reads results",
            Self::Parts => "they are aimed at a file, a descriptor or an identity that only a process of sandboxd has",
            Self::Terminal => "they type into a terminal, and the runner starts nothing from one",
        }
    }
}

/// The attempts that are Metnos's own by what they do, beside those whose first layer is the channel.
const NAMED: [(Own, &[&str]); 3] = [
    (
        Own::Channel,
        &[
            "give_a_result_and_stay",
            "read_its_log_or_channel_again",
            "send_its_channel_away_1",
            "send_its_channel_away_2",
            "armed_sockets_and_descriptors_away_4",
        ],
    ),
    (
        Own::Parts,
        &[
            "be_alone_in_its_world",
            "speak_to_the_zygote_and_the_broker",
            "open_what_lies_beside_the_workspace_3",
            "open_what_lies_beside_the_workspace_4",
            "open_what_lies_beside_the_workspace_5",
            "write_its_own_code_1",
            "write_its_own_code_2",
            "write_its_own_code_3",
            "write_outside_the_workspace_2",
            "write_outside_the_workspace_3",
            "armed_the_starting_descriptor_is_gone_1",
            "armed_the_starting_descriptor_is_gone_2",
        ],
    ),
    (
        Own::Terminal,
        &[
            "type_into_a_terminal_1",
            "type_into_a_terminal_2",
            "type_into_a_terminal_3",
            "armed_terminals_with_high_bits_1",
            "armed_terminals_with_high_bits_2",
            "armed_terminals_with_high_bits_3",
        ],
    ),
];

/// Why other sandboxes are not given this attempt; `None` for one that is tried everywhere.
pub fn reason(case: &Case) -> Option<Own> {
    if case.layer == Layer::Channel {
        return Some(Own::Channel);
    }
    NAMED.iter().find(|(_, names)| names.contains(&case.name.as_str())).map(|(own, _)| *own)
}

#[cfg(test)]
mod tests {
    use metnos_sandboxd::selftest::escape::families;

    use super::*;

    #[test]
    fn every_attempt_that_is_left_out_is_one_of_the_suite_and_named_once() {
        let families = families().unwrap();
        let cases: Vec<&Case> = families.iter().flat_map(|family| &family.cases).collect();
        let mut seen = std::collections::BTreeSet::new();
        for name in NAMED.iter().flat_map(|(_, names)| *names) {
            let case = cases.iter().find(|case| case.name == *name);
            let case = case.unwrap_or_else(|| panic!("the suite has no case {name}"));
            assert!(case.layer != Layer::Channel, "{name} is left out by its layer already");
            assert!(seen.insert(name), "{name} stands there twice");
        }
        let left_out = cases.iter().filter(|case| reason(case).is_some()).count();
        assert!(left_out * 5 < cases.len(), "{left_out} of {} are left out, a fifth or more", cases.len());
    }

    #[test]
    fn every_attempt_on_the_channel_by_its_layer_is_left_out() {
        for case in families().unwrap().iter().flat_map(|family| &family.cases) {
            assert!(case.layer != Layer::Channel || reason(case) == Some(Own::Channel), "{}", case.name);
        }
    }
}
