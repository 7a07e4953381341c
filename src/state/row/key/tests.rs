//! Keys in bytes built by hand, and that no input panics.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn field(name: &str, data_type: DataType) -> Field {
    Field { name: name.to_owned(), data_type }
}

/// A row of words: the bitmap and the slots.
fn row(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn encoded(row: &[u8]) -> Vec<u8> {
    [&[0], row].concat()
}

fn prefixed(first: &[u8], rest: &[u8]) -> Vec<u8> {
    [&u32::try_from(first.len()).unwrap().to_le_bytes(), first, rest].concat()
}

fn layout(fields: Vec<Field>, encoder: KeyEncoder) -> KeyLayout {
    KeyLayout::new(fields, encoder, Framing::Encoded).unwrap()
}

fn longs(count: usize) -> Vec<Field> {
    (0..count).map(|at| field(&format!("c{at}"), DataType::Long)).collect()
}

#[test]
fn encoders_by_the_names_of_schema_files() {
    let parse = |json: Json| KeyEncoder::parse(&json);
    assert_eq!(
        parse(
            json!({"keyStateEncoderType": "PrefixKeyScanStateEncoderSpec", "numColsPrefixKey": 2})
        ),
        Ok(KeyEncoder::PrefixScan { columns: 2 })
    );
    assert_eq!(
        parse(
            json!({"keyStateEncoderType": "RangeKeyScanStateEncoderSpec", "orderingOrdinals": [1, 0]})
        ),
        Ok(KeyEncoder::RangeScan { ordinals: vec![1, 0] })
    );
    assert_eq!(
        parse(json!({"keyStateEncoderType": "TimestampAsPostfixKeyStateEncoderSpec"})),
        Ok(KeyEncoder::TimePostfix)
    );
    for bad in [
        json!({}),
        json!({"keyStateEncoderType": "Next"}),
        json!({"keyStateEncoderType": "PrefixKeyScanStateEncoderSpec"}),
        json!({"keyStateEncoderType": "RangeKeyScanStateEncoderSpec", "orderingOrdinals": [-1]}),
    ] {
        assert!(parse(bad).is_err());
    }
    assert_eq!(KeyEncoder::prefix(0), KeyEncoder::NoPrefix);
}

#[test]
fn encoders_must_fit_their_columns() {
    for encoder in [
        KeyEncoder::PrefixScan { columns: 3 },
        KeyEncoder::RangeScan { ordinals: vec![2] },
        KeyEncoder::RangeScan { ordinals: vec![1, 1] },
    ] {
        assert!(KeyLayout::new(longs(2), encoder, Framing::Encoded).is_err());
    }
    assert!(KeyLayout::new(vec![], KeyEncoder::TimePrefix, Framing::Encoded).is_err());
}

#[test]
fn one_row_with_and_without_a_version() {
    let bytes = row(&[0b10, 5, 0]);
    let encoded = encoded(&bytes);
    let rocks = layout(longs(2), KeyEncoder::NoPrefix);
    let expected = vec![Value::Integer(5), Value::Null];
    assert_eq!(rocks.view(&encoded).unwrap().values().unwrap(), expected);
    let prefix = KeyEncoder::PrefixScan { columns: 1 };
    let hdfs = KeyLayout::new(longs(2), prefix, Framing::Bare).unwrap();
    assert_eq!(hdfs.view(&bytes).unwrap().values().unwrap(), expected);
    assert!(rocks.view(&bytes[1..]).is_err());
    let newer = [&[1], &bytes[..]].concat();
    assert!(rocks.view(&newer).unwrap_err().reason.contains("encoding version 1"));
    assert_eq!(rocks.view(&newer).unwrap_err().bytes, newer);
}

#[test]
fn a_prefix_and_the_other_columns() {
    let first = encoded(&row(&[0, 1]));
    let rest = encoded(&row(&[0, 2, 3]));
    let key = prefixed(&first, &rest);
    let layout = layout(longs(3), KeyEncoder::PrefixScan { columns: 1 });
    let view = layout.view(&key).unwrap();
    assert_eq!(view.values().unwrap(), [1, 2, 3].map(Value::Integer));
    let KeyColumn::Slot(row, at) = view.column(2).unwrap() else { panic!("no slot") };
    assert_eq!(row.word(at), 3);
    assert!(view.column(3).is_err());
    assert!(layout.view(&prefixed(&first, b"")).is_err());
    assert!(layout.view(&[0xff, 0xff, 0xff, 0xff, 0]).is_err());
}

/// The worked example of the format's description: the timer index of transformWithState.
#[test]
fn a_timer_of_the_range_scan() {
    let grouping = [&row(&[0, 16 << 32 | 7])[..], b"key-001\0"].concat();
    // A struct column holds its row as a variable part: 24 bytes at offset 16.
    let rest = encoded(&[&row(&[0, 16 << 32 | 24])[..], &grouping].concat());
    let first = [
        &[0x00][..],
        &[0; 8],
        &[0x09, 0, 0, 0, 0x10, 0, 0, 0],
        &[0x01],
        &[0x00, 0x00, 0x01, 0xa2, 0x2d, 0x6e, 0x21, 0x18],
        &[0; 7],
    ]
    .concat();
    assert_eq!(first.len(), 0x21);
    let key = prefixed(&first, &rest);
    let fields = vec![
        field("expiryTimestampMs", DataType::Long),
        field("key", DataType::Struct(vec![field("value", DataType::String)])),
    ];
    let layout = layout(fields, KeyEncoder::RangeScan { ordinals: vec![0] });
    let values = layout.view(&key).unwrap().values().unwrap();
    assert_eq!(values[0], Value::Integer(0x01a2_2d6e_2118));
    let Value::Struct(_, inner) = &values[1] else { panic!("no struct") };
    assert_eq!(inner[..], [Value::String("key-001".into())]);
}

#[test]
fn ordering_columns_of_each_width_and_sign() {
    let word = |marker, value: &[u8], data_type| ordering_word(marker, value, &data_type);
    let value = |marker, bytes: &[u8], data_type: DataType| {
        let word = ordering_word(marker, bytes, &data_type).unwrap().unwrap();
        format!("{:?}", word_value(word, &data_type).unwrap())
    };
    assert_eq!(value(0, &[0xfe], DataType::Byte), "Integer(-2)");
    assert_eq!(value(0, &[0xff, 0xfe], DataType::Short), "Integer(-2)");
    assert_eq!(value(1, &[0, 0, 1, 2], DataType::Integer), "Integer(258)");
    // -1.5 is 0xbfc00000, all bits inverted.
    assert_eq!(value(0, &[0x40, 0x3f, 0xff, 0xff], DataType::Float), "Float(-1.5)");
    assert_eq!(value(1, &[0x3f, 0xf8, 0, 0, 0, 0, 0, 0], DataType::Double), "Double(1.5)");
    assert_eq!(word(2, &[0; 8], DataType::Long), Ok(None));
    assert!(word(3, &[0; 8], DataType::Long).is_err());
    assert!(word(1, &[0; 4], DataType::Long).is_err());
    assert!(word(1, &[], DataType::Boolean).is_err(), "Spark writes no bytes for it");
}

#[test]
fn ordering_columns_go_back_to_their_places() {
    // Schema [a, b, c], ordered by c, then a; the ordering row has two binary columns.
    let parts = [9_u64 | 24 << 32, 9_u64 | 40 << 32];
    let mut first = row(&[0, parts[0], parts[1]]);
    for value in [30_i64, 10] {
        first.extend([&[1][..], &value.to_be_bytes(), &[0; 7]].concat());
    }
    let key = prefixed(&encoded(&first), &encoded(&row(&[0, 20])));
    let layout = layout(longs(3), KeyEncoder::RangeScan { ordinals: vec![2, 0] });
    let view = layout.view(&key).unwrap();
    assert_eq!(view.values().unwrap(), [10, 20, 30].map(Value::Integer));
    assert_eq!(view.column(0).unwrap(), KeyColumn::Word(10));
}

#[test]
fn times_before_and_after() {
    let fields = || vec![field("field0", DataType::Long), field("__event_time", DataType::Long)];
    let encoded = encoded(&row(&[0, 5]));
    let expected = [5, -2].map(Value::Integer);
    // -2 is 0xff..fe; its sign bit flipped makes 0x7f..fe.
    let time = [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe];
    let key = [&time[..], &encoded].concat();
    let prefix = layout(fields(), KeyEncoder::TimePrefix);
    assert_eq!(prefix.view(&key).unwrap().values().unwrap(), expected);
    let key = [&encoded[..], &time].concat();
    let postfix = layout(fields(), KeyEncoder::TimePostfix);
    assert_eq!(postfix.view(&key).unwrap().values().unwrap(), expected);
    assert!(postfix.view(&key[..7]).is_err());
}

proptest! {
    #[test]
    fn no_key_panics(bytes in prop::collection::vec(any::<u8>(), 0..80), which in 0..5_usize) {
        let encoder = [
            KeyEncoder::NoPrefix,
            KeyEncoder::PrefixScan { columns: 1 },
            KeyEncoder::RangeScan { ordinals: vec![1] },
            KeyEncoder::TimePrefix,
            KeyEncoder::TimePostfix,
        ][which].clone();
        let fields = vec![field("a", DataType::String), field("b", DataType::Long)];
        let layout = layout(fields, encoder);
        if let Ok(view) = layout.view(&bytes) {
            let _ = view.values();
        }
    }
}
