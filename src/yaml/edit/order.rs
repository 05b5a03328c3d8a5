//! The places of new members of a mapping.

use crate::value::Text;

/// The usual order of the first members of an object.
const OBJECT: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];
/// Those of its metadata.
const METADATA: [&str; 5] = ["name", "generateName", "namespace", "labels", "annotations"];
/// Those of a container.
const CONTAINER: [&str; 5] = ["name", "image", "imagePullPolicy", "command", "args"];
/// The minimum number of keys to be regarded as alphabetical.
const SORTED: usize = 3;

/// The member names on the way to a mapping; `None` for an element of a list.
pub(super) type Path = [Option<Text>];

/// A member in its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Member {
    /// An old one.
    Old(usize),
    /// A new one.
    New(usize),
}

/// The order of old and new keys.
pub(super) fn placed(path: &Path, old: &[Option<&str>], new: &[&str]) -> Vec<Member> {
    let ranks = ranks(path, old);
    let known = |name: &&str| ranks.contains(name);
    let is_usual = is_ranked(ranks, old) && old.iter().flatten().any(known);
    if !is_usual && old.len() >= SORTED && old.iter().all(Option::is_some) && old.is_sorted() {
        return merged(old, new);
    }
    let mut members: Vec<(Option<&str>, Member)> =
        old.iter().enumerate().map(|(index, name)| (*name, Member::Old(index))).collect();
    for (index, name) in new.iter().enumerate() {
        let at = ranked(ranks, &members, name).unwrap_or_else(|| last(path, &members));
        members.insert(at, (Some(name), Member::New(index)));
    }
    members.into_iter().map(|(_, member)| member).collect()
}

/// Inserts new keys among alphabetical ones.
fn merged(old: &[Option<&str>], new: &[&str]) -> Vec<Member> {
    let old = old.iter().enumerate().map(|(index, name)| (name.unwrap_or_default(), Member::Old(index)));
    let new = new.iter().enumerate().map(|(index, name)| (*name, Member::New(index)));
    let mut members: Vec<(&str, Member)> = old.chain(new).collect();
    members.sort_by_key(|(name, _)| *name);
    members.into_iter().map(|(_, member)| member).collect()
}

/// The usual order of the keys of a mapping.
fn ranks(path: &Path, keys: &[Option<&str>]) -> &'static [&'static str] {
    let above = |back: usize| path.len().checked_sub(back).and_then(|index| path[index].as_deref());
    let has = |name: &str| keys.contains(&Some(name));
    match (path.last(), above(1)) {
        (Some(None), _)
            if matches!(above(2), Some("containers" | "initContainers" | "ephemeralContainers")) =>
        {
            &CONTAINER
        }
        (_, Some("metadata")) => &METADATA,
        _ if has("spec") || (has("apiVersion") && has("kind")) => &OBJECT,
        _ => &[],
    }
}

fn rank(ranks: &[&str], name: &str) -> Option<usize> {
    ranks.iter().position(|ranked| *ranked == name)
}

/// Whether the keys are in the usual order.
fn is_ranked(ranks: &[&str], keys: &[Option<&str>]) -> bool {
    keys.iter().flatten().filter_map(|name| rank(ranks, name)).is_sorted()
}

/// The index after the nearest predecessor in the usual order, else before the nearest successor.
fn ranked(ranks: &[&str], members: &[(Option<&str>, Member)], name: &str) -> Option<usize> {
    let own = rank(ranks, name)?;
    let place = |wanted: &str| members.iter().position(|(other, _)| *other == Some(wanted));
    let before = ranks[..own].iter().rev().find_map(|wanted| place(wanted)).map(|index| index + 1);
    before.or_else(|| ranks[own + 1..].iter().find_map(|wanted| place(wanted)))
}

/// The end, before a status.
fn last(path: &Path, members: &[(Option<&str>, Member)]) -> usize {
    let end = members.len();
    match members.last() {
        Some((Some("status"), _)) if path.len() <= 2 => end - 1,
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(path: &[Option<&str>], old: &[&str], new: &[&str]) -> String {
        let path: Vec<Option<Text>> = path.iter().map(|key| key.map(Text::from)).collect();
        let keys: Vec<Option<&str>> = old.iter().copied().map(Some).collect();
        let names: Vec<&str> = placed(&path, &keys, new)
            .into_iter()
            .map(|member| match member {
                Member::Old(index) => old[index],
                Member::New(index) => new[index],
            })
            .collect();
        names.join(" ")
    }

    #[test]
    fn new_keys_are_in_their_usual_places() {
        let metadata = [Some("metadata")];
        let container = [Some("spec"), Some("containers"), None];
        for (path, old, new, expected) in [
            (&metadata[..], &["name", "namespace"][..], &["labels"][..], "name namespace labels"),
            (&metadata, &["name", "annotations"], &["labels"], "name labels annotations"),
            (
                &metadata,
                &["name", "finalizers"],
                &["annotations", "labels"],
                "name labels annotations finalizers",
            ),
            (&metadata, &["labels", "name", "uid"], &["annotations"], "annotations labels name uid"),
            (
                &container,
                &["name", "image", "ports"],
                &["imagePullPolicy"],
                "name image imagePullPolicy ports",
            ),
            (&container, &["name", "image", "ports"], &["resources"], "name image ports resources"),
            (&container, &["image", "name"], &["imagePullPolicy"], "image imagePullPolicy name"),
            (&container, &["args", "image", "name"], &["imagePullPolicy"], "args image imagePullPolicy name"),
            (&[], &["apiVersion", "kind", "spec"], &["metadata"], "apiVersion kind metadata spec"),
            (
                &[],
                &["apiVersion", "kind", "metadata", "status"],
                &["spec"],
                "apiVersion kind metadata spec status",
            ),
            (&[Some("labels")], &["app", "b", "tier"], &["owner", "a"], "a app b owner tier"),
            (&[Some("labels")], &["tier", "app"], &["owner"], "tier app owner"),
            (&[Some("template")], &["spec"], &["metadata"], "metadata spec"),
        ] {
            assert_eq!(order(path, old, new), expected, "{path:?}");
        }
    }
}
