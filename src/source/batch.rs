//! Inputs in portions: what one thread parses and evaluates at a time.
//!
//! A text is cut into sections of documents, and a large file is not even read as a whole: what of it was evaluated
//! is forgotten before the rest is read.

use std::cmp::Ordering;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use crate::yaml::{Limits, MAX_ERRORS, Origin, Section, Sections, Source};

use super::manifests::{Input, Of};
use super::text::{parse, read_text};
use super::{InputDocument, Location, Manifests, SourceError};

/// A portion has so many bytes of text, or one document.
const BYTES: usize = 16 << 10;

/// A portion has so many files at most.
const FILES: usize = 64;

/// So much of a large file is in memory at once, unless a document is longer.
const WINDOW: u64 = 1 << 20;

/// Some of the input: evaluated and printed behind what comes before it.
#[derive(Debug)]
pub enum InputBatch {
    /// Pieces that are there, or what is wrong with them.
    Pieces(Vec<Result<InputDocument, SourceError>>),
    /// Texts that nobody parsed yet.
    Texts(Vec<Unread>),
}

/// A text, or a part of one, that nobody parsed yet.
#[derive(Debug)]
pub struct Unread {
    of: Of,
    text: Text,
    limits: Limits,
}

#[derive(Debug)]
enum Text {
    /// A file, not read yet either.
    File(Arc<Path>),
    Section(Section),
    /// One that cannot be read.
    Fault(SourceError),
}

impl InputBatch {
    /// Its pieces, in order.
    pub fn pieces(self) -> Vec<Result<InputDocument, SourceError>> {
        match self {
            Self::Pieces(pieces) => pieces,
            Self::Texts(texts) => texts.into_iter().flat_map(Unread::pieces).collect(),
        }
    }
}

impl Unread {
    fn pieces(self) -> Vec<Result<InputDocument, SourceError>> {
        let Self { of, text, limits } = self;
        let documents = match text {
            Text::Fault(error) => Err(vec![error]),
            Text::File(path) => read_text(&Location::File { path: path.to_path_buf(), named: true }, &limits)
                .map_err(|error| vec![error])
                .and_then(|text| parse(&text, &limits)),
            Text::Section(section) => {
                section.read(&limits).map_err(|errors| errors.into_iter().map(SourceError::from).collect())
            }
        };
        of.pieces(documents)
    }
}

/// The portions of all inputs, in order.
#[derive(Debug)]
pub struct InputBatches<'a> {
    manifests: &'a Manifests,
    /// Whether texts are kept whole.
    whole: bool,
    /// The first input that was not begun yet.
    next: usize,
    /// The text that the current portion comes from.
    open: Option<Open>,
}

/// A text of which portions are made.
#[derive(Debug)]
struct Open {
    input: usize,
    window: Window,
    /// How many documents there were.
    documents: usize,
}

/// A text, or as much of it as is in memory.
#[derive(Debug)]
struct Window {
    sections: Sections,
    /// What of the file comes behind it.
    rest: Option<Rest>,
}

/// A file that is read window by window.
#[derive(Debug)]
struct Rest {
    file: File,
    /// What was read and stands behind the window.
    tail: Vec<u8>,
    /// Where the window starts in the file.
    start: Origin,
    /// How many bytes were read.
    bytes: usize,
}

impl<'a> InputBatches<'a> {
    pub(super) const fn new(manifests: &'a Manifests, whole: bool) -> Self {
        Self { manifests, whole, next: 0, open: None }
    }

    fn unread(&self, input: usize, text: Text) -> Unread {
        Unread { of: self.manifests.of(input), text, limits: self.manifests.limits }
    }

    /// The next section of the text that was begun; nothing at its end.
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
                return Some(Text::Fault(section.one_too_many(limits.documents - before, &limits).into()));
            }
            let behind = open.window.rest.take().map(|rest| rest.behind(&open.window.sections, &limits));
            match behind {
                Some(Ok(window)) => open.window = window,
                Some(Err(error)) => {
                    self.open = None;
                    return Some(Text::Fault(error));
                }
                None => {
                    self.open = None;
                    return None;
                }
            }
        }
    }

    /// Begins with a text that has several portions.
    fn begin(&self, input: &Input) -> Result<Window, SourceError> {
        let limits = &self.manifests.limits;
        let (path, bytes) = match input {
            Input::Text(text) => return whole(Arc::clone(text), limits),
            Input::File { path, bytes } => (path, *bytes),
        };
        let location = Location::File { path: path.to_path_buf(), named: true };
        if self.whole || bytes <= WINDOW {
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
    Ok(Window { sections: Sections::new(text, BYTES), rest: None })
}

impl Rest {
    /// What comes behind a window.
    fn behind(mut self, window: &Sections, limits: &Limits) -> Result<Window, SourceError> {
        let (source, at) = (window.source(), window.rest());
        let mut carry = source.text().as_bytes()[at.offset..].to_vec();
        carry.append(&mut self.tail);
        self.start = Origin { offset: self.start.offset + at.offset, line: at.line };
        self.window(source.name().to_owned(), carry, limits)
    }

    /// The window that begins with bytes that were read.
    fn window(mut self, name: String, mut bytes: Vec<u8>, limits: &Limits) -> Result<Window, SourceError> {
        loop {
            let wanted = (bytes.len() as u64).max(WINDOW);
            let read = self.file.by_ref().take(wanted).read_to_end(&mut bytes);
            let read = read.map_err(|cause| SourceError::unreadable(name.clone(), cause))?;
            self.bytes += read;
            let is_end = (read as u64) < wanted;
            let is_too_large = self.bytes > limits.bytes;
            // Up to the end of a line: nothing that belongs together is cut, be it the bytes of a character.
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            let end = if is_end || is_too_large { Some(bytes.len()) } else { end };
            let Some(end) = end else { continue };
            self.tail = bytes.split_off(end);
            let source = Arc::new(Source::part_from_bytes(name, bytes, self.start)?);
            return if is_too_large {
                Err(source.too_large(limits).into())
            } else if is_end {
                Ok(Window { sections: Sections::new(source, BYTES), rest: None })
            } else {
                Ok(Window { sections: Sections::of_beginning(source, BYTES), rest: Some(self) })
            };
        }
    }
}

impl Iterator for InputBatches<'_> {
    type Item = InputBatch;

    fn next(&mut self) -> Option<InputBatch> {
        let mut texts = Vec::new();
        let mut length = 0;
        while length < BYTES as u64 && texts.len() < FILES {
            if let Some(input) = self.open.as_ref().map(|open| open.input) {
                let Some(text) = self.section() else { continue };
                return Some(InputBatch::Texts(vec![self.unread(input, text)]));
            }
            let number = self.next;
            let Some(input) = self.manifests.inputs.get(number) else { break };
            if let Input::File { path, bytes } = input
                && *bytes <= BYTES as u64
            {
                self.next += 1;
                length += bytes;
                texts.push(self.unread(number, Text::File(Arc::clone(path))));
                continue;
            }
            // What is many portions begins behind those that are one.
            if !texts.is_empty() {
                break;
            }
            self.next += 1;
            match self.begin(input) {
                Ok(window) => self.open = Some(Open { input: number, window, documents: 0 }),
                Err(error) => texts.push(self.unread(number, Text::Fault(error))),
            }
        }
        (!texts.is_empty()).then_some(InputBatch::Texts(texts))
    }
}

/// Errors of texts, no more of each than are worth reading.
#[derive(Debug, Default)]
pub struct Faults {
    listed: Vec<SourceError>,
    /// The text that the last ones are of, and how many they are.
    name: String,
    count: usize,
}

impl Faults {
    /// Takes one in.
    pub fn push(&mut self, error: SourceError) {
        let SourceError::Syntax(error) = error else { return self.listed.push(error) };
        if self.name != error.name() {
            error.name().clone_into(&mut self.name);
            self.count = 0;
        }
        self.count += 1;
        match self.count.cmp(&(MAX_ERRORS + 1)) {
            Ordering::Less => self.listed.push(error.into()),
            Ordering::Equal => self.listed.push(error.further().into()),
            Ordering::Greater => {}
        }
    }
}

impl IntoIterator for Faults {
    type Item = SourceError;
    type IntoIter = std::vec::IntoIter<SourceError>;

    fn into_iter(self) -> Self::IntoIter {
        self.listed.into_iter()
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

    fn pieces(manifests: &Manifests, whole: bool) -> Vec<Result<InputDocument, SourceError>> {
        manifests.batches(whole).flat_map(InputBatch::pieces).collect()
    }

    /// Inputs, lines and values of the pieces, and the errors.
    fn told(pieces: &[Result<InputDocument, SourceError>]) -> Vec<String> {
        let one = |piece: &Result<InputDocument, SourceError>| match piece {
            Ok(InputDocument { input, content: Content::Document(document), .. }) => {
                let value = document.value().map_or_else(String::new, Value::to_json);
                format!("{input}:{}: {value}", document.start().line)
            }
            Ok(piece) => format!("{piece:?}"),
            Err(error) => error.to_string(),
        };
        pieces.iter().map(one).collect()
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
    fn a_large_file_says_in_windows_what_it_says_as_a_whole() {
        let text = long();
        let (_folder, manifests) = manifests(&["a: 1\n", &text, "b: 1\n---\nc: 1\n"], Limits::default());
        let (whole, windows) = (pieces(&manifests, true), pieces(&manifests, false));
        assert_eq!(told(&windows), told(&whole));
        let texts: String = windows.iter().map(|piece| text_of(piece.as_ref().unwrap())).collect();
        assert_eq!(texts, format!("a: 1\n{text}b: 1\n---\nc: 1\n"));
        assert!(manifests.batches(false).count() > 10);
    }

    fn text_of(piece: &InputDocument) -> &str {
        let Content::Document(document) = &piece.content else { return "" };
        document.text()
    }

    #[test]
    fn a_document_may_be_longer_than_a_window() {
        let items: String = (0..300_000).map(|number| format!("- {number}\n")).collect();
        let (_folder, manifests) = manifests(&[&format!("a: 1\n---\n{items}---\nb: 1")], Limits::default());
        assert_eq!(told(&pieces(&manifests, false)), told(&pieces(&manifests, true)));
    }

    #[test]
    fn errors_in_windows_name_the_lines_of_the_file() {
        let text = format!("{}---\nb: [\n---\nc: \"\n", long());
        let (_folder, manifests) = manifests(&[&text], Limits::default());
        let errors = |whole| {
            let told = told(&pieces(&manifests, whole));
            told.into_iter().filter(|text| text.contains("unclosed")).collect::<Vec<_>>()
        };
        assert_eq!(errors(false).len(), 2);
        assert_eq!(errors(false), errors(true));
    }

    #[test]
    fn bytes_that_are_no_text_are_named_by_their_place_in_the_file() {
        let text = long();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        std::fs::write(&path, [text.as_bytes(), b"---\na: \xff\n"].concat()).unwrap();
        let mut manifests = Manifests::new(Limits::default());
        manifests.add(&path, Walk::Flat).unwrap();
        let last = |whole| told(&pieces(&manifests, whole)).pop().unwrap();
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
            let told = told(&pieces(&manifests, false));
            assert!(told[told.len() - 2].contains(expected), "{}", told[told.len() - 2]);
            assert_eq!(told.last().unwrap(), "1:1: {\"a\":1}");
        }
    }

    #[test]
    fn json_values_without_separators_count_as_documents() {
        let mut limits = Limits::default();
        assert!(limits.set("yaml-documents", 999));
        let (_folder, manifests) = manifests(
            &[&format!("{}{}", "{}\n".repeat(1000), "# c\n".repeat(BYTES)), "{\"a\": 1}\n"],
            limits,
        );
        for whole in [false, true] {
            let told = told(&pieces(&manifests, whole));
            assert_eq!(told.len(), 2);
            assert!(told[0].contains("000.yaml:1000:1: too many documents"), "{}", told[0]);
        }
    }

    #[test]
    fn of_many_errors_the_first_are_listed() {
        let text: String = (0..3000).map(|_| "a: [\n---\n").collect();
        let (_folder, manifests) = manifests(&[&text, "b: [\n"], Limits::default());
        let mut faults = Faults::default();
        pieces(&manifests, false).into_iter().filter_map(Result::err).for_each(|error| faults.push(error));
        let listed: Vec<String> = faults.into_iter().map(|error| error.to_string()).collect();
        assert_eq!(listed.len(), MAX_ERRORS + 2);
        assert!(listed[MAX_ERRORS].contains("further errors from here on are not listed"));
        assert!(listed[MAX_ERRORS + 1].contains("001.yaml"));
    }
}
