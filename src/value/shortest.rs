//! Short JSON patches between two values.

use super::{Change, ChangeKind, Pointer, Value, equal_ends};

/// After this many comparisons the search for a shorter patch ends.
const MAX_STEPS: usize = 1 << 18;

/// Lists with more pairs of differing elements than this are compared by position.
const MAX_PAIRS: usize = 1 << 16;

/// The bytes of an operation without its path and value.
const ADD: usize = r#"{"op":"add","path":"","value":},"#.len();
const REMOVE: usize = r#"{"op":"remove","path":""},"#.len();
const REPLACE: usize = r#"{"op":"replace","path":"","value":},"#.len();

/// The changes from `before` to `after` that make a short JSON patch: list elements are removed and inserted in place, and
/// a node with many changes is replaced if that is shorter. The root is replaced only if its type changes. The changes
/// are in the order of the members of `before`, then of the new ones, to be applied in order.
pub fn shortest_changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    let mut search = Search { steps: MAX_STEPS, by_name: false };
    search.changes(&mut Pointer::default(), 0, before, after, &mut found);
    found
}

/// The index of the old element for each element of a new list, in order. Elements with different names are different.
pub fn aligned(old: &[Value], new: &[Value]) -> Vec<Option<usize>> {
    let mut origins = vec![None; new.len()];
    let (mut at, mut place) = (0, 0);
    for step in (Search { steps: MAX_STEPS, by_name: true }).alignment(0, old, new) {
        match step {
            Step::Pair => {
                origins[place] = Some(at);
                (at, place) = (at + 1, place + 1);
            }
            Step::Remove => at += 1,
            Step::Add => place += 1,
        }
    }
    origins
}

/// One step of the alignment of two lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    /// The old element becomes the new one.
    #[default]
    Pair,
    /// The old element is removed.
    Remove,
    /// The new element is added.
    Add,
}

struct Search {
    steps: usize,
    /// Whether elements with different names are never matched.
    by_name: bool,
}

impl Search {
    /// Appends the changes of a node, given the bytes of its path; returns the bytes of the changes.
    fn changes(
        &mut self,
        at: &mut Pointer,
        path: usize,
        before: &Value,
        after: &Value,
        found: &mut Vec<Change>,
    ) -> usize {
        if before.same_storage(after) || before == after {
            return 0;
        }
        let first = found.len();
        let mut taken = 0;
        match (before, after) {
            (Value::Object(old), Value::Object(new)) => {
                for (key, was) in old.iter() {
                    let path = path + key_length(key);
                    at.push_key(key.clone());
                    match new.get(key) {
                        Some(is) => taken += self.changes(at, path, was, is, found),
                        None => {
                            taken += REMOVE + path;
                            found.push(Change { pointer: at.clone(), kind: ChangeKind::Remove(was.clone()) });
                        }
                    }
                    at.pop();
                }
                for (key, is) in new.iter().filter(|(key, _)| !old.contains_key(key)) {
                    taken += ADD + path + key_length(key) + length(is);
                    found.push(Change { pointer: at.key(key.clone()), kind: ChangeKind::Add(is.clone()) });
                }
            }
            (Value::Array(old), Value::Array(new)) => {
                let (mut from, mut place) = (0, 0);
                for step in self.alignment(path, old, new) {
                    let path = path + index_length(place);
                    match step {
                        Step::Pair => {
                            at.push_index(place);
                            taken += self.changes(at, path, &old[from], &new[place], found);
                            at.pop();
                            (from, place) = (from + 1, place + 1);
                        }
                        Step::Remove => {
                            taken += REMOVE + path;
                            let kind = ChangeKind::Remove(old[from].clone());
                            found.push(Change { pointer: at.index(place), kind });
                            from += 1;
                        }
                        Step::Add => {
                            taken += ADD + path + length(&new[place]);
                            let kind = ChangeKind::Add(new[place].clone());
                            found.push(Change { pointer: at.index(place), kind });
                            place += 1;
                        }
                    }
                }
            }
            _ => taken = usize::MAX,
        }
        // Replacing a whole object hides what changed.
        let whole =
            if at.is_root() && taken != usize::MAX { usize::MAX } else { REPLACE + path + length(after) };
        if whole < taken {
            found.truncate(first);
            let kind = ChangeKind::Replace { before: before.clone(), after: after.clone() };
            found.push(Change { pointer: at.clone(), kind });
        }
        taken.min(whole)
    }

    /// The approximate bytes of the changes of a node, given the bytes of the new value.
    fn cost(&mut self, path: usize, before: &Value, after: &Value, new_length: usize) -> usize {
        if before.same_storage(after) || before == after {
            return 0;
        }
        let whole = REPLACE + path + new_length;
        let Some(steps) = self.steps.checked_sub(1) else { return whole };
        self.steps = steps;
        let parts = match (before, after) {
            (Value::Object(old), Value::Object(new)) => {
                let mut sum = 0;
                for (key, was) in old.iter() {
                    let path = path + key_length(key);
                    sum += match new.get(key) {
                        Some(is) => self.cost(path, was, is, length(is)),
                        None => REMOVE + path,
                    };
                    if sum > whole {
                        return whole;
                    }
                }
                let fresh = new.iter().filter(|(key, _)| !old.contains_key(key));
                sum + fresh.map(|(key, is)| ADD + path + key_length(key) + length(is)).sum::<usize>()
            }
            (Value::Array(old), Value::Array(new)) => {
                self.table(path, old, new).map_or(whole, |table| table.all())
            }
            _ => whole,
        };
        parts.min(whole)
    }

    /// The steps that align two lists.
    fn alignment(&mut self, path: usize, old: &[Value], new: &[Value]) -> Vec<Step> {
        let (head, tail) = equal_ends(old, new);
        let (was, is) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
        let mut steps = vec![Step::Pair; head];
        match self.table(path, was, is) {
            Some(table) => table.steps(&mut steps),
            None => {
                let paired = was.len().min(is.len());
                steps.extend(std::iter::repeat_n(Step::Pair, paired));
                steps.extend(std::iter::repeat_n(Step::Remove, was.len() - paired));
                steps.extend(std::iter::repeat_n(Step::Add, is.len() - paired));
            }
        }
        steps.extend(std::iter::repeat_n(Step::Pair, tail));
        steps
    }

    /// The cost table of aligning the rests of two lists; `None` if the lists are too long.
    fn table(&mut self, path: usize, old: &[Value], new: &[Value]) -> Option<Table> {
        if old.len().saturating_mul(new.len()) > MAX_PAIRS {
            return None;
        }
        let path = path + index_length(old.len().max(new.len()));
        let lengths: Vec<usize> = new.iter().map(length).collect();
        let width = new.len() + 1;
        let mut cells = vec![(0, Step::Pair); (old.len() + 1) * width];
        for place in (0..new.len()).rev() {
            let last = old.len() * width + place;
            cells[last] = (cells[last + 1].0 + ADD + path + lengths[place], Step::Add);
        }
        for from in (0..old.len()).rev() {
            let row = from * width;
            cells[row + new.len()] = (cells[row + width + new.len()].0 + REMOVE + path, Step::Remove);
            for place in (0..new.len()).rev() {
                let below = row + width + place;
                let pair = if self.by_name && names_differ(&old[from], &new[place]) {
                    usize::MAX
                } else {
                    cells[below + 1].0 + self.cost(path, &old[from], &new[place], lengths[place])
                };
                let ways = [
                    (pair, Step::Pair),
                    (cells[below].0 + REMOVE + path, Step::Remove),
                    (cells[row + place + 1].0 + ADD + path + lengths[place], Step::Add),
                ];
                let best = ways.into_iter().min_by_key(|(cost, _)| *cost);
                cells[row + place] = best.unwrap_or_default();
            }
        }
        Some(Table { cells, width })
    }
}

/// The lowest cost for every pair of rests of two lists, with the first step.
struct Table {
    cells: Vec<(usize, Step)>,
    width: usize,
}

impl Table {
    fn all(&self) -> usize {
        self.cells.first().map_or(0, |(cost, _)| *cost)
    }

    fn steps(&self, steps: &mut Vec<Step>) {
        let mut at = 0;
        while at + 1 < self.cells.len() {
            let (_, step) = self.cells[at];
            steps.push(step);
            at += match step {
                Step::Pair => self.width + 1,
                Step::Remove => self.width,
                Step::Add => 1,
            };
        }
    }
}

fn names_differ(was: &Value, is: &Value) -> bool {
    let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    name(was).zip(name(is)).is_some_and(|(was, is)| was != is)
}

/// The bytes of a key in a path.
fn key_length(key: &str) -> usize {
    1 + key.len() + key.bytes().filter(|byte| matches!(byte, b'~' | b'/')).count()
}

fn index_length(index: usize) -> usize {
    2 + index.checked_ilog10().map_or(0, |digits| digits as usize)
}

/// The approximate bytes of a value as JSON.
fn length(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(_) | Value::Number(_) => value.to_json().len(),
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| length(item) + 1).sum::<usize>().max(1) + 1,
        Value::Object(members) => {
            members.iter().map(|(key, member)| key.len() + 4 + length(member)).sum::<usize>().max(1) + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    fn shown(before: &str, after: &str) -> Vec<String> {
        let changes = shortest_changes(&json(before), &json(after));
        let one = |change: &Change| match &change.kind {
            ChangeKind::Add(value) => format!("+{} {}", change.pointer, value.to_json()),
            ChangeKind::Remove(_) => format!("-{}", change.pointer),
            ChangeKind::Replace { after, .. } => format!("{} {}", change.pointer, after.to_json()),
        };
        changes.iter().map(one).collect()
    }

    #[test]
    fn elements_change_where_they_are() {
        let one = r#"{"name":"one","image":"registry.example/one:1"}"#;
        let two = r#"{"name":"two","image":"registry.example/two:1"}"#;
        let three = r#"{"name":"three","image":"registry.example/three:1"}"#;
        let list = |items: &[&str]| format!(r#"{{"containers":[{}]}}"#, items.join(","));
        let changed = two.replace(":1", ":2");
        assert_eq!(
            shown(&list(&[one, two]), &list(&[three, one, &changed])),
            [format!("+containers[0] {three}"), r#"containers[2].image "registry.example/two:2""#.into()]
        );
        assert_eq!(
            shown(&list(&[one, two, three]), &list(&[&changed, three])),
            ["-containers[0]", r#"containers[0].image "registry.example/two:2""#]
        );
        assert_eq!(shown(&list(&[one, two, three]), &list(&[three])), ["-containers[0]", "-containers[0]"]);
    }

    #[test]
    fn a_parent_is_replaced_where_that_is_shorter() {
        assert_eq!(shown(r#"{"a":{"b":1,"c":2,"d":3}}"#, r#"{"a":{"e":4}}"#), [r#"a {"e":4}"#]);
        assert_eq!(shown(r#"{"a":[1,2,3]}"#, r#"{"a":[4,5,6]}"#), ["a [4,5,6]"]);
        assert_eq!(shown(r#"{"a":1}"#, r#"{"b":1}"#), ["-a", "+b 1"]);
        assert_eq!(shown(r#"[1]"#, r#"{}"#), [" {}"]);
    }

    #[test]
    fn lists_that_are_too_long_are_compared_by_position() {
        let long =
            |from: usize| Value::array((from..from + 400).map(|n| Value::from(n.to_string())).collect());
        let (old, new): (Value, Value) =
            ([("a", long(0))].into_iter().collect(), [("a", long(1000))].into_iter().collect());
        assert_eq!(shortest_changes(&old, &new).len(), 1);
    }

    #[test]
    fn elements_are_followed() {
        let list = |text| json(text).as_array().unwrap().to_vec();
        let old = list(r#"[{"name":"a"},{"name":"b"},{"name":"c"}]"#);
        let new = list(r#"[{"name":"a"},{"name":"n","x":[1,2,3]},{"name":"b","image":"x"}]"#);
        assert_eq!(aligned(&old, &new), [Some(0), None, Some(1)]);
    }
}
