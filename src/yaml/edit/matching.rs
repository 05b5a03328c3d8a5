//! Matching the elements of an old and a new list.

use std::collections::BTreeMap;

use crate::value::{Value, equal_ends};

/// Fields that identify the elements of a list, the best first.
const NAMES: [&str; 9] =
    ["name", "key", "mountPath", "devicePath", "containerPort", "port", "ip", "topologyKey", "uid"];

/// The number of elements searched for a similar one.
const NEAR: usize = 8;

/// The origin of an element of the new list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Origin {
    /// The old element with this index, in the same order as the others that stay.
    Stays(usize),
    /// The old element with this index, moved.
    Moved(usize),
    /// There is no old element.
    New,
}

/// Matches the elements of two lists so that few of them move.
pub(super) fn origins(old: &[Value], new: &[Value]) -> Vec<Origin> {
    let (head, tail) = equal_ends(old, new);
    let (was, is) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut origins: Vec<Origin> = (0..head).map(Origin::Stays).collect();
    let between = if is.is_empty() { Vec::new() } else { middle(was, is) };
    origins.extend(between.into_iter().map(|origin| match origin {
        Origin::Stays(index) => Origin::Stays(index + head),
        Origin::Moved(index) => Origin::Moved(index + head),
        Origin::New => Origin::New,
    }));
    origins.extend((old.len() - tail..old.len()).map(Origin::Stays));
    origins
}

fn middle(old: &[Value], new: &[Value]) -> Vec<Origin> {
    let keyed = NAMES.iter().find_map(|name| Some((names(old, name)?, names(new, name)?)));
    let keyed = keyed.or_else(|| Some((identities(old)?, identities(new)?)));
    let is_keyed = keyed.is_some();
    let texts = |items: &[Value]| items.iter().map(text).collect::<Vec<_>>();
    let (old_names, new_names) = keyed.unwrap_or_else(|| (texts(old), texts(new)));
    let mut known: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, name) in old_names.iter().enumerate().rev() {
        known.entry(name).or_default().push(index);
    }
    let mut matched: Vec<Option<usize>> =
        new_names.iter().map(|name| known.get_mut(name.as_str()).and_then(Vec::pop)).collect();
    let stays = rising(&matched);
    let by_name = matched.clone();
    pair(old, new, &mut matched, &stays, is_keyed);
    let origin = |(index, origin): (usize, Option<usize>)| match origin {
        Some(origin) if by_name[index].is_some() && !stays[index] => Origin::Moved(origin),
        Some(origin) => Origin::Stays(origin),
        None => Origin::New,
    };
    matched.into_iter().enumerate().map(origin).collect()
}

/// The identity of an element: its name, or else all of it.
fn text(item: &Value) -> String {
    match item.get("name") {
        Some(name @ Value::String(_)) => format!("name {}", name.to_json()),
        _ => item.to_json(),
    }
}

/// The values of a field, if all elements have it with different values.
fn names(items: &[Value], field: &str) -> Option<Vec<String>> {
    let names = items.iter().map(|item| match item.get(field)? {
        Value::Array(_) | Value::Object(_) | Value::Null => None,
        name => Some(name.to_json()),
    });
    distinct(names.collect::<Option<_>>()?)
}

/// The identities of Kubernetes objects.
fn identities(items: &[Value]) -> Option<Vec<String>> {
    let identity = |item: &Value| {
        let at = |path: &[&str]| item.path(path).map(Value::to_json).unwrap_or_default();
        item.path(&["metadata", "name"])?;
        Some(
            [at(&["kind"]), at(&["apiVersion"]), at(&["metadata", "namespace"]), at(&["metadata", "name"])]
                .join(" "),
        )
    };
    distinct(items.iter().map(identity).collect::<Option<_>>()?)
}

fn distinct(names: Vec<String>) -> Option<Vec<String>> {
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let all = sorted.windows(2).all(|pair| pair[0] != pair[1]);
    all.then_some(names)
}

/// The longest increasing subsequence of origins.
fn rising(matched: &[Option<usize>]) -> Vec<bool> {
    // The last element of the best run of each length, and the predecessor of each element.
    let mut ends: Vec<(usize, usize)> = Vec::new();
    let mut before = vec![usize::MAX; matched.len()];
    for (index, origin) in matched.iter().enumerate() {
        let Some(origin) = origin else { continue };
        let length = ends.partition_point(|(end, _)| end < origin);
        before[index] = length.checked_sub(1).map_or(usize::MAX, |shorter| ends[shorter].1);
        if length == ends.len() {
            ends.push((*origin, index));
        } else {
            ends[length] = (*origin, index);
        }
    }
    let mut stays = vec![false; matched.len()];
    let mut at = ends.last().map_or(usize::MAX, |(_, index)| *index);
    while let Some(stay) = stays.get_mut(at) {
        *stay = true;
        at = before[at];
    }
    stays
}

/// Pairs what is left between two elements that stay: what is mostly the same, and of elements without
/// names also those at the same place.
fn pair(old: &[Value], new: &[Value], matched: &mut [Option<usize>], stays: &[bool], is_keyed: bool) {
    let mut used = vec![false; old.len()];
    for origin in matched.iter().flatten() {
        used[*origin] = true;
    }
    let mut origin = 0;
    let mut index = 0;
    while index < new.len() {
        if stays[index] {
            origin = matched[index].map_or(origin, |stay| stay + 1);
            index += 1;
            continue;
        }
        let end = (index..new.len()).find(|index| stays[*index]).unwrap_or(new.len());
        let limit = matched.get(end).copied().flatten().unwrap_or(old.len());
        let left: Vec<usize> = (origin..limit).filter(|origin| !used[*origin]).collect();
        let mut left = left.as_slice();
        let free: Vec<usize> = (index..end).filter(|index| matched[*index].is_none()).collect();
        for index in free {
            let same = left.iter().take(NEAR).position(|origin| is_mostly(&old[*origin], &new[index]));
            let place =
                left.first().filter(|origin| !is_keyed && alike(&old[**origin], &new[index])).map(|_| 0);
            if let Some(at) = same.or(place) {
                matched[index] = Some(left[at]);
                left = &left[at + 1..];
            }
        }
        index = end;
    }
}

/// Whether two objects have at least half of their members in common.
fn is_mostly(was: &Value, is: &Value) -> bool {
    let (Some(was), Some(is)) = (was.as_object(), is.as_object()) else { return false };
    let same = was.iter().filter(|(key, value)| is.get(key) == Some(value)).count();
    same * 2 >= was.len().max(is.len())
}

fn alike(was: &Value, is: &Value) -> bool {
    match (was, is) {
        (Value::Object(_), Value::Object(_)) | (Value::Array(_), Value::Array(_)) => true,
        (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        let json = |text| Value::from_json(text).unwrap();
        let (old, new) = (json(old), json(new));
        let origins = origins(old.as_array().unwrap(), new.as_array().unwrap());
        let shown: Vec<String> = origins
            .iter()
            .map(|origin| match origin {
                Origin::Stays(index) => index.to_string(),
                Origin::Moved(index) => format!("m{index}"),
                Origin::New => "+".into(),
            })
            .collect();
        shown.join(" ")
    }

    #[test]
    fn elements_are_followed_by_name_and_few_move() {
        for (old, new, expected) in [
            ("[1,2,3]", "[1,2,3,4]", "0 1 2 +"),
            ("[1,2,3]", "[1,9,3]", "0 1 2"),
            ("[1,2,3]", "[3,1,2]", "m2 0 1"),
            ("[1,1,2]", "[2,1,1]", "m2 0 1"),
            ("[1,2]", "[0,1,2]", "+ 0 1"),
            (r#"[{"name":"a"},{"name":"b"}]"#, r#"[{"name":"b","x":1},{"name":"a"}]"#, "m1 0"),
            (r#"[{"name":"a"},{"name":"b"}]"#, r#"[{"name":"c"},{"name":"b","x":1}]"#, "+ 1"),
            (r#"[{"a":1},{"a":2}]"#, r#"[{"a":1,"b":1},{"a":2,"b":1}]"#, "0 1"),
            (r#"[{"a":1},{"a":2}]"#, r#"["x",{"a":2}]"#, "+ 1"),
            (r#"[{"name":"a"},1]"#, r#"[1,{"name":"a","x":1}]"#, "m1 0"),
            (r#"[{"name":"a","v":1},{"name":"b"}]"#, r#"[{"name":"z","v":1},{"name":"b"}]"#, "0 1"),
            (r#"[{"a":1},{"b":1,"c":1}]"#, r#"[{"b":2,"c":1}]"#, "1"),
            ("[]", "[1]", "+"),
            ("[1]", "[]", ""),
        ] {
            assert_eq!(shown(old, new), expected, "{old} {new}");
        }
    }
}
