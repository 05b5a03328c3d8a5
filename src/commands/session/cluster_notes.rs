//! Notes on a cluster: failed lookups, and what it does not have.

use std::collections::BTreeSet;
use std::slice;

use crate::commands::exit::Exit;
use crate::commands::reporter::Reporter;
use crate::commands::versions::in_other_versions;
use crate::diagnostics::Code;
use crate::policy::KindSelector;
use crate::render::{listed, printable_line};
use crate::resources::ApiResource;
use crate::source::cluster::{FailedLookup, MissingInCluster, StoredObjects};
use crate::value::GroupVersionKind;

use super::{RunWorld, Session};
use crate::commands::options::PolicyCheck;

/// How many errors of a cluster are reported one by one.
const NAMED_ERRORS: usize = 10;

impl Session {
    /// Reports failed lookups, and `--old` objects that are the state of no object of the run.
    pub(in crate::commands) fn report_cluster_errors(&self, world: &RunWorld, reporter: &mut Reporter) {
        for old in self.old.unfound() {
            reporter.omission(
                Code::NoOldObject,
                format_args!("--old: {old} is the stored state of no object of this run"),
            );
        }
        let mut errors = Vec::new();
        for FailedLookup { what, why, is_reported } in world
            .take_failed_lookups()
            .into_iter()
            .chain(self.stored.iter().flat_map(StoredObjects::take_failed_lookups))
        {
            reporter.add_gap(&what);
            if is_reported {
                reporter.worsen(Exit::of(&why.into()));
            } else {
                errors.push(why);
            }
        }
        // The order of threads is random.
        errors.sort_by_cached_key(ToString::to_string);
        errors.dedup();
        let more = errors.len().saturating_sub(NAMED_ERRORS);
        for error in errors.into_iter().take(NAMED_ERRORS) {
            reporter.source_error(&error.into());
        }
        if more > 0 {
            reporter.error(
                Exit::Cluster,
                Code::MoreErrors,
                format_args!(
                    "and {more} more errors of this kind; the evaluation continued without this data"
                ),
            );
        }
        self.missing_schemas.report(reporter);
        self.report_missing(reporter);
        if let Some(subject) = self.check_rights.as_ref().filter(|_| !world.has_asked_for_rights()) {
            let text = if self.engine.has_targets() {
                format!("no target was selected: the rights of {subject} were not checked")
            } else {
                format!("no rule has targets: the rights of {subject} were not checked")
            };
            reporter.omission(Code::RightsNotChecked, &text);
        }
        for note in self.cluster.iter().flat_map(|cluster| cluster.notes()) {
            reporter.note(Code::ClusterNote, note);
        }
    }

    /// Notes on kinds and namespaces of the manifests that the cluster does not have.
    fn report_missing(&self, reporter: &mut Reporter) {
        let MissingInCluster { kinds, defined, namespaces } =
            self.stored.as_ref().map(StoredObjects::missing).unwrap_or_default();
        if let PolicyCheck::Drift(_) = self.check {
            // Nobody can say what becomes of them.
            kinds.iter().for_each(|kind| reporter.add_gap(kind));
        }
        if !kinds.is_empty() {
            reporter.omission(
                Code::NotInCluster,
                format_args!(
                    "the cluster has no kind {}: such objects are evaluated as new ones, and for custom \
                 kinds only --crds says how their lists merge",
                    listed(kinds.into_iter())
                ),
            );
        }
        let is_offline = |group: &str, kind: &str| self.kinds.iter().any(|known| known.defines(group, kind));
        let defined: Vec<String> = defined
            .into_iter()
            .filter(|(group, kind, _)| !is_offline(group, kind))
            .map(|(_, _, name)| name)
            .collect();
        if !defined.is_empty() {
            reporter.note(Code::NoSchema, format_args!(
                "the manifests define {}: pass the definition with --crds, too, if lists of such objects merge by keys",
                listed(defined.into_iter())
            ));
        }
        for text in self.in_other_versions() {
            reporter.omission(Code::OtherVersion, &text);
        }
        if !namespaces.is_empty() {
            reporter.omission(
                Code::NotInCluster,
                format_args!(
                    "the cluster has no namespace {}: its objects are evaluated as new ones, and the \
                 namespace has no labels unless --values sets them",
                    listed(namespaces.iter().map(|name| printable_line(name)))
                ),
            );
        }
    }

    /// Notes on rules that name kinds of the manifests in other versions.
    fn in_other_versions(&self) -> BTreeSet<String> {
        let stored = self.stored.as_ref().zip(self.cluster.as_ref());
        let Some((stored, Ok(served))) = stored.map(|(stored, cluster)| (stored, cluster.resources())) else {
            return BTreeSet::new();
        };
        let rules = self.written_kind_selectors();
        let describe = |selector: &KindSelector, resource: &ApiResource| {
            let GroupVersionKind { kind, .. } = &resource.kind;
            let version = resource.kind.api_version();
            format!("{} in a rule sees none of the manifests of {kind} ({version})", selector.text)
        };
        // One kind may be there in several versions.
        let kinds = stored.kinds();
        kinds
            .iter()
            .flat_map(|kind| in_other_versions(&rules, slice::from_ref(kind), &served, describe))
            .collect()
    }
}
