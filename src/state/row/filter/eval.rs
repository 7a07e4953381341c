//! A bound condition: which rows are wanted, and which grouping key it asks for.

use std::cmp::Ordering;

use super::ast::Sign;
use super::compare::compare;
use super::literal::stored;
use super::path::{Path, Side};
use crate::state::row::types::{DataType, Field};
use crate::state::row::value::Value;

/// A condition fitted to the columns of one family.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    pub(super) root: Node,
}

/// A condition on columns by position.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Always(bool),
    Compare(Path, Sign, Other),
    In(Path, Vec<Value<'static>>),
    Like(Path, String),
    IsNull(Path),
}

/// The right side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Other {
    Literal(Value<'static>),
    Path(Path),
}

impl Filter {
    /// Whether the condition is true of a row. Where it is neither true nor false, as a
    /// comparison with null is, the row is not wanted.
    ///
    /// `key` and `value` are the row's halves as structs of the columns that the filter was
    /// bound to; the columns of a half that is anything else are null.
    pub fn matches(&self, key: &Value<'_>, value: &Value<'_>) -> bool {
        self.truth(key, value) == Some(true)
    }

    /// What the condition is of a row: true, false, or `None` for neither.
    pub fn truth(&self, key: &Value<'_>, value: &Value<'_>) -> Option<bool> {
        self.root.truth(key, value)
    }

    /// Whether the condition looks at the value; otherwise [`matches`](Self::matches) may be
    /// given a null for it.
    pub fn needs_value(&self) -> bool {
        self.root.needs_value()
    }

    /// The only grouping key that can match, where the condition names it in full: for each of
    /// `columns` its value, of the type that rows hold.
    ///
    /// `key` are the columns that the filter was bound to. Each of `columns` is the way to a
    /// grouping column: its position in the key, then in the struct there, and so on. A struct
    /// column is named when all of its fields are. `is null` names a value too.
    ///
    /// Equality is byte by byte: a column with a collation that holds unlike strings equal must
    /// not be looked up by this.
    pub fn pinned<'f>(&self, key: &'f [Field], columns: &[&[usize]]) -> Option<Vec<Value<'f>>> {
        let mut pins = Vec::new();
        self.root.pins(&mut pins);
        let value = |column: &&[usize]| {
            let (first, rest) = column.split_first()?;
            let mut data_type = &key.get(*first)?.data_type;
            for index in rest {
                let DataType::Struct(fields) = data_type else { return None };
                data_type = &fields.get(*index)?.data_type;
            }
            pinned_value(&pins, column, data_type)
        };
        columns.iter().map(value).collect()
    }
}

/// The value at `way`, put together from those of its fields where it is a struct.
fn pinned_value<'f>(
    pins: &[(Vec<usize>, Value<'static>)],
    way: &[usize],
    data_type: &'f DataType,
) -> Option<Value<'f>> {
    if let Some((_, value)) = pins.iter().find(|(pinned, _)| pinned == way) {
        return stored(value, data_type);
    }
    let DataType::Struct(fields) = data_type else { return None };
    let values: Option<Vec<Value<'f>>> = fields
        .iter()
        .enumerate()
        .map(|(index, field)| {
            let way: Vec<usize> = way.iter().copied().chain([index]).collect();
            pinned_value(pins, &way, &field.data_type)
        })
        .collect();
    values.filter(|values| !values.is_empty()).map(|values| Value::Struct(fields, values))
}

impl Node {
    fn truth(&self, key: &Value<'_>, value: &Value<'_>) -> Option<bool> {
        match self {
            Self::All(parts) => every(parts, false, key, value),
            Self::Any(parts) => every(parts, true, key, value),
            Self::Not(inside) => inside.truth(key, value).map(|truth| !truth),
            Self::Always(truth) => Some(*truth),
            Self::Compare(path, sign, other) => {
                let left = path.find(key, value)?;
                let right = match other {
                    Other::Literal(literal) => literal,
                    Other::Path(path) => path.find(key, value)?,
                };
                Some(sign.holds(compare(left, right)?))
            }
            Self::In(path, literals) => {
                let left = path.find(key, value)?;
                Some(literals.iter().any(|literal| compare(left, literal) == Some(Ordering::Equal)))
            }
            Self::Like(path, pattern) => match path.find(key, value)? {
                Value::String(text) => Some(like(text, pattern)),
                _ => None,
            },
            Self::IsNull(path) => Some(path.find(key, value).is_none()),
        }
    }

    fn needs_value(&self) -> bool {
        let of_value = |path: &Path| path.side == Side::Value;
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::needs_value),
            Self::Not(inside) => inside.needs_value(),
            Self::Always(_) => false,
            Self::Compare(left, _, Other::Path(right)) => of_value(left) || of_value(right),
            Self::Compare(path, _, Other::Literal(_))
            | Self::In(path, ..)
            | Self::Like(path, _)
            | Self::IsNull(path) => of_value(path),
        }
    }

    /// What every matching row has: key columns and their one value.
    fn pins(&self, pins: &mut Vec<(Vec<usize>, Value<'static>)>) {
        let (path, value) = match self {
            Self::All(parts) => return parts.iter().for_each(|part| part.pins(pins)),
            Self::Compare(path, Sign::Equal, Other::Literal(value)) => (path, value),
            Self::In(path, values) => match values.as_slice() {
                [only] => (path, only),
                _ => return,
            },
            Self::IsNull(path) => (path, &Value::Null),
            _ => return,
        };
        pins.extend(path.key_columns().map(|way| (way, value.clone())));
    }
}

/// `decisive` as soon as one part is; else neither where one part is neither; else the opposite.
fn every(parts: &[Node], decisive: bool, key: &Value<'_>, value: &Value<'_>) -> Option<bool> {
    let mut truth = Some(!decisive);
    for part in parts {
        match part.truth(key, value) {
            Some(part) if part == decisive => return Some(decisive),
            Some(_) => {}
            None => truth = None,
        }
    }
    truth
}

impl Sign {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

/// SQL's pattern: `%` is any text, `_` any character, a backslash takes the next one as it is.
///
/// Goes back to the last `%` only, so the time is bounded by the product of the lengths.
fn like(text: &str, pattern: &str) -> bool {
    let (mut text, mut pattern) = (text.chars(), pattern.chars());
    // Where to go on when the rest does not fit: the pattern after `%`, the text it begins at.
    let mut retry: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let before = (text.clone(), pattern.clone());
        let fits = match (pattern.next(), text.next()) {
            (Some('%'), _) => {
                text = before.0;
                retry = Some((pattern.clone(), text.clone()));
                true
            }
            (None, None) => return true,
            (Some('_'), Some(_)) => true,
            (Some('\\'), Some(c)) => pattern.next().unwrap_or('\\') == c,
            (Some(wanted), Some(c)) => wanted == c,
            (_, None) => return false,
            (None, Some(_)) => false,
        };
        if !fits {
            let Some((after, begin)) = &mut retry else { return false };
            // The caller's text is not at its end, so neither is this earlier place.
            begin.next();
            text = begin.clone();
            pattern = after.clone();
        }
    }
}

#[cfg(test)]
mod like_tests {
    use super::like;

    #[test]
    fn patterns() {
        for (text, pattern) in [
            ("acct-7", "acct-7"),
            ("acct-7", "acct-%"),
            ("acct-7", "%-7"),
            ("acct-7", "%"),
            ("acct-7", "a__t%7%"),
            ("", ""),
            ("", "%%"),
            ("100%", "100\\%"),
            ("a_b", "a\\_b"),
            ("漢字", "__"),
            ("aXbXc", "%X%c"),
            ("mississippi", "m%iss%pi"),
            ("a\\", "a\\"),
            ("a\\b", "a\\\\b"),
        ] {
            assert!(like(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in [
            ("acct-7", "acct"),
            ("acct-7", "_"),
            ("", "_"),
            ("1000", "100\\%"),
            ("aXb", "a\\_b"),
            ("abc", "%d"),
            ("ABC", "abc"),
            ("a", "a%b"),
            ("mississippi", "m%iss%pix"),
        ] {
            assert!(!like(text, pattern), "{text} {pattern}");
        }
    }
}
