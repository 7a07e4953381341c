//! Where an operator's grouping key lies in the keys of its families.
//!
//! The grouping key decides the partition, whatever else a key holds: an index, a time, the user
//! key of a map. Pure; knows schemas, not rows.

use super::catalog::JOIN_STORES;
use super::row::types::{DataType, Field};

/// One column of the grouping key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupingColumn {
    /// Where it is: the position of a key column, then positions in nested structs.
    pub path: Vec<usize>,
    /// Its name and type.
    pub field: Field,
}

/// The grouping key of one family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grouping {
    /// There is none: the operator keeps everything in partition 0.
    Single,
    /// These columns, in the order in which they are hashed.
    Columns(Vec<GroupingColumn>),
    /// Where it lies in this family is not known; a sentence.
    Unknown(String),
}

/// A family, as far as it matters for its grouping key.
#[derive(Debug, Clone, Copy)]
pub struct FamilyKey<'a> {
    /// Spark's name for the operator.
    pub operator: &'a str,
    /// The store.
    pub store: &'a str,
    /// The family.
    pub family: &'a str,
    /// The key's columns.
    pub key: &'a [Field],
}

impl Grouping {
    /// The grouping key of a family.
    pub fn of(family: FamilyKey<'_>) -> Self {
        let key = family.key;
        match family.operator {
            "globalLimit" => Self::Single,
            _ if key.is_empty() => Self::Single,
            "stateStoreSave"
            | "dedupe"
            | "dedupeWithinWatermark"
            | "flatMapGroupsWithState"
            | "applyInPandasWithState" => Self::first(key, key.len()),
            "sessionWindowStateStoreSaveExec" => Self::first(key, key.len() - 1),
            "symmetricHashJoin" => Self::of_join(family),
            name if name.starts_with("transformWithState") => Self::of_variable(family),
            name => Self::Unknown(format!("the grouping key of operator {name} is not known")),
        }
    }

    /// Names of the columns, in order.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Columns(columns) => columns.iter().map(|c| c.field.name.as_str()).collect(),
            Self::Single | Self::Unknown(_) => Vec::new(),
        }
    }

    /// The first `count` columns of the key.
    fn first(key: &[Field], count: usize) -> Self {
        let columns = key.iter().take(count).enumerate();
        let column =
            |(at, field): (usize, &Field)| GroupingColumn { path: vec![at], field: field.clone() };
        Self::Columns(columns.map(column).collect())
    }

    /// The columns of a struct, found by following `path` through the key.
    fn inside(key: &[Field], path: &[usize]) -> Self {
        let mut fields = key;
        for at in path {
            match fields.get(*at).map(|field| &field.data_type) {
                Some(DataType::Struct(nested)) => fields = nested,
                _ => return Self::Unknown("its key is not laid out as expected".to_owned()),
            }
        }
        let column = |(at, field): (usize, &Field)| GroupingColumn {
            path: path.iter().copied().chain([at]).collect(),
            field: field.clone(),
        };
        Self::Columns(fields.iter().enumerate().map(column).collect())
    }

    /// Join keys; the families of values have an index (formats 1 to 3) or an event time (4) last.
    fn of_join(family: FamilyKey<'_>) -> Self {
        let key = family.key;
        let name = if JOIN_STORES.contains(&family.store) { family.store } else { family.family };
        match name.split_once('-').map(|(_, kind)| kind) {
            Some("keyToNumValues") => Self::first(key, key.len()),
            Some("keyWithIndexToValue" | "keyWithTsToValues" | "tsWithKey") => {
                Self::first(key, key.len() - 1)
            }
            _ if family.family == "default" => {
                Self::Unknown("a join has no rows in a family of this name".to_owned())
            }
            _ => Self::Unknown(format!("a join has no family {name}")),
        }
    }

    /// The families of a transformWithState are told apart by name, maps by their key's shape.
    fn of_variable(family: FamilyKey<'_>) -> Self {
        let key = family.key;
        let timer = |name: &str| {
            name.strip_prefix("$procTimers_")
                .or_else(|| name.strip_prefix("$eventTimers_"))
                .is_some()
        };
        match family.family {
            name if timer(name) && name.ends_with("_keyToTimestamp") => Self::inside(key, &[0]),
            name if timer(name) && name.ends_with("_timestampToKey") => Self::inside(key, &[1]),
            name if name.starts_with("$ttl_") => {
                let element = key.get(1).map(|field| &field.data_type);
                match element {
                    Some(DataType::Struct(fields)) if is_map_key(fields) => {
                        Self::inside(key, &[1, 0])
                    }
                    _ => Self::inside(key, &[1]),
                }
            }
            _ if is_map_key(key) => Self::inside(key, &[0]),
            _ => Self::first(key, key.len()),
        }
    }
}

/// Whether these are the columns of a map state's key: `{key: struct, userKey: struct}`.
fn is_map_key(fields: &[Field]) -> bool {
    let is = |field: &Field, name: &str| {
        field.name == name && matches!(field.data_type, DataType::Struct(_))
    };
    matches!(fields, [key, user] if is(key, "key") && is(user, "userKey"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, data_type: DataType) -> Field {
        Field { name: name.to_owned(), data_type }
    }

    fn text(name: &str) -> Field {
        field(name, DataType::String)
    }

    fn nested(name: &str, fields: &[Field]) -> Field {
        field(name, DataType::Struct(fields.to_vec()))
    }

    fn paths(operator: &str, store: &str, family: &str, key: &[Field]) -> Option<Vec<Vec<usize>>> {
        match Grouping::of(FamilyKey { operator, store, family, key }) {
            Grouping::Columns(columns) => Some(columns.into_iter().map(|c| c.path).collect()),
            Grouping::Single => Some(Vec::new()),
            Grouping::Unknown(_) => None,
        }
    }

    #[test]
    fn the_grouping_key_of_each_operator() {
        let ab = [text("a"), text("b")];
        let of = |operator, store, family| paths(operator, store, family, &ab);
        let both = Some(vec![vec![0], vec![1]]);
        let first = Some(vec![vec![0]]);
        assert_eq!(of("stateStoreSave", "default", "default"), both);
        assert_eq!(of("sessionWindowStateStoreSaveExec", "default", "default"), first);
        assert_eq!(of("symmetricHashJoin", "left-keyToNumValues", "default"), both);
        assert_eq!(of("symmetricHashJoin", "right-keyWithIndexToValue", "default"), first);
        assert_eq!(of("symmetricHashJoin", "default", "left-tsWithKey"), first);
        assert_eq!(of("globalLimit", "default", "default"), Some(vec![]));
        assert_eq!(paths("stateStoreSave", "default", "default", &[]), Some(vec![]));
        assert_eq!(of("somethingNew", "default", "default"), None);
    }

    #[test]
    fn the_grouping_key_of_each_family_of_a_transform_with_state() {
        let of = |family, key: &[Field]| paths("transformWithStateExec", "default", family, key);
        let k = nested("key", &[text("id")]);
        let long = |name| field(name, DataType::Long);
        let user = nested("userKey", &[text("sku")]);
        assert_eq!(of("total", &[text("id")]), Some(vec![vec![0]]));
        assert_eq!(of("items", &[k.clone(), user.clone()]), Some(vec![vec![0, 0]]));
        let element = nested("elementKey", &[text("id")]);
        assert_eq!(of("$ttl_list", &[long("expirationMs"), element]), Some(vec![vec![1, 0]]));
        let element = nested("elementKey", &[k.clone(), user]);
        assert_eq!(of("$ttl_map", &[long("expirationMs"), element]), Some(vec![vec![1, 0, 0]]));
        let timer = [k.clone(), long("expiryTimestampMs")];
        assert_eq!(of("$procTimers_keyToTimestamp", &timer), Some(vec![vec![0, 0]]));
        let timer = [long("expiryTimestampMs"), k];
        assert_eq!(of("$eventTimers_timestampToKey", &timer), Some(vec![vec![1, 0]]));
    }

    /// A grouping column that happens to be a struct is one column.
    #[test]
    fn a_window_is_one_column() {
        let window = nested("window", &[field("start", DataType::Timestamp)]);
        let key = [window, text("a")];
        let columns = paths("stateStoreSave", "default", "default", &key);
        assert_eq!(columns, Some(vec![vec![0], vec![1]]));
    }
}
