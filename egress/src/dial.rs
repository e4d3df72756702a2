//! From a name to a connection: resolved once, every address vetted, the vetted address dialled. Nothing is
//! asked twice, so an answer that changes has nothing to change.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use domain::base::Name;
use domain::resolv::StubResolver;
use domain::resolv::stub::conf::{ResolvConf, ServerConf, Transport};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::address;
use crate::order::Order;

/// How long the servers of names may take in all, in milliseconds.
pub const RESOLVE_WITHIN_MS: u64 = 6_000;
/// How long each server of names may take for one try, in milliseconds.
const ASK_WITHIN_MS: u64 = 2_500;
/// How long one address may take to answer, in milliseconds.
pub const CONNECT_WITHIN_MS: u64 = 5_000;
/// The most addresses of a name that are tried.
const MAX_TRIED: usize = 4;

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// This call may not go there.
    Forbidden,
    /// The name leads nowhere.
    Name,
    /// Nobody answers.
    Unreachable,
    /// A quota of the call is used up.
    Quota,
}

impl Class {
    /// As it stands in an answer.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Name => "name",
            Self::Unreachable => "unreachable",
            Self::Quota => "quota",
        }
    }
}

/// Why there is no connection, for the executor and for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What kind.
    pub class: Class,
    /// In a sentence.
    pub why: String,
}

impl Refused {
    /// A refusal.
    #[must_use]
    pub fn new(class: Class, why: impl Into<String>) -> Self {
        Self { class, why: why.into() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class.name(), self.why)
    }
}

/// Connects to a name that the order covers.
///
/// # Errors
/// A [`Refused`].
pub async fn dial(order: &Order, resolvers: &[SocketAddr], host: &str, port: u16) -> Result<TcpStream, Refused> {
    if !order.covers(host, port) {
        return Err(Refused::new(Class::Forbidden, format!("{host} port {port} was not granted to this call")));
    }
    let found = match host.parse::<IpAddr>() {
        // An address was never looked up, so nothing but the owner's list says that it is the right one.
        Ok(address) if order.private.contains(&SocketAddr::new(address, port)) => vec![address],
        Ok(address) => {
            let why = format!("the owner has not listed the address {address} with port {port}");
            return Err(Refused::new(Class::Forbidden, why));
        }
        Err(_) => resolve(resolvers, host).await?,
    };
    let vetted = vet(&found, port, &order.private)
        .map_err(|why| Refused::new(Class::Forbidden, format!("{host} leads to {why}")))?;
    let mut last = String::new();
    for address in vetted.into_iter().take(MAX_TRIED) {
        match timeout(Duration::from_millis(CONNECT_WITHIN_MS), TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return at_home(stream, address, &order.private),
            Ok(Err(error)) => last = error.to_string(),
            Err(_) => last = format!("no answer within {CONNECT_WITHIN_MS} ms"),
        }
    }
    Err(Refused::new(Class::Unreachable, format!("{host} port {port}: {last}")))
}

/// The addresses that may be dialled.
///
/// # Errors
/// When none is left: what is wrong with the first.
pub fn vet(found: &[IpAddr], port: u16, private: &[SocketAddr]) -> Result<Vec<SocketAddr>, String> {
    let mut refused = None;
    let mut vetted = Vec::new();
    for address in found {
        let address = SocketAddr::new(*address, port);
        match address::refused(address.ip()) {
            Some(why) if !private.contains(&address) => refused = refused.or(Some((address.ip(), why))),
            Some(_) | None => vetted.push(address),
        }
    }
    match refused {
        Some((address, why)) if vetted.is_empty() => Err(format!("{address}: {why}")),
        Some(_) | None => Ok(vetted),
    }
}

/// A public address can be this very machine's own: then both ends of the connection have it.
fn at_home(stream: TcpStream, address: SocketAddr, private: &[SocketAddr]) -> Result<TcpStream, Refused> {
    let local = stream.local_addr().map_err(|error| Refused::new(Class::Unreachable, error.to_string()))?;
    if local.ip() == address.ip() && !private.contains(&address) {
        return Err(Refused::new(Class::Forbidden, format!("{} is this machine", address.ip())));
    }
    // Small requests go at once.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

async fn resolve(resolvers: &[SocketAddr], host: &str) -> Result<Vec<IpAddr>, Refused> {
    let failed = |why: String| Refused::new(Class::Name, format!("{host}: {why}"));
    if resolvers.is_empty() {
        return Err(failed("no server of names is known; /etc/resolv.conf names none".to_owned()));
    }
    // With the root at its end, so that nothing is ever put behind it.
    let name: Name<Vec<u8>> = format!("{host}.").parse().map_err(|_| failed("it is no name".to_owned()))?;
    let mut conf = ResolvConf::new();
    conf.servers = resolvers.iter().map(|address| ServerConf::new(*address, Transport::UdpTcp)).collect();
    conf.options.timeout = Duration::from_millis(ASK_WITHIN_MS);
    conf.options.attempts = 2;
    conf.finalize();
    let resolver = StubResolver::from_conf(conf);
    let asked = timeout(Duration::from_millis(RESOLVE_WITHIN_MS), resolver.lookup_host(&name));
    let found = asked
        .await
        .map_err(|_| failed(format!("no server of names answered within {RESOLVE_WITHIN_MS} ms")))?
        .map_err(|error| failed(error.to_string()))?;
    let addresses: Vec<IpAddr> = found.iter().collect();
    if addresses.is_empty() { Err(failed("there is no such name".to_owned())) } else { Ok(addresses) }
}

/// The servers of names in a text such as `/etc/resolv.conf` (resolv.conf(5)); what it does not understand it skips.
#[must_use]
pub fn servers(text: &str) -> Vec<SocketAddr> {
    const PORT: u16 = 53;
    text.lines()
        .filter_map(|line| line.strip_prefix("nameserver")?.split_whitespace().next()?.parse::<IpAddr>().ok())
        .map(|address| SocketAddr::new(address, PORT))
        .take(crate::order::MAX_RESOLVERS)
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn private_address_is_dialled_only_when_listed_with_its_port() {
        let both = addresses(&["127.0.0.1", "1.1.1.1"]);
        assert_eq!(vet(&both, 443, &[]).unwrap(), ["1.1.1.1:443".parse().unwrap()]);
        let home = addresses(&["127.0.0.1"]);
        assert!(vet(&home, 443, &[]).unwrap_err().contains("this machine"));
        let listed = ["127.0.0.1:443".parse().unwrap()];
        assert_eq!(vet(&home, 443, &listed).unwrap(), listed);
        assert!(vet(&home, 444, &listed).is_err(), "another port of it is not listed");
    }

    #[test]
    fn servers_of_names_are_read_as_the_c_library_reads_them() {
        let text =
            "# x\nsearch home\nnameserver 192.168.1.1\nnameserver\t::1 # y\noptions edns0\nnameserver nonsense\n";
        let found: Vec<SocketAddr> = vec!["192.168.1.1:53".parse().unwrap(), "[::1]:53".parse().unwrap()];
        assert_eq!(servers(text), found);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in ".*") {
            prop_assert!(servers(&text).len() <= crate::order::MAX_RESOLVERS);
        }
    }
}
