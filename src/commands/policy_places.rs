//! The places in policies at which rules failed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::policy::Policy;
use crate::render::{PolicyPlace, RuleError, RulePlaces, printable_line};
use crate::report::{FilePlace, ObjectReport, RulePlace};
use crate::source::{Place, PolicyNode, PolicyTexts, relative_to_current_folder};
use crate::value::{Pointer, Text};

/// The policies of a run and their texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicyPlaces<'a> {
    pub(super) policies: &'a [Policy],
    pub(super) texts: &'a PolicyTexts,
}

impl PolicyPlaces<'_> {
    /// The place of the error of a rule on an object: that of the expression or field, else that of the rule.
    pub(super) fn place(&self, error: &RuleError, report: &ObjectReport) -> Option<PolicyPlace> {
        let place = self.find(&error.policy, &error.rule, error.place.as_ref())?;
        let excerpt = place.excerpt();
        let is_public = report.shown_text(excerpt) == excerpt;
        let excerpt = if is_public { excerpt.to_owned() } else { String::new() };
        Some(PolicyPlace { position: place.to_string(), excerpt })
    }

    /// The place of a rule, or of a node in it; of a CEL policy, in the policy.
    pub(super) fn rule(&self, policy: &Text, rule: &Text, node: Option<&Pointer>) -> Option<FilePlace> {
        let node = node.map(|node| RulePlace::node(node.clone()));
        self.find(policy, rule, node.as_ref()).map(|place| place_in_file(&place))
    }

    /// The place of a node or expression of a rule, else that of the rule.
    fn find(&self, policy: &Text, rule: &Text, place: Option<&RulePlace>) -> Option<Place> {
        let name = policy;
        let policy = self.policies.iter().find(|policy| policy.full_name() == *name)?;
        // The conditions of a policy's webhooks belong to no rule.
        let rule = policy.rules().into_iter().find(|one| one.name == rule);
        let place = match (place, rule.and_then(|rule| rule.pointer)) {
            (Some(place), _) if place.is_of_policy() => place.clone(),
            (Some(place), Some(rule)) => RulePlace { pointer: rule.join(&place.pointer), ..place.clone() },
            (Some(place), None) => place.clone(),
            (None, Some(rule)) => RulePlace::node(rule.key("name")),
            (None, None) => RulePlace::node(Pointer::ROOT.key("metadata").key("name")),
        };
        let RulePlace { pointer, expression, part, exception } = &place;
        let node = PolicyNode { pointer, expression: expression.as_deref(), part: part.clone() };
        match exception {
            Some(exception) => self.texts.place_in_exception(exception, &node),
            None => self.texts.place(name, &node),
        }
    }
}

/// The places of a run, each looked for once: to find one, the policy is read again.
#[derive(Debug)]
pub(super) struct CachedPlaces<'a> {
    places: PolicyPlaces<'a>,
    known: Mutex<HashMap<PlaceKey, Option<FilePlace>>>,
}

/// Policy, rule, and the place in the rule as text, if it is that of an error.
type PlaceKey = (Text, Text, String);

impl<'a> CachedPlaces<'a> {
    pub(super) fn new(places: PolicyPlaces<'a>) -> Self {
        Self { places, known: Mutex::default() }
    }

    fn find(&self, policy: &Text, rule: &Text, place: Option<&RulePlace>) -> Option<FilePlace> {
        let key = (policy.clone(), rule.clone(), place.map(|place| format!("{place:?}")).unwrap_or_default());
        // A thread that panicked left a whole map.
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        let found = self.places.find(policy, rule, place).map(|place| place_in_file(&place));
        lock().insert(key, found.clone());
        found
    }
}

impl RulePlaces for CachedPlaces<'_> {
    fn rule(&self, policy: &Text, rule: &Text) -> Option<FilePlace> {
        self.find(policy, rule, None)
    }

    fn error(&self, error: &RuleError) -> Option<FilePlace> {
        self.find(&error.policy, &error.rule, error.place.as_ref())
    }
}

/// A place with a path as other programs know it.
pub(super) fn place_in_file(place: &Place) -> FilePlace {
    FilePlace {
        file: file_name(place.name()),
        line: place.position().line,
        column: Some(place.position().column),
    }
}

/// The path of a file as other programs know it.
pub(super) fn file_name(path: &str) -> Text {
    let path = path.replace(std::path::MAIN_SEPARATOR, "/");
    printable_line(path.strip_prefix("./").unwrap_or(&path)).into()
}

/// The path of a file below the current directory, whatever way an input goes to it.
pub(super) fn real_path(file: &str) -> Text {
    file_name(&relative_to_current_folder(Path::new(file)).to_string_lossy())
}
