//! Fields whose texts are words, compared with what a real API server refuses. Runs when `KYV_REAL_PROGRAMS` is 1.

use kyv::admission::is_word;
use kyv::value::Value;
use kyv::yaml;
use test_support::api_server::ApiServer;
use test_support::rest::Rest;

/// Objects that the API server takes, with `VALUE` in fields of words: `word` in their place is allowed.
const OBJECTS: &str = include_str!("words.yaml");
const NO_WORDS: [&str; 6] = ["a*b", "a?b", "*", "?", "a b", " a"];

#[test]
fn the_api_server_refuses_wildcards_and_blanks_in_fields_of_words() {
    if test_support::skip_without_real_programs("fields of words") {
        return;
    }
    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let mut wrong = Vec::new();
    for text in OBJECTS.split("---\n") {
        let (comment, text) = text.split_once('\n').expect("the allowed word in a comment");
        let allowed = comment.strip_prefix("# ").expect("a comment");
        let object = yaml::parse_value(text).expect("YAML");
        let keys = place(&object).expect("a field has VALUE");
        assert!(is_word(&keys), "{}: no word", keys.join("."));
        let answer = |value: &str| {
            let object = yaml::parse_value(&text.replace("VALUE", value)).expect("YAML").to_json();
            let object = serde_json::from_str(&object).expect("JSON");
            rest.create(&object, "dryRun=All&fieldValidation=Strict")
        };
        if let Err(refusal) = answer(&format!("'{allowed}'")) {
            wrong.push(format!("{}: {allowed}: {}", keys.join("."), refusal.message));
        }
        for value in NO_WORDS {
            if answer(&format!("'{value}'")).is_ok() {
                wrong.push(format!("{}: {value:?} is taken", keys.join(".")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The keys of the text `VALUE`; lists on the way are entered.
fn place(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(text) => (&**text == "VALUE").then(Vec::new),
        Value::Array(items) => items.iter().find_map(place),
        Value::Object(members) => members.iter().find_map(|(key, value)| {
            let below = place(value)?;
            Some([&**key].into_iter().chain(below).collect())
        }),
        _ => None,
    }
}
