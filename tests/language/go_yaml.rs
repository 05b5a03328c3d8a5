//! Against `sigs.k8s.io/yaml`, the library by which Kubernetes and Kyverno read and write YAML.
//! Runs when `KYV_REAL_PROGRAMS` is 1.

use std::path::PathBuf;
use std::sync::Arc;

use crate::go_yaml_texts::{KNOWN, PARTS, SCALARS, TEXTS};
use kyv::value::Value;
use kyv::yaml::{self, Limits, Source};
use serde_json::json;
use test_support::conformance_folder;
use test_support::files::files_below;
use test_support::go_yaml::ask;

/// Mode, input and Go's answer; checks the oracle itself.
#[test]
fn the_go_oracle_answers_known_questions() {
    if test_support::skip_without_real_programs("the Go oracle") {
        return;
    }
    let texts: &[(&str, &str, Result<&str, &str>)] = &[
        ("parse", "mode: 0755", Ok(r#"{"mode":493}"#)),
        ("parse", "on: yes", Ok(r#"{"true":true}"#)),
        ("parse", "n: 1", Ok(r#"{"false":1}"#)),
        ("parse", "big: 18446744073709551615", Ok(r#"{"big":18446744073709551615}"#)),
        ("parse", "a: 1\na: 2", Ok(r#"{"a":2}"#)),
        ("parse", "a: [", Err("yaml: line 1: did not find expected node content")),
        ("parse-strict", "a: 1\na: 2", Err("key \"a\" already set in map")),
        ("split", "a: 1\n---\nb: 2\n", Ok(r#"["a: 1\n","b: 2\n"]"#)),
    ];
    for (mode, text, expected) in texts {
        match (ask(mode, &[json!(text).to_string()]).remove(0), expected) {
            (Ok(answer), Ok(wanted)) => assert_eq!(*answer, **wanted, "{mode} {text:?}"),
            (Err(message), Err(part)) => assert!(message.contains(part), "{mode} {text:?}: {message}"),
            (answer, _) => panic!("{mode} {text:?}: {answer:?}"),
        }
    }
    let written = ask("emit", &[json!({"b": "yes", "a": 18_446_744_073_709_551_615_u64}).to_string()]);
    assert_eq!(written, [Ok(json!("a: 18446744073709551615\nb: \"yes\"\n").to_string().into())]);
}

#[test]
fn the_go_oracle_keeps_the_order_of_many_questions() {
    if test_support::skip_without_real_programs("the Go oracle in bulk") {
        return;
    }
    let questions: Vec<_> = (0..20_000).map(|n| json!(format!("count: {n}")).to_string()).collect();
    let expected: Vec<_> = (0..20_000).map(|n| Ok(json!({ "count": n }).to_string().into())).collect();
    assert!(ask("parse", &questions) == expected);
}

/// The value and the message of our own reader for a text of one document.
fn read(text: &str) -> Result<Value, String> {
    let source = Arc::new(Source::new("t", text));
    let documents = yaml::read(&source, &Limits::default())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let joined: String = documents.iter().map(yaml::Document::text).collect();
    assert_eq!(joined, text, "the texts of the documents are the text");
    match documents.len() {
        0 | 1 => Ok(documents.into_iter().next().and_then(yaml::Document::into_value).unwrap_or_default()),
        count => Err(format!("{count} documents")),
    }
}

/// Equal, where Go has floats within the precision of one.
fn same_value(ours: &Value, go: &Value) -> bool {
    match (ours, go) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64() && a.as_i64().is_none(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_value(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same_value(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Compares readings; `known` differences must be there where they are expected to be.
fn compare(
    mode: &str,
    texts: &[String],
    asked: impl Fn(&str) -> String,
    ours: impl Fn(&str) -> Result<Value, String>,
) {
    let questions: Vec<_> = texts.iter().map(|text| json!(asked(text)).to_string()).collect();
    let mut faults = Vec::new();
    for (text, go) in texts.iter().zip(ask(mode, &questions)) {
        let go = go.map(|json| Value::from_json(&json).expect("Go writes JSON"));
        let ours = ours(text);
        let same = match (&ours, &go) {
            (Ok(ours), Ok(go)) => same_value(ours, go),
            (ours, go) => ours.is_err() && go.is_err(),
        };
        let known = KNOWN.iter().any(|(known, _)| known == text);
        if same == known && !(known && mode == "parse") {
            let shown = |value: Result<Value, String>| value.map(|value| value.to_json());
            faults.push(format!("{text:?}\n  ours {:?}\n  Go   {:?}", shown(ours), shown(go)));
        }
    }
    assert!(faults.is_empty(), "{mode}: {} of {} differ:\n{}", faults.len(), texts.len(), faults.join("\n"));
}

#[test]
fn texts_are_read_like_go() {
    if test_support::skip_without_real_programs("YAML read as Go reads it") {
        return;
    }
    let mut texts: Vec<String> = TEXTS.iter().map(ToString::to_string).collect();
    for scalar in SCALARS {
        for (before, after) in [
            ("a: ", ""),
            ("", ": a"),
            ("- ", "\n"),
            ("[", "]"),
            ("{", ": a}"),
            ("{a: ", "}"),
            ("a: '", "'"),
            ("a: \"", "\""),
            ("'", "': a"),
            ("a: !!str ", ""),
            ("a: !x ", ""),
            ("a: |-\n  ", ""),
            ("a: ", " # c"),
            ("? ", "\n: a"),
            ("a: &x ", "\nb: *x"),
        ] {
            texts.push(format!("{before}{scalar}{after}"));
        }
    }
    // kubectl and Kyverno break the last line of a stream themselves before the library sees it.
    let broken = |text: &str| if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    compare("parse-strict", &texts, broken, read);
    compare("parse", &texts, str::to_owned, |text| {
        yaml::parse_value(text).map_err(|error| error.to_string())
    });
}

/// Strings and keys of many kinds, each in several places of an object.
fn values() -> Vec<Value> {
    let mut texts: Vec<String> = SCALARS.iter().map(ToString::to_string).collect();
    for first in PARTS {
        for second in PARTS {
            texts.push(format!("{first}{second}"));
            texts.push(format!("{first}a{second}"));
            texts.push(format!("a{first}{second}b"));
            texts.push(format!("{first}\n{second}"));
            texts.push(format!("x\n{first}{second}\ny\n"));
            texts.push(format!("{first}x\n{second}y\n\n"));
        }
    }
    texts.push("k".repeat(2000));
    texts.push(format!("{}: {}", "k".repeat(900), "v".repeat(5000)));
    let placed = texts.iter().map(|text| {
        let text = Value::from(text.as_str());
        let key = text.as_str().expect("a string");
        let inner = Value::from_iter([(key, Value::from(1)), ("z", text.clone())]);
        let list =
            Value::array(vec![text.clone(), Value::array(vec![text.clone(), inner.clone()]), inner.clone()]);
        Value::from_iter([("a", text.clone()), ("b", list), (key, inner), ("c", text.clone())])
    });
    let numbers = SCALARS.iter().map(|text| yaml::resolve(text)).filter(|value| value.as_number().is_some());
    placed.chain(numbers.map(|number| Value::from_iter([("n", number)]))).collect()
}

#[test]
fn printed_yaml_is_read_by_go() {
    if test_support::skip_without_real_programs("YAML printed and read by Go") {
        return;
    }
    let values = values();
    let printed = |value: &Value| {
        let mut out = String::new();
        yaml::print(value, &mut out);
        out
    };
    let texts: Vec<_> = values.iter().map(printed).collect();
    let questions: Vec<_> = texts.iter().map(|text| json!(text).to_string()).collect();
    for ((value, text), go) in values.iter().zip(&texts).zip(ask("parse-strict", &questions)) {
        let go = go.unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let go = Value::from_json(&go).expect("Go writes JSON");
        assert!(same_value(value, &go), "{text:?}\n{}\n{}", value.to_json(), go.to_json());
        let ours = read(text).unwrap_or_else(|error| panic!("{error}"));
        assert!(ours == *value, "{text:?}\n{}\n{}", value.to_json(), ours.to_json());
    }
}

#[test]
fn yaml_printed_by_go_is_read() {
    if test_support::skip_without_real_programs("YAML printed by Go and read by us") {
        return;
    }
    // Go writes the first two without escapes and the third without quotes, and does not read them back.
    let lost =
        |value: &Value| ["\u{85}", "\u{7f}", "\"<<\":"].iter().any(|part| value.to_json().contains(part));
    let values: Vec<_> = values().into_iter().filter(|value| !lost(value)).collect();
    let questions: Vec<_> = values.iter().map(Value::to_json).collect();
    let mut read_back = 0;
    for (value, go) in values.iter().zip(ask("emit", &questions)) {
        // Go takes JSON for YAML here, and refuses some of its characters.
        let Ok(go) = go else { continue };
        let text: String = serde_json::from_str(&go).expect("a JSON string");
        let ours = read(&text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert!(same_value(value, &ours), "{text:?}\n{}\n{}", value.to_json(), ours.to_json());
        read_back += 1;
    }
    assert!(read_back > 5000, "only {read_back} values were printed");
}

/// Reads every YAML file below the folder that `KYV_CONFORMANCE` names, as Go and as we do.
#[test]
fn conformance_files_are_read_like_go() {
    if test_support::skip_without_real_programs("YAML files read as Go reads them") {
        return;
    }
    let Some(folder) = conformance_folder("Kyverno's YAML files read as Go reads them") else { return };
    let files = files_below(&folder, &["yaml", "yml"]);
    let texts: Vec<(PathBuf, String)> = files
        .into_iter()
        .filter_map(|path| Some((path.clone(), String::from_utf8(std::fs::read(path).ok()?).ok()?)))
        .collect();
    let streams: Vec<_> = texts.iter().map(|(_, text)| json!(text).to_string()).collect();
    let parts: Vec<Result<Vec<String>, String>> = ask("split", &streams)
        .into_iter()
        .map(|parts| parts.map(|parts| serde_json::from_str(&parts).expect("a list of texts")))
        .collect();
    let questions: Vec<_> = parts.iter().flatten().flatten().map(|part| json!(part).to_string()).collect();
    let mut values = ask("parse-strict", &questions).into_iter();
    let mut faults = Vec::new();
    let mut documents = 0;
    for ((path, text), parts) in texts.iter().zip(parts) {
        let ours =
            yaml::read(&Arc::new(Source::new(path.display().to_string(), text.as_str())), &Limits::default());
        // All answers of a file are taken, also behind an error.
        let answers = |parts: Vec<String>| values.by_ref().take(parts.len()).collect::<Vec<_>>();
        let go = parts.map(answers).and_then(|answers| answers.into_iter().collect::<Result<Vec<_>, _>>());
        let go = go.map(|values| {
            let values = values.iter().map(|value| Value::from_json(value).expect("Go writes JSON"));
            values.filter(|value| !value.is_null()).collect::<Vec<_>>()
        });
        match (ours, go) {
            (Ok(ours), Ok(go)) => {
                let joined: String = ours.iter().map(yaml::Document::text).collect();
                assert!(joined == *text, "{}: the documents' texts are not the file", path.display());
                let ours: Vec<_> =
                    ours.iter().filter_map(yaml::Document::value).filter(|v| !v.is_null()).collect();
                documents += ours.len();
                if ours.len() != go.len() || !ours.iter().zip(&go).all(|(ours, go)| same_value(ours, go)) {
                    faults.push(format!(
                        "{}: another value ({} and {} documents)",
                        path.display(),
                        ours.len(),
                        go.len()
                    ));
                }
            }
            (Err(_), Err(_)) => {}
            (Err(ours), Ok(_)) => faults.push(format!("only Go reads {}", ours[0])),
            (Ok(_), Err(go)) => faults.push(format!("only we read {}: {go}", path.display())),
        }
    }
    eprintln!("{} files, {documents} documents", texts.len());
    assert!(faults.is_empty(), "{} differ:\n{}", faults.len(), faults.join("\n"));
}
