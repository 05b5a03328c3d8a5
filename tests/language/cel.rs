//! CEL expressions: cases with what the API server and Kyverno make of them, and generated expressions compared with
//! both programs. The comparisons run when `KYV_REAL_PROGRAMS` is 1.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kyv::cel::{Activation, Dialect, Env, Meter, Numbers, Program, Type, Val, canonical};
use kyv::value::Value;
use serde_json::json;

use crate::cel_generator;

/// The variables of every case.
const VARIABLES: &str = include_str!("cel_cases/variables.json");

const DIALECTS: [(Dialect, &str, &str); 2] = [
    (Dialect::Kubernetes, "kubernetes.txt", "cel-oracle"),
    (Dialect::Kyverno, "kyverno.txt", "cel-oracle-kyverno"),
];

/// Functions that have values only in policies, or others at each call.
const OUTSIDE: [&str; 12] = [
    "time.now",
    "random",
    "etMetadata(",
    "globalContext.",
    "http.",
    "resource.",
    ".get(",
    ".post(",
    ".list(",
    ".Get(",
    ".Post(",
    ".List(",
];

/// What becomes of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Refused,
    /// Its type, and the cost in the API server.
    Failed(String, Option<u64>),
    /// Its type, its value, and the cost in the API server.
    Value(String, String, Option<u64>),
}

fn environment(dialect: Dialect) -> Env {
    let env = Env::policy(dialect).with_messages();
    match dialect {
        Dialect::Kubernetes => env.with_variable("params", Type::Dyn),
        Dialect::Kyverno => env,
    }
}

/// Our outcome, and the messages that go with it.
fn ours(dialect: Dialect, expression: &str) -> (Outcome, String) {
    let env = environment(dialect);
    let program = match Program::compile(&env, expression) {
        Ok(program) => program,
        Err(error) => return (Outcome::Refused, error.to_string()),
    };
    let mut activation = Activation::new(&env, &[]);
    let variables = Value::from_json(VARIABLES).unwrap();
    for (name, value) in variables.as_object().unwrap() {
        activation.set(name, Val::from_json(value, Numbers::Exact));
    }
    let mut meter = Meter::default();
    let result = program.evaluate(&activation, &mut meter);
    let cost = (dialect == Dialect::Kubernetes).then(|| meter.cost());
    let output = program.output().to_string();
    match result {
        Ok(value) => {
            let (estimate, counted) = (program.cost(), meter.cost());
            assert!(estimate.contains(counted), "{expression}: {counted} is not {estimate}");
            (Outcome::Value(output, canonical(&value), cost), String::new())
        }
        Err(error) => (Outcome::Failed(output, None), error.to_string()),
    }
}

/// The outcome in the real program, and its message.
fn theirs(dialect: Dialect, answer: &serde_json::Value) -> (Outcome, String) {
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    let cost = answer["cost"].as_u64().filter(|_| dialect == Dialect::Kubernetes);
    if !answer["refused"].is_null() {
        return (Outcome::Refused, text("refused"));
    }
    match answer["value"].as_str() {
        Some(value) => (Outcome::Value(text("type"), value.to_owned(), cost), String::new()),
        None => (Outcome::Failed(text("type"), None), text("failed")),
    }
}

fn question(expression: &str) -> serde_json::Value {
    let variables: serde_json::Value = serde_json::from_str(VARIABLES).unwrap();
    json!({ "expression": expression, "variables": variables })
}

fn cases_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language/cel_cases").join(name)
}

/// A case as the files have it: the expression, and the outcome below it, indented.
fn written(expression: &str, outcome: &Outcome) -> String {
    let mut text = format!("{expression}\n    ");
    let _ = match outcome {
        Outcome::Refused => write!(text, "refused"),
        Outcome::Failed(output, _) => write!(text, "{output} fails"),
        Outcome::Value(output, value, None) => write!(text, "{output} {value}"),
        Outcome::Value(output, value, Some(cost)) => write!(text, "{output} {value} costs {cost}"),
    };
    text + "\n"
}

/// Expressions and expected lines of a file of cases.
fn cases(name: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(cases_file(name)).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    lines.chunks(2).map(|pair| (pair[0].to_owned(), format!("{}\n{}\n", pair[0], pair[1]))).collect()
}

#[test]
fn expressions_become_what_the_real_programs_make_of_them() {
    let mut faults = String::new();
    for (dialect, file, _) in DIALECTS {
        let cases = cases(file);
        assert!(cases.len() > 400, "only {} cases", cases.len());
        for (expression, expected) in cases {
            let (outcome, message) = ours(dialect, &expression);
            let found = written(&expression, &outcome);
            if found != expected {
                let _ = writeln!(faults, "{file}: expected\n{expected}found\n{found}{message}");
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

/// `UPDATE=1` writes the outcomes of the real programs into the files of cases.
#[test]
fn the_cases_are_those_of_the_real_programs() {
    if test_support::skip_without_real_programs("CEL cases against the API server and Kyverno") {
        return;
    }
    for (dialect, file, oracle) in DIALECTS {
        let cases = cases(file);
        let questions: Vec<_> = cases.iter().map(|(expression, _)| question(expression)).collect();
        let answers = test_support::cel::ask(oracle, &questions);
        let real: Vec<String> = cases
            .iter()
            .zip(&answers)
            .map(|((expression, _), answer)| written(expression, &theirs(dialect, answer).0))
            .collect();
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(cases_file(file), real.concat()).unwrap();
            continue;
        }
        for ((_, expected), real) in cases.iter().zip(&real) {
            assert_eq!(expected, real, "{file}");
        }
    }
}

/// Known differences: the rights of `authorizer`, keys of maps that are no scalars, values of Kubernetes' libraries
/// inside of `Object{}`, which the real programs cannot show, and unknown fields of `JSONPatch{}`,
/// which Kyverno refuses late.
fn is_known(ours: &str, real: &(Outcome, String)) -> bool {
    let shown = format!("{real:?}");
    ours.contains("is not supported")
        || ours.contains("unsupported key type")
        || (ours.contains("undefined field") && shown.contains("unsupported "))
        || ["unsupported conversion to ref.Val", "not string)", "invalid qualifier type"]
            .iter()
            .any(|text| shown.contains(text))
}

#[test]
fn generated_expressions_have_the_outcomes_of_the_real_programs() {
    if test_support::skip_without_real_programs("generated CEL against the API server and Kyverno") {
        return;
    }
    let wanted = std::env::var("KYV_CEL_EXPRESSIONS").ok().and_then(|text| text.parse().ok());
    let count: u64 = wanted.unwrap_or(5_000);
    for (dialect, _, oracle) in DIALECTS {
        let expressions: Vec<String> = (0..count)
            .map(|seed| cel_generator::expression(dialect, seed))
            .filter(|expression| !OUTSIDE.iter().any(|name| expression.contains(name)))
            .collect();
        let questions: Vec<_> = expressions.iter().map(|expression| question(expression)).collect();
        let answers = test_support::cel::ask(oracle, &questions);
        let mut faults = Vec::new();
        let mut evaluated = 0_u64;
        for (expression, answer) in expressions.iter().zip(&answers) {
            let (mine, message) = ours(dialect, expression);
            let real = theirs(dialect, answer);
            evaluated += u64::from(!matches!(real.0, Outcome::Refused));
            if mine != real.0 && !is_known(&message, &real) {
                let (real, reason) = real;
                faults.push(format!("{expression}\n  ours: {mine:?} {message}\n  real: {real:?} {reason}"));
            }
        }
        test_support::log(&format!("{oracle}: {count} expressions, {evaluated} of them evaluated"));
        let shown = faults.iter().take(30).cloned().collect::<Vec<_>>().join("\n");
        assert!(faults.is_empty(), "{} of {count} differ\n{shown}", faults.len());
        assert!(evaluated * 4 > count, "only {evaluated} of {count} are evaluated");
    }
}

/// The public conformance tests of CEL. Those count that Kyverno itself passes: the others need protocol buffers, other
/// versions of extensions, or lists of mixed types.
#[test]
fn the_public_conformance_tests_pass() {
    if test_support::skip_without_real_programs("CEL's public conformance tests") {
        return;
    }
    let folder = test_support::module("cel-spec", "cel.dev/expr");
    let output = std::process::Command::new(test_support::tool("cel-spec")).arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let all: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_plain = |test: &&serde_json::Value| {
        test["message"] == false
            && test["container"] == ""
            && test["macros"] == true
            && !test["expression"].as_str().is_some_and(|text| text.contains("google.protobuf."))
            && test["variables"].as_object().is_some_and(serde_json::Map::is_empty)
    };
    let plain: Vec<&serde_json::Value> = all.iter().filter(is_plain).collect();
    let expression = |test: &serde_json::Value| test["expression"].as_str().unwrap().to_owned();
    let questions: Vec<_> = plain.iter().map(|test| question(&expression(test))).collect();
    let answers = test_support::cel::ask("cel-oracle-kyverno", &questions);
    let passes = |outcome: &Outcome, test: &serde_json::Value| match outcome {
        Outcome::Value(_, value, _) => test["fails"] == false && test["value"] == value.as_str(),
        Outcome::Refused | Outcome::Failed(..) => test["fails"] == true,
    };
    let (mut passed, mut faults) = (0, Vec::new());
    for (test, answer) in plain.iter().zip(&answers) {
        if !passes(&theirs(Dialect::Kyverno, answer).0, test) {
            continue;
        }
        let (outcome, message) = ours(Dialect::Kyverno, &expression(test));
        if passes(&outcome, test) {
            passed += 1;
        } else {
            faults.push(format!("{} {}: {outcome:?} {message}", test["file"], test["expression"]));
        }
    }
    let loaded = passed + faults.len();
    test_support::log(&format!(
        "CEL's conformance tests: {} in all, {} without variables and messages, {loaded} pass in Kyverno, {passed} of them here",
        all.len(),
        plain.len()
    ));
    let shown = faults.join("\n");
    assert!(loaded > 1_000 && passed * 100 >= loaded * 97, "{shown}");
    // Times near the end of the year 9999, and zones of places.
    let known = ["9999-12-31", "time zone"];
    let unknown: Vec<&String> =
        faults.iter().filter(|fault| !known.iter().any(|text| fault.contains(text))).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}
