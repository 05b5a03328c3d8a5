//! `match` and `exclude`: which objects a rule selects.

use crate::semantics::DivergenceTracker;
use crate::value::{GroupVersionKind, PathSet, Text, Value};

use super::filter::Filter;
use crate::policy::fields::list;
use crate::policy::index::IndexKey;
use crate::policy::kinds::KindSelector;
use crate::policy::{Candidate, Operation};

/// A compiled `match` or `exclude`.
#[derive(Clone, Debug)]
pub struct Selection {
    filters: Filters,
}

/// How the filters of a block are combined.
#[derive(Clone, Debug)]
enum Filters {
    Any(Vec<Filter>),
    All(Vec<Filter>),
    /// The block itself is the filter.
    Direct(Box<Filter>),
}

impl Selection {
    /// Compiles a block. The schema reports fields of a wrong type.
    pub(super) fn read(block: &Value) -> Self {
        let filters = |name| -> Vec<Filter> { list(block, name).iter().map(Filter::read).collect() };
        let (any, all) = (filters("any"), filters("all"));
        let filters = if !any.is_empty() {
            Filters::Any(any)
        } else if !all.is_empty() {
            Filters::All(all)
        } else {
            Filters::Direct(Box::new(Filter::read(block)))
        };
        Self { filters }
    }

    #[inline]
    fn filters(&self) -> &[Filter] {
        match &self.filters {
            Filters::Any(filters) | Filters::All(filters) => filters,
            Filters::Direct(filter) => std::slice::from_ref(&**filter),
        }
    }

    const fn is_all(&self) -> bool {
        matches!(self.filters, Filters::All(_))
    }

    #[inline]
    fn any_or_all(&self, holds: impl FnMut(&Filter) -> bool) -> bool {
        let mut filters = self.filters().iter();
        if self.is_all() { filters.all(holds) } else { filters.any(holds) }
    }

    /// Filters of which one matches every selected object: of filters that must all match, one of these is enough.
    fn bounds(&self, is_bound: impl Fn(&Filter) -> bool) -> Option<&[Filter]> {
        let filters = match &self.filters {
            Filters::All(filters) => std::slice::from_ref(filters.iter().find(|filter| is_bound(filter))?),
            Filters::Any(_) | Filters::Direct(_) => self.filters(),
        };
        filters.iter().all(is_bound).then_some(filters)
    }

    /// Whether the block has no condition.
    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.filters, Filters::Direct(filter) if filter.is_empty(true))
    }

    /// Whether one of several filters has no content at all.
    pub(super) fn has_blank(&self) -> bool {
        matches!(&self.filters, Filters::Any(filters) if filters.iter().any(Filter::is_blank))
    }

    /// Whether the labels of the object's namespace may decide.
    pub fn uses_namespace_labels(&self) -> bool {
        self.filters().iter().any(|filter| filter.namespace_selector.is_some())
    }

    /// Whether the labels of their namespace may decide for objects of a kind.
    pub(super) fn needs_namespace_labels(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        let needs =
            |filter: &Filter| filter.namespace_selector.is_some() && filter.may_match(kind, subresource);
        self.filters().iter().any(needs)
    }

    /// Whether objects of a kind can match.
    pub(super) fn may_match(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        self.any_or_all(|filter| filter.may_match(kind, subresource))
    }

    /// Adds the paths of an object that decide whether it is selected.
    pub(super) fn read_paths(&self, reads: &mut PathSet) {
        self.filters().iter().for_each(|filter| filter.read_paths(reads));
    }

    /// Whether the labels or annotations of the object may decide.
    pub fn uses_labels(&self) -> bool {
        let mut filters = self.filters().iter();
        filters.any(|filter| filter.selector.is_some() || !filter.annotations.is_empty())
    }

    /// Whether the user who sends the request may decide.
    pub fn uses_user_info(&self) -> bool {
        self.filters().iter().any(|filter| filter.uses_user_info)
    }

    /// Whether a filter names this operation.
    pub(super) fn names_operation(&self, operation: Operation) -> bool {
        let lists = self.filters().iter().filter_map(|filter| filter.operations.as_ref());
        lists.flatten().any(|named| *named == operation)
    }

    /// The kinds that can match; `None` if a wildcard, or no kind at all, leaves them open.
    pub fn only_kinds(&self) -> Option<Vec<&Text>> {
        let bound = |filter: &Filter| {
            !filter.kinds.is_empty() && filter.kinds.iter().all(|kind| kind.only_kind().is_some())
        };
        let kinds = self.bounds(bound)?.iter().flat_map(|filter| &filter.kinds);
        Some(kinds.filter_map(KindSelector::only_kind).collect())
    }

    /// The kinds that can match, as written; `None` if a filter leaves them open.
    pub fn kind_selectors(&self) -> Option<Vec<&KindSelector>> {
        let filters = self.bounds(|filter| !filter.kinds.is_empty())?;
        Some(filters.iter().flat_map(|filter| &filter.kinds).collect())
    }

    /// Index keys of which one holds for every object that the block, as `match`, selects; `None` if there are none.
    pub(super) fn index_keys(&self) -> Option<Vec<IndexKey<'_>>> {
        let mut filters = self.filters().iter();
        if self.is_all() {
            return filters.find_map(Filter::index_keys);
        }
        let keys: Option<Vec<_>> = filters.map(Filter::index_keys).collect();
        keys.map(|keys| keys.concat())
    }

    /// Whether a filter has the kind and the operation of a candidate. Without operations a webhook is for those that
    /// create and update.
    pub(super) fn is_in_webhook(&self, candidate: &Candidate<'_>) -> bool {
        self.filters().iter().any(|filter| filter.is_in_webhook(candidate))
    }

    /// Whether the block, as `match` of an exception, selects a candidate. Its conditions on users always count.
    pub(super) fn exempts(&self, candidate: &Candidate<'_>, tracker: &DivergenceTracker) -> bool {
        !matches!(self.filters, Filters::Direct(_))
            && self.any_or_all(|filter| filter.exempts(candidate, tracker))
    }

    /// Whether the block, as `match`, selects a candidate.
    #[inline]
    pub(super) fn includes(&self, candidate: &Candidate<'_>) -> bool {
        self.any_or_all(|filter| filter.includes(candidate))
    }

    /// Why the block, as `match`, does not select a candidate, in the words of Kyverno.
    pub(super) fn mismatches(&self, candidate: &Candidate<'_>) -> Vec<String> {
        match &self.filters {
            Filters::Any(_) => vec!["no resource matched".into()],
            _ => self.filters().iter().flat_map(|filter| filter.mismatches(candidate)).collect(),
        }
    }

    /// The same with the values that the rule requires and the object has: a line for each filter that does not match.
    pub(super) fn mismatch_details(&self, candidate: &Candidate<'_>) -> Vec<String> {
        let lines = self.located("match").filter_map(|(place, filter)| {
            let details = filter.mismatch_details(candidate);
            (!details.is_empty()).then(|| format!("{place}: {}", details.join("; ")))
        });
        lines.collect()
    }

    /// Why the block, as `exclude`, excludes a candidate; `None` if it does not.
    pub(super) fn excludes(&self, candidate: &Candidate<'_>) -> Option<&'static str> {
        self.any_or_all(|filter| filter.excludes(candidate)).then_some(if self.is_all() {
            "resource excluded since the combination of all criteria exclude it"
        } else {
            "resource excluded since one of the criteria excluded it"
        })
    }

    /// The filters of the block, as `exclude`, that exclude a candidate: a line for each.
    pub(super) fn exclusions(&self, candidate: &Candidate<'_>) -> Vec<String> {
        let filters = self.located("exclude").filter(|(_, filter)| filter.excludes(candidate));
        filters
            .map(|(place, filter)| format!("{place} excludes it: {}", filter.conditions().join(", ")))
            .collect()
    }

    fn located(&self, block: &'static str) -> impl Iterator<Item = (String, &Filter)> {
        self.filters().iter().enumerate().map(move |(index, filter)| {
            let place = match &self.filters {
                Filters::Any(_) => format!("{block}.any[{index}]"),
                Filters::All(_) => format!("{block}.all[{index}]"),
                Filters::Direct(_) => block.to_owned(),
            };
            (place, filter)
        })
    }
}
