//! The functions: signatures and implementations.

mod arithmetic;
mod call;
mod collection;
mod encoding;
mod number;
mod object;
mod order;
mod regex;
mod signature;
mod string;
mod time;
mod version;

use crate::jmespath::error::SearchResult;
use crate::pattern::nearest;

pub(super) use call::{CallArgument, Invocation};
pub use signature::Signature;
use signature::Type;

/// A function of the language.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    /// The types that each parameter accepts.
    parameters: &'static [&'static [Type]],
    /// Whether the last parameter may be repeated.
    repeats: bool,
    /// The type of the result.
    result: &'static str,
    description: &'static str,
    /// Whether it is one of Kyverno's own, which name themselves in errors.
    is_own: bool,
    /// The implementation, for arguments of these types.
    run: fn(&Invocation<'_>) -> SearchResult,
}

impl Function {
    /// A function of standard JMESPath.
    const fn standard(
        name: &'static str,
        parameters: &'static [&'static [Type]],
        result: &'static str,
        run: fn(&Invocation<'_>) -> SearchResult,
    ) -> Self {
        Self { name, parameters, repeats: false, result, description: "", is_own: false, run }
    }

    /// A function that only Kyverno has.
    const fn own(
        name: &'static str,
        parameters: &'static [&'static [Type]],
        result: &'static str,
        run: fn(&Invocation<'_>) -> SearchResult,
    ) -> Self {
        Self { is_own: true, ..Self::standard(name, parameters, result, run) }
    }

    const fn describe(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    /// The same with the last parameter repeated.
    const fn repeating(self) -> Self {
        Self { repeats: true, ..self }
    }

    /// The types that the argument at an index may have.
    fn types(&self, index: usize) -> &'static [Type] {
        self.parameters.get(index).or(self.parameters.last()).copied().unwrap_or_default()
    }

    /// Whether the result may be a text, or `null`.
    pub(super) fn may_be_text(&self) -> bool {
        // What is no number is `null`.
        self.name == "to_number" || !matches!(self.result, "number" | "boolean" | "array" | "object")
    }

    pub(super) fn named(name: &str) -> Option<&'static Self> {
        all().find(|function| function.name == name)
    }

    /// The name most similar to a name that no function has; `None` if none is similar.
    pub(super) fn nearest(name: &str) -> Option<&'static str> {
        nearest(name, all().map(|function| function.name))
    }
}

const TABLES: &[&[Function]] = &[
    arithmetic::FUNCTIONS,
    collection::FUNCTIONS,
    encoding::FUNCTIONS,
    number::FUNCTIONS,
    object::FUNCTIONS,
    order::FUNCTIONS,
    regex::FUNCTIONS,
    string::FUNCTIONS,
    time::FUNCTIONS,
    version::FUNCTIONS,
];

fn all() -> impl Iterator<Item = &'static Function> {
    TABLES.iter().copied().flatten()
}

/// All functions, sorted by name.
pub fn functions() -> impl Iterator<Item = Signature> {
    let mut list: Vec<_> = all().map(Signature::of).collect();
    list.sort_by_key(|signature| signature.name);
    list.into_iter()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Kyverno's own functions with their parameters, in any order.
    const OWN: &[&str] = &[
        "compare(string, string)",
        "equal_fold(string, string)",
        "replace(string, string, string, number)",
        "replace_all(string, string, string)",
        "to_upper(string)",
        "to_lower(string)",
        "trim(string, string)",
        "trim_prefix(string, string)",
        "split(string, string)",
        "regex_replace_all(string, string|number, string|number)",
        "regex_replace_all_literal(string, string|number, string|number)",
        "regex_match(string, string|number)",
        "pattern_match(string, string|number)",
        "label_match(object, object)",
        "to_boolean(string)",
        "add(any, any)",
        "sum(array)",
        "subtract(any, any)",
        "multiply(any, any)",
        "divide(any, any)",
        "modulo(any, any)",
        "round(number, number)",
        "base64_decode(string)",
        "base64_encode(string)",
        "time_since(string, string, string)",
        "time_now()",
        "time_now_utc()",
        "path_canonicalize(string)",
        "truncate(string, number)",
        "semver_compare(string, string)",
        "parse_json(string)",
        "parse_yaml(string)",
        "lookup(object|array, string|number)",
        "items(object|array, string, string)",
        "object_from_lists(array, array)",
        "random(string)",
        "x509_decode(string)",
        "time_to_cron(string)",
        "time_add(string, string)",
        "time_parse(string, string)",
        "time_utc(string)",
        "time_diff(string, string)",
        "time_before(string, string)",
        "time_after(string, string)",
        "time_between(string, string, string)",
        "time_truncate(string, string)",
        "image_normalize(string)",
        "is_external_url(string)",
        "sha256(string)",
        "sha1(string)",
        "md5(string)",
    ];

    const STANDARD: &[&str] = &[
        "abs(number)",
        "avg(array[number])",
        "ceil(number)",
        "contains(array|string, any)",
        "ends_with(string, string)",
        "floor(number)",
        "join(string, array[string])",
        "keys(object)",
        "length(string|array|object)",
        "map(expref, array)",
        "max(array[number]|array[string])",
        "max_by(array, expref)",
        "merge(object…)",
        "min(array[number]|array[string])",
        "min_by(array, expref)",
        "not_null(any…)",
        "reverse(array|string)",
        "sort(array[string]|array[number])",
        "sort_by(array, expref)",
        "starts_with(string, string)",
        "to_array(any)",
        "to_number(any)",
        "to_string(any)",
        "type(any)",
        "values(object)",
    ];

    #[test]
    fn the_functions_are_those_of_the_language_and_no_others() {
        let heads = |is_own| -> BTreeSet<String> {
            let functions = all().filter(move |function| function.is_own == is_own);
            let head = |function| {
                let signature = Signature::of(function);
                signature.to_string().trim_end_matches(signature.result).trim_end().to_owned()
            };
            functions.map(head).collect()
        };
        for (is_own, expected) in [(true, OWN), (false, STANDARD)] {
            let expected = expected.iter().map(|&head| head.to_owned()).collect();
            let found = heads(is_own);
            assert!(
                found == expected,
                "not in the list: {:?}, no function: {:?}",
                found.difference(&expected),
                expected.difference(&found)
            );
        }
    }

    #[test]
    fn a_similar_name_is_suggested() {
        for (name, nearest) in [
            ("to_uper", Some("to_upper")),
            ("lenght", Some("length")),
            ("regex_matches", Some("regex_match")),
            ("group_by", None),
            ("x", None),
        ] {
            assert_eq!(Function::nearest(name), nearest, "{name}");
        }
    }

    #[test]
    fn signatures_are_listed_by_name_with_a_description() {
        let list: Vec<_> = functions().collect();
        assert_eq!(list.len(), OWN.len() + STANDARD.len());
        assert!(list.is_sorted_by_key(|signature| signature.name));
        assert!(list.iter().all(|signature| !signature.description.is_empty()));
        assert_eq!(list[0].to_string(), "abs(number) number");
    }
}
