//! Which operators and stores a batch has, with their schemas.
//!
//! Spark 4.0+ writes operator metadata; for older checkpoints the stores are found on disk
//! and the operator is told from them and their schemas, and marked as inferred. Schema files
//! are always looked for inside this checkpoint: the absolute paths that metadata holds
//! point to wherever it was written, which a copy must not follow.

use crate::checkpoint::{Checkpoint, Confs, Fault, OperatorMetadata};
use crate::state::families::{DEFAULT, Families};
use crate::state::fault::{FaultKind, Outcome, StateFault};
use crate::state::schema::{StoreSchema, typed_columns};
use crate::storage::{EntryKind, Storage};
use crate::units::{BatchId, Bytes, OperatorId};

/// Largest schema file that is read.
const MAX_SCHEMA: Bytes = Bytes(16 << 20);
/// Missing operators that are told.
const MAX_MISSING: usize = 16;
/// The stores of join formats 1 and 2, in the order of the ids in the commit log. No other
/// operator has stores with a directory of their own.
pub const JOIN_STORES: [&str; 4] = [
    "left-keyToNumValues",
    "left-keyWithIndexToValue",
    "right-keyToNumValues",
    "right-keyWithIndexToValue",
];

/// One stateful operator.
#[derive(Debug, Clone)]
pub struct OperatorEntry {
    /// Its id.
    pub id: OperatorId,
    /// Spark's name for it.
    pub name: String,
    /// Whether the name was told from stores and schemas.
    pub name_inferred: bool,
    /// Its stores, in the order of the ids in the commit log.
    pub stores: Vec<StoreEntry>,
}

/// One store of an operator.
#[derive(Debug, Clone)]
pub struct StoreEntry {
    /// `default`, or one of a join's four.
    pub name: String,
    /// Its schema; `None` when no schema file is readable.
    pub schema: Option<StoreSchema>,
    /// Schemas from before it that rows may still be written in (Avro encoding only), oldest first.
    pub older_schemas: Vec<StoreSchema>,
    /// Columns of the key that make up the prefix in prefix scans, as operator metadata has it;
    /// for stores without families. `None` without operator metadata.
    pub prefix_columns: Option<u32>,
    /// What kind of families it has.
    pub families: Families,
    /// Whether the operator has no grouping key and so uses partition 0 alone.
    pub single_partition: bool,
}

/// The operators of one batch and what was wrong on the way.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// By id.
    pub operators: Vec<OperatorEntry>,
    /// Faults of schema files.
    pub state_faults: Vec<StateFault>,
    /// Faults of operator metadata.
    pub faults: Vec<Fault>,
}

impl Catalog {
    /// Reads operator metadata and schema files; no file of a partition but partition 0's schema.
    pub fn read(storage: &Storage, checkpoint: &Checkpoint, batch: BatchId) -> Self {
        let mut catalog = Self::default();
        let ids = checkpoint.commit(batch).and_then(|commit| commit.state_ids.as_ref());
        let named: Vec<OperatorId> = ids.iter().flat_map(|ids| ids.operators()).collect();
        catalog.state_faults.extend(missing_operators(checkpoint.operator_dirs(), &named));
        for id in checkpoint.operator_dirs() {
            let lookup = checkpoint.operator_metadata(storage, *id, batch);
            let readable = lookup.metadata.is_some() || !lookup.faults.is_empty();
            if !readable && checkpoint.confs_at(batch).is_some_and(Confs::is_spark_4) {
                catalog.state_faults.push(StateFault {
                    operator: *id,
                    store: DEFAULT.to_owned(),
                    partition: None,
                    file: format!("state/{id}/_metadata/metadata"),
                    kind: FaultKind::MissingOperatorMetadata,
                    outcome: Outcome::Harmless,
                });
            }
            catalog.faults.extend(lookup.faults);
            let metadata = lookup.metadata.as_ref();
            let mut stores: Vec<StoreEntry> = Vec::new();
            for name in store_names(storage, *id, metadata) {
                let mut read = |file: String| match read_schema(storage, &file) {
                    Ok(schema) => Some(schema),
                    Err(reason) => {
                        catalog.state_faults.push(StateFault {
                            operator: *id,
                            store: name.clone(),
                            partition: None,
                            file,
                            kind: FaultKind::Schema(reason),
                            outcome: Outcome::Lost,
                        });
                        None
                    }
                };
                let mut files = schema_files(storage, *id, &name, metadata, batch);
                let schema = files.pop().and_then(&mut read);
                let older = files.into_iter().filter_map(read).collect();
                stores.push(store_entry(name, schema, older, metadata));
            }
            let named = lookup.metadata.map(|metadata| metadata.name);
            let name_inferred = named.is_none();
            let name = named.unwrap_or_else(|| infer_name(&stores).to_owned());
            for store in &mut stores {
                store.single_partition |= name == "globalLimit";
            }
            catalog.operators.push(OperatorEntry { id: *id, name, name_inferred, stores });
        }
        catalog
    }
}

/// Operators that were there: ids count from 0 without gaps, and the commit of a query in state
/// checkpoint format 2 names the state of each.
fn missing_operators(
    present: &[OperatorId],
    named: &[OperatorId],
) -> impl Iterator<Item = StateFault> {
    let last = present.iter().max().map_or(0, |id| id.0);
    // Ids come from names in files: a made-up huge one must not become a huge list.
    let before_last = (0..last).map(OperatorId).filter(|id| !named.contains(id));
    let expected: Vec<OperatorId> = before_last.chain(named.iter().copied()).collect();
    let present = present.to_vec();
    let missing = expected.into_iter().filter(move |id| !present.contains(id)).take(MAX_MISSING);
    missing.map(|operator| StateFault {
        operator,
        store: DEFAULT.to_owned(),
        partition: None,
        file: format!("state/{operator}"),
        kind: FaultKind::MissingOperator,
        outcome: Outcome::Lost,
    })
}

fn store_entry(
    name: String,
    schema: Option<StoreSchema>,
    older_schemas: Vec<StoreSchema>,
    metadata: Option<&OperatorMetadata>,
) -> StoreEntry {
    let stores = metadata.iter().flat_map(|metadata| &metadata.stores);
    let prefix_columns =
        stores.filter(|store| store.name == name).map(|store| store.prefix_columns).next();
    let properties = metadata.and_then(|metadata| metadata.properties.as_ref());
    let families: Vec<&str> =
        schema.iter().flat_map(|s| &s.families).map(|family| family.name.as_str()).collect();
    let families = Families::of(properties, &families);
    // An aggregate without grouping keys has a key of no columns.
    let single_partition = schema
        .as_ref()
        .and_then(StoreSchema::main_family)
        .is_some_and(|family| family.key_columns().is_empty());
    StoreEntry { name, schema, older_schemas, prefix_columns, families, single_partition }
}

/// From the metadata, else from the directories of partition 0.
fn store_names(
    storage: &Storage,
    operator: OperatorId,
    metadata: Option<&OperatorMetadata>,
) -> Vec<String> {
    if let Some(metadata) = metadata {
        return metadata.stores.iter().map(|store| store.name.clone()).collect();
    }
    let names = storage.names(&format!("state/{operator}/0")).unwrap_or_default();
    let mut stores: Vec<String> = names
        .into_iter()
        .filter(|name| {
            name.kind == EntryKind::Directory && JOIN_STORES.contains(&name.name.as_str())
        })
        .map(|name| name.name)
        .collect();
    // In the order of a join's ids, whatever the directory's order is.
    stores.sort_by_key(|name| JOIN_STORES.iter().position(|known| known == name));
    if stores.is_empty() { vec![DEFAULT.to_owned()] } else { stores }
}

/// The schema in a file, or why it cannot be read.
fn read_schema(storage: &Storage, file: &str) -> Result<StoreSchema, String> {
    let bytes = storage.read(file, MAX_SCHEMA).map_err(|error| {
        if error.is_not_found() {
            "expected the store's schema file, found nothing".to_owned()
        } else {
            error.to_string()
        }
    })?;
    StoreSchema::parse(&bytes)
}

/// The schema files of a store that rows may be written in, oldest first: those of format v3 that
/// the metadata names, else the newest that is not younger than the batch, else where v1 and v2
/// are kept.
fn schema_files(
    storage: &Storage,
    operator: OperatorId,
    store: &str,
    metadata: Option<&OperatorMetadata>,
    batch: BatchId,
) -> Vec<String> {
    let dir = format!("state/{operator}/_stateSchema/{store}");
    let entry =
        metadata.and_then(|metadata| metadata.stores.iter().find(|entry| entry.name == store));
    let mut named: Vec<&String> = entry.iter().flat_map(|entry| &entry.schema_files).collect();
    if !named.is_empty() {
        named.sort_by_key(|name| written_by(name));
        return named.into_iter().map(|name| format!("{dir}/{name}")).collect();
    }
    let listed = storage.names(&dir).unwrap_or_default().into_iter().map(|name| name.name);
    let found = listed
        .filter(|name| written_by(name).is_some_and(|at| at <= batch.0))
        .max_by_key(|name| written_by(name));
    vec![match found {
        Some(name) => format!("{dir}/{name}"),
        None if store == DEFAULT => format!("state/{operator}/0/_metadata/schema"),
        None => format!("state/{operator}/0/{store}/_metadata/schema"),
    }]
}

/// The batch in the name of a schema file, `<N>_<uuid>`.
fn written_by(name: &str) -> Option<u64> {
    name.split_once('_')?.0.parse().ok()
}

/// Tells the operator from its stores and the schema of the first.
fn infer_name(stores: &[StoreEntry]) -> &'static str {
    if stores.iter().any(|store| JOIN_STORES.contains(&store.name.as_str())) {
        return "symmetricHashJoin";
    }
    let family = stores.first().and_then(|store| store.schema.as_ref()?.main_family());
    let Some(family) = family else { return "unknown" };
    let (key, value) = (typed_columns(&family.key), typed_columns(&family.value));
    match (key.as_slice(), value.as_slice()) {
        ([("key", "void" | "null")], [("value", "long")]) => "globalLimit",
        (_, [("expiresAtMicros", "long")]) => "dedupeWithinWatermark",
        (_, [(_, "void" | "null")]) => "dedupe",
        (_, [("groupState", _), ..]) => "flatMapGroupsWithState",
        ([.., ("sessionStartTime", "timestamp")], _) => "sessionWindowStateStoreSaveExec",
        _ => "stateStoreSave",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::state::schema::FamilySchema;

    fn store(name: &str, key: &[(&str, &str)], value: &[(&str, &str)]) -> StoreEntry {
        let schema = |columns: &[(&str, &str)]| -> Value {
            let fields: Vec<Value> =
                columns.iter().map(|(name, kind)| json!({"name": name, "type": kind})).collect();
            json!({"type": "struct", "fields": fields})
        };
        let family = FamilySchema {
            name: DEFAULT.into(),
            key: schema(key),
            value: schema(value),
            key_encoder: None,
            user_key: None,
            key_schema_id: 0,
            value_schema_id: 0,
        };
        let schema = StoreSchema { version: 2, families: vec![family] };
        store_entry(name.into(), Some(schema), Vec::new(), None)
    }

    #[test]
    fn operators_of_spark_3_5_are_told_by_their_stores() {
        let named = |store: StoreEntry| infer_name(&[store]);
        let key = [("k", "string")];
        assert_eq!(
            named(store("left-keyToNumValues", &key, &[("value", "long")])),
            "symmetricHashJoin"
        );
        assert_eq!(named(store(DEFAULT, &key, &[("", "void")])), "dedupe");
        assert_eq!(
            named(store(DEFAULT, &key, &[("expiresAtMicros", "long")])),
            "dedupeWithinWatermark"
        );
        assert_eq!(named(store(DEFAULT, &[("key", "void")], &[("value", "long")])), "globalLimit");
        assert_eq!(named(store(DEFAULT, &key, &[("groupState", "")])), "flatMapGroupsWithState");
        let session = [("k", "string"), ("sessionStartTime", "timestamp")];
        assert_eq!(
            named(store(DEFAULT, &session, &[("count", "long")])),
            "sessionWindowStateStoreSaveExec"
        );
        assert_eq!(named(store(DEFAULT, &key, &[("count", "long")])), "stateStoreSave");
    }

    #[test]
    fn a_key_without_columns_uses_one_partition() {
        assert!(store(DEFAULT, &[], &[("count", "long")]).single_partition);
        assert!(!store(DEFAULT, &[("k", "string")], &[("count", "long")]).single_partition);
    }
}
