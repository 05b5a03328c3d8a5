//! Seeds, made from the cases of the corpus: texts as they stand there, and choices at random.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, iter};

use kyv::jmespath;
use kyv::value::Value;
use kyv::variables::replace_variables;
use kyv::yaml;

/// What a larger text costs in speed it does not bring in ways through the program.
const LONGEST: usize = 16 * 1024;

/// Seeds for [`super::YAML`].
pub fn yaml(corpus: &Path) -> Vec<Vec<u8>> {
    let texts = cases(corpus).into_iter().flat_map(|case| [case.policy, case.input]);
    with_choices(texts.collect())
}

/// Seeds for [`super::POLICY`].
pub fn policy(corpus: &Path) -> Vec<Vec<u8>> {
    with_choices(documents(corpus).into_iter().map(|(policy, _)| policy.to_json()).collect())
}

/// Seeds for [`super::ENGINE`].
pub fn engine(corpus: &Path) -> Vec<Vec<u8>> {
    let pair = |(policy, object): (Value, Value)| format!("{}\0{}", policy.to_json(), object.to_json());
    with_choices(documents(corpus).into_iter().map(pair).collect())
}

/// Seeds for [`super::JMESPATH`].
pub fn jmespath(corpus: &Path) -> Vec<Vec<u8>> {
    let mut seeds = BTreeSet::new();
    for (policy, object) in documents(corpus) {
        let context = context(&object).to_json();
        for text in texts(&policy) {
            replace_variables(&text, |expression| {
                seeds.insert(format!("{expression}\0{context}"));
                String::new()
            });
        }
    }
    seeds.extend(
        jmespath::functions()
            .map(|function| format!("{}(a, b)\0{{\"a\": \"x\", \"b\": [1]}}", function.name)),
    );
    with_choices(seeds.into_iter().collect())
}

/// Seeds for [`super::CEL`]: the cases of the language.
pub fn cel(corpus: &Path) -> Vec<Vec<u8>> {
    let folder = corpus.with_file_name("language").join("cel_cases");
    let object =
        r#"{"metadata": {"name": "p", "labels": {"app": "x"}}, "spec": {"containers": [{"name": "a"}]}}"#;
    let mut seeds = BTreeSet::new();
    for name in ["kubernetes.txt", "kyverno.txt"] {
        let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
        for line in text.lines().filter(|line| !line.starts_with("    ")) {
            seeds.insert(format!("{line}\0{object}"));
        }
    }
    with_choices(seeds.into_iter().collect())
}

/// Seeds for [`super::VARIABLES`].
pub fn variables(corpus: &Path) -> Vec<Vec<u8>> {
    let mut seeds = BTreeSet::new();
    for (policy, object) in documents(corpus) {
        for mutation in mutations(&policy) {
            seeds.insert(format!("{}\0{}", mutation.to_json(), context(&object).to_json()));
        }
    }
    with_choices(seeds.into_iter().collect())
}

/// Seeds for [`super::PATTERN`].
pub fn pattern(corpus: &Path) -> Vec<Vec<u8>> {
    let mut seeds = BTreeSet::new();
    for (policy, object) in documents(corpus) {
        let value = texts(&object).into_iter().last().unwrap_or_default();
        for text in texts(&policy) {
            seeds.insert(format!("{text}\0{value}"));
        }
        for rule in rules(&policy) {
            seeds.extend(rule.get("preconditions").map(|block| format!("{}\0{value}", block.to_json())));
        }
    }
    let examples = [
        ">=128Mi & <1Gi | !*i\x00512Mi",
        "1-10\x005",
        "1h!-3h\x002h",
        "*:?atest\0a:latest",
        "[\"a*\", 1]\0[\"ab\"]",
    ];
    with_choices(seeds.into_iter().chain(examples.map(str::to_owned)).collect())
}

/// Seeds for [`super::JSON_PATCH`].
pub fn json_patch(corpus: &Path) -> Vec<Vec<u8>> {
    let mut seeds = BTreeSet::new();
    for (policy, object) in documents(corpus) {
        for mutation in mutations(&policy) {
            let patch = mutation.get("patchesJson6902").and_then(Value::as_str).map(str::to_owned);
            seeds.extend(patch.map(|patch| format!("{patch}\0{}", object.to_json())));
        }
    }
    with_choices(seeds.into_iter().collect())
}

/// Seeds for [`super::STRATEGIC_MERGE`].
pub fn strategic_merge(corpus: &Path) -> Vec<Vec<u8>> {
    let mut seeds = BTreeSet::new();
    for (policy, object) in documents(corpus) {
        for mutation in mutations(&policy) {
            let overlay = mutation.get("patchStrategicMerge");
            seeds.extend(overlay.map(|overlay| format!("{}\0{}", overlay.to_json(), object.to_json())));
        }
    }
    with_choices(seeds.into_iter().collect())
}

/// Seeds for [`super::APPLY`]: overlays as configurations.
pub fn apply(corpus: &Path) -> Vec<Vec<u8>> {
    strategic_merge(corpus)
}

/// Seeds for [`super::EDITS`]: inputs of cases, to become what the first policy makes of them.
pub fn edits(corpus: &Path) -> Vec<Vec<u8>> {
    let pair = |case: Case| {
        let expected = yaml::parse_value(&case.expected).ok()?;
        Some(format!("{}\0{}", case.input, expected.to_json()))
    };
    with_choices(cases(corpus).into_iter().filter_map(pair).collect())
}

/// Seeds for [`super::FUNCTIONS`]: the inputs of cases as lists, and the cases of the function.
pub fn functions(corpus: &Path) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for case in cases(corpus) {
        let lines: Vec<&str> = case.input.lines().filter(|line| !line.starts_with("---")).collect();
        let indented: String = lines.iter().map(|line| format!("  {line}\n")).collect();
        if let Some(item) = indented.get(2..) {
            seeds.push(format!("kind: ResourceList\nitems:\n- {item}\0\u{1}a"));
        }
    }
    for folder in folders(&corpus.join("krm-function")) {
        seeds.push(fs::read_to_string(folder.join("input.yaml")).unwrap_or_default());
    }
    with_choices(seeds)
}

/// Seeds for [`super::SUITES`]: our own suites, on the first policies and objects of the corpus.
pub fn suites(corpus: &Path) -> Vec<Vec<u8>> {
    let (documents, mut seeds) = (documents(corpus), Vec::new());
    let folders = folders(&corpus.with_file_name("suites"));
    let texts = folders.iter().filter_map(|folder| fs::read_to_string(folder.join("kyverno-test.yaml")).ok());
    for (text, (policy, object)) in texts.zip(documents.iter().cycle()) {
        let Ok(suite) = yaml::parse_value(&text) else { continue };
        seeds.push(format!("{}\0{}\0{}", suite.to_json(), policy.to_json(), object.to_json()));
    }
    with_choices(seeds)
}

/// Adds a few inputs of choices.
fn with_choices(texts: Vec<String>) -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> =
        texts.into_iter().map(String::into_bytes).filter(|seed| seed.len() <= LONGEST).collect();
    for seed in 0..24 {
        let mut random = Random(seed);
        let length = 32 << (seed % 5);
        seeds.push(iter::once(0x80).chain((0..length).map(|_| random.byte())).collect());
    }
    seeds
}

/// Random numbers that a seed decides.
pub struct Random(pub u64);

impl Random {
    /// The next number: splitmix64.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// The next number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.number() % bound).unwrap_or(0)
    }

    fn byte(&mut self) -> u8 {
        self.number().to_le_bytes()[0]
    }
}

struct Case {
    policy: String,
    input: String,
    expected: String,
}

/// All cases, in the order of their names.
fn cases(corpus: &Path) -> Vec<Case> {
    let folders = folders(corpus).into_iter().flat_map(|topic| folders(&topic));
    let text = |case: &Path, name| fs::read_to_string(case.join(name)).unwrap_or_default();
    let cases = folders.filter(|folder| folder.join("policy.yaml").exists());
    let read = |case: PathBuf| Case {
        policy: text(&case, "policy.yaml"),
        input: text(&case, "input.yaml"),
        expected: text(&case, "expected.yaml"),
    };
    cases.map(read).collect()
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).expect("the corpus is there").flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The first policy and the first object of each case.
fn documents(corpus: &Path) -> Vec<(Value, Value)> {
    let first = |text: &str| yaml::parse_value(text).ok();
    cases(corpus).iter().filter_map(|case| Some((first(&case.policy)?, first(&case.input)?))).collect()
}

fn rules(policy: &Value) -> Vec<Value> {
    let rules = policy.path(&["spec", "rules"]).and_then(Value::as_array);
    rules.map(<[Value]>::to_vec).unwrap_or_default()
}

/// The `mutate` blocks of a policy and the loops in them.
fn mutations(policy: &Value) -> Vec<Value> {
    let mut open: Vec<Value> = rules(policy).iter().filter_map(|rule| rule.get("mutate").cloned()).collect();
    let mut found = Vec::new();
    while let Some(mutation) = open.pop() {
        let loops = mutation.get("foreach").and_then(Value::as_array);
        open.extend(loops.into_iter().flatten().cloned());
        found.push(mutation);
    }
    found
}

/// What expressions are asked of.
fn context(object: &Value) -> Value {
    let request = Value::from_iter([("object", object.clone()), ("operation", Value::from("CREATE"))]);
    Value::from_iter([("request", request), ("element", Value::from("a"))])
}

/// All strings.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.to_string()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}
