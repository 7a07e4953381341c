//! The address of a Spark UI, as an operator has it: typed, or copied out of a browser.
//!
//! Behind a gateway everything lies under a prefix (`https://gw/proxy/app`). Must not know how
//! anything is asked there.

use std::fmt;

use url::Url;

/// Pages of the Spark UI, which end addresses that come out of a browser.
const PAGES: [&str; 15] = [
    "jobs",
    "job",
    "stages",
    "stage",
    "pool",
    "storage",
    "rdd",
    "environment",
    "executors",
    "SQL",
    "execution",
    "StreamingQuery",
    "statistics",
    "connect",
    "streaming",
];

/// Where a Spark UI or a history server is, and which application is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Ends with a slash.
    base: Url,
    /// The application that the address names.
    pub(super) application: Option<String>,
    /// Its attempt, on YARN.
    pub(super) attempt: Option<String>,
}

/// Why an address is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It cannot be read as an address.
    #[error("{0}: expected an address such as http://host:4040 or https://gateway/proxy/app")]
    Malformed(String),
    /// It has a name or a password in it.
    #[error(
        "the address of a Spark UI must not have a user or password in it, since others on this \
         host can see it; put the header \"Authorization: Basic …\" into an environment variable \
         or a file and name that with --ui-token-env or --ui-token-file"
    )]
    HasPassword,
}

impl Address {
    /// Reads an address. Of one out of a browser, page and query are left out; what follows
    /// `/history/` or `/api/v1/applications/` names the application.
    ///
    /// # Errors
    /// When it is no address, or has a password in it.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let malformed = || AddressError::Malformed(text.to_owned());
        let mut base = Url::parse(text).map_err(|_| malformed())?;
        if !base.username().is_empty() || base.password().is_some() {
            return Err(AddressError::HasPassword);
        }
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
            return Err(malformed());
        }
        base.set_query(None);
        base.set_fragment(None);
        let path = base.path().to_owned();
        let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        while parts.last().is_some_and(|part| PAGES.contains(part)) {
            parts.pop();
        }
        let named = ["history", "applications"].iter().find_map(|word| {
            let at = parts.iter().rposition(|part| part == word)?;
            let application = (*parts.get(at + 1)?).to_owned();
            // An attempt is a number; what else follows is a page of the interface.
            let attempt = parts.get(at + 2).filter(|part| part.parse::<u32>().is_ok());
            Some((at, application, attempt.map(|part| (*part).to_owned())))
        });
        let (mut application, mut attempt) = (None, None);
        if let Some((at, named, of)) = named {
            (application, attempt) = (Some(named), of);
            parts.truncate(at);
        }
        if parts.ends_with(&["api", "v1", "applications"]) {
            parts.pop();
        }
        if parts.ends_with(&["api", "v1"]) {
            parts.truncate(parts.len() - 2);
        }
        let prefix: String = parts.iter().flat_map(|part| [*part, "/"]).collect();
        base.set_path(&format!("/{prefix}"));
        Ok(Self { base, application, attempt })
    }

    /// The address of something in the interface (`/api/v1/…`). Parts are escaped.
    pub(super) fn of(&self, parts: &[&str], query: &[(&str, String)]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["api", "v1"]).extend(parts);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// The address of another application at the same place, for the operator to type.
    pub(super) fn of_application(&self, id: &str) -> String {
        format!("{}history/{id}", self.base)
    }

    /// Whether it is of this machine, which a proxy for others cannot reach.
    pub(super) fn is_local(&self) -> bool {
        match self.base.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_bare_prefixed_and_out_of_a_browser() {
        for (text, base, application, attempt) in [
            ("http://host:4040", "http://host:4040", None, None),
            ("http://host:4040/", "http://host:4040", None, None),
            ("http://host:4040/jobs/", "http://host:4040", None, None),
            ("http://h:4040/StreamingQuery/statistics/?id=4c58#x", "http://h:4040", None, None),
            ("https://gw/proxy/application_1_2/", "https://gw/proxy/application_1_2", None, None),
            ("https://gw/a/b/stages/stage/?id=3&attempt=0", "https://gw/a/b", None, None),
            ("http://h:18080/history/app-7/jobs/", "http://h:18080", Some("app-7"), None),
            ("http://h:18080/x/history/app_7/2/SQL", "http://h:18080/x", Some("app_7"), Some("2")),
            ("http://h:4040/api/v1", "http://h:4040", None, None),
            ("http://h/api/v1/applications", "http://h", None, None),
            ("http://h/p/api/v1/applications/app-7/1/jobs", "http://h/p", Some("app-7"), Some("1")),
        ] {
            let read = Address::parse(text).unwrap();
            assert_eq!(read.to_string(), base, "{text}");
            assert_eq!(read.application.as_deref(), application, "{text}");
            assert_eq!(read.attempt.as_deref(), attempt, "{text}");
        }
    }

    #[test]
    fn what_is_asked_lies_under_the_prefix_and_is_escaped() {
        let address = Address::parse("https://gw/proxy/app/").unwrap();
        let query = [("offset", "3".to_owned()), ("x", "a&b".to_owned())];
        assert_eq!(
            address.of(&["applications", "a/../b", "sql"], &query).as_str(),
            "https://gw/proxy/app/api/v1/applications/a%2F..%2Fb/sql?offset=3&x=a%26b"
        );
        let bare = Address::parse("http://h:1").unwrap();
        assert_eq!(bare.of(&["version"], &[]).as_str(), "http://h:1/api/v1/version");
    }

    #[test]
    fn passwords_and_other_things_are_refused() {
        for text in ["http://joe@host", "http://joe:pw@host:4040/x", "https://:pw@host"] {
            let error = Address::parse(text).unwrap_err();
            assert_eq!(error, AddressError::HasPassword, "{text}");
            assert!(!error.to_string().contains("pw") && !error.to_string().contains("joe"));
        }
        for text in ["host:4040", "", "http://", "ftp://host/x", "http://host:99999"] {
            assert!(matches!(Address::parse(text), Err(AddressError::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn loopback_is_told_from_other_hosts() {
        let is_local = |text| Address::parse(text).unwrap().is_local();
        assert!(is_local("http://localhost:4040") && is_local("http://127.0.0.5"));
        assert!(is_local("http://[::1]:4040"));
        assert!(!is_local("http://localhost.example.org") && !is_local("http://10.0.0.1"));
    }
}
