//! What the operator means by a source: a file by its first bytes, a directory, a pipe, an
//! address.
//!
//! Looks, and reads no more than the beginning. How each kind is read is [`super::stream`]'s.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::follow::{self, Until};
use super::recording;
use super::ui::{Address, AddressError};

/// Bytes that are looked at.
const HEAD: u64 = 4096;
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// Endings of event logs that are compressed; those of text have other names.
const COMPRESSED: [&str; 4] = ["zstd", "lz4", "snappy", "lzf"];
const IN_PROGRESS: &str = ".inprogress";
/// Addresses of cloud stores, where event logs are read.
const CLOUDS: [&str; 5] = ["s3://", "s3a://", "abfs://", "abfss://", "gs://"];

/// A source of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What the operator called it.
    pub name: Arc<str>,
    /// What it is.
    pub kind: SourceKind,
}

/// What a source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceKind {
    /// Standard input: text.
    Stdin,
    /// A file of text: progress JSON, a driver's log; or one that is not there yet.
    Text(PathBuf),
    /// The same, compressed with gzip. It is not followed.
    Gzip(PathBuf),
    /// The same, compressed with zstd. It is not followed.
    Zstd(PathBuf),
    /// A pipe or device, read as it comes: text.
    Pipe(PathBuf),
    /// An event log of Spark, or a directory of such: a path, or the address of a cloud store.
    EventLog(String),
    /// The Spark UI of an application.
    SparkUi(Address),
}

/// Why a source is none.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is no such file.
    #[error(
        "{0}: no such file; expected a file of progress JSON or a driver's log, or - for standard \
         input (--follow waits for a file to appear)"
    )]
    NotThere(String),
    /// It cannot be opened or read.
    #[error("{name} cannot be read")]
    Unreadable {
        /// The source.
        name: String,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// It is meant for a Spark UI, and is no address of one.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// It lies where events are not read from.
    #[error(
        "{0}: events are read from files of this machine, from standard input, and as event logs \
         from s3:, abfss: and gs: addresses; fetch it first, or pipe it: hdfs dfs -cat ADDRESS | \
         statetop progress -"
    )]
    Elsewhere(String),
}

impl Source {
    /// Looks at what the operator named.
    ///
    /// # Errors
    /// [`SourceError`] when there is no such file (unless it is waited for), when it cannot be
    /// read, or when it is no address, or of no kind that events are read from.
    pub fn of(name: &str, until: Until) -> Result<Self, SourceError> {
        let kind = if name == "-" {
            SourceKind::Stdin
        } else if name.starts_with("http://") || name.starts_with("https://") {
            SourceKind::SparkUi(Address::parse(name)?)
        } else if let Some(path) = name.strip_prefix("file://") {
            of_path(Path::new(path), name, until)?
        } else if CLOUDS.iter().any(|scheme| name.starts_with(scheme)) {
            SourceKind::EventLog(name.to_owned())
        } else if name.contains("://") {
            return Err(SourceError::Elsewhere(name.to_owned()));
        } else {
            of_path(Path::new(name), name, until)?
        };
        Ok(Self { name: name.into(), kind })
    }
}

fn of_path(path: &Path, name: &str, until: Until) -> Result<SourceKind, SourceError> {
    let here = || path.to_owned();
    if path.is_dir() {
        return Ok(SourceKind::EventLog(name.to_owned()));
    }
    if follow::is_stream(path) {
        return Ok(SourceKind::Pipe(here()));
    }
    match head(path) {
        Ok(head) => Ok(match Content::of(path, &head) {
            Content::Text => SourceKind::Text(here()),
            Content::Gzip => SourceKind::Gzip(here()),
            Content::Zstd => SourceKind::Zstd(here()),
            Content::EventLog => SourceKind::EventLog(name.to_owned()),
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => match until {
            Until::Cancelled => Ok(SourceKind::Text(here())),
            Until::End => Err(SourceError::NotThere(name.to_owned())),
        },
        Err(error) => Err(SourceError::Unreadable { name: name.to_owned(), error }),
    }
}

/// The first bytes of a file.
fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Text,
    Gzip,
    Zstd,
    EventLog,
}

impl Content {
    /// By the file's name and first bytes.
    fn of(path: &Path, head: &[u8]) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ending = name.trim_end_matches(IN_PROGRESS).rsplit('.').next().unwrap_or_default();
        if head.starts_with(GZIP) {
            Self::Gzip
        } else if head.starts_with(ZSTD) && recording::begins(&unpacked(head)) {
            Self::Zstd
        } else if head.starts_with(ZSTD)
            || name.ends_with(IN_PROGRESS)
            || COMPRESSED.contains(&ending)
            || is_event_log(head)
        {
            Self::EventLog
        } else {
            Self::Text
        }
    }
}

/// What the beginning of a file that is compressed with zstd unpacks to, as far as it goes.
fn unpacked(head: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    if let Ok(decoder) = zstd::Decoder::with_buffer(head) {
        // The head is cut somewhere: what came before that is what is asked for.
        let _ = decoder.take(HEAD).read_to_end(&mut text);
    }
    text
}

/// Whether text begins with one of Spark's own events, which no listener for queries sees.
fn is_event_log(head: &[u8]) -> bool {
    let text: String =
        String::from_utf8_lossy(head).chars().filter(|c| !c.is_whitespace()).take(64).collect();
    text.starts_with("{\"Event\":\"SparkListener")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_source_is_known_by_its_name_or_first_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            Source::of(path.to_str().unwrap(), Until::End).unwrap().kind
        };
        let path = |name: &str| folder.path().join(name);
        let named = |name: &str| path(name).to_str().unwrap().to_owned();
        for (name, content, expected) in [
            ("a.log", &b"26/11/30 16:22:36 INFO X: y"[..], SourceKind::Text(path("a.log"))),
            ("p.json", b"{\"id\": 1}", SourceKind::Text(path("p.json"))),
            ("empty", b"", SourceKind::Text(path("empty"))),
            ("b.gz", b"\x1f\x8b\x08", SourceKind::Gzip(path("b.gz"))),
            (
                "app-1",
                b"{\"Event\": \"SparkListenerLogStart\", \"Spark",
                SourceKind::EventLog(named("app-1")),
            ),
            (
                "events_2_app.zstd.inprogress",
                b"\x28\xb5\x2f\xfd",
                SourceKind::EventLog(named("events_2_app.zstd.inprogress")),
            ),
            ("app-3.inprogress", b"", SourceKind::EventLog(named("app-3.inprogress"))),
            ("app-2.lz4", b"LZ4Block", SourceKind::EventLog(named("app-2.lz4"))),
            (
                "listener.jsonl",
                b"{\"Event\": \"org.x.StreamingQueryListener$QueryIdleEvent\"}",
                SourceKind::Text(path("listener.jsonl")),
            ),
        ] {
            assert_eq!(kind(name, content), expected, "{name}");
        }
        let directory = folder.path().to_str().unwrap();
        let kind = Source::of(directory, Until::End).unwrap().kind;
        assert_eq!(kind, SourceKind::EventLog(directory.to_owned()));
    }

    #[test]
    fn other_sources_have_an_address() {
        let kind = |name| Source::of(name, Until::End).map(|source| source.kind);
        assert_eq!(kind("-").unwrap(), SourceKind::Stdin);
        let address = "http://host:4040";
        assert_eq!(kind(address).unwrap(), SourceKind::SparkUi(Address::parse(address).unwrap()));
        assert!(matches!(kind("http://joe:pw@host"), Err(SourceError::Address(_))));
        let log = "s3://bucket/logs/app-1";
        assert_eq!(kind(log).unwrap(), SourceKind::EventLog(log.to_owned()));
        assert!(matches!(kind("hdfs://host/log"), Err(SourceError::Elsewhere(_))));
        assert!(matches!(kind("/dev/null").unwrap(), SourceKind::Pipe(_)));
    }

    #[test]
    fn a_file_that_is_not_there_may_be_waited_for() {
        let missing = "/nowhere/at/all.log";
        assert!(matches!(Source::of(missing, Until::End), Err(SourceError::NotThere(_))));
        let waited_for = Source::of(missing, Until::Cancelled).unwrap().kind;
        assert_eq!(waited_for, SourceKind::Text(missing.into()));
    }
}
