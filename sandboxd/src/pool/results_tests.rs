//! Tests of `results`: results are kept for one turn, and are found by reference only.
#![allow(clippy::unwrap_used)]
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn turn(number: u128) -> TurnId {
    TurnId::from_bytes(number.to_be_bytes())
}

fn sealed(value: &Value) -> Sealed {
    Sealed::new(&json::canonical(value)).unwrap()
}

fn with(place: u16, value: &Value) -> (Results, CallId) {
    let (mut results, call) = (Results::default(), CallId::new());
    put(&mut results, turn(1), place, call, value);
    (results, call)
}

fn put(results: &mut Results, turn: TurnId, place: u16, call: CallId, value: &Value) {
    results.begin(turn, CallRef(place)).unwrap();
    assert!(results.keep(turn, CallRef(place), call, sealed(value)));
}

fn resolve(results: &mut Results, arguments: &Value) -> Result<Resolved, ResultError> {
    results.resolve(turn(1), arguments.to_string().as_bytes())
}

#[test]
fn references_are_replaced_wherever_they_stand_and_reported() {
    let (mut results, call) = with(1, &json!({"a": [1, {"b": "x"}], "~/": null}));
    let arguments = json!({"p": {"$ref": "c1#/a/1/b"}, "q": [{"$ref": "c1#/~0~1"}, {"$ref": "c1#"}], "r": "$ref"});
    let resolved = resolve(&mut results, &arguments).unwrap();
    let whole = json!({"a": [1, {"b": "x"}], "~/": null});
    assert_eq!(resolved.arguments, json!({"p": "x", "q": [null, whole], "r": "$ref"}));
    assert_eq!(resolved.bytes, json::canonical(&resolved.arguments));
    let places: Vec<_> =
        resolved.inputs.iter().map(|input| (input.from, input.pointer.as_str(), input.argument.as_str())).collect();
    assert_eq!(places, [(call, "/a/1/b", "/p"), (call, "/~0~1", "/q/0"), (call, "", "/q/1")]);
}

#[test]
fn reference_inside_a_result_is_not_resolved() {
    let secret = json!({"secret": 1});
    let (mut results, _) = with(1, &secret);
    put(&mut results, turn(1), 2, CallId::new(), &json!({"x": {"$ref": "c1#/secret"}}));
    let resolved = resolve(&mut results, &json!({"p": {"$ref": "c2#/x"}})).unwrap();
    assert_eq!(resolved.arguments, json!({"p": {"$ref": "c1#/secret"}}));
    assert_eq!(resolved.inputs.len(), 1);
}

#[test]
fn reference_to_other_turn_running_call_or_missing_field_fails() {
    let (mut results, _) = with(1, &json!({"a": 1}));
    results.begin(turn(1), CallRef(2)).unwrap();
    let at = |text: &str| json!({"p": {"$ref": text}});
    assert_eq!(resolve(&mut results, &at("c2#/a")), Err(ResultError::NoResult(CallRef(2))));
    assert_eq!(resolve(&mut results, &at("c3#/a")), Err(ResultError::NoResult(CallRef(3))));
    assert!(matches!(resolve(&mut results, &at("c1#/b")), Err(ResultError::Nothing { .. })));
    assert!(matches!(resolve(&mut results, &at("c1#b")), Err(ResultError::Arguments(_))));
    let other = results.resolve(turn(2), at("c1#/a").to_string().as_bytes());
    assert_eq!(other, Err(ResultError::NoResult(CallRef(1))));
    results.forget(turn(1));
    assert_eq!(resolve(&mut results, &at("c1#/a")), Err(ResultError::NoResult(CallRef(1))));
}

#[test]
fn references_beyond_the_limit_are_refused() {
    let (mut results, _) = with(1, &json!({"a": 1}));
    let many = |count| json!({"p": vec![json!({"$ref": "c1#/a"}); count]});
    assert_eq!(resolve(&mut results, &many(MAX_REFERENCES)).unwrap().inputs.len(), MAX_REFERENCES);
    assert!(matches!(resolve(&mut results, &many(MAX_REFERENCES + 1)), Err(ResultError::Arguments(_))));
    let reference = Reference { call: CallRef(1), pointer: "/a".into() };
    let ask = |count| vec![reference.clone(); count];
    assert_eq!(results.values(turn(1), &ask(MAX_REFERENCES), Limits::ARGUMENTS).unwrap().len(), MAX_REFERENCES);
    let more = results.values(turn(1), &ask(MAX_REFERENCES + 1), Limits::ARGUMENTS);
    assert_eq!(more, Err(ResultError::TooMany(MAX_REFERENCES + 1)));
}

#[test]
fn arguments_may_grow_up_to_the_limit_and_are_never_built_beyond_it() {
    let text = "x".repeat(1 << 20);
    let (mut results, _) = with(1, &json!({"a": text}));
    let many = |count| json!({"p": vec![json!({"$ref": "c1#/a"}); count]});
    let fitting = MAX_RESOLVED_BYTES / (text.len() + 3);
    assert!(resolve(&mut results, &many(fitting)).is_ok());
    assert_eq!(resolve(&mut results, &many(fitting + 1)), Err(ResultError::TooLarge { max: MAX_RESOLVED_BYTES }));
}

#[test]
fn pointers_that_would_not_fit_the_record_are_refused() {
    let key = "k".repeat(1000);
    let mut results = with(1, &json!({key.clone(): 1})).0;
    let many = |count| json!({"p": vec![json!({"$ref": format!("c1#/{key}")}); count]});
    let each = 1001 + "/p/00".len();
    let fitting = MAX_POINTERS_BYTES / each;
    assert!(resolve(&mut results, &many(fitting)).is_ok());
    assert_eq!(resolve(&mut results, &many(fitting + 1)), Err(ResultError::LongPointers));
}

#[test]
fn policyd_is_given_no_more_and_nothing_deeper_than_it_reads() {
    let mut deep = json!(1);
    for _ in 0..31 {
        deep = json!([deep]);
    }
    let (mut results, _) = with(1, &json!({"a": "x".repeat(100), "deep": deep.clone()}));
    let mut values = |pointer: &str, max_bytes| {
        let reference = Reference { call: CallRef(1), pointer: pointer.into() };
        results.values(turn(1), &[reference], Limits { max_bytes, max_depth: 32 })
    };
    // Brackets, quotes, and a comma that another one would need.
    let size = "[\"\"],".len() + 100;
    assert_eq!(values("/a", size).unwrap().len(), 1);
    assert!(matches!(values("/a", size - 1), Err(ResultError::TooLarge { .. })));
    let bytes = json::canonical(&Value::Array(values("/deep", 1000).unwrap()));
    assert!(json::parse_strict(&bytes, Limits { max_bytes: 1000, max_depth: 32 }).is_ok());
    put(&mut results, turn(1), 2, CallId::new(), &json!([deep]));
    let reference = Reference { call: CallRef(2), pointer: String::new() };
    assert!(results.values(turn(1), &[reference], Limits::ARGUMENTS).is_err());
}

#[test]
fn a_place_is_taken_once_and_free_again_when_the_call_did_not_run() {
    let (mut results, _) = with(1, &json!({}));
    assert_eq!(results.begin(turn(1), CallRef(1)), Err(ResultError::Twice(CallRef(1))));
    results.begin(turn(1), CallRef(2)).unwrap();
    results.give_up(turn(1), CallRef(2));
    results.begin(turn(1), CallRef(2)).unwrap();
    // Giving up what was kept changes nothing.
    results.give_up(turn(1), CallRef(1));
    assert_eq!(results.begin(turn(1), CallRef(1)), Err(ResultError::Twice(CallRef(1))));
}

#[test]
fn a_turn_has_as_many_calls_as_the_limit() {
    let mut results = Results::default();
    for place in 0..u16::try_from(MAX_CALLS).unwrap() {
        results.begin(turn(1), CallRef(place)).unwrap();
    }
    assert_eq!(results.begin(turn(1), CallRef(1000)), Err(ResultError::ManyCalls));
}

#[test]
fn longest_idle_turn_is_evicted_and_running_one_never() {
    let mut results = Results::default();
    results.begin(turn(0), CallRef(1)).unwrap();
    for number in 1..MAX_TURNS as u128 {
        put(&mut results, turn(number), 1, CallId::new(), &json!({"a": 1}));
    }
    let reference = [Reference { call: CallRef(1), pointer: "/a".into() }];
    // Used just now, so the next one is the oldest.
    results.values(turn(1), &reference, Limits::ARGUMENTS).unwrap();
    put(&mut results, turn(1000), 1, CallId::new(), &json!({"a": 1}));
    assert!(results.values(turn(2), &reference, Limits::ARGUMENTS).is_err());
    assert!(results.values(turn(1), &reference, Limits::ARGUMENTS).is_ok());
    assert!(results.keep(turn(0), CallRef(1), CallId::new(), sealed(&json!({"a": 1}))));
}

#[test]
fn when_every_turn_runs_there_is_no_room_for_another() {
    let mut results = Results::default();
    for number in 0..MAX_TURNS as u128 {
        results.begin(turn(number), CallRef(1)).unwrap();
    }
    assert_eq!(results.begin(turn(1000), CallRef(1)), Err(ResultError::ManyTurns));
    results.give_up(turn(5), CallRef(1));
    results.begin(turn(1000), CallRef(1)).unwrap();
}

#[test]
fn no_more_bytes_are_kept_than_the_limit() {
    let mut results = Results::default();
    let large = json!({"a": "x".repeat(MAX_PAYLOAD - 8)});
    assert_eq!(sealed(&large).len(), MAX_PAYLOAD);
    let fitting = MAX_KEPT_BYTES / MAX_PAYLOAD;
    for place in 0..fitting {
        put(&mut results, turn(1), u16::try_from(place).unwrap(), CallId::new(), &large);
    }
    // Its own turn makes no room for it.
    results.begin(turn(1), CallRef(100)).unwrap();
    assert!(!results.keep(turn(1), CallRef(100), CallId::new(), sealed(&json!({}))));
    // Another one does, if it is idle.
    results.begin(turn(2), CallRef(1)).unwrap();
    assert!(results.keep(turn(2), CallRef(1), CallId::new(), sealed(&json!({}))));
    assert_eq!(results.bytes(), 2);
}

#[test]
fn no_more_results_are_kept_than_there_are_descriptors_for() {
    let mut results = Results::default();
    let places = 60;
    for number in 0..MAX_KEPT {
        let (number, place) = (number / places, number % places);
        put(&mut results, turn(number as u128), u16::try_from(place).unwrap(), CallId::new(), &json!({}));
    }
    assert_eq!(results.kept(), MAX_KEPT);
    put(&mut results, turn(1000), 1, CallId::new(), &json!({}));
    assert_eq!(results.kept(), MAX_KEPT - places + 1);
}

#[test]
fn a_result_of_a_turn_that_was_forgotten_meanwhile_is_dropped() {
    let mut results = Results::default();
    results.begin(turn(1), CallRef(1)).unwrap();
    results.forget(turn(1));
    assert!(!results.keep(turn(1), CallRef(1), CallId::new(), sealed(&json!({}))));
    // Also when the turn was begun anew: that is another one's place.
    results.begin(turn(1), CallRef(2)).unwrap();
    assert!(!results.keep(turn(1), CallRef(1), CallId::new(), sealed(&json!({}))));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("[a-c~/]{0,3}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn resolving_every_leaf_of_a_result_gives_the_result_again(kept in value()) {
        let (mut results, call) = with(1, &kept);
        let leaves = json::leaves(&kept, MAX_REFERENCES);
        prop_assume!(leaves.iter().all(|leaf| !leaf.pointer.is_empty()));
        let list: Vec<Value> = leaves.iter().map(|leaf| json!({"$ref": format!("c1#{}", leaf.pointer)})).collect();
        let resolved = resolve(&mut results, &json!({"p": list})).unwrap();
        for (index, leaf) in leaves.iter().enumerate() {
            let found = resolved.arguments.pointer(&format!("/p/{index}")).unwrap();
            prop_assert_eq!(json::digest(found), leaf.digest);
            prop_assert_eq!(Some(found), kept.pointer(&leaf.pointer));
        }
        prop_assert!(resolved.inputs.iter().all(|input| input.from == call));
    }

    #[test]
    fn any_bytes_are_arguments_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut results = with(1, &json!({})).0;
        let _ = results.resolve(turn(1), &bytes);
    }
}
