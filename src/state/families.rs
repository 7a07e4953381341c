//! What is known of a store's column families before any row is read: which are Spark's
//! own, which hold lists, and how virtual families are told apart in keys.

use std::collections::BTreeMap;

use serde_json::Value;

/// The name of the only family of a store without families.
pub const DEFAULT: &str = "default";

/// Marks the families that Spark reserves for itself.
const RESERVED_PREFIX: char = '$';
/// The families of a join that are internal though their names are not reserved: the counts
/// per key of format 3, the time index of format 4.
const JOIN_COUNTS: &str = "-keyToNumValues";
const JOIN_TIME_INDEX: &str = "-tsWithKey";
/// The value families of join formats 3 and 4.
const JOIN_INDEXED_VALUES: &str = "-keyWithIndexToValue";
const JOIN_VALUES: &str = "-keyWithTsToValues";

/// What kind of families an operator's stores have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Families {
    /// Plain values everywhere.
    #[default]
    Plain,
    /// Those of join format 3: plain values, counts per key are internal.
    JoinFormat3,
    /// Those of join format 4: all are lists, the time index is internal.
    JoinFormat4,
    /// Those of a transformWithState with these list states.
    Lists(Vec<String>),
}

impl Families {
    /// From an operator's `operatorPropertiesJson` (operator metadata v2) and its families.
    ///
    /// Join formats are known by their families' names: the properties of 3 and 4 are equal.
    pub fn of(properties: Option<&Value>, families: &[&str]) -> Self {
        let any = |suffix: &str| families.iter().any(|name| name.ends_with(suffix));
        if any(JOIN_VALUES) && any(JOIN_TIME_INDEX) {
            return Self::JoinFormat4;
        }
        if any(JOIN_INDEXED_VALUES) && any(JOIN_COUNTS) {
            return Self::JoinFormat3;
        }
        let variables = properties.and_then(|p| p.get("stateVariables")).and_then(Value::as_array);
        let names: Vec<String> = variables
            .into_iter()
            .flatten()
            .filter(|variable| {
                variable.get("stateVariableType").and_then(Value::as_str) == Some("ListState")
            })
            .filter_map(|variable| variable.get("stateName")?.as_str().map(str::to_owned))
            .collect();
        if names.is_empty() { Self::Plain } else { Self::Lists(names) }
    }

    #[must_use]
    /// These, or where the schema file told nothing, what the families of a snapshot tell.
    pub fn completed<'a>(&self, families: impl IntoIterator<Item = &'a String>) -> Self {
        match self {
            Self::Plain => {
                let names: Vec<&str> = families.into_iter().map(String::as_str).collect();
                Self::of(None, &names)
            }
            known => known.clone(),
        }
    }

    /// Whether values of `family` are lists.
    pub fn holds_lists(&self, family: &str) -> bool {
        match self {
            Self::Plain | Self::JoinFormat3 => false,
            Self::JoinFormat4 => family.ends_with(JOIN_VALUES) || family.ends_with(JOIN_TIME_INDEX),
            Self::Lists(names) => names.iter().any(|name| name == family),
        }
    }

    /// Whether Spark keeps `family` for itself, so that its keys are not part of `numKeys`.
    ///
    /// Taken from the name rather than from a snapshot's `columnFamilyTypeMap`, which is
    /// wrong after an offline repartition (`false` throughout).
    pub fn is_internal(&self, family: &str) -> bool {
        match self {
            Self::JoinFormat3 => family.ends_with(JOIN_COUNTS),
            Self::JoinFormat4 => family.ends_with(JOIN_TIME_INDEX),
            Self::Plain | Self::Lists(_) => family.starts_with(RESERVED_PREFIX),
        }
    }
}

/// The ids of a store's column families by name; empty for a store without any.
pub type Mapping = BTreeMap<String, u16>;

/// Finds the family of a raw key.
#[derive(Debug, Clone)]
pub enum FamilyIndex {
    /// No families: every key belongs to the first (and only) one.
    Single,
    /// Keys start with the family's id, 16 bits little-endian; the position in the list of
    /// names by id.
    Virtual(BTreeMap<u16, usize>),
}

impl FamilyIndex {
    /// From a snapshot's mapping of names to ids. Also returns the names, in the order of
    /// the positions that [`Self::position`] gives.
    pub fn new(mapping: &Mapping) -> (Self, Vec<String>) {
        if mapping.is_empty() {
            return (Self::Single, vec![DEFAULT.to_owned()]);
        }
        let names = mapping.keys().cloned().collect();
        let ids = mapping.values().copied().enumerate().map(|(at, id)| (id, at)).collect();
        (Self::Virtual(ids), names)
    }

    /// The position of the family that `key` belongs to, or `None` when it belongs to none.
    pub fn position(&self, key: &[u8]) -> Option<usize> {
        match self {
            Self::Single => Some(0),
            Self::Virtual(ids) => {
                let (id, _) = key.split_first_chunk::<2>()?;
                ids.get(&u16::from_le_bytes(*id)).copied()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn list_states_come_from_the_operator_properties() {
        let properties = json!({"stateVariables": [
            {"stateName": "events", "stateVariableType": "ListState", "ttlEnabled": true},
            {"stateName": "total", "stateVariableType": "ValueState", "ttlEnabled": false},
        ]});
        let lists = Families::of(Some(&properties), &["default", "events", "total"]);
        assert!(
            lists.holds_lists("events")
                && !lists.holds_lists("total")
                && !lists.holds_lists("$ttl_events")
        );
        assert!(lists.is_internal("$ttl_events") && !lists.is_internal("events"));
    }

    #[test]
    fn all_families_of_join_format_4_are_lists() {
        let lists = Families::of(None, &["left-keyWithTsToValues", "left-tsWithKey"]);
        assert!(
            lists.holds_lists("left-tsWithKey") && lists.holds_lists("right-keyWithTsToValues")
        );
        assert!(
            lists.is_internal("right-tsWithKey") && !lists.is_internal("left-keyWithTsToValues")
        );
    }

    #[test]
    fn counts_per_key_of_join_format_3_are_internal() {
        let join = Families::of(None, &["left-keyToNumValues", "left-keyWithIndexToValue"]);
        assert!(join.is_internal("right-keyToNumValues"));
        assert!(!join.is_internal("right-keyWithIndexToValue"));
        assert!(!join.holds_lists("right-keyWithIndexToValue"));
        let store = Families::of(None, &["default"]);
        assert!(!store.is_internal("x-keyToNumValues"), "a name alone is no join");
    }

    #[test]
    fn virtual_ids_are_little_endian_and_never_assumed() {
        let mapping = BTreeMap::from([("default".to_owned(), 1), ("items".to_owned(), 258)]);
        let (index, names) = FamilyIndex::new(&mapping);
        assert_eq!(index.position(&[2, 1, 0]).map(|at| names[at].as_str()), Some("items"));
        assert_eq!(index.position(&[1, 0]).map(|at| names[at].as_str()), Some("default"));
        assert_eq!(index.position(&[7, 0, 0]), None);
        assert_eq!(index.position(&[1]), None);
        assert_eq!(FamilyIndex::new(&BTreeMap::new()).0.position(b""), Some(0));
    }
}
