//! What names mean in an expression.

use std::cell::RefCell;
use std::rc::Rc;

use crate::convert::cel_text::Cel;
use crate::convert::path::{Base, Path};
use crate::convert::problem::{Difference, Problem};
use crate::convert::ty::Ty;
use crate::convert::val::{Form, Val};

use super::{Translated, images};

/// What names mean at a place of a rule.
#[derive(Clone, Debug)]
pub(in crate::convert) struct Scope<'a> {
    /// The object of the request.
    pub(in crate::convert) object: Path<'a>,
    /// Members of the object that are elsewhere: those of a Pod template.
    pub(in crate::convert) moved: Vec<(&'static str, Path<'a>)>,
    /// Names of loops and of the context, the innermost last.
    bindings: Vec<(String, Val<'a>)>,
    /// The variables of the loops around.
    loops: Vec<String>,
    /// The indexes of the loops around, and their elements.
    visits: Vec<(String, Path<'a>)>,
    /// Whether the innermost loop visits several lists in one.
    is_joined: bool,
    /// The values of variables, in the order in which they were translated, and whether each may be missing.
    values: Rc<RefCell<Vec<(Cel, bool)>>>,
    /// Values of variables inside of variables.
    marks: Rc<RefCell<Vec<Val<'a>>>>,
    /// Whether the API server evaluates it.
    pub(in crate::convert) is_native: bool,
    /// Whether the object that is changed is a target, not the one of the request.
    pub(in crate::convert) is_targeted: bool,
    /// Whether the policy is one of a namespace.
    pub(in crate::convert) is_namespaced: bool,
    /// The differences that the user accepts.
    accepts: Rc<[Difference]>,
    /// Those that the rule has.
    pub(in crate::convert) accepted: Rc<RefCell<Vec<Difference>>>,
}

impl<'a> Scope<'a> {
    pub(in crate::convert) fn new(object: Path<'a>, is_native: bool, accepts: &[Difference]) -> Self {
        Self {
            object,
            moved: Vec::new(),
            bindings: Vec::new(),
            loops: Vec::new(),
            visits: Vec::new(),
            is_joined: false,
            values: Rc::default(),
            marks: Rc::default(),
            is_native,
            is_targeted: false,
            is_namespaced: false,
            accepts: accepts.into(),
            accepted: Rc::default(),
        }
    }

    /// Takes a difference if the user accepts it.
    pub(in crate::convert) fn accept(
        &self,
        difference: Difference,
        construct: &str,
        reason: &str,
    ) -> Result<(), Problem> {
        if !self.accepts.contains(&difference) {
            return Err(Problem::acceptable(difference, construct, reason));
        }
        let mut accepted = self.accepted.borrow_mut();
        if !accepted.contains(&difference) {
            accepted.push(difference);
        }
        Ok(())
    }

    pub(in crate::convert) fn accepts(&self, difference: Difference) -> bool {
        self.accepts.contains(&difference)
    }

    /// Where the object that is changed is a target.
    pub(in crate::convert) fn targeted(self) -> Self {
        Self { is_targeted: true, ..self }
    }

    /// Notes a value that an expression of the rule reads.
    pub(in crate::convert) fn note(&self, cel: Cel, fails: bool) {
        self.values.borrow_mut().push((cel, fails));
    }

    /// How many values were noted so far.
    pub(in crate::convert) fn noted(&self) -> usize {
        self.values.borrow().len()
    }

    /// The values noted since then, each once, and whether each may be missing.
    pub(in crate::convert) fn values_since(&self, start: usize) -> Vec<(Cel, bool)> {
        let mut found: Vec<(Cel, bool)> = Vec::new();
        for value in self.values.borrow().iter().skip(start) {
            if !found.contains(value) {
                found.push(value.clone());
            }
        }
        found
    }

    /// With a name.
    pub(in crate::convert) fn with(&self, name: impl Into<String>, value: Val<'a>) -> Self {
        let mut scope = self.clone();
        scope.bindings.push((name.into(), value));
        scope
    }

    /// In a loop with this variable.
    pub(in crate::convert) fn in_loop(&self, variable: &str) -> Self {
        let mut scope = self.clone();
        scope.loops.push(variable.to_owned());
        scope
    }

    pub(in crate::convert) fn loop_variables(&self) -> Vec<String> {
        self.loops.clone()
    }

    /// A member of the object.
    pub(in crate::convert) fn object_member(&self, name: &str) -> Path<'a> {
        let moved = self.moved.iter().find(|(member, _)| *member == name);
        moved.map_or_else(|| self.object.member(name), |(_, path)| path.clone())
    }

    /// In a loop whose index is this, and whose element that.
    pub(in crate::convert) fn visiting(&self, index: &str, element: Path<'a>) -> Self {
        let mut scope = self.clone();
        scope.visits.push((index.to_owned(), element));
        scope
    }

    /// In a loop over several lists in one.
    pub(in crate::convert) fn without_index(&self) -> Self {
        Self { is_joined: true, ..self.clone() }
    }

    /// The element with an index, if a loop visits it.
    pub(in crate::convert) fn visited(&self, index: &Cel) -> Option<Path<'a>> {
        let found = self.visits.iter().rev().find(|(name, _)| Cel::atom(&**name) == *index);
        found.map(|(_, path)| path.clone())
    }

    /// The value at the place of a text.
    pub(super) fn inline(&self) -> Option<Val<'a>> {
        self.bindings.iter().rev().find(|(name, _)| name == "@").map(|(_, value)| value.clone())
    }

    /// Keeps a value for an expression that contains another one.
    pub(super) fn keep(&self, value: Val<'a>) -> usize {
        let mut marks = self.marks.borrow_mut();
        marks.push(value);
        marks.len() - 1
    }

    pub(super) fn mark(&self, number: &str) -> Option<Val<'a>> {
        self.marks.borrow().get(number.parse::<usize>().ok()?).cloned()
    }

    /// What a name means by itself.
    pub(super) fn named(&self, name: &str, text: &str) -> Translated<'a> {
        Ok(self.path(name, &[], text)?.0)
    }

    /// What a name and the first of the names after it mean, and how many of these.
    pub(super) fn path(&self, name: &str, names: &[&str], text: &str) -> Result<(Val<'a>, usize), Problem> {
        if let Some(number) = name.strip_prefix(super::marks::MARK)
            && let Some(value) = self.mark(number)
        {
            return Ok((value, 0));
        }
        if let Some(number) = name.strip_prefix(super::marks::IMAGE_MARK)
            && let Some(image) = self.mark(number)
            && let Some(value) = names.first().and_then(|part| images::part(&image.strict(), part))
        {
            self.accept_images(text)?;
            return Ok((value, 1));
        }
        if let Some((_, value)) = self.bindings.iter().rev().find(|(bound, _)| bound == name) {
            return Ok((value.clone(), 0));
        }
        let unknown = |construct: &str, reason: &str, advice: &str| {
            Err(Problem::new(format!("{construct} in `{text}`"), reason, advice))
        };
        match name {
            "request" => self.request(names, text),
            "serviceAccountName" | "serviceAccountNamespace" => Ok((self.service_account(name), 0)),
            name if name.starts_with("elementIndex") && self.is_joined => unknown(
                "`elementIndex`",
                "it is the index in several lists joined to one, not the index in any of them",
                "visit each list by itself",
            ),
            "images" => {
                let spec =
                    self.moved.iter().find(|(member, _)| *member == "spec").map(|(_, path)| path.clone());
                let found = match (spec.or_else(|| self.object.pod_spec()), names) {
                    (Some(spec), [list, name, part, ..]) => images::of_container(&spec, list, name, part),
                    _ => None,
                };
                match found {
                    Some(value) => {
                        self.accept_images(text)?;
                        Ok((value, 3))
                    }
                    None => unknown(
                        "`images`",
                        "only the parts of one image are translated: `images.containers.NAME.registry`, `path`, `name`, \
                         `tag`, `digest` and `reference`",
                        "take them one by one, or keep the rule",
                    ),
                }
            }
            _ => unknown(
                &format!("the variable `{name}`"),
                "it is no variable of the request and no context entry",
                "correct the name",
            ),
        }
    }

    /// CEL takes the parts of any text.
    fn accept_images(&self, text: &str) -> Result<(), Problem> {
        let reason = "the classic rule fails on an object with an image that is no reference";
        self.accept(Difference::Errors, &format!("`images` in `{text}`"), reason)
    }

    fn request(&self, names: &[&str], text: &str) -> Result<(Val<'a>, usize), Problem> {
        let refuse = |construct: String, reason: &str| {
            Err(Problem::new(construct, reason, "rewrite the expression without it, or keep the rule"))
        };
        let Some((first, rest)) = names.split_first() else {
            return refuse(format!("the whole `request` in `{text}`"), "CEL has other fields there");
        };
        let request = |path: &[&str], ty: Ty<'a>| {
            let root = Path::new(Cel::atom("request"), Ty::Any, Base::Other);
            let mut value = path.iter().fold(root, |path, name| path.member(name));
            value.ty = ty;
            value
        };
        match *first {
            "object" => match rest.first() {
                Some(member) => Ok((Val::path(self.object_member(member)), 2)),
                None if self.moved.is_empty() => Ok((Val::path(self.object.clone()), 1)),
                None => refuse(
                    format!("the whole `request.object` in `{text}`"),
                    "it is another kind for each controller of Pods",
                ),
            },
            "oldObject" => refuse(
                format!("`request.oldObject` in `{text}`"),
                "it is null when an object is created, and an error or an empty map in CEL",
            ),
            "operation" => Ok((Val::sure(Cel::atom("request").member("operation"), Ty::WORD), 1)),
            "namespace" | "name" => Ok((Val::path(request(&[first], Ty::WORD)), 1)),
            "dryRun" => Ok((Val::path(request(&[first], Ty::Bool)), 1)),
            "subResource" => Ok((Val::path(request(&[first], Ty::WORD)), 1)),
            "userInfo" => match rest.first() {
                Some(&"username") => {
                    let name = Cel::atom("request").member("userInfo").member("username");
                    Ok((Val::sure(name, Ty::TEXT), 2))
                }
                Some(&"uid") => Ok((Val::path(request(&["userInfo", "uid"], Ty::TEXT)), 2)),
                Some(&"groups") => {
                    Ok((Val::path(request(&["userInfo", "groups"], Ty::List(Box::new(Ty::TEXT)))), 2))
                }
                _ => refuse(
                    format!("`request.userInfo` in `{text}`"),
                    "as a whole and in `extra` CEL has other types there",
                ),
            },
            "kind" | "resource" => match rest.first() {
                Some(part @ &("group" | "version" | "kind" | "resource")) => {
                    let part = Cel::atom("request").member(first).member(part);
                    Ok((Val::sure(part, Ty::WORD), 2))
                }
                _ => refuse(format!("the whole `request.{first}` in `{text}`"), "its text differs in CEL"),
            },
            "roles" | "clusterRoles" => refuse(
                format!("`request.{first}` in `{text}`"),
                "CEL policies do not get the roles of a user, and a look-up of all bindings needs rights of its own",
            ),
            other => refuse(format!("`request.{other}` in `{text}`"), "CEL has no such field of the request"),
        }
    }

    /// The parts of the name of a service account.
    fn service_account(&self, name: &str) -> Val<'a> {
        let user = || Cel::atom("request").member("userInfo").member("username");
        // `system:serviceaccount:` and at least one more colon.
        let parts = || user().call("split", [Cel::text(":")]);
        let index = if name == "serviceAccountNamespace" { 2 } else { 3 };
        let is_account = Cel::all(vec![
            user().call("startsWith", [Cel::text("system:serviceaccount:")]),
            parts().call("size", []).equals(Cel::int(4)),
        ]);
        let value = Cel::if_else(is_account, parts().index(Cel::int(index)), Cel::text(""));
        Val { form: Form::Sure { cel: value, fails: false }, ty: Ty::WORD }
    }
}

/// A name for the elements of a list that no loop around uses.
pub(in crate::convert) fn loop_variable(list: &str, used: &[String]) -> String {
    let singular = match list {
        "containers" | "initContainers" | "ephemeralContainers" => "container",
        "volumeMounts" => "mount",
        "env" => "entry",
        "tls" => "tls",
        "imagePullSecrets" => "secret",
        "addresses" => "address",
        "ingress" => "ingress",
        "status" | "metadata" | "data" | "" => "e",
        other => match other.strip_suffix("ies") {
            Some(stem) => &format!("{stem}y"),
            None => other.strip_suffix('s').unwrap_or("e"),
        },
    };
    const TAKEN: [&str; 9] =
        ["object", "oldObject", "request", "variables", "namespaceObject", "in", "i", "resource", "image"];
    let is_name = crate::convert::cel_text::is_identifier(singular) && !TAKEN.contains(&singular);
    let name = if is_name { singular } else { "e" };
    let taken = |name: &str| used.iter().any(|one| one == name);
    if !taken(name) {
        return name.to_owned();
    }
    (2..).map(|number| format!("{name}{number}")).find(|name| !taken(name)).unwrap_or_default()
}
