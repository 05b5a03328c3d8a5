//! Evaluation of a syntax tree on a value.

use std::cmp::Ordering;

use crate::semantics::Divergence;
use crate::value::{Map, Text, Value};

use super::ast::{Argument, Call, Comparison, Node, Projection, ProjectionKind, Slice};
use super::error::{EvalError, SearchResult};
use super::functions::{CallArgument, Function, Invocation};
use super::lexer::Operator;
use super::runtime::Runtime;

static NULL: Value = Value::Null;

/// Evaluates nodes. The parser limits the depth of the recursion; each kind of node has a function of its own, so that
/// one level takes little stack.
#[derive(Clone, Copy)]
pub(super) struct Interpreter<'a> {
    pub(super) runtime: &'a Runtime<'a>,
}

/// Whether a value counts as true: all but null, false, and empty texts, lists and objects.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// The members of an object in the order of their keys.
pub(super) fn sorted(members: &Map) -> Vec<(&Text, &Value)> {
    let mut entries: Vec<_> = members.iter().collect();
    entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
    entries
}

impl Interpreter<'_> {
    pub(super) fn search(&self, node: &Node, on: &Value) -> SearchResult {
        self.runtime.spend(1)?;
        if self.runtime.tracks_reads { self.search_tracked(node, on) } else { self.evaluate(node, on) }
    }

    /// Evaluates a node, and notes a string that it finds. A function of its own keeps the usual path short.
    #[cold]
    fn search_tracked(&self, node: &Node, on: &Value) -> SearchResult {
        self.evaluate(node, on).inspect(|found| {
            if found.as_str().is_some() {
                self.runtime.note_read(found);
            }
        })
    }

    #[inline(always)]
    fn evaluate(&self, node: &Node, on: &Value) -> SearchResult {
        match node {
            Node::Current => Ok(on.clone()),
            Node::Literal(value) => Ok(value.clone()),
            Node::Field(_) | Node::Index(_) => step(node, on).cloned(),
            Node::Chain(parts) => self.chain(parts, on),
            Node::Pipe(stages) => self.pipe(stages, on),
            Node::Or(parts) => self.or(parts, on),
            Node::And(parts) => self.and(parts, on),
            Node::Not(operand) => self.not(operand, on),
            Node::Comparison(comparison) => self.comparison(comparison, on),
            Node::List(items) => self.list(items, on),
            Node::Hash(members) => self.hash(members, on),
            Node::Projection(projection) => self.projection(projection, on),
            Node::Call(call) => self.call(call, on),
        }
    }

    /// Evaluates a node; a missing key is null.
    fn search_or_null(&self, node: &Node, on: &Value) -> SearchResult {
        match self.search(node, on) {
            Err(error) if error.is_not_found() => Ok(Value::Null),
            other => other,
        }
    }

    fn chain(&self, parts: &[Node], on: &Value) -> SearchResult {
        // Leading keys and indexes are followed without clones.
        let plain = parts.iter().take_while(|part| matches!(part, Node::Field(_) | Node::Index(_))).count();
        let (plain, rest) = parts.split_at(plain);
        self.runtime.spend_for(plain.len())?;
        let start = plain.iter().try_fold(on, |value, part| step(part, value))?;
        let Some((first, rest)) = rest.split_first() else { return Ok(start.clone()) };
        let mut value = self.search(first, start)?;
        for part in rest {
            value = self.search(part, &value)?;
        }
        Ok(value)
    }

    fn pipe(&self, stages: &[Node], on: &Value) -> SearchResult {
        let Some((first, rest)) = stages.split_first() else { return Ok(on.clone()) };
        let mut value = self.search_or_null(first, on)?;
        for stage in rest {
            value = self.search_or_null(stage, &value)?;
        }
        Ok(value)
    }

    fn or(&self, parts: &[Node], on: &Value) -> SearchResult {
        let mut value = Value::Null;
        for part in parts {
            value = self.search_or_null(part, on)?;
            if is_true(&value) {
                break;
            }
        }
        Ok(value)
    }

    /// A missing key in the last part is an error.
    fn and(&self, parts: &[Node], on: &Value) -> SearchResult {
        let Some((last, before)) = parts.split_last() else { return Ok(Value::Null) };
        for part in before {
            let value = self.search_or_null(part, on)?;
            if !is_true(&value) {
                return Ok(value);
            }
        }
        self.search(last, on)
    }

    fn not(&self, operand: &Node, on: &Value) -> SearchResult {
        Ok(Value::Bool(!is_true(&self.search_or_null(operand, on)?)))
    }

    fn comparison(&self, comparison: &Comparison, on: &Value) -> SearchResult {
        let left = self.search_or_null(&comparison.left, on)?;
        let right = self.search_or_null(&comparison.right, on)?;
        self.runtime.note_read(&left);
        self.runtime.note_read(&right);
        let result = self.compare(comparison.operator, &left, &right)?;
        self.typed_comparison(comparison, result)
    }

    fn compare(&self, operator: Operator, left: &Value, right: &Value) -> SearchResult {
        if let Operator::Equal | Operator::NotEqual = operator {
            let equal = self.runtime.equal(left, right)?;
            return Ok(Value::Bool(equal == (operator == Operator::Equal)));
        }
        let (Value::Number(left), Value::Number(right)) = (left, right) else { return Ok(Value::Null) };
        self.runtime.note_number();
        if left.is_typed_integer() || right.is_typed_integer() {
            return Ok(Value::Null);
        }
        self.runtime.spend_for_digits(left, right)?;
        let order = left.cmp(right);
        Ok(Value::Bool(match operator {
            Operator::Less => order == Ordering::Less,
            Operator::LessOrEqual => order != Ordering::Greater,
            Operator::Greater => order == Ordering::Greater,
            _ => order != Ordering::Less,
        }))
    }

    /// The result of a comparison in Kyverno, where some functions have results of Go types that never equal a float or a
    /// list, and have no order; two of one type may be equal.
    fn typed_comparison(&self, comparison: &Comparison, documented: Value) -> SearchResult {
        type Test = fn(&Node) -> bool;
        let kinds: [(Test, _); 2] = [
            (Node::is_typed_integer, Divergence::CompareResult),
            (|node| node.calls("items"), Divergence::ItemsResult),
        ];
        for (has_type, divergence) in kinds {
            let sides = [&comparison.left, &comparison.right].map(has_type);
            let kyverno = match comparison.operator {
                Operator::Equal if sides[0] != sides[1] => Value::Bool(false),
                Operator::NotEqual if sides[0] != sides[1] => Value::Bool(true),
                Operator::Equal | Operator::NotEqual => continue,
                _ if sides[0] || sides[1] => Value::Null,
                _ => continue,
            };
            if kyverno != documented && !self.runtime.tracker.documented(divergence) {
                return Ok(kyverno);
            }
        }
        Ok(documented)
    }

    /// Null stays null.
    fn list(&self, items: &[Node], on: &Value) -> SearchResult {
        if on.is_null() {
            return Ok(Value::Null);
        }
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            list.push(self.search_or_null(item, on)?);
        }
        self.runtime.allow(Value::array(list))
    }

    fn hash(&self, members: &[(Text, Node)], on: &Value) -> SearchResult {
        if on.is_null() {
            return Ok(Value::Null);
        }
        let mut object = Map::default();
        for (key, member) in members {
            object.insert(key.clone(), self.search_or_null(member, on)?);
        }
        self.runtime.allow(Value::object(object))
    }

    fn projection(&self, projection: &Projection, on: &Value) -> SearchResult {
        match self.search(&projection.left, on) {
            Ok(left) => self.projected(projection, &left),
            Err(error) if projection.kind.hides(&error) => Ok(Value::Null),
            Err(error) => Err(error),
        }
    }

    fn projected(&self, projection: &Projection, left: &Value) -> SearchResult {
        let right = &projection.right;
        match (&projection.kind, left) {
            (ProjectionKind::Elements, Value::Array(items)) => {
                let all = matches!(right, Node::Current) && !items.iter().any(Value::is_null);
                if all { Ok(left.clone()) } else { self.on_each(right, items) }
            }
            (ProjectionKind::Slice(slice), Value::Array(items)) => {
                self.on_each(right, &sliced(slice, items)?)
            }
            (ProjectionKind::Flattened, Value::Array(items)) => self.on_each(right, &flattened(items)),
            (ProjectionKind::Filtered(condition), Value::Array(items)) => {
                self.on_matching(condition, right, items)
            }
            (ProjectionKind::Members, Value::Object(members)) => self.on_each(right, &values(members)),
            _ => Ok(Value::Null),
        }
    }

    /// Evaluates a node on each value; null and missing keys are omitted.
    fn on_each(&self, node: &Node, values: &[Value]) -> SearchResult {
        let mut results = Vec::new();
        for value in values {
            self.collect(node, value, &mut results)?;
        }
        self.collected(node, results)
    }

    fn on_matching(&self, condition: &Node, node: &Node, items: &[Value]) -> SearchResult {
        let mut results = Vec::new();
        for item in items {
            if is_true(&self.search_or_null(condition, item)?) {
                self.collect(node, item, &mut results)?;
            }
        }
        self.collected(node, results)
    }

    fn collect(&self, node: &Node, on: &Value, into: &mut Vec<Value>) -> Result<(), EvalError> {
        let found = self.search_or_null(node, on)?;
        if !found.is_null() {
            into.push(found);
        }
        Ok(())
    }

    /// The list of the results. Its size is checked unless all are parts of the input.
    fn collected(&self, node: &Node, results: Vec<Value>) -> SearchResult {
        let list = Value::array(results);
        match node {
            Node::Current | Node::Field(_) | Node::Index(_) => Ok(list),
            _ => self.runtime.allow(list),
        }
    }

    fn call(&self, call: &Call, on: &Value) -> SearchResult {
        let Some(function) = call.function else {
            let nearest = Function::nearest(&call.name);
            return Err(EvalError::UnknownFunction { name: call.name.clone(), nearest });
        };
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            arguments.push(match argument {
                Argument::Expression(node) => CallArgument::Expression(node),
                Argument::Value(node) => CallArgument::Value(self.search_or_null(node, on)?),
            });
        }
        let invocation = Invocation {
            function,
            arguments,
            prepared: call.regexp.as_ref(),
            runtime: self.runtime,
            evaluate: &|node, on| self.search_or_null(node, on),
        };
        let result = invocation.run(&call.arguments);
        if self.runtime.knows_secrets() && !call.arguments.iter().any(Argument::is_expression) {
            let arguments: Vec<_> = invocation.values().collect();
            self.runtime.note_call(function.name, &arguments, &result);
        }
        result
    }
}

/// Follows a key or an index.
fn step<'v>(node: &Node, on: &'v Value) -> Result<&'v Value, EvalError> {
    match (node, on) {
        (Node::Field(key), Value::Object(members)) => {
            members.get(key).ok_or_else(|| EvalError::NotFound { key: key.clone() })
        }
        (Node::Index(index), Value::Array(items)) => Ok(element(items, *index).unwrap_or(&NULL)),
        _ => Ok(&NULL),
    }
}

/// The element at an index, which counts from the end if it is negative.
fn element(items: &[Value], index: i64) -> Option<&Value> {
    let from_end = usize::try_from(index.unsigned_abs()).ok()?;
    let index = if index < 0 { items.len().checked_sub(from_end)? } else { from_end };
    items.get(index)
}

impl ProjectionKind {
    /// Whether an error on the left side makes the projection null.
    const fn hides(&self, error: &EvalError) -> bool {
        match self {
            Self::Elements | Self::Slice(_) => error.is_not_found(),
            Self::Flattened | Self::Filtered(_) | Self::Members => !error.is_limit(),
        }
    }
}

fn values(members: &Map) -> Vec<Value> {
    sorted(members).into_iter().map(|(_, value)| value.clone()).collect()
}

/// The elements; each list among them is replaced by its elements.
fn flattened(items: &[Value]) -> Vec<Value> {
    let mut flat = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Value::Array(inner) => flat.extend(inner.iter().cloned()),
            _ => flat.push(item.clone()),
        }
    }
    flat
}

/// The elements of a slice.
fn sliced(slice: &Slice, items: &[Value]) -> Result<Vec<Value>, EvalError> {
    let length = i128::try_from(items.len()).unwrap_or(i128::MAX);
    let step = i128::from(slice.step.unwrap_or(1));
    if step == 0 {
        return Err(EvalError::ZeroStep);
    }
    let (first, last) = if step < 0 { (length - 1, -1) } else { (0, length) };
    let bound = |index: i64| {
        let index = i128::from(index);
        let index = if index < 0 { index + length } else { index };
        index.clamp(if step < 0 { -1 } else { 0 }, if step < 0 { length - 1 } else { length })
    };
    let mut next = slice.start.map_or(first, bound);
    let stop = slice.stop.map_or(last, bound);
    let mut chosen = Vec::new();
    while if step < 0 { next > stop } else { next < stop } {
        chosen.extend(usize::try_from(next).ok().and_then(|index| items.get(index)).cloned());
        next += step;
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jmespath::testing::{DOCUMENT, check, check_divergence, search_with};
    use crate::jmespath::{Expression, FixedClock, SeededRandom};
    use crate::semantics::{DivergenceTracker, Semantics};

    #[test]
    fn missing_keys_are_errors_without_an_alternative() {
        check(&[
            ("a.b", r#""B""#),
            ("a.missing", r#"error: Unknown key "missing" in path"#),
            ("missing.x", r#"error: Unknown key "missing" in path"#),
            ("missing[0]", r#"error: Unknown key "missing" in path"#),
            ("missing.{x: y}", r#"error: Unknown key "missing" in path"#),
            (r#""missing key""#, r#"error: Unknown key "missing key" in path"#),
            ("a && missing", r#"error: Unknown key "missing" in path"#),
            ("a && missing.x", r#"error: Unknown key "missing" in path"#),
            ("missing && 'd'", "null"),
            ("a.b | missing", "null"),
            ("a | missing", "null"),
            ("missing | @", "null"),
            ("missing || 'd'", r#""d""#),
            ("missing.x || n", "7"),
            ("a.missing.deep || n", "7"),
            ("!missing", "true"),
            ("missing == `null`", "true"),
            ("missing != 'x'", "true"),
            ("missing > `5`", "null"),
            ("nul == missing", "true"),
            ("n > `5` || missing.x == 'q'", "true"),
            ("missing[*].x", "null"),
            ("missing[].x", "null"),
            ("missing[?x]", "null"),
            ("missing[0:1]", "null"),
            ("missing.*", "null"),
            ("list[*].missing", "[]"),
            ("list[?missing.x == 'a']", "[]"),
            ("length(list[?missing])", "0"),
            ("[missing, a.b]", r#"[null,"B"]"#),
            ("{x: missing, y: a.b}", r#"{"x":null,"y":"B"}"#),
            ("a.{x: missing}", r#"{"x":null}"#),
            ("list[*].[x,y]", r#"[[1,"p"],[2,null],[null,null]]"#),
            ("list[*].{a: x}", r#"[{"a":1},{"a":2},{"a":null}]"#),
            ("nul.foo", "null"),
            ("str.foo", "null"),
            ("list.foo", "null"),
            ("nul[0]", "null"),
            ("list[10]", "null"),
            ("list[10].x", "null"),
            ("str[0]", "null"),
            ("obj[0]", "null"),
            ("obj[*]", "null"),
            ("obj[]", "null"),
            ("obj[?k1]", "null"),
            ("str[0:1]", "null"),
            ("[0]", "null"),
            ("[]", "null"),
            (
                "length(missing)",
                r#"error: Invalid type for: <nil>, expected: []jmespath.JpType{"string", "array", "object"}"#,
            ),
            ("not_null(missing.x, n)", "7"),
            ("to_string(missing)", r#""null""#),
            ("type(missing)", r#""null""#),
            ("map(&missing, list)", "[null,null,null]"),
            ("map(&x, list)", "[1,2,null]"),
            ("missing.x[*]", r#"error: Unknown key "missing" in path"#),
            ("a.missing[*].x", "null"),
            ("missing.x[]", "null"),
            ("a.missing[0]", r#"error: Unknown key "missing" in path"#),
        ]);
    }

    #[test]
    fn three_projections_hide_other_errors() {
        check(&[
            ("abs(s)[]", "null"),
            ("abs(s)[?x]", "null"),
            ("abs(s).*", "null"),
            ("abs(s)[*]", "error: Invalid type for: string"),
            ("abs(s)[0:1]", "error: Invalid type"),
            ("abs(s) || 'x'", "error: Invalid type"),
            ("abs(s) | 'x'", "error: Invalid type"),
            ("!abs(s)", "error: Invalid type"),
            ("[abs(s)]", "error: Invalid type"),
            ("list[?abs(y)]", "error: Invalid type for: string"),
            ("list[*].abs(y)", "error: Invalid type for: string"),
            ("length(abs(s))", "error: Invalid type for: string, expected: []jmespath.JpType{\"number\"}"),
            ("abs(nul)", "error: Invalid type for: <nil>, expected: []jmespath.JpType{\"number\"}"),
            ("abs(`true`)", "error: Invalid type for: true"),
            ("abs(n, n)", "error: incorrect number of args"),
            ("abs()", "error: incorrect number of args"),
            ("merge()", "error: Invalid arity."),
            ("foo(a)", "error: unknown function: foo"),
            ("to_uper(s)", "error: unknown function: to_uper, did you mean to_upper?"),
            ("trim_suffix(s, 'r')", "error: unknown function: trim_suffix"),
            ("length(&a)", "error: Invalid type for: expref"),
        ]);
    }

    #[test]
    fn values_are_compared_selected_and_projected() {
        check(&[
            ("s > 'a'", "null"),
            ("'a' < 'b'", "null"),
            ("`true` < `false`", "null"),
            ("`1` <= `1`", "true"),
            ("`1` == '1'", "false"),
            (r#"`{"a":1}` == `{"a":1.0}`"#, "true"),
            ("`[1,2]` == `[2,1]`", "false"),
            ("n == `7` == `true`", "true"),
            (" !n == `7`", "false"),
            ("!e", "true"),
            ("!`0`", "false"),
            ("e || 'x'", r#""x""#),
            ("eo || 'x'", r#""x""#),
            (r#"`""` || 'x'"#, r#""x""#),
            ("`0` || 'x'", "0"),
            ("`false` || `null`", "null"),
            ("e && 'x'", "[]"),
            ("`0` && 'x'", r#""x""#),
            ("!!n", "true"),
            ("list[*].x", "[1,2]"),
            ("list[].x", "[1,2]"),
            ("list[?x == `1`]", r#"[{"x":1,"y":"p"}]"#),
            ("list[?!y].x", "[2]"),
            ("list[?x > `1` || z].z", "[3]"),
            ("list[?contains(@.y || '', 'p')]", r#"[{"x":1,"y":"p"}]"#),
            ("list[1:]", r#"[{"x":2},{"z":3}]"#),
            ("list[-1]", r#"{"z":3}"#),
            ("list[::0]", "error: Invalid slice, step cannot be 0"),
            ("nums[-2:]", "[1,2]"),
            ("nums[::2]", "[3,2]"),
            ("nums[5:1]", "[]"),
            ("nums[2::-1]", "[2,1,3]"),
            ("nested[]", "[1,2,3,[4]]"),
            ("nested[][]", "[1,2,3,4]"),
            ("nested[*][0]", "[1,3]"),
            ("nested[-1][-1][0]", "4"),
            ("`[1,[2,[3]]]`[]", "[1,2,[3]]"),
            ("`[[1],[2]]`[][0]", "[]"),
            ("`[[1],[2]]`[*][0]", "[1,2]"),
            ("list[*].x | [0]", "1"),
            ("list[*].x[0]", "[]"),
            ("(list[*].x)[0]", "1"),
            ("a.*", r#"["B",{"d":1}]"#),
            ("a.*.d", "[1]"),
            ("eo.*", "[]"),
            ("*.b", r#"["B"]"#),
            (r#"'it\'s'"#, r#""it's""#),
            ("(n)", "7"),
            ("@.n", "7"),
            ("abs(`-1`,)", "1"),
            (r"'a\nb'", r#""a\\nb""#),
            (r#""a\u0062" || 'no'"#, r#""no""#),
            ("list[::-1]", r#"[{"z":3},{"x":2},{"x":1,"y":"p"}]"#),
            ("*.*", r#"[["B",{"d":1}],[],[1,2]]"#),
            ("@.*.*.*", "[[[1]],[],[]]"),
            ("nums[::-2]", "[2,3]"),
            ("nums[9223372036854775807:]", "[]"),
            ("nums[-9223372036854775808:]", "[3,1,2]"),
            ("nums[::9223372036854775807]", "[3]"),
            ("nums[::-9223372036854775808]", "[2]"),
            ("nums[-4]", "null"),
            ("{a: n, a: str}", r#"{"a":"abc"}"#),
            ("list.*", "null"),
            ("obj.*.to_string(@)", r#"["1","2"]"#),
            ("nul.[a, b]", "null"),
            ("nul.{a: b}", "null"),
            ("missing | {a: 'x'}", "null"),
            ("`[null,1]`[*]", "[1]"),
            ("`[[null,1]]`[]", "[1]"),
            ("`9007199254740993` == `9007199254740992`", "false"),
        ]);
    }

    #[test]
    fn a_result_shares_the_storage_of_its_input() {
        let document = Value::from_json(r#"{"a":{"b":[1,2]}}"#).unwrap();
        let tracker = DivergenceTracker::default();
        let random = SeededRandom::new(0);
        let runtime = Runtime::new(&FixedClock::EPOCH, &random, &tracker);
        for text in ["a.b", "a.b[*]", "a.b || a", "a | b", "[a.b][0]"] {
            let expression = Expression::parse(text).unwrap();
            let found = expression.search(&document, &runtime).unwrap();
            assert!(found.same_storage(document.path(&["a", "b"]).unwrap()), "{text}");
        }
    }

    #[test]
    fn results_of_compare_and_items_differ_in_the_controllers() {
        check_divergence(
            Divergence::CompareResult,
            &[
                ("compare('a','b') == `-1`", "true", "false"),
                ("compare('a','b') != `-1`", "false", "true"),
                ("compare('a','b') < `0`", "true", "null"),
                ("compare('a','b') < compare('a','c')", "false", "null"),
                ("type(compare('a','b'))", r#""number""#, "error: unknown type"),
                (
                    "abs(compare('a','b'))",
                    "1",
                    r#"error: Invalid type for: -1, expected: []jmespath.JpType{"number"}"#,
                ),
            ],
        );
        check_divergence(
            Divergence::ItemsResult,
            &[
                ("type(items(obj,'k','v'))", r#""array""#, "error: unknown type"),
                ("to_array(items(`{\"a\":1}`,'k','v'))", r#"[{"k":"a","v":1}]"#, r#"[[{"k":"a","v":1}]]"#),
                ("items(`{\"a\":1}`,'k','v') == `[{\"k\":\"a\",\"v\":1}]`", "true", "false"),
                ("map(&k, items(obj,'k','v'))", r#"["k1","k2"]"#, "error: argument #2 is not of type Array"),
            ],
        );
        for text in ["compare('a','b') == `1`", "to_string(compare('a','b'))", "items(obj,'k','v')[0]"] {
            let (_, reached) = search_with(DOCUMENT, text, Semantics::Kyverno);
            assert!(reached.is_empty(), "{text}");
        }
    }
}
