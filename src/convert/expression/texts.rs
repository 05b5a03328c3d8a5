//! Texts with variables.

use crate::convert::cel_text::{Cel, concatenation};
use crate::convert::problem::Problem;
use crate::convert::ty::Ty;
use crate::convert::val::{Form, Val};
use crate::value::Value;
use crate::variables;

use super::marks::{IMAGE_MARK, INDEX_MARK, MARK};
use super::{Scope, images, translate};

/// Around the number of a variable in a text.
const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';

/// A text with variables, translated.
#[expect(clippy::large_enum_variant, reason = "it lives for the translation of one text")]
pub(in crate::convert) enum Mixed<'a> {
    /// It is one variable, whose value keeps its type.
    Whole(Val<'a>),
    /// Texts and variables.
    Parts(Vec<Part<'a>>),
}

#[expect(clippy::large_enum_variant, reason = "it lives for the translation of one text")]
pub(in crate::convert) enum Part<'a> {
    Text(String),
    Value {
        value: Val<'a>,
        /// Its expression in the classic policy.
        text: String,
        /// Whether variables in the value stay as they are: `{{- … }}`.
        is_shallow: bool,
    },
}

/// Whether a text or something below a value has variables or references.
pub(in crate::convert) fn holds_variables(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{") || text.contains("$("),
        Value::Array(items) => items.iter().any(holds_variables),
        Value::Object(members) => {
            members.iter().any(|(key, value)| key.contains("{{") || holds_variables(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl<'a> Mixed<'a> {
    pub(in crate::convert) fn of(text: &str, scope: &Scope<'a>) -> Result<Self, Problem> {
        if variables::holds_reference(text) {
            return Err(Problem::new(
                format!("the reference `$(…)` in `{text}`"),
                "it starts at another place than the rule, or autogen moves what it leads to",
                "write the value instead",
            ));
        }
        let mut found: Vec<(String, bool)> = Vec::new();
        let mut marked = text.to_owned();
        while let Some(next) = variables::replace_each_variable(&marked, |expression, is_shallow| {
            found.push((expression.to_owned(), is_shallow));
            format!("{OPEN}{}{CLOSE}", found.len() - 1)
        }) {
            marked = next;
        }
        let mut values: Vec<Val<'a>> = Vec::new();
        let texts: Vec<&str> = found.iter().map(|(expression, _)| &**expression).collect();
        for (number, (expression, _)) in found.iter().enumerate() {
            let value =
                outer(expression, &values, scope).and_then(|expression| translate(scope, &expression));
            let value = value.map_err(|problem| in_classic_words(problem, &written(&texts, number)))?;
            scope.note(value.strict(), value.fails());
            values.push(value);
        }
        let mut parts = Vec::new();
        let mut is_whole = false;
        for (index, piece) in pieces(&marked).into_iter().enumerate() {
            match piece {
                Piece::Text(text) => {
                    parts.push(Part::Text(text.replace("\\{{", "{{").replace("\\$(", "$(")));
                }
                Piece::Mark(number) => {
                    is_whole = index == 0;
                    if let (Some(value), Some((_, is_shallow))) = (values.get(number), found.get(number)) {
                        let text = written(&texts, number);
                        parts.push(Part::Value { value: value.clone(), text, is_shallow: *is_shallow });
                    }
                }
            }
        }
        match parts.pop() {
            Some(Part::Value { value, .. }) if parts.is_empty() && is_whole => Ok(Self::Whole(value)),
            last => {
                parts.extend(last);
                Ok(Self::Parts(parts))
            }
        }
    }

    /// The value with its type.
    pub(in crate::convert) fn value(self) -> Result<Val<'a>, Problem> {
        match self {
            Self::Whole(value) => Ok(value),
            Self::Parts(parts) => {
                let mut fails = false;
                let mut texts = Vec::new();
                let mut is_word = true;
                let mut literal = Some(String::new());
                for part in parts {
                    match part {
                        Part::Text(text) => {
                            is_word &= !text.contains(['*', '?', '\n']);
                            if let Some(literal) = &mut literal {
                                literal.push_str(&text);
                            }
                            texts.push(Cel::text(text));
                        }
                        Part::Value { value, text, is_shallow } => {
                            fails |= value.fails();
                            if !is_shallow {
                                check_braces(&value, &text)?;
                            }
                            is_word &= !matches!(value.ty, Ty::Text(false) | Ty::Any);
                            literal = None;
                            texts.push(as_text(&value)?);
                        }
                    }
                }
                if let Some(text) = literal {
                    return Ok(Val::literal(Value::from(text)));
                }
                Ok(Val::failing(concatenation(texts), Ty::Text(is_word), fails))
            }
        }
    }
}

/// A variable as the classic policy has it, with those inside of it.
fn written(variables: &[&str], number: usize) -> String {
    let pieces = pieces(variables.get(number).copied().unwrap_or_default().trim()).into_iter();
    let inner = pieces.map(|piece| match piece {
        Piece::Text(text) => text,
        // Inner variables come first.
        Piece::Mark(inner) if inner < number => written(variables, inner),
        Piece::Mark(_) => String::new(),
    });
    format!("{{{{ {} }}}}", inner.collect::<String>())
}

/// A problem with the variable itself in place of names that stand for parts of it.
fn in_classic_words(mut problem: Problem, variable: &str) -> Problem {
    let quoted: Vec<&str> = problem.construct.split('`').collect();
    let is_internal = |text: &str| {
        text.contains(OPEN) || [MARK, IMAGE_MARK, INDEX_MARK].iter().any(|mark| text.contains(mark))
    };
    let quoted = quoted.into_iter().map(|text| if is_internal(text) { variable } else { text });
    problem.construct = quoted.collect::<Vec<_>>().join("`");
    problem
}

/// An expression whose inner variables have values: names stand for them.
fn outer(expression: &str, values: &[Val<'_>], scope: &Scope<'_>) -> Result<String, Problem> {
    if !expression.contains(OPEN) {
        return Ok(expression.to_owned());
    }
    // The lifetimes of the values are those of the scope.
    let refuse = || {
        Problem::new(
            format!("a variable inside of `{expression}`"),
            "its value becomes a part of the expression",
            "write it as an argument or an operand, without braces",
        )
    };
    let mut out = String::new();
    let mut rest = expression;
    while let Some(start) = rest.find(OPEN) {
        let end = rest.find(CLOSE).ok_or_else(refuse)?;
        let number: usize = rest.get(start + 1..end).and_then(|text| text.parse().ok()).ok_or_else(refuse)?;
        let (before, after) =
            (rest.get(..start).unwrap_or_default(), rest.get(end + 1..).unwrap_or_default());
        let quotes = before.matches('\'').count();
        let is_quoted = quotes % 2 == 1;
        let value = values.get(number).ok_or_else(refuse)?;
        match (is_quoted, before.ends_with('\''), after.starts_with('\'')) {
            (true, true, true) => {
                out.push_str(before.strip_suffix('\'').unwrap_or(before));
                let kept = scope.keep_text(value)?;
                out.extend([format!("{MARK}{kept}")]);
                rest = after.strip_prefix('\'').unwrap_or(after);
            }
            (false, ..) if after.starts_with("\".") && before.ends_with('"') => {
                let (head, image) = image_of(before, value).ok_or_else(refuse)?;
                out.push_str(head);
                out.extend([format!("{IMAGE_MARK}{}", scope.keep(Val::sure(image, Ty::Text(true))))]);
                rest = after.strip_prefix('"').unwrap_or(after);
            }
            (false, ..) if after.starts_with('.') && before.contains("images.") => {
                return Err(Problem::new(
                    format!("the name in `{expression}`"),
                    "without quotes a name with a dash is no part of an expression, and the rule fails on it",
                    "write the inner variable in double quotes",
                ));
            }
            (false, ..) if before.ends_with('[') && after.starts_with(']') => {
                out.push_str(before.strip_suffix('[').unwrap_or(before));
                let kept = scope.keep_value(value);
                out.extend([format!(".{INDEX_MARK}{kept}")]);
                rest = after.strip_prefix(']').unwrap_or(after);
            }
            _ => return Err(refuse()),
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// The text before `images.LIST."`, and the image of the container that the name after it is of.
fn image_of<'t>(before: &'t str, name: &Val<'_>) -> Option<(&'t str, Cel)> {
    let (head, list) = before.strip_suffix(".\"")?.rsplit_once("images.")?;
    // A member `images` of something else, or another name that ends so, is not the variable.
    let is_variable = !head.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '"'));
    let image = images::of_element(name, list).filter(|_| is_variable)?;
    Some((head, image))
}

impl Scope<'_> {
    fn keep_value(&self, value: &Val<'_>) -> usize {
        self.keep(erased(value))
    }

    /// Keeps a value as the text that it would be inside of quotes.
    fn keep_text(&self, value: &Val<'_>) -> Result<usize, Problem> {
        let is_word = matches!(value.ty, Ty::Text(true));
        Ok(self.keep(Val::failing(as_text(value)?, Ty::Text(is_word), value.fails())))
    }
}

/// A value without its schema.
fn erased<'b>(value: &Val<'_>) -> Val<'b> {
    let ty = match value.ty {
        Ty::Number => Ty::Number,
        Ty::Bool => Ty::Bool,
        Ty::Text(is_word) => Ty::Text(is_word),
        _ => Ty::Any,
    };
    Val { form: Form::Sure { cel: value.strict(), fails: value.fails() }, ty }
}

/// The value of an expression without braces, which may hold variables in braces.
pub(in crate::convert) fn template<'a>(scope: &Scope<'a>, text: &str) -> Result<Val<'a>, Problem> {
    template_on(scope, text, None)
}

/// The same with a value as `@`.
pub(in crate::convert) fn template_on<'a>(
    scope: &Scope<'a>,
    text: &str,
    current: Option<Val<'a>>,
) -> Result<Val<'a>, Problem> {
    let mut found: Vec<String> = Vec::new();
    let mut marked = text.trim().to_owned();
    while let Some(next) = variables::replace_variables(&marked, |expression| {
        found.push(expression.to_owned());
        format!("{OPEN}{}{CLOSE}", found.len() - 1)
    }) {
        marked = next;
    }
    let translate_all = || {
        let mut values: Vec<Val<'a>> = Vec::new();
        for expression in &found {
            let expression = outer(expression, &values, scope)?;
            values.push(translate(scope, &expression)?);
        }
        super::translate_on(scope, &outer(&marked, &values, scope)?, current)
    };
    translate_all().map_err(|problem| in_classic_words(problem, text.trim()))
}

/// A text inside of a longer one is read again: what it has in braces is a variable.
fn check_braces(value: &Val<'_>, text: &str) -> Result<(), Problem> {
    if !matches!(value.ty, Ty::Text(false)) || value.as_literal().is_some() {
        return Ok(());
    }
    Err(Problem::new(
        format!("`{text}` inside of a text"),
        "it may hold braces, and the classic rule replaces the variables in them",
        "write it as the whole value, or as `{{- … }}`, which leaves braces alone",
    ))
}

enum Piece {
    Text(String),
    Mark(usize),
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(OPEN) {
        let Some(end) = rest.find(CLOSE) else { break };
        if start > 0 {
            pieces.push(Piece::Text(rest.get(..start).unwrap_or_default().to_owned()));
        }
        if let Some(number) = rest.get(start + 1..end).and_then(|text| text.parse().ok()) {
            pieces.push(Piece::Mark(number));
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    pieces
}

/// A value as it becomes a part of a text.
pub(in crate::convert) fn as_text(value: &Val<'_>) -> Result<Cel, Problem> {
    if let Form::Literal(literal) = &value.form {
        return Ok(Cel::text(match literal {
            Value::String(text) => text.to_string(),
            other => other.to_go_json(),
        }));
    }
    let cel = match &value.form {
        Form::Nullable { .. } => {
            return Ok(Cel::if_else(
                value.present().unwrap_or_else(|| Cel::bool(true)),
                text_of(value.value(), &value.ty)?,
                Cel::text("null"),
            ));
        }
        _ => value.strict(),
    };
    text_of(cel, &value.ty)
}

fn text_of(cel: Cel, ty: &Ty<'_>) -> Result<Cel, Problem> {
    let is_string_already = matches!(
        &cel,
        Cel::Call {
            name: "string" | "join" | "replace" | "trim" | "lowerAscii" | "upperAscii" | "substring",
            ..
        }
    ) || matches!(&cel, Cel::Text(_));
    Ok(match ty {
        Ty::Text(_) if is_string_already => cel,
        Ty::Text(_) => cel,
        Ty::Quantity | Ty::Bool => Cel::function("string", [cel]),
        Ty::Any => {
            return Err(Problem::new(
                format!("`{cel}` inside of a text"),
                "the schema does not say that it is a text, and lists, maps and null have no text in CEL",
                "give the definition of the kind with `--crds`",
            ));
        }
        // The index of a loop and a length are integers.
        Ty::Number
            if matches!(&cel, Cel::Atom(_) | Cel::Call { name: "size" | "int", .. } | Cel::Chain { .. }) =>
        {
            Cel::function("string", [cel])
        }
        Ty::Number => Cel::function("string", [Cel::function("int", [cel])]),
        Ty::Null => Cel::text("null"),
        Ty::List(_) | Ty::Map(_) | Ty::Object(_) => {
            return Err(Problem::new(
                format!("`{cel}` inside of a text"),
                "it is a list or a map, whose JSON text CEL cannot make of values of the object",
                "join its elements with a function, or keep the rule",
            ));
        }
    })
}
