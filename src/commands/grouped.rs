//! Messages about rules on objects in groups, so that diagnostics do not grow with the number of objects.

use indexmap::IndexMap;

use crate::diagnostics::Code;
use crate::render::{RuleError, thousands};
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
}

impl Objects {
    fn named(&self, what: &str) -> String {
        let FirstObject { name, origin } = &self.first;
        format!("× {}{what}, first: {name} ({origin})", thousands(self.number))
    }
}

impl GroupedMessages {
    /// Adds a message about an object, which is named if it is the first with it.
    pub(super) fn add(&mut self, error: RuleError, object: impl FnOnce() -> FirstObject) {
        let Messages { shown, others } =
            self.rules.entry((error.policy.clone(), error.rule.clone())).or_default();
        let is_same =
            |group: &&mut Group| group.error.message == error.message && group.error.hint == error.hint;
        if let Some(group) = shown.iter_mut().find(is_same) {
            group.objects.number += 1;
        } else if shown.len() < MESSAGES_OF_A_RULE {
            shown.push(Group { error, objects: Objects { first: object(), number: 1 } });
        } else if let Some((_, others)) = others {
            others.number += 1;
        } else {
            *others = Some((error.code, Objects { first: object(), number: 1 }));
        }
    }

    /// The code and the text of each group. The text may have several lines.
    pub(super) fn texts(&self) -> impl Iterator<Item = (Code, String)> {
        self.rules.iter().flat_map(|((policy, rule), messages)| {
            let groups = messages.shown.iter().map(|Group { error, objects }| {
                let text = match objects.number {
                    1 => error.on(&objects.first.name, &objects.first.origin),
                    _ => error.with_objects(&objects.named("")),
                };
                (error.code, text)
            });
            let others = messages.others.as_ref().map(|(code, objects)| {
                let objects = objects.named(" with other messages");
                (*code, format!("{policy}/{rule} {objects}, all with --verbose"))
            });
            groups.chain(others)
        })
    }
}
