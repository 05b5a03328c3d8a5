//! Questions about the elements of lists, as short as they can be asked.

use super::{Cel, Operator};

impl Cel {
    /// `self.exists(variable, test)`, or `all`. A question about a field of all elements is one about the elements:
    /// `list.exists(e, e.field == "x")`. Only for a list that does not fail.
    pub(in crate::convert) fn quantified(self, method: &'static str, variable: &str, test: Self) -> Self {
        if let Self::Call { of: Some(elements), name: "map", arguments } = &self
            && let [Self::Atom(element), conditions @ .., field] = arguments.as_slice()
            && (method == "exists" || conditions.is_empty())
            && field.is_field_of(element)
            && !test.is_free(element)
        {
            let mut tests = conditions.to_vec();
            tests.push(test.replaced(&Self::atom(variable), field));
            return (**elements).clone().call(method, [Self::atom(&**element), Self::all(tests)]);
        }
        self.call(method, [Self::atom(variable), test])
    }

    /// Whether it is a field of a variable, or below one.
    fn is_field_of(&self, variable: &str) -> bool {
        match self {
            Self::Member { of, optional: false, .. } => {
                matches!(&**of, Self::Atom(name) if name == variable) || of.is_field_of(variable)
            }
            _ => false,
        }
    }

    /// `list.exists(e, …)` in place of a comparison of `list.filter(e, …).size()`.
    pub(super) fn as_exists(&self, operator: Operator, other: &Self) -> Option<Self> {
        let Self::Call { of: Some(filtered), name: "size", .. } = self else { return None };
        let Self::Call { of: Some(list), name: "filter", arguments } = &**filtered else { return None };
        let (Self::Atom(number), [_, condition]) = (other, arguments.as_slice()) else { return None };
        let is_some = match (operator, &**number) {
            (Operator::GreaterOrEqual, "1") | (Operator::Greater | Operator::NotEqual, "0") => true,
            (Operator::Less, "1") | (Operator::Equal | Operator::LessOrEqual, "0") => false,
            _ => return None,
        };
        // It would not be asked of all elements.
        let exists = condition.never_fails().then(|| (**list).clone().call("exists", arguments.clone()))?;
        Some(if is_some { exists } else { exists.negated() })
    }

    /// Whether it tests for fields of a variable that holds a map, or for members of one.
    fn never_fails(&self) -> bool {
        match self {
            Self::Not(test) => test.never_fails(),
            Self::Chain { operator: Operator::And | Operator::Or, operands } => {
                operands.iter().all(Self::never_fails)
            }
            // `e.?map.orValue({}).size() > 0`
            Self::Chain { operands, .. } => matches!(operands.as_slice(),
                [Self::Call { of: Some(map), name: "size", .. }, Self::Atom(_)] if map.is_optional_map()),
            test => test.tested_path().is_some_and(|path| path.is_optional_from_start()),
        }
    }

    fn is_optional_map(&self) -> bool {
        matches!(self, Self::Call { of: Some(path), name: "orValue", arguments }
            if path.is_optional_from_start() && arguments.as_slice() == [Self::Map(Vec::new())])
    }

    /// Whether its first step may be missing.
    fn is_optional_from_start(&self) -> bool {
        match self {
            Self::Member { of, optional, .. } | Self::Index { of, optional, .. } => match &**of {
                Self::Atom(_) => *optional,
                inner => inner.is_optional_from_start(),
            },
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(conditions: &[Cel]) -> Cel {
        let image = || Cel::atom("c").member("image");
        let arguments: Vec<Cel> =
            [Cel::atom("c")].into_iter().chain(conditions.iter().cloned()).chain([image()]).collect();
        Cel::atom("list").call("map", arguments)
    }

    #[test]
    fn a_question_about_a_field_is_one_about_the_elements() {
        let test = Cel::atom("e").equals(Cel::text("x"));
        let found = images(&[]).quantified("all", "e", test.clone());
        assert_eq!(found.to_string(), "list.all(c, c.image == \"x\")");
        let has = Cel::function("has", [Cel::atom("c").member("image")]);
        let found = images(std::slice::from_ref(&has)).quantified("exists", "e", test.clone());
        assert_eq!(found.to_string(), "list.exists(c, c.?image.orValue(\"\") == \"x\")");
        let found = images(&[has]).quantified("all", "e", test);
        assert_eq!(found.to_string(), "list.map(c, has(c.image), c.image).all(e, e == \"x\")");
    }

    #[test]
    fn a_count_of_some_is_a_question() {
        let count = |test: Cel| Cel::atom("list").call("filter", [Cel::atom("v"), test]).call("size", []);
        let has = Cel::function("has", [Cel::atom("v").member("a")]);
        let some = count(has.clone()).compare(Operator::GreaterOrEqual, Cel::int(1));
        assert_eq!(some.to_string(), "list.exists(v, has(v.a))");
        assert_eq!(count(has).equals(Cel::int(0)).to_string(), "!list.exists(v, has(v.a))");
        let may_fail = Cel::function("has", [Cel::atom("v").member("a").member("b")]);
        let counted = count(may_fail).compare(Operator::Greater, Cel::int(0));
        assert_eq!(counted.to_string(), "list.filter(v, has(v.a.b)).size() > 0");
    }
}
