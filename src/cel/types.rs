//! Types, and when one can be used as another.

use std::fmt;
use std::sync::Arc;

use crate::value::Text;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Not known before evaluation.
    Dyn,
    /// Of an expression that is refused.
    Error,
    /// Null.
    Null,
    /// A boolean.
    Bool,
    /// A signed number of 64 bits.
    Int,
    /// An unsigned number of 64 bits.
    Uint,
    /// A floating-point number.
    Double,
    /// A text.
    String,
    /// Bytes.
    Bytes,
    /// A span of time.
    Duration,
    /// A point in time.
    Timestamp,
    /// A list of values of one type.
    List(Arc<Self>),
    /// A map with keys and values of one type each.
    Map(Arc<(Self, Self)>),
    /// A value that may be absent.
    Optional(Arc<Self>),
    /// A type as a value.
    Type(Option<Arc<Self>>),
    /// A type with a name: a message, or an opaque type of a library.
    Named(Text),
    /// A parameter of a signature, by number.
    Param(u8),
    /// A type that is still to be found, by number.
    Var(u32),
}

impl Type {
    /// A list of a type.
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// A map from a type to a type.
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// An optional value of a type.
    pub fn optional(value: Self) -> Self {
        Self::Optional(Arc::new(value))
    }

    /// A type with a name.
    pub fn named(name: &str) -> Self {
        Self::Named(name.into())
    }

    pub(super) const fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The type inside an optional type, or the type itself; and whether it was optional.
    pub(super) fn unwrapped(&self) -> (&Self, bool) {
        if let Self::Optional(inner) = self { (inner, true) } else { (self, false) }
    }

    /// Whether it has more parts than any honest expression needs; sharing makes such types easy to write.
    pub(super) fn is_large(&self) -> bool {
        fn spend(t: &Type, left: &mut usize) -> bool {
            *left -= 1;
            if *left == 0 {
                return true;
            }
            match t {
                Type::List(inner) | Type::Optional(inner) | Type::Type(Some(inner)) => spend(inner, left),
                Type::Map(entry) => spend(&entry.0, left) || spend(&entry.1, left),
                _ => false,
            }
        }
        spend(self, &mut 1000)
    }

    fn has_vars(&self) -> bool {
        match self {
            Self::Var(_) => true,
            Self::List(inner) | Self::Optional(inner) | Self::Type(Some(inner)) => inner.has_vars(),
            Self::Map(entry) => entry.0.has_vars() || entry.1.has_vars(),
            _ => false,
        }
    }

    const fn is_nullable(&self) -> bool {
        matches!(self, Self::Optional(_) | Self::Named(_) | Self::Duration | Self::Timestamp)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dyn => "dyn",
            Self::Error => "!error!",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "duration",
            Self::Timestamp => "timestamp",
            Self::List(element) => return write!(f, "list({element})"),
            Self::Map(entry) => return write!(f, "map({}, {})", entry.0, entry.1),
            Self::Optional(value) => return write!(f, "optional_type({value})"),
            Self::Type(None) => "type",
            Self::Type(Some(inner)) => return write!(f, "type({inner})"),
            Self::Named(name) => name,
            Self::Param(number) => return write!(f, "{}", char::from(b'A' + number % 26)),
            Self::Var(_) => "dyn",
        })
    }
}

/// What the types that are still to be found are bound to.
#[derive(Default)]
pub(super) struct Unifier {
    bound: Vec<Option<Type>>,
    /// What was bound before, to take changes back.
    trail: Vec<(u32, Option<Type>)>,
}

impl Unifier {
    pub(super) fn fresh(&mut self) -> Type {
        let number = u32::try_from(self.bound.len()).unwrap_or(u32::MAX);
        self.bound.push(None);
        Type::Var(number)
    }

    /// A signature's type with its parameters as types to be found.
    pub(super) fn instance(&mut self, declared: &Type, params: &mut Vec<Option<Type>>) -> Type {
        match declared {
            Type::Param(number) => {
                let index = usize::from(*number);
                if params.len() <= index {
                    params.resize(index + 1, None);
                }
                params[index].get_or_insert_with(|| self.fresh()).clone()
            }
            Type::List(element) => Type::list(self.instance(element, params)),
            Type::Map(entry) => Type::map(self.instance(&entry.0, params), self.instance(&entry.1, params)),
            Type::Optional(value) => Type::optional(self.instance(value, params)),
            Type::Type(Some(inner)) => Type::Type(Some(Arc::new(self.instance(inner, params)))),
            other => other.clone(),
        }
    }

    fn find(&self, t: &Type) -> Option<&Type> {
        if let Type::Var(number) = t { self.bound.get(*number as usize)?.as_ref() } else { None }
    }

    fn bind(&mut self, var: &Type, t: Type) {
        if let Type::Var(number) = var
            && let Some(slot) = self.bound.get_mut(*number as usize)
        {
            self.trail.push((*number, slot.replace(t)));
        }
    }

    /// A type with all that is found; what is not becomes dyn if `finally`.
    pub(super) fn resolved(&self, t: &Type, finally: bool) -> Type {
        if let Some(found) = self.find(t) {
            return self.resolved(found, finally);
        }
        match t {
            _ if !t.has_vars() => t.clone(),
            Type::Var(_) if finally => Type::Dyn,
            Type::List(element) => Type::list(self.resolved(element, finally)),
            Type::Map(entry) => Type::map(self.resolved(&entry.0, finally), self.resolved(&entry.1, finally)),
            Type::Optional(value) => Type::optional(self.resolved(value, finally)),
            Type::Type(Some(inner)) => Type::Type(Some(Arc::new(self.resolved(inner, finally)))),
            other => other.clone(),
        }
    }

    /// Whether values of one type can be used as the other; binds what follows from it, or nothing.
    pub(super) fn is_assignable(&mut self, from: &Type, to: &Type) -> bool {
        self.all_assignable([(from, to)])
    }

    /// The same for several pairs, all or nothing.
    pub(super) fn all_assignable<'t>(
        &mut self,
        pairs: impl IntoIterator<Item = (&'t Type, &'t Type)>,
    ) -> bool {
        let mark = self.trail.len();
        for (from, to) in pairs {
            if !self.assign(from, to) {
                while self.trail.len() > mark {
                    if let Some((number, before)) = self.trail.pop() {
                        self.bound[number as usize] = before;
                    }
                }
                return false;
            }
        }
        self.trail.clear();
        true
    }

    fn assign(&mut self, from: &Type, to: &Type) -> bool {
        if matches!(to, Type::Var(_)) {
            match self.substitute(from, to) {
                Substitution::Valid => return true,
                Substitution::Contradicts => return false,
                Substitution::Occurs => {}
            }
        }
        if matches!(from, Type::Var(_)) {
            return matches!(self.substitute(to, from), Substitution::Valid);
        }
        if from.is_dyn_or_error() || to.is_dyn_or_error() {
            return true;
        }
        match (from, to) {
            (Type::Null, Type::Null) => true,
            (Type::Null, other) | (other, Type::Null) => other.is_nullable(),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.assign(a, b),
            (Type::Map(a), Type::Map(b)) => self.assign(&a.0, &b.0) && self.assign(&a.1, &b.1),
            _ => from == to,
        }
    }

    /// Whether a type can be what a type to be found is.
    fn substitute(&mut self, t: &Type, var: &Type) -> Substitution {
        if t == var {
            return Substitution::Valid;
        }
        if let Some(bound) = self.find(var).cloned() {
            if *t == bound {
                return Substitution::Valid;
            }
            if !self.assign(t, &bound) {
                return Substitution::Contradicts;
            }
            let general = if is_equal_or_less_specific(t, &bound) { t.clone() } else { bound };
            if !self.occurs(var, &general) {
                self.bind(var, general);
            }
            return Substitution::Valid;
        }
        if self.occurs(var, t) {
            return Substitution::Occurs;
        }
        self.bind(var, t.clone());
        Substitution::Valid
    }

    /// Whether a type to be found is part of another type.
    fn occurs(&self, var: &Type, within: &Type) -> bool {
        if var == within {
            return true;
        }
        match within {
            Type::Var(_) => self.find(within).is_some_and(|found| self.occurs(var, found)),
            Type::List(inner) | Type::Optional(inner) | Type::Type(Some(inner)) => self.occurs(var, inner),
            Type::Map(entry) => self.occurs(var, &entry.0) || self.occurs(var, &entry.1),
            _ => false,
        }
    }
}

enum Substitution {
    Valid,
    /// It is bound to something else already.
    Contradicts,
    /// It would contain itself.
    Occurs,
}

/// Whether the first type says no more than the second.
pub(super) fn is_equal_or_less_specific(first: &Type, second: &Type) -> bool {
    match (first, second) {
        (Type::Dyn | Type::Var(_), _) => true,
        (_, Type::Dyn | Type::Var(_)) => false,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => {
            is_equal_or_less_specific(a, b)
        }
        (Type::Map(a), Type::Map(b)) => {
            is_equal_or_less_specific(&a.0, &b.0) && is_equal_or_less_specific(&a.1, &b.1)
        }
        (Type::Type(_), Type::Type(_)) => true,
        _ => first == second,
    }
}
