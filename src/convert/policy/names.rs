//! Names of match conditions.

use std::collections::BTreeSet;

use crate::convert::cel_text::{Cel, Operator};
use crate::convert::path::{AT, is_template};
use crate::value::{Pointer, Segment};

/// The longest name that the API server takes.
const MAX_CHARS: usize = 63;

/// A name for a condition: the fields that it reads, or the block that it was written in where these are many.
pub(super) fn condition_name(cel: &Cel, at: &Pointer, known: &[(String, Cel)]) -> String {
    let block = at.segments().iter().rev().find_map(|segment| match segment {
        Segment::Key(key) => match &**key {
            "mutate" => Some("anchors"),
            "selector" => Some("labels"),
            "match" | "exclude" | "preconditions" | "name" | "namespace" => Some(&**key),
            _ => None,
        },
        Segment::Index(_) => None,
    });
    let is_exclude =
        at.segments().iter().any(|segment| matches!(segment, Segment::Key(key) if &**key == "exclude"));
    let mut fields = Vec::new();
    collect(cel, &mut fields);
    // `containers` beside `container-image`.
    let elements: Vec<String> =
        fields.iter().filter_map(|field| Some(format!("{}s", field.split_once('-')?.0))).collect();
    fields.retain(|field| !elements.contains(field));
    let is_missing = !is_exclude
        && matches!(cel, Cel::Not(test)
            if matches!(&**test, Cel::Call { name: "has" | "hasValue" | "exists", .. }));
    let fields = match fields.as_slice() {
        // What is excluded is what does not meet the condition.
        [one] if is_exclude => Some(one.clone()),
        [one] if is_missing => Some(missing(one)),
        [one] => Some(format!("{one}{}", expected(cel, one).unwrap_or_default())),
        [one, other] => {
            let word = if is_either(cel) { "or" } else { "and" };
            Some(format!("{one}-{word}-{}", without_start(other, one)))
        }
        _ => None,
    };
    let prefix = match cel {
        _ if is_exclude => "exclude-",
        _ if is_missing => "no-",
        _ => "",
    };
    let named = fields.map(|fields| format!("{prefix}{fields}"));
    let base = named.filter(|name| name.len() < MAX_CHARS - 3);
    let base = base.unwrap_or_else(|| block.unwrap_or("condition").to_owned());
    let taken: BTreeSet<&str> = known.iter().map(|(name, _)| &**name).collect();
    if !taken.contains(&*base) {
        return base;
    }
    (2..).map(|number| format!("{base}-{number}")).find(|name| !taken.contains(&**name)).unwrap_or_default()
}

/// `team-annotation` of `annotation-team`: `no-` stands before it.
fn missing(field: &str) -> String {
    match field.split_once('-') {
        Some((kind @ ("annotation" | "label"), key)) => format!("{key}-{kind}"),
        _ => field.to_owned(),
    }
}

/// `-is-test` of a label or annotation that is compared with a text.
fn expected(cel: &Cel, field: &str) -> Option<String> {
    let (Some(("annotation" | "label", _)), Cel::Chain { operator: Operator::Equal, operands }) =
        (field.split_once('-'), cel)
    else {
        return None;
    };
    let value = kebab(operands.last()?.as_text()?);
    (!value.is_empty()).then(|| format!("-is-{value}"))
}

/// `host-path` of `volume-host-path` behind `volume-empty-dir`.
fn without_start<'f>(field: &'f str, before: &str) -> &'f str {
    let rest = before.split_once('-').and_then(|(start, _)| field.strip_prefix(start)?.strip_prefix('-'));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(field)
}

/// Whether one of several must hold, for the object or for an element of a list.
fn is_either(cel: &Cel) -> bool {
    match cel {
        Cel::Call { name: "exists", arguments, .. } => arguments.last().is_some_and(is_either),
        _ => matches!(cel, Cel::Chain { operator: Operator::Or, .. }),
    }
}

/// What an expression reads, in its order.
fn collect(cel: &Cel, found: &mut Vec<String>) {
    let mut names = Vec::new();
    if let Some(root) = path(cel, &mut names, found) {
        let field = field(root, &names);
        if let Some(field) =
            field.map(|field| kebab(&field)).filter(|field| !field.is_empty() && !found.contains(field))
        {
            found.push(field);
        }
        return;
    }
    if let Cel::Call { of: Some(list), name: "exists" | "all" | "filter" | "map", arguments } = cel {
        let before = found.len();
        arguments.iter().skip(1).for_each(|argument| collect(argument, found));
        // The elements say more than their list.
        if found.len() > before {
            return;
        }
        return collect(list, found);
    }
    cel.children().into_iter().for_each(|child| collect(child, found));
}

/// The root of a path, and its names.
fn path<'c>(cel: &'c Cel, names: &mut Vec<&'c str>, found: &mut Vec<String>) -> Option<&'c str> {
    match cel {
        Cel::Member { of, name, .. } => {
            let root = root(of, names, found)?;
            names.push(name);
            Some(root)
        }
        Cel::Index { of, key, .. } => {
            let root = root(of, names, found)?;
            match &**key {
                Cel::Text(text) => names.push(text),
                Cel::Atom(_) => {}
                key => collect(key, found),
            }
            Some(root)
        }
        _ => None,
    }
}

fn root<'c>(of: &'c Cel, names: &mut Vec<&'c str>, found: &mut Vec<String>) -> Option<&'c str> {
    match of {
        Cel::Atom(root) => Some(root),
        of => path(of, names, found),
    }
}

/// What a path is about.
fn field(root: &str, names: &[&str]) -> Option<String> {
    let names = match names {
        [variable, below @ ..] if root == "variables" && is_template(variable) => below,
        [variable, ..] if root == "variables" && *variable == AT => return None,
        names => names,
    };
    // `hostPath` says more than `path`.
    let last = |names: &[&str]| match names {
        [.., name, "path"] | [.., name] => Some((*name).to_owned()),
        [] => None,
    };
    let of_metadata = |prefix: &str, names: &[&str]| match names
        .iter()
        .rposition(|name| *name == "metadata")
        .and_then(|at| names.get(at..))
        .unwrap_or(names)
    {
        ["metadata", "labels", key, ..] => Some(format!("{prefix}label-{}", without_domain(key))),
        ["metadata", "annotations", key, ..] => Some(format!("{prefix}annotation-{}", without_domain(key))),
        ["metadata", "generateName"] => Some(format!("{prefix}name")),
        names => last(names).map(|name| format!("{prefix}{name}")),
    };
    match (root, names) {
        (_, []) => None,
        ("request", ["userInfo", ..]) => Some("user".to_owned()),
        ("object" | "variables" | "request", names) => of_metadata("", names),
        ("oldObject", names) => of_metadata("old-", names),
        ("namespaceObject", names) => of_metadata("namespace-", names),
        // The variable of a loop: `container`.
        (variable, names) => last(names).map(|name| format!("{variable}-{name}")),
    }
}

/// `app` of `example.com/app`.
fn without_domain(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// `hostNetwork` as `host-network`, with nothing that a name may not have.
fn kebab(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            if !out.ends_with(|last: char| last == '-' || last.is_ascii_uppercase()) {
                out.push('-');
            }
            out.push(c.to_ascii_lowercase());
        } else if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(cel: Cel, block: &str) -> String {
        condition_name(&cel, &Pointer::ROOT.key(block), &[])
    }

    #[test]
    fn conditions_are_named_by_their_fields() {
        let object = |names: &[&str]| names.iter().fold(Cel::atom("object"), |of, name| of.maybe(name));
        let network = object(&["spec", "hostNetwork"]).or_value(Cel::bool(false)).equals(Cel::bool(true));
        assert_eq!(name(network.clone(), "mutate"), "host-network");
        let label =
            object(&["metadata", "labels", "example.com/App"]).or_value(Cel::text("")).equals(Cel::text("x"));
        assert_eq!(name(label.clone(), "exclude"), "exclude-label-app");
        assert_eq!(name(Cel::all(vec![network, label]), "match"), "host-network-and-label-app");
        let missing = object(&["metadata", "annotations", "example.com/team"]).call("hasValue", []).negated();
        assert_eq!(name(missing, "mutate"), "no-team-annotation");
        let volume = |name: &str| Cel::function("has", [Cel::atom("volume").member(name)]);
        let either = Cel::any(vec![volume("emptyDir"), volume("hostPath")]);
        assert_eq!(name(either, "match"), "volume-empty-dir-or-host-path");
        let image = Cel::atom("container").member("image").equals(Cel::text("x"));
        let list = object(&["spec", "containers"]).call("exists", [Cel::atom("container"), image]);
        assert_eq!(name(list.clone(), "mutate"), "container-image");
        assert_eq!(name(list.negated(), "mutate"), "no-container-image");
        let user = Cel::atom("request").member("userInfo").member("username").equals(Cel::text("ann"));
        assert_eq!(name(user, "match"), "user");
    }

    #[test]
    fn many_fields_have_the_name_of_their_block() {
        let of = |field: &str| Cel::atom("object").member(field);
        let many = Cel::all(vec![of("a"), of("b"), of("c")]);
        assert_eq!(name(many.clone(), "preconditions"), "preconditions");
        let known = vec![("preconditions".to_owned(), Cel::bool(true))];
        assert_eq!(condition_name(&many, &Pointer::ROOT.key("preconditions"), &known), "preconditions-2");
    }
}
