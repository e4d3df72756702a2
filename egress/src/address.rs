//! Which addresses a name on the net must not lead to: this machine, this network, no matter who shares the provider's
//! network, the services of a cloud, and what is no place at all. What is not known to be public is refused.
//! Sources: the registries of special-purpose addresses (RFC 6890 and its updates, IANA).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why nobody may be led to this address; `None` for a public one.
#[must_use]
pub fn refused(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => refused_v4(address),
        IpAddr::V6(address) => refused_v6(address),
    }
}

fn refused_v4(address: Ipv4Addr) -> Option<&'static str> {
    let why = match address.octets() {
        [0, ..] => "this network",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "a private network",
        [100, 64..=127, ..] => "the provider's own network (CGNAT)",
        [127, ..] => "this machine",
        [169, 254, ..] => "the local link, and clouds' metadata",
        [168, 63, 129, 16] => "a cloud's metadata",
        [192, 0, 0, _] | [192, 88, 99, _] => "special purposes",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "documentation",
        [198, 18..=19, ..] => "measurements",
        [224..=239, ..] => "multicast",
        [240..=255, ..] => "no network in use, and broadcast",
        _ => return None,
    };
    Some(why)
}

fn refused_v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    let why = match segments {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => "this machine",
        // An address of the older protocol in another spelling.
        [0, 0, 0, 0, 0, 0xffff, ..] => "an older address in disguise",
        [0, 0, 0, 0, 0, 0, ..] => "an older address in disguise",
        // Where all older addresses are reached through a translator: as public as what it stands for.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => return refused_v4(embedded(high, low)),
        [0x64, 0xff9b, ..] => "a translator's own network",
        [0x100, ..] => "nowhere",
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => "documentation",
        [0x2001, 0..=0x01ff, ..] => "special purposes",
        [0x2002, high, low, ..] => return refused_v4(embedded(high, low)).or(Some("a tunnel")),
        [0xfc00..=0xfdff, ..] => "a private network",
        [0xfe80..=0xfebf, ..] => "the local link",
        [0xfec0..=0xfeff, ..] => "a private network",
        [0xff00..=0xffff, ..] => "multicast",
        // Only this eighth of all addresses is given out.
        [0x2000..=0x3fff, ..] => return None,
        _ => "no network in use",
    };
    Some(why)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn private_and_reserved_addresses_are_refused() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.1.2.3",
            "169.254.169.254",
            "168.63.129.16",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.168.1.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2001:1ff::1",
            "2002:7f00:1::",
            "2002:808:808::",
            "3fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(refused(text.parse().unwrap()).is_some(), "{text}");
        }
    }

    #[test]
    fn the_public_net_is_open() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.167.1.1",
            "192.169.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "2a00:1450::1",
            "64:ff9b::808:808",
        ] {
            assert_eq!(refused(text.parse().unwrap()), None, "{text}");
        }
    }
}
