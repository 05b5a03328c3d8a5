//! The inputs of a run and their documents, in input order.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::value::Value;
use crate::yaml::{Document, Limits, Source};

use super::prescan::{namespaces_in, objects_in};
use super::text::{parse, read_text};
use super::{Exclusions, Location, RequestedResources, SourceError, Walk, expand};

/// The most files, and bytes of files, that are parsed at once.
const MAX_PARSED_FILES: usize = 64;
const MAX_PARSED_BYTES: u64 = 4 << 20;

/// A document, which is evaluated and printed as a whole.
#[derive(Debug)]
pub struct InputDocument {
    /// The number of its input, from 0.
    pub input: usize,
    /// Its content.
    pub content: Content,
    /// Its regular file, if it comes from one.
    pub file: Option<Arc<Path>>,
    /// Whether its objects are only targets of mutate existing rules: they trigger nothing, and are printed only if
    /// they change.
    pub further: bool,
}

/// The content of an [`InputDocument`].
#[derive(Debug)]
pub enum Content {
    /// A document with its text.
    Document(Document),
    /// An object without text, such as one of a cluster.
    Object(Value),
}

impl InputDocument {
    /// Its value; `None` for a document of blanks and comments.
    pub const fn value(&self) -> Option<&Value> {
        match &self.content {
            Content::Document(document) => document.value(),
            Content::Object(object) => Some(object),
        }
    }

    /// About how many bytes it has.
    pub fn weight(&self) -> usize {
        match &self.content {
            Content::Document(document) => document.text().len(),
            Content::Object(object) => object.weight(),
        }
    }
}

/// The inputs of a run.
///
/// Files are read when they are evaluated and not kept; what can be read only once is read when it is added.
#[derive(Debug, Default)]
pub struct Manifests {
    pub(super) inputs: Vec<Input>,
    pub(super) limits: Limits,
    /// The first input with objects that are only targets.
    further: Option<usize>,
    exclusions: Exclusions,
}

#[derive(Debug)]
pub(super) enum Input {
    /// A file that can be read again.
    File { path: Arc<Path>, bytes: u64 },
    /// A text in memory.
    Text(Arc<Source>),
}

impl Manifests {
    /// No inputs yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Leaves files and folders out of what is added from now on.
    pub fn exclude(&mut self, exclusions: Exclusions) {
        self.exclusions = exclusions;
    }

    /// Adds the files that an argument stands for.
    ///
    /// # Errors
    ///
    /// As [`expand`] and [`read_text`], and an empty standard input.
    pub fn add(&mut self, argument: &Path, walk: Walk) -> Result<(), SourceError> {
        for location in expand(argument, walk)? {
            if self.exclusions.leave_out(argument, &location) {
                continue;
            }
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

    /// Treats objects that are added from now on only as targets of mutate existing rules.
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

    /// Whether any input is no regular file.
    pub fn is_rendered(&self) -> bool {
        self.inputs.iter().any(|input| matches!(input, Input::Text(_)))
    }

    /// The regular file of an input.
    pub fn file(&self, input: usize) -> Option<&Path> {
        match self.inputs.get(input)? {
            Input::File { path, .. } => Some(path),
            Input::Text(_) => None,
        }
    }

    /// The Namespace objects among the inputs. Inputs with errors are ignored here.
    pub fn namespaces(&self) -> Vec<Value> {
        self.objects(|text| namespaces_in(text, &self.limits))
    }

    /// The objects of requested resources among the inputs. Inputs with errors are ignored here.
    pub fn requested(&self, requested: &RequestedResources<'_>) -> Vec<Value> {
        self.objects(|text| {
            let (is_name, is_kind) =
                (|kind: &str| requested.may_include(kind), |kind: &_| requested.includes(kind));
            objects_in(text, &self.limits, is_name, is_kind)
        })
    }

    fn objects(&self, find: impl Fn(&Source) -> Vec<Value> + Sync) -> Vec<Value> {
        let found = self
            .inputs
            .par_iter()
            .map(|input| self.text(input).map_or_else(|_| Vec::new(), |text| find(&text)));
        found.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    /// The documents of all inputs, in order. The errors of an input take the place of its documents.
    pub fn documents(&self) -> impl Iterator<Item = Result<InputDocument, SourceError>> {
        let mut rest = self.inputs.as_slice();
        let batches = std::iter::from_fn(move || {
            let start = self.inputs.len() - rest.len();
            let mut bytes = 0;
            let few = rest.iter().take(MAX_PARSED_FILES).take_while(|input| {
                let before = bytes;
                bytes += match input {
                    Input::File { bytes, .. } => *bytes,
                    Input::Text(text) => text.text().len() as u64,
                };
                before < MAX_PARSED_BYTES
            });
            let (batch, others) = rest.split_at(few.count());
            rest = others;
            let parse = |input| parse(&self.text(input).map_err(|error| vec![error])?, &self.limits);
            let parsed: Vec<_> = batch.par_iter().map(parse).collect();
            let documents = parsed.into_iter().zip(start..);
            let documents = documents.flat_map(|(documents, input)| self.origin(input).documents(documents));
            (!batch.is_empty()).then(|| documents.collect::<Vec<_>>())
        });
        batches.flatten()
    }

    fn text(&self, input: &Input) -> Result<Arc<Source>, SourceError> {
        match input {
            Input::Text(text) => Ok(Arc::clone(text)),
            Input::File { path, .. } => read_text(&Location::file(&**path), &self.limits),
        }
    }

    /// The origin of the documents of an input.
    pub(super) fn origin(&self, input: usize) -> Origin {
        let file = match self.inputs.get(input) {
            Some(Input::File { path, .. }) => Some(Arc::clone(path)),
            _ => None,
        };
        Origin { input, file, further: self.further.is_some_and(|first| input >= first) }
    }
}

/// The origin of documents.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    input: usize,
    file: Option<Arc<Path>>,
    further: bool,
}

impl Origin {
    /// Documents with this origin, or the errors in them.
    pub(super) fn documents(
        self,
        documents: Result<Vec<Document>, Vec<SourceError>>,
    ) -> Vec<Result<InputDocument, SourceError>> {
        let Self { input, file, further } = self;
        let document = |document| {
            Ok(InputDocument { input, content: Content::Document(document), file: file.clone(), further })
        };
        match documents {
            Ok(documents) => documents.into_iter().map(document).collect(),
            Err(errors) => errors.into_iter().map(Err).collect(),
        }
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
        let inputs: Vec<_> =
            manifests.documents().map(|document| document.ok().map(|document| document.input)).collect();
        assert_eq!(inputs, [Some(0), Some(0), None, Some(2)]);
    }

    #[test]
    fn documents_of_many_batches_keep_their_order() {
        let mut manifests = Manifests::new(Limits::default());
        for number in 0..200 {
            manifests.add_text(Arc::new(Source::new("n", format!("number: {number}\n"))));
        }
        let numbers: Vec<_> = manifests
            .documents()
            .map(|document| document.unwrap().value().unwrap().get("number").unwrap().to_json())
            .collect();
        assert_eq!(numbers, (0..200).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}
