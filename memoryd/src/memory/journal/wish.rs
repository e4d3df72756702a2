//! What a planner's model said of an executor that does not exist, kept within bounds.

use metnos_proto::doc::mnestome::{DesiredField, DesiredSignature};
use metnos_proto::msg::memoryd::{CloseTurn, MAX_WISHED, MAX_WISHED_BYTES, WishedField, WishedSignature};

use super::clean;
use crate::chronicle::payload::TurnClose;

/// The end of a turn as the chronicle keeps it.
pub(in crate::memory) fn closing(word: &CloseTurn) -> TurnClose {
    let (end, wish) = (word.end.name().to_owned(), clean(word.wish.clone()));
    TurnClose { end, signature: signature(&word.signature), wish }
}

/// What was said of something wished for, as the chronicle keeps it: what is too much or too long is cut, and what has the
/// form of a secret left out. Empty when nothing was said.
fn signature(word: &WishedSignature) -> String {
    let text = |text: &String| clean(cut(text));
    let fields = |fields: &[WishedField]| -> Vec<DesiredField> {
        let one = |field: &WishedField| DesiredField { kind: text(&field.kind), name: text(&field.name) };
        fields.iter().take(MAX_WISHED).map(one).collect()
    };
    if *word == WishedSignature::default() {
        return String::new();
    }
    let signature = DesiredSignature {
        errors: word.errors.iter().take(MAX_WISHED).map(text).collect(),
        inputs: fields(&word.inputs),
        outputs: fields(&word.outputs),
        summary: String::new(),
    };
    serde_json::to_string(&signature).unwrap_or_default()
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_WISHED_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::msg::planner::TurnEnd;
    use metnos_proto::role::RoleName;

    use super::*;
    use crate::memory::testing::{Instance, asker, turn};

    #[test]
    fn wished_signature_is_bounded_and_not_erased_by_an_empty_one() {
        let instance = Instance::new();
        let mut memory = instance.open();
        let field = |name: &str| WishedField { name: name.to_owned(), kind: "string".to_owned() };
        let wide = WishedSignature {
            inputs: (0..MAX_WISHED + 1).map(|n| field(&format!("in{n}"))).collect(),
            outputs: vec![field(&"è".repeat(MAX_WISHED_BYTES))],
            errors: vec!["NotFound".to_owned()],
        };
        for (n, signature) in [(1, WishedSignature::default()), (2, wide), (3, WishedSignature::default())] {
            memory.say(n, "play music");
            memory.begin(n);
            let word = CloseTurn { turn: turn(n), end: TurnEnd::Answered, wish: "play music".to_owned(), signature };
            memory.close_turn(asker(RoleName::Planner), &word).unwrap();
            memory.flush().unwrap();
        }
        let listed = memory.mnestome().list().unwrap();
        let one = listed.iter().find(|one| one.dst_executor == "play music").unwrap();
        let signature = one.desired_signature.clone().unwrap();
        assert_eq!((one.uses, signature.inputs.len()), (3, MAX_WISHED), "{signature:?}");
        assert_eq!(signature.inputs[0], DesiredField { kind: "string".to_owned(), name: "in0".to_owned() });
        assert_eq!(signature.outputs[0].name.len(), MAX_WISHED_BYTES);
        assert_eq!((signature.errors, signature.summary.as_str()), (vec!["NotFound".to_owned()], "play music"));
    }
}
