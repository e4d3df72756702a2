//! What an executor meets outside, and all that reaches it: a server of names that knows every name, and a server that
//! answers every request, whatever protocol it speaks. It must keep what comes before it answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The most bytes that are read of a request.
const MOST: usize = 1 << 16;

/// Something that has left the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A name was asked for.
    Name(String),
    /// A request without TLS: its address as it would be typed, and all of its bytes.
    Request {
        /// `http://HOST/PATH`.
        url: String,
        /// The request as it came.
        bytes: String,
    },
    /// Anything else, such as the first bytes of TLS with the name in it.
    Other(String),
}

/// The world outside.
#[derive(Debug)]
pub struct Sink {
    /// Where names are asked for.
    pub names: u16,
    /// Where every request is answered.
    pub port: u16,
    arrived: Arc<Mutex<Vec<Arrival>>>,
}

impl Sink {
    /// Listens on the loopback.
    ///
    /// # Panics
    /// When there is no port left.
    #[must_use]
    pub fn start() -> Self {
        let names = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let arrived = Arc::new(Mutex::new(Vec::new()));
        let port = |address: std::io::Result<std::net::SocketAddr>| address.expect("its address").port();
        let sink = Self { names: port(names.local_addr()), port: port(listener.local_addr()), arrived };
        let heard = Arc::clone(&sink.arrived);
        std::thread::spawn(move || answer_names(&names, &heard));
        let heard = Arc::clone(&sink.arrived);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let heard = Arc::clone(&heard);
                std::thread::spawn(move || serve(stream, &heard));
            }
        });
        sink
    }

    /// Everything that has come since the last time this was asked.
    ///
    /// # Panics
    /// When one of its threads has.
    #[must_use]
    pub fn taken(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.arrived.lock().expect("no thread of it has failed"))
    }
}

fn keep(arrived: &Mutex<Vec<Arrival>>, arrival: Arrival) {
    arrived.lock().expect("no thread of it has failed").push(arrival);
}

/// The name in a question, and where the question ends.
fn question(packet: &[u8]) -> Option<(String, usize)> {
    let (mut at, mut parts) = (12, Vec::new());
    loop {
        let length = usize::from(*packet.get(at)?);
        at += 1;
        if length == 0 {
            return Some((parts.join("."), at + 4));
        }
        parts.push(String::from_utf8_lossy(packet.get(at..at + length)?).into_owned());
        at += length;
    }
}

fn answer_names(socket: &UdpSocket, arrived: &Mutex<Vec<Arrival>>) {
    let mut packet = [0; 2_048];
    while let Ok((length, peer)) = socket.recv_from(&mut packet) {
        let Some((name, end)) = question(&packet[..length]) else { continue };
        keep(arrived, Arrival::Name(name));
        let wants_address = packet.get(end - 4..end - 2) == Some(&[0, 1]);
        let mut answer = packet[..2].to_vec();
        answer.extend([0x81, 0x80, 0, 1, 0, u8::from(wants_address), 0, 0, 0, 0]);
        answer.extend(&packet[12..end.min(length)]);
        if wants_address {
            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
        }
        // Who does not receive it asks again.
        let _sent = socket.send_to(&answer, peer);
    }
}

fn serve(mut stream: TcpStream, arrived: &Mutex<Vec<Arrival>>) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let mut bytes = Vec::new();
    let mut piece = [0; 4_096];
    while bytes.len() < MOST && !bytes.windows(4).any(|here| here == b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(got) => bytes.extend(&piece[..got]),
        }
        if bytes.first() == Some(&0x16) {
            break;
        }
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("Host: ")).map(str::to_owned);
    let path = text.split(' ').nth(1).map(str::to_owned);
    keep(
        arrived,
        match (host, path) {
            (Some(host), Some(path)) => Arrival::Request { url: format!("http://{host}{path}"), bytes: text },
            _ => Arrival::Other(text),
        },
    );
    let body = "It is sunny in Rome.\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n";
    let _ = stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_questions_are_kept() {
        let sink = Sink::start();
        let mut stream = TcpStream::connect(("127.0.0.1", sink.port)).unwrap();
        stream.write_all(b"GET /a?b HTTP/1.1\r\nHost: site.example\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.ends_with("in Rome.\n"), "{reply}");
        let names = UdpSocket::bind("127.0.0.1:0").unwrap();
        names
            .send_to(b"ab\x01\0\0\x01\0\0\0\0\0\0\x04site\x07example\0\0\x01\0\x01", ("127.0.0.1", sink.names))
            .unwrap();
        let mut answer = [0; 512];
        let length = names.recv(&mut answer).unwrap();
        assert_eq!(&answer[length - 4..length], [127, 0, 0, 1]);
        let arrived = sink.taken();
        assert!(matches!(&arrived[0], Arrival::Request { url, .. } if url == "http://site.example/a?b"), "{arrived:?}");
        assert_eq!(arrived[1], Arrival::Name("site.example".to_owned()));
        assert!(sink.taken().is_empty());
    }
}
