//! Documents with another value: the text that comes out has that value, and nothing is edited that did not change.

use std::sync::Arc;

use kyv::value::{MAX_DEPTH, Value};
use kyv::yaml::{Document, Limits, Source, read};

use super::input::Input;
use super::policy::RICH;
use super::values;

/// Layouts that edits stumble over.
const TEXTS: &[&str] = &[
    RICH,
    include_str!("rich-object.yaml"),
    "# above\na:   'x' # kept\nb: [1, {c: d}, # why\n    2]\n\n# below\nl:\n- - 1\n  - 2\n-   k: v\n    m: |\n      one\n\n      two\n",
    "{\"a\": {\"b\": [1, 2, {\"c\": null}]}, \"d\": \"e\"}\n",
    "base: &base\n  a: 1\n  l: [x]\nother:\n  <<: *base\n  b: *base\nlast: >-\n  folded\n  text\n",
    "a: {}\nb: []\n? long\n: value\n\"q\\u0041\": !!str 1\nempty:\nnested:\n    deep:\n      - x: 1\n        y: 2\n      # between\n      - z: 3\n",
];

/// Checks one input.
pub fn run(data: &[u8]) {
    let (document, became) = match Input::new(data) {
        Input::Text(parts) => {
            let (Some(document), Some(became)) = (first(parts.at(0)), values::parsed(parts.at(1))) else {
                return;
            };
            (document, became)
        }
        Input::Choices(mut choices) => {
            let Some(document) = first(TEXTS[choices.below(TEXTS.len())]) else { return };
            let value = document.value().cloned().unwrap_or_default();
            let became = values::edited(value, &mut choices);
            (document, became)
        }
    };
    let Some(before) = document.value() else { return };
    if became.depth().max(before.depth()) > MAX_DEPTH / 2 {
        return;
    }
    // A scalar alone is no JSON document, but read as YAML, which has other characters.
    if document.is_json() && became.as_object().is_none() && became.as_array().is_none() {
        return;
    }
    assert_eq!(document.edited(before).text, document.text(), "the same value, and another text");
    let edited = document.edited(&became);
    assert_eq!(document.edited(&became).text, edited.text, "another text the second time");
    let Some(again) = first(&edited.text) else {
        panic!("the edited text is not read:\n{}", edited.text);
    };
    // Nothing is written for a document that became nothing.
    let now = again.value().cloned().unwrap_or_default();
    assert_eq!(now, became, "read as something else:\n{}", edited.text);
    if again.value().is_some() {
        let back = first(&again.edited(before).text).and_then(|document| document.value().cloned());
        assert_eq!(back.unwrap_or_default(), *before, "not edited back:\n{}", edited.text);
    }
}

/// The first document of a text that has one document.
fn first(text: &str) -> Option<Document> {
    let mut documents = read(&Arc::new(Source::new("in.yaml", text)), &Limits::default()).ok()?;
    if documents.len() == 1 { documents.pop() } else { None }
}

/// The value of the only document of a text.
pub fn value(text: &str) -> Option<(Document, Value)> {
    let document = first(text)?;
    let value = document.value()?.clone();
    Some((document, value))
}
