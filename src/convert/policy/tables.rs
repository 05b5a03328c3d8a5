//! Steps that set one field after another where it is missing, as a table of fields and values.
//!
//! `[add c/a b.?a.orValue(1), add c/d b.?d.orValue(2), …]` is
//! `{"a": 1, "d": 2, …}.transformList(field, value, add c/field b[?field].orValue(value))`.

use crate::convert::cel_text::{Cel, Entry, Operator, joined_lists};

/// So many fields are worth a table.
const MIN_FIELDS: usize = 3;

const FIELD: &str = "field";
const VALUE: &str = "value";

/// A field that a step sets to a value, if it is missing.
#[derive(PartialEq)]
struct Row {
    /// The place above the field in the JSON patch, with a `/` at the end.
    place: Cel,
    /// What has the field.
    of: Cel,
    field: String,
    value: Cel,
}

/// The steps of a JSON patch, with tables.
pub(super) fn with_tables(steps: &Cel) -> Cel {
    steps.rewritten(&|part| {
        let Cel::List(steps) = part else { return None };
        let mut lists: Vec<Cel> = Vec::new();
        let mut has_table = false;
        let mut rest = steps.as_slice();
        while let Some((step, others)) = rest.split_first() {
            let rows = rows(rest);
            if rows.len() >= MIN_FIELDS {
                has_table = true;
                rest = rest.get(rows.len()..).unwrap_or_default();
                lists.push(table(rows));
            } else {
                lists.push(Cel::List(vec![with_tables(step)]));
                rest = others;
            }
        }
        has_table.then(|| joined_lists(lists))
    })
}

/// The first steps that are rows of one table.
fn rows(steps: &[Cel]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for row in steps.iter().map_while(row) {
        let is_next = rows.first().is_none_or(|first| row.place == first.place && row.of == first.of);
        if !is_next || rows.iter().any(|before| before.field == row.field) {
            break;
        }
        rows.push(row);
    }
    rows
}

fn row(step: &Cel) -> Option<Row> {
    let step = step.as_step().filter(|step| step.op == "add")?;
    let (place, field) = split(step.path)?;
    let Cel::Call { of: Some(value), name: "orValue", arguments } = step.value? else { return None };
    let (Cel::Member { of, name, .. }, [default]) = (&**value, arguments.as_slice()) else { return None };
    let uses = |part: &Cel| [FIELD, VALUE].iter().any(|name| part.is_free(name));
    let is_literal = default.as_text().is_some() || matches!(default, Cel::Atom(text) if is_scalar(text));
    let row = Row { place, of: (**of).clone(), field, value: default.clone() };
    (is_literal && *name == row.field && !uses(&row.place) && !uses(&row.of)).then_some(row)
}

fn is_scalar(text: &str) -> bool {
    matches!(text, "true" | "false") || text.parse::<i64>().is_ok()
}

/// The place of a field without its name.
fn split(place: &Cel) -> Option<(Cel, String)> {
    let of_text = |text: &str| {
        let (above, field) = text.rsplit_once('/')?;
        let is_plain = !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_plain.then(|| (Cel::text(format!("{above}/")), field.to_owned()))
    };
    match place {
        Cel::Text(text) => of_text(text),
        Cel::Chain { operator: Operator::Plus, operands } => {
            let (last, first) = operands.split_last()?;
            let (last, field) = of_text(last.as_text()?)?;
            let place = Cel::joined(Operator::Plus, first.iter().cloned().chain([last]).collect());
            Some((place, field))
        }
        _ => None,
    }
}

fn table(rows: Vec<Row>) -> Cel {
    let kind = |value: &Cel| {
        (value.as_text().is_some(), matches!(value, Cel::Atom(text) if text.parse::<i64>().is_ok()))
    };
    let is_of_one_type = rows.windows(2).all(|pair| kind(&pair[0].value) == kind(&pair[1].value));
    let [field, value] = [FIELD, VALUE].map(Cel::atom);
    let step = rows.first().map(|row| {
        let of_object =
            Cel::Index { of: Box::new(row.of.clone()), key: Box::new(field.clone()), optional: true };
        let place = Cel::joined(Operator::Plus, vec![row.place.clone(), field.clone()]);
        Cel::patch("add", place, Some(of_object.or_value(value.clone())))
    });
    let entry = |row: Row| {
        let value = if is_of_one_type { row.value } else { Cel::function("dyn", [row.value]) };
        Entry { key: Cel::text(row.field), value, optional: false }
    };
    let entries = rows.into_iter().map(entry).collect();
    let arguments: Vec<Cel> = [field, value].into_iter().chain(step).collect();
    Cel::Map(entries).call("transformList", arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(field: &str, value: Cel) -> Cel {
        let of = Cel::atom("object").maybe("spec").member(field);
        Cel::patch("add", Cel::text(format!("/spec/{field}")), Some(of.or_value(value)))
    }

    #[test]
    fn fields_that_are_set_where_they_are_missing_are_a_table() {
        let create = Cel::patch("add", Cel::text("/spec"), Some(Cel::Map(Vec::new())));
        let steps = vec![create, add("a", Cel::bool(true)), add("b", Cel::int(1)), add("c", Cel::text("x"))];
        assert_eq!(
            with_tables(&Cel::List(steps.clone())).to_string(),
            "[JSONPatch{op: \"add\", path: \"/spec\", value: {}}] + \
             {\"a\": dyn(true), \"b\": dyn(1), \"c\": dyn(\"x\")}.transformList(field, value, \
             JSONPatch{op: \"add\", path: \"/spec/\" + field, value: object.?spec[?field].orValue(value)})"
        );
        // Two are not worth it, and a field that is set twice is in no table.
        let few = Cel::List(steps[..3].to_vec());
        assert_eq!(with_tables(&few), few);
        let twice = Cel::List(vec![add("a", Cel::int(1)), add("b", Cel::int(1)), add("a", Cel::int(2))]);
        assert_eq!(with_tables(&twice), twice);
    }
}
