//! What an application runs on, from the events at the beginning of its log.

use serde_json::Value;

use super::wire;
use crate::telemetry::confs;
use crate::telemetry::event::Environment;

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
    let confs = confs::shown(texts);
    let id = application.or_else(|| confs::value(&confs, "spark.app.id"));
    Environment {
        query: None,
        spark_version: version.map(str::to_owned),
        application: id.map(str::to_owned),
        confs,
    }
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
}
