//! Expressions made up by a grammar, most of them well typed.

use kyv::cel::{Dialect, signatures};

/// A reproducible source of choices.
struct Random(u64);

impl Random {
    /// A number below a bound.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }
}

/// The expression of a seed.
pub(super) fn expression(dialect: Dialect, seed: u64) -> String {
    let mut generator = Generator {
        random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995),
        dialect,
        locals: Vec::new(),
    };
    let wanted = generator.any_type();
    generator.of(wanted, 3)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    Ints,
    Strings,
    Map,
    Optional,
    Dyn,
    Message,
    Quantity,
}

const ALL: [Wanted; 15] = [
    Wanted::Bool,
    Wanted::Int,
    Wanted::Uint,
    Wanted::Double,
    Wanted::String,
    Wanted::Bytes,
    Wanted::Duration,
    Wanted::Timestamp,
    Wanted::Ints,
    Wanted::Strings,
    Wanted::Map,
    Wanted::Optional,
    Wanted::Dyn,
    Wanted::Message,
    Wanted::Quantity,
];

struct Generator {
    random: Random,
    dialect: Dialect,
    /// The variables of macros, with their types.
    locals: Vec<(String, Wanted)>,
}

impl Generator {
    fn any_type(&mut self) -> Wanted {
        ALL[self.random.below(ALL.len())]
    }

    /// An expression of a type; now and then of another.
    fn of(&mut self, wanted: Wanted, depth: usize) -> String {
        let wanted = if self.random.one_in(40) { self.any_type() } else { wanted };
        let known: Vec<String> =
            self.locals.iter().filter(|(_, t)| *t == wanted).map(|(name, _)| name.clone()).collect();
        if !known.is_empty() && self.random.one_in(2) {
            return known[self.random.below(known.len())].clone();
        }
        if depth == 0 {
            return self.literal(wanted);
        }
        match self.random.below(12) {
            0 => self.conditional(wanted, depth - 1),
            1 => self.by_signature(wanted, depth - 1),
            2 => self.of_optional(wanted, depth - 1),
            3 => format!("dyn({})", self.of(wanted, depth - 1)),
            4 => format!("[{}][0]", self.of(wanted, depth - 1)),
            5 => format!("{{\"a\": {}}}.a", self.of(wanted, depth - 1)),
            _ => self.composed(wanted, depth - 1),
        }
    }

    fn literal(&mut self, wanted: Wanted) -> String {
        let texts: &[&str] = match wanted {
            Wanted::Bool => &["true", "false", "has(object.metadata)", "has(object.spec.nope)"],
            Wanted::Int => &["0", "1", "-1", "7", "9223372036854775807", "size(object.spec.containers)"],
            Wanted::Uint => &["0u", "1u", "18446744073709551615u"],
            Wanted::Double => &["0.0", "1.5", "-2.25", "1e100", "1.0"],
            Wanted::String => &[
                "\"\"",
                "\"a\"",
                "'héllo'",
                "\"a,b,c\"",
                "r'\\d+'",
                "request.namespace",
                "string(object.metadata.name)",
                "\"10\"",
            ],
            Wanted::Bytes => &["b''", "b'a'", "b'\\xff'"],
            Wanted::Duration => &["duration('1h')", "duration('-1.5s')", "duration('0s')"],
            Wanted::Timestamp => &["timestamp('2024-02-29T01:02:03.5Z')", "timestamp(0)"],
            Wanted::Ints => &["[1, 2, 3]", "[3, 1, 2, 1]", "[5]"],
            Wanted::Strings => &["['b', 'a']", "['a']", "request.userInfo.groups"],
            // Maps of one entry, because the real programs go through others in a random order.
            Wanted::Map => &["{'a': 1}", "{'b': 2}"],
            Wanted::Optional => {
                &["optional.of('a')", "optional.ofNonZeroValue('')", "object.?metadata.?name"]
            }
            Wanted::Dyn => &[
                "object.metadata.name",
                "object.spec.replicas",
                "object.spec.containers",
                "object.metadata.labels",
                "object.spec.ratio",
                "object.spec.nothing",
                "object.nope",
                "oldObject",
                "object.spec.containers[0].name",
                "object.spec.containers[5]",
            ],
            Wanted::Message => &["Object{}", "JSONPatch{op: 'add', path: '/a', value: 1}"],
            Wanted::Quantity => &["quantity('1Gi')", "quantity('500m')", "quantity('1k')"],
        };
        self.random.pick(texts).to_owned()
    }

    fn conditional(&mut self, wanted: Wanted, depth: usize) -> String {
        let condition = self.of(Wanted::Bool, depth);
        let then = self.of(wanted, depth);
        let otherwise = self.of(wanted, depth);
        format!("({condition} ? {then} : {otherwise})")
    }

    fn of_optional(&mut self, wanted: Wanted, depth: usize) -> String {
        let value = self.of(wanted, depth);
        match self.random.below(5) {
            0 => format!("optional.of({value}).value()"),
            1 => format!("optional.of({value}).orValue({})", self.of(wanted, depth)),
            2 => format!("optional.none().orValue({value})"),
            3 => format!("optional.of({value}).or(optional.of({})).value()", self.of(wanted, depth)),
            _ => format!("optional.of(1).optMap(o, {value}).value()"),
        }
    }

    /// A call of a function of the table that has this result.
    fn by_signature(&mut self, wanted: Wanted, depth: usize) -> String {
        let fitting: Vec<(String, String)> = signatures(self.dialect)
            .into_iter()
            .filter(|signature| signature.text.ends_with(&format!("-> {}", name_of(wanted))))
            .filter(|signature| {
                !signature.name.starts_with("lists.range") && !signature.name.starts_with("json.")
            })
            .map(|signature| (signature.name.to_owned(), signature.text))
            .collect();
        if fitting.is_empty() {
            return self.composed(wanted, depth);
        }
        let (name, text) = fitting[self.random.below(fitting.len())].clone();
        let (params, _) = text.split_once(" -> ").unwrap_or((&text, ""));
        let (receiver, list) = params.split_once('(').unwrap_or(("", params));
        let args: Vec<String> = list
            .trim_end_matches(')')
            .split(", ")
            .filter(|param| !param.is_empty())
            .map(|param| self.argument(param, depth))
            .collect();
        let args = args.join(", ");
        match receiver.strip_suffix('.') {
            Some(receiver) => format!("{}.{name}({args})", self.argument(receiver, depth)),
            None => format!("{name}({args})"),
        }
    }

    fn argument(&mut self, param: &str, depth: usize) -> String {
        let wanted = ALL.into_iter().find(|wanted| name_of(*wanted) == param);
        match (wanted, param) {
            (Some(wanted), _) => self.of(wanted, depth),
            (None, param) if param.starts_with("list(") => self.of(Wanted::Ints, depth),
            _ => {
                let wanted = self.any_type();
                self.of(wanted, depth)
            }
        }
    }

    fn composed(&mut self, wanted: Wanted, depth: usize) -> String {
        match wanted {
            Wanted::Bool => self.bool(depth),
            Wanted::Int | Wanted::Uint | Wanted::Double => {
                let operator = self.random.pick(&["+", "-", "*", "/"]);
                let (a, b) = (self.of(wanted, depth), self.of(wanted, depth));
                format!("({a} {operator} {b})")
            }
            Wanted::String | Wanted::Bytes => {
                let (a, b) = (self.of(wanted, depth), self.of(wanted, depth));
                format!("({a} + {b})")
            }
            Wanted::Duration => {
                let (a, b) = (self.of(wanted, depth), self.of(wanted, depth));
                format!("({a} - {b})")
            }
            Wanted::Timestamp => {
                let (a, b) = (self.of(wanted, depth), self.of(Wanted::Duration, depth));
                format!("({a} + {b})")
            }
            Wanted::Ints => self.list(Wanted::Int, depth),
            Wanted::Strings => self.list(Wanted::String, depth),
            Wanted::Map => self.map(depth),
            Wanted::Optional => match self.random.below(4) {
                0 => format!("{}.?a", self.of(Wanted::Map, depth)),
                1 => format!("{}[?{}]", self.of(Wanted::Ints, depth), self.of(Wanted::Int, depth)),
                2 => format!("optional.of({})", self.of(Wanted::String, depth)),
                _ => format!("{}.?metadata.?labels.?app", self.of(Wanted::Dyn, 0)),
            },
            Wanted::Dyn => self.dynamic(depth),
            Wanted::Message => {
                // The real programs cannot show values of their libraries inside.
                let value = match self.any_type() {
                    Wanted::Quantity => Wanted::String,
                    value => value,
                };
                let value = self.of(value, depth);
                format!("Object{{spec: Object.spec{{a: {value}, ?b: {}}}}}", self.of(Wanted::Optional, depth))
            }
            Wanted::Quantity => {
                format!("quantity('{}')", self.random.pick(&["1", "10Mi", "1.5", "2e3", "-1n"]))
            }
        }
    }

    fn bool(&mut self, depth: usize) -> String {
        let operand = self.any_type();
        let (a, b) = (self.of(operand, depth), self.of(operand, depth));
        match self.random.below(9) {
            0 => format!("({a} == {b})"),
            1 => format!("({a} != {b})"),
            2 => format!("({a} {} {b})", self.random.pick(&["<", "<=", ">", ">="])),
            3 => format!("({} && {})", self.of(Wanted::Bool, depth), self.of(Wanted::Bool, depth)),
            4 => format!("({} || {})", self.of(Wanted::Bool, depth), self.of(Wanted::Bool, depth)),
            5 => format!("!{}", self.of(Wanted::Bool, depth)),
            6 => format!("({} in {})", self.of(Wanted::Int, depth), self.of(Wanted::Ints, depth)),
            7 => {
                let range = self.of(Wanted::Ints, depth);
                let body = self.with("x", Wanted::Int, |generator| generator.of(Wanted::Bool, depth));
                let kind = self.random.pick(&["all", "exists", "exists_one"]);
                format!("{range}.{kind}(x, {body})")
            }
            _ => {
                let range = self.of(Wanted::Map, depth);
                let body = self.with("v", Wanted::Int, |generator| generator.of(Wanted::Bool, depth));
                let kind = self.random.pick(&["all", "exists", "existsOne"]);
                format!("{range}.{kind}(k, v, {body})")
            }
        }
    }

    fn list(&mut self, element: Wanted, depth: usize) -> String {
        let list = if element == Wanted::Int { Wanted::Ints } else { Wanted::Strings };
        match self.random.below(6) {
            0 => format!("[{}, {}]", self.of(element, depth), self.of(element, depth)),
            1 => format!("({} + {})", self.of(list, depth), self.of(list, depth)),
            2 => {
                let range = self.of(list, depth);
                let body = self.with("y", element, |generator| generator.of(element, depth));
                format!("{range}.map(y, {body})")
            }
            3 => {
                let range = self.of(list, depth);
                let body = self.with("z", element, |generator| generator.of(Wanted::Bool, depth));
                format!("{range}.filter(z, {body})")
            }
            4 => {
                let range = self.of(Wanted::Map, depth);
                let body = self.with("w", Wanted::Int, |generator| generator.of(element, depth));
                format!("{range}.transformList(k, w, {body}).sort()")
            }
            _ => {
                let range = self.of(list, depth);
                let key = self.with("s", element, |generator| generator.of(Wanted::Int, depth));
                format!("{range}.sortBy(s, {key})")
            }
        }
    }

    fn map(&mut self, depth: usize) -> String {
        match self.random.below(3) {
            0 => format!("{{?'a': {{'q': {}}}.?q}}", self.of(Wanted::Int, depth)),
            1 => {
                let range = self.of(Wanted::Map, depth);
                let body = self.with("m", Wanted::Int, |generator| generator.of(Wanted::Int, depth));
                format!("{range}.transformMap(k, m, {body})")
            }
            _ => format!("{{{}: {}}}", self.of(Wanted::String, depth), self.of(Wanted::Int, depth)),
        }
    }

    fn dynamic(&mut self, depth: usize) -> String {
        let value = self.of(Wanted::Dyn, depth);
        match self.random.below(6) {
            0 => format!("{value}.{}", self.random.pick(&["name", "metadata", "spec", "nope"])),
            1 => format!("{value}[{}]", self.of(Wanted::Int, depth)),
            2 => format!("{value}[{}]", self.of(Wanted::String, depth)),
            3 => format!("({value} + {})", self.of(Wanted::Dyn, depth)),
            4 => format!("dyn([{value}]).map(c, c)"),
            _ => {
                let body = self.with("d", Wanted::Dyn, |generator| generator.of(Wanted::Bool, depth));
                format!("dyn([{value}]).filter(d, {body})")
            }
        }
    }

    fn with(&mut self, name: &str, t: Wanted, body: impl FnOnce(&mut Self) -> String) -> String {
        self.locals.push((name.to_owned(), t));
        let text = body(self);
        self.locals.pop();
        text
    }
}

/// As signatures write it.
const fn name_of(wanted: Wanted) -> &'static str {
    match wanted {
        Wanted::Bool => "bool",
        Wanted::Int => "int",
        Wanted::Uint => "uint",
        Wanted::Double => "double",
        Wanted::String => "string",
        Wanted::Bytes => "bytes",
        Wanted::Duration => "duration",
        Wanted::Timestamp => "timestamp",
        Wanted::Ints => "list(int)",
        Wanted::Strings => "list(string)",
        Wanted::Map => "map(string, int)",
        Wanted::Optional => "optional_type(string)",
        Wanted::Dyn => "dyn",
        Wanted::Message => "Object",
        Wanted::Quantity => "kubernetes.Quantity",
    }
}
