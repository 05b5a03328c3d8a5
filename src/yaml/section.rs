//! Streams read part by part, so that ranges can be read at once and a stream need not be in memory as a whole.

use std::sync::Arc;

use super::keys::Keys;
use super::read::{read_batch, surplus};
use super::split::{Chunk, chunks_from, has_lone_returns};
use super::{Document, Limits, Origin, Source, SyntaxError};

/// Consecutive documents of a stream, not yet read.
#[derive(Debug)]
pub struct Section {
    source: Arc<Source>,
    chunks: Vec<Chunk>,
}

impl Section {
    /// Reads the documents.
    ///
    /// # Errors
    ///
    /// All errors of all documents, in the order of the text; of a text of JSON values, more than a whole stream may
    /// have.
    pub fn read(&self, limits: &Limits) -> Result<Vec<Document>, Vec<SyntaxError>> {
        let batch = read_batch(&self.source, limits, &mut Keys::default(), &self.chunks);
        if let Some(error) = surplus(&self.source, &batch.documents, limits) {
            return Err(vec![error]);
        }
        if batch.errors.is_empty() { Ok(batch.documents) } else { Err(batch.errors) }
    }

    /// The number of documents; consecutive JSON values count as one.
    pub const fn documents(&self) -> usize {
        self.chunks.len()
    }

    /// The error for too many documents, at the document with this index.
    pub fn one_too_many(&self, index: usize, limits: &Limits) -> SyntaxError {
        let (origin, offset) = match self.chunks.get(index) {
            Some(chunk) => (chunk.origin(), chunk.body.start),
            None => (self.source.start(), self.source.text().len()),
        };
        self.source.too_many(origin, offset, limits)
    }
}

/// The sections of a stream, in order.
#[derive(Debug)]
pub struct Sections {
    source: Arc<Source>,
    /// Where the next one starts.
    next: Origin,
    lone_returns: bool,
    bytes: usize,
    /// Whether this is only the beginning of a text.
    is_open: bool,
}

impl Sections {
    /// The documents of a text in sections of about this number of bytes.
    pub fn new(source: Arc<Source>, bytes: usize) -> Self {
        Self::of(source, bytes, false)
    }

    /// The same for the beginning of a text, without its last document, which may be incomplete.
    pub fn of_beginning(source: Arc<Source>, bytes: usize) -> Self {
        Self::of(source, bytes, true)
    }

    fn of(source: Arc<Source>, bytes: usize, is_open: bool) -> Self {
        let (next, lone_returns) = (source.start(), has_lone_returns(source.text()));
        Self { source, next, lone_returns, bytes, is_open }
    }

    /// The text.
    pub const fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The start of the text that is in no section yet.
    pub const fn rest(&self) -> Origin {
        self.next
    }
}

impl Iterator for Sections {
    type Item = Section;

    fn next(&mut self) -> Option<Section> {
        let text = self.source.text();
        let mut chunks = chunks_from(text, self.next, self.lone_returns);
        let mut found = Vec::new();
        let mut length = 0;
        loop {
            let Some(chunk) = chunks.next() else {
                self.next.offset = text.len();
                break;
            };
            if length >= self.bytes || (self.is_open && chunk.text.end == text.len()) {
                self.next = chunk.origin();
                break;
            }
            length += chunk.text.len();
            found.push(chunk);
        }
        (!found.is_empty()).then(|| Section { source: Arc::clone(&self.source), chunks: found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text and line of each document of each section.
    fn told(sections: &mut Sections) -> Vec<Vec<(String, usize)>> {
        let read = |section: Section| {
            let documents = section.read(&Limits::default()).unwrap();
            assert_eq!(documents.len(), section.documents());
            documents.iter().map(|one| (one.text().to_owned(), one.start().line)).collect()
        };
        sections.map(read).collect()
    }

    fn expected(ranges: &[&[(&str, usize)]]) -> Vec<Vec<(String, usize)>> {
        ranges
            .iter()
            .map(|part| part.iter().map(|(text, line)| ((*text).to_owned(), *line)).collect())
            .collect()
    }

    #[test]
    fn sections_end_where_a_document_ends() {
        let source = Arc::new(Source::new("t.yaml", "a: 1\n---\nb: 1\n---\nc: 1\n...\n\n# end\n"));
        let all = [&[("a: 1\n", 1)][..], &[("---\nb: 1\n", 3)], &[("---\nc: 1\n...\n\n# end\n", 5)]];
        assert_eq!(told(&mut Sections::new(Arc::clone(&source), 1)), expected(&all));
        let two = [&[("a: 1\n", 1), ("---\nb: 1\n", 3)][..], &[("---\nc: 1\n...\n\n# end\n", 5)]];
        assert_eq!(told(&mut Sections::new(source, 6)), expected(&two));
    }

    #[test]
    fn the_last_document_of_a_beginning_is_left() {
        let source = Arc::new(Source::new("t.yaml", "a: 1\n---\nb: 1\n---\nc: "));
        let mut sections = Sections::of_beginning(source, 100);
        assert_eq!(told(&mut sections), expected(&[&[("a: 1\n", 1), ("---\nb: 1\n", 3)]]));
        assert_eq!(sections.rest(), Origin { offset: 14, line: 4 });
        let mut none = Sections::of_beginning(Arc::new(Source::new("t.yaml", "a: 1\n")), 100);
        assert!(none.next().is_none());
        assert_eq!(none.rest(), Origin::START);
    }

    #[test]
    fn lines_are_those_of_the_whole_text() {
        let start = Origin { offset: 100, line: 7 };
        let part = Source::part_from_bytes("t.yaml", b"---\na: 1\n---\nb: [\n".to_vec(), start).unwrap();
        let part = Arc::new(part);
        let mut sections = Sections::new(part, 1);
        assert_eq!(sections.next().unwrap().read(&Limits::default()).unwrap()[0].start().line, 8);
        let errors = sections.next().unwrap().read(&Limits::default()).unwrap_err();
        assert_eq!((errors[0].position().line, errors[0].position().column), (10, 4));
        let broken = Source::part_from_bytes("t.yaml", b"a\n\xff".to_vec(), start).unwrap_err();
        assert_eq!(broken.position().line, 8);
        assert_eq!(broken.message(), "byte 102 is not UTF-8");
    }
}
