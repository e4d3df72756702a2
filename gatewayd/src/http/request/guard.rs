//! Who may ask at all, before anybody knows who it is: a page of another site that has a browser ask, or a name that
//! a person made lead here (DNS rebinding), is turned away by what browsers say of themselves. Pure.

use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, StatusCode, Uri};
use metnos_proto::ids::Blake3;

use crate::http::documents::problem::Problem;

/// Digits of a token: 256 bits.
const TOKEN_DIGITS: usize = 64;
/// Digits of a digest that a token is known by: 128 bits, which nobody meets by chance.
const DIGEST_DIGITS: usize = 32;
/// What browsers say about who has them ask.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Under which names this door is asked.
#[derive(Debug, Clone)]
pub struct HostNames {
    hosts: Vec<String>,
    /// The name of the cookie: ports of one machine share cookies, so it names the port.
    cookie: String,
}

/// A secret that a client shows. Nobody keeps it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// Of these random bytes.
    #[must_use]
    pub fn of(random: [u8; 32]) -> Self {
        Self(random.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn parse(text: &str) -> Option<Self> {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        (text.len() == TOKEN_DIGITS && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// The one to whom it is shown once.
    #[must_use]
    pub fn show(&self) -> &str {
        &self.0
    }

    /// What its bearer is known by: nobody finds the token by it.
    #[must_use]
    pub fn digest(&self) -> String {
        Blake3::of(self.0.as_bytes()).hex().chars().take(DIGEST_DIGITS).collect()
    }
}

/// How a client says who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// Not at all.
    Nothing,
    /// In a header, which no page of another site can have a browser send.
    Bearer(Token),
    /// In a cookie, which a browser sends by itself.
    Cookie(Token),
}

impl HostNames {
    /// The names of a door that listens at this port of the loopback.
    #[must_use]
    pub fn new(port: u16) -> Self {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")).to_vec();
        Self { hosts, cookie: format!("metnos-{port}") }
    }

    /// The header that gives a browser its cookie.
    #[must_use]
    pub fn set_cookie(&self, token: &Token) -> String {
        // A year; it ends with the pairing.
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000", self.cookie, token.show())
    }

    /// The header that takes a browser's cookie away: nobody knows its token from then on.
    #[must_use]
    pub fn forget_cookie(&self) -> String {
        format!("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0", self.cookie)
    }

    fn is_ours(&self, host: &str) -> bool {
        self.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host))
    }

    /// Whether the request was meant for this door, under a name that nobody else can make lead here.
    ///
    /// # Errors
    /// When it was not.
    pub fn host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let other = |found: &str| {
            let problem = Problem::field("Host", &format!("\"{}\"", found.escape_debug()), &self.hosts.join(" or "));
            Problem { status: StatusCode::MISDIRECTED_REQUEST, rule: "http.host".to_owned(), ..problem }
        };
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().unwrap_or("?"),
            (None, _) => return Err(other("")),
            (Some(_), Some(_)) => return Err(other("given twice")),
        };
        let authority = uri.authority().map_or(host, |authority| authority.as_str());
        match [host, authority].into_iter().find(|name| !self.is_ours(name)) {
            Some(name) => Err(other(name)),
            None => Ok(()),
        }
    }

    /// Whether no other site has a browser ask this. `true` when a browser says that a page of this door asks.
    ///
    /// # Errors
    /// When another site does, or a browser does not say which.
    pub fn origin(&self, headers: &HeaderMap) -> Result<bool, Problem> {
        let foreign = |what: &str| {
            let why = format!("another site has your browser ask this ({what}); nothing was done");
            Problem::new(StatusCode::FORBIDDEN, "http.origin", why)
        };
        let mut ours = false;
        for origin in headers.get_all(ORIGIN) {
            let origin = origin.to_str().unwrap_or("?");
            if !origin.strip_prefix("http://").is_some_and(|host| self.is_ours(host)) {
                return Err(foreign(&format!("Origin: {}", origin.escape_debug())));
            }
            ours = true;
        }
        for site in headers.get_all(FETCH_SITE) {
            match site.as_bytes() {
                b"same-origin" => ours = true,
                b"none" => {}
                _ => return Err(foreign("Sec-Fetch-Site")),
            }
        }
        Ok(ours)
    }

    /// Who a request says that it comes from. `from_page`: what [`HostNames::origin`] has found.
    ///
    /// # Errors
    /// When a cookie would change something and no page of this door asks for it.
    pub fn shown(&self, method: &Method, headers: &HeaderMap, from_page: bool) -> Result<Credentials, Problem> {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        match (given.next(), given.next()) {
            (Some(one), None) => {
                let text = one.to_str().unwrap_or_default();
                let token = text.split_once(' ').filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
                let token = token.and_then(|(_, token)| Token::parse(token.trim()));
                return token.map(Credentials::Bearer).ok_or_else(Problem::stranger);
            }
            (Some(_), Some(_)) => return Err(Problem::stranger()),
            (None, _) => {}
        }
        let Some(token) = self.cookie(headers) else { return Ok(Credentials::Nothing) };
        if *method != Method::GET && !from_page {
            let why = "a cookie alone changes nothing: the browser must say that a page of this door asks";
            return Err(Problem::new(StatusCode::FORBIDDEN, "http.csrf", why));
        }
        Ok(Credentials::Cookie(token))
    }

    fn cookie(&self, headers: &HeaderMap) -> Option<Token> {
        let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut ours = texts
            .flat_map(|text| text.split(';'))
            .filter_map(|pair| pair.trim().strip_prefix(&self.cookie)?.strip_prefix('='));
        // Two of that name: one of them is not from here.
        match (ours.next(), ours.next()) {
            (Some(one), None) => Token::parse(one),
            (Some(_), Some(_)) | (None, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PORT: u16 = 42_618;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn names() -> HostNames {
        HostNames::new(PORT)
    }

    #[test]
    fn only_names_of_the_loopback_lead_here() {
        let uri: Uri = "/v1/status".parse().unwrap();
        for host in ["127.0.0.1:42618", "localhost:42618", "LOCALHOST:42618", "[::1]:42618"] {
            assert!(names().host(&uri, &headers(&[("host", host)])).is_ok(), "{host}");
        }
        for host in [
            "evil.example:42618",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:42618.evil.example",
            "localhost:42618@evil.example",
            "127.0.0.1:042618",
            "0.0.0.0:42618",
            "",
        ] {
            let problem = names().host(&uri, &headers(&[("host", host)])).unwrap_err();
            assert_eq!(problem.rule, "http.host", "{host}");
            assert!(problem.field.is_some());
        }
        assert!(names().host(&uri, &HeaderMap::new()).is_err());
        let twice = headers(&[("host", "localhost:42618"), ("host", "localhost:42618")]);
        assert!(names().host(&uri, &twice).is_err());
        let absolute: Uri = "http://evil.example/v1/status".parse().unwrap();
        assert!(names().host(&absolute, &headers(&[("host", "localhost:42618")])).is_err());
    }

    #[test]
    fn no_other_site_may_have_a_browser_ask() {
        assert_eq!(names().origin(&HeaderMap::new()).ok(), Some(false));
        assert_eq!(names().origin(&headers(&[("origin", "http://localhost:42618")])).ok(), Some(true));
        assert_eq!(names().origin(&headers(&[("sec-fetch-site", "none")])).ok(), Some(false));
        for pair in [
            ("origin", "http://evil.example"),
            ("origin", "https://localhost:42618"),
            ("origin", "http://localhost:42619"),
            ("origin", "null"),
            ("origin", ""),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            assert_eq!(names().origin(&headers(&[pair])).unwrap_err().rule, "http.origin", "{pair:?}");
        }
        let mixed = headers(&[("origin", "http://localhost:42618"), ("origin", "http://evil.example")]);
        assert!(names().origin(&mixed).is_err());
    }

    #[test]
    fn a_cookie_alone_reads_and_changes_nothing() {
        let token = Token::of([7; 32]);
        let cookie = format!("other=1; metnos-42618={}", token.show());
        let with = headers(&[("cookie", &cookie)]);
        let shown = |method, page| names().shown(&method, &with, page);
        assert_eq!(shown(Method::GET, false).unwrap(), Credentials::Cookie(token.clone()));
        assert_eq!(shown(Method::POST, true).unwrap(), Credentials::Cookie(token.clone()));
        assert_eq!(shown(Method::POST, false).unwrap_err().rule, "http.csrf");
        assert_eq!(shown(Method::DELETE, false).unwrap_err().rule, "http.csrf");
        let twice = headers(&[("cookie", &cookie), ("cookie", &cookie)]);
        assert_eq!(names().shown(&Method::GET, &twice, true).unwrap(), Credentials::Nothing);
        let bearer = format!("Bearer {}", token.show());
        let both = headers(&[("authorization", &bearer)]);
        assert_eq!(names().shown(&Method::POST, &both, false).unwrap(), Credentials::Bearer(token));
        for wrong in ["Bearer", "Bearer x", "Basic YTpi", "Bearer 00"] {
            assert_eq!(
                names().shown(&Method::GET, &headers(&[("authorization", wrong)]), true).unwrap_err().rule,
                "door.stranger"
            );
        }
    }

    #[test]
    fn a_token_is_known_by_a_digest_and_shown_in_no_log() {
        let token = Token::of([7; 32]);
        assert_eq!((token.digest().len(), format!("{token:?}").as_str()), (DIGEST_DIGITS, "Token(..)"));
        assert!(!token.show().contains(&token.digest()));
        assert_ne!(token.digest(), Token::of([8; 32]).digest());
    }

    proptest! {
        #[test]
        fn guard_judges_any_client_headers_without_panic(host in "[ -~]{0,40}", origin in "[ -~]{0,40}", auth in "[ -~]{0,80}", cookie in "[ -~]{0,120}") {
            let headers = headers(&[("host", &host), ("origin", &origin), ("authorization", &auth), ("cookie", &cookie)]);
            let uri = "/".parse().unwrap();
            let ours = ["127.0.0.1:42618", "localhost:42618", "[::1]:42618"];
            if names().host(&uri, &headers).is_ok() {
                prop_assert!(ours.contains(&host.trim().to_ascii_lowercase().as_str()));
            }
            let _ = names().origin(&headers);
            let _ = names().shown(&Method::POST, &headers, false);
        }
    }
}
