//! Events kept, to hold those of both readers against each other.

use std::ops::Range;

use crate::value::Value;
use crate::yaml::Limits;
use crate::yaml::event::{Kind, Look, Scalar, Sink, Stop, YamlText};

use super::tell;

/// What was told of a document.
#[derive(Debug, Default, PartialEq)]
pub(in crate::yaml) struct Told {
    events: Vec<Event>,
    is_wrong: bool,
}

#[derive(Debug, PartialEq)]
enum Event {
    Look(Look),
    Scalar { text: String, plain: bool, tagged: bool, anchor: usize, at: Range<usize> },
    Literal(Value, Range<usize>),
    Alias(usize, Range<usize>),
    Open(Kind, usize, usize),
    Close(usize),
}

impl Told {
    /// What is told of a document line by line, unless that is impossible.
    pub(in crate::yaml) fn by_lines(yaml: YamlText<'_>, limits: &Limits) -> Option<Self> {
        let mut told = Self::default();
        tell(&yaml, limits, &mut told).map(|()| told)
    }

    /// What a parser of the whole language tells of it.
    pub(in crate::yaml) fn by_parser(yaml: YamlText<'_>, limits: &Limits) -> Self {
        let mut told = Self::default();
        told.is_wrong = yaml.parse(limits, &mut told).is_err();
        told
    }
}

impl Sink for Told {
    fn scalar(&mut self, scalar: Scalar<'_>, anchor: usize, at: Range<usize>) -> Result<(), Stop> {
        let Scalar { text, plain, tag } = scalar;
        self.events.push(Event::Scalar { text: text.into_owned(), plain, tagged: tag.is_some(), anchor, at });
        Ok(())
    }

    fn literal(&mut self, value: Value, at: Range<usize>) -> Result<(), Stop> {
        self.events.push(Event::Literal(value, at));
        Ok(())
    }

    fn alias(&mut self, anchor: usize, at: Range<usize>) -> Result<(), Stop> {
        self.events.push(Event::Alias(anchor, at));
        Ok(())
    }

    fn open(&mut self, kind: Kind, anchor: usize, offset: usize) -> Result<(), Stop> {
        self.events.push(Event::Open(kind, anchor, offset));
        Ok(())
    }

    fn close(&mut self, offset: usize) -> Result<(), Stop> {
        self.events.push(Event::Close(offset));
        Ok(())
    }

    fn restart(&mut self) {
        self.events.clear();
    }

    fn look(&mut self, look: Look) {
        self.events.push(Event::Look(look));
    }
}
