//! The template of Pods in objects of several kinds.

use super::cel_text::Cel;
use super::kinds::Kind;
use super::path::Workload;
use super::selection::kind_is;

/// The kinds of a policy on templates, by the place of the template.
fn by_workload(kinds: &[Kind], value: impl Fn(Workload) -> Cel) -> Cel {
    let names = |workload: Workload| {
        let mut names: Vec<&str> = Vec::new();
        for kind in
            kinds.iter().filter(|kind| Workload::of_kind(&kind.kind.group, &kind.kind.kind) == workload)
        {
            if !names.contains(&&*kind.kind.kind) {
                names.push(&kind.kind.kind);
            }
        }
        names
    };
    let mut forms: Vec<(Vec<&str>, Cel)> = [Workload::Pod, Workload::CronJob, Workload::Controller]
        .into_iter()
        .map(|workload| (names(workload), value(workload)))
        .filter(|(names, _)| !names.is_empty())
        .collect();
    let Some((_, last)) = forms.pop() else { return Cel::atom("object") };
    forms
        .into_iter()
        .rev()
        .fold(last, |otherwise, (names, value)| Cel::if_else(kind_is(&names), value, otherwise))
}

/// The template of the Pods of an object; of a Pod itself.
pub(super) fn template_of(kinds: &[Kind]) -> Cel {
    by_workload(kinds, |workload| {
        workload.template().iter().fold(Cel::atom("object"), |of, name| of.member(name))
    })
}

/// Its place in a JSON patch.
pub(super) fn place_of_template(kinds: &[Kind]) -> Cel {
    by_workload(kinds, |workload| {
        Cel::text(workload.template().iter().map(|name| format!("/{name}")).collect::<String>())
    })
}
