//! The differences between two values.

use super::path_set::Place;
use super::{PathSet, Pointer, Value, equal_ends};

/// One change; a list of them, applied in order, turns one value into another.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The path of the node. Indexes are those after the earlier changes.
    pub pointer: Pointer,
    /// The kind of change.
    pub kind: ChangeKind,
}

/// The kind of a change.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeKind {
    /// The node was set, or inserted into its list.
    Add(Value),
    /// The node was removed.
    Remove(Value),
    /// The node got another value.
    Replace {
        /// The old value.
        before: Value,
        /// The new value.
        after: Value,
    },
}

/// The changes from `before` to `after`.
///
/// Members are compared by key, in their order. Lists are compared by position after common elements at both ends;
/// surplus elements are removed from the end, so that the changes can be applied in order.
pub fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare(&mut Pointer::default(), (before, after), Place::Whole, &mut found);
    found
}

/// Those of the changes that overlap a path of a set. Other parts are not compared.
pub fn changes_within(paths: &PathSet, before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    if let Some(root) = paths.root() {
        compare(&mut Pointer::default(), (before, after), root, &mut found);
    }
    found
}

fn compare(at: &mut Pointer, (before, after): (&Value, &Value), place: Place<'_>, found: &mut Vec<Change>) {
    if before.same_storage(after) {
        return;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            // The members that both have. Mostly they are the first ones of `new`, in the same order.
            let mut common = 0;
            let mut are_first = true;
            for (key, was) in old.iter() {
                let next = new.get_index(common).filter(|(known, _)| *known == key);
                let is = match next {
                    Some((_, is)) => Some(is),
                    None if common == new.len() => None,
                    None => new.get(key).inspect(|_| are_first = false),
                };
                common += usize::from(is.is_some());
                if is.is_some_and(|is| was.same_storage(is)) {
                    continue;
                }
                let Some(place) = place.member(key) else { continue };
                match is {
                    Some(is) => {
                        at.push_key(key.clone());
                        compare(at, (was, is), place, found);
                        at.pop();
                    }
                    None => {
                        let pointer = at.key(key.clone());
                        found.push(Change { pointer, kind: ChangeKind::Remove(was.clone()) });
                    }
                }
            }
            if common == new.len() {
                return;
            }
            let rest = new.iter().skip(if are_first { common } else { 0 });
            for (key, is) in rest.filter(|(key, _)| are_first || !old.contains_key(*key)) {
                if place.member(key).is_some() {
                    found.push(Change { pointer: at.key(key.clone()), kind: ChangeKind::Add(is.clone()) });
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            if let Some(place) = place.elements() {
                compare_lists(at, (old, new), place, found);
            }
        }
        _ if before == after => {}
        _ => found.push(Change {
            pointer: at.clone(),
            kind: ChangeKind::Replace { before: before.clone(), after: after.clone() },
        }),
    }
}

/// `place` is that of the elements.
fn compare_lists(
    at: &mut Pointer,
    (old, new): (&[Value], &[Value]),
    place: Place<'_>,
    found: &mut Vec<Change>,
) {
    let (head, tail) = equal_ends(old, new);
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let paired = old_end.min(new_end);
    for index in head..paired {
        at.push_index(index);
        compare(at, (&old[index], &new[index]), place, found);
        at.pop();
    }
    for index in (paired..old_end).rev() {
        found.push(Change { pointer: at.index(index), kind: ChangeKind::Remove(old[index].clone()) });
    }
    for (index, is) in new.iter().enumerate().take(new_end).skip(paired) {
        found.push(Change { pointer: at.index(index), kind: ChangeKind::Add(is.clone()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Step;

    fn shown(before: &str, after: &str) -> Vec<String> {
        let json = |text| Value::from_json(text).unwrap();
        changes(&json(before), &json(after))
            .iter()
            .map(|change| match &change.kind {
                ChangeKind::Add(value) => format!("+{} {}", change.pointer, value.to_json()),
                ChangeKind::Remove(value) => format!("-{} {}", change.pointer, value.to_json()),
                ChangeKind::Replace { before, after } => {
                    format!("{} {}>{}", change.pointer, before.to_json(), after.to_json())
                }
            })
            .collect()
    }

    #[test]
    fn equal_values_have_no_changes() {
        assert!(shown(r#"{"a":1,"b":[1]}"#, r#"{"b":[1.0],"a":1}"#).is_empty());
    }

    #[test]
    fn members_are_added_removed_and_replaced() {
        assert_eq!(
            shown(r#"{"a":1,"b":2,"c":{"d":1}}"#, r#"{"b":"2","c":{"d":1,"e":2},"f":null}"#),
            ["-a 1", r#"b 2>"2""#, "+c.e 2", "+f null"]
        );
    }

    #[test]
    fn only_the_differing_middle_of_a_list_changes() {
        assert_eq!(shown("[1,2,3]", "[1,9,2,3]"), ["+[1] 9"]);
        assert_eq!(shown("[1,2,3,4]", "[1,4]"), ["-[2] 3", "-[1] 2"]);
        assert_eq!(shown(r#"[{"a":1},{"b":1}]"#, r#"[{"a":2},{"b":1}]"#), ["[0].a 1>2"]);
    }

    #[test]
    fn changes_within_paths_are_those_that_overlap_them() {
        let json = |text| Value::from_json(text).unwrap();
        let before = json(r#"{"a":1,"b":{"c":1,"d":1},"l":[{"x":1,"y":1}],"m":[1],"n":{}}"#);
        let after = json(r#"{"b":{"c":2,"d":2},"l":[{"x":2,"y":2},{}],"m":{"k":1},"n":{"o":1},"p":1}"#);
        let all = changes(&before, &after);
        let sets: [&[Step]; 6] = [
            &[],
            &[Step::Key("b".into()), Step::Key("c".into())],
            &[Step::Key("l".into()), Step::Elements, Step::Key("x".into())],
            &[Step::Key("n".into()), Step::Elements],
            &[Step::Key("m".into()), Step::Key("k".into())],
            &[Step::Key("p".into()), Step::Key("q".into())],
        ];
        for path in sets {
            for insert in [PathSet::insert, PathSet::insert_node] {
                let mut set = PathSet::default();
                insert(&mut set, path);
                let overlapping = all.iter().filter(|change| set.overlaps(&change.pointer)).cloned();
                let expected: Vec<Change> = overlapping.collect();
                assert_eq!(changes_within(&set, &before, &after), expected, "{set}");
            }
        }
        assert!(changes_within(&PathSet::default(), &before, &after).is_empty());
    }

    #[test]
    fn a_change_of_type_is_a_replacement() {
        assert_eq!(shown(r#"{"a":[]}"#, r#"{"a":{}}"#), ["a []>{}"]);
    }
}
