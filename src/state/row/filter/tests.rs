//! What conditions mean, by hand-made tables.

use super::{Filter, FilterError, FilterErrorKind, Parsed};
use crate::state::row::types::{DataType, Field};
use crate::state::row::value::Value;

fn field(name: &str, data_type: DataType) -> Field {
    Field { name: name.to_owned(), data_type }
}

fn key() -> Vec<Field> {
    let window = vec![field("start", DataType::Timestamp), field("end", DataType::Timestamp)];
    vec![
        field("account_id", DataType::String),
        field("window", DataType::Struct(window)),
        field("shard", DataType::Integer),
        field("count", DataType::Short),
    ]
}

fn value() -> Vec<Field> {
    let map = DataType::Map(Box::new(DataType::String), Box::new(DataType::Long));
    let numbers = DataType::Map(Box::new(DataType::Integer), Box::new(DataType::Boolean));
    vec![
        field("count", DataType::Long),
        field("sum", DataType::Decimal { precision: 10, scale: 2 }),
        field("mean", DataType::Double),
        field("ratio", DataType::Float),
        field("first", DataType::Date),
        field("valueSet", DataType::Boolean),
        field("first", DataType::String),
        field("valueSet", DataType::Boolean),
        field("tags", DataType::Array(Box::new(DataType::String))),
        field("labels", map),
        field("odd `name`", DataType::Binary),
        field("local", DataType::TimestampNtz),
        field("at", DataType::Time),
        field("nothing", DataType::Long),
        field("flags", numbers),
        field("seen", DataType::Date),
        field("or", DataType::Integer),
        field("calendar", DataType::CalendarInterval),
    ]
}

/// 2026-11-01T10:00:00Z
const TEN: i64 = (20_758 * 86_400 + 36_000) * 1_000_000;

fn bind(text: &str) -> Result<Filter, FilterError> {
    Parsed::of(text)?.bind(&key(), &value())
}

fn truth(text: &str) -> Option<bool> {
    let filter = bind(text).unwrap_or_else(|error| panic!("{error}"));
    let (key, value) = (key(), value());
    let DataType::Struct(fields) = &key[1].data_type else { panic!("a struct") };
    let text = |text: &'static str| Value::String(text.into());
    let window = vec![Value::Timestamp(TEN), Value::Timestamp(TEN + 3_600_000_000)];
    let keys = vec![
        text("it's acct-7"),
        Value::Struct(fields, window),
        Value::Integer(5),
        Value::Integer(1),
    ];
    let values = vec![
        Value::Integer(9_007_199_254_740_993),
        Value::Decimal { unscaled: 1050, scale: 2 },
        Value::Double(0.1),
        Value::Float(0.1),
        Value::Date(20_758),
        Value::Boolean(true),
        text("a"),
        Value::Boolean(false),
        Value::Array(vec![text("x"), Value::Null]),
        Value::Map(vec![(text("eu"), Value::Integer(3))]),
        Value::Binary(vec![0, 255].into()),
        Value::TimestampNtz(TEN),
        Value::Time(36_000_000_000_000),
        Value::Null,
        Value::Map(vec![(Value::Integer(1), Value::Boolean(true))]),
        Value::Date(20_758),
        Value::Integer(1),
        Value::CalendarInterval { months: 1, days: 0, micros: 0 },
    ];
    filter.truth(&Value::Struct(&key, keys), &Value::Struct(&value, values))
}

#[test]
fn true_conditions() {
    for text in [
        "account_id = 'it''s acct-7' and window.start >= '2026-11-01T10:00:00Z'",
        "account_id == \"it's acct-7\"",
        "ACCOUNT_ID like '%acct-_' and not account_id like 'acct%'",
        "account_id not like 'acct%'",
        "window.start = '2026-11-01 11:00:00+01:00' and window.end > '2026-11-01 10:59:59.999999'",
        "window.start > '2026-11-01' and window.start < window.end",
        "key.window.start between '2026-11-01' and '2026-11-02'",
        "shard in (4, 5) and shard not in (6)",
        "shard = 5.0 and shard = 50e-1 and shard < 5.5",
        "5 = shard and 4 < shard and 5 >= shard",
        // The key comes first; `value.` says otherwise. 2^53 + 1 is no double.
        "count = 1 and value.count = 9007199254740993 and value.count > 9007199254740992",
        "value.count <> 9007199254740992 and value.count != 9007199254740994",
        "value.count < 99999999999999999999999 and key[2] = 5",
        "sum = 10.5 and sum > 10.499 and sum = 10.500 and sum > ratio",
        "mean = 0.1 and ratio = 0.1 and mean < ratio",
        "value[5] and not value[7] and value[6] = 'a' and value[5] = true",
        "tags[0] = 'x' and tags[1] is null and tags[9] is null",
        "labels['eu'] = 3 and labels.eu = 3 and labels['us'] is null and flags[1]",
        "`odd ``name```=x'00ff' and value.`odd ``name``` >= X'00'",
        "local = '2026-11-01T10:00:00' and at = '10:00' and seen = '2026-11-01'",
        "nothing is null and account_id is not null and calendar is not null",
        "`or` = 1 and value.or = 1",
        "((true)) and not false and (false or true)",
        "nothing = 1 or shard = 5",
        "NOT (nothing = 1 AND shard = 6)",
    ] {
        assert_eq!(truth(text), Some(true), "{text}");
    }
}

#[test]
fn false_and_neither() {
    for text in ["shard = 6", "not shard = 5", "nothing = 1 and shard = 6", "tags[0] is null"] {
        assert_eq!(truth(text), Some(false), "{text}");
    }
    for text in [
        "nothing = 1",
        "nothing <> 1",
        "not nothing = 1",
        "nothing in (1, 2)",
        "nothing not in (1)",
        "nothing = 1 or shard = 6",
        "nothing = 1 and shard = 5",
        "tags[1] = 'x'",
        "labels['us'] > 0",
        "tags[1] like '%'",
        "nothing < value.count",
    ] {
        assert_eq!(truth(text), None, "{text}");
    }
    // Halves that could not be decoded have null columns.
    let filter = bind("shard is null").unwrap();
    assert!(filter.matches(&Value::Null, &Value::Null));
    assert!(!bind("shard = 5").unwrap().matches(&Value::Null, &Value::Integer(5)));
}

#[test]
fn mistakes_say_what_where_and_how() {
    use FilterErrorKind::{AmbiguousColumn, Syntax, Type, UnknownColumn};
    for (text, kind, column, part) in [
        ("", Syntax, 1, "found the end"),
        ("shard", Type, 1, "an integer"),
        ("shard =", Syntax, 8, "found the end"),
        ("shard = 'x'", Type, 9, "an integer, not a string"),
        ("shard = '5'", Type, 9, "without quotes"),
        ("account_id = 7", Type, 14, "write '7'"),
        ("account_id = null", Type, 14, "is null"),
        ("shard in (1, null)", Type, 14, "is null"),
        ("acount_id = 'a'", UnknownColumn, 1, "account_id, window.start"),
        ("window.stat = 'a'", UnknownColumn, 7, "window has start, end"),
        ("value.shard = 1", UnknownColumn, 6, "value has count"),
        ("first = 'a'", AmbiguousColumn, 1, "value[4] or value[6]"),
        ("value.first = 'a'", AmbiguousColumn, 6, "value[4] or value[6]"),
        ("window = 1", Type, 10, ".start"),
        ("calendar > 1", Type, 12, "is null"),
        ("tags = 'x'", Type, 8, "[0]"),
        ("tags.x = 'x'", Type, 5, "[0]"),
        ("tags['x'] = 'x'", Type, 5, "whole number"),
        ("tags[-1] = 'x'", Type, 5, "counted from 0"),
        ("labels[0] = 1", Type, 7, "a string, not a number"),
        ("account_id[0] = 'a'", Type, 11, "nothing is inside"),
        ("window.start > '2026-13-01'", Type, 16, "'2026-11-01T10:00:00Z'"),
        ("window.start > 5", Type, 16, "a timestamp, not a number"),
        ("local > '2026-11-01T10:00:00Z'", Type, 9, "no zone"),
        ("shard = 1 or", Syntax, 13, "found the end"),
        ("shard = 1 shard = 2", Syntax, 11, "`and`, `or`"),
        ("(shard = 1", Syntax, 11, "expected `)`"),
        ("shard = 1)", Syntax, 10, "closes nothing"),
        ("shard = 1 && count = 1", Syntax, 11, "`and`"),
        ("account_id = 'a", Syntax, 14, "not closed"),
        ("account_id = acct-7", Syntax, 18, "`and`, `or`"),
        ("shard = 7b", Syntax, 9, "not a number"),
        ("shard = 1 = 1", Syntax, 11, "two sides"),
        ("1 = 1", Type, 3, "neither side"),
        ("shard = account_id", Type, 1, "cannot be compared"),
        ("shard is 5", Syntax, 10, "is not null"),
        ("and = 1", Syntax, 1, "`and`"),
        ("shard like '5'", Type, 1, "like is for strings"),
        ("value.`odd ``name``` = x'0'", Syntax, 24, "x'00ff'"),
        ("mean = 1e999", Type, 8, "double"),
        ("shard = 1234567890123456789012345678901234567891", Type, 9, "38 digits"),
        ("\u{1b}[2J = 1", Syntax, 1, "not part"),
    ] {
        let error = bind(text).expect_err(text);
        let shown = error.to_string();
        assert_eq!((error.kind(), error.column()), (kind, column), "{text}: {shown}");
        assert!(shown.contains(part), "{text}: {shown}");
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
}

#[test]
fn the_mark_stands_below_the_place() {
    let error = bind("account_id = '漢字' and shard = 'x'").unwrap_err();
    assert_eq!(
        error.to_string(),
        "shard: it is an integer, not a string, at column 31\n  \
         account_id = '漢字' and shard = 'x'\n                                  ^^^\n\
         write a number such as 42 or -0.5"
    );
}

#[test]
fn size_and_depth_are_bounded() {
    let deep = |depth: usize| format!("{}true{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Parsed::of(&deep(60)).is_ok());
    assert_eq!(Parsed::of(&deep(8000)).unwrap_err().kind(), FilterErrorKind::Syntax);
    assert!(Parsed::of(&"not ".repeat(4000)).is_err());
    assert!(Parsed::of(&"a.".repeat(4000)).is_err());
    assert!(Parsed::of(&"x".repeat(20_000)).is_err());
}

#[test]
fn only_conditions_on_values_need_them() {
    assert!(!bind("account_id = 'a' and (shard is null or count > 1)").unwrap().needs_value());
    assert!(bind("account_id = 'a' or not value.count > 1").unwrap().needs_value());
    assert!(bind("shard = sum").unwrap().needs_value());
}

#[test]
fn a_conjunction_that_names_the_whole_grouping_key_pins_it() {
    let key = key();
    let pinned = |text: &str, columns: &[&[usize]]| bind(text).unwrap().pinned(&key, columns);
    let text = |text: &'static str| Value::String(text.into());
    let whole: &[&[usize]] = &[&[0], &[2]];
    let expected = Some(vec![text("a"), Value::Integer(5)]);
    for condition in [
        "account_id = 'a' and shard = 5",
        "(5.0 = shard and (value.count > 3)) and account_id in ('a')",
    ] {
        assert_eq!(pinned(condition, whole), expected, "{condition}");
    }
    for condition in [
        "account_id = 'a'",
        "account_id = 'a' or shard = 5",
        "account_id = 'a' and shard > 5",
        "account_id = 'a' and shard = 5.5",
        "account_id = 'a' and shard = 2147483648",
        "account_id = 'a' and shard in (5, 6)",
        "not (account_id = 'a' and shard = 5)",
    ] {
        assert_eq!(pinned(condition, whole), None, "{condition}");
    }
    let null = pinned("account_id is null and shard = 5", whole);
    assert_eq!(null, Some(vec![Value::Null, Value::Integer(5)]));

    let window = "window.start = '2026-11-01T10:00:00Z' and window.end = '2026-11-01T11:00:00Z'";
    let ends = [Value::Timestamp(TEN), Value::Timestamp(TEN + 3_600_000_000)];
    let DataType::Struct(fields) = &key[1].data_type else { panic!("a struct") };
    let expected = Some(vec![Value::Struct(fields, ends.to_vec())]);
    assert_eq!(pinned(window, &[&[1]]), expected);
    assert_eq!(pinned(window, &[&[1, 0], &[1, 1]]), Some(ends.to_vec()));
    assert_eq!(pinned("window.start = '2026-11-01T10:00:00Z'", &[&[1]]), None);
    assert_eq!(pinned("true", &[]), Some(vec![]));
}

#[test]
fn pinned_numbers_have_their_columns_type() {
    let check = |data_type: DataType, condition: &str, expected: Option<Value<'static>>| {
        let key = vec![field("k", data_type)];
        let filter = Parsed::of(condition).unwrap().bind(&key, &[]).unwrap();
        let expected = expected.map(|value| vec![value]);
        assert_eq!(filter.pinned(&key, &[&[0]]), expected, "{condition}");
    };
    let decimal = || DataType::Decimal { precision: 5, scale: 2 };
    let money = Some(Value::Decimal { unscaled: 1050, scale: 2 });
    check(decimal(), "k = 10.5", money.clone());
    check(decimal(), "k = 10.500", money);
    check(decimal(), "k = 10.501", None);
    check(decimal(), "k = 1000", None);
    check(DataType::Double, "k = 3", Some(Value::Double(3.0)));
    check(DataType::Double, "k = 0.1", Some(Value::Double(0.1)));
    check(DataType::Float, "k = 0.1", Some(Value::Float(0.1)));
    check(DataType::Double, "k = 9007199254740993", None);
    check(DataType::Float, "k = '-Infinity'", Some(Value::Float(f32::NEG_INFINITY)));
    check(DataType::Byte, "k = 128", None);
    check(DataType::Byte, "k = -128", Some(Value::Integer(-128)));
}

#[test]
fn columns_called_key_and_value() {
    let inner = DataType::Struct(vec![field("id", DataType::Long)]);
    let key = vec![field("key", inner.clone()), field("value", DataType::Long)];
    let value = vec![field("value", inner)];
    let bind = |text: &str| Parsed::of(text).unwrap().bind(&key, &value);
    for text in ["key.id = 1", "key.key.id = 1", "key.value = 1", "value = 1", "`value` = 1"] {
        assert!(!bind(text).unwrap().needs_value(), "{text}");
    }
    assert!(bind("value.value.id = 1").unwrap().needs_value());
}
