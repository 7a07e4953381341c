//! What holds for every condition: no text brings the reader down, and the laws of
//! three-valued logic.

use proptest::prelude::*;

use super::{Parsed, compare};
use crate::state::row::types::{DataType, Field};
use crate::state::row::value::Value;

fn columns() -> Vec<Field> {
    let field = |name: &str, data_type| Field { name: name.to_owned(), data_type };
    vec![
        field("a", DataType::Long),
        field("b", DataType::Double),
        field("c", DataType::String),
        field("d", DataType::Boolean),
    ]
}

fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("a"),
        Just("b"),
        Just("c"),
        Just("key."),
        Just("value."),
        Just("="),
        Just("<"),
        Just("("),
        Just(")"),
        Just("["),
        Just("]"),
        Just("and"),
        Just("or"),
        Just("not"),
        Just("in"),
        Just("like"),
        Just("is"),
        Just("null"),
        Just("between"),
        Just("'x'"),
        Just("1"),
        Just("-1.5e3"),
        Just("x'00'"),
        Just("`"),
        Just(","),
        Just("."),
        Just("é"),
    ];
    prop::collection::vec(word, 0..30).prop_map(|words| words.join(" "))
}

fn condition() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (-2_i64..3).prop_map(|n| format!("key.a < {n}")),
        (-2_i64..3).prop_map(|n| format!("key.b = {n}.5")),
        Just("key.c like 'x%'".to_owned()),
        Just("key.c is null".to_owned()),
        Just("key.d".to_owned()),
        Just("key.a <= key.b".to_owned()),
        Just("key.a in (0, 1)".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(p, q)| format!("({p} and {q})")),
            (inner.clone(), inner.clone()).prop_map(|(p, q)| format!("({p} or {q})")),
            inner.prop_map(|p| format!("(not {p})")),
        ]
    })
}

fn row() -> impl Strategy<Value = Vec<Value<'static>>> {
    fn or_null(
        value: impl Strategy<Value = Value<'static>>,
    ) -> impl Strategy<Value = Value<'static>> {
        prop_oneof![1 => Just(Value::Null), 2 => value]
    }
    let text = prop_oneof![Just("x"), Just("xy"), Just("z")];
    (
        or_null((-2_i64..3).prop_map(Value::Integer)),
        or_null((-2_i32..3).prop_map(|n| Value::Double(f64::from(n) + 0.5))),
        or_null(text.prop_map(|text| Value::String(text.into()))),
        or_null(any::<bool>().prop_map(Value::Boolean)),
    )
        .prop_map(|(a, b, c, d)| vec![a, b, c, d])
}

fn truth(text: &str, row: &[Value<'static>]) -> Option<bool> {
    let columns = columns();
    let filter = Parsed::of(text).unwrap().bind(&columns, &[]).unwrap();
    filter.truth(&Value::Struct(&columns, row.to_vec()), &Value::Null)
}

fn number() -> impl Strategy<Value = Value<'static>> {
    prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        (any::<i128>(), 0_u8..39).prop_map(|(unscaled, scale)| Value::Decimal { unscaled, scale }),
        any::<f64>().prop_map(Value::Double),
        any::<f32>().prop_map(Value::Float),
    ]
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        if let Err(error) = Parsed::of(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn no_words_panic(text in words()) {
        match Parsed::of(&text).and_then(|parsed| parsed.bind(&columns(), &columns())) {
            Ok(filter) => { filter.matches(&Value::Null, &Value::Null); }
            Err(error) => prop_assert!(error.column() <= text.chars().count() + 1),
        }
    }

    #[test]
    fn de_morgan_and_double_negation(p in condition(), q in condition(), row in row()) {
        prop_assert_eq!(
            truth(&format!("not ({p} and {q})"), &row),
            truth(&format!("not {p} or not {q}"), &row)
        );
        prop_assert_eq!(
            truth(&format!("not ({p} or {q})"), &row),
            truth(&format!("not {p} and not {q}"), &row)
        );
        prop_assert_eq!(truth(&format!("not not {p}"), &row), truth(&p, &row));
        prop_assert_eq!(
            truth(&format!("{p} and {q}"), &row),
            truth(&format!("{q} and {p}"), &row)
        );
        let known = truth(&p, &row).is_some();
        prop_assert_eq!(truth(&format!("{p} or not {p}"), &row), known.then_some(true));
    }

    #[test]
    fn the_order_of_numbers_is_one(a in number(), b in number(), c in number()) {
        let order = compare(&a, &b).unwrap();
        prop_assert_eq!(compare(&b, &a), Some(order.reverse()));
        if order.is_le() && compare(&b, &c).unwrap().is_le() {
            prop_assert!(compare(&a, &c).unwrap().is_le());
        }
    }
}
