//! Strategic merge as Kyverno's controllers do it, defects included.
//!
//! Kyverno works on one copy of the overlay for all elements of a list, removes what is done with from
//! lists while it walks them, and knows elements by the text of their keys alone. What that leads to is
//! followed here step by step; where it crashes, there is an error.

mod lists;
mod plan;
#[cfg(test)]
mod tests;

pub(super) use lists::normalised;
pub(super) use plan::Observer;
