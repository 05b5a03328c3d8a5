//! Printed values are read back unchanged, by this parser and by another one.

use std::sync::Arc;

use kyv::value::{Number, Value};
use kyv::yaml::{self, Limits, Source};
use proptest::collection::vec;
use proptest::prelude::*;

/// Parts of strings that readers stumble over.
const PARTS: &[&str] = &[
    "a",
    "é",
    "\u{1f600}",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    "\r",
    "\r\n",
    ":",
    ": ",
    "#",
    " #",
    "-",
    "- ",
    "---",
    "...",
    "? ",
    "!",
    "&a",
    "*a",
    "%",
    "@",
    "`",
    "'",
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    "|",
    ">",
    "~",
    "=",
    "<<",
    "0",
    "1",
    "x",
    "o",
    "e",
    "_",
    ".",
    "+",
    "y",
    "no",
    "null",
    "true",
    "2001-01-01",
    "1:20",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{feff}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{7f}",
    "\u{9f}",
    "\0",
    "\u{1b}",
];

fn text() -> impl Strategy<Value = String> {
    let parts = || vec(proptest::sample::select(PARTS), 0..6).prop_map(|parts| parts.concat());
    prop_oneof![
        4 => parts(),
        2 => vec(parts(), 1..5).prop_map(|lines| lines.join("\n")),
        2 => "[ -~]{0,12}",
        1 => any::<String>(),
        1 => "[0-9a-fox_.:eE+-]{1,6}",
        1 => "[a-z]{900,1100}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let float = any::<f64>().prop_filter_map("finite", |float| Number::from_f64(float).map(Value::from));
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => float,
        5 => text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((text(), inner), 0..5).prop_map(Value::from_iter),
        ]
    })
}

/// Equal; the other reader has floats of 64 bits.
fn same_value(ours: &Value, theirs: &serde_json::Value) -> bool {
    match (ours, theirs) {
        (Value::Null, serde_json::Value::Null) => true,
        (Value::Bool(a), serde_json::Value::Bool(b)) => a == b,
        (Value::Number(a), serde_json::Value::Number(b)) => {
            if let Some(b) = b.as_i64() {
                a.as_i64() == Some(b)
            } else {
                b.as_f64() == Some(a.as_f64())
            }
        }
        (Value::String(a), serde_json::Value::String(b)) => **a == **b,
        (Value::Array(a), serde_json::Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b))
        }
        (Value::Object(a), serde_json::Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(&**key).is_some_and(|b| same_value(a, b)))
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn printed_values_are_read_back_by_two_parsers(value in value()) {
        let mut text = String::new();
        yaml::print(&value, &mut text);
        let source = Arc::new(Source::new("t", text.as_str()));
        let documents = yaml::read(&source, &Limits::default())
            .map_err(|errors| TestCaseError::fail(errors[0].to_string()))?;
        prop_assert_eq!(documents.len(), 1);
        prop_assert_eq!(documents[0].value(), Some(&value), "{}", text);
        prop_assert_eq!(&yaml::parse_value(&text).unwrap(), &value);

        let theirs: serde_json::Value = serde_saphyr::from_str(&text)
            .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert!(same_value(&value, &theirs), "{}\n{}\n{}", text, value.to_json(), theirs);
    }

    #[test]
    fn printed_streams_keep_their_documents(values in vec(value(), 1..5)) {
        let mut text = String::new();
        for value in &values {
            yaml::print_document(value, &mut text);
        }
        let source = Arc::new(Source::new("t", text.as_str()));
        let documents = yaml::read(&source, &Limits::default())
            .map_err(|errors| TestCaseError::fail(errors[0].to_string()))?;
        let read: Vec<_> = documents.iter().filter_map(yaml::Document::value).collect();
        prop_assert_eq!(read, values.iter().collect::<Vec<_>>(), "{}", text);
    }

    /// No text panics, and the documents of a parsed text are the text again.
    #[test]
    fn any_text_is_parsed_or_refused(parts in vec(prop_oneof![
        proptest::sample::select(PARTS),
        proptest::sample::select(&["---\n", "...\n", "--- ", "\n  ", "a: ", "b:\n", "- ", "{\"a\": ", "[1, ", "\"", "|\n", "}\n", "# c\n"][..]),
    ], 0..30)) {
        let text = parts.concat();
        let source = Arc::new(Source::new("t", text.as_str()));
        match yaml::read(&source, &Limits::default()) {
            Ok(documents) => {
                let joined: String = documents.iter().map(yaml::Document::text).collect();
                prop_assert_eq!(joined, text);
                for document in &documents {
                    prop_assert!(document.text().contains(document.body()));
                    let start = document.start();
                    prop_assert!(start.offset <= source.text().len());
                    if let Some(value) = document.value() {
                        prop_assert!(document.position(&kyv::value::Pointer::ROOT).is_some());
                        let again = Arc::new(Source::new("t", document.with_value(value)));
                        let again = yaml::read(&again, &Limits::default())
                            .map_err(|errors| TestCaseError::fail(errors[0].to_string()))?;
                        let values: Vec<_> = again.iter().filter_map(yaml::Document::value).collect();
                        prop_assert_eq!(values, vec![value], "{:?}", document.with_value(value));
                    }
                }
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    prop_assert!(error.position().offset <= text.len());
                    prop_assert!(error.to_string().lines().count() >= 3, "{}", error);
                }
            }
        }
    }
}
