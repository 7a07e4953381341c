//! The ids in the names of state files (state checkpoint format 2), as a commit lists them. Pure.
//!
//! A commit of thousands of partitions is large, and a hundred of them are kept: ids are read
//! straight into one piece of text per operator, without a JSON value in between.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::names;
use crate::units::OperatorId;

/// The state ids of one commit, by operator.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StateIds(BTreeMap<OperatorId, OperatorStateIds>);

/// The state ids of one operator in one commit: by partition, then by store.
///
/// Kept as one piece of text, since thousands of partitions times a hundred commits are usual.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OperatorStateIds {
    /// All ids, one after the other.
    ids: String,
    /// Where each id ends in `ids`.
    ends: Vec<u32>,
    /// How many ids the partitions up to and including each have.
    partitions: Vec<u32>,
}

impl StateIds {
    /// The ids of one operator.
    pub fn operator(&self, operator: OperatorId) -> Option<&OperatorStateIds> {
        self.0.get(&operator)
    }

    /// The operators that have ids.
    pub fn operators(&self) -> impl Iterator<Item = OperatorId> + '_ {
        self.0.keys().copied()
    }
}

impl OperatorStateIds {
    /// Number of partitions: the partition count that the batch ran with.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Number of stores in one partition: 1, or 4 in join formats 1 and 2.
    pub fn stores(&self, partition: usize) -> usize {
        self.range(partition).map_or(0, |range| range.len())
    }

    /// The id of one store in one partition. It is a plain name.
    pub fn get(&self, partition: usize, store: usize) -> Option<&str> {
        let range = self.range(partition)?;
        let index = range.start.checked_add(store).filter(|index| *index < range.end)?;
        let end = usize::try_from(*self.ends.get(index)?).ok()?;
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => usize::try_from(*self.ends.get(before)?).ok()?,
        };
        self.ids.get(start..end)
    }

    fn range(&self, partition: usize) -> Option<std::ops::Range<usize>> {
        let end = usize::try_from(*self.partitions.get(partition)?).ok()?;
        let start = match partition.checked_sub(1) {
            None => 0,
            Some(before) => usize::try_from(*self.partitions.get(before)?).ok()?,
        };
        Some(start..end)
    }

    fn push<E: Error>(&mut self, id: &str) -> Result<(), E> {
        if !names::is_state_id(id) {
            return Err(E::custom("a state id has other characters than letters, digits and -"));
        }
        self.ids.push_str(id);
        self.ends.push(u32::try_from(self.ids.len()).map_err(|_| too_many())?);
        Ok(())
    }

    fn end_partition<E: Error>(&mut self) -> Result<(), E> {
        self.partitions.push(u32::try_from(self.ends.len()).map_err(|_| too_many())?);
        Ok(())
    }
}

fn too_many<E: Error>() -> E {
    E::custom("more state ids than can be kept")
}

impl<'de> Deserialize<'de> for StateIds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Operators)
    }
}

/// Reads the object of operators.
struct Operators;

impl<'de> Visitor<'de> for Operators {
    type Value = StateIds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("state ids by operator")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StateIds, A::Error> {
        let mut operators = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let id = names::decimal(&name).map(OperatorId);
            let id = id.ok_or_else(|| A::Error::custom("an operator id is not a number"))?;
            let mut ids = OperatorStateIds::default();
            map.next_value_seed(Partitions(&mut ids))?;
            operators.insert(id, ids);
        }
        Ok(StateIds(operators))
    }
}

/// Reads the list of partitions of one operator.
struct Partitions<'a>(&'a mut OperatorStateIds);

impl<'de> DeserializeSeed<'de> for Partitions<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Partitions<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of partitions with state ids")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut partitions: A) -> Result<(), A::Error> {
        while partitions.next_element_seed(Stores(self.0))?.is_some() {
            self.0.end_partition()?;
        }
        Ok(())
    }
}

/// Reads the list of stores of one partition.
struct Stores<'a>(&'a mut OperatorStateIds);

impl<'de> DeserializeSeed<'de> for Stores<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Stores<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of state ids, one per store")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut stores: A) -> Result<(), A::Error> {
        while let Some(id) = stores.next_element::<std::borrow::Cow<'de, str>>()? {
            self.0.push(&id)?;
        }
        Ok(())
    }
}
