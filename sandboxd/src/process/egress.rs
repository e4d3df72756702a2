//! sandboxd's side of the egress helper: which places a call may reach, the ends that its process gets, and what the
//! helper saw. sandboxd itself opens no connection and has no way to.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use metnos_egress::nursery;
use metnos_egress::order::{MAX_PRIVATE, MAX_REPORT, MAX_RESOLVERS, Order, Rule};
use metnos_proto::control::NetSettings;
use metnos_proto::executor::{NetGrant, is_address_literal, is_host_name};
use metnos_proto::msg::common::{MAX_VISITS, Visit};
use metnos_proto::socket;
use metnos_proto::sys::watch;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use serde_json::Value;
use tokio::time::Instant;

use crate::plan::Plan;
use crate::pool::secrets::Servers;

/// How long the helper's last words are waited for after a call has ended, in milliseconds. It ends with the call.
const REPORT_WITHIN_MS: u64 = 500;
/// How much longer than its call a helper may live, in milliseconds.
const LIFE_MARGIN_MS: u64 = 1_000;

/// What makes connections for calls.
#[derive(Debug)]
pub struct Egress {
    nursery: OwnedFd,
    private: Vec<SocketAddr>,
    resolvers: Vec<SocketAddr>,
}

/// The connections of one call.
#[derive(Debug)]
pub struct CallConnections {
    /// The executor's ends. An end that stays open keeps the helper from seeing that the executor has closed it.
    pub connections: Vec<OwnedFd>,
    /// What the helper will have seen.
    pub report: Report,
}

/// The end over which a helper reports what it saw.
#[derive(Debug)]
pub struct Report(OwnedFd);

impl Egress {
    /// Starts it, or takes up the one at the other end of `line`, which has a user of its own. Must be called by a process of
    /// one thread, before it locks itself or leaves the system's view.
    ///
    /// # Errors
    /// In a sentence.
    pub fn start(net: &NetSettings, without_landlock: bool, line: Option<OwnedFd>) -> Result<Self, String> {
        let nursery = match line {
            Some(line) => nursery::adopt(line, without_landlock),
            None => nursery::start(without_landlock),
        };
        let nursery = nursery.map_err(|error| format!("the egress helper: {error}"))?;
        let addresses = |texts: &[String], most| texts.iter().filter_map(|text| text.parse().ok()).take(most).collect();
        Ok(Self {
            nursery,
            private: addresses(&net.private, MAX_PRIVATE),
            resolvers: addresses(&net.resolvers, MAX_RESOLVERS),
        })
    }

    /// Opens the connections of a call; `None` for a plan without network. A call without arguments is a birth
    /// test: it has connections that lead nowhere. `servers` are those of the account that came with the call.
    ///
    /// # Errors
    /// In a sentence, when the helper cannot be had.
    pub fn open(
        &self,
        plan: &Plan,
        arguments: Option<&[u8]>,
        servers: Servers<'_>,
    ) -> Result<Option<CallConnections>, String> {
        let Some(egress) = plan.egress() else { return Ok(None) };
        let said = |error: rustix::io::Errno| format!("the connections of a call: {error}");
        let arguments: Option<Value> = arguments.and_then(|bytes| serde_json::from_slice(bytes).ok());
        let rules = arguments
            .map(|arguments| egress.rules.iter().filter_map(|rule| of_rule(rule, &arguments, servers)).collect())
            .unwrap_or_default();
        let order = Order {
            rules,
            private: self.private.clone(),
            resolvers: self.resolvers.clone(),
            bytes: egress.bytes,
            life_ms: u64::from(plan.spec().limits.wall_s) * 1_000 + LIFE_MARGIN_MS,
        };
        let (report, theirs) = socket::pair().map_err(|error| error.to_string())?;
        let mut ours = Vec::new();
        let mut fds = vec![theirs];
        for _ in 0..egress.connections {
            let pair = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
            let (executor, helper) = pair.map_err(said)?;
            ours.push(executor);
            fds.push(helper);
        }
        let bytes = order.write().ok_or("the places of a call do not fit an order")?;
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        socket::send(self.nursery.as_fd(), &bytes, &fds).map_err(|error| {
            format!("the egress helper does not hear ({error}); `metnosctl daemon restart sandboxd` starts it anew")
        })?;
        Ok(Some(CallConnections { connections: ours, report: Report(report) }))
    }
}

impl Report {
    /// What the helper saw, once the call's process has ended.
    pub async fn visits(self) -> Vec<Visit> {
        let Ok(report) = watch(self.0) else { return Vec::new() };
        let mut visits = Vec::new();
        let mut buffer = vec![0; MAX_REPORT];
        let until = Instant::now() + Duration::from_millis(REPORT_WITHIN_MS);
        while visits.len() < MAX_VISITS {
            let Ok(Ok(mut ready)) = tokio::time::timeout_at(until, report.readable()).await else { break };
            match socket::receive(report.get_ref().as_fd(), &mut buffer) {
                Ok(Some(packet)) => {
                    let told = buffer.get(..packet.len).and_then(metnos_egress::order::Visit::read);
                    visits.extend(told.map(
                        |metnos_egress::order::Visit { host, port, address, sent, received, refused }| Visit {
                            host,
                            port,
                            address,
                            sent,
                            received,
                            refused,
                        },
                    ));
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => ready.clear_ready(),
                Ok(None) | Err(_) => break,
            }
        }
        visits
    }
}

/// The place that a rule of the plan means for this call, if it means one.
fn of_rule(rule: &str, arguments: &Value, servers: Servers<'_>) -> Option<Rule> {
    let named = |server: Option<(&str, u16)>| {
        let (host, port) = server.filter(|(host, _)| is_host_name(host) || is_address_literal(host))?;
        Some(Rule { host: host.to_owned(), below: false, port })
    };
    match NetGrant::parse(rule)? {
        NetGrant::Host { host, below, port } => Some(Rule { host, below, port }),
        NetGrant::Argument(pointer) => place_of(arguments.pointer(&pointer)?.as_str()?),
        NetGrant::Account(_) => named(servers.own),
        NetGrant::Sending => named(servers.sending),
    }
}

/// The one host and port that an address leads to, read strictly: what two readers could understand differently
/// leads nowhere.
#[must_use]
pub fn place_of(url: &str) -> Option<Rule> {
    if !url.chars().all(|c| c.is_ascii_graphic() && c != '\\') {
        return None;
    }
    let (scheme, rest) = url.split_once("://")?;
    let default = match scheme.to_ascii_lowercase().as_str() {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    if authority.contains('@') {
        return None;
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, digits)) => {
            let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
            (host, plain.then(|| digits.parse().ok()).flatten()?)
        }
        None => (authority, default),
    };
    let host = host.to_ascii_lowercase();
    is_host_name(&host).then_some(Rule { host, below: false, port })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn rule(host: &str, port: u16) -> Option<Rule> {
        Some(Rule { host: host.to_owned(), below: false, port })
    }

    #[test]
    fn an_address_leads_to_one_place_or_to_none() {
        for (url, place) in [
            ("https://example.org", rule("example.org", 443)),
            ("https://Example.org/a?b#c", rule("example.org", 443)),
            ("http://example.org:8080/", rule("example.org", 8080)),
            ("HTTP://example.org?x=@", rule("example.org", 80)),
            ("https://example.org#@evil.example", rule("example.org", 443)),
        ] {
            assert_eq!(place_of(url), place, "{url}");
        }
        for url in [
            "",
            "example.org",
            "ftp://example.org",
            "file:///etc/passwd",
            "https:example.org",
            "https:///example.org",
            "https://user@example.org/",
            "https://example.org@evil.example/",
            "https://example.org\\@evil.example/",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://0x7f.1/",
            "https://2130706433/",
            "https://example.org./",
            "https://example.org:0443/",
            "https://example.org:443:80/",
            "https://example.org:/",
            "https://exam ple.org/",
            "https://ex\u{e4}mple.org/",
            "https://example.org\n.evil.example/",
            "https://example%2eorg/",
            "https://example.org:65536/",
            "https://localhost/",
        ] {
            assert_eq!(place_of(url), None, "{url:?}");
        }
    }

    #[test]
    fn a_rule_about_an_argument_means_that_argument_of_this_call() {
        let arguments = json!({ "url": "https://example.org/x", "other": "https://evil.example/" });
        let of_rule = |rule: &str| super::of_rule(rule, &arguments, Servers::default());
        assert_eq!(of_rule("argument /url"), rule("example.org", 443));
        assert_eq!(of_rule("argument /none"), None);
        assert_eq!(of_rule("fixed.example:8443"), rule("fixed.example", 8443));
    }

    #[test]
    fn a_rule_about_an_account_means_the_server_that_came_with_the_call() {
        // What the arguments say has no part in it.
        let arguments = json!({ "account": "evil.example", "host": "evil.example" });
        let of_rule = |own| super::of_rule("account mail", &arguments, Servers { own, sending: None });
        assert_eq!(of_rule(Some(("imap.example.org", 993))), rule("imap.example.org", 993));
        assert_eq!(of_rule(None), None);
        assert_eq!(of_rule(Some(("127.1", 993))), None);
        assert_eq!(
            of_rule(Some(("192.168.1.10", 8123))),
            rule("192.168.1.10", 8123),
            "the helper looks whether it is listed"
        );
        let both = Servers { own: Some(("imap.example.org", 993)), sending: Some(("smtp.example.org", 465)) };
        let of_rule = |rule| super::of_rule(rule, &arguments, both);
        assert_eq!(of_rule("account mail"), rule("imap.example.org", 993));
        assert_eq!(of_rule("account mail sending"), rule("smtp.example.org", 465));
    }

    proptest! {
        #[test]
        fn a_place_is_what_the_text_plainly_says(text in "(https?://)?[a-zA-Z0-9.:@/\\\\%#?-]{0,40}") {
            if let Some(Rule { host, port, .. }) = place_of(&text) {
                prop_assert!(is_host_name(&host));
                let authority = text.split("://").nth(1).unwrap().split(['/', '?', '#']).next().unwrap().to_ascii_lowercase();
                let named = authority == host || authority == format!("{host}:{port}");
                prop_assert!(named, "{} is not {}", authority, host);
            }
        }
    }
}
