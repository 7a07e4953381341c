//! Which application a Spark UI is of, and what that runs on.
//!
//! A driver serves one application, a history server those that it has logs of. Must not know
//! batches.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::address::Address;
use super::api;
use super::client::{Client, ClientError, Failure};
use crate::telemetry::confs;
use crate::telemetry::event::Environment;

/// Applications whose addresses are told when one has to be chosen.
const TOLD: usize = 5;

/// An application that answers.
#[derive(Debug)]
pub(super) struct Application {
    client: Client,
    /// Its id.
    pub(super) id: String,
    /// Its attempt, on YARN.
    attempt: Option<String>,
    /// Whether it has ended: a history server says so.
    pub(super) has_ended: bool,
    version: Option<String>,
}

impl Application {
    /// Finds the application that an address means.
    pub(super) fn find(client: Client, address: &Address) -> Result<Self, ClientError> {
        let all: api::List<api::Application> = client.get(&["applications"], &[])?;
        let chosen = choose(all.items, address)
            .map_err(|words| client.error(Failure::Application(words)))?;
        let api::Application { id, attempts } = chosen;
        let wanted = address.attempt.as_deref();
        let attempt = attempts
            .iter()
            .find(|attempt| wanted.is_none() || attempt.attempt_id.as_deref() == wanted)
            .cloned()
            .unwrap_or_default();
        Ok(Self {
            client,
            id,
            attempt: attempt.attempt_id,
            has_ended: attempt.completed,
            version: attempt.app_spark_version,
        })
    }

    /// Asks for something of the application.
    pub(super) fn get<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        query: &[(&str, String)],
    ) -> Result<T, ClientError> {
        let of = ["applications", &self.id];
        let all: Vec<&str> =
            of.into_iter().chain(self.attempt.as_deref()).chain(parts.iter().copied()).collect();
        self.client.get(&all, query)
    }

    /// What it runs on, without what looks secret.
    pub(super) fn environment(&self) -> Result<Environment, ClientError> {
        let told: api::Environment = self.get(&["environment"], &[])?;
        let texts = told.spark_properties.into_iter().filter_map(|(name, value)| match value {
            Value::String(value) => Some((name, value)),
            _ => None,
        });
        Ok(Environment {
            query: None,
            spark_version: self.version.clone().filter(|version| !version.is_empty()),
            application: Some(self.id.clone()),
            confs: confs::shown(texts),
        })
    }
}

/// The application that is meant: the one that is named, else the only one, else the only one
/// that runs.
fn choose(all: Vec<api::Application>, address: &Address) -> Result<api::Application, String> {
    if let Some(named) = &address.application {
        let mut all = all.into_iter();
        return all.find(|one| one.id == *named).ok_or_else(|| {
            format!("no application {named} there: expected one that the address without it lists")
        });
    }
    let runs = |one: &&api::Application| one.attempts.first().is_none_or(|it| !it.completed);
    let running: Vec<&api::Application> = all.iter().filter(runs).collect();
    let candidates = if running.is_empty() { all.iter().collect() } else { running };
    match candidates.as_slice() {
        [only] => Ok((*only).clone()),
        [] => Err("a history server without applications: expected one".to_owned()),
        several => {
            let told = several.iter().take(TOLD).map(|one| address.of_application(&one.id));
            let told: Vec<String> = told.collect();
            Err(format!(
                "a history server with {} applications; name one, such as {}",
                all.len(),
                told.join(" or ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application(id: &str, completed: bool) -> api::Application {
        let attempt = api::Attempt { completed, ..api::Attempt::default() };
        api::Application { id: id.to_owned(), attempts: vec![attempt] }
    }

    fn chosen(all: &[(&str, bool)], address: &str) -> Result<String, String> {
        let all = all.iter().map(|(id, completed)| application(id, *completed)).collect();
        choose(all, &Address::parse(address).unwrap()).map(|one| one.id)
    }

    #[test]
    fn the_application_is_named_or_the_only_one_or_the_only_one_that_runs() {
        let here = "http://h:18080";
        assert_eq!(chosen(&[("a", true)], here).as_deref(), Ok("a"));
        assert_eq!(chosen(&[("a", true), ("b", false)], here).as_deref(), Ok("b"));
        let named = "http://h:18080/history/a/jobs/";
        assert_eq!(chosen(&[("a", true), ("b", false)], named).as_deref(), Ok("a"));
        assert!(chosen(&[("b", false)], named).unwrap_err().contains("no application a"));
        assert!(chosen(&[], here).is_err());
        let error = chosen(&[("a", true), ("b", true)], here).unwrap_err();
        assert!(error.contains("http://h:18080/history/a or http://h:18080/history/b"), "{error}");
        let error = chosen(&[("a", false), ("b", false), ("c", true)], here).unwrap_err();
        assert!(error.contains("3 applications") && !error.contains("history/c"), "{error}");
    }
}
