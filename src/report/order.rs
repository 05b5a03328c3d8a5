//! What depends on the order of policies.

use crate::value::{Pointer, Text, Value};

/// Policies that do something else with an object in another order. A cluster runs policies in no fixed order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OrderDependence {
    /// The policies, in the order of the run: two that alone show it, or all that may conflict if no two do.
    pub policies: Vec<Text>,
    /// The fields of the object that differ. Neither a field nor a failing policy is known where so many policies conflict
    /// that no other order of them all was evaluated.
    pub fields: Vec<Pointer>,
    /// The policies that fail in one of the orders only.
    pub failing: Vec<Text>,
    /// The object after both orders, if another one was evaluated and the settings keep them.
    pub results: Option<Box<[Value; 2]>>,
}
