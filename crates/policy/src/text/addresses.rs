//! Addresses of the web in a person's own words. A request carries its address out, so every part of it must have been
//! typed: as one token, or the host and each part of the path as tokens of their own, in their order. A scheme that was not
//! typed and a slash at the end carry nothing (design: policy §7, `net_read`).

/// The most parts of a path that may be put together from words.
const MAX_PARTS: usize = 4;
/// The longest address looked at, in bytes.
const MAX_BYTES: usize = 2_048;

/// An address, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    /// `https`, where it was written.
    scheme: Option<String>,
    /// Host and port, in small letters.
    host: String,
    /// Path, query and fragment as they stand, without a slash at the end of the path.
    rest: String,
}

impl Address {
    /// Reads a text that is written as an address of the web; `None` for any other.
    fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_BYTES || !text.chars().all(|c| c.is_ascii_graphic() && !"\\\"'`<>".contains(c)) {
            return None;
        }
        let (scheme, after) = match text.split_once("://") {
            Some((scheme, after)) => (Some(scheme.to_ascii_lowercase()), after),
            None => (None, text),
        };
        if scheme.as_deref().is_some_and(|scheme| !matches!(scheme, "http" | "https")) {
            return None;
        }
        let end = after.find(['/', '?', '#']).unwrap_or(after.len());
        let (host, rest) = after.split_at(end);
        let is_host = !host.is_empty()
            && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']'))
            && (scheme.is_some() || host.trim_matches('.').contains('.'));
        let rest = if rest.contains(['?', '#']) { rest } else { rest.strip_suffix('/').unwrap_or(rest) };
        is_host.then(|| Self { scheme, host: host.to_ascii_lowercase(), rest: rest.to_owned() })
    }

    /// Whether it leads to the same host in the same way as what was typed.
    fn is_at(&self, typed: &Self) -> bool {
        self.host == typed.host && (typed.scheme.is_none() || self.scheme.is_none() || self.scheme == typed.scheme)
    }
}

/// Whether `words` hold this address, or all of its parts.
#[must_use]
pub fn is_address_typed(words: &str, url: &str) -> bool {
    let Some(wanted) = Address::parse(url) else { return false };
    let tokens: Vec<&str> = tokens(words).collect();
    let typed = |token: &&str| Address::parse(token).filter(|typed| wanted.is_at(typed));
    if tokens.iter().filter_map(&typed).any(|typed| typed.rest == wanted.rest) {
        return true;
    }
    let alone = |at: &usize| typed(&tokens[*at]).is_some_and(|typed| typed.rest.is_empty());
    (0..tokens.len()).filter(alone).any(|host| {
        let others = tokens.iter().enumerate().filter(|(at, _)| *at != host).map(|(_, token)| *token);
        are_parts(&wanted.rest, others)
    })
}

/// Whether every part of this path stands in `words`.
#[must_use]
pub fn is_path_typed(words: &str, path: &str) -> bool {
    are_parts(path, tokens(words))
}

/// Whether a path consists of words, each used once and in their order: nothing can be said with them but what they say.
fn are_parts<'a>(path: &str, mut words: impl Iterator<Item = &'a str>) -> bool {
    let Some(path) = path.strip_prefix('/') else { return path.is_empty() };
    let plain = |part: &str| {
        part.len() > 1
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            && part.contains(char::is_alphabetic)
    };
    let parts: Vec<&str> = path.split('/').collect();
    parts.len() <= MAX_PARTS
        && parts.iter().all(|part| plain(part) && words.any(|word| word == *part || word.to_lowercase() == *part))
}

/// What stands between white space, without the marks of a sentence around it.
fn tokens(words: &str) -> impl Iterator<Item = &str> {
    words
        .split(|c: char| c.is_whitespace() || "\"'`<>()“”«»’‘".contains(c))
        .map(|token| token.trim_end_matches(['.', ',', ';', ':', '!', '?']).trim_start_matches([',', ';', ':']))
        .filter(|token| !token.is_empty())
}

/// `scheme://host` of an address, in small letters; `None` for what is none, or can be read in two ways.
#[must_use]
pub fn origin(url: &str) -> Option<(String, String)> {
    let address = Address::parse(url)?;
    Some((format!("{}://{}", address.scheme?, address.host), address.rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn address_counts_as_typed_when_every_part_was_typed() {
        for (words, url) in [
            ("read https://a.example/x", "https://a.example/x"),
            ("what does a.example say?", "https://a.example/"),
            ("what does a.example say?", "http://a.example"),
            ("open A.Example/News/today.", "https://a.example/News/today/"),
            ("look at (https://a.example/), please", "https://a.example"),
            ("get https://a.example/?q=rome&n=3", "https://a.example/?q=rome&n=3"),
            ("the weather in Rome on wttr.in", "https://wttr.in/Rome"),
            ("the weather in Rome on wttr.in", "https://wttr.in/weather/rome"),
            ("fetch http://10.0.0.7:8080/state", "http://10.0.0.7:8080/state"),
        ] {
            assert!(is_address_typed(words, url), "{url} in {words}");
        }
        for (words, url) in [
            ("read https://a.example/x", "https://a.example/y"),
            ("read https://a.example/x", "https://a.example/x?q=1"),
            ("read https://a.example/x", "https://a.example/X"),
            ("read https://a.example/x", "http://a.example/x"),
            ("read https://a.example/x", "https://a.example"),
            ("write to ada@a.example", "https://a.example"),
            ("read a.example", "https://a.example.evil.net"),
            ("read a.example", "https://evil.a.example"),
            ("read a.example", "https://a.example:8080"),
            ("read a.example", "https://me@a.example/"),
            ("read a.example", "https://evil.net/a.example"),
            ("read a.example", "https://a.example/read/read"),
            ("read the news of a.example", "https://a.example/news/read"),
            ("read the news of a.example", "https://a.example/?news"),
            ("read the news of a.example", "https://a.example/new"),
            ("read the news of a.example", "ftp://a.example"),
            ("what is the weather", "https://weather"),
            ("read a.example", "https://a.example\\@evil.net"),
            ("read a.example", "https://a.example/%2e"),
        ] {
            assert!(!is_address_typed(words, url), "{url} in {words}");
        }
    }

    #[test]
    fn the_origin_is_scheme_and_host_and_nothing_that_reads_in_two_ways() {
        assert_eq!(origin("HTTPS://A.example/x?y"), Some(("https://a.example".into(), "/x?y".into())));
        for url in ["a.example", "https://", "https://a b", "https://me@a.example", "https://a\\b", "file:///etc"] {
            assert_eq!(origin(url), None, "{url}");
        }
    }

    proptest! {
        #[test]
        fn untyped_address_never_counts_as_typed(words in "[a-z ]{0,40}", secret in "[a-z0-9]{6,20}") {
            prop_assume!(!words.contains(&secret));
            for url in [format!("https://a.example/{secret}"), format!("https://{secret}.a.example/"), format!("https://a.example/?{secret}")] {
                let words = format!("read a.example {words}");
                prop_assert!(!is_address_typed(&words, &url), "{} in {}", url, words);
            }
        }

        #[test]
        fn garbage_never_panics(words in "\\PC{0,80}", url in "\\PC{0,60}") {
            let _ = is_address_typed(&words, &url);
            let _ = is_path_typed(&words, &url);
            let _ = origin(&url);
        }
    }
}
