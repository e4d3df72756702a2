//! What a client receives when something is not done: which rule said no, why, and what to do, as RFC 9457 has it. It
//! names the field, what stood there and what was expected.

use hyper::StatusCode;
use metnos_proto::msg::common::{Lang, Refusal, RefusalCode};

use crate::http::documents;

/// The longest part of a value that is shown back.
const MAX_SHOWN: usize = 64;

/// Why something was not done.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The status.
    pub status: StatusCode,
    /// Which rule or limit said so.
    pub rule: String,
    /// Why, for a person.
    pub why: String,
    /// What to do about it; empty when nothing can be done.
    pub remedy: String,
    /// Which part of the request, what stood there, and what was expected.
    pub field: Option<Box<(String, String, String)>>,
    /// In how many seconds to ask again.
    pub again_s: Option<u64>,
    /// Which methods there are instead.
    pub allow: Option<&'static str>,
}

impl Problem {
    /// A problem without further words.
    #[must_use]
    pub fn new(status: StatusCode, rule: &str, why: impl Into<String>) -> Self {
        let (rule, why) = (rule.to_owned(), why.into());
        Self { status, rule, why, remedy: String::new(), field: None, again_s: None, allow: None }
    }

    /// The same, saying what to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: &str) -> Self {
        remedy.clone_into(&mut self.remedy);
        self
    }

    /// A part of a request that does not fit.
    #[must_use]
    pub fn field(field: &str, found: &str, expected: &str) -> Self {
        let found: String = found.chars().take(MAX_SHOWN).collect();
        let why = format!("{field} is {found}; expected is {expected}");
        let problem = Self::new(StatusCode::BAD_REQUEST, "http.field", why);
        Self { field: Some(Box::new((field.to_owned(), found, expected.to_owned()))), ..problem }
    }

    /// Asked too often.
    #[must_use]
    pub fn too_often(rule: &str, again_s: u64) -> Self {
        let why = format!("this was asked more often than it is answered; again in {again_s} seconds");
        Self { again_s: Some(again_s), ..Self::new(StatusCode::TOO_MANY_REQUESTS, rule, why) }
    }

    /// Nobody is known by what was shown. The same, whatever is wrong with it.
    #[must_use]
    pub fn stranger() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "door.stranger", "the token is unknown, or none was given")
            .remedy("have the owner type `metnosctl pairing invite http`, and show the code at POST /v1/pair")
    }

    /// There is nothing here: also what is another principal's.
    #[must_use]
    pub fn nothing_here() -> Self {
        Self::new(StatusCode::NOT_FOUND, "http.path", "there is nothing at this address")
            .remedy("GET /openapi.json says what there is")
    }

    /// The same as a person reads it who speaks this language. Which part of a request was wrong stands beside it as before.
    #[must_use]
    pub fn said_in(self, lang: Lang) -> Self {
        if lang == Lang::En {
            return self;
        }
        let refusal = Refusal::new(RefusalCode::Invalid, &self.rule, self.why.clone());
        Self { why: metnos_texts::refusal(lang, &refusal), ..self }
    }

    /// As `application/problem+json`.
    #[must_use]
    pub fn document(&self) -> documents::Problem {
        let (field, value, expected) = self
            .field
            .as_deref()
            .cloned()
            .map_or((None, None, None), |(field, value, expected)| (Some(field), Some(value), Some(expected)));
        documents::Problem {
            kind: "about:blank",
            title: self.status.canonical_reason().unwrap_or("No").to_owned(),
            status: self.status.as_u16(),
            detail: self.why.clone(),
            rule: self.rule.clone(),
            remedy: self.remedy.clone(),
            field,
            value,
            expected,
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.code {
            RefusalCode::Denied => StatusCode::FORBIDDEN,
            RefusalCode::Invalid => StatusCode::BAD_REQUEST,
            RefusalCode::Unknown => StatusCode::NOT_FOUND,
            RefusalCode::Busy => StatusCode::TOO_MANY_REQUESTS,
            RefusalCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            RefusalCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, &refusal.rule, refusal.why).remedy(&refusal.remedy)
    }
}
