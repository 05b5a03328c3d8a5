//! Where the members of a large object are.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::Text;
use super::key::Key;

/// The indexes of members, by the hashes of their keys.
#[derive(Clone, Default)]
pub(super) struct Places {
    indexes: HashTable<usize>,
    hasher: RandomState,
}

impl Places {
    pub(super) fn held_bytes(&self) -> usize {
        self.indexes.allocation_size()
    }

    pub(super) fn of<V>(members: &[(Text, V)]) -> Self {
        let mut places = Self { indexes: HashTable::with_capacity(members.len()), ..Self::default() };
        (0..members.len()).for_each(|index| places.push(members, index));
        places
    }

    /// Adds the index of a member whose key is new; those below it were added before.
    pub(super) fn push<V>(&mut self, members: &[(Text, V)], index: usize) {
        let Self { indexes, hasher } = self;
        let hash = |index: &usize| hasher.hash_one(members[*index].0.as_str());
        indexes.insert_unique(hash(&index), index, hash);
    }

    pub(super) fn find<V>(&self, members: &[(Text, V)], key: &(impl Key + ?Sized)) -> Option<usize> {
        let is = |index: &usize| members.get(*index).is_some_and(|(known, _)| key.is(known));
        self.indexes.find(self.hasher.hash_one(key.as_str()), is).copied()
    }

    /// Removes the index of a member that is still there; those after it move up.
    pub(super) fn remove<V>(&mut self, members: &[(Text, V)], index: usize) {
        let hash = self.hasher.hash_one(members[index].0.as_str());
        if let Ok(found) = self.indexes.find_entry(hash, |other| *other == index) {
            found.remove();
        }
        self.indexes.iter_mut().filter(|other| **other > index).for_each(|other| *other -= 1);
    }
}
