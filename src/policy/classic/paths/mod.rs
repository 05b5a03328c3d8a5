//! Which paths of an object a rule may read and write, found in the compiled rule.

mod json_patch;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::jmespath::Origin;
use crate::patch::{overlay_constants, overlay_literals, overlay_paths};
use crate::pattern::Conditions;
use crate::policy::RulePaths;
use crate::value::{PathSet, Pointer, Segment, Step, Text, Value};
use crate::variables::{Query, Template};

pub(super) use json_patch::{UNKNOWN, operations as patch_operations};

use super::{
    ContextEntry, ContextSource, Edit, ForeachEntry, LegacyMutation, Mutation, Patch, PolicyException, Rule,
};

impl Rule {
    /// The paths of the object that the rule may read and write, computed once.
    pub fn paths(&self) -> &RulePaths {
        self.paths.get_or_init(|| of_rule(self))
    }
}

impl PolicyException {
    /// The paths of an object that decide whether the exception applies, computed once.
    pub fn reads(&self) -> &PathSet {
        self.reads.get_or_init(|| {
            let mut analysis = Analysis::default();
            self.matching.read_paths(&mut analysis.paths.reads);
            analysis.conditions(self.conditions.as_ref());
            analysis.paths.reads
        })
    }
}

fn of_rule(rule: &Rule) -> RulePaths {
    let mut analysis = Analysis::default();
    for selection in [Some(&rule.matching), rule.exclude.as_ref()].into_iter().flatten() {
        selection.read_paths(&mut analysis.paths.reads);
    }
    analysis.context(&rule.context);
    analysis.conditions(rule.preconditions.as_ref());
    if let Some(conditions) = &rule.webhook_conditions {
        analysis.paths.reads.extend(&conditions.reads);
    }
    let kinds = rule.matching.only_kinds().unwrap_or_default();
    match &rule.mutation {
        Mutation::Standard(edit) => {
            analysis.edit(edit, &kinds, 0);
            analysis.paths.constants = constants(edit);
        }
        Mutation::MutateExisting(existing) => {
            analysis.has_targets = true;
            for target in &existing.targets {
                analysis.template(&target.whole);
                analysis.context(&target.context);
            }
            analysis.edit(&existing.body, &kinds, 0);
        }
    }
    analysis.paths
}

/// A rule that has more variables counts as one that reads everything, so that the work is bounded.
const MAX_NAMES: usize = 256;

#[derive(Default)]
struct Analysis {
    paths: RulePaths,
    /// The variables beside those of every request, the inner ones last.
    names: Vec<(Text, Origin)>,
    /// Whether patches are for the targets of the rule.
    has_targets: bool,
}

impl Analysis {
    fn read_everything(&mut self) {
        self.paths.reads = PathSet::everything();
    }

    /// The context of the variables; `None` if there are too many of them.
    fn root(&self) -> Option<Origin> {
        if self.names.len() > MAX_NAMES {
            return None;
        }
        // `request.oldObject` is the object of the request where no other is known.
        let objects = ["object", "oldObject"].map(|name| (name.into(), Origin::object()));
        let known = [("request".into(), Origin::members(objects)), ("images".into(), images())];
        Some(Origin::members(known.into_iter().chain(self.names.iter().cloned())))
    }

    fn query(&mut self, query: &Query) -> Origin {
        let Some(root) = self.root() else {
            self.read_everything();
            return Origin::default();
        };
        match query.expression() {
            Ok(expression) => {
                self.paths.literals.extend(expression.literals(&root));
                expression.origin(&root, &mut self.paths.reads)
            }
            Err(_) => Origin::default(),
        }
    }

    fn template(&mut self, template: &Template) {
        for variable in template.variables() {
            match variable.query {
                Some(query) if &**query.text() != "@" => self.query(&query).read(&mut self.paths.reads),
                _ => self.read_everything(),
            }
        }
    }

    fn templates<'t>(&mut self, templates: impl IntoIterator<Item = &'t Template>) {
        templates.into_iter().for_each(|template| self.template(template));
    }

    fn conditions(&mut self, conditions: Option<&Conditions<Template>>) {
        for condition in conditions.into_iter().flat_map(Conditions::iter) {
            self.templates([&condition.key, &condition.value]);
            let sides = [&condition.key, &condition.value];
            let places: Vec<Vec<Step>> = sides.into_iter().flat_map(|side| self.places(side)).collect();
            let fixed: Vec<&Value> =
                sides.into_iter().filter_map(Template::fixed).flat_map(scalars).collect();
            for place in places {
                self.paths.literals.extend(fixed.iter().map(|value| (place.clone(), (*value).clone())));
            }
        }
    }

    /// The places in the object of the variables of a template.
    fn places(&self, template: &Template) -> Vec<Vec<Step>> {
        let queries = template.variables().into_iter().filter_map(|variable| variable.query);
        let Some(root) = self.root() else { return Vec::new() };
        let origins = queries.filter_map(|query| {
            Some(query.expression().ok()?.origin(&root, &mut PathSet::default()).scalars())
        });
        origins.flatten().collect()
    }

    fn context(&mut self, entries: &[Arc<ContextEntry>]) {
        for entry in entries {
            let origin = self.source(&entry.source);
            self.names.push((entry.name.clone(), origin));
        }
    }

    /// Where the value of a context entry comes from.
    fn source(&mut self, source: &ContextSource) -> Origin {
        match source {
            ContextSource::Variable { value, jmes_path, default } => {
                self.templates(value.iter().chain(default));
                let Some(path) = jmes_path else { return Origin::default() };
                // With a value, the expression is evaluated on the value.
                match (path.fixed_query(), value) {
                    (Some(query), None) => self.query(query),
                    (Some(_), Some(_)) => Origin::default(),
                    (None, _) => {
                        self.template(path);
                        self.read_everything();
                        Origin::default()
                    }
                }
            }
            ContextSource::ConfigMap { name, namespace } => self.external([Some(name), Some(namespace)]),
            ContextSource::ApiCall { call, .. } => self.external([Some(call), None]),
            ContextSource::ImageRegistry { reference, jmes_path } => {
                self.external([Some(reference), jmes_path.as_ref()])
            }
            ContextSource::GlobalReference { name, jmes_path } => {
                self.external([Some(name), jmes_path.as_ref()])
            }
        }
    }

    /// A value that does not come from the object.
    fn external<const N: usize>(&mut self, templates: [Option<&Template>; N]) -> Origin {
        self.templates(templates.into_iter().flatten());
        Origin::default()
    }

    fn edit(&mut self, edit: &Edit, kinds: &[&Text], nesting: usize) {
        match edit {
            Edit::Patch(patch) => self.patch(patch, kinds, nesting),
            Edit::Foreach(entries) => {
                entries.iter().for_each(|entry| self.foreach(entry, kinds, nesting));
            }
        }
    }

    fn foreach(&mut self, entry: &ForeachEntry, kinds: &[&Text], nesting: usize) {
        let list = self.query(&entry.list);
        // A value that is no list is the only element.
        let element = Origin::any([list.element(), list]);
        element.read_type(&mut self.paths.reads);
        let outer = self.names.clone();
        // The name without a number is that of the innermost loop.
        self.names.retain(|(name, _)| &**name != "element");
        self.names.push((format!("element{nesting}").into(), element.clone()));
        self.names.push(("element".into(), element));
        self.context(&entry.context);
        self.conditions(entry.preconditions.as_ref());
        self.edit(&entry.body, kinds, nesting + 1);
        self.names = outer;
    }

    fn patch(&mut self, patch: &Patch, kinds: &[&Text], nesting: usize) {
        match patch {
            Patch::StrategicMerge { overlay, .. } => self.overlay(overlay, kinds, nesting > 0),
            Patch::Json6902 { patch, .. } => self.json_patch(patch),
            Patch::Legacy(LegacyMutation::Refused) => {}
            Patch::Legacy(LegacyMutation::Later(patches)) => {
                patches.iter().for_each(|patch| self.patch(patch, kinds, nesting));
            }
            Patch::Legacy(LegacyMutation::Own { overlay, patches, .. }) => {
                if let Some(overlay) = overlay {
                    // Its lists merge by other rules.
                    self.overlay(&overlay.template, &[], false);
                }
                if let Some(patches) = patches {
                    self.json_patch(&patches.template);
                }
            }
        }
    }

    fn overlay(&mut self, overlay: &Template, kinds: &[&Text], is_in_loop: bool) {
        for variable in overlay.variables() {
            match variable.query {
                // The value at the same path. In loops Kyverno has another.
                Some(query) if &**query.text() == "@" && !is_in_loop => {
                    self.paths.reads.insert(&path_of_overlay(&variable.at));
                }
                Some(query) if &**query.text() != "@" => self.query(&query).read(&mut self.paths.reads),
                _ => self.read_everything(),
            }
        }
        if !self.has_targets {
            self.paths.literals.extend(overlay_literals(overlay.source()));
            let RulePaths { reads, writes, .. } = &mut self.paths;
            overlay_paths(overlay.source(), kinds, reads, writes);
        }
    }

    fn json_patch(&mut self, patch: &Template) {
        self.template(patch);
        if self.has_targets {
            return;
        }
        let RulePaths { reads, writes, .. } = &mut self.paths;
        // References to other fields are replaced in a fixed patch only.
        let is_known = patch.fixed().is_some() || !patch.source().to_json().contains("$(");
        let found = json_patch::paths(patch.fixed().unwrap_or_else(|| patch.source()), reads, writes);
        if found.filter(|()| is_known).is_none() {
            self.paths.reads = PathSet::everything();
            self.paths.writes = PathSet::everything();
        }
    }
}

/// The scalars that an edit may set, if they are known.
fn constants(edit: &Edit) -> Option<Vec<(Vec<Step>, Value)>> {
    match edit {
        Edit::Patch(Patch::StrategicMerge { overlay, .. }) => overlay_constants(overlay.fixed()?),
        _ => None,
    }
}

/// A scalar, or the elements of a list.
fn scalars(value: &Value) -> Vec<&Value> {
    value.as_array().map_or_else(|| vec![value], |items| items.iter().collect())
}

/// The path of a string of an overlay in the object.
fn path_of_overlay(at: &Pointer) -> Vec<Step> {
    let step = |segment: &Segment| match segment {
        Segment::Index(_) => Step::Elements,
        Segment::Key(key) => {
            let name = key.split_once('(').and_then(|(_, name)| name.strip_suffix(')'));
            Step::Key(name.unwrap_or(key).into())
        }
    };
    at.segments().iter().map(step).collect()
}

/// What `images` is computed from, in objects of all kinds.
fn images() -> Origin {
    let pod = ["spec"];
    let template = ["spec", "template", "spec"];
    let cron_job = ["spec", "jobTemplate", "spec", "template", "spec"];
    let mut paths = Vec::new();
    let key = |key: &str| Step::Key(key.into());
    for spec in [&pod[..], &template, &cron_job] {
        for list in ["initContainers", "containers", "ephemeralContainers"] {
            for field in ["name", "image"] {
                let spec = spec.iter().map(|name| key(name));
                paths.push(spec.chain([key(list), Step::Elements, key(field)]).collect());
            }
        }
    }
    Origin::computed_from(paths)
}
