//! The proofs of pairs as text, JSON and Markdown.

use std::fmt::Write as _;

use crate::proof::{Answer, Answers, Case, Counterexample, DifferenceKind, Proof, Trap};
use crate::render::{
    counted, fenced, markdown_text, mask_beside, object_diff, printable, printable_json, thousands,
};
use crate::semantics::DivergenceSet;
use crate::value::{ChangeKind, GroupVersionKind, Number, Value, changes, shortened};
use crate::yaml;

use super::checked::{Checked, Verdict};

/// How many changes of a result are shown.
const MAX_CHANGES: usize = 6;
/// How long a value is shown.
const MAX_CHARS: usize = 160;

/// What is said where no object is changed.
pub(super) const WITHOUT_CHANGE: &str =
    "  no object shows that both make the same change: give some that the rules change, with -f";

/// A line for each pair, and a block for each counterexample.
pub(super) fn text(all: &[Checked]) -> String {
    let mut out = String::new();
    for checked in all {
        let _ = writeln!(out, "{}: {}", checked.name, summary(checked));
        if checked.is_without_change() {
            let _ = writeln!(out, "{WITHOUT_CHANGE}");
        }
        for counterexample in checked.shown() {
            let _ = write!(out, "\n{}", block(&checked.name, counterexample));
        }
        if checked.proof.only_written > 0 {
            let _ = writeln!(
                out,
                "  {} would differ if policies saw manifests as they are written, without the defaults of the API server",
                counted(checked.proof.only_written, "object")
            );
            for counterexample in &checked.proof.as_written {
                let _ = write!(out, "\n{}", block(&format!("{}, as written", checked.name), counterexample));
            }
        }
        for why in &checked.proof.unknown {
            let _ = writeln!(out, "  not compared: {why}");
        }
        for condition in checked.proof.coverage.missing() {
            let _ = writeln!(out, "  condition not covered: {condition}");
        }
    }
    printable(&out)
}

/// `equal on 214 objects (61 matched, 60 changed; conditions covered: all)`.
pub(super) fn summary(checked: &Checked) -> String {
    let Proof { requests, matched, changed, refused, coverage, stopped_early, .. } = &checked.proof;
    let refused =
        if *refused > 0 { format!(", {} refused by both", thousands(*refused)) } else { String::new() };
    let accepted = if checked.accepted.is_empty() {
        String::new()
    } else {
        format!("; accepted: {}", checked.accepted.join(", "))
    };
    let stopped = if *stopped_early { "; stopped early at the limit of work" } else { "" };
    let objects =
        if *requests == 1 { "1 object".to_owned() } else { format!("{} objects", thousands(*requests)) };
    let verdict = match checked.verdict {
        Verdict::NotCompared if *requests > 0 => "compared only in part,".to_owned(),
        _ => checked.words(),
    };
    format!(
        "{verdict} on {objects} ({} matched, {} changed{refused}; conditions covered: {coverage}{accepted}{stopped})",
        thousands(*matched),
        thousands(*changed),
    )
}

/// A counterexample as a block of lines.
fn block(name: &str, found: &Counterexample) -> String {
    let mut out = format!("{name}: {}", found.kind);
    if found.requests > 1 {
        let _ = write!(out, " ({} objects)", thousands(found.requests));
    }
    out.push('\n');
    for (label, text) in lines(&masked(found)) {
        let _ = writeln!(out, "  {label:<8} {text}");
    }
    if let (Answer::Admitted(old), Answer::Admitted(new)) = (&found.old, &found.new)
        && found.kind.is_of_results()
    {
        out.push_str("  diff     from OLD to NEW\n");
        object_diff(old, new, found.secrets.as_ref()).lines().for_each(|line| {
            let _ = writeln!(out, "    {line}");
        });
    }
    out
}

/// A counterexample without the values of Secrets, unless they are generated.
fn masked(found: &Counterexample) -> Counterexample {
    let mut masked = found.clone();
    let Some(secrets) = &found.secrets else { return masked };
    let both = |one: &Value, other: &Value| mask_beside(one, other, secrets);
    let alone = |object: &Value| both(object, object).before;
    let answer = |before: &Value, answer: &Answer| match answer {
        Answer::Admitted(after) => Answer::Admitted(both(before, after).after),
        Answer::Denied { rule, message, code } => {
            let message = both(before, before).message(message);
            Answer::Denied { rule: rule.clone(), message, code: *code }
        }
        Answer::Unknown(why) => Answer::Unknown(both(before, before).message(why)),
    };
    masked.old = answer(&found.before, &found.old);
    masked.new = answer(&found.before, &found.new);
    masked.case.object = alone(&found.case.object);
    masked.case.old = found.case.old.as_ref().map(alone);
    masked.before = alone(&found.before);
    masked
}

/// The lines of a counterexample with their labels.
fn lines(found: &Counterexample) -> Vec<(&'static str, String)> {
    let case = &found.case;
    let mut lines = vec![("object", format!("{}   ({})", shown_object(&case.object), case.origin))];
    lines.extend(request_of(case).into_iter().map(|text| ("request", text)));
    if found.kind == DifferenceKind::Targets {
        lines.push(("target", shown_object(&found.before)));
    }
    lines.push(("OLD", answer(&found.before, &found.old, &found.old_reasons)));
    let new = answer(&found.before, &found.new, &found.new_reasons);
    lines.push((
        "NEW",
        match &found.divergences {
            Some(divergences) => format!("{new}   (in Kyverno 1.19{})", numbers(*divergences)),
            None => new,
        },
    ));
    if !found.traps.is_empty() {
        let all = |text: fn(Trap) -> &'static str| {
            found.traps.iter().map(|trap| text(*trap)).collect::<Vec<_>>().join("; ")
        };
        lines.push(("trap", all(Trap::what)));
        lines.push(("try", all(Trap::cure)));
    }
    lines
}

/// The numbers of divergences: `, KYV-D71`.
fn numbers(divergences: DivergenceSet) -> String {
    divergences.iter().map(|divergence| format!(", {divergence}")).collect()
}

/// An object without what every object has: `Pod: {spec: {…}}`.
pub(super) fn shown_object(object: &Value) -> String {
    let kind = GroupVersionKind::of(object).map(|kind| kind.kind.to_string()).unwrap_or_default();
    let mut rest = object.clone();
    for field in ["apiVersion", "kind"] {
        rest.remove(field);
    }
    let is_plain = rest.path(&["metadata", "name"]).and_then(Value::as_str) == Some("a");
    if is_plain && let Some(metadata) = rest.as_object_mut().and_then(|members| members.get_mut("metadata")) {
        metadata.remove("name");
        if metadata.as_object().is_some_and(|members| members.is_empty()) {
            rest.remove("metadata");
        }
    }
    format!("{kind}: {}", flow(&rest))
}

/// What is special about a request beside its object.
fn request_of(case: &Case) -> Option<String> {
    let mut parts = Vec::new();
    if case.is_deletion {
        parts.push("DELETE".to_owned());
    }
    if let Some(old) = &case.old {
        let what = if *old == case.object { "the same object".to_owned() } else { shown_object(old) };
        parts.push(format!("UPDATE of {what}"));
    }
    if let Some(user) = &case.user_name {
        parts.push(format!("user {user}"));
    }
    if case.namespace_labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        parts.push(format!("labels of the namespace: {}", flow(&case.namespace_labels)));
    }
    match case.answers {
        Answers::Present => {}
        Answers::Empty => parts.push("what is looked up is empty".to_owned()),
        Answers::Absent => parts.push("what is looked up does not exist".to_owned()),
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What a side makes of the request.
fn answer(before: &Value, answer: &Answer, reasons: &[String]) -> String {
    match answer {
        Answer::Unknown(why) => format!("not known: {why}"),
        Answer::Denied { rule, message, .. } => {
            let message = shortened(message.lines().next().unwrap_or_default(), 2 * MAX_CHARS);
            format!("error: {rule}: {message} \u{2192} the request would be denied")
        }
        Answer::Admitted(after) => {
            let all = changes(before, after);
            if all.is_empty() {
                let reason = reasons.first().map_or_else(|| "no rule is for it".to_owned(), Clone::clone);
                return format!("unchanged: {}", shortened(&reason, MAX_CHARS));
            }
            let mut shown: Vec<String> = all.iter().take(MAX_CHANGES).map(shown_change).collect();
            if all.len() > MAX_CHANGES {
                shown.push(format!("and {} more", all.len() - MAX_CHANGES));
            }
            format!("changed: {}", shown.join(", "))
        }
    }
}

fn shown_change(change: &crate::value::Change) -> String {
    let value = |value: &Value| shortened(&flow(value), MAX_CHARS);
    match &change.kind {
        ChangeKind::Add(added) => format!("+ {}: {}", change.pointer, value(added)),
        ChangeKind::Remove(_) => format!("- {}", change.pointer),
        ChangeKind::Replace { before, after } => {
            format!("{}: {} \u{2192} {}", change.pointer, value(before), value(after))
        }
    }
}

/// A value as YAML on one line. Objects are not deep.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, member)| format!("{}: {}", scalar(key), flow(member))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) => scalar(text),
        other => other.to_json(),
    }
}

/// A string of a flow collection.
fn scalar(text: &str) -> String {
    let mut printed = String::new();
    yaml::print(&Value::from(text), &mut printed);
    let printed = printed.trim_end();
    let is_safe = !printed.contains(['\n', ',', '[', ']', '{', '}']) && !printed.starts_with(['|', '>']);
    if is_safe { printed.to_owned() } else { Value::from(text).to_json() }
}

/// The table of the pairs, and the counterexamples as details.
pub(super) fn markdown(all: &[Checked]) -> String {
    let mut out = String::from(
        "| pair | verdict | objects | matched | changed | smallest difference |\n|---|---|---|---|---|---|\n",
    );
    let plain = |text: &str| markdown_text(&shortened(text, 2 * MAX_CHARS).replace('\n', " "));
    let code = |text: &str| {
        let text = shortened(text, 2 * MAX_CHARS).replace('`', "'");
        format!("`{}`", text.replace('|', "\\|").replace('\n', " "))
    };
    for checked in all {
        let smallest = checked.shown().next();
        let smallest = smallest.map_or_else(
            || checked.proof.unknown.first().map(|why| plain(why)).unwrap_or_default(),
            |one| format!("{}: {}", one.kind, code(&shown_object(&one.case.object))),
        );
        let verdict = match &checked.verdict {
            Verdict::Differs { .. } => format!("**{}**", checked.verdict.words()),
            _ => checked.words().trim_end_matches(',').to_owned(),
        };
        let stopped = if checked.proof.stopped_early { ", stopped early" } else { "" };
        let _ = writeln!(
            out,
            "| {} | {verdict}{stopped} | {} | {} | {} | {smallest} |",
            plain(&checked.name),
            checked.proof.requests,
            checked.proof.matched,
            checked.proof.changed,
        );
    }
    for checked in all.iter().filter(|checked| checked.shown().next().is_some()) {
        let _ = write!(out, "\n### {}\n", plain(&checked.name));
        for counterexample in checked.shown() {
            let _ = write!(out, "\n{}", fenced("text", &block(&checked.name, counterexample)));
        }
    }
    printable(&out)
}

/// Everything, for programs.
pub(super) fn json(all: &[Checked]) -> String {
    let pairs = Value::array(all.iter().map(pair_json).collect());
    let report = Value::from_iter([("version", Value::from(1)), ("pairs", pairs)]);
    printable_json(report.to_pretty_json(2)) + "\n"
}

pub(super) fn pair_json(checked: &Checked) -> Value {
    let proof = &checked.proof;
    let texts = |texts: &[String]| Value::array(texts.iter().map(|text| Value::from(&**text)).collect());
    let names = |names: &[&str]| Value::array(names.iter().map(|name| Value::from(*name)).collect());
    let verdict = match &checked.verdict {
        Verdict::Equal => "equal",
        Verdict::EqualBut(_) => "equalBut",
        Verdict::Differs { .. } => "differs",
        Verdict::NotCompared => "notCompared",
    };
    let but = if let Verdict::EqualBut(names) = &checked.verdict { &**names } else { &[] };
    Value::from_iter([
        ("name", Value::from(&*checked.name)),
        ("verdict", Value::from(verdict)),
        ("refuses", Value::Bool(checked.verdict == Verdict::Differs { refuses: true })),
        ("differences", names(but)),
        ("accepted", names(&checked.accepted)),
        ("objects", number(proof.requests)),
        ("matched", number(proof.matched)),
        ("changed", number(proof.changed)),
        ("refusedByBoth", number(proof.refused)),
        ("onlyAsWritten", number(proof.only_written)),
        (
            "conditions",
            Value::from_iter([
                ("count", number(proof.coverage.count())),
                ("notCovered", texts(&proof.coverage.missing())),
            ]),
        ),
        ("stoppedEarly", Value::Bool(proof.stopped_early)),
        ("notCompared", texts(&proof.unknown)),
        ("counterexamples", Value::array(checked.shown().map(counterexample_json).collect())),
    ])
}

fn counterexample_json(found: &Counterexample) -> Value {
    let found = &masked(found);
    let case = &found.case;
    let optional = |value: &Option<Value>| value.clone().unwrap_or_default();
    Value::from_iter([
        ("difference", Value::string(found.kind.to_string())),
        ("objects", number(found.requests)),
        ("origin", Value::String(case.origin.clone())),
        ("object", case.object.clone()),
        ("oldObject", optional(&case.old)),
        ("isDeletion", Value::Bool(case.is_deletion)),
        ("user", case.user_name.clone().map(Value::String).unwrap_or_default()),
        ("namespaceLabels", case.namespace_labels.clone()),
        ("old", answer_json(&found.old)),
        ("new", answer_json(&found.new)),
        ("onlyInKyverno", Value::Bool(found.divergences.is_some())),
        ("traps", Value::array(found.traps.iter().map(|trap| Value::from(trap.what())).collect())),
        ("cures", Value::array(found.traps.iter().map(|trap| Value::from(trap.cure())).collect())),
    ])
}

fn answer_json(answer: &Answer) -> Value {
    match answer {
        Answer::Admitted(object) => {
            Value::from_iter([("outcome", Value::from("admitted")), ("object", object.clone())])
        }
        Answer::Denied { rule, message, .. } => Value::from_iter([
            ("outcome", Value::from("denied")),
            ("rule", Value::from(&**rule)),
            ("message", Value::from(&**message)),
        ]),
        Answer::Unknown(why) => {
            Value::from_iter([("outcome", Value::from("unknown")), ("message", Value::from(&**why))])
        }
    }
}

pub(super) fn number(count: usize) -> Value {
    Value::from(Number::from(i64::try_from(count).unwrap_or(i64::MAX)))
}
