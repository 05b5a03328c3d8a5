//! The functions of JMESPath that CEL has, too.

use crate::convert::cel_text::{Cel, Operator};
use crate::convert::path::{Base, Path};
use crate::convert::problem::{Difference, Problem};
use crate::convert::ty::Ty;
use crate::convert::val::{Form, Val};
use crate::jmespath::Syntax;
use crate::value::Value;

use super::{Translated, Translator, loop_variable, source_name};

/// Functions of Kyverno's CEL that the API server does not have.
const NOT_NATIVE: [&str; 10] = [
    "base64_encode",
    "base64_decode",
    "regex_replace_all",
    "regex_replace_all_literal",
    "parse_json",
    "parse_yaml",
    "sha256",
    "sha1",
    "md5",
    "random",
];

pub(super) fn call<'a>(
    translator: &mut Translator<'_, 'a>,
    name: &str,
    arguments: &[Syntax],
) -> Translated<'a> {
    if translator.scope.is_native && (NOT_NATIVE.contains(&name) || name == "time_now_utc") {
        return refuse(translator, name, "the API server does not have it in policies");
    }
    if let Some(result) = with_expression(translator, name, arguments)? {
        return Ok(result);
    }
    let mut values = Vec::new();
    for argument in arguments {
        values.push(translator.value(argument)?);
    }
    let fails = values.iter().any(|value| value.fails() || value.present().is_some());
    let done = |cel: Cel, ty: Ty<'a>| Ok(Val::failing(cel, ty, fails));
    match (name, values.as_slice()) {
        ("length", [value]) => match &value.ty {
            Ty::Text(_) | Ty::List(_) | Ty::Map(_) | Ty::Object(_) => {
                done(value.value().call("size", []), Ty::Number)
            }
            _ => refuse(translator, name, "the schema does not say that its argument has a length"),
        },
        ("contains", [list, item]) => contains(translator, list, item),
        ("to_string", [value]) => match &value.ty {
            Ty::Text(_) => Ok(value.clone()),
            Ty::Number => done(Cel::function("string", [Cel::function("int", [value.value()])]), Ty::WORD),
            Ty::Bool => done(Cel::function("string", [value.value()]), Ty::WORD),
            _ => refuse(
                translator,
                name,
                "CEL has no JSON text of lists and maps with values of the object, and the schema does not say that it is a text or a number",
            ),
        },
        ("keys", [map]) => match &map.ty {
            Ty::Map(_) | Ty::Object(_) => {
                let key = loop_variable("keys", &translator.used);
                let keys = map.value().call("map", [Cel::atom(&*key), Cel::atom(&*key)]);
                done(keys.call("sort", []), Ty::List(Box::new(Ty::WORD)))
            }
            _ => refuse(translator, name, "the schema does not say that its argument is a map"),
        },
        ("sort", [list]) if matches!(&list.ty, Ty::List(of) if of.is_text() || matches!(**of, Ty::Number)) => {
            done(list.value().call("sort", []), list.ty.clone())
        }
        ("reverse", [list]) if list.ty.is_list() => done(list.value().call("reverse", []), list.ty.clone()),
        ("not_null", values) if !values.is_empty() => Ok(not_null(values)),
        ("add" | "subtract" | "sum" | "modulo", _) => arithmetic(translator, name, &values),
        ("max" | "min", [list]) if matches!(&list.ty, Ty::List(of) if matches!(**of, Ty::Number)) => {
            refuse(translator, name, "of an empty list it is null, and an error in CEL")
        }
        ("random", [pattern]) if pattern.as_literal().is_some() => {
            done(Cel::function("random", [pattern.value()]), Ty::TEXT)
        }
        _ => call_on_texts(translator, name, &values),
    }
}

/// Functions on texts.
fn call_on_texts<'a>(translator: &Translator<'_, 'a>, name: &str, values: &[Val<'a>]) -> Translated<'a> {
    let fails = values.iter().any(|value| value.fails() || value.present().is_some());
    let done = |cel: Cel, ty: Ty<'a>| Ok(Val::failing(cel, ty, fails));
    match (name, values) {
        ("starts_with", [text, part]) => texts(translator, name, &[text, part], "startsWith", Ty::Bool),
        ("ends_with", [text, part]) => texts(translator, name, &[text, part], "endsWith", Ty::Bool),
        ("join", [separator, list]) => match &list.ty {
            Ty::List(of) if of.is_text() => done(list.value().call("join", [separator.value()]), Ty::TEXT),
            _ => refuse(translator, name, "the schema does not say that it joins texts"),
        },
        ("split", [text, separator]) => {
            texts(translator, name, &[text, separator], "split", Ty::List(Box::new(Ty::TEXT)))
        }
        ("replace_all", [text, old, new]) => texts(translator, name, &[text, old, new], "replace", Ty::TEXT),
        ("replace", [text, old, new, count]) => {
            check_texts(translator, name, &[text, old, new])?;
            let count = match count.as_literal() {
                Some(Value::Number(number)) if number.is_integer() => number.to_string(),
                _ => return refuse(translator, name, "the number of replacements is not constant"),
            };
            done(text.value().call("replace", [old.value(), new.value(), Cel::atom(count)]), Ty::TEXT)
        }
        ("trim_prefix", [text, prefix]) => {
            check_texts(translator, name, &[text, prefix])?;
            let cel = Cel::if_else(
                text.value().call("startsWith", [prefix.value()]),
                text.value().call("substring", [prefix.value().call("size", [])]),
                text.value(),
            );
            done(cel, Ty::TEXT)
        }
        ("trim", [_, _]) => refuse(translator, name, "it removes any of several characters"),
        ("truncate", [text, length]) => match (length.as_literal(), &text.ty) {
            (Some(Value::Number(number)), Ty::Text(_)) if number.as_i64().is_some_and(|n| n >= 0) => {
                let length = || Cel::atom(number.to_string());
                let cel = Cel::if_else(
                    text.value().call("size", []).compare(Operator::Greater, length()),
                    text.value().call("substring", [Cel::int(0), length()]),
                    text.value(),
                );
                done(cel, text.ty.clone())
            }
            _ => refuse(translator, name, "its length is not constant"),
        },
        ("to_upper" | "to_lower", [text]) => {
            check_texts(translator, name, &[text])?;
            let method = if name == "to_upper" { "upperAscii" } else { "lowerAscii" };
            if matches!(text.ty, Ty::Text(true)) || text.as_literal().is_some() {
                // Names, labels and images hold no other letters.
                return done(text.value().call(method, []), text.ty.clone());
            }
            translator.scope.accept(
                Difference::UnicodeCase,
                &format!("the function `{name}`"),
                "CEL changes the case of the letters of ASCII only",
            )?;
            done(text.value().call(method, []), text.ty.clone())
        }
        _ => call_on_encoded(translator, name, values),
    }
}

/// Encodings, hashes and regular expressions.
fn call_on_encoded<'a>(translator: &Translator<'_, 'a>, name: &str, values: &[Val<'a>]) -> Translated<'a> {
    let fails = values.iter().any(|value| value.fails() || value.present().is_some());
    let done = |cel: Cel, ty: Ty<'a>| Ok(Val::failing(cel, ty, fails));
    match (name, values) {
        ("base64_encode", [text]) => {
            check_texts(translator, name, &[text])?;
            done(Cel::function("base64.encode", [Cel::function("bytes", [text.value()])]), Ty::WORD)
        }
        ("base64_decode", [text]) => {
            check_texts(translator, name, &[text])?;
            let cel = Cel::function("string", [Cel::function("base64.decode", [text.value()])]);
            Ok(Val::failing(cel, Ty::TEXT, true))
        }
        ("regex_match", [pattern, text]) => match pattern.as_literal().and_then(Value::as_str) {
            Some(pattern) if text.ty.is_text() => {
                done(text.value().call("matches", [Cel::text(pattern)]), Ty::Bool)
            }
            _ => refuse(translator, name, "its pattern is not constant or its subject no text"),
        },
        ("regex_replace_all", [pattern, text, replacement]) => {
            let constants = (
                pattern.as_literal().and_then(Value::as_str),
                replacement.as_literal().and_then(Value::as_str).and_then(groups),
            );
            let (Some(pattern), Some(replacement)) = constants else {
                return refuse(translator, name, "its pattern or its replacement is not constant");
            };
            check_texts(translator, name, &[text])?;
            let arguments = [text.value(), Cel::text(pattern), Cel::text(replacement)];
            done(Cel::function("regex.replace", arguments), Ty::TEXT)
        }
        ("regex_replace_all_literal", [pattern, text, replacement]) => {
            let constants = (
                pattern.as_literal().and_then(Value::as_str),
                replacement.as_literal().and_then(Value::as_str),
            );
            let (Some(pattern), Some(replacement)) = constants else {
                return refuse(translator, name, "its pattern or its replacement is not constant");
            };
            check_texts(translator, name, &[text])?;
            let replacement = replacement.replace('\\', "\\\\");
            let arguments = [text.value(), Cel::text(pattern), Cel::text(replacement)];
            done(Cel::function("regex.replace", arguments), Ty::TEXT)
        }
        ("parse_yaml", [text]) => {
            check_texts(translator, name, &[text])?;
            Ok(Val::failing(Cel::function("yaml.parse", [text.value()]), Ty::Any, true))
        }
        ("parse_json", [text]) => {
            check_texts(translator, name, &[text])?;
            Ok(Val::failing(Cel::function("json.unmarshal", [text.value()]), Ty::Any, true))
        }
        ("sha256", [text]) => {
            check_texts(translator, name, &[text])?;
            done(Cel::function("sha256", [text.value()]), Ty::WORD)
        }
        _ => refuse(translator, name, "CEL has no function that does the same"),
    }
}

fn refuse<T>(translator: &Translator<'_, '_>, name: &str, reason: &str) -> Result<T, Problem> {
    translator.refuse(&format!("the function `{name}`"), reason)
}

fn check_texts(translator: &Translator<'_, '_>, name: &str, values: &[&Val<'_>]) -> Result<(), Problem> {
    if values.iter().all(|value| value.ty.is_text()) {
        return Ok(());
    }
    if values.iter().all(|value| matches!(value.ty, Ty::Text(_) | Ty::Any)) {
        // A value of another type is an error in both.
        return Ok(());
    }
    refuse(translator, name, "the schema does not say that its argument is a text")
}

/// A method of a text with texts as arguments.
fn texts<'a>(
    translator: &Translator<'_, 'a>,
    name: &str,
    values: &[&Val<'a>],
    method: &'static str,
    ty: Ty<'a>,
) -> Translated<'a> {
    check_texts(translator, name, values)?;
    let Some((of, arguments)) = values.split_first() else {
        return refuse(translator, name, "it has no text");
    };
    let arguments: Vec<Cel> = arguments.iter().map(|value| value.value()).collect();
    let fails = values.iter().any(|value| value.fails() || value.present().is_some());
    Ok(Val::failing(of.value().call(method, arguments), ty, fails))
}

fn contains<'a>(translator: &Translator<'_, 'a>, list: &Val<'a>, item: &Val<'a>) -> Translated<'a> {
    let fails = list.fails() || list.present().is_some();
    let item = match item.soft() {
        soft if soft.is_true() => item.strict(),
        _ => return refuse(translator, "contains", "what is searched may be missing"),
    };
    match &list.ty {
        Ty::List(_) => {
            // `contains(keys(map), key)`.
            if let Cel::Call { of: Some(keys), name: "sort", .. } = list.value()
                && let Cel::Call { of: Some(map), name: "map", arguments } = &*keys
                && matches!(arguments.as_slice(), [one, other] if one == other)
            {
                let test = match item.as_text() {
                    Some(name) if crate::convert::cel_text::is_identifier(name) => {
                        Cel::function("has", [Cel::clone(map).member(name)])
                    }
                    _ => item.compare(Operator::In, Cel::clone(map)),
                };
                return Ok(Val::failing(test, Ty::Bool, fails));
            }
            Ok(Val::failing(item.compare(Operator::In, list.value()), Ty::Bool, fails))
        }
        Ty::Text(_) => Ok(Val::failing(list.value().call("contains", [item]), Ty::Bool, fails)),
        _ => refuse(translator, "contains", "the schema does not say whether it searches a list or a text"),
    }
}

fn not_null<'a>(values: &[Val<'a>]) -> Val<'a> {
    let mut reversed = values.iter().rev();
    let last = reversed.next().cloned().unwrap_or_else(|| Val::literal(Value::Null));
    reversed.fold(last, |otherwise, value| {
        let soft = value.soft();
        let ty = value.ty.clone();
        if soft.is_true() {
            return value.clone();
        }
        let rest = otherwise.soft();
        if rest.is_true() {
            return Val::failing(value.or(otherwise.strict()), ty, otherwise.fails());
        }
        Val::nullable(
            Cel::any(vec![soft.clone(), rest]),
            Cel::if_else(soft, value.value(), otherwise.value()),
            ty,
        )
    })
}

/// Sums and differences of integers.
fn arithmetic<'a>(translator: &Translator<'_, 'a>, name: &str, values: &[Val<'a>]) -> Translated<'a> {
    let operator = match name {
        "add" => Operator::Plus,
        "subtract" => Operator::Minus,
        "modulo" => Operator::Modulo,
        _ => return refuse(translator, name, "it takes quantities and durations, too"),
    };
    let number = |value: &Val<'a>| match (&value.form, &value.ty) {
        (Form::Literal(Value::Number(number)), _) => {
            number.is_integer().then(|| Cel::atom(number.to_string()))
        }
        (_, Ty::Number) => {
            let cel = value.value();
            let is_integer = matches!(&cel, Cel::Call { name: "size" | "int", .. } | Cel::Chain { .. });
            Some(if is_integer { cel } else { Cel::function("int", [cel]) })
        }
        _ => None,
    };
    let [left, right] = values else { return refuse(translator, name, "it has two arguments") };
    match (number(left), number(right)) {
        (Some(one), Some(other)) => {
            let fails = left.fails() || right.fails();
            Ok(Val::failing(Cel::Chain { operator, operands: vec![one, other] }, Ty::Number, fails))
        }
        _ => refuse(translator, name, "the schema does not say that its arguments are numbers"),
    }
}

/// `$1` of a replacement as CEL writes it; `None` where it means something else.
fn groups(replacement: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = replacement.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => out.push_str("\\\\"),
            '$' => match rest.next()? {
                '{' => {
                    let number = rest.next().filter(char::is_ascii_digit)?;
                    (rest.next()? == '}').then_some(())?;
                    out.push('\\');
                    out.push(number);
                }
                '$' => out.push('$'),
                number if number.is_ascii_digit() => {
                    // `$1x` is the group named `1x`.
                    if rest.peek().is_some_and(|next| next.is_ascii_alphanumeric() || *next == '_') {
                        return None;
                    }
                    out.push('\\');
                    out.push(number);
                }
                _ => return None,
            },
            c => out.push(c),
        }
    }
    Some(out)
}

/// Functions that take an expression.
fn with_expression<'a>(
    translator: &mut Translator<'_, 'a>,
    name: &str,
    arguments: &[Syntax],
) -> Result<Option<Val<'a>>, Problem> {
    let (list, expression) = match (name, arguments) {
        ("map", [Syntax::Reference(expression), list]) => (list, expression),
        ("sort_by", [list, Syntax::Reference(expression)]) => (list, expression),
        _ if arguments.iter().any(|argument| matches!(argument, Syntax::Reference(_))) => {
            return refuse(translator, name, "CEL has no function that does the same");
        }
        _ => return Ok(None),
    };
    let list = translator.value(list)?;
    if !list.ty.is_list() {
        return refuse(translator, name, "the schema does not say that it visits a list");
    }
    let variable = loop_variable(&source_name(&list), &translator.used);
    translator.used.push(variable.clone());
    let visited = match &list.form {
        Form::Path(path) => Val::path(path.element(&variable)),
        _ => Val::path(Path::new(Cel::atom(&*variable), list.ty.element(), Base::Other)),
    };
    let result = translator.with_current(visited, |translator| translator.value(expression));
    translator.used.pop();
    let result = result?;
    if !result.soft().is_true() {
        return refuse(translator, name, "its expression may be missing, and then it is null");
    }
    let loop_name = Cel::atom(&*variable);
    let fails = list.fails() || list.present().is_some() || result.fails();
    if name == "map" {
        let cel = list.value().call("map", [loop_name, result.strict()]);
        return Ok(Some(Val::failing(cel, Ty::List(Box::new(result.ty)), fails)));
    }
    if !matches!(result.ty, Ty::Text(_) | Ty::Number) {
        return refuse(translator, name, "the schema does not say that it sorts by texts or numbers");
    }
    let cel = list.value().call("sortBy", [loop_name, result.strict()]);
    Ok(Some(Val::failing(cel, list.ty, fails)))
}
