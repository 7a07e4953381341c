//! What a resize would read of the state: operators, schemas, directories, files.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{location, trouble};
use crate::checkpoint::{Checkpoint, Confs, DEFAULT_PROVIDER_CLASS, Fault, OperatorMetadata};
use crate::preflight::{
    DirectoryFacts, Keying, Loaded, Nanoseconds, OperatorFacts, OperatorMetadataFacts, Request,
    SchemaFacts, StateFacts, StoreFacts, Trouble,
};
use crate::reader::build::Facts as BuildFacts;
use crate::reader::session;
use crate::report::Provider;
use crate::state::catalog::{Catalog, OperatorEntry, StoreEntry};
use crate::state::fault::{FaultKind, StateFault};
use crate::state::files::Target;
use crate::state::loading::{LoadOutcome, LoadRules};
use crate::state::store::{Counter, Run, Store};
use crate::storage::{EntryKind, Storage};
use crate::task::{self, Cancel, Progress};
use crate::units::{BatchId, OperatorId, PartitionId};

/// What is read of the state of one batch.
pub(super) struct Gather<'a> {
    pub(super) storage: &'a Storage,
    pub(super) checkpoint: &'a Checkpoint,
    pub(super) batch: BatchId,
    pub(super) request: &'a Request,
}

impl Gather<'_> {
    /// Operators, schemas and directories.
    pub(super) fn state(&self) -> StateFacts {
        let confs = self.checkpoint.confs_at(self.batch);
        let catalog = Catalog::read(self.storage, self.checkpoint, self.batch);
        let mut state = StateFacts {
            provider_class: confs.map_or(DEFAULT_PROVIDER_CLASS, Confs::provider_class).to_owned(),
            provider: confs.map(Confs::provider),
            join_format: confs.map_or(1, Confs::join_format),
            ..StateFacts::default()
        };
        for id in self.checkpoint.operator_dirs() {
            let lookup = self.checkpoint.operator_metadata(self.storage, *id, self.batch);
            let elsewhere = lookup
                .faults
                .iter()
                .any(|fault| matches!(fault, Fault::SchemaFilesElsewhere { .. }));
            let written_at = lookup.metadata.as_ref().and_then(|found| found.written_at.clone());
            if elsewhere {
                state.elsewhere.clone_from(&written_at);
            }
            let entry = catalog.operators.iter().find(|operator| operator.id == *id);
            let place = written_at.filter(|_| elsewhere);
            state.operators.push(self.operator(
                *id,
                entry,
                lookup.metadata.as_ref(),
                &lookup.faults,
                place.as_deref(),
                &catalog.state_faults,
            ));
        }
        let missing = catalog.state_faults.iter();
        let missing = missing.filter(|fault| fault.kind == FaultKind::MissingOperator);
        state.gone = missing.map(|fault| fault.operator).collect();
        state.nanoseconds = nanoseconds(&catalog);
        let gone = |store: &StoreFacts| matches!(store.schema, SchemaFacts::Named { .. });
        let stores = || state.operators.iter().flat_map(|operator| &operator.stores);
        state.elsewhere_exists = state.elsewhere.is_some() && !stores().any(gone);
        state
    }

    fn operator(
        &self,
        id: OperatorId,
        entry: Option<&OperatorEntry>,
        metadata: Option<&OperatorMetadata>,
        faults: &[Fault],
        place: Option<&str>,
        state_faults: &[StateFault],
    ) -> OperatorFacts {
        let stores = entry.map(|entry| entry.stores.as_slice()).unwrap_or_default();
        let keyless = stores.iter().any(|store| store.single_partition);
        OperatorFacts {
            id,
            name: entry.map(|entry| entry.name.clone()).unwrap_or_default(),
            metadata: self.metadata(id, metadata, faults),
            keying: if keyless { Keying::Keyless } else { Keying::Keyed },
            stores: stores
                .iter()
                .map(|store| StoreFacts {
                    name: store.name.clone(),
                    schema: self.schema(id, store, metadata, place, state_faults),
                })
                .collect(),
            directories: self.directories(id),
        }
    }

    /// The engine reads format 2 where its directory is there, and tries no other file.
    fn metadata(
        &self,
        id: OperatorId,
        metadata: Option<&OperatorMetadata>,
        faults: &[Fault],
    ) -> OperatorMetadataFacts {
        let unreadable = faults.iter().find_map(|fault| match fault {
            Fault::UnreadableOperatorMetadata { file, problem } => {
                Some((file.clone(), trouble(problem)))
            }
            _ => None,
        });
        let has_v2 = self.storage.names(&format!("state/{id}/_metadata/v2")).is_ok();
        match (unreadable, metadata) {
            (Some((file, trouble)), _) => OperatorMetadataFacts::Unreadable(file, trouble),
            (None, Some(found)) if found.version == 1 && has_v2 => {
                let reason =
                    format!("state/{id}/_metadata/v2 has no file up to batch {}", self.batch);
                OperatorMetadataFacts::Missing(reason)
            }
            (None, Some(found)) => {
                OperatorMetadataFacts::Read { version: found.version, name: found.name.clone() }
            }
            (None, None) => {
                OperatorMetadataFacts::Missing(format!("state/{id}/_metadata has no metadata"))
            }
        }
    }

    fn schema(
        &self,
        id: OperatorId,
        store: &StoreEntry,
        metadata: Option<&OperatorMetadata>,
        place: Option<&str>,
        faults: &[StateFault],
    ) -> SchemaFacts {
        let stores = metadata.iter().flat_map(|metadata| &metadata.stores);
        let named: Vec<String> = stores
            .filter(|entry| entry.name == store.name)
            .flat_map(|entry| &entry.schema_files)
            .map(|name| format!("state/{id}/_stateSchema/{}/{name}", store.name))
            .collect();
        if let Some(place) = place {
            let there = Storage::open(place);
            for file in &named {
                let found = there
                    .as_ref()
                    .map_err(ToString::to_string)
                    .and_then(|there| there.stat(file).map_err(|error| error.to_string()));
                if let Err(reason) = found {
                    return SchemaFacts::Named { file: format!("{place}/{file}"), reason };
                }
            }
            return SchemaFacts::Readable;
        }
        let fault = faults.iter().find_map(|fault| match &fault.kind {
            FaultKind::Schema(reason) if fault.operator == id && fault.store == store.name => {
                Some((fault.file.clone(), reason.clone()))
            }
            _ => None,
        });
        match fault {
            None => SchemaFacts::Readable,
            Some((file, reason)) if named.is_empty() => {
                let newer = self.newer_schema(&file).map(Trouble::Version);
                SchemaFacts::Fixed { file, trouble: newer.unwrap_or(Trouble::Content(reason)) }
            }
            Some((file, reason)) => {
                SchemaFacts::Named { file: location(self.storage).file(&file), reason }
            }
        }
    }

    /// The format of a schema file that is newer than any that is known.
    fn newer_schema(&self, file: &str) -> Option<u32> {
        /// What is read of the file: length and text of its format.
        const HEAD: u64 = 4;
        const NEWEST: u32 = 3;
        let head = self.storage.read_range(file, 0, HEAD).ok()?;
        let digit = match head.as_slice() {
            [0, 2, b'v', digit] => char::from(*digit).to_digit(10)?,
            _ => return None,
        };
        (digit > NEWEST).then_some(digit)
    }

    fn directories(&self, id: OperatorId) -> DirectoryFacts {
        let names = self.storage.names(&format!("state/{id}")).unwrap_or_default();
        let directories = names.into_iter().filter(|name| name.kind == EntryKind::Directory);
        let mut present: Vec<u32> = directories.filter_map(|name| name.name.parse().ok()).collect();
        present.sort_unstable();
        DirectoryFacts { present }
    }

    /// What loading each partition would come to.
    pub(super) fn load(
        &self,
        state: &mut StateFacts,
        cancel: &Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) {
        let catalog = Catalog::read(self.storage, self.checkpoint, self.batch);
        let address = self.storage.address();
        let facts =
            BuildFacts::new(address, self.storage, self.checkpoint, &catalog, Some(self.batch));
        let stores = match state.provider {
            Some(Provider::Rocksdb) => session::stores(self.storage, &facts),
            _ => Vec::new(),
        };
        let count = facts.partitions_to_read();
        let mut jobs: Vec<(&Store, PartitionId)> = Vec::new();
        for store in &stores {
            let operator = state.operators.iter().find(|op| op.id == store.operator);
            let present = operator.map(|op| op.directories.below(count).present);
            jobs.extend(present.into_iter().flatten().map(|p| (store, PartitionId(p))));
        }
        let counter = Counter::default();
        let run = Run { cancel, counter: &counter };
        let done = AtomicU64::new(0);
        let total = jobs.len() as u64;
        let loaded =
            task::map_parallel(&jobs, self.storage.crew(), cancel, |(store, partition)| {
                let loaded = self.one(store, *partition, run);
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                progress(Progress { done, total, rows: 0, bytes: counter.bytes() });
                loaded
            });
        state.loaded = loaded.into_iter().flatten().flatten().collect();
        state.complete = state.loaded.len() == jobs.len();
        state.bytes = counter.bytes();
    }

    fn one(&self, store: &Store, partition: PartitionId, run: Run<'_>) -> Option<Loaded> {
        let session = &self.request.session;
        let rules = LoadRules {
            repair: session.repairs_snapshots(),
            most_changelogs: session.most_changelogs(),
            checksums: session.compares_checksums(),
        };
        let target: Target = session::target(self.checkpoint, store, self.batch, partition);
        let outcome = store.load_as_engine(partition, &target, rules, run).ok()?;
        let fails = matches!(outcome, LoadOutcome::Fails(_));
        let repairable = fails && !rules.repair && {
            let rules = LoadRules { repair: true, ..rules };
            let other = store.load_as_engine(partition, &target, rules, run).ok()?;
            matches!(other, LoadOutcome::Loads { .. })
        };
        let store_name = store.name.clone();
        Some(Loaded { operator: store.operator, store: store_name, partition, outcome, repairable })
    }
}

/// The schemas with times of more than six digits, keys before values.
fn nanoseconds(catalog: &Catalog) -> Vec<Nanoseconds> {
    let mut found = Vec::new();
    for operator in &catalog.operators {
        for (index, store) in operator.stores.iter().enumerate() {
            for family in store.schema.iter().flat_map(|schema| &schema.families) {
                for (in_key, schema) in [(true, &family.key), (false, &family.value)] {
                    if has_nanoseconds(schema) {
                        let schema = schema.to_string();
                        let (operator, store) = (operator.id, index);
                        found.push(Nanoseconds { operator, store, in_key, schema });
                    }
                }
            }
        }
    }
    found
}

/// Whether a schema has times with more digits than microseconds have.
fn has_nanoseconds(schema: &serde_json::Value) -> bool {
    use serde_json::Value;
    match schema {
        Value::String(text) => {
            let digits = ["(7)", "(8)", "(9)"];
            text.starts_with("timestamp") && digits.iter().any(|end| text.ends_with(end))
        }
        Value::Array(items) => items.iter().any(has_nanoseconds),
        Value::Object(fields) => fields.values().any(has_nanoseconds),
        _ => false,
    }
}
