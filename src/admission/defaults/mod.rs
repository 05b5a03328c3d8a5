//! The defaults of Go types that depend on other fields.

use crate::value::Value;

/// What `SetDefaults_*` of a Go type does to its JSON. Types are named as in the table of types: `core/v1.PodSpec`,
/// `apps/v1.Deployment`, `core/v1.ResourceList`; embedded structs have their own name: `admissionregistration/v1.Rule`.
///
/// Fields without a value are missing, and structs that JSON always has are there. Defaults that do not depend on other
/// fields are in the table, and are set after this function; defaults of fields follow, also of structs that it made.
pub(super) fn of_type(go_type: &str) -> Option<fn(&mut Value)> {
    let _ = go_type;
    None
}
