//! The YAML test suite: edits of its valid documents change nothing else, and invalid ones are refused with a position.
//! Runs when `KYV_REAL_PROGRAMS` is 1, because its texts come with a Go module.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use kyv::value::{Segment, Value};
use kyv::yaml::{Document, Fallback, Limits, Source, read};

use crate::nodes::{all_pointers, is_shared, lines_of, lost_comments, node_mut, with_above, with_below};

/// A text of the suite.
struct Text {
    name: String,
    text: String,
    /// Whether the suite calls it an error.
    is_error: bool,
}

fn texts() -> Vec<Text> {
    let module = test_support::module("yaml-suite", "github.com/goccy/go-yaml");
    let folder = module.join("testdata/yaml-test-suite");
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(text) = fs::read_to_string(entry.join("in.yaml")) else { continue };
        let name = entry.file_name().unwrap().display().to_string();
        found.push(Text { name, text, is_error: entry.join("error").exists() });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(found.len() > 300, "{} texts in {}", found.len(), folder.display());
    found
}

/// How often each thing was met.
#[derive(Default)]
struct Counts(BTreeMap<String, usize>);

impl Counts {
    fn add(&mut self, what: impl Into<String>) {
        *self.0.entry(what.into()).or_default() += 1;
    }

    fn log(&self) {
        for (what, count) in &self.0 {
            writeln!(std::io::stderr(), "{count:6} {what}").ok();
        }
    }
}

fn documents(text: &str) -> Result<Vec<Document>, String> {
    let source = Arc::new(Source::new("in.yaml", text));
    let told = |errors: Vec<kyv::yaml::SyntaxError>| {
        for error in &errors {
            let place = error.position();
            assert!(place.offset <= text.len() && !error.message().is_empty(), "{error}\n{text}");
            assert!(place.line <= text.lines().count().max(1), "{error}\n{text}");
        }
        errors.first().map(|error| error.message()).unwrap_or_default()
    };
    read(&source, &Limits::default()).map_err(told)
}

/// A change of one node: the value that comes of it, and the part of the text that may become another one.
struct Edit {
    what: &'static str,
    after: Value,
    part: Range<usize>,
    /// Whether other users of an anchor are concerned.
    is_shared: bool,
    /// The part whose comments may go.
    gone: Range<usize>,
}

fn edits(document: &Document, value: &Value) -> Vec<Edit> {
    let mut edits = Vec::new();
    for place in &all_pointers(value) {
        let Some(node) = value.pointed(place) else { continue };
        let Some(mut lines) = lines_of(document, place) else { continue };
        let parent = place.parent();
        // An element with another name is another element.
        let names_element = matches!(place.segments(), [.., Segment::Index(_), Segment::Key(key)] if matches!(&**key, "key" | "name"));
        if names_element && let Some(list) = lines_of(document, &parent.parent()) {
            lines = with_above(document, list);
        }
        // And so is one of another kind.
        let replaced = match place.segments().last() {
            Some(Segment::Index(_)) => lines_of(document, &parent).map(|list| with_above(document, list)),
            _ => None,
        };
        let replaced = replaced.unwrap_or_else(|| lines.clone());
        let removed = lines.clone();
        let mut add = |what, part: Range<usize>, change: &dyn Fn(&mut Value)| {
            let mut after = value.clone();
            if let Some(node) = node_mut(&mut after, place) {
                change(node);
                let is_shared = is_shared(document, place, &part);
                let gone = if names_element || what == "a mapping" { part.clone() } else { 0..0 };
                edits.push(Edit { what, after, part, is_shared, gone });
            }
        };
        match node {
            Value::Array(_) => add("append", lines.clone(), &|node| {
                node.as_array_mut().unwrap().push([("name", Value::from("new"))].into_iter().collect());
            }),
            Value::Object(_) => {
                add("insert", lines.clone(), &|node| node.insert("new key", Value::from("new: 1")));
            }
            _ => {
                add("another text", lines.clone(), &|node| *node = Value::from("edited: #1"));
                add("another number", lines.clone(), &|node| *node = Value::from(4711));
                add("several lines", lines.clone(), &|node| *node = Value::from("one\ntwo\n"));
                add("a mapping", replaced, &|node| *node = [("new", Value::from(1))].into_iter().collect());
            }
        }
        let Some(last) = place.segments().last() else { continue };
        let Some(around) = lines_of(document, &parent) else { continue };
        let mut after = value.clone();
        if let Some(holder) = node_mut(&mut after, &parent) {
            match last {
                Segment::Key(key) => drop(holder.remove(key)),
                Segment::Index(index) => drop(holder.as_array_mut().unwrap().remove(*index)),
            }
            let part = with_above(document, around);
            let is_shared = is_shared(document, place, &part);
            let gone = with_below(document, with_above(document, removed));
            edits.push(Edit { what: "remove", after, part, is_shared, gone });
        }
    }
    edits
}

/// Makes a change and holds what came of it against what must stay.
fn check(name: &str, document: &Document, edit: &Edit, counts: &mut Counts, faults: &mut Vec<String>) {
    let Edit { what, after, part, is_shared, gone } = edit;
    let edited = document.edited(after);
    let old = document.text();
    let mut fault = |why: String| {
        faults.push(format!(
            "{name}: {what}: {why}\n--- was\n{old}\n--- became\n{}\n--- wanted {}",
            edited.text,
            after.to_json()
        ));
    };
    let mut lost = Vec::new();
    match documents(&edited.text) {
        Ok(again) => {
            let again: Vec<&Document> = again.iter().filter(|document| document.value().is_some()).collect();
            if again.len() != 1 || again[0].value() != Some(after) {
                fault("says something else".into());
            } else if again[0].edited(after).text != again[0].text() {
                fault("is not at rest".into());
            } else {
                lost = lost_comments(document, again[0], gone);
            }
        }
        Err(error) => fault(format!("cannot be read: {error}")),
    }
    if let Some(class) = edited.fallback {
        if counts.0.values().sum::<usize>() < 100_000 && class != Fallback::Root {
            writeln!(std::io::stderr(), "{name}: {what}: {class}\n{old:?}\n{}", after.to_json()).ok();
        }
        return counts.add(format!("{what}: printed canonically: {class}"));
    }
    counts.add(format!("{what}: edited"));
    for comment in lost {
        fault(format!("{comment:?} is lost"));
    }
    // Other users of an anchor follow the node that changes.
    if *is_shared {
        return;
    }
    let start = document.range().start;
    let part = part.start.saturating_sub(start)..part.end.saturating_sub(start);
    let head = old.bytes().zip(edited.text.bytes()).take_while(|(was, is)| was == is).count();
    let tail = old.bytes().rev().zip(edited.text.bytes().rev()).take_while(|(was, is)| was == is).count();
    // The last line gets an end when something comes behind it, and keeps what follows the text.
    if head < part.start.min(old.len()) || old.len() - tail.min(old.len()) > part.end {
        fault(format!("{head} bytes above and {tail} below are as they were, {part:?} may change"));
    }
}

#[test]
fn edits_keep_the_rest_of_each_text() {
    if test_support::skip_without_real_programs("editing the test suite of YAML") {
        return;
    }
    let (mut counts, mut faults) = (Counts::default(), Vec::new());
    for Text { name, text, is_error } in texts() {
        let whose = if is_error { "that are errors" } else { "that are right" };
        let documents = match documents(&text) {
            Ok(documents) => documents,
            Err(message) => {
                let class = message.split(['`', '"']).step_by(2).collect::<Vec<_>>().join("…");
                counts.add(format!("texts {whose} refused: {class}"));
                continue;
            }
        };
        counts.add(format!("texts {whose} read"));
        assert_eq!(documents.iter().map(Document::text).collect::<String>(), text, "{name}");
        for document in &documents {
            let Some(value) = document.value() else {
                counts.add("documents without a node");
                continue;
            };
            if document.edited(value).text != document.text() {
                faults.push(format!("{name}: changes by itself\n{}", document.edited(value).text));
            }
            let is_nested = value.as_array().is_some_and(|items| !items.is_empty())
                || value.as_object().is_some_and(|members| !members.is_empty());
            counts.add(if is_nested { "documents of lists and mappings" } else { "documents of a scalar" });
            if is_nested {
                for edit in edits(document, value) {
                    check(&name, document, &edit, &mut counts, &mut faults);
                }
            }
        }
    }
    counts.log();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn invalid_texts_are_refused_with_position() {
    if test_support::skip_without_real_programs("refusing what is no YAML") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: ['*']}}]}\n    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}\n";
    fs::write(folder.path().join("policy.yaml"), policy).unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    let refused: Vec<Text> = texts().into_iter().filter(|text| documents(&text.text).is_err()).collect();
    let path = |text: &Text| folder.path().join("in").join(format!("{}.yaml", text.name));
    for text in &refused {
        fs::write(path(text), &text.text).unwrap();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
        .args(["mutate", "-i", "-p", "policy.yaml", "-f", "in", "--verbose"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{said}");
    for text in &refused {
        let name = Path::new("in").join(format!("{}.yaml", text.name)).display().to_string();
        assert!(said.contains(&format!("{name}:")), "{name} is not named");
        assert_eq!(fs::read_to_string(path(text)).unwrap(), text.text, "{name}");
    }
    writeln!(std::io::stderr(), "{} texts refused", refused.len()).ok();
}
