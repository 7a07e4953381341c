//! What is left out of a recording: passwords, tokens and addresses of mail wherever they stand,
//! and, unless texts are kept, messages of exceptions and observed metrics, which may quote data.
//!
//! What stays is what an incident is looked at for: names of queries, topics, tables and paths,
//! ids, numbers, hosts, confs, classes and stack traces. Must not know how a recording is written.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::Texts;
use crate::telemetry::error_class;
use crate::telemetry::event::{EventKind, Progress, RepartitionStage};

/// Stands where something was left out.
const GONE: &str = "***";
/// Names of values that are secret, or parts of such names.
const SECRET: [&str; 15] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "accesskey",
    "access.key",
    "access_key",
    "account.key",
    "accountkey",
    "apikey",
    "api_key",
    "signature",
    "username",
];
/// Short names of secrets: only as a whole name.
const SHORT: [&str; 4] = ["sig", "pwd", "authorization", "auth"];
/// What ends a value that is not quoted.
const ENDS: [char; 12] = [' ', '\t', '\n', '\r', '&', ';', ',', ')', '}', ']', '"', '\''];
/// What users observe of their rows (`Dataset.observe`).
const OBSERVED: &str = "observedMetrics";

/// An event as it may be taken along.
pub(super) fn event(mut kind: EventKind, texts: Texts) -> EventKind {
    match &mut kind {
        EventKind::Progress(progress) => of_progress(progress, texts),
        EventKind::Terminated(ended) => exception(&mut ended.exception, texts),
        EventKind::Repartition(note) => {
            option(&mut note.checkpoint);
            if let RepartitionStage::Failed { exception: text, .. } = &mut note.stage {
                exception(text, texts);
            }
        }
        EventKind::Started(started) => option(&mut started.checkpoint),
        EventKind::Environment(environment) => {
            environment.confs.iter_mut().for_each(|(_, value)| text(value));
        }
        EventKind::Interrupted(what) | EventKind::Unreadable(what) => text(what),
        EventKind::ConfRestored(conf) => {
            text(&mut conf.asked);
            text(&mut conf.kept);
        }
        EventKind::Idle { .. } | EventKind::PartitionLoad(_) => {}
    }
    kind
}

fn of_progress(progress: &mut Progress, texts: Texts) {
    for source in &mut progress.sources {
        option(&mut source.description);
        for offset in [&mut source.start, &mut source.end, &mut source.latest] {
            offset.iter_mut().for_each(value);
        }
        source.metrics.iter_mut().for_each(|(_, metric)| value(metric));
        fields(&mut source.other);
    }
    for operator in &mut progress.operators {
        fields(&mut operator.other);
    }
    if let Some(sink) = &mut progress.sink {
        option(&mut sink.description);
        fields(&mut sink.other);
    }
    fields(&mut progress.other);
    if let Some(observed) = progress.other.get_mut(OBSERVED)
        && texts == Texts::Masked
    {
        forget(observed);
    }
}

/// Leaves the names.
fn forget(observed: &mut Value) {
    match observed {
        Value::Object(fields) => fields.values_mut().for_each(forget),
        Value::Array(items) => items.iter_mut().for_each(forget),
        other => *other = Value::Null,
    }
}

fn exception(text: &mut Option<String>, texts: Texts) {
    let Some(text) = text else { return };
    *text = match texts {
        Texts::Masked => without_messages(text),
        Texts::Kept => secrets(text),
    };
}

/// An exception's classes, error classes and stack trace, without its messages.
fn without_messages(text: &str) -> String {
    let mut kept = String::new();
    let mut left_out = false;
    for line in text.lines() {
        let words = line.trim_start();
        let is_frame = (words.starts_with("at ") && words.contains('('))
            || (words.starts_with("... ") && words.ends_with(" more"));
        let kept_of_it = if is_frame { Some(line.to_owned()) } else { heading(words) };
        match kept_of_it {
            Some(line) => {
                left_out = false;
                // A text can always be written to.
                let _ = writeln!(kept, "{line}");
            }
            None if left_out || words.is_empty() => {}
            None => {
                left_out = true;
                let _ = writeln!(kept, "{GONE}");
            }
        }
    }
    kept.truncate(kept.trim_end().len());
    kept
}

/// `Caused by: org.x.SomeException: [ERROR_CLASS] ***` of a line that names an exception.
fn heading(line: &str) -> Option<String> {
    let (before, rest) = ["Caused by: ", "Suppressed: ", ""]
        .iter()
        .find_map(|before| Some((*before, line.strip_prefix(before)?)))?;
    let (name, message) = rest.split_once(':').map_or((rest, ""), |(name, said)| (name, said));
    let class = error_class::in_text(rest).map(|class| format!("[{class}] "));
    let is_name = name.contains('.')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '$' | '_'));
    let class = class.unwrap_or_default();
    match (is_name, message.trim().is_empty()) {
        (true, true) => Some(format!("{before}{name}")),
        (true, false) => Some(format!("{before}{name}: {class}{GONE}")),
        (false, _) if !class.is_empty() => Some(format!("{before}{class}{GONE}")),
        (false, _) => None,
    }
}

fn option(value: &mut Option<String>) {
    value.iter_mut().for_each(text);
}

fn text(value: &mut String) {
    *value = secrets(value);
}

fn fields(fields: &mut Map<String, Value>) {
    for (name, field) in fields.iter_mut() {
        if is_secret(&name.to_ascii_lowercase()) && field.is_string() {
            *field = GONE.into();
        } else {
            value(field);
        }
    }
}

fn value(of: &mut Value) {
    match of {
        Value::String(text) => *text = secrets(text),
        Value::Array(items) => items.iter_mut().for_each(value),
        Value::Object(object) => fields(object),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text without what looks like a password, a token or an address of mail.
pub(super) fn secrets(text: &str) -> String {
    addresses(&named(&bearers(text)))
}

/// `Bearer …` and keys of AWS, which have a form of their own.
fn bearers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut after_bearer = false;
    for word in text.split_inclusive(|c: char| ENDS.contains(&c)) {
        let bare = word.trim_end_matches(|c: char| ENDS.contains(&c));
        let ending = word.get(bare.len()..).unwrap_or_default();
        let is_key = bare.len() == 20
            && (bare.starts_with("AKIA") || bare.starts_with("ASIA"))
            && bare.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
        kept.push_str(if !bare.is_empty() && (after_bearer || is_key) { GONE } else { bare });
        kept.push_str(ending);
        after_bearer = bare.eq_ignore_ascii_case("bearer") || (after_bearer && bare.is_empty());
    }
    kept
}

/// `password=…`, `"token": "…"`, `sig=…`.
fn named(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['=', ':']) {
        let (before, after) = rest.split_at(at);
        let name_end = before.trim_end_matches([' ', '"', '\'', '\\']);
        let name_at = name_end
            .rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')))
            .map_or(0, |at| at + name_end.get(at..).and_then(first_len).unwrap_or(1));
        let name = name_end.get(name_at..).unwrap_or_default().to_ascii_lowercase();
        kept.push_str(before);
        let mut letters = after.chars();
        kept.extend(letters.next());
        rest = letters.as_str();
        if is_secret(&name) && !rest.starts_with("//") {
            let lead = rest.len() - rest.trim_start_matches([' ', '\\']).len();
            let (blank, value) = rest.split_at(lead);
            kept.push_str(blank);
            rest = without_value(value, &mut kept);
        }
    }
    kept.push_str(rest);
    kept
}

fn first_len(text: &str) -> Option<usize> {
    text.chars().next().map(char::len_utf8)
}

/// Passes over a value, quoted or not.
fn without_value<'t>(value: &'t str, kept: &mut String) -> &'t str {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (open, inner) = match quote {
        Some(quote) => (Some(quote), value.get(1..).unwrap_or_default()),
        None => (None, value),
    };
    let end = match open {
        Some(quote) => inner.find(quote),
        None => inner.find(ENDS),
    };
    let end = end.unwrap_or(inner.len());
    kept.extend(open);
    if end > 0 {
        kept.push_str(GONE);
    }
    inner.get(end..).unwrap_or_default()
}

fn is_secret(name: &str) -> bool {
    SHORT.contains(&name) || SECRET.iter().any(|word| name.contains(word))
}

/// `user:password@` in an address, and addresses of mail.
fn addresses(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for word in text.split_inclusive(|c: char| ENDS.contains(&c) || matches!(c, '<' | '>' | '[')) {
        kept.push_str(&address(word));
    }
    kept
}

fn address(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return mail(word) };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        // A container of a store (`abfss://container@account`) is no secret.
        Some((user, host)) if user.contains(':') => format!("{scheme}://{GONE}@{host}{path}"),
        _ => format!("{scheme}://{authority}{}", mail(path)),
    }
}

/// Leaves `***@host` of an address of mail.
fn mail(word: &str) -> String {
    let Some((before, after)) = word.split_once('@') else { return word.to_owned() };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '%');
    let start = before.rfind(|c: char| !plain(c)).map_or(0, |at| at + 1);
    let (Some(lead), Some(user)) = (before.get(..start), before.get(start..)) else {
        return word.to_owned();
    };
    let host = after.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))).next();
    let is_host = host.is_some_and(|host| host.trim_end_matches('.').contains('.'));
    if user.is_empty() || !is_host { word.to_owned() } else { format!("{lead}{GONE}@{after}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn passwords_and_tokens_go_and_what_is_looked_at_stays() {
        for (text, expected) in [
            ("KafkaV2[Subscribe[payments, refunds]]", "KafkaV2[Subscribe[payments, refunds]]"),
            ("https://joe:pw@host:8080/x?y=1", "https://***@host:8080/x?y=1"),
            ("s3a://bucket/a?token=abc&region=eu", "s3a://bucket/a?token=***&region=eu"),
            ("https://x.blob/c?sv=1&sig=a%2Fb%3D&se=2", "https://x.blob/c?sv=1&sig=***&se=2"),
            (
                "abfss://logs@acct.dfs.core.windows.net/x",
                "abfss://logs@acct.dfs.core.windows.net/x",
            ),
            (
                "org.x.PlainLoginModule required username=\"svc\" password=\"p w\";",
                "org.x.PlainLoginModule required username=\"***\" password=\"***\";",
            ),
            ("{\"api_key\": \"k1\", \"n\": 3}", "{\"api_key\": \"***\", \"n\": 3}"),
            ("Authorization: Bearer abc.def", "Authorization: *** ***"),
            ("key AKIAABCDEFGHIJKLMNOP is bad", "key *** is bad"),
            ("cannot tell joe.smith@example.org, sorry", "cannot tell ***@example.org, sorry"),
            ("a@b", "a@b"),
            (
                "SharedAccessKeyName=n;SharedAccessKey=abc=;x",
                "SharedAccessKeyName=***;SharedAccessKey=***;x",
            ),
            ("token:", "token:"),
            ("é=ü password=ö€, x", "é=ü password=***, x"),
        ] {
            assert_eq!(secrets(text), expected, "{text}");
        }
    }

    #[test]
    fn of_an_exception_classes_and_frames_stay() {
        let text = "org.apache.spark.SparkException: [STREAM_FAILED] Query [id = a] for acct-7 failed\n\
                    more of acct-7\nand more\n\
                    \tat org.x.Y.z(Y.scala:12)\n\t... 3 more\n\
                    Caused by: java.lang.IllegalStateException: card 4111\n\
                    \tat org.x.W.v(W.scala:7)\n\
                    Caused by: java.lang.InterruptedException\n";
        let kept = without_messages(text);
        assert_eq!(
            kept,
            "org.apache.spark.SparkException: [STREAM_FAILED] ***\n***\n\
             \tat org.x.Y.z(Y.scala:12)\n\t... 3 more\n\
             Caused by: java.lang.IllegalStateException: ***\n\
             \tat org.x.W.v(W.scala:7)\n\
             Caused by: java.lang.InterruptedException"
        );
        let with = Some(text.to_owned());
        let mut kept = with.clone();
        exception(&mut kept, Texts::Kept);
        assert_eq!(kept, with);
    }

    #[test]
    fn what_users_observe_goes_and_its_names_stay() {
        let mut observed = json!({"quality": {"worst": "acct-7", "n": 41, "all": [1, "x"]}});
        forget(&mut observed);
        let gone = json!({"quality": {"worst": null, "n": null, "all": [null, null]}});
        assert_eq!(observed, gone);
    }

    #[test]
    fn secrets_in_fields_go_by_their_names() {
        let mut all = json!({"kafka": {"sasl.password": "x", "topic": "t"}, "n": 3});
        value(&mut all);
        assert_eq!(all, json!({"kafka": {"sasl.password": "***", "topic": "t"}, "n": 3}));
    }
}
