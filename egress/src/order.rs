//! What sandboxd orders for one call, and what it learns of it.

use std::net::SocketAddr;

use metnos_proto::executor::{is_address_literal, is_host_name};
use serde::{Deserialize, Serialize};

/// The connections one call can have, in all. The packet that carries them has one more descriptor.
pub const MAX_CONNECTIONS: usize = metnos_proto::socket::MAX_HANDED - 1;
/// The names one call may be granted.
pub const MAX_RULES: usize = 64;
/// The private addresses an instance may grant.
pub const MAX_PRIVATE: usize = 32;
/// The most servers of names that are asked.
pub const MAX_RESOLVERS: usize = 3;
/// The longest line with which an executor says where to: a name, a blank, a port, the end of the line.
pub const MAX_LINE: usize = 253 + 1 + 5 + 1;
/// The longest order, in bytes.
pub const MAX_ORDER: usize = 32 * 1024;
/// The longest report, in bytes.
pub const MAX_REPORT: usize = 2 * 1024;

/// A place that this call may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The name, strictly ([`is_host_name`]); or an address ([`is_address_literal`]), which is dialled only where it is listed.
    pub host: String,
    /// Whether any name below it is meant, and not it itself.
    pub below: bool,
    /// The port.
    pub port: u16,
}

impl Rule {
    /// Whether this very name and port are meant. A wildcard ends at the border of a label.
    #[must_use]
    pub fn covers(&self, host: &str, port: u16) -> bool {
        let named = if self.below {
            host.strip_suffix(self.host.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            host == self.host
        };
        named && port == self.port
    }
}

/// What a helper receives, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Where this call may go.
    pub rules: Vec<Rule>,
    /// Addresses that are reached although they are private: the owner has listed each.
    pub private: Vec<SocketAddr>,
    /// Servers of names; empty: those of the system.
    pub resolvers: Vec<SocketAddr>,
    /// The most bytes, both ways and over all connections.
    pub bytes: u64,
    /// How long the helper may live, in milliseconds.
    pub life_ms: u64,
}

impl Order {
    /// Whether the executor may go there.
    #[must_use]
    pub fn covers(&self, host: &str, port: u16) -> bool {
        self.rules.iter().any(|rule| rule.covers(host, port))
    }

    /// Reads an order, within its bounds.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (order, rest) = postcard::take_from_bytes::<Self>(bytes).ok()?;
        let fits = rest.is_empty()
            && order.rules.len() <= MAX_RULES
            && order.private.len() <= MAX_PRIVATE
            && order.resolvers.len() <= MAX_RESOLVERS
            && order.rules.iter().all(|rule| is_place(&rule.host) && (is_host_name(&rule.host) || !rule.below));
        fits.then_some(order)
    }

    /// The order as bytes; `None` when it is too long.
    #[must_use]
    pub fn write(&self) -> Option<Vec<u8>> {
        postcard::to_allocvec(self).ok().filter(|bytes| bytes.len() <= MAX_ORDER)
    }
}

/// What became of one connection, as the helper reports it when it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// The name that was asked for, if it was one.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The address that was dialled; empty when none was.
    pub address: String,
    /// Bytes that left.
    pub sent: u64,
    /// Bytes that came.
    pub received: u64,
    /// Why it was refused or cut; empty for one that ended by itself.
    pub refused: String,
}

impl Visit {
    /// Reads a report.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        postcard::take_from_bytes::<Self>(bytes).ok().filter(|(_, rest)| rest.is_empty()).map(|(visit, _)| visit)
    }
}

/// Whether this is a name of a host, or an address as it is always written.
fn is_place(host: &str) -> bool {
    is_host_name(host) || is_address_literal(host)
}

/// Where an executor wants to go: one line without its end, `NAME PORT`.
#[must_use]
pub fn destination(line: &[u8]) -> Option<(&str, u16)> {
    let (host, port) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let plain = !port.starts_with('0') && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|_| plain)?;
    is_place(host).then_some((host, port))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn rule(host: &str, below: bool) -> Rule {
        Rule { host: host.to_owned(), below, port: 443 }
    }

    #[test]
    fn wildcard_host_matches_whole_labels_but_not_the_bare_domain() {
        let below = rule("example.org", true);
        for (host, covered) in [
            ("a.example.org", true),
            ("a.b.example.org", true),
            ("example.org", false),
            ("evilexample.org", false),
            ("a.example.org.evil.net", false),
            (".example.org", false),
        ] {
            assert_eq!(below.covers(host, 443), covered, "{host}");
        }
        assert!(!below.covers("a.example.org", 80));
        let exact = rule("example.org", false);
        assert!(exact.covers("example.org", 443) && !exact.covers("a.example.org", 443));
    }

    #[test]
    fn a_destination_is_a_plain_name_and_a_plain_port() {
        assert_eq!(destination(b"example.org 443"), Some(("example.org", 443)));
        assert_eq!(destination(b"192.168.1.10 8123"), Some(("192.168.1.10", 8123)), "dialled only where it is listed");
        for line in [
            "",
            "example.org",
            "example.org ",
            "example.org  443",
            "example.org 0443",
            "example.org +443",
            "example.org 65536",
            "example.org 443 ",
            "EXAMPLE.org 443",
            "example.org. 443",
            "127.000.0.1 443",
            "127.1 443",
            "[::1] 443",
            "::1 443",
            "fe80::1%eth0 443",
            "0x7f.1 80",
            "2130706433 80",
            "user@example.org 443",
            "example.org/x 443",
            "example.org\r 443",
            "ex\0ample.org 443",
            "localhost 80",
            "éxample.org 443",
            "-a.example.org 443",
            "a..example.org 443",
        ] {
            assert_eq!(destination(line.as_bytes()), None, "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_order_a_destination_a_report_or_nothing(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = (Order::read(&bytes), Visit::read(&bytes));
            if let Some((host, port)) = destination(&bytes) {
                let again = format!("{host} {port}");
                prop_assert_eq!(again.as_bytes(), &bytes[..]);
            }
        }

        #[test]
        fn an_order_comes_back_as_it_was(host in "[a-z]{1,9}\\.[a-z]{2,5}", below: bool, port: u16, bytes: u64, life_ms: u64) {
            let order = Order {
                rules: vec![Rule { host, below, port }],
                private: vec!["127.0.0.1:80".parse().unwrap()],
                resolvers: vec!["[::1]:53".parse().unwrap()],
                bytes,
                life_ms,
            };
            prop_assert_eq!(Order::read(&order.write().unwrap()), Some(order));
        }
    }
}
