//! Just enough of HTTP for a server of a test: one request after the other on a connection, each with its length; bodies
//! as JSON, as a form, or in parts, the ways in which clients of Telegram say theirs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Map, Value, json};

/// The most bytes of one body.
const MAX_BODY: usize = 64 << 20;

/// A request, read.
#[derive(Debug, Default)]
pub struct Request {
    /// The path, without the query.
    pub path: String,
    /// What was asked with, from the query and the body; files stand in `files`.
    pub body: Map<String, Value>,
    /// Files: the name of the part, of the file, and its bytes.
    pub files: Vec<(String, String, Vec<u8>)>,
}

/// Reads one request; `None` at the end of the connection.
pub fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let target = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut kind) = (0, String::new());
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok().filter(|length| *length <= MAX_BODY)?,
            "content-type" => value.trim().clone_into(&mut kind),
            _ => {}
        }
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut request = Request { path: unescaped(path), ..Request::default() };
    form(query, &mut request.body);
    if kind.starts_with("application/json") {
        if let Ok(Value::Object(object)) = serde_json::from_slice(&bytes) {
            request.body.extend(object);
        }
    } else if let Some(boundary) = kind.split_once("boundary=").map(|(_, boundary)| boundary.trim_matches('"')) {
        parts(&bytes, boundary, &mut request);
    } else {
        form(&String::from_utf8_lossy(&bytes), &mut request.body);
    }
    Some(request)
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                bytes.push(u8::from_str_radix(&String::from_utf8_lossy(&digits), 16).unwrap_or(b'?'));
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// In a form everything is text; what is not is JSON within it.
fn value_of(text: String) -> Value {
    let structured = text.starts_with(['[', '{']) || text == "true" || text == "false";
    if structured { serde_json::from_str(&text).unwrap_or(json!(text)) } else { json!(text) }
}

fn form(text: &str, body: &mut Map<String, Value>) {
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        body.insert(unescaped(key), value_of(unescaped(value)));
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn parts(bytes: &[u8], boundary: &str, request: &mut Request) {
    let mark = format!("--{boundary}");
    let mut rest = bytes;
    while let Some(begin) = find(rest, mark.as_bytes()) {
        rest = &rest[begin + mark.len()..];
        let Some(end) = find(rest, mark.as_bytes()) else { return };
        let part = &rest[..end];
        let Some(head) = find(part, b"\r\n\r\n") else { continue };
        let headers = String::from_utf8_lossy(&part[..head]).into_owned();
        let content = &part[head + 4..part.len().saturating_sub(2)];
        let named = |key: &str| {
            let (_, rest) = headers.split_once(&format!("{key}=\""))?;
            rest.split_once('"').map(|(name, _)| name.to_owned())
        };
        let name =
            headers.split("; ").find_map(|piece| piece.strip_prefix("name=\"")).and_then(|rest| rest.split('"').next());
        let name = name.unwrap_or_default().to_owned();
        match named("filename") {
            Some(file) => request.files.push((name, file, content.to_vec())),
            None => drop(request.body.insert(name, value_of(String::from_utf8_lossy(content).into_owned()))),
        }
    }
}

/// Answers; whether the other side was still there.
pub fn answer(stream: &mut TcpStream, status: u16, kind: &str, body: &[u8]) -> bool {
    // In one write, so that nothing waits for the rest.
    stream.write_all(&[head(status, kind, body.len()).as_bytes(), body].concat()).is_ok()
}

/// Begins an answer of so many bytes; whether the other side was still there.
pub fn begin(stream: &mut TcpStream, status: u16, kind: &str, bytes: usize) -> bool {
    stream.write_all(head(status, kind, bytes).as_bytes()).is_ok()
}

fn head(status: u16, kind: &str, bytes: usize) -> String {
    format!("HTTP/1.1 {status} .\r\nContent-Type: {kind}\r\nContent-Length: {bytes}\r\nConnection: keep-alive\r\n\r\n")
}
