//! Which elements of two lists belong together.

use std::collections::BTreeMap;

use crate::value::{Value, are_aligned};

/// What is known of pairs of lists. To compare lists takes as long as they are, and many fields are below the same ones.
#[derive(Default)]
pub(in crate::engine) struct ListPairs<'v> {
    /// By the addresses of the elements.
    known: BTreeMap<[usize; 2], Pair<'v>>,
}

struct Pair<'v> {
    are_aligned: bool,
    /// Whether they are aligned, or equal.
    are_equal: bool,
    /// The places of the names in each list; `None` for a name that several elements have.
    names: Option<[BTreeMap<&'v str, Option<usize>>; 2]>,
}

impl<'v> ListPairs<'v> {
    /// Whether elements at the same place have the same name, as [`are_aligned`] says it.
    pub(in crate::engine) fn are_aligned(&mut self, one: &'v [Value], other: &'v [Value]) -> bool {
        self.pair([one, other]).are_aligned
    }

    /// Whether elements at the same place belong together, by their names or because the lists are equal.
    pub(super) fn have_same_places(&mut self, one: &'v [Value], other: &'v [Value]) -> bool {
        self.pair([one, other]).are_equal
    }

    /// The place of the element of the other list that alone has the name which an element alone has in its own.
    pub(super) fn place_by_name(
        &mut self,
        index: usize,
        own: &'v [Value],
        other: &'v [Value],
    ) -> Option<usize> {
        let pair = self.pair([own, other]);
        let name = name(own.get(index)?)?;
        let [own, other] = pair.names.get_or_insert_with(|| [own, other].map(names));
        (*own.get(name)?)?;
        *other.get(name)?
    }

    fn pair(&mut self, lists: [&'v [Value]; 2]) -> &mut Pair<'v> {
        let [one, other] = lists;
        self.known.entry(lists.map(|list| list.as_ptr().addr())).or_insert_with(|| {
            let are_aligned = are_aligned(one, other);
            Pair { are_aligned, are_equal: are_aligned || one == other, names: None }
        })
    }
}

fn name(element: &Value) -> Option<&str> {
    element.get("name").and_then(Value::as_str)
}

fn names(list: &[Value]) -> BTreeMap<&str, Option<usize>> {
    let mut places = BTreeMap::new();
    for (index, name) in list.iter().enumerate().filter_map(|(index, element)| Some((index, name(element)?)))
    {
        places.entry(name).and_modify(|place| *place = None).or_insert(Some(index));
    }
    places
}
