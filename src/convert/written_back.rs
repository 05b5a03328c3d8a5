//! Steps that create what is missing, as steps that always run: what is there is written again.
//!
//! `(!has(a.b) ? [add b {}] : []) + [add b/c x]` is `[add b a.?b.orValue({}), add b/c x]`.

use crate::value::escaped_token;

use super::cel_text::{Cel, Operator, Step, joined_lists};
use super::patches::{Name, names_of_place, starts_with};
use super::path::{AT, is_template};

/// The steps of a JSON patch, with those that only run where their place is missing as steps that always run. For objects
/// that hold no numbers beyond 2⁵³: these would become texts.
pub(super) fn with_written_back(steps: &Cel) -> Cel {
    Steps::default().rewritten(steps)
}

/// What is known at a step.
#[derive(Clone, Default)]
struct Steps {
    /// The indexes of the loops around, and the variables of their elements.
    loops: Vec<(Cel, Cel)>,
    /// The places that earlier steps write.
    written: Vec<Written>,
}

/// A place that a step writes.
#[derive(Clone)]
struct Written {
    names: Vec<Name>,
    /// Whether it creates what is missing, and leaves what is there.
    only_creates: bool,
}

impl Steps {
    fn rewritten(&mut self, steps: &Cel) -> Cel {
        match steps {
            Cel::Chain { operator: Operator::Plus, operands } => {
                // What creates comes first: no step before writes there.
                let (mut creating, mut others) = (Vec::new(), Vec::new());
                for operand in operands {
                    match self.written_back(operand) {
                        Some(step) => creating.push(step),
                        None => others.push(self.rewritten(operand)),
                    }
                }
                let creating = (!creating.is_empty()).then_some(Cel::List(creating));
                joined_lists(creating.into_iter().chain(others))
            }
            Cel::If { condition, then, otherwise } => {
                if let Some(step) = self.written_back(steps) {
                    return Cel::List(vec![step]);
                }
                let [then, otherwise] = [then, otherwise].map(|branch| self.rewritten(branch));
                Cel::if_else((**condition).clone(), then, otherwise)
            }
            Cel::Call { of: Some(list), name: "transformList", arguments } => {
                let ([index, variable, ..], Some((body, before))) =
                    (arguments.as_slice(), arguments.split_last())
                else {
                    return steps.clone();
                };
                self.loops.push((index.clone(), variable.clone()));
                let body = self.rewritten(body);
                self.loops.pop();
                let arguments: Vec<Cel> = before.iter().cloned().chain([body]).collect();
                (**list).clone().call("transformList", arguments)
            }
            Cel::Call { of: Some(lists), name: "flatten", .. } => self.rewritten(lists).flattened(),
            other => {
                self.write(other);
                other.clone()
            }
        }
    }

    /// Notes the places of steps that stay as they are.
    fn write(&mut self, steps: &Cel) {
        match steps.as_step() {
            Some(step) => {
                self.written.push(Written { names: names_of_place(step.path), only_creates: false });
            }
            None => steps.children().into_iter().for_each(|child| self.write(child)),
        }
    }

    /// `!has(a.b) ? [add b value] : []` as the step `add b a.?b.orValue(value)`.
    fn written_back(&mut self, steps: &Cel) -> Option<Cel> {
        let Cel::If { condition, then, otherwise } = steps else { return None };
        let (Cel::Not(test), Cel::List(steps), Cel::List(none)) = (&**condition, &**then, &**otherwise)
        else {
            return None;
        };
        let ([step], []) = (steps.as_slice(), none.as_slice()) else { return None };
        let Step { op: "add", path: place, value: Some(value) } = step.as_step()? else { return None };
        let path = test.tested_path()?;
        let names = names_of_place(place);
        let is_apart = |written: &Written| {
            let is_parent = written.only_creates && written.names.len() < names.len();
            is_parent || !overlap(&written.names, &names)
        };
        let is_once_each = self.loops.iter().all(|(index, _)| place.contains(index));
        if !(self.is_place_of(place, &path) && is_once_each && self.written.iter().all(is_apart)) {
            return None;
        }
        let step = Cel::patch("add", place.clone(), Some(path.or_value(value.clone())));
        self.written.push(Written { names, only_creates: true });
        Some(step)
    }

    /// Whether a path is read where a place is written.
    fn is_place_of(&self, place: &Cel, path: &Cel) -> bool {
        let Some((root, pointer)) = pointer(path) else { return false };
        let parts: &[Cel] = match place {
            Cel::Chain { operator: Operator::Plus, operands } => operands,
            one => std::slice::from_ref(one),
        };
        let Some((Cel::Text(last), above)) = parts.split_last() else { return false };
        let variables = Cel::atom("variables");
        match root {
            Cel::Atom(name) if name == "object" => above.is_empty() && *last == pointer,
            Cel::Member { of, name, .. } if **of == variables && is_template(name) => {
                above == [variables.member(AT)] && *last == pointer
            }
            element => {
                let index = self.loops.iter().rev().find(|(_, variable)| variable == element);
                let index = index.map(|(index, _)| Cel::function("string", [index.clone()]));
                above.last() == index.as_ref() && *last == pointer
            }
        }
    }
}

/// What a path begins with, and the JSON pointer below it.
fn pointer(path: &Cel) -> Option<(&Cel, String)> {
    let (of, name) = match path {
        Cel::Member { of, name, .. } => (of, name.as_str()),
        Cel::Index { of, key, .. } => (of, key.as_text()?),
        _ => return None,
    };
    let is_template = |cel: &Cel| matches!(cel, Cel::Member { of, name, .. } if **of == Cel::atom("variables") && is_template(name));
    let (root, above) = match &**of {
        root @ Cel::Atom(_) => (root, String::new()),
        root if is_template(root) => (root, String::new()),
        above => pointer(above)?,
    };
    Some((root, format!("{above}/{}", escaped_token(name))))
}

/// Whether two places may be the same, or one above the other.
fn overlap(one: &[Name], other: &[Name]) -> bool {
    starts_with(one, other) || starts_with(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(place: &str, value: Cel) -> Cel {
        Cel::patch("add", Cel::text(place), Some(value))
    }

    /// `!has(object.a.b) ? [add place {}] : []`.
    fn created(path: &[&str], place: &str) -> Cel {
        let path = path.iter().fold(Cel::atom("object"), |of, name| of.member(name));
        let missing = Cel::function("has", [path]).negated();
        Cel::if_else(missing, Cel::List(vec![add(place, Cel::Map(Vec::new()))]), Cel::List(Vec::new()))
    }

    fn list(steps: Vec<Cel>) -> Cel {
        Cel::List(steps)
    }

    #[test]
    fn what_is_there_is_written_again() {
        let steps = created(&["spec", "a"], "/spec/a").plus(list(vec![add("/spec/a/b", Cel::int(1))]));
        let expected = list(vec![
            add("/spec/a", Cel::atom("object").member("spec").maybe("a").or_value(Cel::Map(Vec::new()))),
            add("/spec/a/b", Cel::int(1)),
        ]);
        assert_eq!(with_written_back(&steps), expected);
    }

    #[test]
    fn what_an_earlier_step_wrote_is_not_taken_back() {
        let wrote = list(vec![add("/spec/a/b", Cel::int(1))]);
        let steps = wrote.plus(created(&["spec", "a"], "/spec/a"));
        assert_eq!(with_written_back(&steps), steps);
    }

    #[test]
    fn what_creates_comes_first() {
        let other = list(vec![add("/spec/c", Cel::int(1))]);
        let steps = other.plus(created(&["spec", "a"], "/spec/a"));
        let step =
            add("/spec/a", Cel::atom("object").member("spec").maybe("a").or_value(Cel::Map(Vec::new())));
        assert_eq!(with_written_back(&steps), list(vec![step, add("/spec/c", Cel::int(1))]));
    }

    #[test]
    fn a_condition_on_another_place_stays() {
        let steps = created(&["metadata", "a"], "/spec/a");
        assert_eq!(with_written_back(&steps), steps);
    }

    #[test]
    fn what_every_element_would_write_again_stays() {
        let element = Cel::atom("element");
        let visited = |body: Cel| {
            let arguments = [Cel::atom("i"), element.clone(), body];
            Cel::atom("list").call("transformList", arguments).call("flatten", [])
        };
        let of_object = visited(created(&["spec", "a"], "/spec/a"));
        assert_eq!(with_written_back(&of_object), of_object);
        let place = Cel::text("/list/").plus(Cel::function("string", [Cel::atom("i")])).plus(Cel::text("/a"));
        let step = |value| Cel::patch("add", place.clone(), Some(value));
        let empty = || Cel::Map(Vec::new());
        let missing = Cel::function("has", [element.clone().member("a")]).negated();
        let of_element = visited(Cel::if_else(missing, list(vec![step(empty())]), list(Vec::new())));
        let expected = Cel::atom("list").call(
            "transformList",
            [Cel::atom("i"), element.clone(), step(element.clone().maybe("a").or_value(empty()))],
        );
        assert_eq!(with_written_back(&of_element), expected);
    }
}
