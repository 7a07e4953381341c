//! What a gateway wants to see before it lets anyone at a Spark UI.
//!
//! It comes from an environment variable or a file, never from the command line, and is read
//! anew for each connection, since tokens are replaced while a console runs. It is in no message.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

/// A file larger than this has no token.
const LARGEST: u64 = 64 << 10;

/// Where a token is, or whole headers.
///
/// One word is a token, which is sent as `Authorization: Bearer TOKEN`. Lines such as
/// `Cookie: session=…` are headers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Credentials {
    /// None is needed.
    #[default]
    None,
    /// In an environment variable of this name.
    Variable(String),
    /// In a file.
    File(PathBuf),
}

/// Why there is no token. No variant has any part of one.
#[derive(Debug, thiserror::Error)]
pub(super) enum CredentialsError {
    /// The variable is not set, or is empty.
    #[error("the environment variable {0} has no token for the Spark UI: set and export it")]
    NoVariable(String),
    /// The file cannot be read.
    #[error("the token file {path} cannot be read: {error}")]
    NoFile {
        /// The file.
        path: String,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// What is there is no token.
    #[error(
        "{0} has neither a token nor headers: expected one word, or lines such as \
         \"Authorization: Basic …\""
    )]
    Malformed(String),
}

impl Credentials {
    /// The headers to send.
    pub(super) fn headers(&self) -> Result<HeaderMap, CredentialsError> {
        let (name, text) = match self {
            Self::None => return Ok(HeaderMap::new()),
            Self::Variable(name) => {
                let text = std::env::var(name).ok().filter(|text| !text.trim().is_empty());
                let text = text.ok_or_else(|| CredentialsError::NoVariable(name.clone()))?;
                (format!("the environment variable {name}"), text)
            }
            Self::File(path) => {
                let name = path.display().to_string();
                let text = read(path)
                    .map_err(|error| CredentialsError::NoFile { path: name.clone(), error })?;
                (name, text)
            }
        };
        parse(&text).ok_or(CredentialsError::Malformed(name))
    }
}

fn read(path: &PathBuf) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn parse(text: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    let text = text.trim();
    if !text.is_empty() && !text.contains(char::is_whitespace) {
        headers.insert(AUTHORIZATION, secret(&format!("Bearer {text}"))?);
        return Some(headers);
    }
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
        headers.insert(name, secret(value.trim())?);
    }
    (!headers.is_empty()).then_some(headers)
}

/// A value that debug output leaves out.
fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_is_a_token_and_lines_are_headers() {
        let token = parse("  dapi123\n").unwrap();
        assert_eq!(token.get("authorization").unwrap(), "Bearer dapi123");
        let headers = parse("Authorization: Basic am9lOnB3\r\n\nCookie: a=b; c=d\n").unwrap();
        assert_eq!(headers.get("authorization").unwrap(), "Basic am9lOnB3");
        assert_eq!(headers.get("cookie").unwrap(), "a=b; c=d");
        assert!(!format!("{headers:?}").contains("am9l"), "debug output has no secrets");
        for other in ["", " \n ", "two words", "a b: c", "Cookie: a\u{1}b"] {
            assert!(parse(other).is_none(), "{other:?}");
        }
    }

    #[test]
    fn a_token_is_read_from_a_file_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let credentials = Credentials::File(path.clone());
        assert!(matches!(credentials.headers(), Err(CredentialsError::NoFile { .. })));
        for token in ["one", "two"] {
            std::fs::write(&path, format!("{token}\n")).unwrap();
            let headers = credentials.headers().unwrap();
            assert_eq!(headers.get("authorization").unwrap(), &format!("Bearer {token}"));
        }
        std::fs::write(&path, "no token here").unwrap();
        let error = credentials.headers().unwrap_err().to_string();
        assert!(error.contains("token has neither") && !error.contains("no token here"), "{error}");
    }

    #[test]
    fn a_variable_that_is_not_set_is_told() {
        let credentials = Credentials::Variable("STATETOP_TEST_NO_SUCH_TOKEN".into());
        let error = credentials.headers().unwrap_err().to_string();
        assert!(error.contains("STATETOP_TEST_NO_SUCH_TOKEN"), "{error}");
    }
}
