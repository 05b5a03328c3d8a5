//! Limits of a stream.

use std::fmt;

/// Limits of a stream; the error for exceeding one names it.
///
/// The defaults let a listing of a hundred thousand objects and a scalar of 100 MB through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum nesting depth, aliases included.
    pub depth: usize,
    /// The maximum number of documents.
    pub documents: usize,
    /// The maximum number of bytes.
    pub bytes: usize,
    /// The number of nodes from aliases in a document above which their share is limited.
    ///
    /// Up to here 99 % of a document's nodes may come from aliases; the share falls to 10 % for documents
    /// of ten times this size. These are the bounds of the YAML library of Kubernetes.
    pub alias_nodes: usize,
}

/// The name of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::depth`].
    Depth,
    /// [`Limits::documents`].
    Documents,
    /// [`Limits::bytes`].
    Bytes,
    /// [`Limits::alias_nodes`].
    AliasNodes,
}

impl Limit {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Depth, Self::Documents, Self::Bytes, Self::AliasNodes];

    /// The name that `--limit NAME=N` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Depth => "yaml-depth",
            Self::Documents => "yaml-documents",
            Self::Bytes => "yaml-bytes",
            Self::AliasNodes => "yaml-alias-nodes",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Limits {
    /// Limits for text that was read before: only of the depth.
    pub const fn unbounded() -> Self {
        Self { depth: Self::MAX_DEPTH, documents: usize::MAX, bytes: usize::MAX, alias_nodes: usize::MAX }
    }

    /// The maximum of [`Limits::depth`]: everything that walks a value
    /// relies on a stack.
    pub const MAX_DEPTH: usize = 1000;

    /// A limit.
    pub const fn get(&self, limit: Limit) -> usize {
        match limit {
            Limit::Depth => self.depth,
            Limit::Documents => self.documents,
            Limit::Bytes => self.bytes,
            Limit::AliasNodes => self.alias_nodes,
        }
    }

    /// Sets the limit of this name; `false` for a name that is no limit.
    pub fn set(&mut self, name: &str, value: usize) -> bool {
        match Limit::ALL.into_iter().find(|limit| limit.name() == name) {
            Some(Limit::Depth) => self.depth = value,
            Some(Limit::Documents) => self.documents = value,
            Some(Limit::Bytes) => self.bytes = value,
            Some(Limit::AliasNodes) => self.alias_nodes = value,
            None => return false,
        }
        true
    }

    /// The effective depth limit.
    pub(super) fn bounded_depth(&self) -> usize {
        self.depth.min(Self::MAX_DEPTH)
    }

    /// Whether this number of nodes may come from aliases.
    pub(super) fn allows_aliases(&self, aliased: usize, total: usize) -> bool {
        if aliased <= 100 || total <= 1000 {
            return true;
        }
        #[expect(clippy::cast_precision_loss, reason = "a share is wanted, not an exact count")]
        let [aliased, total, low] = [aliased as f64, total as f64, self.alias_nodes.max(1) as f64];
        let over = (total - low) / (9.0 * low);
        aliased / total <= if over < 1.0 { 0.99 - 0.89 * over.max(0.0) } else { 0.1 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 256, documents: 1_000_000, bytes: 1 << 30, alias_nodes: 400_000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_can_be_set_by_its_name() {
        let mut limits = Limits::default();
        for limit in Limit::ALL {
            assert!(limits.set(limit.name(), 7), "{limit}");
        }
        assert_eq!(limits, Limits { depth: 7, documents: 7, bytes: 7, alias_nodes: 7 });
        assert!(!limits.set("depth", 7));
    }

    #[test]
    fn the_share_of_aliases_falls_with_size() {
        let limits = Limits::default();
        assert!(limits.allows_aliases(100, 101));
        assert!(limits.allows_aliases(990, 1000));
        assert!(limits.allows_aliases(9_900, 10_000));
        assert!(!limits.allows_aliases(9_910, 10_000));
        assert!(limits.allows_aliases(400_000, 4_000_000));
        assert!(!limits.allows_aliases(500_000, 4_000_000));
    }
}
