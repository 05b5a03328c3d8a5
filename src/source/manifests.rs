//! Objects as texts give them, in input order.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::value::Value;
use crate::yaml::{Document, Limits, Source};

use super::batch::InputBatches;
use super::prescan::{namespaces_in, objects_in};
use super::text::{parse, read_text};
use super::{Asked, Location, SourceError, Walk, expand};

/// So many files, or so many bytes of them, are parsed at once.
const BATCH_FILES: usize = 64;
const BATCH_BYTES: u64 = 4 << 20;

/// What is evaluated and printed as one.
#[derive(Debug)]
pub struct InputDocument {
    /// The number of the input it comes from, from 0.
    pub input: usize,
    /// What it is.
    pub content: Content,
    /// The regular file it comes from, if it does.
    pub file: Option<Arc<Path>>,
    /// Whether its objects are there for rules with targets alone: they trigger nothing, and matter only if
    /// they change.
    pub further: bool,
}

/// What a [`InputDocument`] is.
#[derive(Debug)]
pub enum Content {
    /// A document of a text; its text matters, too.
    Document(Document),
    /// An object without a text, such as a live one.
    Object(Value),
}

impl InputDocument {
    /// What the piece says; `None` for a document of nothing but blanks and comments.
    pub const fn value(&self) -> Option<&Value> {
        match &self.content {
            Content::Document(document) => document.value(),
            Content::Object(object) => Some(object),
        }
    }

    /// About how many bytes it holds.
    pub fn weight(&self) -> usize {
        match &self.content {
            Content::Document(document) => document.text().len(),
            Content::Object(object) => object.weight(),
        }
    }
}

/// The texts that hold a run's objects.
///
/// Files are read when their turn comes, and forgotten after it; what can be read only once is read when
/// it is added.
#[derive(Debug, Default)]
pub struct Manifests {
    pub(super) inputs: Vec<Input>,
    pub(super) limits: Limits,
    /// The first input with further objects.
    further: Option<usize>,
}

#[derive(Debug)]
pub(super) enum Input {
    /// A file that can be read as often as wanted.
    File { path: Arc<Path>, bytes: u64 },
    /// A text in memory.
    Text(Arc<Source>),
}

impl Manifests {
    /// No texts yet.
    pub const fn new(limits: Limits) -> Self {
        Self { inputs: Vec::new(), limits, further: None }
    }

    /// Adds what an argument stands for.
    ///
    /// # Errors
    ///
    /// As [`expand`], as [`read_text`] for what is read at once, and an empty standard input.
    pub fn add(&mut self, argument: &Path, walk: Walk) -> Result<(), SourceError> {
        for location in expand(argument, walk)? {
            let regular = match &location {
                Location::File { path, .. } => fs::metadata(path).ok().filter(fs::Metadata::is_file),
                Location::Stdin => None,
            };
            self.inputs.push(match (location, regular) {
                (Location::File { path, .. }, Some(metadata)) => {
                    Input::File { path: path.into(), bytes: metadata.len() }
                }
                (location, _) => {
                    let text = read_text(&location, &self.limits)?;
                    if location == Location::Stdin && text.text().trim().is_empty() {
                        return Err(SourceError::Nothing);
                    }
                    Input::Text(text)
                }
            });
        }
        Ok(())
    }

    /// Takes what is added from now on for further objects, which only rules with targets may change.
    pub fn start_further(&mut self) {
        self.further = Some(self.inputs.len());
    }

    /// Adds a text.
    pub fn add_text(&mut self, text: Arc<Source>) {
        self.inputs.push(Input::Text(text));
    }

    /// How many inputs there are.
    pub const fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Whether any text was added that is no file.
    pub fn is_rendered(&self) -> bool {
        self.inputs.iter().any(|input| matches!(input, Input::Text(_)))
    }

    /// The file that is an input; `None` for standard input and other passing things.
    pub fn file(&self, input: usize) -> Option<&Path> {
        match self.inputs.get(input)? {
            Input::File { path, .. } => Some(path),
            Input::Text(_) => None,
        }
    }

    /// The Namespace objects among the inputs. What cannot be read or parsed is passed over here: the
    /// reading of the pieces names it.
    pub fn namespaces(&self) -> Vec<Value> {
        let found = self.inputs.par_iter().map(|input| {
            self.text(input).map_or_else(|_| Vec::new(), |text| namespaces_in(&text, &self.limits))
        });
        found.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    /// The objects that are asked for among the inputs. What cannot be read or parsed is passed over here.
    pub fn asked(&self, asked: &Asked<'_>) -> Vec<Value> {
        let found = self.inputs.par_iter().map(|input| {
            let objects = |text: Arc<Source>| {
                objects_in(&text, &self.limits, |name| asked.may_name(name), |kind| asked.holds(kind))
            };
            self.text(input).map_or_else(|_| Vec::new(), objects)
        });
        found.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    /// The portions of all inputs, in order; `whole` where the text of a file is wanted in one.
    pub fn batches(&self, whole: bool) -> InputBatches<'_> {
        InputBatches::new(self, whole)
    }

    /// The pieces of all inputs, in order. An input that cannot be read gives its errors in its place, and
    /// the next one follows.
    pub fn pieces(&self) -> impl Iterator<Item = Result<InputDocument, SourceError>> {
        Pieces { manifests: self, next: 0, ready: VecDeque::new() }
    }

    fn text(&self, input: &Input) -> Result<Arc<Source>, SourceError> {
        match input {
            Input::Text(text) => Ok(Arc::clone(text)),
            Input::File { path, .. } => {
                read_text(&Location::File { path: path.to_path_buf(), named: true }, &self.limits)
            }
        }
    }

    /// What the pieces of an input have in common.
    pub(super) fn of(&self, input: usize) -> Of {
        let file = match self.inputs.get(input) {
            Some(Input::File { path, .. }) => Some(Arc::clone(path)),
            _ => None,
        };
        Of { input, file, further: self.further.is_some_and(|first| input >= first) }
    }

    fn documents(&self, input: &Input) -> Result<Vec<Document>, Vec<SourceError>> {
        let text = self.text(input).map_err(|error| vec![error])?;
        parse(&text, &self.limits)
    }
}

/// Where pieces come from.
#[derive(Clone, Debug)]
pub(super) struct Of {
    input: usize,
    file: Option<Arc<Path>>,
    further: bool,
}

impl Of {
    /// Documents as pieces, or what is wrong with them.
    pub(super) fn pieces(
        self,
        documents: Result<Vec<Document>, Vec<SourceError>>,
    ) -> Vec<Result<InputDocument, SourceError>> {
        let Self { input, file, further } = self;
        let piece = |document| {
            Ok(InputDocument { input, content: Content::Document(document), file: file.clone(), further })
        };
        match documents {
            Ok(documents) => documents.into_iter().map(piece).collect(),
            Err(errors) => errors.into_iter().map(Err).collect(),
        }
    }
}

struct Pieces<'a> {
    manifests: &'a Manifests,
    /// The first input that was not parsed yet.
    next: usize,
    ready: VecDeque<Result<InputDocument, SourceError>>,
}

impl Pieces<'_> {
    /// Parses further inputs, several at once.
    fn batch(&mut self) {
        let rest = self.manifests.inputs.get(self.next..).unwrap_or_default();
        let mut bytes = 0;
        let few = rest.iter().take(BATCH_FILES).take_while(|input| {
            let before = bytes;
            bytes += match input {
                Input::File { bytes, .. } => *bytes,
                Input::Text(text) => text.text().len() as u64,
            };
            before < BATCH_BYTES
        });
        let batch = &rest[..few.count()];
        let parsed: Vec<_> = batch.par_iter().map(|input| self.manifests.documents(input)).collect();
        for (offset, documents) in parsed.into_iter().enumerate() {
            let input = self.next + offset;
            self.ready.extend(self.manifests.of(input).pieces(documents));
        }
        self.next += batch.len();
    }
}

impl Iterator for Pieces<'_> {
    type Item = Result<InputDocument, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && self.next < self.manifests.inputs.len() {
            self.batch();
        }
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_text_does_not_hide_the_next() {
        let mut manifests = Manifests::new(Limits::default());
        for (name, text) in [("a", "a: 1\n---\nb: 1\n"), ("b", "a: [\n"), ("c", "c: 1\n")] {
            manifests.add_text(Arc::new(Source::new(name, text)));
        }
        let pieces: Vec<_> = manifests.pieces().collect();
        let inputs: Vec<_> =
            pieces.iter().map(|piece| piece.as_ref().ok().map(|piece| piece.input)).collect();
        assert_eq!(inputs, [Some(0), Some(0), None, Some(2)]);
    }

    #[test]
    fn what_goes_through_many_batches_keeps_its_order() {
        let mut manifests = Manifests::new(Limits::default());
        for number in 0..200 {
            manifests.add_text(Arc::new(Source::new("n", format!("number: {number}\n"))));
        }
        let numbers: Vec<_> = manifests
            .pieces()
            .map(|piece| piece.unwrap().value().unwrap().get("number").unwrap().to_json())
            .collect();
        assert_eq!(numbers, (0..200).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}
