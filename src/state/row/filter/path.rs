//! Columns: found by name among those of a family, then looked up in rows.

use std::cmp::Ordering;

use super::ast::{Literal, PathText, Place, StepText};
use super::compare::compare;
use super::error::{FilterError, FilterErrorKind};
use super::literal::{advice, called, quoted, typed};
use crate::state::row::types::{DataType, Field};
use crate::state::row::value::Value;

/// The most columns that an error lists of one side.
const LISTED: usize = 24;

/// A column, or a part of one, by position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Path {
    pub(super) side: Side,
    pub(super) steps: Vec<Step>,
}

/// Which half of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Key,
    Value,
}

/// A step into a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// A column of a row, or a field of a struct.
    Column(usize),
    /// An element of an array.
    Element(usize),
    /// What a map has for a key.
    Entry(Value<'static>),
}

impl Path {
    /// What a row holds there. `None` is null: an absent element, or a step into null.
    pub(super) fn find<'v>(
        &self,
        key: &'v Value<'v>,
        value: &'v Value<'v>,
    ) -> Option<&'v Value<'v>> {
        let row = match self.side {
            Side::Key => key,
            Side::Value => value,
        };
        let end = self.steps.iter().try_fold(row, |here, step| match (step, here) {
            (Step::Column(index), Value::Struct(_, values))
            | (Step::Element(index), Value::Array(values)) => values.get(*index),
            (Step::Entry(wanted), Value::Map(entries)) => {
                let mut entries = entries.iter();
                let equal = |key: &Value<'_>| compare(key, wanted).is_some_and(Ordering::is_eq);
                entries.find(|(key, _)| equal(key)).map(|(_, value)| value)
            }
            _ => None,
        });
        end.filter(|value| !matches!(value, Value::Null))
    }

    /// The positions of a path through columns and fields of the key alone.
    pub(super) fn key_columns(&self) -> Option<Vec<usize>> {
        let column = |step: &Step| match step {
            Step::Column(index) => Some(*index),
            Step::Element(_) | Step::Entry(_) => None,
        };
        let steps = || self.steps.iter().map(column).collect();
        (self.side == Side::Key).then(steps).flatten()
    }
}

/// The columns of a family, and the condition that asks for them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns<'f> {
    pub(super) text: &'f str,
    pub(super) key: &'f [Field],
    pub(super) value: &'f [Field],
}

/// How a name stands among columns.
enum Found<'f> {
    One(usize, &'f DataType),
    None,
    Several(Vec<usize>),
}

impl<'f> Columns<'f> {
    /// The column that `path` names, and its type. `key.` and `value.` say the side; a name
    /// alone is looked for in the key, then in the value.
    pub(super) fn find(self, path: &PathText) -> Result<(Path, DataType), FilterError> {
        let scoped = self.scoped(path);
        match scoped {
            Some(Ok(found)) => return Ok(found),
            Some(Err(error)) if matches!(self.bare(path), Found::None) => return Err(error),
            _ => {}
        }
        let side = if matches!(by_name(self.key, &path.first), Found::None) {
            Side::Value
        } else {
            Side::Key
        };
        match self.bare(path) {
            Found::One(index, data_type) => {
                let start = Path { side, steps: vec![Step::Column(index)] };
                self.walk(start, data_type, &path.steps, path.first_place.start)
            }
            Found::Several(those) => {
                let side = side_name(side);
                let place = path.first_place.clone();
                Err(self.ambiguous(&path.first, side, &those, place))
            }
            Found::None => Err(self.unknown(path)),
        }
    }

    fn fields(self, side: Side) -> &'f [Field] {
        match side {
            Side::Key => self.key,
            Side::Value => self.value,
        }
    }

    fn bare(self, path: &PathText) -> Found<'f> {
        match by_name(self.key, &path.first) {
            Found::None => by_name(self.value, &path.first),
            found => found,
        }
    }

    /// The path read as `key.…` or `value.…`, where it can be.
    fn scoped(self, path: &PathText) -> Option<Result<(Path, DataType), FilterError>> {
        let side = match path.first.to_ascii_lowercase().as_str() {
            "key" => Side::Key,
            "value" => Side::Value,
            _ => return None,
        };
        let (first, rest) = path.steps.split_first().filter(|_| !path.quoted)?;
        let (step, place) = first;
        let fields = self.fields(side);
        let start = match step {
            StepText::Name(name) => self.field(fields, name, side_name(side), place.clone()),
            StepText::Index(literal) => {
                self.position(fields, literal, side_name(side), place.clone())
            }
        };
        Some(start.and_then(|(step, data_type)| {
            let start = Path { side, steps: vec![step] };
            self.walk(start, data_type, rest, path.first_place.start)
        }))
    }

    fn walk(
        self,
        mut path: Path,
        mut data_type: &DataType,
        steps: &[(StepText, Place)],
        start: usize,
    ) -> Result<(Path, DataType), FilterError> {
        for (step, place) in steps {
            let so_far = self.text.get(start..place.start).unwrap_or_default();
            let place = place.clone();
            let (step, next) = match (step, data_type) {
                (StepText::Name(name), DataType::Struct(fields)) => {
                    self.field(fields, name, so_far, place)?
                }
                (StepText::Index(literal), DataType::Struct(fields)) => {
                    self.position(fields, literal, so_far, place)?
                }
                (StepText::Name(name), DataType::Map(key, value)) if **key == DataType::String => {
                    (Step::Entry(Value::String(name.clone().into())), &**value)
                }
                (StepText::Index(literal), DataType::Map(key, value)) => {
                    let wanted = typed(literal, key).map_err(|misfit| {
                        let message = format!("the keys of {so_far}: {}", misfit.message);
                        self.error(FilterErrorKind::Type, place, message).hint(misfit.hint)
                    })?;
                    (Step::Entry(wanted), &**value)
                }
                (StepText::Index(literal), DataType::Array(element)) => {
                    (Step::Element(self.index(literal, place)?), &**element)
                }
                (_, other) => {
                    let message = format!("{so_far} is {}: nothing is inside", called(other));
                    let message = match other {
                        DataType::Map(..) | DataType::Array(_) => {
                            format!("{so_far} is {}: it has no names", called(other))
                        }
                        _ => message,
                    };
                    return Err(self
                        .error(FilterErrorKind::Type, place, message)
                        .hint(advice(other)));
                }
            };
            path.steps.push(step);
            data_type = next;
        }
        Ok((path, data_type.clone()))
    }

    fn field<'t>(
        self,
        fields: &'t [Field],
        name: &str,
        parent: &str,
        place: Place,
    ) -> Result<(Step, &'t DataType), FilterError> {
        match by_name(fields, name) {
            Found::One(index, data_type) => Ok((Step::Column(index), data_type)),
            Found::Several(those) => Err(self.ambiguous(name, parent, &those, place)),
            Found::None => {
                let message = format!("{parent} has no column {}", quoted(name));
                let error = self.error(FilterErrorKind::UnknownColumn, place, message);
                Err(error.hint(format!("{parent} has {}", list(fields))))
            }
        }
    }

    fn position<'t>(
        self,
        fields: &'t [Field],
        literal: &Literal,
        parent: &str,
        place: Place,
    ) -> Result<(Step, &'t DataType), FilterError> {
        let index = self.index(literal, place.clone())?;
        let Some(field) = fields.get(index) else {
            let message = format!("{parent} has {} columns, counted from 0", fields.len());
            return Err(self.error(FilterErrorKind::UnknownColumn, place, message));
        };
        Ok((Step::Column(index), &field.data_type))
    }

    fn index(self, literal: &Literal, place: Place) -> Result<usize, FilterError> {
        let number = match literal {
            Literal::Number(number) => number.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| {
            let message = "expected a position: a whole number, counted from 0";
            self.error(FilterErrorKind::Type, place, message)
        })
    }

    pub(super) fn error(
        self,
        kind: FilterErrorKind,
        place: Place,
        message: impl Into<String>,
    ) -> FilterError {
        FilterError::new(kind, self.text, place, message)
    }

    fn ambiguous(self, name: &str, parent: &str, those: &[usize], place: Place) -> FilterError {
        let positions: Vec<String> =
            those.iter().take(LISTED).map(|index| format!("{parent}[{index}]")).collect();
        let message = format!("there are {} columns {} in {parent}", those.len(), quoted(name));
        self.error(FilterErrorKind::AmbiguousColumn, place, message)
            .hint(format!("say which by its position: {}", positions.join(" or ")))
    }

    fn unknown(self, path: &PathText) -> FilterError {
        let message = format!("there is no column {}", quoted(&path.first));
        self.error(FilterErrorKind::UnknownColumn, path.first_place.clone(), message).hint(format!(
            "the key has {}; the value has {}",
            list(self.key),
            list(self.value)
        ))
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Key => "key",
        Side::Value => "value",
    }
}

/// By the exact name, else without regard to case, as Spark looks names up.
fn by_name<'f>(fields: &'f [Field], name: &str) -> Found<'f> {
    let folded = name.to_lowercase();
    let matching = |equal: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let fields = fields.iter().enumerate();
        fields.filter(|(_, field)| equal(&field.name)).map(|(index, _)| index).collect()
    };
    let mut found = matching(&|other| other == name);
    if found.is_empty() {
        found = matching(&|other| other.to_lowercase() == folded);
    }
    match found.as_slice() {
        [] => Found::None,
        [only] => {
            fields.get(*only).map_or(Found::None, |field| Found::One(*only, &field.data_type))
        }
        _ => Found::Several(found),
    }
}

/// The columns there are, fields of structs included.
fn list(fields: &[Field]) -> String {
    let names: Vec<String> = fields
        .iter()
        .flat_map(|field| {
            let name = quoted(&field.name);
            match &field.data_type {
                DataType::Struct(inner) if !inner.is_empty() => inner
                    .iter()
                    .take(LISTED)
                    .map(|inner| format!("{name}.{}", quoted(&inner.name)))
                    .collect(),
                _ => vec![name],
            }
        })
        .take(LISTED + 1)
        .collect();
    match names.get(..LISTED) {
        Some(some) => format!("{}, ..", some.join(", ")),
        None if names.is_empty() => "no columns".to_owned(),
        None => names.join(", "),
    }
}
