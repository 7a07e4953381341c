use proptest::prelude::*;
use serde_json::json;

use super::*;

/// The pieces of a source, as short words with their lines.
fn split(source: impl AsRef<[u8]>) -> Vec<String> {
    let mut splitter = Splitter::default();
    let mut pieces = splitter.feed(source.as_ref());
    pieces.extend(splitter.finish());
    pieces.into_iter().map(word).collect()
}

fn word(piece: Piece) -> String {
    let line = piece.line;
    match piece.kind {
        PieceKind::Text(text) => format!("{line} text {text}"),
        PieceKind::Object(object) => format!("{line} {}", Value::Object(object)),
        PieceKind::Broken(reason) => format!("{line} broken: {reason}"),
        PieceKind::Unfinished => format!("{line} unfinished"),
    }
}

#[test]
fn objects_come_one_per_line_in_arrays_or_on_many_lines() {
    let three = ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"];
    for source in [
        "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n",
        "{\"a\":1}\r\n{\"a\":2}\r\n\r\n{\"a\":3}",
        "{\"a\":1}{\"a\":2} {\"a\":3}",
        "[{\"a\":1},{\"a\":2},{\"a\":3}]",
        "\u{feff}[\n  {\n    \"a\": 1\n  },\n  {\n    \"a\": 2\n  },\n  {\n    \"a\": 3\n  }\n]\n",
        "[ {\n  \"a\" : 1\n}, {\n  \"a\" : 2\n}, {\n  \"a\" : 3\n} ]",
        "{\n\"a\": 1\n}\n{\n\"a\": 2\n}\n{\n\"a\":\n3\n}",
    ] {
        let objects: Vec<String> = split(source)
            .into_iter()
            .map(|piece| piece.split_once(' ').unwrap().1.to_owned())
            .collect();
        assert_eq!(objects, three, "{source}");
    }
}

#[test]
fn an_object_may_follow_text_on_its_line() {
    assert_eq!(
        split("26/11/30 INFO P: made progress: {\n  \"id\" : \"a\"\n}\n26/11/30 INFO X: {y}\n"),
        [
            "1 text 26/11/30 INFO P: made progress:",
            "1 {\"id\":\"a\"}",
            "4 text 26/11/30 INFO X: {y}"
        ]
    );
    assert_eq!(
        split("INFO L: {\"id\": \"a\", \"b\": {}} done\nnext"),
        ["1 text INFO L:", "1 {\"id\":\"a\",\"b\":{}}", "1 text  done", "2 text next"]
    );
    assert_eq!(
        split("stats = {\"numCommittedKeys\":160}\n{FileStreamSource[x]: {\"logOffset\":3}}\n"),
        [
            "1 text stats = {\"numCommittedKeys\":160}",
            "2 text {FileStreamSource[x]: {\"logOffset\":3}}"
        ],
        "other objects are part of their line"
    );
}

#[test]
fn lines_that_end_with_a_brace_are_text_when_nothing_like_json_follows() {
    assert_eq!(
        split("def f() {\n\n  return\n}\nx {"),
        ["1 text def f() {", "3 text return", "4 text }", "5 text x {"]
    );
    assert_eq!(split("{\n  {\"a\":1}"), ["1 text {", "2 {\"a\":1}"]);
    assert_eq!(split("{'id': 'a'}"), ["1 text {'id': 'a'}"]);
}

#[test]
fn a_carriage_return_ends_a_line_but_counts_none() {
    assert_eq!(
        split("\r[Stage 38:==> (2 + 2) / 5]\r\r   \r26/11/30 ERROR X: y\n[STREAM_FAILED] z"),
        [
            "1 text [Stage 38:==> (2 + 2) / 5]",
            "1 text 26/11/30 ERROR X: y",
            "2 text [STREAM_FAILED] z"
        ]
    );
}

#[test]
fn broken_json_is_told_with_its_place_and_reading_goes_on() {
    assert_eq!(
        split("{\"a\":1}\n{\n  \"b\": {\n    c\": 2\n  }\n}\n{\"d\":3}\n"),
        [
            "1 {\"a\":1}",
            "2 broken: not valid JSON: key must be a string at line 4, column 5",
            "7 {\"d\":3}"
        ]
    );
    assert_eq!(
        split("  {\"a\": nul}\n{\"b\": x}\n{\"c\":1}"),
        [
            "1 broken: not valid JSON: expected ident at line 1, column 12",
            "2 broken: not valid JSON: expected value at line 2, column 7",
            "3 {\"c\":1}"
        ]
    );
    assert_eq!(
        split("[ {\n  \"a\" : tru\n}, {\n  \"a\" : 2\n} ]"),
        ["1 broken: not valid JSON: expected ident at line 3, column 1", "3 {\"a\":2}"]
    );
}

#[test]
fn a_text_may_not_go_over_the_end_of_a_line() {
    let pieces = split("{\"a\": \"x\n\"}\n{\"b\": 1}");
    assert_eq!(pieces.len(), 2, "{pieces:?}");
    assert!(pieces[0].starts_with("1 broken: not valid JSON: control character"), "{pieces:?}");
    assert_eq!(pieces[1], "3 {\"b\":1}");
}

#[test]
fn what_breaks_off_does_not_swallow_what_follows() {
    assert_eq!(
        split("{\"a\": {\"b\":\n{\"c\":1}\n"),
        ["1 broken: breaks off before line 2", "2 {\"c\":1}"]
    );
    assert_eq!(
        split("{\n  \"a\": {\n{\n  \"c\": 1\n}\n"),
        ["1 broken: breaks off before line 3", "3 {\"c\":1}"]
    );
    assert_eq!(
        split("{\n  \"a\": {\n26/11/30 16:22:53 INFO X: y\n\tat z\n"),
        [
            "1 broken: not valid JSON: key must be a string at line 3, column 1",
            "3 text 26/11/30 16:22:53 INFO X: y",
            "4 text \tat z"
        ]
    );
}

#[test]
fn the_last_object_may_still_be_written() {
    assert_eq!(split("{\"a\":1}\n{\"b\":"), ["1 {\"a\":1}", "2 unfinished"]);
    assert_eq!(split("{"), ["1 unfinished"]);
    assert_eq!(split("[ {\n"), ["1 unfinished"]);
    assert_eq!(split("a line without an end"), ["1 text a line without an end"]);
    assert!(split("").is_empty() && split("\n[ ]\r\n").is_empty());
}

#[test]
fn bytes_that_are_no_utf_8_lose_nothing_else() {
    assert_eq!(
        split(b"x\xffy\n{\"a\": \"\xc3\"}"),
        ["1 text x\u{fffd}y", "2 {\"a\":\"\u{fffd}\"}"]
    );
    let utf_16: Vec<u8> = "\u{feff}{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let pieces = split(utf_16);
    assert!(pieces[0].starts_with("1 broken: UTF-16") && pieces.len() == 1, "{pieces:?}");
    assert_eq!(split(b"\xef\xbbx"), ["1 text \u{fffd}x"]);
    assert_eq!(split(b"\xff"), ["1 text \u{fffd}"]);
}

#[test]
fn pieces_have_a_longest_length() {
    let longest = 20;
    let mut splitter = Splitter::with_longest(longest);
    let source = format!("{}\n{{\"a\":\"{}\"}}\n{{\"b\":1}}\nend", "x".repeat(30), "y".repeat(30));
    let pieces: Vec<String> = splitter.feed(source.as_bytes()).into_iter().map(word).collect();
    let too_long = "longer than 20 bytes, so it is passed over";
    assert_eq!(
        pieces,
        [
            format!("1 broken: {too_long}"),
            format!("2 broken: {too_long}"),
            "3 {\"b\":1}".to_owned()
        ]
    );
    assert!(splitter.buffer.capacity() < 100);
}

#[test]
fn nesting_without_end_is_refused() {
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    let pieces = split(deep);
    assert!(pieces[0].contains("recursion limit"), "{pieces:?}");
}

#[test]
fn a_listener_of_python_may_write_nan() {
    assert_eq!(split("{\"r\": NaN, \"s\": -Infinity}"), ["1 {\"r\":null,\"s\":null}"]);
    let object = json!({"batchId": 3});
    assert_eq!(split(format!("got {object}")), ["1 text got", "1 {\"batchId\":3}"]);
}

/// Bytes that are likely to make trouble, and others.
fn source() -> impl Strategy<Value = Vec<u8>> {
    let parts = prop_oneof![
        6 => prop::sample::select(&[
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\n", "\r", " ", "  ", "\t", "1", "x", "id",
            "\"id\":", "{\"id\": 1}", "{\n  \"a\": 2\n}", "NaN", "null", "made progress: {",
            "26/11/30 16:22:53 INFO X: y", "\u{feff}", "é",
        ][..]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop::collection::vec(parts, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn chunks_make_no_difference(
        source in source(),
        cuts in prop::collection::vec(1_usize..9, 1..40),
        longest in 1_usize..80,
    ) {
        let mut whole = Splitter::with_longest(longest);
        let mut expected = whole.feed(&source);
        expected.extend(whole.finish());

        let mut splitter = Splitter::with_longest(longest);
        let (mut pieces, mut rest) = (Vec::new(), source.as_slice());
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*cut).min(rest.len()));
            pieces.extend(splitter.feed(chunk));
            prop_assert!(splitter.buffer.len() <= longest + 1);
            rest = after;
        }
        pieces.extend(splitter.finish());
        prop_assert_eq!(pieces, expected);
    }

    #[test]
    fn pieces_come_in_order_and_text_is_never_blank(source in source()) {
        let mut splitter = Splitter::default();
        let mut pieces = splitter.feed(&source);
        pieces.extend(splitter.finish());
        prop_assert!(pieces.is_sorted_by_key(|piece| piece.line));
        for piece in pieces {
            if let PieceKind::Text(text) = piece.kind {
                prop_assert!(!text.trim().is_empty());
            }
        }
    }

    #[test]
    fn whole_objects_between_other_lines_are_found(
        lines in prop::collection::vec(prop_oneof![
            any::<u16>().prop_map(|n| Ok(json!({"id": "q", "batchId": n, "s": [{"x": "}\""}]}))),
            "[A-Za-z /:]{1,20}".prop_map(Err),
        ], 0..20),
        pretty in any::<bool>(),
    ) {
        let (mut source, mut expected) = (String::new(), Vec::new());
        for line in lines {
            match line {
                Ok(value) => {
                    let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
                    source.push_str(&text.unwrap());
                    expected.push(value);
                }
                Err(text) => source.push_str(&text),
            }
            source.push('\n');
        }
        let pieces = Splitter::default().feed(source.as_bytes());
        let found: Vec<Value> = pieces
            .into_iter()
            .filter_map(|piece| match piece.kind {
                PieceKind::Object(object) => Some(Value::Object(object)),
                _ => None,
            })
            .collect();
        prop_assert_eq!(found, expected);
    }
}
