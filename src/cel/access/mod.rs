//! Which parts of the object expressions read and write.

mod literals;
#[cfg(test)]
mod tests;
mod texts;

use crate::value::{PathSet, Step, Text, Value};

use super::ast::{Call, Expr, Fold, FoldKind, Index, Kind, Message, Select};
use super::names::parts;
use super::{Dialect, parser};

use texts::{Prefix, pointer};

/// The most paths that one value may be at; of more it is not known.
const MAX_PLACES: usize = 16;

/// What the expressions of a policy may read and write of `object`, and of `request.object`, which is the same before
/// the first mutation: never less than they do.
#[derive(Debug)]
pub struct Access {
    /// What may decide on the values of the expressions.
    pub reads: PathSet,
    /// What mutations may set, change or remove.
    pub writes: PathSet,
    /// The literals that values at paths are compared with or set to, as far as they are found.
    pub literals: Vec<(Vec<Step>, Value)>,
    dialect: Dialect,
    /// Whether lists of containers and volumes merge by the names of their elements.
    merges_by_name: bool,
    definitions: Vec<Definition>,
    /// The variables of the macros around an expression, the innermost last, and where their values are.
    locals: Vec<Local>,
}

/// A variable of a macro.
#[derive(Clone, Debug)]
struct Local {
    name: Text,
    places: Places,
    /// The list or map of which it is the index or key.
    index_of: Option<Vec<Step>>,
}

/// A variable of the policy.
#[derive(Debug)]
struct Definition {
    name: Text,
    places: Places,
    texts: Vec<Prefix>,
}

/// Where in the object a value may be; none for values that are made.
type Places = Vec<Vec<Step>>;

impl Access {
    /// Of no expression. `merges_by_name`: lists of containers and volumes merge by name, as those of built-in kinds do.
    pub fn new(dialect: Dialect, merges_by_name: bool) -> Self {
        Self {
            reads: PathSet::default(),
            writes: PathSet::default(),
            literals: Vec::new(),
            dialect,
            merges_by_name,
            definitions: Vec::new(),
            locals: Vec::new(),
        }
    }

    fn parse(&mut self, source: &str) -> Option<Expr> {
        let mut issues = Vec::new();
        let expr = parser::parse(source, self.dialect, &mut issues);
        if !issues.is_empty() {
            self.reads = PathSet::everything();
        }
        issues.is_empty().then_some(expr)
    }

    /// Adds `variables.NAME`. Its expression names only earlier ones.
    pub fn define(&mut self, name: &Text, source: &str) {
        let Some(expr) = self.parse(source) else { return };
        let places = self.places(&expr);
        let texts = self.texts(&expr);
        self.definitions.push(Definition { name: name.clone(), places, texts });
    }

    /// Adds an expression of which the value matters.
    pub fn read(&mut self, source: &str) {
        if let Some(expr) = self.parse(source) {
            self.consume(&expr);
        }
    }

    /// Adds a mutation: the fields of an `Object{…}`, the paths of a list of `JSONPatch{…}`.
    pub fn write(&mut self, source: &str) {
        let Some(expr) = self.parse(source) else { return };
        self.consume(&expr);
        if self.mutation(&expr).is_none() {
            self.reads = PathSet::everything();
            self.writes = PathSet::everything();
        }
    }

    /// Adds all of the value of an expression. The parser limits its depth.
    fn consume(&mut self, expr: &Expr) {
        for place in self.places(expr) {
            self.reads.insert(&place);
        }
    }

    /// Where the value of an expression is; what else decides on it is added.
    fn places(&mut self, expr: &Expr) -> Places {
        let mut places = match &expr.kind {
            Kind::Ident(name) => self.named(name),
            Kind::Select(select) => self.select(select),
            Kind::Index(index) => self.index(index),
            Kind::Conditional(parts) => {
                self.consume(&parts[0]);
                [self.places(&parts[1]), self.places(&parts[2])].concat()
            }
            Kind::Call(call) => self.call(expr, call),
            Kind::Fold(fold) => self.fold(fold),
            Kind::Bind(bind) => {
                let value = self.places(&bind.value);
                self.within(vec![local(&bind.var, value)], |access| access.places(&bind.body))
            }
            Kind::OptMap(map) => {
                let target = self.places(&map.target);
                // Whether there is a value decides, too.
                target.iter().for_each(|place| self.reads.insert_node(place));
                self.within(vec![local(&map.var, target)], |access| access.places(&map.body))
            }
            _ => self.consumed_parts(expr),
        };
        places.sort_unstable();
        places.dedup();
        if places.len() > MAX_PLACES { self.anywhere() } else { places }
    }

    /// Of a value of which nothing is known.
    fn anywhere(&mut self) -> Places {
        self.reads = PathSet::everything();
        Places::new()
    }

    fn consumed_parts(&mut self, expr: &Expr) -> Places {
        parts(expr).into_iter().for_each(|part| self.consume(part));
        Places::new()
    }

    fn within<R>(&mut self, locals: Vec<Local>, run: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.locals.len();
        self.locals.extend(locals);
        let result = run(self);
        self.locals.truncate(length);
        result
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| *local.name == *name)
    }

    fn named(&mut self, name: &str) -> Places {
        match (self.local(name), name.trim_start_matches('.')) {
            (Some(local), _) => local.places.clone(),
            (None, "object") => vec![Vec::new()],
            // It has the object.
            (None, "request") => self.anywhere(),
            (None, _) => Places::new(),
        }
    }

    /// Whether an expression is a variable of the environment.
    fn is_global(&self, expr: &Expr, name: &str) -> bool {
        matches!(&expr.kind, Kind::Ident(found) if found.trim_start_matches('.') == name)
            && self.local(name).is_none()
    }

    fn definition(&self, select: &Select) -> Option<&Definition> {
        let mut definitions = self.definitions.iter().rev();
        self.is_global(&select.operand, "variables")
            .then(|| definitions.find(|known| known.name == select.field))?
    }

    fn select(&mut self, select: &Select) -> Places {
        if self.is_global(&select.operand, "request") {
            return if &*select.field == "object" { vec![Vec::new()] } else { Places::new() };
        }
        if let Some(definition) = self.definition(select) {
            return definition.places.clone();
        }
        let mut places = self.places(&select.operand);
        if select.test {
            places.iter().for_each(|place| self.reads.insert_node(place));
        }
        places.iter_mut().for_each(|place| place.push(Step::Key(select.field.clone())));
        if select.test {
            places.iter().for_each(|place| self.reads.insert_node(place));
            places.clear();
        }
        places
    }

    fn index(&mut self, index: &Index) -> Places {
        let mut places = self.places(&index.operand);
        match &index.index.kind {
            Kind::String(key) => places.iter_mut().for_each(|place| place.push(Step::Key(key.clone()))),
            Kind::Int(_) => self.enter(&mut places),
            _ => {
                self.consume(&index.index);
                places.iter().for_each(|place| self.reads.insert(place));
                places.clear();
            }
        }
        places
    }

    /// From lists to their elements, the number of which is read.
    fn enter(&mut self, places: &mut Places) {
        for place in places {
            place.push(Step::Elements);
            self.reads.insert_node(place);
        }
    }

    fn call(&mut self, expr: &Expr, call: &Call) -> Places {
        let args: Vec<&Expr> = call.target.iter().chain(&call.args).collect();
        self.compared(&args);
        match (&*call.function, &*args) {
            ("size", [value]) => {
                let mut places = self.places(value);
                self.enter(&mut places);
                Places::new()
            }
            ("@in", [Expr { kind: Kind::String(key), .. }, container]) => {
                for mut place in self.places(container) {
                    self.reads.insert_node(&place);
                    place.push(Step::Key(key.clone()));
                    self.reads.insert_node(&place);
                    place.pop();
                    place.push(Step::Elements);
                    self.reads.insert(&place);
                }
                Places::new()
            }
            ("orValue" | "__orValueCompat__" | "or", [value, other]) => {
                let value = self.places(value);
                // Whether there is a value decides, too.
                value.iter().for_each(|place| self.reads.insert_node(place));
                [value, self.places(other)].concat()
            }
            _ => self.consumed_parts(expr),
        }
    }

    fn fold(&mut self, fold: &Fold) -> Places {
        let range = self.places(&fold.range);
        self.in_fold(fold, &range, |access| {
            fold.filter.iter().for_each(|filter| access.consume(filter));
            access.consume(&fold.body);
        });
        if fold.kind == FoldKind::Filter && fold.var2.is_none() { range } else { Places::new() }
    }

    /// Goes on in a macro that goes through what is at these places.
    fn in_fold<R>(&mut self, fold: &Fold, range: &Places, run: impl FnOnce(&mut Self) -> R) -> R {
        let mut elements = range.clone();
        self.enter(&mut elements);
        let Some(second) = &fold.var2 else { return self.within(vec![local(&fold.var, elements)], run) };
        let index_of = if let [one] = &**range { Some(one.clone()) } else { None };
        let index = Local { index_of, ..local(&fold.var, Places::new()) };
        self.within(vec![index, local(second, elements)], run)
    }

    fn mutation(&mut self, expr: &Expr) -> Option<()> {
        match &expr.kind {
            Kind::Message(message) if &*message.name == "Object" => {
                self.fields(&message.fields, &mut Vec::new());
                Some(())
            }
            Kind::Conditional(parts) => {
                self.mutation(&parts[1])?;
                self.mutation(&parts[2])
            }
            Kind::Null => Some(()),
            _ => self.operations(expr),
        }
    }

    /// Adds the paths of the fields of a constructor.
    fn fields<'e>(&mut self, fields: impl IntoIterator<Item = &'e super::ast::Field>, at: &mut Vec<Step>) {
        for field in fields {
            at.push(Step::Key(field.name.clone()));
            self.value(&field.value, at);
            at.pop();
        }
    }

    fn value(&mut self, expr: &Expr, at: &mut Vec<Step>) {
        match &expr.kind {
            Kind::Message(message) if !message.fields.is_empty() => self.fields(&message.fields, at),
            Kind::Map(entries)
                if !entries.is_empty()
                    && entries.iter().all(|entry| matches!(entry.key.kind, Kind::String(_))) =>
            {
                for entry in entries {
                    let Kind::String(key) = &entry.key.kind else { continue };
                    at.push(Step::Key(key.clone()));
                    self.value(&entry.value, at);
                    at.pop();
                }
            }
            Kind::Fold(fold) if self.elements_by_name(fold, at).is_some() => {}
            // What is missing above it is created.
            _ => {
                self.set(expr, at);
                self.writes.insert(at);
            }
        }
    }

    /// Adds what `list.map(c, Object.list{name: c.name, …})` writes to elements of the same list that it goes through.
    /// `None` if it may do something else.
    fn elements_by_name(&mut self, fold: &Fold, at: &mut Vec<Step>) -> Option<()> {
        let Kind::Message(message) = &fold.body.kind else { return None };
        let is_known = self.merges_by_name && has_named_elements(at) && fold.kind == FoldKind::Map;
        let range = vec![at.clone()];
        if !is_known || self.places(&fold.range) != range {
            return None;
        }
        at.push(Step::Elements);
        let result = self.in_fold(fold, &range, |access| access.named_element(message, at));
        at.pop();
        result
    }

    fn named_element(&mut self, message: &Message, at: &mut Vec<Step>) -> Option<()> {
        let is_name = |field: &&super::ast::Field| &*field.name == "name";
        let name = message.fields.iter().rfind(is_name).filter(|name| !name.optional)?;
        at.push(Step::Key(name.name.clone()));
        let is_own = self.places(&name.value) == [&**at];
        at.pop();
        is_own.then(|| self.fields(message.fields.iter().filter(|field| !is_name(field)), at))
    }

    /// Adds the paths of JSON patch operations, in lists of any depth.
    fn operations(&mut self, expr: &Expr) -> Option<()> {
        match &expr.kind {
            Kind::List(elements) => elements.iter().try_for_each(|element| self.operations(&element.value)),
            Kind::Message(message) => self.operation(message),
            Kind::Conditional(parts) => {
                self.operations(&parts[1])?;
                self.operations(&parts[2])
            }
            Kind::Call(call) if matches!(&*call.function, "_+_" | "flatten") => {
                call.target.iter().chain(&call.args).try_for_each(|part| self.operations(part))
            }
            Kind::Fold(fold) if fold.kind == FoldKind::Map => {
                let range = self.places(&fold.range);
                self.in_fold(fold, &range, |access| access.operations(&fold.body))
            }
            _ => None,
        }
    }

    fn operation(&mut self, message: &Message) -> Option<()> {
        let field = |name: &str| message.fields.iter().rfind(|field| &*field.name == name);
        let Kind::String(op) = &field("op")?.value.kind else { return None };
        field("path")?;
        for place in ["path", "from"].into_iter().filter_map(field) {
            for text in self.texts(&place.value) {
                let path = pointer(&text)?;
                if &**op == "test" {
                    self.reads.insert(&path);
                } else {
                    // Without the nodes above it fails.
                    self.reads.insert_parents(&path);
                    self.writes.insert(&path);
                }
                field("value").into_iter().for_each(|value| self.set(&value.value, &path));
            }
        }
        Some(())
    }
}

fn local(name: &Text, places: Places) -> Local {
    Local { name: name.clone(), places, index_of: None }
}

/// Whether the elements of a list of a Pod merge by their names.
fn has_named_elements(path: &[Step]) -> bool {
    const LISTS: [&str; 4] = ["containers", "initContainers", "ephemeralContainers", "volumes"];
    matches!(path, [.., Step::Key(parent), Step::Key(list)] if **parent == *"spec" && LISTS.contains(&&**list))
}
