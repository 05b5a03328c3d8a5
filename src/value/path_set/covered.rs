//! What is in a set: all of another one, anything beside some members, anything beside nodes alone.

use super::{Map, Node, PathSet, Text};

impl PathSet {
    /// The nodes that are in the set alone; `None` if there are none.
    pub fn nodes(&self) -> Option<Self> {
        let root = self.root.as_ref().filter(|root| root.has_node())?;
        Some(Self { root: root.nodes() })
    }

    /// The same without nodes alone: a list whose length is in the set is there as a whole.
    pub fn with_whole_lists(&self) -> Self {
        Self { root: self.root.as_ref().map(Node::with_whole_lists) }
    }

    /// Whether a path is at or below none of these members of the root.
    pub fn reaches_outside(&self, members: &[&str]) -> bool {
        self.root.as_ref().is_some_and(|root| {
            let is_outside = |(key, _): (&Text, &Node)| !members.contains(&key.as_str());
            root.members.is_none() || root.elements.is_some() || root.members().any(is_outside)
        })
    }

    /// Whether everything in another set is in this one, nodes alone aside.
    pub fn covers(&self, other: &Self) -> bool {
        match (&self.root, &other.root) {
            (_, None) => true,
            (None, Some(other)) => !other.has_whole(),
            (Some(one), Some(other)) => one.covers(other),
        }
    }
}

impl Node {
    fn has_node(&self) -> bool {
        self.is_itself
            || self.members().any(|(_, below)| below.has_node())
            || self.elements.as_ref().is_some_and(|below| below.has_node())
    }

    fn nodes(&self) -> Option<Self> {
        let nodes = |(key, below): (&Text, &Self)| below.nodes().map(|nodes| (key.clone(), nodes));
        let members: Map<Self> = self.members().filter_map(nodes).collect();
        let members = (!members.is_empty()).then(|| Box::new(members));
        let elements = self.elements.as_ref().and_then(|below| below.nodes()).map(Box::new);
        let has_nodes = self.is_itself || members.is_some() || elements.is_some();
        let Self { is_itself, may_be_members, .. } = *self;
        has_nodes.then_some(Self { is_itself, may_be_members, members, elements, ..Self::default() })
    }

    fn with_whole_lists(&self) -> Self {
        if self.is_whole || self.is_counted() {
            return Self { is_whole: true, ..Self::default() };
        }
        let with_whole_lists = |members: &Map<Self>| {
            Box::new(members.iter().map(|(key, below)| (key.clone(), below.with_whole_lists())).collect())
        };
        Self {
            members: self.members.as_deref().map(with_whole_lists),
            elements: self.elements.as_ref().map(|below| Box::new(below.with_whole_lists())),
            ..Self::default()
        }
    }

    fn covers(&self, other: &Self) -> bool {
        let below = |own: Option<&Self>, other: &Self| match own {
            Some(own) => own.covers(other),
            None => !other.has_whole(),
        };
        self.is_whole
            || !other.is_whole
                && other.members().all(|(key, other)| below(self.get(key), other))
                && other.elements.iter().all(|other| below(self.elements.as_deref(), other))
    }

    fn has_whole(&self) -> bool {
        self.is_whole
            || self.members().any(|(_, below)| below.has_whole())
            || self.elements.as_ref().is_some_and(|below| below.has_whole())
    }
}
