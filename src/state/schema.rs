//! State schema files, format v1 to v3: which columns the keys and values of each family
//! have, and how keys are encoded.
//!
//! Strings are Java-UTF, integers big-endian, nothing is compressed. Parsing works on
//! bytes; where the file lies is the caller's business.

use serde_json::Value;

/// Families that a schema file may list. Spark gives ids of 16 bits.
const MAX_FAMILIES: i32 = i16::MAX as i32;
/// Chunks of at most 64 KiB that a schema may have; files are read whole and bounded before.
const MAX_CHUNKS: i32 = 4096;
/// What v3 has in place of a user key schema where there is none.
const NO_USER_KEY: &str = "{    }";

/// The schemas of one store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreSchema {
    /// The file's format, 1 to 3.
    pub version: u32,
    /// One per family; a single `default` for v1 and v2.
    pub families: Vec<FamilySchema>,
}

/// The schema of one column family.
#[derive(Debug, Clone, PartialEq)]
pub struct FamilySchema {
    /// The family's name.
    pub name: String,
    /// Spark's `StructType` JSON of the key.
    pub key: Value,
    /// Spark's `StructType` JSON of the value.
    pub value: Value,
    /// The key encoder with its parameters, v3 only.
    pub key_encoder: Option<Value>,
    /// Key schema of a map state's user key.
    pub user_key: Option<Value>,
    /// Id under which Avro rows refer to the key schema.
    pub key_schema_id: i16,
    /// Id under which Avro rows refer to the value schema.
    pub value_schema_id: i16,
}

impl FamilySchema {
    /// Names of the key's columns, in order.
    pub fn key_columns(&self) -> Vec<&str> {
        columns(&self.key)
    }

    /// Names of the value's columns, in order.
    pub fn value_columns(&self) -> Vec<&str> {
        columns(&self.value)
    }

    /// Spark's name of the key encoder (`PrefixKeyScanStateEncoderSpec`).
    pub fn key_encoder_name(&self) -> Option<&str> {
        self.key_encoder.as_ref()?.get("keyStateEncoderType")?.as_str()
    }
}

/// The `(name, type)` of the columns of a `StructType` JSON; types that are not simple are `""`.
pub fn typed_columns(schema: &Value) -> Vec<(&str, &str)> {
    let fields = schema.get("fields").and_then(Value::as_array);
    fields
        .into_iter()
        .flatten()
        .map(|field| {
            let text = |name| field.get(name).and_then(Value::as_str).unwrap_or_default();
            (text("name"), text("type"))
        })
        .collect()
}

fn columns(schema: &Value) -> Vec<&str> {
    typed_columns(schema).into_iter().map(|(name, _)| name).collect()
}

impl StoreSchema {
    /// Parses a schema file.
    ///
    /// # Errors
    /// A sentence with what was expected and found.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut input = Input(bytes);
        let version = input.string("the version")?;
        match version.as_str() {
            "v1" => {
                let (key, value) =
                    (input.string("the key schema")?, input.string("the value schema")?);
                Self::single(1, &key, &value)
            }
            "v2" => {
                let (key, value) =
                    (input.chunked("the key schema")?, input.chunked("the value schema")?);
                Self::single(2, &key, &value)
            }
            "v3" => Self::families(&mut input),
            other => {
                let other: String = other.chars().take(20).collect();
                Err(format!("schema format {other:?}, expected \"v1\" to \"v3\""))
            }
        }
    }

    /// The family of that name.
    pub fn family(&self, name: &str) -> Option<&FamilySchema> {
        self.families.iter().find(|family| family.name == name)
    }

    /// The `default` family, or the first one of a store that has no such schema.
    pub fn main_family(&self) -> Option<&FamilySchema> {
        self.family("default").or_else(|| self.families.first())
    }

    fn single(version: u32, key: &str, value: &str) -> Result<Self, String> {
        let family = FamilySchema {
            name: "default".to_owned(),
            key: json(key, "the key schema")?,
            value: json(value, "the value schema")?,
            key_encoder: None,
            user_key: None,
            key_schema_id: 0,
            value_schema_id: 0,
        };
        Ok(Self { version, families: vec![family] })
    }

    fn families(input: &mut Input<'_>) -> Result<Self, String> {
        let count = input.int("the number of families")?;
        if !(0..=MAX_FAMILIES).contains(&count) {
            return Err(format!("{count} families, expected 0 to {MAX_FAMILIES}"));
        }
        let families = (0..count).map(|_| family(input)).collect::<Result<_, _>>()?;
        Ok(Self { version: 3, families })
    }
}

fn family(input: &mut Input<'_>) -> Result<FamilySchema, String> {
    let name = input.string("a family name")?;
    let key_schema_id = input.short("a key schema id")?;
    let key = input.chunked("a key schema")?;
    let value_schema_id = input.short("a value schema id")?;
    let value = input.chunked("a value schema")?;
    let encoder = input.chunked("a key encoder")?;
    let user_key = input.chunked("a user key schema")?;
    Ok(FamilySchema {
        name,
        key: json(&key, "a key schema")?,
        value: json(&value, "a value schema")?,
        key_encoder: Some(json(&encoder, "a key encoder")?),
        user_key: match user_key.as_str() {
            NO_USER_KEY | "" => None,
            schema => Some(json(schema, "a user key schema")?),
        },
        key_schema_id,
        value_schema_id,
    })
}

fn json(text: &str, what: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{what} is no JSON: {error}"))
}

/// The bytes not read yet.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N], String> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or_else(|| {
            format!("the file ends early: expected {what}, found {} bytes", self.0.len())
        })?;
        self.0 = tail;
        Ok(*head)
    }

    fn int(&mut self, what: &str) -> Result<i32, String> {
        self.take(what).map(i32::from_be_bytes)
    }

    fn short(&mut self, what: &str) -> Result<i16, String> {
        self.take(what).map(i16::from_be_bytes)
    }

    /// A Java-UTF string. Modified UTF-8 differs from UTF-8 only for NUL and for characters
    /// outside the basic plane (surrogate pairs of three bytes each).
    fn string(&mut self, what: &str) -> Result<String, String> {
        let length = usize::from(u16::from_be_bytes(self.take(what)?));
        let (head, tail) = self.0.split_at_checked(length).ok_or_else(|| {
            format!(
                "the file ends early: expected {what} of {length} bytes, found {}",
                self.0.len()
            )
        })?;
        self.0 = tail;
        modified_utf8(head).ok_or_else(|| format!("{what} is no Java string"))
    }

    fn chunked(&mut self, what: &str) -> Result<String, String> {
        let chunks = self.int(what)?;
        if !(0..=MAX_CHUNKS).contains(&chunks) {
            return Err(format!("{what} has {chunks} chunks, expected 0 to {MAX_CHUNKS}"));
        }
        (0..chunks).try_fold(String::new(), |text, _| Ok(text + &self.string(what)?))
    }
}

/// Decodes Java's modified UTF-8 through UTF-16 units, which it is made of.
fn modified_utf8(bytes: &[u8]) -> Option<String> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some(text.to_owned());
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, tail)) = rest.split_first() {
        let (unit, tail) = match first {
            0x00..=0x7f => (u16::from(first), tail),
            0xc0..=0xdf => {
                let (&[second], tail) = tail.split_first_chunk()?;
                (u16::from(first & 0x1f) << 6 | u16::from(second & 0x3f), tail)
            }
            0xe0..=0xef => {
                let (&[second, third], tail) = tail.split_first_chunk()?;
                let high = u16::from(first & 0x0f) << 12;
                (high | u16::from(second & 0x3f) << 6 | u16::from(third & 0x3f), tail)
            }
            _ => return None,
        };
        units.push(unit);
        rest = tail;
    }
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn utf(text: &str) -> Vec<u8> {
        [&u16::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat()
    }

    fn chunked(parts: &[&str]) -> Vec<u8> {
        let mut out = u32::try_from(parts.len()).unwrap().to_be_bytes().to_vec();
        for part in parts {
            out.extend(utf(part));
        }
        out
    }

    const KEY: &str = r#"{"type":"struct","fields":[{"name":"k","type":"string","nullable":true,"metadata":{}}]}"#;
    const VALUE: &str = r#"{"type":"struct","fields":[{"name":"count","type":"long","nullable":true,"metadata":{}}]}"#;

    #[test]
    fn v2_joins_its_chunks() {
        let (head, tail) = KEY.split_at(20);
        let file = [utf("v2"), chunked(&[head, tail]), chunked(&[VALUE])].concat();
        let schema = StoreSchema::parse(&file).unwrap();
        assert_eq!(schema.version, 2);
        assert_eq!(schema.families[0].key_columns(), ["k"]);
        assert_eq!(typed_columns(&schema.families[0].value), [("count", "long")]);
    }

    #[test]
    fn v3_has_families_with_encoders() {
        let family = |name: &str, user_key: &str| {
            let encoder =
                r#"{"keyStateEncoderType":"PrefixKeyScanStateEncoderSpec","numColsPrefixKey":1}"#;
            [
                utf(name),
                vec![0, 0],
                chunked(&[KEY]),
                vec![0, 1],
                chunked(&[VALUE]),
                chunked(&[encoder]),
                chunked(&[user_key]),
            ]
            .concat()
        };
        let file =
            [utf("v3"), vec![0, 0, 0, 2], family("default", NO_USER_KEY), family("$ttl_m", KEY)]
                .concat();
        let schema = StoreSchema::parse(&file).unwrap();
        let ttl = schema.family("$ttl_m").unwrap();
        assert_eq!(ttl.key_encoder_name(), Some("PrefixKeyScanStateEncoderSpec"));
        assert_eq!((ttl.key_schema_id, ttl.value_schema_id), (0, 1));
        assert!(ttl.user_key.is_some());
        assert_eq!(schema.main_family().unwrap().user_key, None);
    }

    #[test]
    fn a_cut_file_says_where() {
        let file = [utf("v2"), chunked(&[KEY])].concat();
        assert!(StoreSchema::parse(&file).unwrap_err().contains("the value schema"));
        assert!(StoreSchema::parse(b"").unwrap_err().contains("the version"));
        assert!(StoreSchema::parse(&utf("v9")).unwrap_err().contains("v9"));
    }

    #[test]
    fn java_strings_have_surrogate_pairs() {
        // U+1F600 as two surrogates of three bytes each, and NUL as two bytes.
        let bytes = [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80, 0xc0, 0x80];
        assert_eq!(modified_utf8(&bytes).unwrap(), "\u{1f600}\0");
    }

    proptest! {
        #[test]
        fn no_input_panics(version in 1..4_u8, body in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = StoreSchema::parse(&[&[0, 2, b'v', b'0' + version][..], &body].concat());
        }
    }
}
