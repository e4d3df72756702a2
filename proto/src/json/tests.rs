//! What the strict reader refuses, what canonical means, and how references are found.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::msg::common::CallRef;

const LIMITS: Limits = Limits { max_bytes: 1024, max_depth: 8 };

fn parse(text: &str) -> Result<Value, JsonError> {
    parse_strict(text.as_bytes(), LIMITS)
}

#[test]
fn an_ordinary_document_is_read() {
    let text = r#"{"a":[1,-2,3.5,true,null,"è \ud83d\ude00"],"b":{}}"#;
    assert_eq!(parse(text).unwrap(), json!({"a": [1, -2, 3.5, true, null, "è 😀"], "b": {}}));
}

#[test]
fn a_key_that_appears_twice_is_refused_at_any_depth() {
    let error = parse(r#"{"a":[{"k":1,"k":2}]}"#).unwrap_err();
    assert_eq!(error, JsonError::DuplicateKey { key: "k".to_owned() });
    // The same key written with an escape is the same key.
    assert!(matches!(parse(r#"{"k":1,"\u006b":2}"#), Err(JsonError::DuplicateKey { .. })));
}

#[test]
fn the_depth_limit_holds_at_its_edge() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(8)).is_ok());
    assert_eq!(parse(&nested(9)), Err(JsonError::TooDeep { max: 8 }));
    let generous = Limits { max_bytes: 1 << 20, max_depth: u8::MAX };
    assert!(parse_strict(nested(64).as_bytes(), generous).is_ok());
    assert_eq!(parse_strict(nested(65).as_bytes(), generous), Err(JsonError::TooDeep { max: MAX_DEPTH }));
}

#[test]
fn the_length_limit_holds_at_its_edge() {
    let text = |length: usize| format!("\"{}\"", "a".repeat(length - 2));
    assert!(parse(&text(1024)).is_ok());
    assert_eq!(parse(&text(1025)), Err(JsonError::TooLong { bytes: 1025, max: 1024 }));
}

#[test]
fn ambiguous_json_is_refused() {
    for text in [
        "",
        " ",
        "{} {}",
        "{}x",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "-1e999",
        "[1,]",
        "{\"a\":1,}",
        "01",
        "+1",
        ".5",
        "'a'",
        "{a:1}",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"\u{1}\"",
        "// c\n1",
        "\u{feff}{}",
        "nul",
    ] {
        assert!(matches!(parse(text), Err(JsonError::Syntax { .. })), "{text:?} gave {:?}", parse(text));
    }
    assert_eq!(parse_strict(b"\"a\xff\"", LIMITS), Err(JsonError::NotUtf8 { at: 2 }));
    // An overlong encoding of `/` is not UTF-8 either.
    assert!(matches!(parse_strict(b"\"\xc0\xaf\"", LIMITS), Err(JsonError::NotUtf8 { .. })));
}

#[test]
fn object_is_distinguished_from_other_values() {
    assert!(parse_object(b"{}", LIMITS).unwrap().is_empty());
    assert_eq!(parse_object(b"[]", LIMITS), Err(JsonError::NotAnObject { found: "array" }));
}

#[test]
fn the_canonical_form_is_sorted_and_compact() {
    let value = parse(" { \"b\" : 1.0 , \"a\" : [ \"\\u00e8\\n\\u0001\" , 10 ] , \"B\" : null } ").unwrap();
    assert_eq!(canonical(&value), "{\"B\":null,\"a\":[\"è\\n\\u0001\",10],\"b\":1.0}".as_bytes());
}

#[test]
fn pointers_escape_and_are_recognised() {
    assert_eq!(child("/a", "b/c~d"), "/a/b~1c~0d");
    for good in ["", "/", "/a", "/a/0", "/~0~1"] {
        assert!(is_pointer(good), "{good}");
    }
    for bad in ["a", "/~", "/~2", "/a\0"] {
        assert!(!is_pointer(bad), "{bad}");
    }
    assert!(is_pointer(&format!("/{}", "a".repeat(MAX_POINTER_BYTES - 1))));
    assert!(!is_pointer(&format!("/{}", "a".repeat(MAX_POINTER_BYTES))));
}

#[test]
fn a_star_stands_for_exactly_one_token() {
    assert!(pointer_fits("/to/*", "/to/0"));
    assert!(pointer_fits("/path", "/path"));
    assert!(pointer_fits("", ""));
    for (pattern, pointer) in [("/to/*", "/to"), ("/to/*", "/to/0/x"), ("/to/*", "/to/"), ("/a", "/b"), ("", "/a")] {
        assert!(!pointer_fits(pattern, pointer), "{pattern} {pointer}");
    }
}

#[test]
fn leaves_name_every_scalar_and_empty_container() {
    let value = json!({"b": [1, {"c": "x"}], "a": {}, "d": []});
    let found = leaves(&value, 16);
    let pointers: Vec<_> = found.iter().map(|leaf| leaf.pointer.as_str()).collect();
    assert_eq!(pointers, ["/a", "/b/0", "/b/1/c", "/d"]);
    assert_eq!(found[2].digest, Blake3::of(b"\"x\""));
}

#[test]
fn leaves_beyond_the_limit_are_one_leaf_for_the_whole() {
    let value = json!([1, 2, 3]);
    assert_eq!(leaves(&value, 3).len(), 3);
    let cut = leaves(&value, 2);
    assert_eq!(cut.len(), 2);
    assert_eq!(cut[1], Leaf { pointer: String::new(), digest: digest(&value) });
    // A scalar is its own only leaf.
    let unnamed = leaves(&json!({"a": 1, "b": {"\0": 2, "c": 3}}), 16);
    assert!(unnamed.iter().all(|leaf| is_pointer(&leaf.pointer)), "{unnamed:?}");
    assert_eq!(unnamed.iter().map(|leaf| leaf.pointer.as_str()).collect::<Vec<_>>(), ["/a", ""]);
    assert_eq!(leaves(&json!(7), 4), [Leaf { pointer: String::new(), digest: Blake3::of(b"7") }]);
}

#[test]
fn references_are_found_in_order_and_replaced() {
    let mut arguments = json!({"text": {"$ref": "c1#/content"}, "more": [{"$ref": "c2#"}]});
    let sites = references(&arguments, 8).unwrap();
    assert_eq!(
        sites,
        [
            RefSite { argument: "/more/0".to_owned(), call: CallRef(2), pointer: String::new() },
            RefSite { argument: "/text".to_owned(), call: CallRef(1), pointer: "/content".to_owned() },
        ]
    );
    assert!(substitute(&mut arguments, &sites[1], json!("words")));
    assert_eq!(arguments["text"], "words");
}

#[test]
fn malformed_reference_is_refused() {
    for bad in [
        json!({"t": {"$ref": "c1#/a", "x": 1}}),
        json!({"t": {"$ref": 1}}),
        json!({"t": {"$ref": "c1"}}),
        json!({"t": {"$ref": "c0x#/a"}}),
        json!({"t": {"$ref": "#/a"}}),
        json!({"t": {"$ref": "c1#a"}}),
        json!({"t": {"$ref": {"$ref": "c1#/a"}}}),
    ] {
        assert!(matches!(references(&bad, 8), Err(JsonError::BadReference { .. })), "{bad}");
    }
}

#[test]
fn the_number_of_references_is_bounded() {
    let many = |count: usize| Value::Array(vec![json!({"$ref": "c1#"}); count]);
    assert_eq!(references(&many(8), 8).unwrap().len(), 8);
    assert_eq!(references(&many(9), 8), Err(JsonError::TooManyReferences { max: 8 }));
}

fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|number| json!(number)),
        any::<u64>().prop_map(|number| json!(number)),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(|number| json!(number)),
        any::<String>().prop_map(Value::String),
    ];
    scalar.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

const WIDE: Limits = Limits { max_bytes: 1 << 20, max_depth: 32 };

proptest! {
    #[test]
    fn the_canonical_form_reads_back_as_the_same_value_and_is_stable(value in any_value()) {
        let bytes = canonical(&value);
        let back = parse_strict(&bytes, WIDE).unwrap();
        prop_assert_eq!(canonical(&back), bytes);
    }

    #[test]
    fn our_strings_are_written_as_serde_json_writes_them(text in any::<String>()) {
        prop_assert_eq!(canonical(&json!(text)), serde_json::to_vec(&text).unwrap());
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error_and_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        if let Ok(value) = parse_strict(&bytes, LIMITS) {
            // Whatever is accepted here, the lenient reader understands the same way.
            let lenient: Value = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(value, lenient);
        }
    }

    #[test]
    fn every_leaf_can_be_found_again_by_its_pointer(value in any_value()) {
        for leaf in leaves(&value, 4096) {
            let target = value.pointer(&leaf.pointer).unwrap();
            prop_assert_eq!(digest(target), leaf.digest);
        }
    }

    #[test]
    fn a_pointer_made_of_any_tokens_is_a_pointer(tokens in prop::collection::vec("[^\0]{0,12}", 0..6)) {
        let pointer = tokens.iter().fold(String::new(), |at, token| child(&at, token));
        prop_assert!(is_pointer(&pointer));
        prop_assert!(pointer_fits(&pointer, &pointer) );
    }
}
