//! Long lists of which many elements come and go.

use crate::patch::json_patch::kind::OperationKind;
use crate::patch::json_patch::path::{Path, Token};
use crate::patch::{MissingPart, PatchError};
use crate::value::Value;

use super::locate::{check_depth, container, index_below, index_error, insertion_index, missing, node_mut};

/// From so many elements on, a list is changed in parts.
const LONG: usize = 4096;

/// So many operations in a row on one list pay for taking it apart.
const MANY: usize = 8;

/// The elements of a part when the list is taken apart. It is split where it has twice as many.
const PART: usize = 1024;

/// The elements of a list in parts, so that few of them move where one comes or goes.
pub(in crate::patch) struct LongList {
    parts: Vec<Vec<Value>>,
    length: usize,
}

impl LongList {
    /// Changes the list at this path with so many operations; `None` if they are few or it is none, or not long.
    ///
    /// # Errors
    ///
    /// That of `change`.
    pub(in crate::patch) fn change<E>(
        document: &mut Value,
        parents: &[Token],
        operations: usize,
        change: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        if operations < MANY {
            return None;
        }
        let items = container(document, parents)?.as_array().filter(|items| items.len() >= LONG)?;
        let mut list = Self::of(items);
        Some(change(&mut list).map(|()| {
            if let Some(node) = node_mut(document, parents) {
                *node = Value::array(list.into_items());
            }
        }))
    }

    fn of(items: &[Value]) -> Self {
        Self { parts: items.chunks(PART).map(<[Value]>::to_vec).collect(), length: items.len() }
    }

    fn into_items(self) -> Vec<Value> {
        let mut items = Vec::with_capacity(self.length);
        items.extend(self.parts.into_iter().flatten());
        items
    }

    /// The index of the existing element at the end of a path.
    pub(in crate::patch) fn index(&self, kind: OperationKind, path: &Path) -> Result<usize, PatchError> {
        let (last, _) = path.split_last().ok_or_else(|| missing(kind, MissingPart::Path, path))?;
        index_below(self.length, last).map_err(|error| index_error(kind, path, error))
    }

    /// Inserts an element where a path says.
    pub(in crate::patch) fn add(
        &mut self,
        kind: OperationKind,
        path: &Path,
        value: Value,
    ) -> Result<(), PatchError> {
        check_depth(path, &value)?;
        let (last, _) = path.split_last().ok_or_else(|| missing(kind, MissingPart::Path, path))?;
        let index = insertion_index(self.length, last).map_err(|error| index_error(kind, path, error))?;
        self.insert(index, value);
        Ok(())
    }

    pub(in crate::patch) fn get(&self, index: usize) -> Option<&Value> {
        let (part, at) = self.locate(index)?;
        self.parts[part].get(at)
    }

    /// Inserts an element; at the end or behind it, it is appended.
    fn insert(&mut self, index: usize, value: Value) {
        let (part, at) = match self.locate(index) {
            Some(found) => found,
            None => match self.parts.len().checked_sub(1) {
                Some(last) => (last, self.parts[last].len()),
                None => {
                    self.parts.push(Vec::new());
                    (0, 0)
                }
            },
        };
        self.parts[part].insert(at, value);
        self.length += 1;
        if self.parts[part].len() >= 2 * PART {
            let rest = self.parts[part].split_off(PART);
            self.parts.insert(part + 1, rest);
        }
    }

    pub(in crate::patch) fn remove(&mut self, index: usize) -> Option<Value> {
        let (part, at) = self.locate(index)?;
        self.length -= 1;
        Some(self.parts[part].remove(at))
    }

    /// The part of an element, and its index there.
    fn locate(&self, index: usize) -> Option<(usize, usize)> {
        let mut at = index;
        for (number, part) in self.parts.iter().enumerate() {
            if at < part.len() {
                return Some((number, at));
            }
            at -= part.len();
        }
        None
    }
}

/// The operations in a row that insert and remove elements of the same list. `list_of` is the list of an operation; `None`
/// if it does something else.
pub(in crate::patch) fn runs<'o, O, L: PartialEq>(
    operations: &'o [O],
    list_of: impl Fn(&'o O) -> Option<L>,
) -> impl Iterator<Item = &'o [O]> {
    let mut rest = operations;
    std::iter::from_fn(move || {
        let (first, others) = rest.split_first()?;
        let list = list_of(first);
        let same = others.iter().take_while(|other| list.is_some() && list_of(other) == list).count();
        let (run, next) = rest.split_at(1 + same);
        rest = next;
        Some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_and_go_as_in_any_list() {
        let mut items: Vec<Value> = (0..5000).map(Value::from).collect();
        let mut list = LongList::of(&items);
        let mut state: usize = 7;
        for number in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Half of them in one place, so that parts are split and become empty.
            let wanted = if state.is_multiple_of(2) { state >> 33 } else { 1500 };
            if (number / 6000) % 2 == 0 {
                let index = wanted % (items.len() + 1);
                items.insert(index, Value::from(number));
                list.insert(index, Value::from(number));
            } else {
                let index = wanted % items.len();
                assert_eq!(list.get(index), items.get(index));
                assert_eq!(list.remove(index), Some(items.remove(index)));
            }
            assert_eq!(list.length, items.len());
        }
        assert_eq!(list.get(items.len()), None);
        assert_eq!(list.into_items(), items);
    }

    #[test]
    fn runs_are_of_one_list() {
        let lists = [Some(1), Some(1), None, None, Some(1), Some(2), Some(2)];
        let lengths: Vec<usize> = runs(&lists, |list| *list).map(<[Option<i32>]>::len).collect();
        assert_eq!(lengths, [2, 1, 1, 1, 2]);
    }
}
