//! Asks a Spark UI: one request at a time, each bounded in time and size.
//!
//! Certificates are checked against those of the system. Proxies are taken from the environment
//! (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`), but not for addresses of this machine. Redirects are
//! followed to the same host only, and never from https to http. Must not know what is asked.

use std::error::Error;
use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::blocking::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::redirect::{Action, Attempt, Policy};
use serde::de::DeserializeOwned;

use super::address::Address;
use super::credentials::{Credentials, CredentialsError};

/// Redirects that are followed.
const REDIRECTS: usize = 5;
/// Letters of a server's own words that are repeated.
const GIST: usize = 160;
/// How Spark says that an application is not there (`ApiRequestContext`, Spark 3.5 to 4.3).
const NO_APPLICATION: &str = "no such app";

/// How long is waited, and how much is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For a connection.
    pub connect: Duration,
    /// For a whole answer, from the request to its last byte.
    pub answer: Duration,
    /// Bytes of an answer.
    pub bytes: u64,
}

impl Default for Limits {
    /// An answer is some hundred kilobytes: pages of tasks and of plans are asked for so.
    fn default() -> Self {
        let (connect, answer) = (Duration::from_secs(3), Duration::from_secs(10));
        Self { connect, answer, bytes: 32 << 20 }
    }
}

/// Something was asked and not answered.
#[derive(Debug, thiserror::Error)]
#[error("{address}: {failure}")]
pub(super) struct ClientError {
    /// The address of the Spark UI.
    pub(super) address: String,
    /// What went wrong.
    pub(super) failure: Failure,
}

/// What went wrong, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// Nobody listens there.
    #[error(
        "connection refused: no Spark UI listens there. Its driver may have ended, or uses the \
         next port (4041, …): its log says \"Bound SparkUI to\""
    )]
    Refused,
    /// The host's name is not known.
    #[error("no such host: check the name, or use one that this machine can resolve")]
    NoSuchHost,
    /// No connection in time.
    #[error("no connection within {0:?}: check the address, and whether a firewall is between")]
    NoConnection(Duration),
    /// No answer in time.
    #[error("no whole answer within {0:?}: the driver is busy, or hangs")]
    TimedOut(Duration),
    /// The connection could not be made for another reason: the name of the host that its
    /// certificate has, an unknown issuer.
    #[error("no connection: {0}")]
    Connect(String),
    /// The connection broke.
    #[error("the connection broke while the answer came: {0}")]
    Broken(String),
    /// A login page, or another server.
    #[error(
        "not a Spark UI: expected JSON, found a page in HTML. Check the address and its prefix; \
         behind a gateway a token may be missing (--ui-token-env, --ui-token-file)"
    )]
    Html,
    /// It sends us somewhere else.
    #[error(
        "it redirects to another host ({0}), which is not followed: where that is a login, a \
         token is missing (--ui-token-env, --ui-token-file); else use that address"
    )]
    Elsewhere(String),
    /// 401 or 403.
    #[error(
        "access denied ({0}): name a token with --ui-token-env or --ui-token-file; if you did, \
         it has expired or may not see this application"
    )]
    Denied(u16),
    /// 404, from Spark itself: the plan, job or stage is not there.
    #[error("not there: {0}")]
    Gone(String),
    /// 404, from Spark itself: another application is there now, or none.
    #[error("another application is there now: {0}")]
    Replaced(String),
    /// 404, from something else.
    #[error(
        "nothing there (404): not a Spark UI, or under another prefix. Check what your browser \
         shows before /jobs"
    )]
    NotFound,
    /// Another status.
    #[error("it answers with the status {0}")]
    Status(u16),
    /// More than is taken.
    #[error("an answer of more than {0} bytes, which is not a Spark UI's")]
    TooLarge(u64),
    /// Not what Spark answers.
    #[error("an answer unlike those of Spark 3.5 to 4.3: {0}")]
    Unlike(String),
    /// There are several applications, or none.
    #[error("{0}")]
    Application(String),
    /// There is no token.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

/// Asks one Spark UI.
#[derive(Debug)]
pub(super) struct Client {
    http: reqwest::blocking::Client,
    address: Address,
    limits: Limits,
}

impl Client {
    /// Makes ready; nothing is asked yet.
    pub(super) fn new(
        address: &Address,
        credentials: &Credentials,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        let failed = |failure| ClientError { address: address.to_string(), failure };
        let mut headers = credentials.headers().map_err(|error| failed(error.into()))?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let builder = reqwest::blocking::Client::builder()
            .user_agent(concat!("statetop/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(limits.connect)
            .timeout(limits.answer)
            .redirect(Policy::custom(redirect))
            .referer(false)
            .http1_only();
        let builder = if address.is_local() { builder.no_proxy() } else { builder };
        let http = builder.build().map_err(|error| failed(Failure::Connect(cause(&error))))?;
        Ok(Self { http, address: address.clone(), limits })
    }

    /// Asks for something, and reads the answer.
    pub(super) fn get<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        query: &[(&str, String)],
    ) -> Result<T, ClientError> {
        let told = self.answer(parts, query).and_then(|body| read(&body));
        told.map_err(|failure| self.error(failure))
    }

    /// A failure, with the address.
    pub(super) fn error(&self, failure: Failure) -> ClientError {
        ClientError { address: self.address.to_string(), failure }
    }

    fn answer(&self, parts: &[&str], query: &[(&str, String)]) -> Result<Vec<u8>, Failure> {
        let url = self.address.of(parts, query);
        let begun = Instant::now();
        let response = self.http.get(url).send().map_err(|error| self.not_sent(&error))?;
        let (status, html) = (response.status(), is_html(&response));
        if status.is_redirection() {
            return Err(Failure::Elsewhere(destination(&response)));
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(Failure::Denied(status.as_u16()));
        }
        match status {
            StatusCode::OK if html => Err(Failure::Html),
            StatusCode::OK => self.body(response, begun),
            StatusCode::NOT_FOUND if html => Err(Failure::NotFound),
            StatusCode::NOT_FOUND => Err(match gist(&self.body(response, begun)?) {
                Some(words) if words.starts_with(NO_APPLICATION) => Failure::Replaced(words),
                Some(words) => Failure::Gone(words),
                None => Failure::NotFound,
            }),
            _ => Err(Failure::Status(status.as_u16())),
        }
    }

    fn not_sent(&self, error: &reqwest::Error) -> Failure {
        let refused = io_error(error).is_some_and(|kind| kind == ErrorKind::ConnectionRefused);
        if refused {
            Failure::Refused
        } else if error.is_timeout() && error.is_connect() {
            Failure::NoConnection(self.limits.connect)
        } else if error.is_timeout() {
            Failure::TimedOut(self.limits.answer)
        } else if error.is_dns() {
            Failure::NoSuchHost
        } else if error.is_connect() {
            Failure::Connect(cause(error))
        } else {
            Failure::Broken(cause(error))
        }
    }

    /// The whole body. The client's own time-out is one for each read, so that a server which
    /// sends a byte now and then would never be given up.
    fn body(&self, mut response: Response, begun: Instant) -> Result<Vec<u8>, Failure> {
        let most = self.limits.bytes;
        let (mut body, mut chunk) = (Vec::new(), [0; 16 << 10]);
        loop {
            if begun.elapsed() > self.limits.answer {
                return Err(Failure::TimedOut(self.limits.answer));
            }
            match response.read(&mut chunk) {
                Ok(0) => return Ok(body),
                Ok(read) => body.extend_from_slice(chunk.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.not_read(&error)),
            }
            if body.len() as u64 > most {
                return Err(Failure::TooLarge(most));
            }
        }
    }

    fn not_read(&self, error: &io::Error) -> Failure {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<reqwest::Error>());
        let late = inner.is_some_and(reqwest::Error::is_timeout);
        if late || error.kind() == ErrorKind::TimedOut {
            Failure::TimedOut(self.limits.answer)
        } else {
            Failure::Broken(cause(error))
        }
    }
}

/// Follows redirects to the same host that are no less safe; where another one leads is told.
fn redirect(attempt: Attempt<'_>) -> Action {
    let follows = attempt.previous().first().is_some_and(|first| {
        let safe = first.scheme() == "http" || attempt.url().scheme() == "https";
        safe && first.host() == attempt.url().host() && attempt.previous().len() <= REDIRECTS
    });
    if follows { attempt.follow() } else { attempt.stop() }
}

/// The host that a redirect leads to; its path and query may have secrets.
fn destination(response: &Response) -> String {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let url = location.and_then(|location| response.url().join(location).ok());
    url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_else(|| "unknown".to_owned())
}

fn is_html(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.to_ascii_lowercase().contains("html"))
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    if body.trim_ascii_start().starts_with(b"<") {
        return Err(Failure::Html);
    }
    serde_json::from_slice(body).map_err(|error| Failure::Unlike(error.to_string()))
}

/// The first words of a plain text.
fn gist(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?.trim();
    (!text.is_empty() && !text.starts_with('<')).then(|| text.chars().take(GIST).collect())
}

/// The innermost error, in its own words.
fn cause(error: &(dyn Error + 'static)) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string().chars().take(GIST).collect()
}

/// The kind of the innermost I/O error.
fn io_error(error: &(dyn Error + 'static)) -> Option<ErrorKind> {
    let mut found = None;
    let mut inner = Some(error);
    while let Some(error) = inner {
        found = error.downcast_ref::<io::Error>().map(io::Error::kind).or(found);
        inner = error.source();
    }
    found
}
