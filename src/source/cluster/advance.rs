//! Lists that never end.

use std::collections::HashSet;

use crate::resources::ApiResource;
use crate::value::Text;

use super::{ClusterError, ClusterResult, Page};

/// The most pages in a row without an object. A server may send a few of a list with a selector.
const MAX_EMPTY_PAGES: u32 = 1000;

/// How far a list has been read.
#[derive(Debug, Default)]
pub(super) struct Advance {
    /// The continue tokens so far.
    tokens: HashSet<Text>,
    empty_pages: u32,
}

impl Advance {
    /// Adds a page.
    ///
    /// # Errors
    ///
    /// The list would never end.
    pub(super) fn add<O>(&mut self, resource: &ApiResource, page: &Page<O>) -> ClusterResult<()> {
        self.empty_pages = if page.objects.is_empty() { self.empty_pages + 1 } else { 0 };
        let is_known = page.next.as_ref().is_some_and(|next| !self.tokens.insert(next.clone()));
        let cause = if is_known {
            "it names the same page again and again".to_owned()
        } else if self.empty_pages > MAX_EMPTY_PAGES {
            format!("more than {MAX_EMPTY_PAGES} pages in a row have no objects")
        } else {
            return Ok(());
        };
        Err(ClusterError::Malformed { asked: resource.full_name(), cause })
    }
}
