//! Messages about rules on objects in groups, so that diagnostics do not grow with the number of objects.

use std::fmt;

use indexmap::IndexMap;

use crate::diagnostics::Code;
use crate::render::{ErrorObjects, PolicyPlace, RuleError, RuleErrorText, thousands};
use crate::value::Text;

/// How many different messages of a rule are shown; the rest is counted.
const MESSAGES_OF_A_RULE: usize = 3;

/// Messages by policy and rule, in the order of their first objects.
#[derive(Debug, Default)]
pub(super) struct GroupedMessages {
    rules: IndexMap<(Text, Text), Messages>,
}

/// The messages of a rule.
#[derive(Debug, Default)]
struct Messages {
    /// The first different messages.
    shown: Vec<Group>,
    /// Those beyond, with the code of the first.
    others: Option<(Code, Objects)>,
}

/// The objects with the same message and hint of a rule.
#[derive(Debug)]
struct Group {
    /// The message on the first object.
    error: RuleError,
    objects: Objects,
}

#[derive(Debug)]
struct Objects {
    first: FirstObject,
    number: usize,
}

/// The first object with a message.
#[derive(Clone, Debug)]
pub(super) struct FirstObject {
    pub(super) name: String,
    /// The file and line.
    pub(super) origin: String,
    /// The place in the policy, if it is known.
    pub(super) place: Option<PolicyPlace>,
}

impl FirstObject {
    /// The message about this object alone.
    pub(super) fn text(&self, error: &RuleError) -> RuleErrorText {
        self.text_of(error, 1)
    }

    fn text_of(&self, error: &RuleError, number: usize) -> RuleErrorText {
        let objects = ErrorObjects { number, first: &self.name, origin: &self.origin };
        error.text(objects, self.place.as_ref())
    }
}

impl GroupedMessages {
    /// Adds a message about an object, which is named if it is the first with it.
    pub(super) fn add(&mut self, error: RuleError, object: impl FnOnce(&RuleError) -> FirstObject) {
        let Messages { shown, others } =
            self.rules.entry((error.policy.clone(), error.rule.clone())).or_default();
        let is_same = |group: &&mut Group| {
            let known = &group.error;
            known.message == error.message && known.hint == error.hint && known.place == error.place
        };
        if let Some(group) = shown.iter_mut().find(is_same) {
            group.objects.number += 1;
        } else if shown.len() < MESSAGES_OF_A_RULE {
            let objects = Objects { first: object(&error), number: 1 };
            shown.push(Group { error, objects });
        } else if let Some((_, others)) = others {
            others.number += 1;
        } else {
            *others = Some((error.code, Objects { first: object(&error), number: 1 }));
        }
    }

    /// The code and the text of each group. The text may have several lines; its alternate form is without those of files.
    pub(super) fn texts(&self) -> impl Iterator<Item = (Code, GroupText)> {
        self.rules.values().flat_map(|messages| {
            let groups = messages.shown.iter().map(|Group { error, objects }| {
                (error.code, GroupText::Shown(objects.first.text_of(error, objects.number)))
            });
            let title = messages.shown.first().map(|group| &*group.error.title).unwrap_or_default();
            let others = messages.others.as_ref().map(|(code, Objects { first, number })| {
                let FirstObject { name, origin, .. } = first;
                let text = format!(
                    "{title} × {} with other messages, first: {name} ({origin}), all with --verbose",
                    thousands(*number)
                );
                (*code, GroupText::Others(text))
            });
            groups.chain(others)
        })
    }
}

/// The text of a group of messages.
#[derive(Clone, Debug)]
pub(super) enum GroupText {
    Shown(RuleErrorText),
    Others(String),
}

impl fmt::Display for GroupText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shown(text) => text.fmt(f),
            Self::Others(text) => f.write_str(text),
        }
    }
}
