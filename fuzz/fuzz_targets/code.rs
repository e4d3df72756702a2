//! Any text as a pairing code: it is one, and read back as it is shown, or it is nothing; and the book of open codes
//! lets nobody in on a code that was not given out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_policyd::people::pairing::book::{Book, PairingReply};
use metnos_policyd::people::pairing::code::Code;
use metnos_proto::msg::common::{Channel, Standing};

fuzz_target!(|text: &str| {
    let shown = Code::parse(text);
    if let Some(code) = shown {
        assert_eq!(Code::parse(&code.show()), Some(code));
    }
    let mut book = Book::default();
    let (good, _) = book.invite(Channel::Http, Standing::Guest, 0, || Code::of([7, 7, 7, 7])).expect("a code");
    let heard = book.knock(Channel::Http, "somebody", shown, 1, || None);
    assert_eq!(heard == PairingReply::Known(Standing::Guest.into()), shown == Some(good));
});
