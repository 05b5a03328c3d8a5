//! What was read is printed and read back equal, and every node has its place in the text.

use std::sync::Arc;

use kyv::value::{MAX_DEPTH, Value};
use kyv::yaml::{self, Document, Limits, Source};

use super::input::{Choices, Input, expand};
use super::values::places;

/// Pieces that readers stumble over.
const PIECES: &[&str] = &[
    "a",
    "b: ",
    "c:\n",
    "- ",
    "\n",
    "\n  ",
    "\n    ",
    " ",
    "\t",
    "? ",
    ": ",
    ",",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    "|\n",
    ">-\n",
    "|2\n",
    "#c",
    " # c\n",
    "&a ",
    "*a",
    "<<: *a",
    "!!str ",
    "!!binary ",
    "!x ",
    "---\n",
    "...\n",
    "--- ",
    "%YAML 1.1\n",
    "%TAG ! x\n",
    "~",
    "null",
    "yes",
    "0o7",
    "0x1F",
    "1_000",
    "1e3",
    ".inf",
    ".5",
    "2001-01-01",
    "1:30",
    "=",
    "\r\n",
    "\r",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "é",
    "\u{1f600}",
    "\u{7f}",
    "\0",
    "\\u00e9",
    "\\x41",
    "\\\n",
    "apiVersion: v1\nkind: List\nitems:\n",
    "  - a: 1\n",
    "{\"a\": [1, 2]}",
    "null\n",
    "''",
    "\"\"",
];

/// Checks one input.
pub fn run(data: &[u8]) {
    let text = match Input::new(data) {
        Input::Text(_) => expand(data),
        Input::Choices(choices) => pieces(choices).into_bytes(),
    };
    let source = match Source::from_bytes("in.yaml", text) {
        Ok(source) => Arc::new(source),
        Err(error) => {
            assert!(error.to_string().starts_with("in.yaml:"));
            return;
        }
    };
    let first = yaml::parse_value(source.text());
    let tight = Limits { depth: 4, documents: 2, bytes: 2000, alias_nodes: 20 };
    let within = yaml::read(&source, &tight);
    let documents = match yaml::read(&source, &Limits::default()) {
        Ok(documents) => documents,
        Err(errors) => {
            assert!(!errors.is_empty(), "refused without a reason");
            assert!(within.is_err(), "tighter limits let through what wider ones refuse");
            for error in &errors {
                assert!(error.position().offset <= source.text().len());
                assert!(error.to_string().starts_with("in.yaml:"));
            }
            return;
        }
    };
    if let Ok(within) = within {
        assert!(same_values(&within, &documents), "limits change what is read");
    }
    let whole: String = documents.iter().map(Document::text).collect();
    assert!(documents.is_empty() || whole == source.text(), "the documents are not the text");
    // A last line without a line break gets one from one reader and none from the other.
    if let (Some(document), Ok(first)) = (documents.first(), first)
        && source.text().ends_with('\n')
        && !document.is_json()
        && documents.len() == 1
    {
        let strict = document.value().cloned().unwrap_or_default();
        assert_eq!(strict, first, "the two readers differ on {:?}", source.text());
    }
    for document in documents.iter().take(40) {
        check(document);
    }
}

fn pieces(mut choices: Choices<'_>) -> String {
    let mut text = String::new();
    while !choices.is_dry() && text.len() < 64 * 1024 {
        let piece = *choices.one(PIECES);
        let times = if choices.once_in(20) { 1 << choices.below(12) } else { 1 };
        text.push_str(&piece.repeat(times));
    }
    text
}

fn same_values(left: &[Document], right: &[Document]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.value() == right.value())
}

fn check(document: &Document) {
    let Some(value) = document.value() else { return };
    let mut printed = String::new();
    yaml::print(value, &mut printed);
    assert_eq!(&read_one(&printed), value, "printed as\n{printed}");
    let reread = yaml::parse_value(&printed);
    assert_eq!(reread.as_ref(), Ok(value), "printed as\n{printed}");
    if value.depth() < MAX_DEPTH {
        assert_eq!(Value::from_json(&value.to_json()).as_ref(), Ok(value));
        assert_eq!(Value::from_json(&value.to_pretty_json(2)).as_ref(), Ok(value));
    }
    let other = Value::from_iter([("changed", value.clone())]);
    if other.depth() < MAX_DEPTH {
        let rewritten = document.with_value(&other);
        assert_eq!(read_one(&rewritten), other, "rewritten as\n{rewritten}");
    }
    let text = document.source().text();
    let inside = text.len() - document.source().text().trim_start_matches('\u{feff}').len();
    for place in places(value).iter().take(100) {
        let position = document.position(place).unwrap_or_else(|| panic!("no place for `{place}`"));
        let span = document.span(place).unwrap_or_else(|| panic!("no span for `{place}`"));
        assert!(position.line > 0 && position.column > 0 && position.offset >= inside.min(position.offset));
        assert!(text.get(span.clone()).is_some(), "the span of `{place}` is no text: {span:?}");
        assert!(
            document.key_span(place).is_some() && !yaml::excerpt(document.source(), &position).is_empty()
        );
    }
}

/// The only document of a text.
fn read_one(text: &str) -> Value {
    let source = Arc::new(Source::new("out.yaml", text));
    let mut documents = yaml::read(&source, &Limits { depth: Limits::MAX_DEPTH, ..Limits::default() })
        .unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
    assert_eq!(documents.len(), 1, "not one document:\n{text}");
    documents.pop().and_then(Document::into_value).unwrap_or_default()
}
