//! Batches of documents, each parsed and evaluated by one thread.
//!
//! A text is split into sections of documents. A large file is read and evaluated window by window, so that it is never in
//! memory as a whole.

use std::cmp::Ordering;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use crate::yaml::{Limits, MAX_ERRORS, Origin, Section, Sections, Source};

use super::manifests::{Input, Origin as InputOrigin};
use super::text::{parse, read_text};
use super::{InputDocument, Location, Manifests, SourceError};

/// The least text of a batch, unless the input ends or another rule ends the batch.
const BATCH_BYTES: usize = 16 << 10;

/// The most files of a batch.
const MAX_BATCH_FILES: usize = 64;

/// The part of a large file that is in memory at once, unless a document is longer.
const WINDOW_BYTES: u64 = 1 << 20;

/// A batch of documents.
#[derive(Debug)]
pub enum InputBatch {
    /// Documents, or the errors in them.
    Documents(Vec<Result<InputDocument, SourceError>>),
    /// Texts that are not parsed yet.
    Texts(Vec<UnparsedText>),
}

/// A text, or a section of one, that is not parsed yet.
#[derive(Debug)]
pub struct UnparsedText {
    origin: InputOrigin,
    text: Text,
    limits: Limits,
}

#[derive(Debug)]
enum Text {
    /// A file, which is not read yet either.
    File(Arc<Path>),
    Section(Section),
    Error(SourceError),
}

impl InputBatch {
    /// Its documents, in order.
    pub fn documents(self) -> Vec<Result<InputDocument, SourceError>> {
        match self {
            Self::Documents(documents) => documents,
            Self::Texts(texts) => texts.into_iter().flat_map(UnparsedText::documents).collect(),
        }
    }
}

impl UnparsedText {
    fn documents(self) -> Vec<Result<InputDocument, SourceError>> {
        let Self { origin, text, limits } = self;
        let documents = match text {
            Text::Error(error) => Err(vec![error]),
            Text::File(path) => read_text(&Location::file(&*path), &limits)
                .map_err(|error| vec![error])
                .and_then(|text| parse(&text, &limits)),
            Text::Section(section) => {
                section.read(&limits).map_err(|errors| errors.into_iter().map(SourceError::from).collect())
            }
        };
        origin.documents(documents)
    }
}

/// The batches of all inputs, in order.
#[derive(Debug)]
struct InputBatches<'a> {
    manifests: &'a Manifests,
    /// Whether files are read as a whole.
    whole: bool,
    /// The next input.
    next: usize,
    /// The input that is being split.
    open: Option<OpenInput>,
}

/// An input of several batches.
#[derive(Debug)]
struct OpenInput {
    number: usize,
    window: Window,
    /// The number of documents so far.
    documents: usize,
}

/// A text, or the part of a file that is in memory.
#[derive(Debug)]
struct Window {
    sections: Sections,
    /// The file after the window.
    rest: Option<Rest>,
}

/// A file that is read window by window.
#[derive(Debug)]
struct Rest {
    file: File,
    /// Bytes after the window that are already read.
    tail: Vec<u8>,
    /// Where the window starts in the file.
    start: Origin,
    /// The number of bytes that are read.
    bytes: usize,
}

impl Manifests {
    /// The batches of all inputs, in order. `whole` if files are read as a whole.
    pub fn batches(&self, whole: bool) -> impl Iterator<Item = InputBatch> {
        InputBatches { manifests: self, whole, next: 0, open: None }
    }
}

impl InputBatches<'_> {
    fn unparsed(&self, input: usize, text: Text) -> UnparsedText {
        UnparsedText { origin: self.manifests.origin(input), text, limits: self.manifests.limits }
    }

    /// The next section of the open input; `None` at its end.
    fn section(&mut self) -> Option<Text> {
        let limits = self.manifests.limits;
        let open = self.open.as_mut()?;
        loop {
            if let Some(section) = open.window.sections.next() {
                let before = open.documents;
                open.documents += section.documents();
                if open.documents <= limits.documents {
                    return Some(Text::Section(section));
                }
                self.open = None;
                return Some(Text::Error(section.one_too_many(limits.documents - before, &limits).into()));
            }
            let next = open.window.rest.take().map(|rest| rest.next_window(&open.window.sections, &limits));
            match next {
                Some(Ok(window)) => open.window = window,
                end => {
                    self.open = None;
                    return end?.err().map(Text::Error);
                }
            }
        }
    }

    /// Opens an input of several batches.
    fn open(&self, input: &Input) -> Result<Window, SourceError> {
        let limits = &self.manifests.limits;
        let (path, bytes) = match input {
            Input::Text(text) => return whole(Arc::clone(text), limits),
            Input::File { path, bytes } => (path, *bytes),
        };
        let location = Location::file(&**path);
        if self.whole || bytes <= WINDOW_BYTES {
            return whole(read_text(&location, limits)?, limits);
        }
        let name = location.name();
        let file = File::open(path).map_err(|cause| SourceError::unreadable(name.clone(), cause))?;
        let rest = Rest { file, tail: Vec::new(), start: Origin::START, bytes: 0 };
        rest.window(name, Vec::new(), limits)
    }
}

fn whole(text: Arc<Source>, limits: &Limits) -> Result<Window, SourceError> {
    if text.text().len() > limits.bytes {
        return Err(text.too_large(limits).into());
    }
    Ok(Window { sections: Sections::new(text, BATCH_BYTES), rest: None })
}

impl Rest {
    /// The window after this one.
    fn next_window(mut self, window: &Sections, limits: &Limits) -> Result<Window, SourceError> {
        let (source, at) = (window.source(), window.rest());
        let mut bytes = source.text().as_bytes()[at.offset..].to_vec();
        bytes.append(&mut self.tail);
        self.start = Origin { offset: self.start.offset + at.offset, line: at.line };
        self.window(source.name().to_owned(), bytes, limits)
    }

    /// The window that starts with these bytes.
    fn window(mut self, name: String, mut bytes: Vec<u8>, limits: &Limits) -> Result<Window, SourceError> {
        loop {
            let most = (bytes.len() as u64).max(WINDOW_BYTES);
            let read = self.file.by_ref().take(most).read_to_end(&mut bytes);
            let read = read.map_err(|cause| SourceError::unreadable(name.clone(), cause))?;
            self.bytes += read;
            let is_end = (read as u64) < most;
            let is_too_large = self.bytes > limits.bytes;
            // Up to the end of a line, so that no character is split.
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            let end = if is_end || is_too_large { Some(bytes.len()) } else { end };
            let Some(end) = end else { continue };
            self.tail = bytes.split_off(end);
            let source = Arc::new(Source::part_from_bytes(name, bytes, self.start)?);
            return if is_too_large {
                Err(source.too_large(limits).into())
            } else if is_end {
                Ok(Window { sections: Sections::new(source, BATCH_BYTES), rest: None })
            } else {
                Ok(Window { sections: Sections::of_beginning(source, BATCH_BYTES), rest: Some(self) })
            };
        }
    }
}

impl Iterator for InputBatches<'_> {
    type Item = InputBatch;

    fn next(&mut self) -> Option<InputBatch> {
        let mut texts = Vec::new();
        let mut length = 0;
        while length < BATCH_BYTES as u64 && texts.len() < MAX_BATCH_FILES {
            if let Some(input) = self.open.as_ref().map(|open| open.number) {
                let Some(text) = self.section() else { continue };
                return Some(InputBatch::Texts(vec![self.unparsed(input, text)]));
            }
            let number = self.next;
            let Some(input) = self.manifests.inputs.get(number) else { break };
            if let Input::File { path, bytes } = input
                && *bytes <= BATCH_BYTES as u64
            {
                self.next += 1;
                length += bytes;
                texts.push(self.unparsed(number, Text::File(Arc::clone(path))));
                continue;
            }
            // An input of several batches starts a new one.
            if !texts.is_empty() {
                break;
            }
            self.next += 1;
            match self.open(input) {
                Ok(window) => self.open = Some(OpenInput { number, window, documents: 0 }),
                Err(error) => texts.push(self.unparsed(number, Text::Error(error))),
            }
        }
        (!texts.is_empty()).then_some(InputBatch::Texts(texts))
    }
}

/// Errors of inputs, with a limited number of syntax errors for each text.
#[derive(Debug, Default)]
pub struct InputErrors {
    errors: Vec<SourceError>,
    /// The text of the last syntax errors, and their number.
    name: String,
    count: usize,
}

impl InputErrors {
    /// Adds an error.
    pub fn push(&mut self, error: SourceError) {
        let SourceError::Syntax(error) = error else { return self.errors.push(error) };
        if self.name != error.name() {
            error.name().clone_into(&mut self.name);
            self.count = 0;
        }
        self.count += 1;
        match self.count.cmp(&(MAX_ERRORS + 1)) {
            Ordering::Less => self.errors.push(error.into()),
            Ordering::Equal => self.errors.push(error.further().into()),
            Ordering::Greater => {}
        }
    }
}

impl IntoIterator for InputErrors {
    type Item = SourceError;
    type IntoIter = std::vec::IntoIter<SourceError>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::source::{Content, Walk};
    use crate::value::Value;

    fn manifests(texts: &[&str], limits: Limits) -> (tempfile::TempDir, Manifests) {
        let folder = tempfile::tempdir().unwrap();
        let mut manifests = Manifests::new(limits);
        for (number, text) in texts.iter().enumerate() {
            let path = folder.path().join(format!("{number:03}.yaml"));
            std::fs::write(&path, text).unwrap();
            manifests.add(&path, Walk::Flat).unwrap();
        }
        (folder, manifests)
    }

    fn documents(manifests: &Manifests, whole: bool) -> Vec<Result<InputDocument, SourceError>> {
        manifests.batches(whole).flat_map(InputBatch::documents).collect()
    }

    /// The documents as `INPUT:LINE: VALUE`, and the errors.
    fn shown(documents: &[Result<InputDocument, SourceError>]) -> Vec<String> {
        let one = |document: &Result<InputDocument, SourceError>| match document {
            Ok(InputDocument { input, content: Content::Document(document), .. }) => {
                let value = document.value().map_or_else(String::new, Value::to_json);
                format!("{input}:{}: {value}", document.start().line)
            }
            Ok(document) => format!("{document:?}"),
            Err(error) => error.to_string(),
        };
        documents.iter().map(one).collect()
    }

    /// A stream that is longer than several windows, with characters of several bytes and lines of all sorts.
    fn long() -> String {
        let mut text = String::new();
        let mut number = 0;
        while text.len() < 5 << 19 {
            let _ = write!(text, "# é{number}\n---\nnumber: {number}\r\ntext: |\n  ü\n  -\n");
            if number % 7 == 0 {
                text.push_str("...\n\n# behind\n");
            }
            if number % 1000 == 0 {
                let _ = writeln!(text, "---\nlong: {}", "ß".repeat(100_000));
            }
            number += 1;
        }
        text
    }

    #[test]
    fn windows_have_the_documents_of_the_whole_file() {
        let text = long();
        let (_folder, manifests) = manifests(&["a: 1\n", &text, "b: 1\n---\nc: 1\n"], Limits::default());
        let (whole, windows) = (documents(&manifests, true), documents(&manifests, false));
        assert_eq!(shown(&windows), shown(&whole));
        let texts: String = windows.iter().map(|document| text_of(document.as_ref().unwrap())).collect();
        assert_eq!(texts, format!("a: 1\n{text}b: 1\n---\nc: 1\n"));
        assert!(manifests.batches(false).count() > 10);
    }

    fn text_of(document: &InputDocument) -> &str {
        let Content::Document(document) = &document.content else { return "" };
        document.text()
    }

    #[test]
    fn a_document_may_be_longer_than_a_window() {
        let items: String = (0..300_000).map(|number| format!("- {number}\n")).collect();
        let (_folder, manifests) = manifests(&[&format!("a: 1\n---\n{items}---\nb: 1")], Limits::default());
        assert_eq!(shown(&documents(&manifests, false)), shown(&documents(&manifests, true)));
    }

    #[test]
    fn errors_in_windows_have_the_lines_of_the_file() {
        let text = format!("{}---\nb: [\n---\nc: \"\n", long());
        let (_folder, manifests) = manifests(&[&text], Limits::default());
        let errors = |whole| {
            let shown = shown(&documents(&manifests, whole));
            shown.into_iter().filter(|text| text.contains("unclosed")).collect::<Vec<_>>()
        };
        assert_eq!(errors(false).len(), 2);
        assert_eq!(errors(false), errors(true));
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_located_in_the_file() {
        let text = long();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        std::fs::write(&path, [text.as_bytes(), b"---\na: \xff\n"].concat()).unwrap();
        let mut manifests = Manifests::new(Limits::default());
        manifests.add(&path, Walk::Flat).unwrap();
        let last = |whole| shown(&documents(&manifests, whole)).pop().unwrap();
        assert!(last(false).contains(&format!("byte {} is not UTF-8", text.len() + 7)), "{}", last(false));
        assert_eq!(last(false), last(true));
    }

    #[test]
    fn a_text_beyond_the_limits_is_refused() {
        let text = long();
        for (name, value, expected) in [
            ("yaml-bytes", text.len() - 1, "the text is too large"),
            ("yaml-documents", 5000, "too many documents"),
        ] {
            let mut limits = Limits::default();
            assert!(limits.set(name, value));
            let (_folder, manifests) = manifests(&[&text, "a: 1\n"], limits);
            let shown = shown(&documents(&manifests, false));
            assert!(shown[shown.len() - 2].contains(expected), "{}", shown[shown.len() - 2]);
            assert_eq!(shown.last().unwrap(), "1:1: {\"a\":1}");
        }
    }

    #[test]
    fn json_values_without_separators_count_as_documents() {
        let mut limits = Limits::default();
        assert!(limits.set("yaml-documents", 999));
        let (_folder, manifests) = manifests(
            &[&format!("{}{}", "{}\n".repeat(1000), "# c\n".repeat(BATCH_BYTES)), "{\"a\": 1}\n"],
            limits,
        );
        for whole in [false, true] {
            let shown = shown(&documents(&manifests, whole));
            assert_eq!(shown.len(), 2);
            assert!(shown[0].contains("000.yaml:1000:1: too many documents"), "{}", shown[0]);
        }
    }

    #[test]
    fn of_many_errors_the_first_are_listed() {
        let text: String = (0..3000).map(|_| "a: [\n---\n").collect();
        let (_folder, manifests) = manifests(&[&text, "b: [\n"], Limits::default());
        let mut errors = InputErrors::default();
        documents(&manifests, false).into_iter().filter_map(Result::err).for_each(|error| errors.push(error));
        let listed: Vec<String> = errors.into_iter().map(|error| error.to_string()).collect();
        assert_eq!(listed.len(), MAX_ERRORS + 2);
        assert!(listed[MAX_ERRORS].contains("further errors from here on are not listed"));
        assert!(listed[MAX_ERRORS + 1].contains("001.yaml"));
    }
}
