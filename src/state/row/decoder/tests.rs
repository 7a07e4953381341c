//! Rows in bytes built by hand and from Spark's changelogs.

use serde_json::{Value as Json, json};

use super::*;
use crate::state::row::checksum::row_checksum;
use crate::state::row::render;

fn schema(key: &Json, value: &Json) -> FamilySchema {
    FamilySchema {
        name: "f".to_owned(),
        key: json!({"type": "struct", "fields": key}),
        value: json!({"type": "struct", "fields": value}),
        key_encoder: None,
        user_key: None,
        key_schema_id: 0,
        value_schema_id: 0,
    }
}

fn column(name: &str, data_type: &Json) -> Json {
    json!({"name": name, "type": data_type, "nullable": true, "metadata": {}})
}

fn account() -> Json {
    json!({"type": "struct", "fields": [column("account_id", &json!("string"))]})
}

fn decoder(schema: &FamilySchema, encoder: KeyEncoder, encoding: Encoding) -> FamilyDecoder {
    FamilyDecoder::new(FamilyLayout {
        schemas: &[schema],
        encoder,
        encoding,
        framing: Framing::Encoded,
        lists: None,
        checksums: RowChecksums::Absent,
    })
    .unwrap()
}

fn json(value: &Value<'_>) -> String {
    serde_json::to_string(&render::Json(value)).unwrap()
}

/// Keys as changelogs of Spark 4.3.0 hold them (fixture `tws-avro-4.3.0`).
#[test]
fn avro_keys_of_a_prefix_and_a_range_scan() {
    let kind = json!({"type": "struct", "fields": [column("kind", &json!("string"))]});
    let schema_of_map = schema(
        &json!([column("key", &account()), column("userKey", &kind)]),
        &json!([column("n", &json!("long"))]),
    );
    let prefix = KeyEncoder::PrefixScan { columns: 1 };
    let map = decoder(&schema_of_map, prefix, Encoding::Avro);
    let key =
        [&[0x0b, 0, 0, 0, 0, 2, 2, 0x0e][..], b"acct-12", &[0, 0, 0, 2, 2, 4], b"k4"].concat();
    assert_eq!(
        json(&map.key(&key).unwrap()),
        r#"{"key":{"account_id":"acct-12"},"userKey":{"kind":"k4"}}"#
    );
    let values: Vec<_> = map.values(&[0, 0, 0, 2, 6]).map(|v| json(&v.unwrap())).collect();
    assert_eq!(values, [r#"{"n":3}"#]);
    let newer = map.value(&[0, 1, 0, 2, 6]).unwrap_err();
    assert!(newer.reason.contains("no schema of id 1"));

    let schema_of_ttl = schema(
        &json!([column("expirationMs", &json!("long")), column("elementKey", &account())]),
        &json!([column("__empty__", &json!("void"))]),
    );
    let range = KeyEncoder::RangeScan { ordinals: vec![0] };
    let ttl = decoder(&schema_of_ttl, range, Encoding::Avro);
    let key = [
        &[0x0e, 0, 0, 0, 0, 2, 2, 1, 2, 0x10, 0, 0, 1, 0xa2, 0x33, 0x73, 0x31, 0xc6][..],
        &[0, 0, 0, 2, 2, 0x0e],
        b"acct-12",
    ]
    .concat();
    assert_eq!(
        json(&ttl.key(&key).unwrap()),
        format!(
            r#"{{"expirationMs":{},"elementKey":{{"account_id":"acct-12"}}}}"#,
            0x01a2_3373_31c6_i64
        )
    );
    assert!(ttl.key(&key[..20]).is_err());
}

#[test]
fn checksums_of_plain_values_and_of_lists() {
    let schema =
        schema(&json!([column("k", &json!("long"))]), &json!([column("n", &json!("long"))]));
    let with = |framing, lists| {
        FamilyDecoder::new(FamilyLayout {
            schemas: &[&schema],
            encoder: KeyEncoder::NoPrefix,
            encoding: Encoding::UnsafeRow,
            framing,
            lists,
            checksums: RowChecksums::Present,
        })
        .unwrap()
    };
    let row = |n: u8| [&[0; 8][..], &[n, 0, 0, 0, 0, 0, 0, 0]].concat();
    let key = b"any key";
    let bare = [&row_checksum(key, &row(7)).to_le_bytes()[..], &row(7)].concat();
    let hdfs = with(Framing::Bare, None);
    assert_eq!(hdfs.verify(key, &bare), Ok(1));
    assert_eq!(json(&hdfs.values(&bare).next().unwrap().unwrap()), r#"{"n":7}"#);

    let element = |n| {
        let encoded = [&[0][..], &row(n)].concat();
        [&row_checksum(key, &encoded).to_le_bytes()[..], &[17, 0, 0, 0], &encoded].concat()
    };
    let plain = with(Framing::Encoded, None);
    assert_eq!(plain.verify(key, &element(1)), Ok(1));
    assert_eq!(json(&plain.values(&element(1)).next().unwrap().unwrap()), r#"{"n":1}"#);
    assert!(plain.verify(b"other", &element(1)).is_err());
    assert!(plain.verify(key, &[element(1), element(2)].concat()).is_err());
    // In a list the checksum is of the element with its own length.
    let in_list = |n| {
        let encoded = [&[17, 0, 0, 0, 0][..], &row(n)].concat();
        [&row_checksum(key, &encoded).to_le_bytes()[..], &[21, 0, 0, 0], &encoded].concat()
    };
    let two = [in_list(1), b",".to_vec(), in_list(2)].concat();
    let list = with(Framing::Encoded, Some(MergeDelimiter::Comma));
    assert_eq!(list.verify(key, &two), Ok(2));
    assert_eq!(list.values(&two).flatten().count(), 2);
    let mut flipped = two;
    *flipped.last_mut().unwrap() ^= 1;
    let wrong = list.verify(key, &flipped).unwrap_err();
    assert!(matches!(wrong, ChecksumMismatch::Differs { element: 1, .. }));
}
