//! JMESPath as CEL.

mod functions;
mod images;
mod marks;
mod metadata;
mod scope;
mod texts;

use crate::jmespath::{Expression, Syntax, Visits};
use crate::value::{Quantity, Text, Value};

use super::cel_text::{Cel, Operator};
use super::path::Base;
use super::problem::Problem;
use super::ty::Ty;
use super::val::{Form, Val};

pub(super) use scope::{Scope, loop_variable};
pub(super) use texts::{Mixed, as_text, holds_variables, template, template_on};

/// Deeper expressions are refused, though a policy may hold them.
const MAX_DEPTH: usize = 60;

/// Translates expressions in a scope.
pub(super) struct Translator<'s, 'a> {
    pub(super) scope: &'s Scope<'a>,
    /// The expression that is translated, for messages.
    text: Text,
    /// The loops that the expression is in: their values as `@`.
    current: Vec<Val<'a>>,
    /// The names of the variables of loops that are in use.
    used: Vec<String>,
    depth: usize,
}

type Translated<'a> = Result<Val<'a>, Problem>;

/// The value of a JMESPath expression.
pub(super) fn translate<'a>(scope: &Scope<'a>, text: &str) -> Translated<'a> {
    translate_on(scope, text, None)
}

/// The same with a value as `@`.
fn translate_on<'a>(scope: &Scope<'a>, text: &str, current: Option<Val<'a>>) -> Translated<'a> {
    let expression = Expression::parse(text).map_err(|error| {
        Problem::new("an expression", format!("`{text}` is no JMESPath: {error}"), "correct it")
    })?;
    if !scope.moved.is_empty() && text.contains("\"object\"") {
        return Err(Problem::new(
            format!("a quoted name in `{text}`"),
            "autogen leaves it alone, so that it means the controller",
            "write a rule for each kind",
        ));
    }
    let mut translator = Translator {
        scope,
        text: text.into(),
        current: current.into_iter().collect(),
        used: scope.loop_variables(),
        depth: 0,
    };
    translator.value(&expression.syntax())
}

impl<'a> Translator<'_, 'a> {
    fn refuse<T>(&self, construct: &str, reason: impl Into<String>) -> Result<T, Problem> {
        Err(Problem::new(
            format!("{construct} in `{}`", self.text),
            reason,
            "rewrite the expression without it, or keep the rule in the classic policy",
        ))
    }

    fn value(&mut self, syntax: &Syntax) -> Translated<'a> {
        self.depth += 1;
        let value = if self.depth > MAX_DEPTH {
            self.refuse("the nesting", format!("it is deeper than {MAX_DEPTH} levels"))
        } else {
            self.value_below(syntax)
        };
        self.depth -= 1;
        match value {
            Ok(Val { form: Form::Path(path), .. }) if matches!(path.root_base(), Base::Image { .. }) => {
                self.refuse("the whole metadata of an image", "its fields have other names in CEL")
            }
            value => value,
        }
    }

    fn value_below(&mut self, syntax: &Syntax) -> Translated<'a> {
        match syntax {
            Syntax::Literal(value) => Ok(Val::literal(value.clone())),
            Syntax::Current => match self.current.last().cloned().or_else(|| self.scope.inline()) {
                Some(current) => Ok(current),
                None => self.refuse("`@`", "it is the whole context there"),
            },
            Syntax::Field(name) => match self.current.last().cloned() {
                Some(current) => self.member(&current, name),
                None => self.scope.named(name, &self.text),
            },
            Syntax::Index(index) => match self.current.last().cloned() {
                Some(current) => self.element(&current, *index),
                None => self.refuse("an index", "the context is no list"),
            },
            Syntax::Chain(stages) => self.chain(stages),
            Syntax::Pipe(stages) => self.pipe(stages),
            Syntax::Or(operands) => self.or(operands),
            Syntax::And(operands) => self.and(operands),
            Syntax::Not(operand) => Ok(Val::sure(self.value(operand)?.truth().negated(), Ty::Bool)),
            Syntax::Comparison(operator, sides) => self.comparison(operator, sides),
            Syntax::List(items) => self.list(items),
            Syntax::Hash(_) => {
                self.refuse("a multi-select hash", "nothing makes such a map of optional values")
            }
            Syntax::Projection { left, kind, right } => self.projection(left, kind, right),
            Syntax::Call(name, arguments) => functions::call(self, name, arguments),
            Syntax::Reference(_) => self.refuse("`&`", "only some functions take an expression"),
        }
    }

    /// Evaluates a part with another value as `@`.
    fn with_current<T>(
        &mut self,
        current: Val<'a>,
        part: impl FnOnce(&mut Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        self.current.push(current);
        let result = part(self);
        self.current.pop();
        result
    }

    fn chain(&mut self, stages: &[Syntax]) -> Translated<'a> {
        let Some((first, rest)) = stages.split_first() else { return self.refuse("a chain", "it is empty") };
        // `request` and the whole object are no values of their own.
        let mut value = match (first, self.current.is_empty()) {
            (Syntax::Field(name), true) => {
                let names = rest.iter().map_while(|stage| match stage {
                    Syntax::Field(name) => Some(&**name),
                    _ => None,
                });
                let names: Vec<&str> = names.collect();
                let (value, taken) = self.scope.path(name, &names, &self.text)?;
                return self.stages(value, rest.get(taken..).unwrap_or_default());
            }
            _ => self.value(first)?,
        };
        for stage in rest {
            value = self.with_current(value, |this| this.value(stage))?;
        }
        Ok(value)
    }

    fn stages(&mut self, mut value: Val<'a>, stages: &[Syntax]) -> Translated<'a> {
        for stage in stages {
            value = self.with_current(value, |this| this.value(stage))?;
        }
        Ok(value)
    }

    fn pipe(&mut self, stages: &[Syntax]) -> Translated<'a> {
        let Some((first, rest)) = stages.split_first() else { return self.refuse("a pipe", "it is empty") };
        let mut value = lenient(self.value(first)?);
        for stage in rest {
            value = lenient(self.with_current(value, |this| this.value(stage))?);
        }
        Ok(value)
    }

    fn member(&self, of: &Val<'a>, name: &str) -> Translated<'a> {
        if matches!(of.ty, Ty::Text(_) | Ty::Number | Ty::Bool) && !matches!(of.form, Form::Literal(_)) {
            // A scalar has no members.
            return Ok(Val::literal(Value::Null));
        }
        match &of.form {
            Form::Path(path) => {
                if let Some(index) = name.strip_prefix(marks::INDEX_MARK) {
                    return self.indexed(of, index);
                }
                if let Base::Image { is_tagged } = path.root_base() {
                    let construct = format!("`{name}` of the metadata of an image");
                    return metadata::field(path, is_tagged, name)
                        .or_else(|reason| self.refuse(&construct, reason));
                }
                Ok(Val::path(path.member(name)))
            }
            Form::Literal(value) => Ok(Val::literal(value.get(name).cloned().unwrap_or_default())),
            Form::Sure { cel, .. } | Form::Missing { cel, .. } => {
                let path = super::path::Path::new(cel.clone(), of.ty.clone(), Base::Other);
                Ok(Val::path(path.member(name)))
            }
            Form::Nullable { present, soft, value, .. } => {
                let path = super::path::Path::new(value.clone(), of.ty.clone(), Base::Other);
                let member = path.member(name);
                Ok(Val {
                    ty: member.ty.clone(),
                    form: Form::Nullable {
                        present: present.clone(),
                        soft: Cel::all(vec![soft.clone(), member.has()]),
                        value: member.strict(),
                        empty: None,
                        optional: None,
                    },
                })
            }
        }
    }

    /// An element by an index that is a value itself.
    fn indexed(&self, of: &Val<'a>, number: &str) -> Translated<'a> {
        let index = self.scope.mark(number);
        match (&of.form, index) {
            (Form::Path(path), Some(index)) => Ok(Val::path(path.at(index.strict(), of.ty.element()))),
            _ => self.refuse("an index", "it is computed"),
        }
    }

    fn element(&self, of: &Val<'a>, index: i64) -> Translated<'a> {
        let at = |list: Cel| {
            let position = if index < 0 {
                list.clone().call("size", []).compare(Operator::Minus, Cel::int(-index))
            } else {
                Cel::int(index)
            };
            list.index(position)
        };
        let least = if index < 0 { -index } else { index + 1 };
        let long_enough =
            |list: Cel| list.call("size", []).compare(Operator::GreaterOrEqual, Cel::int(least));
        let long_enough = |list: Cel| {
            if least == 1 {
                list.call("size", []).compare(Operator::Greater, Cel::int(0))
            } else {
                long_enough(list)
            }
        };
        if !of.ty.is_list() && !matches!(of.ty, Ty::Any) {
            return Ok(Val::literal(Value::Null));
        }
        // `list[?0]`, where an empty list stands for a missing one.
        let softly = || of.or(Cel::List(Vec::new()));
        let optional = (index >= 0 && of.ty.is_list()).then(|| softly().maybe_index(Cel::int(index)));
        let form = match &of.form {
            Form::Literal(_) => return self.refuse("an index", "the list is a literal"),
            Form::Path(_) | Form::Sure { .. } | Form::Missing { .. } => Form::Nullable {
                present: long_enough(of.strict()),
                soft: long_enough(softly()),
                value: at(of.strict()),
                empty: None,
                optional,
            },
            Form::Nullable { present, soft, value, .. } => Form::Nullable {
                present: Cel::all(vec![present.clone(), long_enough(value.clone())]),
                soft: Cel::all(vec![soft.clone(), long_enough(value.clone())]),
                value: at(value.clone()),
                empty: None,
                optional,
            },
        };
        Ok(Val { form, ty: of.ty.element() })
    }

    fn or(&mut self, operands: &[Syntax]) -> Translated<'a> {
        let mut values =
            operands.iter().map(|operand| self.alternative(operand)).collect::<Result<Vec<_>, _>>()?;
        let Some(mut value) = values.pop() else { return self.refuse("`||`", "it has no operands") };
        while let Some(left) = values.pop() {
            value = Self::either(&left, value);
        }
        Ok(value)
    }

    /// An operand of `||`: a name without characters is never there.
    fn alternative(&mut self, operand: &Syntax) -> Translated<'a> {
        match operand {
            Syntax::Field(name) if name.is_empty() => Ok(Val::literal(Value::Null)),
            operand => self.value(operand),
        }
    }

    /// `left || right`.
    fn either(left: &Val<'a>, right: Val<'a>) -> Val<'a> {
        if let Form::Literal(value) = &left.form {
            return if super::val::is_true(value) { left.clone() } else { right };
        }
        let default = right.as_literal();
        let is_empty_default = match (&left.ty, default) {
            (Ty::Text(_) | Ty::Quantity, Some(Value::String(text))) => text.is_empty(),
            (Ty::List(_), Some(Value::Array(items))) => items.is_empty(),
            (Ty::Map(_) | Ty::Object(_), Some(Value::Object(members))) => members.is_empty(),
            (Ty::Bool, Some(Value::Bool(false))) => true,
            // 0 is true.
            (Ty::Number, Some(value)) => !value.is_null(),
            _ => false,
        };
        // What the API server sets on each request.
        let is_operation =
            matches!(&left.form, Form::Sure { cel, .. } if cel.to_string() == "request.operation");
        if is_operation {
            return left.clone();
        }
        // A quantity is never empty, and the default is one, too.
        if let (Ty::Quantity, Some(Value::String(text))) = (&left.ty, default)
            && Quantity::parse(text).is_ok()
        {
            return Val::sure(left.or(right.strict()), Ty::Quantity);
        }
        if is_empty_default {
            return Val::sure(left.or(right.strict()), left.ty.clone());
        }
        let ty = if std::mem::discriminant(&left.ty) == std::mem::discriminant(&right.ty) {
            match (&left.ty, &right.ty) {
                (Ty::Text(one), Ty::Text(other)) => Ty::Text(*one && *other),
                _ => left.ty.clone(),
            }
        } else {
            match (&left.ty, &right.ty) {
                (one, Ty::Null) => one.clone(),
                (Ty::Text(_) | Ty::Quantity, Ty::Text(_) | Ty::Quantity) => Ty::TEXT,
                _ => Ty::Any,
            }
        };
        let truth = left.truth();
        let choose = |otherwise: Cel| Cel::if_else(truth.clone(), left.value(), otherwise);
        if matches!(right.form, Form::Literal(Value::Null)) {
            return Val::nullable(truth, left.value(), ty);
        }
        let soft = right.soft();
        if soft.is_true() {
            return Val::failing(choose(right.strict()), ty, right.fails());
        }
        Val::nullable(Cel::any(vec![truth.clone(), soft]), choose(right.value()), ty)
    }

    fn and(&mut self, operands: &[Syntax]) -> Translated<'a> {
        let values = operands.iter().map(|operand| self.value(operand)).collect::<Result<Vec<_>, _>>()?;
        if values.iter().all(|value| matches!(value.ty, Ty::Bool)) {
            return Ok(Val::sure(Cel::all(values.iter().map(Val::truth).collect()), Ty::Bool));
        }
        let [condition, value] = values.as_slice() else {
            return self.refuse("`&&`", "its operands are not all true or false");
        };
        if !matches!(condition.ty, Ty::Bool) {
            return self.refuse("`&&`", "its value is that of its left side if that is empty");
        }
        // False is the value where the condition does not hold.
        let cel = Cel::if_else(condition.truth(), Cel::function("dyn", [value.strict()]), Cel::bool(false));
        Ok(Val::failing(cel, Ty::Any, value.fails()))
    }

    fn comparison(&mut self, operator: &str, sides: &[Syntax; 2]) -> Translated<'a> {
        let [left, right] = [self.value(&sides[0])?, self.value(&sides[1])?];
        let operation = match operator {
            "==" => Operator::Equal,
            "!=" => Operator::NotEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            _ => Operator::GreaterOrEqual,
        };
        if matches!(operation, Operator::Equal | Operator::NotEqual) {
            return Ok(Val::sure(self.equality(operation, &left, &right)?, Ty::Bool));
        }
        if !matches!((&left.ty, &right.ty), (Ty::Number, Ty::Number)) {
            return self.refuse(
                &format!("`{operator}`"),
                "it compares only numbers and is null for other values, and the schema does not say that these are numbers",
            );
        }
        let test = left.value().compare(operation, right.value());
        Ok(Val::sure(Cel::all(vec![left.soft(), right.soft(), test]), Ty::Bool))
    }

    /// A missing value equals null.
    fn equality(&self, operation: Operator, left: &Val<'a>, right: &Val<'a>) -> Result<Cel, Problem> {
        let (value, constant) = match (left.as_literal(), right.as_literal()) {
            (_, Some(constant)) => (left, constant),
            (Some(constant), None) => (right, constant),
            (None, None) => {
                let both = Cel::all(vec![left.soft(), right.soft()]);
                if !both.is_true() {
                    return self.refuse("a comparison", "both sides may be missing, and then they are equal");
                }
                return Ok(left.value().compare(operation, right.value()));
            }
        };
        let is_equal = match constant {
            Value::Null => value.soft().negated(),
            constant => {
                let test = value.value().equals(super::val::literal(constant));
                match &value.form {
                    // An impossible value saves a test.
                    Form::Path(path) if constant.as_str().is_some_and(|text| !text.is_empty()) => {
                        path.or(Cel::text("")).equals(super::val::literal(constant))
                    }
                    _ => Cel::all(vec![value.soft(), test]),
                }
            }
        };
        Ok(if operation == Operator::Equal { is_equal } else { is_equal.negated() })
    }

    fn list(&mut self, items: &[Syntax]) -> Translated<'a> {
        let values = items.iter().map(|item| self.value(item)).collect::<Result<Vec<_>, _>>()?;
        let first = values.first().map_or(Ty::Any, |value| value.ty.clone());
        let same =
            values.iter().all(|value| std::mem::discriminant(&value.ty) == std::mem::discriminant(&first));
        if values.iter().any(|value| !value.soft().is_true()) {
            // Lists that are flattened next may be missing.
            if values.iter().all(|value| value.ty.is_list()) {
                let parts = values.iter().map(|value| value.or(Cel::List(Vec::new()))).collect();
                return Ok(Val {
                    form: Form::Nullable {
                        present: Cel::bool(true),
                        soft: Cel::bool(true),
                        value: Cel::atom("null"),
                        empty: Some(Cel::joined(Operator::Plus, parts)),
                        optional: None,
                    },
                    ty: Ty::List(Box::new(first)),
                });
            }
            return self.refuse("a multi-select list", "its elements may be missing, and then they are null");
        }
        let cels = super::val::homogeneous(values.iter().map(Val::strict).collect());
        let ty = Ty::List(Box::new(if same { first } else { Ty::Any }));
        Ok(Val::failing(Cel::List(cels), ty, values.iter().any(Val::fails)))
    }

    fn projection(&mut self, left: &Syntax, kind: &Visits, right: &Syntax) -> Translated<'a> {
        let source = self.value(left)?;
        // A list of lists, each of which may be missing.
        let joined = match (&source.form, kind) {
            (Form::Nullable { empty: Some(empty), value, .. }, Visits::Flattened)
                if *value == Cel::atom("null") =>
            {
                Some(empty.clone())
            }
            _ => None,
        };
        let (list, empty, element, present, soft) = match joined {
            Some(all) => (all.clone(), all, source.ty.element().element(), Cel::bool(true), Cel::bool(true)),
            None => {
                if !source.ty.is_list() {
                    return self.refuse("a projection", "the schema does not say that it visits a list");
                }
                (
                    source.value(),
                    source.or(Cel::List(Vec::new())),
                    source.ty.element(),
                    source.soft(),
                    source.soft(),
                )
            }
        };
        let flattens = matches!(kind, Visits::Flattened) && element.is_list();
        let (list, empty, element) = if flattens {
            (list.call("flatten", []), empty.call("flatten", []), element.element())
        } else {
            (list, empty, element)
        };
        let name = source_name(&source);
        let variable = loop_variable(&name, &self.used);
        self.used.push(variable.clone());
        let visited = match &source.form {
            Form::Path(path) if !flattens => Val::path(path.element(&variable)),
            _ => Val::path(super::path::Path::new(Cel::atom(&*variable), element.clone(), Base::Other)),
        };
        let result = self.visit(kind, right, &visited, &variable);
        self.used.pop();
        let (filter, mapped) = result?;
        let build = |list: Cel| {
            let mut list = list;
            let is_identity =
                matches!(&mapped.form, Form::Path(path) if path.strict() == Cel::atom(&*variable));
            let mut conditions = Vec::new();
            conditions.extend(filter.clone());
            let has = mapped.soft();
            if !has.is_true() {
                conditions.push(has);
            }
            let condition = Cel::all(conditions);
            let loop_name = || Cel::atom(&*variable);
            list = match (is_identity, condition.is_true()) {
                (true, true) => list,
                (true, false) => list.call("filter", [loop_name(), condition]),
                (false, true) => list.call("map", [loop_name(), mapped.value()]),
                (false, false) => list.call("map", [loop_name(), condition, mapped.value()]),
            };
            list
        };
        let (value, empty) = (build(list), build(empty));
        let ty = Ty::List(Box::new(mapped.ty.clone()));
        if soft.is_true() {
            return Ok(Val::sure(value, ty));
        }
        Ok(Val { form: Form::Nullable { present, soft, value, empty: Some(empty), optional: None }, ty })
    }

    /// The condition on a visited value, and what becomes of it.
    fn visit(
        &mut self,
        kind: &Visits,
        right: &Syntax,
        visited: &Val<'a>,
        _variable: &str,
    ) -> Result<(Option<Cel>, Val<'a>), Problem> {
        let filter = match kind {
            Visits::Elements | Visits::Flattened => None,
            Visits::Filtered(condition) => {
                Some(self.with_current(visited.clone(), |this| Ok(this.value(condition)?.truth()))?)
            }
            Visits::Slice(_) => return self.refuse("a slice", "its bounds may be beyond the list"),
            Visits::Members => {
                return self.refuse("`.*`", "the order of the members of a map is not defined");
            }
        };
        let mapped = self.with_current(visited.clone(), |this| this.value(right))?;
        Ok((filter, mapped))
    }
}

/// A missing key is null for the next stage of a pipe.
fn lenient<'a>(value: Val<'a>) -> Val<'a> {
    match &value.form {
        Form::Path(path) if !path.is_sure() => {
            let empty = value.ty.is_list().then(|| path.or(Cel::List(Vec::new())));
            let form = Form::Nullable {
                present: path.has(),
                soft: path.has(),
                value: path.strict(),
                empty,
                optional: None,
            };
            Val { form, ty: value.ty }
        }
        Form::Nullable { soft, value: cel, empty, .. } => {
            let form = Form::Nullable {
                present: soft.clone(),
                soft: soft.clone(),
                value: cel.clone(),
                empty: empty.clone(),
                optional: None,
            };
            Val { form, ty: value.ty }
        }
        _ => value,
    }
}

/// The name of a list, for the variable of its loop.
fn source_name(source: &Val<'_>) -> String {
    match &source.form {
        Form::Path(path) => path.names().iter().rfind(|name| *name != "*").cloned().unwrap_or_default(),
        _ => String::new(),
    }
}
