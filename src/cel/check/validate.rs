//! What both environments refuse in literals beyond the rules of types.

use super::super::ast::{Expr, Kind};
use super::super::functions::format;
use super::super::types::Type;
use super::Checker;

impl Checker<'_> {
    /// Remembers the types of a literal's elements, which must be equal once all types are known.
    pub(super) fn homogeneous_later(&mut self, types: Vec<(usize, Type)>) {
        if types.len() > 1 && !self.in_format {
            self.homogeneous.push(types);
        }
    }

    pub(super) fn check_homogeneous(&mut self) {
        for types in std::mem::take(&mut self.homogeneous) {
            let mut types = types.into_iter();
            let Some((_, first)) = types.next() else { continue };
            let first = self.unifier.resolved(&first, true);
            for (at, t) in types {
                let found = self.unifier.resolved(&t, true);
                if found != first {
                    self.report(at, format!("expected type '{first}' but found '{found}'"));
                    break;
                }
            }
        }
    }

    /// A literal format string and a literal list must fit.
    pub(super) fn validate_format(&mut self, args: &[&Expr], _types: &[Type]) {
        let [template, list] = args else { return };
        let (Kind::String(text), Kind::List(elements)) = (&template.kind, &list.kind) else { return };
        let clauses = match format::clauses(text) {
            Ok(clauses) => clauses,
            Err(error) => {
                let at = template.at;
                return self.report(at, error.to_string());
            }
        };
        if clauses.len() > elements.len() {
            let at = template.at;
            return self.report(at, format!("index {} out of range", elements.len()));
        }
        if clauses.len() < elements.len() {
            let at = template.at;
            return self.report(
                at,
                format!(
                    "too many arguments supplied to string.format (expected {}, got {})",
                    clauses.len(),
                    elements.len()
                ),
            );
        }
        for (clause, element) in clauses.iter().zip(elements) {
            let literal = match &element.value.kind {
                Kind::String(_) => Type::String,
                Kind::Int(_) => Type::Int,
                Kind::Uint(_) => Type::Uint,
                Kind::Double(_) => Type::Double,
                Kind::Bool(_) => Type::Bool,
                Kind::Bytes(_) => Type::Bytes,
                Kind::Null => Type::Null,
                Kind::List(_) => Type::list(Type::Dyn),
                Kind::Map(_) => Type::map(Type::Dyn, Type::Dyn),
                _ => continue,
            };
            if !clause.accepts(&literal) {
                let at = element.value.at;
                self.report(
                    at,
                    format!("error during formatting: %{} cannot format {literal}", clause.letter()),
                );
            }
        }
    }
}
