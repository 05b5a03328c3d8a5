//! The view of an object that policies saw.

use crate::value::{Pointer, Text, Value};

/// How the admitted view of an object differs from the object as written, as far as policies show it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewReport {
    /// Why policies saw the object as written, though the admitted view was wanted.
    pub not_admitted: Option<String>,
    /// The kind of the object, if its policies have no effect because the API server calls no webhooks for the kind.
    pub without_webhooks: Option<Text>,
    /// The rules that do something else in the admitted view.
    pub differences: Vec<ViewDifference>,
}

/// A rule that does something else in the admitted view than on the object as written.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewDifference {
    /// The policy.
    pub policy: Text,
    /// The rule.
    pub rule: Text,
    /// Whether the policy is its own only rule, as CEL policies are.
    pub is_policy: bool,
    /// A field that the rule reads.
    pub field: Pointer,
    /// The value that the API server sets; `None` where it removes the field.
    pub default: Option<Value>,
}
