//! Tests of `serve`: one call's connections, with real servers of names and of pages on the loopback.
#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::net::IpAddr;
use std::rc::Rc;

use domain::base::iana::{Rcode, Rtype};
use domain::base::{Message, MessageBuilder, Name, Ttl};
use domain::rdata::{A, Aaaa, Cname};
use tokio::net::{TcpListener, UdpSocket};

use super::*;
use crate::hello::tests::{greeting, names};
use crate::order::Rule;

/// What a name stands for.
enum Entry {
    Addresses(Vec<IpAddr>),
    Alias(&'static str),
}

/// A server of names on the loopback. Each question about an IPv4 address takes the next answer, the last for good.
struct Names {
    at: SocketAddr,
    asked: Rc<Cell<usize>>,
}

async fn names_server(answers: Vec<Vec<(&'static str, Entry)>>) -> Names {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (at, asked) = (socket.local_addr().unwrap(), Rc::new(Cell::new(0)));
    let count = Rc::clone(&asked);
    tokio::task::spawn_local(async move {
        let mut buffer = vec![0; 2048];
        loop {
            let (length, peer) = socket.recv_from(&mut buffer).await.unwrap();
            let question = Message::from_octets(&buffer[..length]).unwrap();
            let kind = question.first_question().unwrap().qtype();
            let table = &answers[count.get().min(answers.len() - 1)];
            if kind == Rtype::A {
                count.set(count.get() + 1);
            }
            let answer = answer(&question, table);
            socket.send_to(&answer, peer).await.unwrap();
        }
    });
    Names { at, asked }
}

fn answer(question: &Message<&[u8]>, table: &[(&str, Entry)]) -> Vec<u8> {
    let asked = question.first_question().unwrap();
    let mut answer = MessageBuilder::new_vec().start_answer(question, Rcode::NOERROR).unwrap();
    let mut name = asked.qname().to_string().trim_end_matches('.').to_owned();
    let owner = |name: &str| -> Name<Vec<u8>> { format!("{name}.").parse().unwrap() };
    while let Some((_, entry)) = table.iter().find(|(known, _)| *known == name) {
        match entry {
            Entry::Alias(target) => {
                answer.push((owner(&name), Ttl::from_secs(0), Cname::new(owner(target)))).unwrap();
                name = (*target).to_owned();
            }
            Entry::Addresses(addresses) => {
                for address in addresses {
                    match address {
                        IpAddr::V4(it) if asked.qtype() == Rtype::A => {
                            answer.push((owner(&name), Ttl::from_secs(0), A::new(*it))).unwrap();
                        }
                        IpAddr::V6(it) if asked.qtype() == Rtype::AAAA => {
                            answer.push((owner(&name), Ttl::from_secs(0), Aaaa::new(*it))).unwrap();
                        }
                        IpAddr::V4(_) | IpAddr::V6(_) => {}
                    }
                }
                break;
            }
        }
    }
    answer.finish()
}

fn addresses(texts: &[&str]) -> Entry {
    Entry::Addresses(texts.iter().map(|text| text.parse().unwrap()).collect())
}

/// A web server that reports what it received and answers with so many bytes.
async fn web_server(bytes: usize) -> (SocketAddr, Rc<Cell<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, heard) = (listener.local_addr().unwrap(), Rc::new(Cell::new(0)));
    let count = Rc::clone(&heard);
    tokio::task::spawn_local(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let count = Rc::clone(&count);
            tokio::task::spawn_local(async move {
                let mut buffer = vec![0; 4096];
                let length = stream.read(&mut buffer).await.unwrap_or(0);
                count.set(count.get() + length);
                if length > 0 {
                    let _ = stream.write_all(&vec![b'x'; bytes]).await;
                }
            });
        }
    });
    (at, heard)
}

fn order(host: &str, port: u16, names: &Names, private: &[SocketAddr]) -> Order {
    Order {
        rules: vec![Rule { host: host.to_owned(), below: false, port }],
        private: private.to_vec(),
        resolvers: vec![names.at],
        bytes: 1 << 20,
        life_ms: 20_000,
    }
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

/// One connection of a call: what the executor reads after it wrote, and what is reported.
async fn visiting(mut order: Order, wrote: &[u8]) -> (String, Visit) {
    let resolvers = std::mem::take(&mut order.resolvers);
    let (mut executor, helper) = UnixStream::pair().unwrap();
    let (ours, report) = socket::pair().unwrap();
    let served = tokio::task::spawn_local(serve(order, resolvers, vec![helper], report));
    let _ = executor.write_all(wrote).await;
    let mut read = Vec::new();
    let _ = executor.read_to_end(&mut read).await;
    drop(executor);
    served.await.unwrap();
    let mut buffer = vec![0; MAX_REPORT];
    let packet = socket::receive(ours.as_fd(), &mut buffer).unwrap().expect("a report");
    (String::from_utf8_lossy(&read).into_owned(), Visit::read(&buffer[..packet.len]).unwrap())
}

#[test]
fn a_granted_name_is_reached_and_what_passed_is_reported() {
    run(async {
        let (web, heard) = web_server(1000).await;
        let names = names_server(vec![vec![("site.example", addresses(&["127.0.0.1"]))]]).await;
        let line = format!("site.example {}\nGET / HTTP/1.0\r\n\r\n", web.port());
        let (read, visit) = visiting(order("site.example", web.port(), &names, &[web]), line.as_bytes()).await;
        assert_eq!(read, format!("+\n{}", "x".repeat(1000)));
        assert_eq!(
            (visit.host.as_str(), visit.port, visit.address.as_str()),
            ("site.example", web.port(), "127.0.0.1")
        );
        assert_eq!((visit.sent, visit.received, visit.refused.as_str()), (18, 1000, ""));
        assert_eq!(heard.get(), 18);
    });
}

#[test]
fn address_is_dialled_where_call_and_owner_both_have_it() {
    run(async {
        let (web, heard) = web_server(10).await;
        let (other, _) = web_server(10).await;
        let names = names_server(vec![vec![("site.example", addresses(&["127.0.0.1"]))]]).await;
        let line = |port: u16| format!("127.0.0.1 {port}\nGET / HTTP/1.0\r\n\r\n");
        let (read, visit) = visiting(order("127.0.0.1", web.port(), &names, &[web]), line(web.port()).as_bytes()).await;
        assert_eq!((read.as_str(), visit.address.as_str()), ("+\nxxxxxxxxxx", "127.0.0.1"));
        let before = heard.get();
        for (granted, port, listed) in [
            ("127.0.0.1", web.port(), &[][..]),
            ("127.0.0.1", web.port(), &[other][..]),
            ("127.0.0.1", other.port(), &[web][..]),
            ("site.example", web.port(), &[web][..]),
        ] {
            let (read, visit) = visiting(order(granted, port, &names, listed), line(web.port()).as_bytes()).await;
            assert!(read.starts_with("-forbidden: ") && visit.address.is_empty(), "{granted} {port}: {read}");
        }
        // A public address is none that the owner has listed, either.
        let public = order("192.0.2.7", web.port(), &names, &[web]);
        let (read, _) = visiting(public, format!("192.0.2.7 {}\n", web.port()).as_bytes()).await;
        assert!(read.starts_with("-forbidden: "), "{read}");
        assert_eq!((names.asked.get(), heard.get()), (0, before));
    });
}

#[test]
fn ungranted_host_is_not_resolved() {
    run(async {
        let (web, heard) = web_server(10).await;
        let names = names_server(vec![vec![("site.example", addresses(&["127.0.0.1"]))]]).await;
        let granted = || order("site.example", web.port(), &names, &[web]);
        for wanted in [
            format!("other.example {}\n", web.port()),
            format!("a.site.example {}\n", web.port()),
            format!("site.example {}\n", web.port() ^ 1),
            format!("127.0.0.1 {}\n", web.port()),
            format!("site.example. {}\n", web.port()),
            format!("SITE.example {}\n", web.port()),
            format!("site.example%0a {}\n", web.port()),
            format!("site.example\0 {}\n", web.port()),
            format!("site.example\0.other.example {}\n", web.port()),
            format!("site.example\r\nother.example {}\n", web.port()),
            format!("site.example\nother.example {}\n", web.port()),
            format!("site.example%eth0 {}\n", web.port()),
            format!("other.example@site.example {}\n", web.port()),
            format!("site.example@other.example {}\n", web.port()),
            format!("site.example.other.example {}\n", web.port()),
            format!("othersite.example {}\n", web.port()),
            // Letters that look alike, and how they are written as ASCII.
            format!("s\u{456}te.example {}\n", web.port()),
            format!("xn--ste-9ld.example {}\n", web.port()),
            format!("[::1] {}\n", web.port()),
            format!("2130706433 {}\n", web.port()),
            format!("0x7f000001 {}\n", web.port()),
            format!("0177.0.0.1 {}\n", web.port()),
            format!("site.example 0{}\n", web.port()),
            format!("site.example +{}\n", web.port()),
            "x".repeat(400) + "\n",
        ] {
            let (read, visit) = visiting(granted(), wanted.as_bytes()).await;
            assert!(read.starts_with("-forbidden: "), "{wanted:?}: {read}");
            assert!(visit.refused.starts_with("forbidden: ") && visit.address.is_empty(), "{visit:?}");
        }
        assert_eq!((names.asked.get(), heard.get()), (0, 0));
    });
}

#[test]
fn a_name_that_leads_home_leads_nowhere() {
    run(async {
        let (web, heard) = web_server(10).await;
        let all = [
            "10.0.0.1",
            "169.254.169.254",
            "192.168.1.1",
            "100.64.0.1",
            "::1",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:127.0.0.1",
            "127.0.0.1",
        ];
        for address in all {
            let table = vec![("site.example", addresses(&[address]))];
            let aliased = vec![
                ("site.example", Entry::Alias("a.cdn.example")),
                ("a.cdn.example", Entry::Alias("b.cdn.example")),
                ("b.cdn.example", addresses(&[address])),
            ];
            let names = names_server(vec![table]).await;
            let chain = names_server(vec![aliased]).await;
            for names in [names, chain] {
                let line = format!("site.example {}\nGET /", web.port());
                let (read, visit) = visiting(order("site.example", web.port(), &names, &[]), line.as_bytes()).await;
                assert!(read.starts_with("-forbidden: site.example leads to "), "{address}: {read}");
                assert!(visit.address.is_empty());
            }
        }
        assert_eq!(heard.get(), 0);
    });
}

#[test]
fn an_answer_that_changes_is_asked_for_once_only() {
    run(async {
        let (web, _) = web_server(10).await;
        let first = vec![("site.example", addresses(&["127.0.0.1"]))];
        let then = vec![("site.example", addresses(&["169.254.169.254"]))];
        let names = names_server(vec![first, then]).await;
        let line = format!("site.example {}\nGET /", web.port());
        let granted = || order("site.example", web.port(), &names, &[web]);
        let (read, visit) = visiting(granted(), line.as_bytes()).await;
        assert!(read.starts_with('+'), "{read}");
        assert_eq!((names.asked.get(), visit.address.as_str()), (1, "127.0.0.1"));
        // A connection of its own is asked about anew, and vetted anew.
        let (read, _) = visiting(granted(), line.as_bytes()).await;
        assert!(read.starts_with("-forbidden"), "{read}");
    });
}

#[test]
fn missing_name_is_distinguished_from_forbidden_one() {
    run(async {
        let names = names_server(vec![vec![]]).await;
        let (read, _) = visiting(order("site.example", 443, &names, &[]), b"site.example 443\n").await;
        assert!(read.starts_with("-name: "), "{read}");
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let names = names_server(vec![vec![("site.example", addresses(&["127.0.0.1"]))]]).await;
        let line = format!("site.example {}\n", closed.port());
        let (read, _) = visiting(order("site.example", closed.port(), &names, &[closed]), line.as_bytes()).await;
        assert!(read.starts_with("-unreachable: "), "{read}");
    });
}

#[test]
fn tls_for_another_server_does_not_leave() {
    run(async {
        let (web, heard) = web_server(10).await;
        let names = names_server(vec![vec![("site.example", addresses(&["127.0.0.1"]))]]).await;
        let with = |hello: Vec<u8>| [format!("site.example {}\n", web.port()).into_bytes(), hello].concat();
        let granted = || order("site.example", web.port(), &names, &[web]);
        for hello in [
            greeting(&[self::names(&["evil.example"])]),
            greeting(&[self::names(&["site.example.evil.example"])]),
            greeting(&[]),
            greeting(&[self::names(&["site.example"]), self::names(&["evil.example"])]),
        ] {
            let (_, visit) = visiting(granted(), &with(hello)).await;
            assert!(visit.refused.starts_with("forbidden: TLS"), "{visit:?}");
            assert_eq!(visit.sent, 0);
        }
        assert_eq!(heard.get(), 0);
        let hello = greeting(&[self::names(&["Site.Example"])]);
        let length = hello.len();
        let (_, visit) = visiting(granted(), &with(hello)).await;
        assert_eq!((visit.refused.as_str(), heard.get()), ("", length));
    });
}

#[tokio::test]
async fn a_port_of_tls_takes_nothing_else() {
    for port in TLS_PORTS {
        let mut plain = &b"GET / HTTP/1.1\r\n"[..];
        let refused = first(&mut plain, "site.example", port).await.unwrap_err();
        assert!(refused.why.contains("without TLS"), "{refused}");
    }
    let mut plain = &b"GET / HTTP/1.1\r\n"[..];
    assert_eq!(first(&mut plain, "site.example", 80).await.unwrap(), plain_request());
}

fn plain_request() -> Vec<u8> {
    b"GET / HTTP/1.1\r\n".to_vec()
}

#[test]
fn an_endless_answer_ends_at_the_quota() {
    run(async {
        let (web, _) = web_server(8 << 20).await;
        let names = names_server(vec![vec![("site.example", addresses(&["127.0.0.1"]))]]).await;
        let mut order = order("site.example", web.port(), &names, &[web]);
        order.bytes = 100_000;
        let line = format!("site.example {}\nGET /", web.port());
        let (read, visit) = visiting(order, line.as_bytes()).await;
        assert!(read.len() <= 100_000 && visit.refused.starts_with("quota: "), "{} {visit:?}", read.len());
    });
}
