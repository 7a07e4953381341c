//! Walks over partitions that look at keys only: who is heavy, and where each key hashes to.

use std::ops::ControlFlow;

use super::ReadError;
use super::checks::Checks;
use super::opened::Opened;
use crate::analysis::heavy::{Measure, PartitionKeys};
use crate::analysis::layout::{HashCollector, TooManyKeys};
use crate::report::KeyOffers;
use crate::state::families::Mapping;
use crate::state::grouping::{Grouping, GroupingColumn};
use crate::state::hash::KeyHash;
use crate::state::reading::{FamilyReading, Positions, StoreReading};
use crate::state::row::decoder::{FamilyDecoder, KeyColumns};
use crate::state::row::render::Json;
use crate::state::row::types::{DataType, Field};
use crate::state::row::unsafe_row;
use crate::state::row::value::Value;
use crate::state::whole::Rows;
use crate::state::{identity, placement};
use crate::units::PartitionId;

/// The columns that keys are told apart by, in one family.
#[derive(Debug, Clone)]
pub(super) struct FamilyBy<'a> {
    pub(super) family: &'a FamilyReading,
    pub(super) decoder: &'a FamilyDecoder,
    /// The columns, by where they are in this family's keys.
    pub(super) by: Vec<GroupingColumn>,
    /// The number in a value that is the weight.
    pub(super) weight: Option<Vec<usize>>,
}

/// The grouping columns of an operator's counted families, and which of them make a key.
#[derive(Debug)]
pub(super) struct By<'a> {
    /// For each store, its families that count.
    pub(super) stores: Vec<(&'a StoreReading, Vec<FamilyBy<'a>>)>,
    /// The columns of a key here, named as asked for.
    pub(super) fields: Vec<Field>,
    /// Whether those are all grouping columns.
    pub(super) whole: bool,
}

impl<'a> By<'a> {
    /// Finds the columns called `names` (all grouping columns, when there are none) in every
    /// family that counts; `weight` is a number in the value, of families that have it.
    ///
    /// # Errors
    /// When there is no such grouping column or number, or no grouping key at all.
    pub(super) fn new(
        opened: &'a Opened,
        names: &[String],
        weight: Option<&str>,
    ) -> Result<Self, ReadError> {
        let mut by = Self { stores: Vec::new(), fields: Vec::new(), whole: true };
        for reading in &opened.stores {
            let mut families = Vec::new();
            for family in reading.families.iter().filter(|family| family.counts) {
                let Some(found) = family_by(family, names, weight)? else { continue };
                let fields: Vec<Field> = found.by.iter().map(|c| c.field.clone()).collect();
                if by.fields.is_empty() {
                    by.fields = fields;
                } else if !same_types(&by.fields, &fields) {
                    return Err(ReadError::BadCondition(format!(
                        "the column families of operator {} have different grouping columns; \
                         choose one store with --store",
                        reading.store.operator
                    )));
                }
                by.whole = names.is_empty() || is_whole(&family.grouping, &found.by);
                families.push(found);
            }
            if !families.is_empty() {
                by.stores.push((reading, families));
            }
        }
        if by.stores.is_empty() {
            let what = weight.map_or_else(
                || "there are no rows with a grouping key".to_owned(),
                |name| format!("no value has a whole number called {name:?}"),
            );
            return Err(ReadError::BadCondition(what));
        }
        Ok(by)
    }
}

impl By<'_> {
    /// What else could be asked of these families.
    pub(super) fn offers(&self) -> KeyOffers {
        let families = || self.stores.iter().flat_map(|(_, families)| families);
        let columns = families().find_map(|by| match &by.family.grouping {
            Grouping::Columns(columns) => {
                Some(columns.iter().map(|column| column.field.name.clone()).collect())
            }
            Grouping::Single | Grouping::Unknown(_) => None,
        });
        let mut numbers: Vec<String> = Vec::new();
        for by in families() {
            for number in numbers_in(by.decoder.value_fields()) {
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
        }
        KeyOffers { columns: columns.unwrap_or_default(), numbers }
    }
}

/// The columns of a family's grouping key that are called `names`; `None` where it lacks one.
pub(super) fn columns_named(
    family: &FamilyReading,
    names: &[String],
) -> Option<Vec<GroupingColumn>> {
    let Grouping::Columns(columns) = &family.grouping else { return None };
    names.iter().map(|name| column(columns, name).ok()).collect()
}

fn same_types(one: &[Field], other: &[Field]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.data_type == b.data_type)
}

fn is_whole(grouping: &Grouping, by: &[GroupingColumn]) -> bool {
    match grouping {
        Grouping::Columns(columns) => {
            columns.iter().all(|column| by.iter().any(|b| b.path == column.path))
        }
        Grouping::Single | Grouping::Unknown(_) => false,
    }
}

/// `None` for a family that has no such number in its values.
fn family_by<'a>(
    family: &'a FamilyReading,
    names: &[String],
    weight: Option<&str>,
) -> Result<Option<FamilyBy<'a>>, ReadError> {
    let wrong = |reason: String| ReadError::BadCondition(reason);
    let decoder = family.decoder.as_ref().map_err(|reason| wrong(reason.clone()))?;
    let columns = match &family.grouping {
        Grouping::Columns(columns) => columns,
        Grouping::Single => {
            let reason = "the operator has no grouping key: all its state is in partition 0";
            return Err(wrong(reason.to_owned()));
        }
        Grouping::Unknown(reason) => return Err(wrong(reason.clone())),
    };
    let by = if names.is_empty() {
        columns.clone()
    } else {
        names.iter().map(|name| column(columns, name)).collect::<Result<_, _>>().map_err(wrong)?
    };
    let Some(name) = weight else {
        return Ok(Some(FamilyBy { family, decoder, by, weight: None }));
    };
    let number = number_in(decoder.value_fields(), name);
    Ok(number.map(|path| FamilyBy { family, decoder, by, weight: Some(path) }))
}

/// A grouping column, or a column inside of one: `account_id`, `window.start`.
fn column(columns: &[GroupingColumn], name: &str) -> Result<GroupingColumn, String> {
    let none = || {
        let have: Vec<&str> = columns.iter().map(|column| column.field.name.as_str()).collect();
        format!(
            "there is no grouping column {name:?}; the grouping columns are: {}",
            have.join(", ")
        )
    };
    let exact = columns.iter().find(|column| column.field.name.eq_ignore_ascii_case(name));
    if let Some(column) = exact {
        return Ok(column.clone());
    }
    let mut parts = name.split('.');
    let first = parts.next().unwrap_or_default();
    let outer = columns.iter().find(|column| column.field.name.eq_ignore_ascii_case(first));
    let outer = outer.ok_or_else(none)?;
    let mut path = outer.path.clone();
    let mut data_type = &outer.field.data_type;
    for part in parts {
        let DataType::Struct(fields) = data_type else { return Err(none()) };
        let at = fields.iter().position(|field| field.name.eq_ignore_ascii_case(part));
        let (at, field) = at.and_then(|at| Some((at, fields.get(at)?))).ok_or_else(none)?;
        path.push(at);
        data_type = &field.data_type;
    }
    let field = Field { name: name.to_owned(), data_type: data_type.clone() };
    Ok(GroupingColumn { path, field })
}

/// Where a whole number of that name is in a value.
fn number_in(fields: &[Field], name: &str) -> Option<Vec<usize>> {
    let (first, rest) = name.split_once('.').map_or((name, None), |(a, b)| (a, Some(b)));
    let at = fields.iter().position(|field| field.name.eq_ignore_ascii_case(first))?;
    let data_type = &fields.get(at)?.data_type;
    match (rest, data_type) {
        (None, DataType::Byte | DataType::Short | DataType::Integer | DataType::Long) => {
            Some(vec![at])
        }
        (Some(rest), DataType::Struct(nested)) => {
            let mut path = vec![at];
            path.extend(number_in(nested, rest)?);
            Some(path)
        }
        _ => None,
    }
}

/// The whole numbers among fields, nested ones by their path.
fn numbers_in(fields: &[Field]) -> Vec<String> {
    let mut numbers = Vec::new();
    for field in fields {
        match &field.data_type {
            DataType::Byte | DataType::Short | DataType::Integer | DataType::Long => {
                numbers.push(field.name.clone());
            }
            DataType::Struct(nested) => {
                let inside = numbers_in(nested);
                numbers.extend(inside.iter().map(|name| format!("{}.{name}", field.name)));
            }
            _ => {}
        }
    }
    numbers
}

/// Who is told of keys.
pub(super) enum Into<'k, 'h> {
    /// Heavy keys.
    Heavy(&'k mut PartitionKeys<'h>),
    /// Hashes and weights.
    Hashes(&'k mut HashCollector),
    /// The keys of these hashes, by name.
    Names(&'k mut Vec<(KeyHash, serde_json::Value)>),
}

/// Looks at the keys of one store in one partition.
pub(super) struct KeyVisit<'a, 'k, 'h> {
    pub(super) reading: &'a StoreReading,
    pub(super) by: &'a [FamilyBy<'a>],
    positions: Positions<'a>,
    /// By position: what a family that counts is told apart by.
    chosen: Vec<Option<&'a FamilyBy<'a>>>,
    pub(super) checks: Checks,
    into: Into<'k, 'h>,
    key: Vec<u8>,
    /// The sum of weights.
    pub(super) total: u64,
    pub(super) overflow: Option<TooManyKeys>,
    measured_by_value: bool,
}

impl<'a, 'k, 'h> KeyVisit<'a, 'k, 'h> {
    pub(super) fn new(
        reading: &'a StoreReading,
        by: &'a [FamilyBy<'a>],
        partition: PartitionId,
        partitions: u32,
        into: Into<'k, 'h>,
    ) -> Self {
        Self {
            reading,
            by,
            positions: Positions::new(reading, &Mapping::new()),
            chosen: Vec::new(),
            checks: Checks::new(partition, partitions),
            into,
            key: Vec::new(),
            total: 0,
            overflow: None,
            measured_by_value: by.iter().any(|by| by.weight.is_some()),
        }
    }

    /// Takes a key; breaks when there are too many.
    fn take(
        &mut self,
        by: Option<&FamilyBy<'_>>,
        columns: &KeyColumns<'_>,
        hash: KeyHash,
        bytes: u64,
        value: &[u8],
    ) -> ControlFlow<()> {
        let rows = u64::from(by.is_some());
        match (&mut self.into, by) {
            (Into::Heavy(_) | Into::Names(_), None) => {}
            (Into::Hashes(hashes), _) => {
                if let Err(overflow) = hashes.add(hash.0, rows, bytes) {
                    self.overflow = Some(overflow);
                    return ControlFlow::Break(());
                }
            }
            (Into::Heavy(heavy), Some(by)) => {
                if let Err(reason) = identity(columns, &by.by, &mut self.key) {
                    self.checks.undecodable(&reason);
                    return ControlFlow::Continue(());
                }
                let weight = weight(by, value);
                heavy.add(&self.key, Measure { rows, bytes, weight });
                self.total = self.total.saturating_add(weight);
            }
            (Into::Names(names), Some(by)) => {
                let unnamed =
                    |name: &&mut (KeyHash, serde_json::Value)| name.0 == hash && name.1.is_null();
                if let Some((_, name)) = names.iter_mut().find(unnamed)
                    && identity(columns, &by.by, &mut self.key).is_ok()
                {
                    let fields: Vec<Field> = by.by.iter().map(|c| c.field.clone()).collect();
                    *name = name_of(&self.key, &fields, columns);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl Rows for KeyVisit<'_, '_, '_> {
    fn families(&mut self, mapping: &Mapping) {
        self.positions = Positions::new(self.reading, mapping);
        let by = self.by;
        let choose = |at| {
            let (_, family) = self.positions.at(at)?;
            by.iter().find(|by| family.is_some_and(|family| family.name == by.family.name))
        };
        self.chosen = (0..self.positions.len()).map(choose).collect();
    }

    fn row<'v>(&mut self, stored: &[u8], value: &'v dyn Fn() -> &'v [u8]) -> ControlFlow<()> {
        let Some((position, key)) = self.positions.split(stored) else {
            self.checks.foreign();
            return ControlFlow::Continue(());
        };
        let by = self.chosen.get(position).copied().flatten();
        let Some((_, Some(family))) = self.positions.at(position) else {
            return ControlFlow::Continue(());
        };
        let Ok(decoder) = &family.decoder else { return ControlFlow::Continue(()) };
        let columns = match decoder.key_columns(key) {
            Ok(columns) => columns,
            Err(why) => {
                self.checks.undecodable(&why.reason);
                return ControlFlow::Continue(());
            }
        };
        let Some(hash) = self.checks.place(family, &columns) else {
            return ControlFlow::Continue(());
        };
        if self.measured_by_value && by.is_none() {
            return ControlFlow::Continue(());
        }
        let value = value();
        let bytes = (stored.len() as u64).saturating_add(value.len() as u64);
        self.take(by, &columns, hash, bytes, value)
    }
}

/// Bytes that are equal exactly when the columns are.
pub(super) fn identity(
    columns: &KeyColumns<'_>,
    by: &[GroupingColumn],
    into: &mut Vec<u8>,
) -> Result<(), String> {
    match columns {
        KeyColumns::View(view) => identity::write(view, by, into),
        KeyColumns::Values(values) => {
            // Avro has no such bytes of its own: the JSON of the values does as well.
            into.clear();
            let columns: serde_json::Map<String, serde_json::Value> = by
                .iter()
                .map(|column| {
                    let value = placement::value_at(values, &column.path)?;
                    Ok((column.field.name.clone(), json(value)))
                })
                .collect::<Result<_, String>>()?;
            serde_json::to_writer(into, &columns).map_err(|error| error.to_string())
        }
    }
}

fn name_of(key: &[u8], fields: &[Field], columns: &KeyColumns<'_>) -> serde_json::Value {
    restore(key, fields, matches!(columns, KeyColumns::Values(_)))
}

/// The key that [`identity`] was made of, as JSON.
pub(super) fn restore(key: &[u8], fields: &[Field], is_json: bool) -> serde_json::Value {
    if is_json {
        return serde_json::from_slice(key).unwrap_or_default();
    }
    let Some(row) = identity::row(key, fields.len()) else { return serde_json::Value::Null };
    match unsafe_row::decode(&row, fields) {
        Ok(value) => json(&value),
        Err(why) => serde_json::to_value(why).unwrap_or_default(),
    }
}

fn json(value: &Value<'_>) -> serde_json::Value {
    serde_json::to_value(Json(value)).unwrap_or_default()
}

/// The weight that a value has; negative numbers weigh nothing.
fn weight(by: &FamilyBy<'_>, value: &[u8]) -> u64 {
    let Some(path) = &by.weight else { return 0 };
    let number = |value: &Value<'_>| match value {
        Value::Struct(_, values) => match placement::value_at(values, path) {
            Ok(Value::Integer(number)) => u64::try_from(*number).unwrap_or(0),
            _ => 0,
        },
        _ => 0,
    };
    by.decoder.values(value).flatten().fold(0, |sum: u64, value| sum.saturating_add(number(&value)))
}
