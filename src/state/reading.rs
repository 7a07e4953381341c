//! A store with all that is needed to understand its rows: decoders and grouping keys of its
//! families. Joins the catalog, confs and schemas; must not know the terminal.

use super::catalog::{JOIN_STORES, OperatorEntry, StoreEntry};
use super::families::{DEFAULT, FamilyIndex, Mapping};
use super::grouping::{FamilyKey, Grouping};
use super::row::decoder::{FamilyDecoder, FamilyLayout, RowChecksums};
use super::row::key::{Framing, KeyEncoder};
use super::schema::FamilySchema;
use super::store::Store;
use crate::checkpoint::{Confs, Encoding};
use crate::report::Provider;

/// A store whose rows can be read.
#[derive(Debug)]
pub struct StoreReading {
    /// Where its files are.
    pub store: Store,
    /// Spark's name for the operator.
    pub operator_name: String,
    /// The families that its schema file lists.
    pub families: Vec<FamilyReading>,
}

/// A family whose rows can be read.
#[derive(Debug)]
pub struct FamilyReading {
    /// Its name.
    pub name: String,
    /// Whether Spark keeps it for itself.
    pub internal: bool,
    /// Whether its keys are rows of the operator: not those of an internal family, nor the counts
    /// that a join keeps beside its rows in stores of their own.
    pub counts: bool,
    /// Its decoder, or why there is none.
    pub decoder: Result<FamilyDecoder, String>,
    /// Where its grouping key is.
    pub grouping: Grouping,
}

impl StoreReading {
    /// The reading of one store of an operator.
    pub fn new(store: Store, operator: &OperatorEntry, entry: &StoreEntry, confs: &Confs) -> Self {
        let schemas = entry.schema.iter().flat_map(|schema| &schema.families);
        let families = schemas.map(|family| {
            let older = entry.older_schemas.iter().filter_map(|old| old.family(&family.name));
            let schemas: Vec<&FamilySchema> = older.chain([family]).collect();
            FamilyReading::new(&store, operator, entry, confs, &schemas)
        });
        let families = families.collect();
        Self { store, operator_name: operator.name.clone(), families }
    }

    /// The family of that name.
    pub fn family(&self, name: &str) -> Option<&FamilyReading> {
        self.families.iter().find(|family| family.name == name)
    }
}

impl FamilyReading {
    fn new(
        store: &Store,
        operator: &OperatorEntry,
        entry: &StoreEntry,
        confs: &Confs,
        schemas: &[&FamilySchema],
    ) -> Self {
        let name = schemas.last().map_or_else(String::new, |schema| schema.name.clone());
        let framing = match store.provider {
            Provider::Hdfs => Framing::Bare,
            Provider::Rocksdb | Provider::Other => Framing::Encoded,
        };
        // Other operators of a query that pins Avro keep rows as they are.
        let encoding = if operator.name.starts_with("transformWithState") {
            confs.encoding()
        } else {
            Encoding::UnsafeRow
        };
        let checksums =
            if store.lists.checksums { RowChecksums::Present } else { RowChecksums::Absent };
        let decoder = encoder(operator, entry, schemas).and_then(|encoder| {
            FamilyDecoder::new(FamilyLayout {
                schemas,
                encoder,
                encoding,
                framing,
                lists: store.families.holds_lists(&name).then_some(store.lists.delimiter),
                checksums,
            })
        });
        let grouping = match &decoder {
            Ok(decoder) => Grouping::of(FamilyKey {
                operator: &operator.name,
                store: &store.name,
                family: &name,
                key: decoder.key_fields(),
            }),
            Err(reason) => Grouping::Unknown(reason.clone()),
        };
        let internal = store.families.is_internal(&name);
        let counts = !internal && !is_count_store(&store.name);
        Self { name, internal, counts, decoder, grouping }
    }
}

/// Whether a store holds the counts per key of a join: `numRowsTotal` leaves them out.
fn is_count_store(store: &str) -> bool {
    JOIN_STORES.contains(&store) && store.ends_with("-keyToNumValues")
}

/// From the schema file, else from operator metadata, else from what the operator is known to use.
fn encoder(
    operator: &OperatorEntry,
    entry: &StoreEntry,
    schemas: &[&FamilySchema],
) -> Result<KeyEncoder, String> {
    let Some(schema) = schemas.last() else { return Ok(KeyEncoder::NoPrefix) };
    if let Some(encoder) = &schema.key_encoder {
        return KeyEncoder::parse(encoder);
    }
    let columns = match entry.prefix_columns {
        Some(columns) => usize::try_from(columns).unwrap_or(usize::MAX),
        None if operator.name == "sessionWindowStateStoreSaveExec" => {
            schema.key_columns().len().saturating_sub(1)
        }
        None => 0,
    };
    Ok(KeyEncoder::prefix(columns))
}

/// The families of one partition's snapshot, by the prefix of its keys.
#[derive(Debug)]
pub struct Positions<'a> {
    index: FamilyIndex,
    families: Vec<(String, Option<&'a FamilyReading>)>,
}

impl<'a> Positions<'a> {
    /// The families that a mapping names.
    pub fn new(reading: &'a StoreReading, mapping: &Mapping) -> Self {
        let (index, names) = FamilyIndex::new(mapping);
        let find = |name: String| {
            // A store without families has one schema, whatever it is called.
            let only = (mapping.is_empty() && name == DEFAULT).then(|| reading.families.first());
            let family = reading.family(&name).or(only.flatten());
            (name, family)
        };
        Self { index, families: names.into_iter().map(find).collect() }
    }

    /// The position of a stored key's family, and the key without its prefix; `None` when it
    /// belongs to no family.
    pub fn split<'k>(&self, key: &'k [u8]) -> Option<(usize, &'k [u8])> {
        let at = self.index.position(key)?;
        let prefix = match self.index {
            FamilyIndex::Single => 0,
            FamilyIndex::Virtual(_) => 2,
        };
        Some((at, key.get(prefix..)?))
    }

    /// The family at a position: its name, and its reading where the schema file lists it.
    pub fn at(&self, position: usize) -> Option<(&str, Option<&'a FamilyReading>)> {
        self.families.get(position).map(|(name, family)| (name.as_str(), *family))
    }

    /// Number of families.
    pub fn len(&self) -> usize {
        self.families.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.families.is_empty()
    }
}
