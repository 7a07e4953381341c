//! The confs of an application that may be shown. Must not know where they were found.

/// Words in the name of a conf, or in its value, that make it a secret. Spark replaces most of
/// such values itself (`spark.redaction.regex`); what it lets through is left out here.
const SECRET: [&str; 12] = [
    "secret",
    "password",
    "passwd",
    "passphrase",
    "token",
    "credential",
    "access.key",
    "accesskey",
    "account.key",
    "private",
    "signature",
    "redacted",
];

/// Those of Spark (`spark.*`), without what looks secret.
pub(super) fn shown(confs: impl IntoIterator<Item = (String, String)>) -> Vec<(String, String)> {
    let shown =
        |(name, value): &(String, String)| name.starts_with("spark.") && !is_secret(name, value);
    confs.into_iter().filter(shown).collect()
}

/// The value of a conf.
pub(super) fn value<'a>(confs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    confs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Whether a conf's name says that its value is secret, or the value gives a secret by name
/// (`-Dkey.password=…` among options of the JVM, `user:password@` in an address).
fn is_secret(name: &str, value: &str) -> bool {
    let has = |text: &str| {
        let text = text.to_ascii_lowercase();
        SECRET.iter().any(|word| text.contains(word))
    };
    let in_address = value.split_once("://").is_some_and(|(_, rest)| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority.split_once('@').is_some_and(|(user, _)| user.contains(':'))
    });
    has(name) || has(value) || in_address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_user_alone_is_no_secret() {
        assert!(!is_secret("spark.hadoop.fs.defaultFS", "abfss://container@account/x"));
        assert!(is_secret("spark.x", "amqp://joe:pw@host/x"));
    }

    #[test]
    fn confs_of_spark_are_shown_and_found_by_name() {
        let conf = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let told = [conf("spark.a", "1"), conf("java.home", "/x"), conf("spark.a.token", "2")];
        let confs = shown(told);
        assert_eq!(confs, [conf("spark.a", "1")]);
        assert_eq!(value(&confs, "spark.a"), Some("1"));
        assert_eq!(value(&confs, "spark.b"), None);
    }
}
