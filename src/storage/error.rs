//! Why bytes could not be had, in words that name the file and what to do.

use std::io;

use crate::units::Bytes;

/// Why a listing or a read failed. Each message names the path it is about.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The address is of a kind that is not read.
    #[error("{target}: `{scheme}:` addresses are not supported; {advice}")]
    Unsupported {
        /// The address.
        target: String,
        /// Its scheme.
        scheme: String,
        /// What to do instead.
        advice: String,
    },
    /// The address is malformed or incomplete.
    #[error("{target}: {reason}")]
    InvalidTarget {
        /// The address.
        target: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A relative path that could leave the root, or that no store could hold.
    #[error("{path:?} is not a path inside the directory: {reason}")]
    InvalidPath {
        /// The path.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Nothing is there.
    #[error("{path}: not found")]
    NotFound {
        /// The path.
        path: String,
    },
    /// The store refuses.
    #[error("{path}: permission denied ({reason})")]
    Denied {
        /// The path.
        path: String,
        /// The store's own words.
        reason: String,
    },
    /// Something other than a regular file.
    #[error("{path}: expected a regular file, found {found}")]
    NotAFile {
        /// The path.
        path: String,
        /// What it is.
        found: &'static str,
    },
    /// Something other than a directory.
    #[error("{path}: expected a directory, found {found}")]
    NotADirectory {
        /// The path.
        path: String,
        /// What it is.
        found: &'static str,
    },
    /// A symbolic link inside the directory leads out of it.
    #[error("{path}: a symbolic link leads out of the directory and is not followed")]
    Outside {
        /// The path.
        path: String,
    },
    /// Larger than the reader allows.
    #[error("{path}: {bytes} bytes, more than the {limit} that a file of this kind may have")]
    TooLarge {
        /// The path.
        path: String,
        /// Its size.
        bytes: Bytes,
        /// The largest size that is read.
        limit: Bytes,
    },
    /// The file ends before the range does.
    #[error("{path}: expected {length} bytes at offset {offset}, the file ends earlier")]
    Short {
        /// The path.
        path: String,
        /// Start of the range.
        offset: u64,
        /// Length of the range.
        length: u64,
    },
    /// More names than are kept in memory.
    #[error("{path}: more than {limit} names in one directory")]
    TooManyNames {
        /// The directory.
        path: String,
        /// The largest number that is listed.
        limit: usize,
    },
    /// The operating system reports an error.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The cloud store reports an error, or cannot be reached.
    #[error("{path}: {reason}")]
    Remote {
        /// The path.
        path: String,
        /// The store's own words.
        reason: String,
    },
}

impl StorageError {
    /// Whether nothing is there, as opposed to something that cannot be read.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// The error for `path` behind an operating system's error.
    pub(super) fn io(path: &str, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::PermissionDenied => Self::Denied { path, reason: source.to_string() },
            io::ErrorKind::NotADirectory => Self::NotADirectory { path, found: "a file" },
            _ => Self::Io { path, source },
        }
    }

    /// The error for `path` behind a cloud store's error.
    pub(super) fn remote(path: &str, source: &object_store::Error) -> Self {
        let path = path.to_owned();
        match source {
            object_store::Error::NotFound { .. } => Self::NotFound { path },
            object_store::Error::PermissionDenied { .. }
            | object_store::Error::Unauthenticated { .. } => {
                let reason = chain(source);
                let from = "credentials come from the environment: AWS_…, AZURE_…, GOOGLE_…";
                Self::Denied { path, reason: format!("{reason}; {from}") }
            }
            _ => Self::Remote { path, reason: chain(source) },
        }
    }
}

/// An error and its causes on one line, leaving out causes that the text before already quotes,
/// and the queries of URLs, which hold signatures and tokens.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    without_queries(&text)
}

/// A text whose URLs end before their query.
fn without_queries(text: &str) -> String {
    let word = |word: &str| match (word.find("://"), word.find('?')) {
        (Some(scheme), Some(query)) if scheme < query => {
            // What closes the URL's quotation stays.
            let rest = word.get(query..).unwrap_or_default();
            let closing = rest.trim_start_matches(|c: char| !matches!(c, ')' | '"' | '\'' | ','));
            format!("{}?…{closing}", word.get(..query).unwrap_or_default())
        }
        _ => word.to_owned(),
    };
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_in_urls_are_not_shown() {
        assert_eq!(
            without_queries("GET (https://a.net/c?sv=1&sig=x%3D) failed:\n really? yes"),
            "GET (https://a.net/c?…) failed: really? yes"
        );
        assert_eq!(without_queries("at https://a.net/c?sig=secret"), "at https://a.net/c?…");
    }
}
