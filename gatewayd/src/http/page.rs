//! The page: its files are part of this program, as they stand in `web/`, and the same for everybody. What a person sees on it, the
//! page asks for as every other program does. Nothing but these files may run on it.

use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH,
};
use hyper::{Response, StatusCode};
use metnos_proto::ids::Blake3;

use super::turns::stream::Out;

/// What the page may do: run its own files and ask this door; no text of anybody can become a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; \
    trusted-types metnos";
/// No other page keeps a hold of it.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const MANIFEST: &str = "application/manifest+json";
const SVG: &str = "image/svg+xml";

/// A file of the page.
#[derive(Debug, PartialEq, Eq)]
pub struct PageFile {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

macro_rules! files {
    ($($path:literal $kind:ident $file:literal),* $(,)?) => {
        &[$(PageFile { path: $path, kind: $kind, bytes: include_bytes!(concat!("../../../web/", $file)) }),*]
    };
}

/// All of them.
const FILES: &[PageFile] = files![
    "/" HTML "index.html",
    "/style.css" CSS "style.css",
    "/app.js" SCRIPT "app.js",
    "/api.js" SCRIPT "api.js",
    "/dom.js" SCRIPT "dom.js",
    "/sentences.js" SCRIPT "sentences.js",
    "/cards.js" SCRIPT "cards.js",
    "/talk.js" SCRIPT "talk.js",
    "/text.js" SCRIPT "text.js",
    "/views/today.js" SCRIPT "views/today.js",
    "/views/waiting.js" SCRIPT "views/waiting.js",
    "/views/plans.js" SCRIPT "views/plans.js",
    "/views/book.js" SCRIPT "views/book.js",
    "/views/abilities.js" SCRIPT "views/abilities.js",
    "/views/memory.js" SCRIPT "views/memory.js",
    "/views/mnestome.js" SCRIPT "views/mnestome.js",
    "/views/house.js" SCRIPT "views/house.js",
    "/worker.js" SCRIPT "worker.js",
    "/manifest.webmanifest" MANIFEST "manifest.webmanifest",
    "/icon.svg" SVG "icon.svg",
];

/// The file at this address.
#[must_use]
pub fn file(path: &str) -> Option<&'static PageFile> {
    FILES.iter().find(|file| file.path == path)
}

impl PageFile {
    /// What names exactly these bytes.
    fn tag(&self) -> String {
        format!("\"{}\"", Blake3::of(self.bytes).to_string().trim_start_matches("blake3:"))
    }

    /// The file, or that the client has it already.
    pub(in crate::http) fn response(&self, asked: &HeaderMap) -> Response<Out> {
        let tag = self.tag();
        let texts = asked.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let has = texts.flat_map(|text| text.split(',')).any(|one| one.trim().trim_start_matches("W/") == tag);
        let mut response =
            Response::new(if has { Out::Whole(None) } else { Out::whole(Bytes::from_static(self.bytes)) });
        if has {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        for (name, value) in [
            (CONTENT_TYPE, self.kind),
            (CONTENT_SECURITY_POLICY, POLICY),
            // Kept, but asked about each time: a door that was updated has another page.
            (CACHE_CONTROL, "no-cache"),
            (OPENER_POLICY, "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if let Ok(tag) = HeaderValue::try_from(tag) {
            headers.insert(ETAG, tag);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The most that all files may weigh together, in bytes (design: web §3).
    const MAX_PAGE: usize = 250 * 1024;

    fn text(path: &str) -> &'static str {
        std::str::from_utf8(file(path).unwrap().bytes).unwrap()
    }

    #[test]
    fn page_is_small_and_whole() {
        let all: usize = FILES.iter().map(|file| file.bytes.len()).sum();
        assert!(all <= MAX_PAGE, "{all} bytes");
        // Every file that another names is there, so that nothing is missing on a client that has loaded it all.
        for script in FILES.iter().filter(|file| file.kind == SCRIPT) {
            let folder = script.path.rsplit_once('/').unwrap().0;
            for line in text(script.path).lines().filter(|line| line.starts_with("import ")) {
                let named = line.split('"').nth(1).unwrap();
                let path = match named.strip_prefix("../") {
                    Some(rest) => format!("/{rest}"),
                    None => format!("{folder}/{}", named.trim_start_matches("./")),
                };
                assert!(file(&path).is_some(), "{} imports {named}", script.path);
            }
        }
        let quoted = text("/worker.js").split('"').skip(1).step_by(2);
        for named in quoted.filter(|part| part.starts_with('/')) {
            assert!(file(named).is_some(), "the worker keeps {named}");
        }
    }

    #[test]
    fn no_script_and_no_style_stands_in_the_page_itself() {
        let html = text("/");
        for start in html.split("<script").skip(1) {
            assert!(start.split('>').next().unwrap().contains(" src=\"/app.js\""), "{start}");
        }
        for odd in ["<style", " style=", " onclick", " onload", "javascript:", "http:", "https:"] {
            assert!(!html.contains(odd), "{odd}");
        }
        // What a person or a model has written is text, and nothing reads it as anything else.
        let sinks =
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser"];
        for script in FILES.iter().filter(|file| file.kind == SCRIPT) {
            for sink in sinks {
                assert!(!text(script.path).contains(sink), "{} has {sink}", script.path);
            }
        }
    }

    #[test]
    fn a_file_that_is_known_is_not_sent_again() {
        let file = file("/app.js").unwrap();
        let whole = file.response(&HeaderMap::new());
        assert_eq!(whole.status(), StatusCode::OK);
        let tag = whole.headers()[ETAG].clone();
        let asked = HeaderMap::from_iter([(IF_NONE_MATCH, tag)]);
        assert_eq!(file.response(&asked).status(), StatusCode::NOT_MODIFIED);
        let other = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static("\"00\""))]);
        assert_eq!(file.response(&other).status(), StatusCode::OK);
    }
}
