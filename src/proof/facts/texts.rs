//! The texts that policies hold anywhere: literals of requests that are not values of the object.

use std::collections::BTreeSet;

use crate::policy::{CelPatch, CelPolicy, Policy};
use crate::value::{Text, Value};

use super::Facts;
use super::matching::user;

/// The most texts that are tried as users, groups, namespaces or labels of namespaces.
const MAX_TEXTS: usize = 12;

/// The texts of policies, in order.
#[derive(Default)]
pub(super) struct Texts {
    sources: Vec<String>,
}

impl Texts {
    pub(super) fn add(&mut self, policy: &Policy) {
        match policy {
            Policy::Classic(policy) => {
                let written = policy.rules.iter().filter(|rule| rule.generated_from.is_none());
                written.for_each(|rule| self.value(&rule.raw));
            }
            Policy::Cel(policy) => self.cel(policy),
            #[cfg(test)]
            Policy::FixedLabel(_) => {}
        }
    }

    fn cel(&mut self, policy: &CelPolicy) {
        let Some(variant) = policy.variants.first() else { return };
        let conditions = variant.conditions.iter().map(|condition| &condition.program);
        let mutations = variant.mutations.iter().filter_map(|mutation| match &mutation.patch {
            CelPatch::ApplyConfiguration(program) | CelPatch::JsonPatch(program) => Some(program),
            CelPatch::Ignored(_) => None,
        });
        let programs = conditions.chain(&variant.variables.programs).chain(mutations);
        self.sources.extend(programs.map(|program| program.source().to_owned()));
    }

    /// All strings of a value. The loader limits its depth.
    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.sources.push(text.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.value(item)),
            Value::Object(members) => members.values().for_each(|member| self.value(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Adds users, namespaces and labels of namespaces where expressions read them.
    pub(super) fn finish(self, facts: &mut Facts) {
        facts.users.insert(0, user("someone", &[], &[], &[]));
        let mentions = |word: &str| self.sources.iter().any(|source| source.contains(word));
        let reading = |words: &[&str]| -> Vec<Text> {
            let reads = |source: &&String| words.iter().any(|word| source.contains(word));
            let found = self.sources.iter().filter(reads).flat_map(|source| quoted(source));
            // Policies compare what they read in one expression with literals of others.
            let plain = self.sources.iter().filter(|source| is_word(source)).cloned();
            let mut all: Vec<Text> = Vec::new();
            for text in found.chain(plain).filter(|text| is_word(text)) {
                if all.len() < MAX_TEXTS && !all.iter().any(|known| **known == *text) {
                    all.push(text.into());
                }
            }
            all
        };
        if mentions("userInfo") || mentions("serviceAccountName") {
            for text in reading(&["userInfo", "serviceAccountName"]) {
                facts.users.push(user(&text, &[], &[], &[]));
                facts.users.push(user("in-group", &[&text], &[], &[]));
            }
            if mentions("serviceAccount") {
                facts.users.push(user("system:serviceaccount:default:builder", &[], &[], &[]));
            }
        }
        if mentions("request.namespace") || mentions("namespaceObject") || mentions("metadata.namespace") {
            let words = ["request.namespace", "metadata.namespace"];
            facts.namespaces.extend(reading(&words).into_iter().filter(|text| is_name(text)));
        }
        if mentions("namespaceObject") {
            let texts = reading(&["namespaceObject", "variables."]);
            for key in texts.iter().filter(|key| mentions(&format!("[\"{key}\"]")) || mentions("labels")) {
                facts.add_namespace_label(key, &texts);
            }
        }
        facts.data_keys = self.data_keys();
        facts.knows_images = !["manifest", "config", "imageIndex"].into_iter().any(mentions);
        facts.users.truncate(MAX_TEXTS * 2);
        let mut seen = BTreeSet::new();
        facts.namespaces.retain(|namespace| seen.insert(namespace.clone()));
    }

    /// The keys after `data.` in expressions.
    fn data_keys(&self) -> Vec<Text> {
        let mut keys = BTreeSet::new();
        for source in &self.sources {
            for rest in source.split("data").skip(1) {
                let rest = rest.trim_start_matches(['.', '?', '[', '"', '\'', '\\']);
                let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
                let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                let key = rest[..end].trim_end_matches('.');
                if !key.is_empty() && key.len() < 64 {
                    keys.insert(Text::from(key));
                }
            }
        }
        keys.into_iter().take(MAX_TEXTS).collect()
    }
}

/// The texts in quotes.
fn quoted(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(start) = rest.find(['"', '\'']) {
        let quote = &rest[start..=start];
        let inside = &rest[start + 1..];
        let Some(end) = inside.find(quote) else { break };
        found.push(inside[..end].to_owned());
        rest = &inside[end + 1..];
    }
    found
}

/// Whether a text may be a name of a user, group or label.
fn is_word(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.:/".contains(c);
    !text.is_empty() && text.len() <= 63 && text.chars().all(is_part)
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}
