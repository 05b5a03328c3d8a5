//! What both environments refuse in literals beyond the rules of types.

use super::Checker;
use crate::cel::ast::{Expr, Kind};
use crate::cel::functions::format;
use crate::cel::types::Type;

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
    pub(super) fn validate_format(&mut self, args: &[&Expr]) {
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
        for (clause, (at, t)) in clauses.iter().zip(std::mem::take(&mut self.elements)) {
            let t = self.unifier.resolved(&t, true);
            if !clause.accepts(&t) {
                self.report(at, format!("error during formatting: %{} cannot format {t}", clause.letter()));
            }
        }
    }
}
