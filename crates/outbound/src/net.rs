//! The way to a server: its name looked up, every address vetted, no other way taken. No proxy of the environment, no
//! redirect, no cookie, no compression, nothing that was not opened before the lock.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::base::Name;
use domain::resolv::StubResolver;
use domain::resolv::stub::conf::{ResolvConf, ServerConf, Transport};
use metnos_egress::{address, dial};
use metnos_proto::control::NetSettings;
use metnos_proto::models::{Host, ServerAddress};
use reqwest::dns::{Addrs, Resolve, Resolving};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// How long a connection may take to come about, in milliseconds.
pub const CONNECT_WITHIN_MS: u64 = 10_000;
/// How long the servers of names may take, in milliseconds.
pub const RESOLVE_WITHIN_MS: u64 = 6_000;
/// How long each server of names may take for one try, in milliseconds.
const ASK_WITHIN_MS: u64 = 2_500;
/// How long a connection that nobody uses is kept, in seconds.
const IDLE_SECONDS: u64 = 30;
/// The port of servers of names.
const NAMES_PORT: u16 = 53;
/// The largest file of authorities, in bytes.
const MAX_CA: u64 = 16 << 20;
/// Where the system says which servers of names it has.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// What is known of the net from before the lock.
#[derive(Debug, Clone)]
pub struct Net {
    resolvers: Vec<SocketAddr>,
    private: Vec<SocketAddr>,
    roots: Result<Arc<rustls::RootCertStore>, String>,
}

impl Net {
    /// Reads what will be needed for these servers.
    #[must_use]
    pub fn open(settings: &NetSettings, servers: &[ServerAddress]) -> Self {
        let addresses =
            |texts: &[String]| -> Vec<SocketAddr> { texts.iter().filter_map(|text| text.parse().ok()).collect() };
        let named = servers.iter().any(|line| matches!(line.host, Host::Name(_)));
        let mut resolvers = addresses(&settings.resolvers);
        if resolvers.is_empty() && named {
            resolvers = dial::servers(&std::fs::read_to_string(RESOLV_CONF).unwrap_or_default());
        }
        let roots = if servers.iter().any(|line| line.tls) {
            authorities(Path::new(&settings.ca_bundle)).map(Arc::new)
        } else {
            Ok(Arc::new(rustls::RootCertStore::empty()))
        };
        Self { resolvers, private: addresses(&settings.private), roots }
    }

    /// Every port that may have to be connected to.
    #[must_use]
    pub fn ports(&self, servers: &[ServerAddress]) -> Vec<u16> {
        let mut ports: Vec<u16> = servers.iter().map(|line| line.port).collect();
        if servers.iter().any(|line| matches!(line.host, Host::Name(_))) {
            ports.extend(self.resolvers.iter().map(SocketAddr::port));
            ports.push(NAMES_PORT);
        }
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// A client that goes to this server and nowhere else, and keeps at most so many connections open.
    ///
    /// # Errors
    /// In a sentence, when there can be no connection at all.
    pub fn client(&self, line: &ServerAddress, places: usize) -> Result<reqwest::Client, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = if line.tls {
            Arc::clone(self.roots.as_ref().map_err(Clone::clone)?)
        } else {
            Arc::new(rustls::RootCertStore::empty())
        };
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let guide =
            PinnedResolver { resolvers: self.resolvers.clone(), private: self.private.clone(), line: line.clone() };
        reqwest::Client::builder()
            .use_preconfigured_tls(tls)
            .https_only(line.tls)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .http1_only()
            .tcp_nodelay(true)
            .connect_timeout(Duration::from_millis(CONNECT_WITHIN_MS))
            .pool_idle_timeout(Duration::from_secs(IDLE_SECONDS))
            .pool_max_idle_per_host(places)
            .user_agent(concat!("metnos/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Arc::new(guide))
            .build()
            .map_err(|error| error.to_string())
    }
}

fn authorities(path: &Path) -> Result<rustls::RootCertStore, String> {
    let at = |why: String| format!("net.ca_bundle {}: {why}", path.display());
    let size = std::fs::metadata(path).map_err(|error| at(error.to_string()))?.len();
    if size > MAX_CA {
        return Err(at(format!("larger than {MAX_CA} bytes")));
    }
    let bytes = std::fs::read(path).map_err(|error| at(error.to_string()))?;
    let mut store = rustls::RootCertStore::empty();
    let (taken, _) = store.add_parsable_certificates(CertificateDer::pem_slice_iter(&bytes).filter_map(Result::ok));
    if taken == 0 { Err(at("no authority is in it".to_owned())) } else { Ok(store) }
}

/// Leads a client to one host.
#[derive(Debug)]
struct PinnedResolver {
    resolvers: Vec<SocketAddr>,
    private: Vec<SocketAddr>,
    line: ServerAddress,
}

/// Why there is no way.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConnectError(pub String);

impl Resolve for PinnedResolver {
    fn resolve(&self, name: reqwest::dns::Name) -> Resolving {
        let (resolvers, private, line) = (self.resolvers.clone(), self.private.clone(), self.line.clone());
        Box::pin(async move {
            let Host::Name(host) = &line.host else {
                return Err(ConnectError("this server has no name".to_owned()).into());
            };
            if !name.as_str().eq_ignore_ascii_case(host) {
                return Err(ConnectError(format!("{} is not where this server is", name.as_str())).into());
            }
            let found = look_up(&resolvers, host).await.map_err(ConnectError)?;
            let vetted =
                dial::vet(&found, line.port, &private).map_err(|why| ConnectError(format!("{host} leads to {why}")))?;
            Ok::<Addrs, _>(Box::new(vetted.into_iter()))
        })
    }
}

/// Over TCP alone: the process has no other sockets.
async fn look_up(resolvers: &[SocketAddr], host: &str) -> Result<Vec<IpAddr>, String> {
    const REMEDY: &str = "they are asked over TCP; others can be named as `resolvers` in [net]";
    if resolvers.is_empty() {
        return Err(format!("no server of names is known ({REMEDY})"));
    }
    let name: Name<Vec<u8>> = format!("{host}.").parse().map_err(|_| format!("{host} is no name"))?;
    let mut conf = ResolvConf::new();
    conf.servers = resolvers.iter().map(|address| ServerConf::new(*address, Transport::Tcp)).collect();
    conf.options.timeout = Duration::from_millis(ASK_WITHIN_MS);
    conf.options.attempts = 2;
    conf.finalize();
    let resolver = StubResolver::from_conf(conf);
    let found = tokio::time::timeout(Duration::from_millis(RESOLVE_WITHIN_MS), resolver.lookup_host(&name))
        .await
        .map_err(|_| format!("no server of names answered for {host} ({REMEDY})"))?
        .map_err(|error| format!("{host}: {error} ({REMEDY})"))?;
    let addresses: Vec<IpAddr> = found.iter().collect();
    if addresses.is_empty() { Err(format!("there is no {host}")) } else { Ok(addresses) }
}

/// Whether a secret may go there: encrypted, or to an address of this network that the owner wrote down himself.
#[must_use]
pub fn takes_key(line: &ServerAddress) -> bool {
    match line.host {
        Host::Name(_) => line.tls,
        Host::Address(address) => line.tls || address::refused(address).is_some(),
    }
}
