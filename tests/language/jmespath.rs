//! The public compliance suite of the JMESPath project, and where Kyverno's dialect differs.
use std::{collections::BTreeMap, collections::BTreeSet, fs, path::Path, path::PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use kyv::jmespath::{EvalError, Expression, FixedClock, Runtime, SeededRandom, functions};
use kyv::semantics::DivergenceTracker;
use kyv::value::{JsonReader, Number, Value};
use proptest::prelude::*;

#[test]
fn compliance_suite_passes_except_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language/jmespath_cases");
    let mut listed = listed(&fs::read_to_string(folder.join("differences.txt")).unwrap());
    let mut faults = Vec::new();
    let mut passed = 0;
    for path in suites(&folder) {
        let name = path.file_stem().unwrap().display().to_string();
        let suite = JsonReader::new(&fs::read_to_string(&path).unwrap()).last_wins().read().unwrap();
        for group in suite.as_array().unwrap() {
            for case in group.get("cases").unwrap().as_array().unwrap() {
                let Some(expression) = case.get("expression").and_then(Value::as_str) else { continue };
                let key = format!("{name}\t{}", expression.escape_debug());
                let outcome = check(group.get("given").unwrap(), expression, case);
                match (outcome, listed.get_mut(&key)) {
                    (Ok(()), _) => passed += 1,
                    (Err(_), Some(differs)) => *differs = true,
                    (Err(fault), None) => faults.push(format!("{key}\t{fault}")),
                }
            }
        }
    }
    faults.extend(listed.iter().filter(|entry| !entry.1).map(|entry| format!("stale: {}", entry.0)));
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    assert!(passed > 700, "only {passed} cases were found");
}

#[test]
fn the_fuzz_dictionary_has_every_function() {
    let dictionary = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/dictionaries/jmespath.dict");
    let dictionary = fs::read_to_string(dictionary).unwrap();
    let words: BTreeSet<&str> = dictionary.lines().collect();
    let calls = functions().map(|signature| format!("\"{}(\"", signature.name));
    let missing: Vec<String> = calls.filter(|call| !words.contains(call.as_str())).collect();
    assert!(missing.is_empty(), "tests/fuzz/dictionaries/jmespath.dict lacks\n{}", missing.join("\n"));
}

/// The listed cases, each with whether it was seen to differ.
fn listed(text: &str) -> BTreeMap<String, bool> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let key = |line: &str| line.rsplit_once('\t').expect("suite, expression and reason").0.to_owned();
    lines.map(|line| (key(line), false)).collect()
}

fn suites(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of the suite").flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    files
}

fn check(given: &Value, expression: &str, case: &Value) -> Result<(), String> {
    let outcome = search(given, expression);
    match (outcome, case.get("result"), case.get("error").and_then(Value::as_str)) {
        (Ok(found), Some(wanted), _) if found == *wanted => Ok(()),
        (Ok(found), Some(wanted), _) => Err(format!("gives {}, not {}", found.to_json(), wanted.to_json())),
        (Err(Failure::Evaluation(error)), Some(wanted), _) => {
            Err(format!("fails with {error}, not {}", wanted.to_json()))
        }
        (Err(Failure::Syntax(error)), Some(_), _) => Err(format!("is refused: {error}")),
        (Err(Failure::Syntax(_)), _, Some("syntax")) => Ok(()),
        (Err(Failure::Evaluation(_)), _, Some(kind)) if kind != "syntax" => Ok(()),
        (Err(Failure::Syntax(_)), _, Some(kind)) => Err(format!("is refused, not {kind}")),
        (Ok(found), None, _) => Err(format!("gives {}, not an error", found.to_json())),
        (Err(fault), _, kind) => Err(format!("fails with {fault:?}, not {kind:?}")),
    }
}

#[derive(Debug)]
enum Failure {
    Syntax(String),
    Evaluation(EvalError),
}

fn search(given: &Value, text: &str) -> Result<Value, Failure> {
    let expression = Expression::parse(text);
    let expression = expression.map_err(|error| Failure::Syntax(error.original.unwrap_or(error.message)))?;
    let tracker = DivergenceTracker::default();
    let random = SeededRandom::new(0);
    let runtime = Runtime::new(&FixedClock::EPOCH, &random, &tracker);
    expression.search(given, &runtime).map_err(Failure::Evaluation)
}

/// The lines of `functions.txt`: a document, then expressions and Kyverno's results.
#[test]
fn functions_return_what_kyverno_returns() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language/jmespath_cases/functions.txt");
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let document = Value::from_json(lines.next().unwrap()).unwrap();
    let mut faults = Vec::new();
    let mut passed = 0;
    for line in lines {
        let (expression, expected) = line.rsplit_once(" => ").expect(line);
        let same = match (search(&document, expression), expected.strip_prefix("error: ")) {
            (Ok(found), None) => found == Value::from_json(expected).expect(line),
            (Err(Failure::Syntax(text)), Some(expected)) => text == expected,
            (Err(Failure::Evaluation(error)), Some(expected)) => {
                error.original().unwrap_or_else(|| error.to_string()) == expected
            }
            _ => false,
        };
        if same {
            passed += 1;
        } else {
            faults.push(format!("{line}\n    gives {:?}", search(&document, expression)));
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    assert!(passed > 600, "only {passed} lines were found");
}

/// Expressions as deep as the parser lets them be.
fn deepest() -> Vec<String> {
    let shapes = [
        ("(", "@", ")"),
        ("[", "@", "]"),
        ("{a:", "@", "}"),
        ("!", "@", ""),
        ("to_array(", "@", ")"),
        ("abs(", "`1`", ")"),
        ("map(&", "@", ", `[1]`)"),
        ("sort_by(`[1,2]`, &", "@", ")"),
        ("`[1]`[?", "@", "]"),
        ("", "@", "[]"),
        ("", "@", "[*]"),
        ("", "@", "[?@]"),
        ("", "@", " == @"),
        ("@[*].[", "@", "]"),
        ("@ | (@ || (@ && (", "@", ")))"),
    ];
    shapes
        .iter()
        .map(|(open, inner, close)| {
            let nested = |depth| format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
            let parses = |depth: &usize| Expression::parse(&nested(*depth)).is_ok();
            nested((1..256).rev().find(parses).expect("a depth that parses"))
        })
        .collect()
}

#[test]
fn deeply_nested_expressions_need_little_stack() {
    for size in [8, 2] {
        let work = || {
            for text in deepest() {
                for given in ["1", "[[[1]]]", r#"{"a":{"a":[1]}}"#] {
                    let _outcome = search(&Value::from_json(given).unwrap(), &text);
                }
            }
        };
        std::thread::Builder::new().stack_size(size << 20).spawn(work).unwrap().join().unwrap();
    }
}

#[test]
fn unbounded_expressions_hit_a_limit() {
    let twice = "[@,@] | ".repeat(5_000);
    let joined = "join('', [@,@]) | ".repeat(3_000);
    let deeper = "[@] | ".repeat(10_000);
    let each = "[*].[@,@,@,@]".repeat(100);
    let members: Vec<String> = (0..2000).map(|key| format!("k{key}: @")).collect();
    let merged = format!("{{{}}} | merge(@{})", members.join(", "), ", @".repeat(8_000));
    for (text, limit) in [
        (format!("{twice}@"), "result-bytes"),
        (merged, "steps"),
        (format!("'x' | {joined}@"), "result-bytes"),
        (format!("{deeper}@"), "result-depth"),
        (format!("`[1]`{each}"), "result-bytes"),
        (format!("`[1]`{}", "[]".repeat(200)), ""),
        (format!("({twice}@)[] || 'x'"), "result-bytes"),
        (
            format!("{}replace_all(@, '', @)", "'abcdefgh' | ".repeat(3))
                + &" | replace_all(@, '', @)".repeat(20),
            "result-bytes",
        ),
    ] {
        match (search(&Value::from(1), &text), limit) {
            (Ok(_), "") => {}
            (Err(Failure::Evaluation(error)), limit) if error.is_limit() => {
                assert!(error.to_string().contains(limit), "{limit}: {error}");
            }
            (outcome, _) => panic!("{}: {outcome:?}", &text[..40]),
        }
    }
}

#[test]
fn the_step_limit_is_shared_by_all_searches_of_a_runtime() {
    let items = format!("[{}]", vec!["1"; 1000].join(","));
    let given = Value::from_json(&items).unwrap();
    let expression = Expression::parse("map(&length(to_string(@)), @)").unwrap();
    let tracker = DivergenceTracker::default();
    let random = SeededRandom::new(0);
    let runtime = Runtime::new(&FixedClock::EPOCH, &random, &tracker);
    let passed = (0..1000).find_map(|_| expression.search(&given, &runtime).err()).unwrap();
    assert_eq!(passed.to_string(), "the evaluation exceeds the limit `steps` of 1000000");
}

#[test]
fn x509_decode_matches_kyverno() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language/jmespath_cases/x509");
    for name in ["certificate", "request"] {
        let read = |end| fs::read_to_string(folder.join(name).with_extension(end)).unwrap();
        let mut found = search(&Value::from(read("pem")), "x509_decode(@)").unwrap();
        let mut expected = Value::from_json(&read("expected")).unwrap();
        // Kyverno rounds the serial number to a float.
        let serial = [&mut found, &mut expected].map(|object| object.remove("SerialNumber"));
        let [found_serial, expected_serial] =
            serial.map(|serial| serial.map(|n| n.as_number().unwrap().as_f64()));
        assert_eq!(found_serial, expected_serial, "{name}");
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(found.get(key), Some(value), "{name}: {key}");
        }
        assert_eq!(found.as_object().unwrap().len(), expected.as_object().unwrap().len(), "{name}");
    }
}

fn word() -> impl Strategy<Value = String> {
    let words = [
        "a", "b", ".", "*", "[", "]", "[]", "[?", "{", "}", "(", ")", ",", ":", "|", "||", "&&", "&", "!",
        "==", "<", ">=", "@", "'x'", "`1`", "`[1,{}]`", "\"q\"", "0", "-1", "9", "abs(", "sort_by(", "map(&",
        "é", " ", "'", "`", "\"", "\\", "#", "items(", "length(",
    ];
    prop_oneof![proptest::sample::select(words.to_vec()).prop_map(str::to_owned), "[ -~]{0,3}"]
}

fn argument() -> impl Strategy<Value = Value> {
    let texts = [
        "",
        "a",
        "12Ki",
        "1h30m",
        "-5m",
        "2021-01-02T15:04:05Z",
        "2006-01-02",
        "[a-z]+(x)?",
        "(?i)$",
        "$1${2}",
        "nginx:1",
        ">=1.2.x || !3",
        "1.2.3-rc.1",
        "http://[::1]:80/%41?q#f",
        "YQ==",
        "{\"a\":[1]}",
        "a: [b]",
        "日本é",
        "1e400",
        "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|n| Number::from_f64(n).map_or(Value::Null, Value::Number)),
        proptest::sample::select(texts.to_vec()).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::array),
            proptest::collection::vec(("[a-c]", inner), 0..4).prop_map(Value::from_iter),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_expressions_do_not_panic(words in proptest::collection::vec(word(), 0..24)) {
        let _outcome = search(&Value::from_json(r#"{"a":[{"b":1},null],"b":"x"}"#).unwrap(), &words.concat());
    }

    #[test]
    fn random_arguments_do_not_panic(
        choice in any::<proptest::sample::Index>(),
        arguments in proptest::collection::vec(argument(), 4),
    ) {
        let all: Vec<_> = functions().collect();
        let signature = choice.get(&all);
        let count = signature.parameters.len().min(4);
        let parameters: Vec<_> = (0..count)
            .map(|index| match signature.parameters[index].as_str() {
                "expref" => "&a".to_owned(),
                _ => format!("[{index}]"),
            })
            .collect();
        let text = format!("{}({})", signature.name, parameters.join(", "));
        let _outcome = search(&Value::array(arguments), &text);
    }

    #[test]
    fn corrupted_certificates_do_not_panic(
        place in any::<proptest::sample::Index>(),
        with in any::<u8>(),
        name in proptest::sample::select(vec!["certificate", "request"]),
    ) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language/jmespath_cases/x509").join(name);
        let pem = fs::read_to_string(path.with_extension("pem")).unwrap();
        let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let mut bytes = STANDARD.decode(body).unwrap();
        let place = place.index(bytes.len());
        bytes[place] = with;
        let kind = pem.lines().next().unwrap();
        let damaged = format!("{kind}\n{}\n{}\n", STANDARD.encode(bytes), kind.replace("BEGIN", "END"));
        let _outcome = search(&Value::from(damaged), "x509_decode(@)");
    }
}
