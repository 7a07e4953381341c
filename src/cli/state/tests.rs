//! The three formats of one set of nasty rows.

use clap::Parser;
use serde_json::json;

use super::*;
use crate::cli::look::{Look, Paint};
use crate::console::Charset;
use crate::reader::Change;
use crate::state::row::types::{DataType, Field};
use crate::state::row::value::{Undecodable, Value};
use crate::units::{OperatorId, PartitionId};

const AT: Whereabouts<'_> = Whereabouts {
    partition: PartitionId(37),
    operator: OperatorId(1),
    store: "default",
    family: "bal\u{1b}[2Jance",
};

fn fields(names: [&str; 2]) -> [Field; 2] {
    names.map(|name| Field { name: name.to_owned(), data_type: DataType::String })
}

fn text(text: &str) -> Value<'_> {
    Value::String(text.into())
}

/// A row with escape sequences in names and values.
fn with_row(each: impl FnOnce(&StateRow<'_>)) {
    let (key, value) = (fields(["account_id", "a\u{1b}b"]), fields(["x", "x"]));
    let row = StateRow {
        at: AT,
        change: Some(Change::Put),
        key: Half::Decoded(Value::Struct(&key, vec![text("acct-7"), text("\u{9b}31m\u{202e}\n")])),
        value: Half::Decoded(Value::Struct(&value, vec![Value::Null, Value::Integer(i64::MAX)])),
    };
    each(&row);
}

#[test]
fn a_line_of_json_is_exact_and_harmless() {
    with_row(|row| {
        let mut out = Vec::new();
        jsonl::push(&jsonl::Prefix::new(row.at).unwrap(), row, &mut out).unwrap();
        let line = String::from_utf8(out).unwrap();
        assert!(
            line.ends_with("}\n") && line.chars().all(|c| c == '\n' || !c.is_control()),
            "{line}"
        );
        assert!(
            !line.contains('\u{202e}') && line.contains("\"x\":null,\"x\":9223372036854775807")
        );
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        let expected = json!({
            "partition": 37, "operator": 1, "store": "default", "family": "bal\u{1b}[2Jance",
            "change": "put", "key": {"account_id": "acct-7", "a\u{1b}b": "\u{9b}31m\u{202e}\n"},
            "value": {"x": i64::MAX},
        });
        assert_eq!(read, expected);
    });
}

#[test]
fn what_cannot_be_decoded_keeps_its_bytes_and_its_reason() {
    let row = StateRow {
        at: Whereabouts { family: "default", ..AT },
        change: None,
        key: Half::Undecodable(Undecodable { reason: "3 bytes".to_owned(), bytes: &[0, 0xab, 1] }),
        value: Half::None,
    };
    let mut out = Vec::new();
    jsonl::push(&jsonl::Prefix::new(row.at).unwrap(), &row, &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "{\"partition\":37,\"operator\":1,\"store\":\"default\",\"family\":\"default\",\"key\":null,\
         \"key_hex\":\"00ab01\",\"value\":null,\"undecodable\":\"key: 3 bytes\"}\n"
    );
    let mut out = Vec::new();
    csv::push(&row, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "37,1,default,default,,0x00ab01,,3 bytes\n");
}

#[test]
fn a_csv_record_is_harmless() {
    with_row(|row| {
        let mut out = Vec::new();
        csv::CsvWriter::new(&mut out).unwrap().write(row).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(page.chars().all(|c| c == '\n' || !c.is_control()), "{page}");
        assert!(page.starts_with("partition,operator,store,family,change,key,value,undecodable\n"));
        assert!(page.contains("\"{\"\"x\"\":null,\"\"x\"\":9223372036854775807}\""), "{page}");
    });
}

fn table(mask: Mask, rows: usize) -> String {
    let look = Look { paint: Paint::Plain, charset: Charset::Ascii, columns: 80 };
    let mut out = Vec::new();
    let mut writer = table::TableWriter::new(&mut out, look, mask);
    for _ in 0..rows {
        with_row(|row| writer.write(row).unwrap());
    }
    writer.finish().unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_table_hides_data_until_it_is_asked_for() {
    let hidden = table(Mask::Hidden, 1);
    assert!(!hidden.contains("acct-7") && !hidden.contains("922") && hidden.contains("null"));
    let shown = table(Mask::Shown, 1);
    assert!(shown.contains("acct-7") && shown.contains("9223372036854775807"), "{shown}");
    for page in [hidden, shown] {
        assert!(page.chars().all(|c| c == '\n' || !c.is_control()) && !page.contains('\u{202e}'));
    }
    assert_eq!(table(Mask::Shown, 0), "");
}

#[test]
fn a_table_fits_into_the_terminal() {
    let look = Look { paint: Paint::Plain, charset: Charset::Ascii, columns: 80 };
    let start = 1_767_225_600_000_000;
    let half = |name: &str| Field { name: name.to_owned(), data_type: DataType::Timestamp };
    let window = [half("start"), half("end")];
    let (key, value) = (fields(["window", "a_column_of_a_long_name"]), fields(["x", "y"]));
    let row = StateRow {
        at: Whereabouts { family: "default", ..AT },
        change: None,
        key: Half::Decoded(Value::Struct(
            &key,
            vec![
                Value::Struct(
                    &window,
                    vec![Value::Timestamp(start), Value::Timestamp(start + 300_000_000)],
                ),
                text("short"),
            ],
        )),
        value: Half::Decoded(Value::Struct(
            &value,
            vec![Value::Timestamp(start), text("of no more than forty characters")],
        )),
    };
    let lines = |room| {
        let mut out = Vec::new();
        let mut writer = table::TableWriter::new(&mut out, look, Mask::Shown).within(Some(room));
        writer.write(&row).unwrap();
        writer.finish().unwrap();
        let page = String::from_utf8(out).unwrap();
        page.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    // Names give way first: 4 + 23 + 8 + 20 + 32 and four gaps are 95.
    assert_eq!(
        lines(95),
        [
            "part  key.window               key.a_..  value.x               value.y",
            "37    2026-01-01T00:00..00:05  short     2026-01-01T00:00:00Z  of no more than forty \
             characters",
        ]
    );
    for line in lines(60) {
        assert!(line.len() <= 60, "{line}");
    }
    // 4 + 8 + 8 + 8 and three gaps are 34.
    assert_eq!(
        lines(34),
        [
            "without value.y",
            "part  key.wi..  key.a_..  value.x",
            "37    2026-0..  short     2026-0.."
        ]
    );
    assert_eq!(lines(1).len(), 3, "one column is always there");
}

#[test]
fn rows_past_the_measured_ones_are_written_too() {
    assert_eq!(table(Mask::Shown, 450).lines().count(), 452);
}

#[derive(Debug, Parser)]
struct Alone {
    #[command(flatten)]
    state: args::StateArgs,
}

#[test]
fn only_a_table_has_a_limit_of_its_own() {
    let rows = |options: &[&str]| {
        let line = ["state", "/ckpt"].iter().chain(options);
        Alone::try_parse_from(line).map(|alone| alone.state.rows())
    };
    assert_eq!(rows(&[]).unwrap(), Some(100));
    assert_eq!(rows(&["--limit", "7"]).unwrap(), Some(7));
    assert_eq!(rows(&["--format", "jsonl", "--where", "a = 1"]).unwrap(), None);
    assert!(rows(&["--batch", "3", "--changed-in", "3"]).is_err());
    assert!(rows(&["--partition", "x"]).is_err());
}
