//! From what the operator typed to the kind of store: a pure parse, no disk, no network.

use std::path::PathBuf;

use url::Url;

use super::StorageError;

/// Where a root is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// A directory of this machine.
    Local(PathBuf),
    /// A directory in a cloud store.
    Cloud(Cloud),
}

/// A bucket or container, and a directory in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cloud {
    pub(super) service: Service,
    /// Scheme and authority: `s3a://bucket`, `abfss://container@account.dfs.core.windows.net`.
    pub(super) root: String,
    /// The directory, taken literally: Hadoop does not percent-decode such paths either.
    pub(super) prefix: String,
}

/// Which cloud's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    S3,
    Azure,
    Google,
}

impl Target {
    pub(super) fn parse(target: &str) -> Result<Self, StorageError> {
        if target.is_empty() {
            return Err(invalid(target, "the address is empty"));
        }
        let Some(scheme) = scheme(target) else {
            return Ok(Self::Local(PathBuf::from(target)));
        };
        let rest = target.get(scheme.len() + 1..).unwrap_or_default();
        match scheme.to_ascii_lowercase().as_str() {
            "file" => Ok(Self::Local(file_path(target, rest)?)),
            "s3" | "s3a" => cloud(target, Service::S3, scheme, rest),
            "abfs" | "abfss" => cloud(target, Service::Azure, scheme, rest),
            "gs" => cloud(target, Service::Google, scheme, rest),
            other => Err(StorageError::Unsupported {
                target: target.to_owned(),
                scheme: other.to_owned(),
                advice: advice(other),
            }),
        }
    }
}

/// The scheme of `scheme:/…`. A drive letter is not one, nor is a colon inside a file name.
fn scheme(target: &str) -> Option<&str> {
    let (scheme, rest) = target.split_once(':')?;
    let legal = scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    (legal && rest.starts_with('/')).then_some(scheme)
}

/// The path of `file:/a`, `file:///a` or `file://localhost/a`, percent-decoded.
fn file_path(target: &str, rest: &str) -> Result<PathBuf, StorageError> {
    // In a URL these would begin a query and a fragment; in a file's name they are letters.
    let literal = rest.replace('?', "%3F").replace('#', "%23");
    let url = Url::parse(&format!("file:{literal}"))
        .map_err(|error| invalid(target, &format!("not a file URL: {error}")))?;
    url.to_file_path().map_err(|()| {
        invalid(target, "a file URL of another host; write file:///path for this machine")
    })
}

fn cloud(target: &str, service: Service, scheme: &str, rest: &str) -> Result<Target, StorageError> {
    let example = match service {
        Service::S3 => "s3://bucket/path",
        Service::Azure => "abfss://container@account.dfs.core.windows.net/path",
        Service::Google => "gs://bucket/path",
    };
    let rest = rest.strip_prefix("//").unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.is_empty() {
        return Err(invalid(target, &format!("no bucket or container; expected {example}")));
    }
    Ok(Target::Cloud(Cloud {
        service,
        root: format!("{}://{authority}", scheme.to_ascii_lowercase()),
        prefix: path.trim_matches('/').to_owned(),
    }))
}

fn invalid(target: &str, reason: &str) -> StorageError {
    StorageError::InvalidTarget { target: target.to_owned(), reason: reason.to_owned() }
}

/// What to use instead of a scheme that is not read.
fn advice(scheme: &str) -> String {
    let instead = match scheme {
        "dbfs" => {
            "on a cluster use its local mount (/dbfs/… or /Volumes/…), elsewhere the cloud \
             address behind it"
        }
        "hdfs" | "viewfs" | "webhdfs" => {
            "copy the checkpoint to a local directory first (hdfs dfs -get), or mount it"
        }
        "wasb" | "wasbs" => {
            "use the same container as abfss://container@account.dfs.core.windows.net/path"
        }
        "s3n" => "use s3a://bucket/path",
        "http" | "https" => "use the store's own scheme",
        _ => "copy the checkpoint to a local directory first",
    };
    format!("{instead}. Supported: a plain path, file:, s3:, s3a:, abfss:, gs:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(target: &str) -> PathBuf {
        match Target::parse(target).unwrap() {
            Target::Local(path) => path,
            Target::Cloud(cloud) => panic!("{cloud:?}"),
        }
    }

    fn remote(target: &str) -> (Service, String, String) {
        match Target::parse(target).unwrap() {
            Target::Cloud(cloud) => (cloud.service, cloud.root, cloud.prefix),
            Target::Local(path) => panic!("{path:?}"),
        }
    }

    #[test]
    fn plain_paths_stay_as_they_are() {
        for path in ["/a/b", "a/b", "a b%20c", "C:\\x", "c:/x", "odd:name/x", "./x:y"] {
            assert_eq!(local(path), PathBuf::from(path));
        }
    }

    #[test]
    #[cfg(unix)]
    fn file_urls_are_percent_decoded() {
        assert_eq!(local("file:///a/b%20c"), PathBuf::from("/a/b c"));
        assert_eq!(local("file:/a/b"), PathBuf::from("/a/b"));
        assert_eq!(local("FILE://localhost/a"), PathBuf::from("/a"));
        assert_eq!(local("file:///a?b#c"), PathBuf::from("/a?b#c"));
        assert!(Target::parse("file://elsewhere/a").is_err());
    }

    #[test]
    fn cloud_addresses_split_into_root_and_directory() {
        assert_eq!(
            remote("s3a://bucket/ck/v1/"),
            (Service::S3, "s3a://bucket".to_owned(), "ck/v1".to_owned())
        );
        assert_eq!(
            remote("abfss://c@acc.dfs.core.windows.net/a b"),
            (Service::Azure, "abfss://c@acc.dfs.core.windows.net".to_owned(), "a b".to_owned())
        );
        assert_eq!(remote("gs://b").2, "");
        assert!(Target::parse("s3:///ck").is_err());
        assert!(Target::parse("s3:/bucket/ck").is_err());
    }

    #[test]
    #[cfg(all(feature = "s3", feature = "azure", feature = "gcs"))]
    fn every_cloud_opens_without_touching_the_network() {
        for address in [
            "s3://bucket/ck",
            "s3a://bucket/ck",
            "abfss://c@account.dfs.core.windows.net/ck",
            "gs://bucket/ck",
        ] {
            let storage = super::super::Storage::open(address).unwrap();
            assert_eq!((storage.address(), storage.is_local()), (address, false));
        }
    }

    #[test]
    fn other_schemes_say_what_is_supported_and_what_to_do() {
        let error = Target::parse("dbfs:/mnt/ck").unwrap_err().to_string();
        assert!(error.contains("/dbfs/") && error.contains("abfss:"), "{error}");
        let error = Target::parse("hdfs://nn/ck").unwrap_err().to_string();
        assert!(error.contains("hdfs dfs -get"), "{error}");
    }
}
