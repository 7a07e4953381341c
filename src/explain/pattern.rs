//! Fragments of messages with values in them: `batch ID <lastBatchId> didn't finish`.
//!
//! A fragment is a few words around the values, not the whole sentence, so that it holds for
//! releases that differ in wording elsewhere. Must not know which message it belongs to.

/// What a value ends at where no words of the fragment follow it.
const STATE: &str = " SQLSTATE: ";
/// What a value begins after where no words of the fragment stand before it.
const OPENINGS: [&str; 3] = [": ", ". ", "] "];

/// A fragment of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Words(String),
    /// A value by its name; `None` for one that is passed over, written `<_>`.
    Value(Option<String>),
}

/// Where a fragment stands in a text, and the values in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match<'p, 't> {
    /// The byte at which it begins.
    pub at: usize,
    /// Names and values, in order.
    pub values: Vec<(&'p str, &'t str)>,
}

/// A text as fragments are looked for in it: line ends count as blanks.
#[derive(Debug)]
pub struct Searched<'t> {
    text: &'t str,
    flat: String,
}

impl<'t> Searched<'t> {
    /// Prepares a text.
    pub fn of(text: &'t str) -> Self {
        Self { text, flat: text.replace('\n', " ") }
    }
}

impl Pattern {
    /// Reads a fragment.
    ///
    /// # Errors
    /// A sentence, when it has no words at all and more than one value, or two values side by side.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((words, name, after)) = next_value(rest) {
            if !words.is_empty() {
                parts.push(Part::Words(words.to_owned()));
            } else if matches!(parts.last(), Some(Part::Value(_))) {
                return Err(format!("{text:?} has two values side by side"));
            }
            parts.push(Part::Value((name != "_").then(|| name.to_owned())));
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Words(rest.to_owned()));
        }
        if parts.is_empty() {
            return Err("a fragment is empty".to_owned());
        }
        Ok(Self { parts })
    }

    /// The names of its values, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(name) => name.as_deref(),
            Part::Words(_) => None,
        })
    }

    /// The longest words between its values; empty where there are none.
    pub fn longest_words(&self) -> &str {
        let words = self.parts.iter().filter_map(|part| match part {
            Part::Words(words) => Some(words.as_str()),
            Part::Value(_) => None,
        });
        words.max_by_key(|words| words.len()).unwrap_or_default()
    }

    /// Whether it is one value and nothing else.
    pub fn is_bare(&self) -> bool {
        matches!(self.parts.as_slice(), [Part::Value(_)])
    }

    /// Looks for the fragment; its first place counts.
    pub fn find<'p, 't>(&'p self, searched: &Searched<'t>) -> Option<Match<'p, 't>> {
        let (text, flat) = (searched.text, searched.flat.as_str());
        let (mut begun, mut at, mut values) = (None, 0, Vec::new());
        let mut open: Option<Option<&'p str>> = None;
        for part in &self.parts {
            match part {
                Part::Value(name) => open = Some(name.as_deref()),
                Part::Words(words) => {
                    let found = at + flat.get(at..)?.find(words.as_str())?;
                    if let Some(name) = open.take() {
                        let from = if begun.is_some() { at } else { opening(flat, found) };
                        begun = begun.or(Some(from));
                        values.extend(name.zip(text.get(from..found)));
                    }
                    begun = begun.or(Some(found));
                    at = found + words.len();
                }
            }
        }
        if let Some(name) = open {
            let rest = text.get(at..)?;
            let end = rest.find('\n').unwrap_or(rest.len());
            let end = rest.find(STATE).unwrap_or(end).min(end);
            let value = rest.get(..end)?.trim();
            values.extend(name.map(|name| (name, value.strip_suffix('.').unwrap_or(value))));
        }
        Some(Match { at: begun.unwrap_or(at), values })
    }
}

/// The words before the next value, the value's name, and what follows it.
fn next_value(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text.get(from..)?.find('<')?;
        let (words, rest) = text.split_at_checked(open)?;
        let (name, after) = rest.strip_prefix('<')?.split_once('>')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.is_empty() && name.chars().all(plain) {
            return Some((words, name, after));
        }
        from = open + 1;
    }
}

/// Where a value begins that ends at `end` and has no words before it.
fn opening(flat: &str, end: usize) -> usize {
    let before = flat.get(..end).unwrap_or_default();
    let after = |mark: &&str| before.rfind(*mark).map(|at| at + mark.len());
    OPENINGS.iter().filter_map(after).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values<'t>(pattern: &str, text: &'t str) -> Option<Vec<(String, &'t str)>> {
        let pattern = Pattern::parse(pattern).unwrap();
        let found = pattern.find(&Searched::of(text))?;
        Some(found.values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect())
    }

    type Values = Option<Vec<(String, &'static str)>>;

    fn one(name: &str, value: &'static str) -> Values {
        [Some((name.to_owned(), value))].into_iter().collect()
    }

    #[test]
    fn values_stand_between_words() {
        assert_eq!(values("batch <id> failed", "The\nbatch 41\nfailed."), one("id", "41"));
        assert_eq!(
            values("from <a> to <b>,", "was changed from 500 to 300, some data"),
            Some(vec![("a".to_owned(), "500"), ("b".to_owned(), "300")])
        );
        assert_eq!(values("file <f> of <_>: key", "file a/b of C[x: y]: key"), one("f", "a/b"));
        assert_eq!(values("no <id> here", "nothing of the kind"), None);
    }

    #[test]
    fn values_at_the_ends_have_bounds() {
        assert_eq!(values("for <id>", "detected for 53.\nPlease make"), one("id", "53"));
        assert_eq!(values("but got <n>", "but got 1 SQLSTATE: XXKST"), one("n", "1"));
        assert_eq!(
            values("<p> are gone.", "x.E: Set(a-0, a-1) are gone. S"),
            one("p", "Set(a-0, a-1)")
        );
        assert_eq!(values("<msg>", "[A_B] all of it SQLSTATE: 1"), one("msg", "[A_B] all of it"));
    }

    #[test]
    fn malformed_fragments_are_refused() {
        assert!(Pattern::parse("").is_err());
        assert!(Pattern::parse("<a><b>").is_err());
        let pattern = Pattern::parse("a < b <name> c").unwrap();
        assert_eq!(pattern.names().collect::<Vec<_>>(), ["name"]);
        assert!(!pattern.is_bare() && Pattern::parse("<a>").unwrap().is_bare());
    }
}
