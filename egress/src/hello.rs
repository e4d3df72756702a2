//! The first record of a connection: does it begin TLS, and with which server in mind (RFC 8446 §4.1.2, RFC 6066
//! §3)? Total over any bytes.

/// What the first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First<'a> {
    /// Not enough of it is there.
    More,
    /// No TLS.
    Plain,
    /// TLS that names this server.
    Named(&'a str),
    /// TLS that cannot be let through, and why.
    Refused(&'static str),
}

/// The longest record there is (RFC 8446 §5.1), with its head.
pub const MAX_RECORD: usize = 5 + (1 << 14);

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// Reads what has come of a first record.
#[must_use]
pub fn read(bytes: &[u8]) -> First<'_> {
    let Some((&kind, rest)) = bytes.split_first() else { return First::More };
    if kind != HANDSHAKE {
        return First::Plain;
    }
    let [3, _, high, low, record @ ..] = rest else {
        return if rest.first().is_none_or(|major| *major == 3) { First::More } else { First::Plain };
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    if length == 0 || length > MAX_RECORD - 5 {
        return First::Refused("its first record has no length that one may have");
    }
    let Some(record) = record.get(..length) else { return First::More };
    server_name(record).map_or(First::Refused("its first record names no server, or not in one piece"), First::Named)
}

/// Takes from the front of a message.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        Some(self.take(bytes)?.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
    }

    /// What stands behind a length of so many bytes.
    fn vector(&mut self, bytes: usize) -> Option<Self> {
        let length = self.number(bytes)?;
        self.take(length).map(Reader)
    }
}

/// The one host name in a greeting that fills its record.
fn server_name(record: &[u8]) -> Option<&str> {
    let mut record = Reader(record);
    if record.number(1)? != usize::from(CLIENT_HELLO) {
        return None;
    }
    let mut hello = record.vector(3)?;
    // Version and random.
    hello.take(2 + 32)?;
    let _session = hello.vector(1)?;
    let _ciphers = hello.vector(2)?;
    let _compression = hello.vector(1)?;
    let mut extensions = hello.vector(2)?;
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let body = extensions.vector(2)?;
        if kind == usize::from(SERVER_NAME) {
            // Two lists could be read differently by the server.
            if found.is_some() {
                return None;
            }
            found = Some(only_host_name(body)?);
        }
    }
    found
}

fn only_host_name(mut body: Reader<'_>) -> Option<&str> {
    let mut list = body.vector(2)?;
    if list.number(1)? != usize::from(HOST_NAME) {
        return None;
    }
    let name = list.vector(2)?;
    (list.0.is_empty() && body.0.is_empty()).then(|| std::str::from_utf8(name.0).ok()).flatten()
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn with_length(size: usize, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        [&length[4 - size..], body].concat()
    }

    /// A greeting with these extensions, as one record.
    pub(crate) fn greeting(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let extensions: Vec<u8> = extensions
            .iter()
            .flat_map(|(kind, body)| [kind.to_be_bytes().to_vec(), with_length(2, body)].concat())
            .collect();
        let hello = [
            vec![3, 3],
            vec![7; 32],
            with_length(1, &[9; 32]),
            with_length(2, &[0x13, 0x01]),
            with_length(1, &[0]),
            with_length(2, &extensions),
        ]
        .concat();
        let message = [vec![1], with_length(3, &hello)].concat();
        [vec![22, 3, 1], with_length(2, &message)].concat()
    }

    pub(crate) fn names(names: &[&str]) -> (u16, Vec<u8>) {
        let list: Vec<u8> = names.iter().flat_map(|name| [vec![0], with_length(2, name.as_bytes())].concat()).collect();
        (0, with_length(2, &list))
    }

    #[test]
    fn the_name_in_a_greeting_is_found_and_nothing_else_passes() {
        let good = greeting(&[(10, vec![0, 2, 0, 29]), names(&["example.org"])]);
        assert_eq!(read(&good), First::Named("example.org"));
        assert_eq!(read(b"GET / HTTP/1.1\r\n"), First::Plain);
        assert_eq!(read(&[22, 2, 0]), First::Plain);
        let refused = |bytes: &[u8]| matches!(read(bytes), First::Refused(_));
        assert!(refused(&greeting(&[])), "no name");
        assert!(refused(&greeting(&[names(&["a.org"]), names(&["b.org"])])), "two lists");
        assert!(refused(&greeting(&[names(&["a.org", "b.org"])])), "two names");
        assert!(refused(&greeting(&[names(&[])])), "an empty list");
        let mut other = good.clone();
        other[5] = 2;
        assert!(refused(&other), "not a greeting");
        let mut long = good;
        (long[3], long[4]) = (0xff, 0xff);
        assert!(refused(&long), "a length that none may have");
    }

    #[test]
    fn every_beginning_of_a_greeting_asks_for_more() {
        let good = greeting(&[names(&["example.org"])]);
        for length in 0..good.len() {
            assert_eq!(read(&good[..length]), First::More, "{length}");
        }
    }

    #[test]
    fn a_greeting_over_two_records_is_refused() {
        let whole = greeting(&[names(&["example.org"])]);
        let (first, second) = whole[5..].split_at(20);
        let records = [vec![22, 3, 1], with_length(2, first), vec![22, 3, 1], with_length(2, second)].concat();
        assert!(matches!(read(&records), First::Refused(_)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400), tls: bool) {
            if tls && bytes.len() > 5 {
                let length = u16::try_from(bytes.len() - 5).unwrap().to_be_bytes();
                bytes[..5].copy_from_slice(&[22, 3, 1, length[0], length[1]]);
            }
            let _ = read(&bytes);
        }

        #[test]
        fn flipped_byte_in_tls_hello_never_names_another_server(at in 0_usize..120, bit in 0_u32..8) {
            let mut bytes = greeting(&[names(&["example.org"])]);
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            if let First::Named(name) = read(&bytes) {
                prop_assert!(name.len() == "example.org".len() || name == "example.org");
            }
        }
    }
}
