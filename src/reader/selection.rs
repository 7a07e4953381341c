//! Which families of which stores and partitions rows are wanted of, worked out before any
//! partition is opened.

use super::ReadError;
use super::keyed::columns_named;
use super::opened::Opened;
use super::pin::Pin;
use super::rows::{FamilyChoice, KeyPin, RowsRequest};
use crate::state::grouping::{Grouping, GroupingColumn};
use crate::state::hash::SEED;
use crate::state::reading::{FamilyReading, StoreReading};
use crate::state::row::filter::{Filter, FilterError, Parsed};
use crate::units::PartitionId;

/// What one family's rows are compared with.
pub(super) enum Condition {
    /// Nothing: all are wanted.
    All,
    /// The condition, bound to the family's columns.
    Bound(Filter),
}

impl Condition {
    /// What a row must fit, if anything.
    pub(super) fn filter(&self) -> Option<&Filter> {
        match self {
            Self::All => None,
            Self::Bound(filter) => Some(filter),
        }
    }
}

/// A family that is wanted.
pub(super) struct Choice {
    /// Its position among the store's families.
    family: String,
    condition: Condition,
    /// The columns of the key that is asked for.
    pin: Option<Vec<GroupingColumn>>,
}

/// What is to be read, worked out before any partition is opened.
pub(super) struct Selection<'a> {
    pub(super) opened: &'a Opened,
    stores: Vec<(&'a StoreReading, Vec<Choice>)>,
    families: &'a FamilyChoice,
    partitions: Vec<PartitionId>,
    has_condition: bool,
    key: Option<&'a KeyPin>,
}

impl<'a> Selection<'a> {
    /// # Errors
    /// When the condition fits no family, or a family or partition is not there.
    pub(super) fn new(opened: &'a Opened, request: &'a RowsRequest) -> Result<Self, ReadError> {
        let mut stores = Vec::new();
        let mut misfit: Option<FilterError> = None;
        for reading in &opened.stores {
            let mut choices = Vec::new();
            for family in reading.families.iter().filter(|f| is_wanted(&request.families, f)) {
                let pin = match &request.key {
                    None => None,
                    Some(key) => match columns_named(family, &key.by) {
                        Some(columns) => Some(columns),
                        // Its keys do not have these columns, so it has no rows of that key.
                        None => continue,
                    },
                };
                match bind(request.condition.as_ref(), family) {
                    Ok(Some(condition)) => {
                        choices.push(Choice { family: family.name.clone(), condition, pin });
                    }
                    Ok(None) => {}
                    Err(error) => {
                        if misfit.as_ref().is_none_or(|other| error.kind() > other.kind()) {
                            misfit = Some(error);
                        }
                    }
                }
            }
            // Without a schema every row is shown as it is; nothing can be compared.
            let asked = request.condition.is_some() || request.key.is_some();
            if !choices.is_empty() || (reading.families.is_empty() && !asked) {
                stores.push((reading, choices));
            }
        }
        if let (true, Some(misfit)) = (stores.is_empty(), misfit) {
            return Err(ReadError::BadCondition(misfit.to_string()));
        }
        if let (FamilyChoice::Named(name), true) = (&request.families, stores.is_empty()) {
            return Err(no_such_family(name, opened));
        }
        let partitions = match request.partition {
            Some(partition) => {
                opened.check_partition(partition)?;
                vec![partition]
            }
            None => match (pinned(&stores, opened.partitions), &request.key) {
                (Some(partition), _) => vec![partition],
                (None, Some(key)) if !key.partitions.is_empty() => key.partitions.clone(),
                (None, _) => (0..opened.partitions).map(PartitionId).collect(),
            },
        };
        let has_condition = request.condition.is_some() || request.key.is_some();
        let (families, key) = (&request.families, request.key.as_ref());
        Ok(Self { opened, stores, families, partitions, has_condition, key })
    }

    /// The stores and partitions that are read, in order.
    pub(super) fn places(&self) -> impl Iterator<Item = (&'a StoreReading, PartitionId)> {
        self.stores.iter().flat_map(|(reading, _)| {
            self.partitions.iter().map(move |partition| (*reading, *partition))
        })
    }

    /// Whether a family is wanted, and what its rows are compared with.
    pub(super) fn wants(
        &self,
        reading: &StoreReading,
        name: &str,
        family: Option<&FamilyReading>,
    ) -> Option<&Condition> {
        let Some(family) = family else {
            // One that no schema lists is wanted unless something is asked of it.
            let wanted = match self.families {
                FamilyChoice::All => true,
                FamilyChoice::Own => !reading.store.families.is_internal(name),
                FamilyChoice::Named(wanted) => wanted == name,
            };
            return (wanted && !self.has_condition).then_some(&Condition::All);
        };
        let mut stores = self.stores.iter();
        let (_, choices) = stores.find(|(of, _)| {
            of.store.operator == reading.store.operator && of.store.name == reading.store.name
        })?;
        let choice = choices.iter().find(|choice| choice.family == family.name)?;
        Some(&choice.condition)
    }

    /// What tells whether a family's rows are of the key that is asked for; `None` when none is.
    pub(super) fn pin(&self, reading: &StoreReading, name: &str) -> Option<Pin<'_>> {
        let key = self.key?;
        let mut stores = self.stores.iter();
        let (_, choices) = stores.find(|(of, _)| {
            of.store.operator == reading.store.operator && of.store.name == reading.store.name
        })?;
        let choice = choices.iter().find(|choice| choice.family == name)?;
        Some(Pin::new(choice.pin.as_deref()?, &key.key))
    }
}

fn is_wanted(families: &FamilyChoice, family: &FamilyReading) -> bool {
    match families {
        FamilyChoice::All => true,
        FamilyChoice::Own => !family.internal,
        FamilyChoice::Named(name) => family.name == *name,
    }
}

/// The condition bound to a family's columns; `None` when the family cannot be decoded, so that
/// nothing in it can be compared.
fn bind(
    condition: Option<&Parsed>,
    family: &FamilyReading,
) -> Result<Option<Condition>, FilterError> {
    match (condition, &family.decoder) {
        (None, _) => Ok(Some(Condition::All)),
        (Some(parsed), Ok(decoder)) => {
            let bound = parsed.bind(decoder.key_fields(), decoder.value_fields())?;
            Ok(Some(Condition::Bound(bound)))
        }
        (Some(_), Err(_)) => Ok(None),
    }
}

/// The one partition in which all matching rows lie, when the condition says so.
fn pinned(stores: &[(&StoreReading, Vec<Choice>)], partitions: u32) -> Option<PartitionId> {
    let mut found = None;
    let families = stores.iter().flat_map(|(reading, choices)| {
        choices.iter().map(|choice| (reading.family(&choice.family), choice))
    });
    for (family, choice) in families {
        let (family, Condition::Bound(filter)) = (family?, &choice.condition) else { return None };
        let decoder = family.decoder.as_ref().ok()?;
        let Grouping::Columns(columns) = &family.grouping else { return None };
        let paths: Vec<&[usize]> = columns.iter().map(|column| column.path.as_slice()).collect();
        let values = filter.pinned(decoder.key_fields(), &paths)?;
        let mut columns = columns.iter().zip(&values);
        let hash = columns
            .try_fold(SEED, |hash, (column, value)| hash.value(value, &column.field.data_type))?;
        let partition = hash.partition(partitions);
        if *found.get_or_insert(partition) != partition {
            return None;
        }
    }
    found
}

fn no_such_family(name: &str, opened: &Opened) -> ReadError {
    let stores = opened.stores.iter();
    let mut have: Vec<&str> =
        stores.flat_map(|store| &store.families).map(|family| family.name.as_str()).collect();
    have.sort_unstable();
    have.dedup();
    let have = if have.is_empty() { "none".to_owned() } else { have.join(", ") };
    ReadError::NoSuchStore(format!("there is no column family {name:?}; the families are: {have}"))
}
