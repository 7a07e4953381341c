//! What a task added to an accumulator: an entry of the list that makes most of a task's line.
//!
//! There are a hundred and more of them, of which some ten are wanted, so an entry is searched
//! for its id before anything else of it is looked at. A quote within a text of JSON has a
//! backslash before it, so `"ID":` is a key wherever it stands. Must not know what the
//! accumulators are.

use memchr::memmem;
use serde_json::value::RawValue;

/// An entry, as `{"ID":4,"Name":"…","Update":"9","Value":"20",…}`. `Value`, the running sum over
/// tasks, is of no use here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accumulable<'a>(&'a str);

impl<'a> Accumulable<'a> {
    pub(super) fn of(entry: &'a RawValue) -> Self {
        Self(entry.get())
    }

    /// The accumulator's id.
    pub(super) fn id(self) -> Option<u64> {
        // Spark's first key, written without spaces.
        let first = self.0.strip_prefix("{\"ID\":").filter(|rest| !rest.starts_with(' '));
        let value = first.or_else(|| self.value("\"ID\""))?;
        let digits = value.bytes().take_while(u8::is_ascii_digit).count();
        value.get(..digits)?.parse().ok()
    }

    /// Its name; `None` also for one with escapes, which no metric has.
    pub(super) fn name(self) -> Option<&'a str> {
        let (name, _) = self.value("\"Name\"")?.strip_prefix('"')?.split_once('"')?;
        Some(name)
    }

    /// What the task added. SQL metrics write whole numbers as texts, others also write numbers,
    /// lists and objects; these are none.
    pub(super) fn update(self) -> Option<i64> {
        let value = self.value("\"Update\"")?;
        let value = value.strip_prefix('"').unwrap_or(value);
        let end = value.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(value.len());
        let (number, rest) = value.split_at(end);
        if rest.starts_with(['.', 'e', 'E']) { None } else { number.parse().ok() }
    }

    /// What follows a key, quotes included.
    fn value(self, key: &str) -> Option<&'a str> {
        let at = memmem::find(self.0.as_bytes(), key.as_bytes())?;
        let rest = self.0.get(at + key.len()..)?.trim_ascii_start();
        Some(rest.strip_prefix(':')?.trim_ascii_start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entry: &str) -> (Option<u64>, Option<String>, Option<i64>) {
        let entry: &RawValue = serde_json::from_str(entry).unwrap();
        let entry = Accumulable::of(entry);
        (entry.id(), entry.name().map(str::to_owned), entry.update())
    }

    #[test]
    fn id_name_and_update_are_found_in_any_order_and_spacing() {
        let expected = (Some(409), Some("number of total state rows".to_owned()), Some(94));
        for entry in [
            r#"{"ID":409,"Name":"number of total state rows","Update":"94","Value":"208"}"#,
            r#"{"ID": 409, "Name": "number of total state rows", "Update": 94, "Value": "208"}"#,
            r#"{"Value":"208","Update":"94","ID":409,"Name":"number of total state rows"}"#,
        ] {
            assert_eq!(read(entry), expected, "{entry}");
        }
    }

    #[test]
    fn what_is_no_whole_number_is_none() {
        let update = |value: &str| read(&format!(r#"{{"ID":1,"Update":{value}}}"#)).2;
        assert_eq!(update("-1"), Some(-1));
        assert_eq!(update(r#""9223372036854775808""#), None);
        for odd in ["null", "true", "1.5", "1e9", r#""x""#, "[[1]]", "{}", r#""""#] {
            assert_eq!(update(odd), None, "{odd}");
        }
        assert_eq!(read(r#"{"ID":1}"#), (Some(1), None, None));
    }

    #[test]
    fn texts_that_look_like_keys_are_none() {
        let entry = r#"{"Name":"\"ID\":7,\"Update\":8","ID":1,"Update":"2"}"#;
        assert_eq!(read(entry), (Some(1), Some("\\".to_owned()), Some(2)));
        assert_eq!(read(r#"{"Name":"x"}"#).0, None);
    }
}
