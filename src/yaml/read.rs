//! Reading streams and single documents.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::value::Value;

use super::build::{Builder, Duplicates, Problem};
use super::document::{DocumentRanges, Format};
use super::edit::{Layout, LayoutRecorder};
use super::event::ReadError;
use super::json::JsonText;
use super::keys::Keys;
use super::parser::YamlText;
use super::split::{Chunk, chunks, chunks_from, has_lone_returns};
use super::{Document, ErrorKind, Limits, Origin, Source, SyntaxError};

/// The maximum number of listed errors of a stream.
pub const MAX_ERRORS: usize = 1000;
/// The number of documents that a thread reads at a time.
const BATCH: usize = 32;

/// Reads a stream of documents: YAML, JSON, or both.
///
/// Duplicate keys are errors. All documents are checked even if one has errors.
///
/// ```
/// use std::sync::Arc;
///
/// use kyv::yaml::{Limits, Source, read};
///
/// let source = Arc::new(Source::new("web.yaml", "on: yes\n---\nmode: 0755 # as Kubernetes reads it\n"));
/// let documents = read(&source, &Limits::default()).unwrap();
/// assert_eq!(documents[0].value().unwrap().to_json(), r#"{"true":true}"#);
/// assert_eq!(documents[1].value().unwrap().to_json(), r#"{"mode":493}"#);
/// assert_eq!(documents[1].body(), "mode: 0755 # as Kubernetes reads it\n");
/// ```
///
/// # Errors
///
/// All errors of all documents, in the order of the text.
pub fn read(source: &Arc<Source>, limits: &Limits) -> Result<Vec<Document>, Vec<SyntaxError>> {
    if source.text().len() > limits.bytes {
        return Err(vec![source.too_large(limits)]);
    }
    let found = chunks_from(source.text(), source.start(), has_lone_returns(source.text()));
    let chunks: Vec<_> = found.take(limits.documents.saturating_add(1)).collect();
    if let Some(chunk) = chunks.get(limits.documents) {
        return Err(vec![source.too_many(chunk.origin(), chunk.body.start, limits)]);
    }
    let batches: Vec<Batch> = if chunks.len() <= BATCH {
        vec![read_batch(source, limits, &mut Keys::default(), &chunks)]
    } else {
        let read = |keys: &mut Keys, chunks: &[Chunk]| read_batch(source, limits, keys, chunks);
        chunks.par_chunks(BATCH).map_init(Keys::default, read).collect()
    };
    let mut documents = Vec::with_capacity(chunks.len());
    let mut errors = Vec::new();
    for batch in batches {
        documents.extend(batch.documents);
        errors.extend(batch.errors);
    }
    if let Some(error) = surplus(source, &documents, limits) {
        return Err(vec![error]);
    }
    if let Some(further) = errors.get(MAX_ERRORS) {
        let further = further.clone().further();
        errors.truncate(MAX_ERRORS);
        errors.push(further);
    }
    if errors.is_empty() { Ok(documents) } else { Err(errors) }
}

/// The error for too many documents. JSON values need no separator, so they are counted after reading.
pub(super) fn surplus(source: &Source, documents: &[Document], limits: &Limits) -> Option<SyntaxError> {
    let first = documents.get(limits.documents)?;
    Some(source.too_many(first.origin, first.ranges.body.start, limits))
}

/// Consecutive documents.
pub(super) struct Batch {
    pub(super) documents: Vec<Document>,
    pub(super) errors: Vec<SyntaxError>,
}

pub(super) fn read_batch(source: &Arc<Source>, limits: &Limits, keys: &mut Keys, chunks: &[Chunk]) -> Batch {
    let mut reader =
        Reader { source, limits, keys, documents: Vec::with_capacity(chunks.len()), errors: Vec::new() };
    for chunk in chunks {
        reader.chunk(chunk);
    }
    Batch { documents: reader.documents, errors: reader.errors }
}

/// Reads the first document of a text as Kubernetes reads one: the last of equal keys counts, an empty
/// text is `null`, and text after the document is ignored.
///
/// # Errors
///
/// Text that is no YAML, or that JSON has no form for.
pub fn parse_value(text: &str) -> Result<Value, SyntaxError> {
    let source = Source::new("", text);
    let Some(chunk) = chunks(text).next() else {
        return Ok(Value::Null);
    };
    let mut keys = Keys::default();
    let limits = Limits::default();
    let mut builder = Builder::new(&mut keys, &limits, Duplicates::LastWins);
    let yaml = YamlText { text: &text[chunk.parsed.clone()], base: chunk.parsed.start, as_go: true };
    yaml.read(&limits, &mut builder)
        .map(|()| built(builder, Layout::default()))
        .and_then(|Built { value, errors, .. }| match errors.into_iter().next() {
            Some((offset, Problem::Other(error))) => Err(ReadError { offset, error }),
            _ => Ok(value.unwrap_or_default()),
        })
        .map_err(|ReadError { offset, error }| source.error(source.start(), offset, error))
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    limits: &'a Limits,
    keys: &'a mut Keys,
    documents: Vec<Document>,
    errors: Vec<SyntaxError>,
}

/// The value of a document, its layout, and what is wrong with it.
struct Built {
    value: Option<Value>,
    layout: Layout,
    errors: Vec<(usize, Problem)>,
}

/// One value of a chunk of JSON values.
struct JsonValue {
    start: usize,
    built: Built,
}

impl Reader<'_> {
    fn chunk(&mut self, chunk: &Chunk) {
        let origin = chunk.origin();
        let mut json = JsonText::new(self.source.text(), chunk.parsed.clone());
        let as_json = if json.starts().is_some() { Some(self.json(json)) } else { None };
        match as_json {
            Some(Ok(values)) => self.add_json(chunk, values),
            Some(Err(json)) => {
                if let Err(yaml) = self.yaml(chunk) {
                    // The format whose reader came further is probably meant.
                    let better = json.offset > yaml.offset && matches!(yaml.error, ErrorKind::Syntax(_));
                    self.fail(origin, if better { json } else { yaml });
                }
            }
            None => {
                if let Err(stop) = self.yaml(chunk) {
                    self.fail(origin, stop);
                }
            }
        }
        if let Some(offset) = chunk.stray {
            let error = ErrorKind::syntax("nothing but a comment may follow `...` on its line");
            self.fail(origin, ReadError { offset, error });
        }
    }

    fn yaml(&mut self, chunk: &Chunk) -> Result<(), ReadError> {
        let parsed = chunk.parsed.clone();
        let text = &self.source.text()[parsed.clone()];
        let mut builder = Builder::new(self.keys, self.limits, Duplicates::Rejected);
        let mut recorder = LayoutRecorder::new(&mut builder, self.source.text(), parsed.start, false);
        let read = YamlText { text, base: parsed.start, as_go: false }.read(self.limits, &mut recorder);
        let layout = recorder.finish();
        let mut built = built(builder, layout);
        let origin = chunk.origin();
        self.report(origin, std::mem::take(&mut built.errors));
        read?;
        let (text, body) = (chunk.text.clone(), chunk.body.clone());
        self.add(DocumentRanges { text, body, parsed }, origin, Format::Yaml, built);
        Ok(())
    }

    /// Reads lists and objects that follow each other.
    fn json(&mut self, mut json: JsonText<'_>) -> Result<Vec<JsonValue>, ReadError> {
        let mut values = Vec::new();
        while let Some(start) = json.starts() {
            let mut builder = Builder::new(self.keys, self.limits, Duplicates::Rejected);
            let mut recorder = LayoutRecorder::new(&mut builder, self.source.text(), start, true);
            json.read(&mut recorder)?;
            let layout = recorder.finish();
            values.push(JsonValue { start, built: built(builder, layout) });
        }
        match json.rest() {
            None => Ok(values),
            Some(offset) => Err(ReadError { offset, error: ErrorKind::syntax("text behind the JSON value") }),
        }
    }

    fn add_json(&mut self, chunk: &Chunk, values: Vec<JsonValue>) {
        let ends: Vec<_> = values.iter().skip(1).map(|value| Some(value.start)).chain([None]).collect();
        let mut origin = chunk.origin();
        for (index, (JsonValue { start, mut built }, end)) in values.into_iter().zip(ends).enumerate() {
            // The text between two values belongs to the first.
            let (text, body) = if index == 0 { (chunk.text.start, chunk.body.start) } else { (start, start) };
            let ranges = DocumentRanges {
                text: text..end.unwrap_or(chunk.text.end),
                body: body..end.unwrap_or(chunk.body.end),
                parsed: start..end.unwrap_or(chunk.parsed.end),
            };
            origin = self.source.origin_from(origin, text);
            self.report(origin, std::mem::take(&mut built.errors));
            self.add(ranges, origin, Format::Json, built);
        }
    }

    fn add(&mut self, ranges: DocumentRanges, origin: Origin, format: Format, built: Built) {
        let source = Arc::clone(self.source);
        let Built { value, layout, .. } = built;
        self.documents.push(Document {
            source,
            ranges,
            origin,
            format,
            value,
            layout,
            marks: OnceLock::new(),
        });
    }

    fn report(&mut self, origin: Origin, problems: Vec<(usize, Problem)>) {
        for (offset, problem) in problems {
            let error = match problem {
                Problem::Other(error) => error,
                Problem::Duplicate(key, first) => {
                    ErrorKind::duplicate(&key, self.source.position_from(origin, first))
                }
            };
            self.fail(origin, ReadError { offset, error });
        }
    }

    fn fail(&mut self, origin: Origin, stop: ReadError) {
        // One more than are listed, to see that there are more.
        if self.errors.len() <= MAX_ERRORS {
            self.errors.push(self.source.error(origin, stop.offset, stop.error));
        }
    }
}

fn built(mut builder: Builder<'_>, layout: Layout) -> Built {
    let errors = std::mem::take(&mut builder.errors);
    Built { value: builder.finish(), layout, errors }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Pointer;
    use crate::yaml::{Limit, Position, print};

    fn documents(text: &str) -> Vec<Document> {
        let source = Arc::new(Source::new("t.yaml", text));
        let documents = read(&source, &Limits::default()).unwrap_or_else(|errors| panic!("{}", errors[0]));
        let joined: String = documents.iter().map(Document::text).collect();
        assert_eq!(joined, text);
        documents
    }

    fn values(text: &str) -> Vec<String> {
        documents(text).iter().map(|document| document.value().map_or("-".into(), Value::to_json)).collect()
    }

    fn errors(text: &str, limits: &Limits) -> Vec<String> {
        let source = Arc::new(Source::new("t.yaml", text));
        let errors = read(&source, limits).unwrap_err();
        errors.iter().map(|error| format!("{}: {}", error.position(), error.message())).collect()
    }

    fn error(text: &str) -> ErrorKind {
        let source = Arc::new(Source::new("t.yaml", text));
        read(&source, &Limits::default()).unwrap_err()[0].kind().clone()
    }

    #[test]
    fn streams_are_read_document_by_document() {
        for (text, expected) in [
            ("", vec![]),
            ("# c\n", vec!["-"]),
            (
                "a: 1\n--- # c\nb: 2\n---\n---\n# c\n--- ~\n",
                vec![r#"{"a":1}"#, r#"{"b":2}"#, "-", "-", "null"],
            ),
            ("--- {a: 1}\n--- |\n  x\n...\n", vec![r#"{"a":1}"#, r#""x\n""#]),
            ("a: &x 1\n---\nb: &x 2\nc: *x\n", vec![r#"{"a":1}"#, r#"{"b":2,"c":2}"#]),
            ("\u{feff}a: 1\r\n---\r\n\u{feff}b: 2\r\n", vec![r#"{"a":1}"#, r#"{"b":2}"#]),
            ("%YAML 1.1\n---\na: 1\n", vec![r#"{"a":1}"#]),
        ] {
            assert_eq!(values(text), expected, "{text:?}");
        }
    }

    #[test]
    fn json_is_read_as_json_anywhere() {
        for (text, expected) in [
            ("{\"a\": 1}{\"b\": 2}\n[3]\n", vec![r#"{"a":1}"#, r#"{"b":2}"#, "[3]"]),
            ("# c\n{\n\t\"a\": \"\\ud83d\\ude00\\/\"\n}\n", vec!["{\"a\":\"😀/\"}"]),
            ("{\"a\": 1}\n---\nb: 2\n---\n{\"c\": -0}\n", vec![r#"{"a":1}"#, r#"{"b":2}"#, r#"{"c":-0}"#]),
            ("{\"a\": 1} # c\n", vec![r#"{"a":1}"#]),
            ("{a: [b, \"c\"]}\n", vec![r#"{"a":["b","c"]}"#]),
        ] {
            assert_eq!(values(text), expected, "{text:?}");
        }
        let found = documents("{\"a\": 1}\n{\"b\":\n  2}\n---\nb: 2\n");
        let is_json: Vec<_> = found.iter().map(Document::is_json).collect();
        assert_eq!(is_json, [true, true, false]);
        let b = found[1].position(&Pointer::ROOT.key("b")).unwrap();
        assert_eq!((b.line, b.column), (3, 3));
    }

    #[test]
    fn numbers_stay_exact() {
        let text = "a: 12345678901234567890123\nb: 1.10\nc: 0x10\n{\"d\": 1E400}";
        assert_eq!(
            values("a: 12345678901234567890123\nb: 1.10\nc: 0x10\n"),
            [r#"{"a":12345678901234567890123,"b":1.10,"c":16}"#]
        );
        assert!(read(&Arc::new(Source::new("", text)), &Limits::default()).is_err());
    }

    #[test]
    fn merges_follow_the_order_of_the_document() {
        for (text, expected) in [
            ("x: &x {a: 1, b: 2}\nw: {<<: *x, a: 3}\n", r#"{"a":3,"b":2}"#),
            ("x: &x {a: 1, b: 2}\nw: {a: 3, <<: *x}\n", r#"{"a":1,"b":2}"#),
            ("x: &x {a: 1}\nz: &z {a: 2, b: 2}\nw: {<<: [*x, *z]}\n", r#"{"a":1,"b":2}"#),
        ] {
            let value = documents(text)[0].value().unwrap().get("w").cloned();
            assert_eq!(value.unwrap(), Value::from_json(expected).unwrap(), "{text}");
        }
    }

    #[test]
    fn duplicate_keys_are_rejected_with_both_positions() {
        let first = Position { line: 2, column: 3, offset: 5 };
        let text = "a:\n  b: 1\n  c: {b: 1}\n  'b': 2\nd: 1\nd: 2\n";
        assert_eq!(error(text), ErrorKind::DuplicateKey { key: "b".into(), first });
        assert_eq!(errors(text, &Limits::default()).len(), 2);
        assert_eq!(
            errors("{\"a\": 1,\n \"a\": 2}", &Limits::default()),
            ["2:2: duplicate key \"a\" in this mapping, first at 1:2"]
        );
        assert_eq!(errors("1: a\n0x1: b\n", &Limits::default()).len(), 1);
        let many: String = (0..1000).map(|_| "a: 1\n").collect();
        let listed = errors(&many, &Limits::default());
        assert_eq!(listed.len(), 101);
        assert!(listed[100].contains("not listed"));
    }

    #[test]
    fn errors_of_all_documents_are_listed_with_line_and_caret() {
        let text = "a: [\n---\nb: 2\n---\nc: \"x\n---\nd: *e\n---\n{\"f\": [1 2}\n";
        assert_eq!(
            errors(text, &Limits::default()),
            [
                "1:4: unclosed bracket '['",
                "5:6: unclosed quote",
                "7:4: the alias has no anchor before it in this document",
                "9:10: expected `,` or the end of this list or object",
            ]
        );
        let source = Arc::new(Source::new("t.yaml", "a: 1\nb: c: d\n"));
        assert_eq!(
            read(&source, &Limits::default()).unwrap_err()[0].to_string(),
            "t.yaml:2:5: mapping values are not allowed in this context\n2 | b: c: d\n  |     ^"
        );
    }

    #[test]
    fn long_streams_keep_their_order_and_their_errors() {
        let text: String = (0..1000).map(|index| format!("---\na: {index}\n")).collect();
        let expected: Vec<_> = (0..1000).map(|index| format!("{{\"a\":{index}}}")).collect();
        assert_eq!(values(&text), expected);
        let broken = errors(&text.replace("7\n", "7\na: 0\n"), &Limits::default());
        assert_eq!(broken.len(), 100);
        assert_eq!(broken[1], "38:1: duplicate key \"a\" in this mapping, first at 37:1");
        let all = errors(&"---\n[\n".repeat(1200), &Limits::default());
        assert_eq!(all.len(), 1001);
        assert!(all[1000].ends_with("not listed"));
    }

    #[test]
    fn values_that_json_cannot_represent_are_rejected() {
        for (text, expected) in [
            ("~: 1", ErrorKind::Key("null")),
            ("[a]: 1", ErrorKind::Key("a list")),
            ("a: &x {b: 1}\n*x : 1", ErrorKind::Key("a mapping")),
            ("18446744073709551615: 1", ErrorKind::Key("an integer beyond 63 bits")),
            ("a: .inf", ErrorKind::NotFinite),
            ("a: !!int x", ErrorKind::Tag("!!int".into())),
            ("<<: 1", ErrorKind::Merge),
            ("&a [*a]", ErrorKind::AliasOfItself),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn limits_name_themselves() {
        let small = Limits { depth: 3, documents: 2, bytes: 40, alias_nodes: 10 };
        for (text, limit) in [
            ("a: {b: [[1]]}", Limit::Depth),
            ("- - - - 1", Limit::Depth),
            ("{\"a\": {\"b\": {\"c\": {}}}}", Limit::Depth),
            ("a: &a [[1]]\nb: [*a]", Limit::Depth),
            ("a\n---\nb\n---\nc\n", Limit::Documents),
            ("[1][2][3]", Limit::Documents),
            ("a: 0123456789012345678901234567890123456789", Limit::Bytes),
        ] {
            let source = Arc::new(Source::new("t.yaml", text));
            let error = &read(&source, &small).unwrap_err()[0];
            assert!(
                matches!(error.kind(), ErrorKind::Limit { limit: found, .. } if *found == limit),
                "{error}"
            );
            assert!(error.message().contains(&format!("--limit {limit}=")), "{error}");
        }
        assert_eq!(values("a: {b: [1]}"), [r#"{"a":{"b":[1]}}"#]);
    }

    #[test]
    fn hostile_texts_are_rejected_in_time() {
        let laughs: String = std::iter::once("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned())
            .chain((1..12).map(|level| {
                let aliases = format!("*a{}, ", level - 1).repeat(9);
                format!("a{level}: &a{level} [{aliases}]\n")
            }))
            .collect();
        let merged: String = (0..2000).map(|key| format!("  k{key}: 1\n")).collect();
        let merges = format!("x: &x\n{merged}y:\n{}", "- {<<: *x}\n".repeat(5000));
        for text in [laughs, merges] {
            assert!(matches!(error(&text), ErrorKind::Limit { limit: Limit::AliasNodes, .. }));
        }
        let links = (1..5000).map(|link| format!("- &a{link} [*a{}]\n", link - 1));
        let chain: String = std::iter::once("- &a0 [x]\n".to_owned()).chain(links).collect();
        assert!(matches!(error(&chain), ErrorKind::Limit { .. }));
        for part in ["[", "- ", "{a: ", "? ", "{\"a\":", "[[{a: [", "!!x ", "&a "] {
            for count in [10_000, 100_000] {
                errors(&part.repeat(count), &Limits::default());
            }
        }
        let indented: String = (0..5000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        assert!(matches!(error(&indented), ErrorKind::Limit { limit: Limit::Depth, .. }));
        assert_eq!(documents(&"{} ".repeat(50_000)).len(), 50_000);
    }

    #[test]
    fn a_chain_of_merges_is_no_depth() {
        let links = (1..50).map(|link| format!("a{link}: &a{link} {{<<: *a{}}}\n", link - 1));
        let text: String = std::iter::once("a0: &a0 {k0: 1}\n".to_owned()).chain(links).collect();
        let source = Arc::new(Source::new("t.yaml", text));
        let found = &read(&source, &Limits { depth: 3, ..Limits::default() }).unwrap()[0];
        assert_eq!(found.value().unwrap().depth(), 2);
        let pointer = Pointer::ROOT.key("a49");
        assert_eq!(found.position(&pointer.key("k0")).unwrap().line, 1);
        assert!(found.position(&pointer.key("k1")).is_none());
    }

    #[test]
    fn single_texts_are_read_like_the_library_of_kubernetes() {
        for (text, expected) in [
            ("", "null"),
            ("# c", "null"),
            ("a: 1\na: 2", r#"{"a":2}"#),
            ("a: 1\n---\nb: [", r#"{"a":1}"#),
            ("[a] [b]", r#"["a"]"#),
            ("a: |\n  x", r#"{"a":"x"}"#),
            ("a: |\n  x\n", r#"{"a":"x\n"}"#),
            ("[\n\t{\"op\": \"add\"}\n]", r#"[{"op":"add"}]"#),
        ] {
            assert_eq!(parse_value(text).unwrap().to_json(), expected, "{text:?}");
        }
        assert_eq!(parse_value("a: b: c").unwrap_err().position().column, 5);
        assert!(parse_value("a: .nan").is_err());
    }

    #[test]
    fn another_value_keeps_the_text_around_the_document() {
        let found =
            documents("# head\n--- # c\na: 1 # x\n...\n--- {b: 1}\n---\n{\"c\":1}\n{\n\t\"d\": 1\n}\n");
        let changed: Vec<_> = found
            .iter()
            .map(|document| document.with_value(&Value::from_iter([("z", Value::from(1))])))
            .collect();
        assert_eq!(
            changed,
            ["# head\n--- # c\nz: 1\n...\n", "---\nz: 1\n", "---\n{\"z\":1}\n", "{\n  \"z\": 1\n}\n",]
        );
        let mut out = String::new();
        print(found[0].value().unwrap(), &mut out);
        assert_eq!(out, "a: 1\n");
    }

    #[test]
    fn nodes_and_keys_are_found() {
        let text =
            "# c\n---\nmetadata:\n  name: x # y\n  labels: {on: 'z', b: *q}\nspec:\n- a: 1\n- b: |\n    x\n";
        let text = text.replace("*q", "2");
        let found = documents(&text);
        let found = &found[0];
        let at = |position: Option<Position>| position.map(|at| (at.line, at.column));
        let key = |place: &Pointer| found.key_span(place).map(|span| found.source().position(span.start));
        let labels = Pointer::ROOT.key("metadata").key("labels");
        assert_eq!(at(found.position(&labels)), Some((5, 11)));
        assert_eq!(at(key(&labels)), Some((5, 3)));
        assert_eq!(at(found.position(&labels.key("true"))), Some((5, 16)));
        assert_eq!(at(found.position(&labels.key("on"))), None);
        assert_eq!(at(Some(found.nearest_position(&labels.key("on")))), Some((5, 3)));
        let list = Pointer::ROOT.key("spec");
        assert_eq!(at(found.position(&list.index(1))), Some((8, 3)));
        assert_eq!(at(key(&list.index(1).key("b"))), Some((8, 3)));
        assert_eq!(at(found.position(&list.index(2))), None);
        assert_eq!(at(Some(found.start())), Some((3, 1)));
        let name = found.span(&Pointer::ROOT.key("metadata").key("name")).unwrap();
        assert_eq!(&text[name], "x");
    }

    #[test]
    fn merged_members_have_the_positions_of_their_origin() {
        let found = documents("x: &x {a: 1, b: 2}\nz: &z\n  b: 3\nw:\n  a: 4\n  <<: [*z, *x]\n  c: 5\n");
        let line = |key: &str| found[0].position(&Pointer::ROOT.key("w").key(key)).unwrap().line;
        assert_eq!([line("a"), line("b"), line("c")], [1, 3, 7]);
        let value = found[0].value().unwrap().get("w").unwrap().to_json();
        assert_eq!(value, r#"{"a":1,"b":3,"c":5}"#);
    }

    #[test]
    fn nodes_of_long_mappings_are_found() {
        let members: String = (0..100).rev().map(|key| format!("  k{key}: {key}\n")).collect();
        let found =
            documents(&format!("m: &m {{k50: 1, z: &z k200}}\nw:\n{members}  <<: *m\n  *z : 2\n  k100: 3\n"));
        let line = |key: &str| found[0].position(&Pointer::ROOT.key("w").key(key)).map(|at| at.line);
        for key in (0..100).filter(|key| *key != 50) {
            assert_eq!(line(&format!("k{key}")), Some(102 - key));
        }
        assert_eq!(
            ["k50", "z", "k200", "k100", "k101"].map(line),
            [Some(1), Some(1), Some(104), Some(105), None]
        );
    }
}
