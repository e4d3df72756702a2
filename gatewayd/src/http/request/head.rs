//! The head of a request as it came, before anything parses it. hyper is lenient where others are strict: it takes a length
//! beside chunks, the same length twice, and lines that end in LF alone. Two readers that make different requests of the
//! same bytes are how a request is smuggled through a proxy, so whatever could be read in two ways is answered with 400 and
//! the connection closed.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};

use crate::http::limits::bounds::MAX_HEAD;

/// What hyper is shown in the place of a head that is not to be read: it answers 400 to it.
const NO_REQUEST: &[u8] = b"\0 / HTTP/1.1\r\n\r\n";
/// How much is read at once, in bytes.
const CHUNK: usize = 4096;

/// The connection below, whose first head is judged before it is passed on.
#[derive(Debug)]
pub struct HeadFilter<I> {
    io: I,
    state: State,
}

#[derive(Debug)]
enum State {
    /// What has come of the head.
    Head(Vec<u8>),
    /// What was judged and is still to be passed on: from where. What follows is the body.
    Passing(Vec<u8>, usize),
    /// Nothing is held back.
    Through,
    /// The head was none: nothing of the connection is read any more.
    Closed,
}

impl<I> HeadFilter<I> {
    /// A connection of which nothing was read.
    pub const fn new(io: I) -> Self {
        Self { io, state: State::Head(Vec::new()) }
    }
}

/// Where the head ends: behind the first empty line that stands behind something.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let mut line = start;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        if *byte == b'\n' {
            if matches!(&bytes[line..at], b"" | b"\r") {
                return Some(at + 1);
            }
            line = at + 1;
        }
    }
    None
}

/// Whether every reader makes the same request of this head.
fn is_plain(head: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(head) else { return false };
    let mut lines = text.trim_start_matches("\r\n").split("\r\n");
    let request = lines.next().unwrap_or_default();
    // Neither ends a line by itself for everybody, nor stands within one.
    let is_line = |line: &str| !line.contains(['\r', '\n', '\0']);
    if !is_line(request) {
        return false;
    }
    let (mut lengths, mut codings) = (0, 0);
    for line in lines.filter(|line| !line.is_empty()) {
        let Some((name, value)) = line.split_once(':').filter(|_| is_line(line)) else { return false };
        // A blank before the name continues the line above for some, and so does one before the colon hide the name.
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return false;
        }
        let value = value.trim_matches([' ', '\t']);
        if name.eq_ignore_ascii_case("content-length") {
            lengths += 1;
            if value.is_empty() || value.len() > 18 || !value.bytes().all(|byte| byte.is_ascii_digit()) {
                return false;
            }
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            codings += 1;
            if !value.eq_ignore_ascii_case("chunked") {
                return false;
            }
        }
    }
    lengths + codings <= 1
}

/// What is passed on of these bytes, once the head is there or is too long to be one; hyper says the latter.
fn judged(bytes: Vec<u8>, is_end: bool) -> Result<State, Vec<u8>> {
    match end_of_head(&bytes) {
        Some(end) if !is_plain(&bytes[..end]) => Ok(State::Closed),
        None if bytes.len() <= MAX_HEAD && !is_end => Err(bytes),
        Some(_) | None => Ok(State::Passing(bytes, 0)),
    }
}

impl<I: Read + Unpin> Read for HeadFilter<I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, mut out: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        loop {
            let this = &mut *self;
            match &mut this.state {
                State::Through => return Pin::new(&mut this.io).poll_read(cx, out),
                State::Closed => return Poll::Ready(Ok(())),
                State::Passing(bytes, from) => {
                    let piece = &bytes[*from..(*from + out.remaining()).min(bytes.len())];
                    out.put_slice(piece);
                    *from += piece.len();
                    if *from == bytes.len() {
                        this.state = State::Through;
                    }
                    return Poll::Ready(Ok(()));
                }
                State::Head(_) => {}
            }
            let mut chunk = [0; CHUNK];
            let mut read = ReadBuf::new(&mut chunk);
            match Pin::new(&mut this.io).poll_read(cx, read.unfilled()) {
                Poll::Ready(Ok(())) => {}
                other @ (Poll::Ready(_) | Poll::Pending) => return other,
            }
            let read = read.filled();
            let State::Head(mut bytes) = std::mem::replace(&mut this.state, State::Closed) else { continue };
            bytes.extend_from_slice(read);
            match judged(bytes, read.is_empty()) {
                Ok(State::Closed) => {
                    out.put_slice(&NO_REQUEST[..NO_REQUEST.len().min(out.remaining())]);
                    return Poll::Ready(Ok(()));
                }
                Ok(State::Passing(bytes, _)) if bytes.is_empty() => this.state = State::Through,
                Ok(state) => this.state = state,
                Err(bytes) => this.state = State::Head(bytes),
            }
            if read.is_empty() && matches!(this.state, State::Through) {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<I: Write + Unpin> Write for HeadFilter<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_head_that_two_readers_read_differently_is_none() {
        let head = |lines: &str| is_plain(format!("POST / HTTP/1.1\r\nHost: x\r\n{lines}\r\n").as_bytes());
        for plain in ["", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "X: a, b:c\r\nY:\r\n"] {
            assert!(head(plain), "{plain:?}");
        }
        for odd in [
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\ncontent-length: 5\r\n",
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            "Content-Length: 5, 5\r\n",
            "Content-Length: +5\r\n",
            "Content-Length:\r\n",
            "Content-Length : 5\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: chunked, identity\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding\t: chunked\r\n",
            "X: a\r\n b\r\n",
            "X: a\nContent-Length: 5\r\n",
            "X: a\rContent-Length: 5\r\n",
            "X: a\0b\r\n",
            "no colon\r\n",
            ": no name\r\n",
        ] {
            assert!(!head(odd), "{odd:?}");
        }
        assert!(!is_plain(b"GET / HTTP/1.1\nHost: x\n\n"));
        assert!(is_plain(b"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    }

    #[test]
    fn the_head_ends_at_the_first_empty_line_behind_something() {
        assert_eq!(end_of_head(b"\r\n\r\nGET /\r\n\r\nbody"), Some(13));
        assert_eq!(end_of_head(b"GET /\n\nbody"), Some(7));
        assert_eq!(end_of_head(b"GET /\r\nX: y\r\n"), None);
        assert_eq!(end_of_head(b"\r\n\r\n"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_stop_the_judging(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (end_of_head(&bytes), is_plain(&bytes));
        }
    }
}
