//! Files from the servers and to them, sealed, in pieces: no more than a piece of one is held outside of its sealed memory.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use metnos_proto::payload::{FILE_PIECE, Filling, Sealed};
use reqwest::header::HeaderValue;
use zeroize::Zeroizing;

use super::api::{ANSWER_WITHIN_MS, Api, ApiError, class};
use super::backoff::{self, TRIES};
use super::documents::answers::{FileInfo, read};
use super::documents::requests::GetFile;

/// How long a file may be under way, with all tries, in milliseconds; nothing may come for [`ANSWER_WITHIN_MS`].
pub const FILE_WITHIN_MS: u64 = 300_000;
/// What separates the parts of an upload; no text of ours holds it.
const BOUNDARY: &str = "metnos-part-5b1d8c0e7f3a4296";

/// What came of fetching a file.
#[derive(Debug)]
pub enum Fetched {
    /// Its bytes.
    File(Sealed),
    /// It has more than may be fetched; how many, where that is known.
    TooLarge(Option<u64>),
}

/// Whether this is where a file is at the servers, and changes no other part of an address.
fn is_place(path: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'_' | b'-');
    (1..=256).contains(&path.len()) && path.bytes().all(plain) && !path.starts_with('/') && !path.contains("..")
}

impl Api {
    /// The bytes of a file that a person has sent, of at most `most`.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn fetch(&self, id: &str, most: usize) -> Result<Fetched, ApiError> {
        let fetched = self.fetch_anyhow_long(id, most);
        let within = Duration::from_millis(FILE_WITHIN_MS);
        tokio::time::timeout(within, fetched).await.unwrap_or(Err(ApiError::Unreachable("the file took too long")))
    }

    async fn fetch_anyhow_long(&self, id: &str, most: usize) -> Result<Fetched, ApiError> {
        let found = match self.say("getFile", &GetFile { file_id: id }).await {
            Err(ApiError::Rejected { why, .. }) if why.contains("too big") => return Ok(Fetched::TooLarge(None)),
            found => read::<FileInfo>(found?),
        };
        let told = found.file_size;
        if told.is_some_and(|bytes| usize::try_from(bytes).map_or(true, |bytes| bytes > most)) {
            return Ok(Fetched::TooLarge(told));
        }
        let path = found.file_path.filter(|path| is_place(path));
        let url = Zeroizing::new(format!(
            "{}/{}",
            self.files.as_str(),
            path.ok_or(ApiError::Unreachable("it names no place"))?
        ));
        let mut tried = 0;
        loop {
            let fault = match self.bytes(&url, most, told).await {
                Err(fault @ ApiError::Unreachable(_)) => fault,
                came => return came,
            };
            tried += 1;
            if tried >= TRIES {
                return Err(fault);
            }
            tokio::time::sleep(backoff::pause(tried, None, self.chance())).await;
        }
    }

    async fn bytes(&self, url: &Zeroizing<String>, most: usize, told: Option<u64>) -> Result<Fetched, ApiError> {
        let away = |error: reqwest::Error| ApiError::Unreachable(class(&error));
        let mut answer = in_time(self.client.get(url.as_str()).send()).await?.map_err(away)?;
        let status = answer.status();
        if status.is_client_error() {
            return Err(ApiError::Rejected { code: status.as_u16(), why: "there is no such file".to_owned() });
        }
        if !status.is_success() {
            return Err(ApiError::Unreachable("its servers are in trouble"));
        }
        let no_memory = |_| ApiError::Unreachable("there is no memory for the file");
        let mut filling = Filling::new(most).map_err(no_memory)?;
        while let Some(chunk) = in_time(answer.chunk()).await?.map_err(away)? {
            if filling.len().saturating_add(chunk.len()) > most {
                return Ok(Fetched::TooLarge(None));
            }
            filling.push(&chunk).map_err(no_memory)?;
        }
        // A connection that ends early may look like the end of the file.
        if told.is_some_and(|told| told > filling.len() as u64) {
            return Err(ApiError::Unreachable("the connection broke"));
        }
        Ok(Fetched::File(filling.seal().map_err(no_memory)?))
    }

    /// Sends a file: its name, what it is, what stands below it, its bytes. Of the name, what could end it early is left out.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn send_file(
        &self,
        chat: i64,
        (name, is): (&str, &str),
        caption: &str,
        file: &Sealed,
    ) -> Result<(), ApiError> {
        let kind = HeaderValue::from_static("multipart/form-data; boundary=metnos-part-5b1d8c0e7f3a4296");
        let mut head = String::new();
        let chat = chat.to_string();
        for (key, value) in [("chat_id", chat.as_str()), ("caption", caption)] {
            head += &format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{key}\"\r\n\r\n{value}\r\n");
        }
        let name = name.replace(|sign: char| sign.is_control() || matches!(sign, '"' | '\\' | '/'), "_");
        head += &format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"document\"; filename=\"{name}\"\r\n\
             Content-Type: {is}\r\n\r\n"
        );
        let tail = format!("\r\n--{BOUNDARY}--\r\n");
        let within = Duration::from_millis(FILE_WITHIN_MS);
        let sent = async {
            let mut tried = 0;
            loop {
                let file = file.share().map_err(|_| ApiError::Unreachable("there is no memory for the file"))?;
                let body = reqwest::Body::wrap(Upload::new(head.clone().into(), file, tail.clone().into()));
                let fault = match self.once("sendDocument", (kind.clone(), body), within).await {
                    Ok(_) => return Ok(()),
                    Err(no @ ApiError::Rejected { .. }) => return Err(no),
                    Err(fault @ (ApiError::Unreachable(_) | ApiError::RetryAfter(_))) => fault,
                };
                tried += 1;
                if tried >= TRIES {
                    return Err(fault);
                }
                let wish = match fault {
                    ApiError::RetryAfter(seconds) => Some(seconds),
                    ApiError::Unreachable(_) | ApiError::Rejected { .. } => None,
                };
                tokio::time::sleep(backoff::pause(tried, wish, self.chance())).await;
            }
        };
        tokio::time::timeout(within, sent).await.unwrap_or(Err(ApiError::Unreachable("the file took too long")))
    }
}

/// What comes in the time that an answer may take.
async fn in_time<T>(coming: impl Future<Output = T>) -> Result<T, ApiError> {
    let within = Duration::from_millis(ANSWER_WITHIN_MS);
    tokio::time::timeout(within, coming).await.map_err(|_| ApiError::Unreachable("it did not answer in time"))
}

/// A file between what stands before and behind it, read a piece at a time.
struct Upload {
    head: Option<Bytes>,
    file: Sealed,
    at: usize,
    tail: Option<Bytes>,
    left: u64,
}

impl Upload {
    fn new(head: Bytes, file: Sealed, tail: Bytes) -> Self {
        let left =
            [head.len(), file.len(), tail.len()].iter().fold(0, |sum: u64, part| sum.saturating_add(*part as u64));
        Self { head: Some(head), file, at: 0, tail: Some(tail), left }
    }

    fn next(&mut self) -> Option<Bytes> {
        if let Some(head) = self.head.take() {
            return Some(head);
        }
        let mut piece = vec![0; FILE_PIECE.min(self.file.len().saturating_sub(self.at))];
        // Its own memory. Were it not to be read, the body would end early, and the server take nothing.
        match self.file.read_at(&mut piece, self.at) {
            Ok(read @ 1..) => {
                self.at += read;
                piece.truncate(read);
                Some(piece.into())
            }
            Ok(0) => self.tail.take(),
            Err(_) => None,
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let next = self.next();
        self.left = self.left.saturating_sub(next.as_ref().map_or(0, |piece| piece.len() as u64));
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.tail.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_place_of_a_file_leads_nowhere_else() {
        assert!(is_place("documents/file_12.pdf"));
        for bad in
            ["", "/etc/passwd", "../bot/getMe", "a?b", "a#b", "a b", "a%2e", "http://x", "a\\b", &"x".repeat(257)]
        {
            assert!(!is_place(bad), "{bad}");
        }
    }

    #[test]
    fn an_upload_is_what_stands_before_the_file_its_bytes_and_the_end() {
        let bytes: Vec<u8> = (0..=255).cycle().take(FILE_PIECE * 2 + 7).collect();
        for file in [&bytes[..], b"x", b""] {
            let mut upload = Upload::new("head".into(), Sealed::new(file).unwrap(), "tail".into());
            let told = upload.left;
            let mut all = Vec::new();
            while let Some(piece) = upload.next() {
                assert!(piece.len() <= FILE_PIECE);
                all.extend_from_slice(&piece);
            }
            assert_eq!(all, [b"head", file, b"tail"].concat());
            assert_eq!(told, all.len() as u64);
            assert!(upload.is_end_stream());
        }
    }
}
