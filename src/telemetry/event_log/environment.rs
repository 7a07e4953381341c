//! What an application runs on, from the events at the beginning of its log.

use serde_json::Value;

use super::wire;
use crate::telemetry::event::Environment;

/// Words in the name of a conf, or in its value, that make it a secret. Spark replaces most of
/// such values itself (`spark.redaction.regex`); what it lets through is left out here.
const SECRET: [&str; 12] = [
    "secret", "password", "passwd", "passphrase", "token", "credential", "access.key",
    "accesskey", "account.key", "private", "signature", "redacted",
];

/// The environment of the application, without what looks secret.
pub(super) fn read(
    told: wire::Environment,
    version: Option<&str>,
    application: Option<&str>,
) -> Environment {
    let texts = told.confs.into_iter().filter_map(|(name, value)| match value {
        Value::String(value) => Some((name, value)),
        _ => None,
    });
    let confs: Vec<(String, String)> =
        texts.filter(|(name, value)| name.starts_with("spark.") && !is_secret(name, value)).collect();
    let named = |wanted: &str| {
        confs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
    };
    Environment {
        spark_version: version.map(str::to_owned),
        application: application.map(str::to_owned).or_else(|| named("spark.app.id")),
        confs,
    }
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

    fn environment(confs: &Value) -> Environment {
        let told: wire::Environment =
            serde_json::from_value(serde_json::json!({ "Spark Properties": confs })).unwrap();
        read(told, Some("4.3.0"), None)
    }

    #[test]
    fn confs_of_spark_are_kept_and_secrets_left_out() {
        let read = environment(&serde_json::json!({
            "spark.app.id": "local-1",
            "spark.sql.shuffle.partitions": "200",
            "spark.hadoop.fs.s3a.secret.key": "abc",
            "spark.hadoop.fs.azure.account.key.x.net": "abc",
            "spark.my.Token": "abc",
            "spark.driver.extraJavaOptions": "-Dx=1 -Djavax.net.ssl.keyStorePassword=abc",
            "spark.jdbc.url": "jdbc:postgresql://joe:abc@db/x",
            "spark.redis.host": "*********(redacted)",
            "java.home": "/x",
            "spark.odd": 3,
        }));
        assert_eq!(read.application.as_deref(), Some("local-1"));
        assert_eq!(read.spark_version.as_deref(), Some("4.3.0"));
        let names: Vec<&str> = read.confs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["spark.app.id", "spark.sql.shuffle.partitions"]);
    }

    #[test]
    fn an_address_with_a_user_alone_is_no_secret() {
        assert!(!is_secret("spark.hadoop.fs.defaultFS", "abfss://container@account/x"));
        assert!(is_secret("spark.x", "amqp://joe:pw@host/x"));
    }
}
