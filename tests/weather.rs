//! A cluster that answers badly, late or not at all: what is said, and how the run ends.

mod rig;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rig::gauge::Gauge;
use rig::weather::{Answer, Ask, Weather};
use tempfile::TempDir;

/// What a run of the program left.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    /// The objects whose changes are shown.
    fn changed(&self) -> Vec<&str> {
        let headers = self.stdout.lines().filter_map(|line| line.strip_prefix("--- "));
        headers.filter_map(|header| header.split('\t').next()).collect()
    }

    /// What is said besides the table of what was found.
    fn said(&self) -> Vec<&str> {
        let is_told = |line: &&str| {
            ["error", "Error", "note", "The ", "Unable"].iter().any(|word| line.starts_with(word))
        };
        self.stderr.lines().filter(is_told).collect()
    }
}

/// A folder with a kubeconfig for a server and with policies.
struct Folder(TempDir);

impl Folder {
    fn new(server: &Weather) -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        folder.write("kubeconfig", &kubeconfig(&server.authority()));
        folder.write("team.yaml", &policy("team", "[ConfigMap, Secret, Pod, Deployment, Widget]", ""));
        folder
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, text).expect("the folder takes files");
        path.display().to_string()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
        let kubeconfig = self.0.path().join("kubeconfig");
        command.args(arguments).env_clear().env("KUBECONFIG", kubeconfig).current_dir(self.0.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        ended(self.command(arguments).output().expect("the program starts"))
    }

    fn diff(&self, arguments: &[&str]) -> Run {
        self.run(&[&["diff", "-p", "team.yaml"], arguments].concat())
    }
}

fn ended(output: std::process::Output) -> Run {
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("it prints text"),
        stderr: String::from_utf8(output.stderr).expect("it says text"),
    }
}

fn kubeconfig(authority: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{{name: x, cluster: {{server: 'http://{authority}'}}}}]\n\
         contexts: [{{name: x, context: {{cluster: x, user: x, namespace: web}}}}]\nusers: [{{name: x, user: {{token: hidden}}}}]\n"
    )
}

fn policy(name: &str, kinds: &str, context: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  - name: r\n    \
         match: {{any: [{{resources: {{kinds: {kinds}}}}}]}}\n    {context}\n    \
         mutate: {{patchStrategicMerge: {{metadata: {{labels: {{team: a}}}}}}}}\n"
    )
}

/// What kinds the server of these tests has: group, version, kind, plural.
const KINDS: [(&str, &str, &str, &str); 6] = [
    ("", "v1", "ConfigMap", "configmaps"),
    ("", "v1", "Pod", "pods"),
    ("", "v1", "Secret", "secrets"),
    ("", "v1", "Namespace", "namespaces"),
    ("apps", "v1", "Deployment", "deployments"),
    ("example.com", "v1", "Widget", "widgets"),
];

/// Discovery at once, for `/api` or `/apis`.
fn discovery(path: &str, stale: &str) -> String {
    let mut groups: Vec<String> = Vec::new();
    for group in ["", "apps", "example.com"].into_iter().filter(|group| group.is_empty() == (path == "/api"))
    {
        let kinds = KINDS.iter().filter(|kind| kind.0 == group && (stale.is_empty() || kind.0 != stale));
        let resources: Vec<String> = kinds
            .map(|(_, version, kind, plural)| {
                let scope = if *kind == "Namespace" { "Cluster" } else { "Namespaced" };
                format!(
                    r#"{{"resource":"{plural}","responseKind":{{"group":"{group}","version":"{version}","kind":"{kind}"}},"scope":"{scope}","verbs":["get","list"],"categories":["some"]}}"#
                )
            })
            .collect();
        let freshness = if group == stale && !stale.is_empty() { "Stale" } else { "Current" };
        groups.push(format!(
            r#"{{"metadata":{{"name":"{group}"}},"versions":[{{"version":"v1","freshness":"{freshness}","resources":[{}]}}]}}"#,
            resources.join(",")
        ));
    }
    format!(
        r#"{{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{}]}}"#,
        groups.join(",")
    )
}

fn page(names: &[&str], next: &str) -> String {
    let items: Vec<String> =
        names.iter().map(|name| format!(r#"{{"metadata":{{"name":"{name}","namespace":"web"}}}}"#)).collect();
    format!(r#"{{"kind":"List","metadata":{{"continue":"{next}"}},"items":[{}]}}"#, items.join(","))
}

fn status(code: u16, reason: &str, message: &str) -> Answer {
    let message = message.replace('"', "\\\"");
    let body = format!(
        r#"{{"kind":"Status","status":"Failure","reason":"{reason}","message":"{message}","code":{code}}}"#
    );
    Answer::Body(code, body)
}

/// The server as it is in good weather: `ConfigMaps` on two pages, one object of each other kind.
fn good(ask: &Ask) -> Answer {
    Answer::Body(
        200,
        match &*ask.path {
            "/api" | "/apis" => discovery(&ask.path, ""),
            "/api/v1/namespaces/web/configmaps" if ask.query.contains("continue=2") => page(&["c"], ""),
            "/api/v1/namespaces/web/configmaps" => page(&["a", "b"], "2"),
            path if KINDS.iter().any(|kind| path.ends_with(kind.3)) => page(&["one"], ""),
            _ => return status(404, "NotFound", "not found"),
        },
    )
}

/// The second page of `ConfigMaps`.
fn is_second_page(ask: &Ask) -> bool {
    ask.path.ends_with("/configmaps") && ask.query.contains("continue=2")
}

const ALL: [&str; 3] = ["ConfigMap/web/a", "ConfigMap/web/b", "ConfigMap/web/c"];

/// A server that answers its second page of `ConfigMaps` like this at first, so many times.
fn second_page(times: usize, answer: impl Fn() -> Answer + Send + Sync + 'static) -> Weather {
    Weather::start(move |ask| if is_second_page(ask) && ask.before < times { answer() } else { good(ask) })
}

#[test]
fn what_passes_is_waited_for() {
    let kinds: [(usize, fn() -> Answer); 5] = [
        (2, || Answer::With(429, ("Retry-After", "1".into()), String::new())),
        (2, || status(503, "ServiceUnavailable", "later")),
        (2, || Answer::Body(502, "<html>".into())),
        (2, || Answer::Drop),
        (2, || Answer::Cut(page(&["c"], ""))),
    ];
    for (times, answer) in kinds {
        let server = second_page(times, answer);
        let started = Instant::now();
        let run = Folder::new(&server).diff(&["cm"]);
        assert_eq!((run.code, run.changed()), (Some(4), vec![]), "an unknown short name: {run:?}");
        let run = Folder::new(&server).diff(&["configmaps"]);
        assert_eq!(
            (run.code, run.changed(), run.said()),
            (Some(1), ALL.to_vec(), vec![]),
            "{:?} {run:?}",
            answer()
        );
        let second = server.asked().into_iter().filter(|path| path.contains("continue=2")).count();
        assert_eq!(second, times + 1, "{:?}", answer());
        if matches!(answer(), Answer::With(..)) {
            assert!(started.elapsed() >= Duration::from_secs(2), "it was asked to wait");
        }
    }
}

/// An answer, what is said of it, and how often it is asked for.
type Fault = (fn() -> Answer, &'static str, usize);

#[test]
fn what_does_not_pass_is_told_and_the_rest_is_not_called_whole() {
    let kinds: [Fault; 9] = [
        (|| status(503, "ServiceUnavailable", "later"), "Error from server (ServiceUnavailable): later", 5),
        (
            || Answer::With(429, ("Retry-After", "3600".into()), String::new()),
            "Error from server (TooManyRequests): the server has received too many requests and has asked us to try again later",
            1,
        ),
        (|| status(500, "InternalError", "boom"), "Error from server (InternalError): boom", 1),
        (|| Answer::Drop, "Unable to connect to the server: unexpected EOF", 5),
        (|| Answer::Cut("{".into()), "Unable to connect to the server: unexpected EOF", 5),
        (
            || Answer::Hang,
            "Unable to connect to the server: no answer within 1s (--request-timeout gives another limit)",
            1,
        ),
        (
            || Answer::Body(200, page(&["c"], "2")),
            "error: the server's answer for configmaps cannot be read: it names the same page again and again",
            1,
        ),
        (
            || status(410, "Expired", "The provided continue parameter is too old"),
            "Error from server (Expired): The provided continue parameter is too old",
            1,
        ),
        (
            || status(401, "Unauthorized", "Unauthorized"),
            "error: You must be logged in to the server (Unauthorized)",
            1,
        ),
    ];
    for (answer, words, asked) in kinds {
        let server = second_page(100, answer);
        let run = Folder::new(&server).diff(&["configmaps", "--request-timeout=1s"]);
        let rest = "error: the answer is incomplete: read in part: configmaps";
        assert_eq!((run.code, run.said()), (Some(4), vec![words, rest]), "{run:?}");
        assert_eq!(run.changed(), ALL[..2], "{run:?}");
        let second = server.asked().into_iter().filter(|path| path.contains("continue=2")).count();
        assert_eq!(second, asked, "{words}");
    }
}

#[test]
fn a_page_that_is_no_json_is_told() {
    let server = second_page(1, || Answer::Body(200, "<html>Bad Gateway</html>".into()));
    let run = Folder::new(&server).diff(&["configmaps"]);
    assert_eq!((run.code, run.changed()), (Some(4), ALL[..2].to_vec()), "{run:?}");
    let [fault, rest] = run.said()[..] else { panic!("{run:?}") };
    assert!(fault.starts_with("error: the server's answer for configmaps cannot be read: "), "{fault}");
    assert_eq!(rest, "error: the answer is incomplete: read in part: configmaps");
    assert!(!run.stderr.contains("Bad Gateway"), "{run:?}");
}

#[test]
fn a_server_that_goes_down_in_the_middle_is_asked_no_more() {
    let server = Weather::start(|ask| {
        if ask.path.ends_with("/configmaps") { Answer::Last(page(&["a", "b"], "2")) } else { good(ask) }
    });
    let folder = Folder::new(&server);
    let run = folder.diff(&["configmaps,secrets,pods"]);
    let refused = format!(
        "The connection to the server {} was refused - did you specify the right host or port?",
        server.authority()
    );
    let rest = "error: the answer is incomplete: not read: secrets, pods; read in part: configmaps";
    assert_eq!((run.code, run.said()), (Some(4), vec![&*refused, rest]), "{run:?}");
    assert_eq!(run.changed(), ALL[..2], "{run:?}");

    // And so is one that was down before.
    for arguments in [&["configmaps"][..], &["-A"]] {
        let run = folder.diff(arguments);
        assert_eq!((run.code, run.said(), &*run.stdout), (Some(4), vec![&*refused], ""), "{run:?}");
    }
}

#[test]
fn every_format_says_what_is_missing() {
    let server = second_page(100, || status(500, "InternalError", "boom"));
    let folder = Folder::new(&server);
    let json = folder.diff(&["configmaps", "-o", "json"]);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(value["incomplete"], "read in part: configmaps");
    let explained = folder.run(&["explain", "-p", "team.yaml", "configmaps", "-o", "json"]);
    let value: serde_json::Value = serde_json::from_str(&explained.stdout).unwrap();
    assert_eq!((explained.code, &value["incomplete"]), (Some(4), &"read in part: configmaps".into()));
    let summary = folder.diff(&["configmaps", "-o", "summary"]);
    assert!(summary.stdout.ends_with("\nincomplete: read in part: configmaps\n"), "{summary:?}");
    let markdown = folder.diff(&["configmaps", "-o", "markdown"]);
    assert!(markdown.stdout.starts_with("**Incomplete**: `read in part: configmaps`\n"), "{markdown:?}");
}

/// What the formats for machines and pages say is missing: the sentence, and the names in JSON.
fn assert_incomplete(folder: &Folder, arguments: &[&str], gaps: &str, names: &serde_json::Value) {
    let run = |format| folder.run(&[&["diff"], arguments, &["-o", format]].concat());
    let json = run("json");
    assert_eq!(json.code, Some(4), "{json:?}");
    let told = format!("error: the answer is incomplete: {gaps}");
    assert!(json.said().contains(&&*told), "{json:?}");
    let value: serde_json::Value = serde_json::from_str(&json.stdout).expect("it is JSON");
    assert_eq!(value["incomplete"], gaps, "{json:?}");
    assert_eq!(&value["summary"]["notReadable"], names, "{json:?}");
    let summary = run("summary");
    assert!(summary.stdout.ends_with(&format!("\nincomplete: {gaps}\n")), "{summary:?}");
    let markdown = run("markdown");
    assert!(markdown.stdout.starts_with(&format!("**Incomplete**: `{gaps}`\n")), "{markdown:?}");
    let diff = run("diff");
    let mark = format!("# incomplete: {gaps}");
    assert_eq!((diff.code, diff.stdout.lines().last()), (Some(4), Some(&*mark)), "{diff:?}");
    let explained = folder.run(&[&["explain"], arguments, &["-o", "json"]].concat());
    let value: serde_json::Value = serde_json::from_str(&explained.stdout).expect("it is JSON");
    assert_eq!((explained.code, &value["incomplete"]), (Some(4), &gaps.into()), "{explained:?}");
    let explained = folder.run(&[&["explain"], arguments].concat());
    let told = format!("incomplete: {gaps}");
    assert_eq!((explained.code, explained.stdout.lines().last()), (Some(4), Some(&*told)), "{explained:?}");
    // Manifests come out as they came in, and where nothing but results can stand the exit code has to do.
    let is_live = !arguments.contains(&"-f");
    for format in ["yaml", "json", "patch", "name", "diff"] {
        let run = folder.run(&[&["mutate"], arguments, &["-o", format]].concat());
        let is_marked = format == "diff" || format == "yaml" && is_live;
        assert_eq!((run.code, run.stdout.ends_with(&format!("{mark}\n"))), (Some(4), is_marked), "{run:?}");
        assert_eq!(run.stdout.contains("incomplete"), is_marked, "{run:?}");
    }
}

#[test]
fn a_kind_or_a_look_up_that_is_refused_is_named_in_every_format() {
    let server = Weather::start(|ask| match &*ask.path {
        "/api/v1/namespaces/web/secrets" | "/api/v1/nodes" | "/api/v1/namespaces/web" => {
            status(403, "Forbidden", "not for you")
        }
        path if path.ends_with("/configmaps/settings") => status(403, "Forbidden", "not for you"),
        path if path.ends_with("/configmaps/one") => status(500, "InternalError", "boom"),
        _ => good(ask),
    });
    let folder = Folder::new(&server);
    let names = |kinds: &[&str], part: &[&str], look_ups: &[&str]| serde_json::json!({"kinds": kinds, "inPart": part, "objects": [], "policies": [], "lookUps": look_ups});
    let team = ["-p", "team.yaml"];
    let kinds = [&team[..], &["configmaps,secrets"]].concat();
    assert_incomplete(&folder, &kinds, "not read: secrets", &names(&["secrets"], &[], &[]));
    let summary = folder.run(&[&["diff"], &kinds[..], &["-o", "summary"]].concat());
    let totals = "\n3 objects, 3 would change, 1 kind not readable\n";
    assert!(summary.stdout.contains(totals), "{summary:?}");
    let unknown = [&team[..], &["configmaps,gadgets"]].concat();
    assert_incomplete(&folder, &unknown, "not read: gadgets", &names(&["gadgets"], &[], &[]));

    let call = "context: [{name: found, apiCall: {urlPath: /api/v1/nodes, jmesPath: 'length(items)'}}]";
    let map = "context: [{name: found, configMap: {name: settings, namespace: web}}]";
    let labels = "exclude: {any: [{resources: {namespaceSelector: {matchLabels: {tier: front}}}}]}";
    for (name, context, variable, missed) in [
        ("call", call, "{{ found }}", "/api/v1/nodes"),
        ("map", map, "{{ found.data.zone }}", "configmaps \"settings\" in web"),
        ("labels", labels, "a", "namespaces \"web\""),
    ] {
        let text = policy(name, "[ConfigMap]", context).replace("team: a", &format!("team: \"{variable}\""));
        let policy = folder.write(&format!("{name}.yaml"), &text);
        let gaps = format!("not looked up: {missed}");
        assert_incomplete(&folder, &["-p", &policy, "configmaps"], &gaps, &names(&[], &[], &[missed]));
    }
    let manifest = folder.write("one.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}");
    let live = [&team[..], &["-f", &manifest, "--live"]].concat();
    let missed = "configmaps \"one\" in web";
    assert_incomplete(&folder, &live, &format!("not looked up: {missed}"), &names(&[], &[], &[missed]));
    assert_applies(&folder, &folder.run(&[&["diff"], &live[..]].concat()).stdout, "one.yaml");

    // What is not there is an error of the rule, and nothing is missing.
    let gone = call.replace("nodes", "gone");
    let gone = folder.write(
        "gone.yaml",
        &policy("gone", "[ConfigMap]", &gone).replace("team: a", "team: \"{{ found }}\""),
    );
    let run = folder.run(&["diff", "-p", &gone, "configmaps", "-o", "json"]);
    let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &value["incomplete"]), (Some(3), &serde_json::Value::Null), "{run:?}");
}

/// Why an answer is not whole, what is asked for, what is said to be missing, and under which name in JSON.
type Cause =
    (fn(&Ask) -> Answer, &'static [&'static str], &'static str, &'static str, &'static [&'static str]);

#[test]
fn every_cause_is_marked_in_every_format() {
    fn gone(ask: &Ask) -> Answer {
        if ask.path.ends_with("/nope") {
            return status(404, "NotFound", "deployments.apps \"nope\" not found");
        }
        match &*ask.path {
            path if path.ends_with("/deployments/a") => {
                Answer::Body(200, r#"{"metadata":{"name":"a","namespace":"web"}}"#.into())
            }
            "/api/v1/namespaces/web" => Answer::Body(200, r#"{"metadata":{"name":"web"}}"#.into()),
            "/api/v1/namespaces/nons" => status(404, "NotFound", "namespaces \"nons\" not found"),
            _ => good(ask),
        }
    }
    fn refused(ask: &Ask) -> Answer {
        if ask.path.ends_with("/secrets") { status(403, "Forbidden", "not for you") } else { good(ask) }
    }
    fn vanished(ask: &Ask) -> Answer {
        if ask.path.ends_with("/widgets") { status(404, "NotFound", "not found") } else { good(ask) }
    }
    fn down(ask: &Ask) -> Answer {
        match &*ask.path {
            "/api" | "/apis" => Answer::Body(200, discovery(&ask.path, "example.com")),
            _ => good(ask),
        }
    }
    let absent = "not found: deployments.apps \"nope\" in web";
    let nowhere = "not found: deployments.apps \"nope\" in nons";
    let causes: [Cause; 9] = [
        (gone, &["deployment", "a", "nope"], absent, "objects", &["deployments.apps \"nope\" in web"]),
        (
            gone,
            &["deployment/nope", "deployment/a"],
            absent,
            "objects",
            &["deployments.apps \"nope\" in web"],
        ),
        (
            gone,
            &["deployment", "nope", "-n", "nons"],
            nowhere,
            "objects",
            &["deployments.apps \"nope\" in nons"],
        ),
        (refused, &["pods,secrets"], "not read: secrets", "kinds", &["secrets"]),
        // kubectl, which has no way to mark what it prints, prints nothing of the others either.
        (good, &["pods,gadgets"], "not read: gadgets", "kinds", &["gadgets"]),
        (good, &["gadgets"], "not read: gadgets", "kinds", &["gadgets"]),
        (vanished, &["pods,widgets"], "not read: widgets.example.com", "kinds", &["widgets.example.com"]),
        (
            down,
            &["pods,widgets"],
            "not read: example.com/v1, widgets",
            "kinds",
            &["example.com/v1", "widgets"],
        ),
        (down, &["-n", "web"], "not read: example.com/v1", "kinds", &["example.com/v1"]),
    ];
    for (answer, arguments, gaps, list, what) in causes {
        let server = Weather::start(answer);
        let folder = Folder::new(&server);
        let mut names =
            serde_json::json!({"kinds": [], "inPart": [], "objects": [], "policies": [], "lookUps": []});
        names[list] = serde_json::json!(what);
        assert_incomplete(&folder, &[&["-p", "team.yaml"], arguments].concat(), gaps, &names);
    }
    let server = Weather::start(gone);
    let run =
        Folder::new(&server).diff(&["deployment", "a", "nope", "nope-either", "-n", "nons", "-o", "summary"]);
    let told = "Error from server (NotFound): namespaces \"nons\" not found";
    assert_eq!(run.said().first(), Some(&told), "{run:?}");
    assert!(run.stdout.contains("\n1 object, 1 would change, 2 objects not found\n"), "{run:?}");
}

/// What the programs that apply diffs make of one that is marked.
fn assert_applies(folder: &Folder, diff: &str, file: &str) {
    assert!(diff.ends_with("# incomplete: not looked up: configmaps \"one\" in web\n"), "{diff}");
    let before = fs::read_to_string(folder.0.path().join(file)).expect("it can be read");
    let change = folder.write("change.diff", diff);
    for (program, arguments) in [("git", &["apply"][..]), ("patch", &["-p1", "-F0", "-i"])] {
        let made = Command::new(program).args(arguments).arg(&change).current_dir(folder.0.path()).output();
        let output = match made {
            Ok(output) => output,
            Err(_) if program == "patch" => continue,
            Err(error) => panic!("{program}: {error}"),
        };
        assert!(output.status.success(), "{program}: {output:?}");
        assert!(output.stderr.is_empty(), "{program}: {output:?}");
        let after = fs::read_to_string(folder.0.path().join(file)).expect("it can be read");
        assert!(after.contains("team: a") && !after.contains("incomplete"), "{program}: {after}");
        folder.write(file, &before);
    }
}

/// A server with so many `ConfigMaps` and Pods each, on pages as long as they are asked for.
fn crowded(objects: usize, answer_after: Duration) -> Weather {
    Weather::start(move |ask| {
        let Some((kind, own)) = [
            ("configmaps", r#""data":{"number":"#),
            ("pods", r#""spec":{"containers":[{"name":"web","image":"web:latest","env":[{"name":"A","value":"b"}]}],"x":"#),
        ]
        .into_iter()
        .find(|(kind, _)| ask.path.ends_with(&format!("/web/{kind}"))) else {
            return match ask.path.split_once("/configmaps/app-") {
                Some((_, name)) => Answer::Body(200, format!(r#"{{"kind":"ConfigMap","data":{{"name":"{name}"}}}}"#)),
                None => good(ask),
            };
        };
        thread::sleep(answer_after);
        let asked = |name: &str| {
            let value = ask.query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            value.and_then(|value| value.parse::<usize>().ok())
        };
        let start = asked("continue").unwrap_or(0);
        let end = (start + asked("limit").unwrap_or(objects)).min(objects);
        let fields: Vec<String> =
            (0..20).map(|field| format!(r#""f:field-{field}":{{"f:inner":{{}}}}"#)).collect();
        let fields = fields.join(",");
        let items: Vec<String> = (start..end)
            .map(|number| {
                format!(
                    r#"{{"metadata":{{"name":"app-{kind}-{number}","namespace":"web","managedFields":[{{"fieldsV1":{{{fields}}}}}]}},{own}"{number}"}}}}"#
                )
            })
            .collect();
        let next = if end < objects { end.to_string() } else { String::new() };
        Answer::Body(
            200,
            format!(r#"{{"kind":"List","metadata":{{"continue":"{next}"}},"items":[{}]}}"#, items.join(",")),
        )
    })
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_number_of_objects() {
    // Each object is looked up by a call of its own, too, and changes.
    let call = "context: [{name: own, apiCall: {urlPath: \"/api/v1/namespaces/web/configmaps/{{ request.name }}\", jmesPath: data.name}}]";
    for arguments in [&["-o", "diff"][..], &["-o", "json"], &["-o", "summary"]] {
        let peaks = [500, 2500].map(|objects| {
            let folder = Folder::new(&crowded(objects, Duration::ZERO));
            let server = crowded(objects, Duration::ZERO);
            folder.write("kubeconfig", &kubeconfig(&server.authority()));
            folder.write(
                "own.yaml",
                &policy("own", "[ConfigMap]", call).replace("team: a", "own: \"{{ own }}\""),
            );
            let mut command =
                folder.command(&["diff", "-p", "own.yaml", "-p", "team.yaml", "configmaps,pods"]);
            let printed = fs::File::create(folder.0.path().join("printed")).unwrap();
            command.args(arguments).args(["--workers", "2"]).stdout(printed).stderr(Stdio::null());
            let gauge = Gauge::of(&mut command);
            let printed = fs::read_to_string(folder.0.path().join("printed")).unwrap();
            assert_eq!(gauge.code, Some(1), "{gauge:?} {printed}");
            assert!(printed.contains("own"), "{printed}");
            gauge.peak
        });
        assert!(peaks[1] * 10 <= peaks[0] * 13, "{arguments:?}: {peaks:?} KiB");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn progress_is_shown_on_a_terminal_and_nowhere_else() {
    let server = crowded(8, Duration::from_millis(400));
    let folder = Folder::new(&server);
    let arguments = ["diff", "-p", "team.yaml", "configmaps,pods", "--chunk-size", "2"];
    let bar = "of 2 kinds, ";
    let plain = folder.run(&arguments);
    assert_eq!(plain.code, Some(1), "{plain:?}");
    assert!(!plain.stderr.contains(bar) && !plain.stderr.contains('\u{1b}'), "{plain:?}");

    // The result goes elsewhere, as with a pipe; what is said goes to the terminal.
    let run = |more: &str| {
        let line = format!("{} {} {more} >result", env!("CARGO_BIN_EXE_kubectl-kyv"), arguments.join(" "));
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-c", &line, "typescript"]).current_dir(folder.0.path()).env_clear();
        command.env("KUBECONFIG", folder.0.path().join("kubeconfig")).env("TERM", "xterm");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("SHELL", "/bin/sh");
        let run = ended(command.stdin(Stdio::null()).output().expect("script is installed"));
        let result = fs::read_to_string(folder.0.path().join("result")).unwrap();
        assert_eq!((run.code, &result), (Some(1), &plain.stdout), "{run:?}");
        run.stdout
    };
    let shown = run("");
    // First one kind is being read, at last both were.
    let bars: Vec<&str> = shown.split(['\r', '\n']).filter(|line| line.contains(bar)).collect();
    for part in [" objects, ", "/s"] {
        assert!(!bars.is_empty() && bars.iter().all(|line| line.contains(part)), "{shown:?}");
    }
    assert!(
        bars.iter().any(|line| line.contains("0 of 2 kinds, ") || line.contains("1 of 2 kinds, ")),
        "{shown:?}"
    );
    // The bar is gone when the table comes.
    let end = shown.rsplit(bar).next().unwrap_or_default();
    assert!(end.contains("\u{1b}[2K") && end.contains("16 objects, 16 would change"), "{shown:?}");
    assert!(!run("--quiet").contains(bar), "{shown:?}");
}

#[test]
fn the_next_list_is_asked_for_while_this_one_is_read() {
    // No page of ConfigMaps but the first is given before somebody asked for Secrets, and the result is in order.
    let asked = Arc::new(AtomicBool::new(false));
    let server = Weather::start(move |ask| {
        if ask.path.ends_with("/web/secrets") {
            asked.store(true, Ordering::SeqCst);
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        while is_second_page(ask) && !asked.load(Ordering::SeqCst) {
            if Instant::now() > deadline {
                return status(500, "InternalError", "nobody asked for Secrets");
            }
            thread::sleep(Duration::from_millis(5));
        }
        good(ask)
    });
    let run = Folder::new(&server).diff(&["configmaps,secrets,pods"]);
    let all = [&ALL[..], &["Secret/web/one", "Pod/web/one"]].concat();
    assert_eq!((run.code, run.changed()), (Some(1), all), "{run:?}");
}

#[test]
fn the_labels_of_all_namespaces_come_in_one_list_where_all_are_read() {
    for is_listed in [true, false] {
        let server = Weather::start(move |ask| match &*ask.path {
            "/api/v1/namespaces" if is_listed => {
                let labelled = r#"{"metadata":{"name":"web","labels":{"tier":"front"}}}"#;
                Answer::Body(
                    200,
                    format!(r#"{{"kind":"NamespaceList","metadata":{{}},"items":[{labelled}]}}"#),
                )
            }
            "/api/v1/namespaces" => status(403, "Forbidden", "not for you"),
            "/api/v1/namespaces/web" => Answer::Body(
                200,
                r#"{"kind":"Namespace","metadata":{"name":"web","labels":{"tier":"front"}}}"#.into(),
            ),
            "/api/v1/configmaps" => Answer::Body(200, page(&["a", "b"], "")),
            _ => good(ask),
        });
        let folder = Folder::new(&server);
        let selector = "exclude: {any: [{resources: {namespaceSelector: {matchLabels: {tier: back}}}}]}";
        let policy = folder.write("selector.yaml", &policy("selector", "[ConfigMap]", selector));
        let run = folder.run(&["diff", "-p", &policy, "-A"]);
        assert_eq!((run.code, run.changed(), run.said()), (Some(1), ALL[..2].to_vec(), vec![]), "{run:?}");
        let asked = server.asked();
        let count = |path: &str| asked.iter().filter(|asked| asked.split('?').next() == Some(path)).count();
        assert_eq!(count("/api/v1/namespaces"), 1, "{asked:?}");
        assert_eq!(count("/api/v1/namespaces/web"), usize::from(!is_listed), "{asked:?}");
    }
}

#[test]
fn a_list_that_the_server_forgot_is_gone_on_with() {
    let server = Weather::start(|ask| {
        if is_second_page(ask) {
            let body = r#"{"kind":"Status","metadata":{"continue":"now"},"reason":"Expired","message":"too old","code":410}"#;
            Answer::Body(410, body.into())
        } else if ask.query.contains("continue=now") {
            Answer::Body(200, page(&["c"], ""))
        } else {
            good(ask)
        }
    });
    let folder = Folder::new(&server);
    let run = folder.diff(&["configmaps"]);
    assert_eq!((run.code, run.changed()), (Some(1), ALL.to_vec()), "{run:?}");
    assert!(
        run.said()[0].starts_with("note: configmaps: the server forgot the list while it was read"),
        "{run:?}"
    );
    assert_eq!(folder.diff(&["configmaps", "--strict"]).code, Some(3));
}

#[test]
fn what_one_may_not_read_is_named_beside_what_one_may() {
    let words = "secrets is forbidden: User \"x\" cannot list resource \"secrets\" in API group \"\" in the namespace \"web\"";
    let server = Weather::start(move |ask| {
        if ask.path.ends_with("/secrets") { status(403, "Forbidden", words) } else { good(ask) }
    });
    let run = Folder::new(&server).diff(&["configmaps,pods,secrets,deployments,widgets"]);
    let expected = [&ALL[..], &["Pod/web/one", "Deployment/web/one", "Widget/web/one"]].concat();
    assert_eq!((run.code, run.changed()), (Some(4), expected), "{run:?}");
    let told = format!("Error from server (Forbidden): {words}");
    assert_eq!(run.said(), [&*told, "error: the answer is incomplete: not read: secrets"], "{run:?}");
}

#[test]
fn a_kind_may_vanish_after_discovery() {
    let server = Weather::start(|ask| {
        if ask.path.ends_with("/widgets") {
            Answer::Body(404, "404 page not found\n".into())
        } else {
            good(ask)
        }
    });
    let run = Folder::new(&server).diff(&["widgets,pods"]);
    assert_eq!((run.code, run.changed()), (Some(4), vec!["Pod/web/one"]), "{run:?}");
    let told = "Error from server (NotFound): Unable to list \"example.com/v1, Resource=widgets\": the server could not find the requested resource";
    assert_eq!(
        run.said(),
        [told, "error: the answer is incomplete: not read: widgets.example.com"],
        "{run:?}"
    );
}

#[test]
fn an_aggregated_api_may_be_down() {
    let server = Weather::start(|ask| match &*ask.path {
        "/api" | "/apis" => Answer::Body(200, discovery(&ask.path, "example.com")),
        _ => good(ask),
    });
    let folder = Folder::new(&server);
    let down = "error: the kinds of example.com/v1 are not known: the server is currently unable to handle the request";
    let rest = "error: the answer is incomplete: not read: example.com/v1";
    let run = folder.diff(&["widgets,pods"]);
    assert_eq!((run.code, run.changed()), (Some(4), vec!["Pod/web/one"]), "{run:?}");
    assert_eq!(
        run.said(),
        [down, "error: the server doesn't have a resource type \"widgets\"", &format!("{rest}, widgets")],
        "{run:?}"
    );
    // Nobody knows whether a manifest is stored.
    let widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: web}}\n";
    let widget = folder.write("widget.yaml", widget);
    let run = folder.diff(&["-f", &widget, "--live"]);
    let missed = "error: the answer is incomplete: not looked up: Widget (example.com/v1)";
    assert_eq!((run.code, run.said()), (Some(4), vec![down, missed]), "{run:?}");
    // A policy asks for a kind that might be there.
    let run = folder.diff(&["-n", "web"]);
    assert_eq!((run.code, run.said()), (Some(4), vec![down, rest]), "{run:?}");
    // Nobody asks for what is down.
    let secrets = folder.write("secrets.yaml", &policy("team", "[Secret]", ""));
    let run = folder.run(&["diff", "-n", "web", "-p", &secrets]);
    assert_eq!((run.code, run.changed()), (Some(1), vec!["Secret/web/one"]), "{run:?}");
    assert_eq!(run.said(), [&*down.replace("error:", "note:")], "{run:?}");
}

#[test]
fn older_servers_tell_of_their_kinds_group_by_group() {
    let server = Weather::start(|ask| {
        let list = |group: &str| {
            let kinds = KINDS.iter().filter(|kind| kind.0 == group);
            let resources: Vec<String> = kinds
                .map(|(_, _, kind, plural)| {
                    let namespaced = *kind != "Namespace";
                    format!(r#"{{"name":"{plural}","singularName":"","namespaced":{namespaced},"kind":"{kind}","verbs":["list"]}},{{"name":"{plural}/status","namespaced":{namespaced},"kind":"{kind}","verbs":["get"]}}"#)
                })
                .collect();
            Answer::Body(
                200,
                format!(r#"{{"kind":"APIResourceList","resources":[{}]}}"#, resources.join(",")),
            )
        };
        let group = |name: &str| {
            format!(
                r#"{{"name":"{name}","versions":[{{"groupVersion":"{name}/v1","version":"v1"}}],"preferredVersion":{{"version":"v1"}}}}"#
            )
        };
        match &*ask.path {
            "/api" => Answer::Body(200, r#"{"kind":"APIVersions","versions":["v1"]}"#.into()),
            "/apis" => {
                let groups = [group("apps"), group("example.com"), group("gone.example.com")].join(",");
                Answer::Body(200, format!(r#"{{"kind":"APIGroupList","groups":[{groups}]}}"#))
            }
            "/api/v1" => list(""),
            "/apis/apps/v1" => list("apps"),
            "/apis/example.com/v1" => list("example.com"),
            "/apis/gone.example.com/v1" => Answer::With(503, ("Retry-After", "3600".into()), "gone".into()),
            _ => good(ask),
        }
    });
    let run = Folder::new(&server).diff(&["-n", "web"]);
    let expected =
        [&ALL[..], &["Pod/web/one", "Secret/web/one", "Deployment/web/one", "Widget/web/one"]].concat();
    assert_eq!((run.code, run.changed()), (Some(1), expected), "{run:?}");
    let down = "note: the kinds of gone.example.com/v1 are not known: the server is currently unable to handle the request";
    assert_eq!(run.said(), [down], "{run:?}");
}

#[test]
fn large_objects_are_read_and_changed() {
    let server = Weather::start(|ask| match &*ask.path {
        "/api/v1/namespaces/web/configmaps" => {
            let data = "x".repeat(3 << 20);
            let object =
                format!(r#"{{"metadata":{{"name":"big","namespace":"web"}},"data":{{"k":"{data}"}}}}"#);
            Answer::Body(200, format!(r#"{{"metadata":{{}},"items":[{object},{object},{object}]}}"#))
        }
        _ => good(ask),
    });
    let run = Folder::new(&server).diff(&["configmaps"]);
    assert_eq!((run.code, run.changed().len(), run.said()), (Some(1), 3, vec![]));
}

#[test]
fn the_kinds_are_those_that_the_policies_can_match() {
    let server = Weather::start(good);
    let folder = Folder::new(&server);
    let listed = |server: &Weather| {
        let asked = server.asked().into_iter().filter(|path| !matches!(&**path, "/api" | "/apis"));
        // Several kinds are asked for at a time.
        let mut listed: Vec<String> = asked.map(|path| path.split('?').next().unwrap().to_owned()).collect();
        listed.sort();
        listed
    };
    let some = folder
        .write("some.yaml", &policy("some", "[Pod, apps/v1/Deployment, Namespace, Job, Pod/status]", ""));
    let run = folder.run(&["diff", "-p", &some, "-n", "web"]);
    assert_eq!((run.code, run.changed()), (Some(1), vec!["Pod/web/one", "Deployment/web/one"]), "{run:?}");
    let outside = "note: these belong to no namespace and are left out, -A reads them: namespaces";
    let unserved = "note: rules name kinds that the cluster does not serve: Job";
    assert_eq!(run.said(), [outside, unserved], "{run:?}");
    assert_eq!(listed(&server), ["/api/v1/namespaces/web/pods", "/apis/apps/v1/namespaces/web/deployments"]);

    let server = Weather::start(good);
    let folder = Folder::new(&server);
    let run = folder.run(&["diff", "-p", &some, "-A"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(listed(&server), ["/api/v1/namespaces", "/api/v1/pods", "/apis/apps/v1/deployments"]);

    // With --strict a kind that is not served is an error.
    let run = folder.run(&["diff", "-p", &some, "-A", "--strict"]);
    let told = "error: rules name kinds that the cluster does not serve: Job (--strict)";
    assert_eq!((run.code, run.said()), (Some(3), vec![told]), "{run:?}");

    // A category is its kinds.
    let run = folder.run(&["diff", "-p", &some, "some,pods", "-n", "web"]);
    assert_eq!((run.code, run.changed().len()), (Some(1), 3), "{run:?}");
    let run = folder.run(&["diff", "-p", &some, "some", "a"]);
    assert_eq!(
        (run.code, run.said()),
        (Some(2), vec!["error: you must specify only one resource"]),
        "{run:?}"
    );

    // Without any word of a cluster none is asked.
    let run = folder.run(&["diff", "-p", &some]);
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn equal_calls_are_made_once_and_refusals_are_rule_errors() {
    let context = |path: &str| {
        format!(
            "context: [{{name: found, apiCall: {{urlPath: '{path}'}}}}]\n    preconditions: {{all: [{{key: '{{{{ found.metadata.name }}}}', operator: Equals, value: shared}}]}}"
        )
    };
    let server = Weather::start(|ask| match &*ask.path {
        "/api/v1/namespaces/web/configmaps/shared" => {
            Answer::Body(200, r#"{"kind":"ConfigMap","metadata":{"name":"shared"}}"#.into())
        }
        "/api/v1/nodes" => status(
            403,
            "Forbidden",
            "nodes is forbidden: User \"x\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
        ),
        _ => good(ask),
    });
    let folder = Folder::new(&server);
    let shared = folder.write(
        "shared.yaml",
        &policy(
            "shared",
            "[ConfigMap]",
            &context("/api/v1/namespaces/{{ request.namespace }}/configmaps/shared"),
        ),
    );
    let run = folder.run(&["diff", "-p", &shared, "configmaps"]);
    assert_eq!((run.code, run.changed()), (Some(1), ALL.to_vec()), "{run:?}");
    assert_eq!(server.asked().iter().filter(|path| path.ends_with("/shared")).count(), 1);

    let nodes = folder.write("nodes.yaml", &policy("nodes", "[ConfigMap]", &context("/api/v1/nodes")));
    let run = folder.run(&["diff", "-p", &nodes, "configmaps"]);
    assert_eq!((run.code, run.changed()), (Some(4), vec![]), "{run:?}");
    let words = "failed to fetch data for APICall: failed to GET resource with raw url: /api/v1/nodes: nodes is forbidden: User \"x\" cannot list resource \"nodes\"";
    assert_eq!(run.stderr.matches(words).count(), 3, "{run:?}");
    assert_eq!(server.asked().iter().filter(|path| path.ends_with("/nodes")).count(), 1);

    // Offline nothing is sent.
    let before = server.asked().len();
    let manifest = folder.write("cm.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
    assert_eq!(folder.run(&["diff", "-p", &nodes, "-f", &manifest]).code, Some(3));
    assert_eq!(server.asked().len(), before);
    // A Pod's inside is no place to look things up.
    let exec = folder.write(
        "exec.yaml",
        &policy("exec", "[ConfigMap]", &context("/api/v1/namespaces/web/pods/p/exec?command=sh")),
    );
    let run = folder.run(&["diff", "-p", &exec, "-f", &manifest, "--live"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("calls through the API server to something else are never sent"), "{run:?}");
    assert!(!server.asked().iter().any(|path| path.contains("exec")));
}

#[test]
fn manifests_do_not_wait_for_a_silent_server_again_and_again() {
    let is_discovery = |ask: &Ask| matches!(&*ask.path, "/api" | "/apis");
    let server = Weather::start(move |ask| if is_discovery(ask) { good(ask) } else { Answer::Hang });
    let folder = Folder::new(&server);
    let many: String = (0..60)
        .map(|number| format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{number}}}}}\n"))
        .collect();
    let manifests = folder.write("many.yaml", &many);
    let started = Instant::now();
    let run = folder.diff(&["-f", &manifests, "--live", "--request-timeout=1s"]);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let edited = run.stdout.lines().filter(|line| line.starts_with('+') && line.contains("name: c"));
    assert_eq!((run.code, edited.count()), (Some(4), 60), "{run:?}");
    assert_eq!(
        run.said(),
        [
            "Unable to connect to the server: it did not answer several times in a row and is asked no more",
            "Unable to connect to the server: no answer within 1s (--request-timeout gives another limit)",
            "error: the answer is incomplete: not looked up: configmaps \"c0\" in web, configmaps \"c1\" in web, \
             configmaps \"c10\" in web, configmaps \"c11\" in web, configmaps \"c12\" in web, \
             configmaps \"c13\" in web, configmaps \"c14\" in web, configmaps \"c15\" in web, \
             configmaps \"c16\" in web, configmaps \"c17\" in web and 50 more",
        ],
        "{run:?}"
    );

    // A server that tells nothing at all makes no context.
    let server = Weather::start(|_| status(503, "ServiceUnavailable", "down"));
    folder.write("kubeconfig", &kubeconfig(&server.authority()));
    let run = folder.diff(&["-f", &manifests, "--live"]);
    let words = "Error from server (ServiceUnavailable): down";
    assert_eq!((run.code, run.said(), &*run.stdout), (Some(4), vec![words], ""), "{run:?}");
}

#[test]
fn manifests_without_a_namespace_are_those_of_the_context() {
    let server = Weather::start(|ask| match &*ask.path {
        path if path.ends_with("/configmaps/one") => {
            let namespace = path.split('/').nth(4).unwrap_or_default();
            let was = format!(
                r#"{{"metadata":{{"name":"one","namespace":"{namespace}"}},"data":{{"was":"in-{namespace}"}}}}"#
            );
            Answer::Body(200, was)
        }
        _ => good(ask),
    });
    let folder = Folder::new(&server);
    let manifest = folder.write("one.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}");
    let labels =
        "old: \"{{ request.oldObject.data.was || 'none' }}\", namespace: \"{{ request.namespace }}\"";
    let text = policy("old", "[ConfigMap]", "").replace("team: a", labels);
    let policy = folder.write("old.yaml", &text);
    for (arguments, old, namespace) in [
        (&["--live"][..], "in-web", "web"),
        (&["--live", "-n", ""], "in-web", "web"),
        (&["--live", "-n", "back"], "in-back", "back"),
        (&["-n", "back"], "none", "back"),
        (&["-A", "-A=false", "-R=false"], "none", "default"),
        (&[], "none", "default"),
    ] {
        let run = folder.run(&[&["diff", "-p", &policy, "-f", &manifest], arguments].concat());
        assert_eq!(run.code, Some(1), "{run:?}");
        let told = run.stdout.contains(&format!("old: {old}"))
            && run.stdout.contains(&format!("namespace: {namespace}"));
        assert!(told, "{arguments:?} {run:?}");
    }
}

#[test]
fn manifests_are_not_those_of_all_namespaces() {
    let server = Weather::start(good);
    let folder = Folder::new(&server);
    let manifest = folder.write("one.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}");
    let run = folder.diff(&["-f", &manifest, "-A"]);
    let words = "error: -A reads live objects: manifests say themselves which namespace they are in";
    assert_eq!((run.code, run.said(), &*run.stdout), (Some(2), vec![words], ""), "{run:?}");
    assert_eq!(server.asked(), [""; 0]);
}

#[test]
fn kinds_that_the_manifests_define_are_not_missed() {
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gears.example.com}\n\
                      spec: {group: example.com, scope: Namespaced, names: {kind: Gear, plural: gears}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n";
    let server = Weather::start(good);
    let folder = Folder::new(&server);
    let gear = "{apiVersion: example.com/v1, kind: Gear, metadata: {name: g}}\n";
    let knob = "{apiVersion: example.com/v1, kind: Knob, metadata: {name: k}}\n";
    let both = folder.write("both.yaml", &format!("{gear}---\n{knob}---\n{definition}"));
    let crd = folder.write("crd.yaml", definition);
    let unserved = |kinds: &str| {
        format!(
            "note: the cluster serves no {kinds}: such objects are evaluated as new ones, and of custom kinds --crds alone tells how their lists merge"
        )
    };
    let told = |arguments: &[&str]| -> Vec<String> {
        let run = folder.diff(&[&["-f", &both, "--live"], arguments].concat());
        run.said().into_iter().filter(|line| line.contains("example.com/v1")).map(str::to_owned).collect()
    };
    let defined = "note: the manifests define Gear (example.com/v1): where lists of such objects are to merge by their keys, --crds takes the definition, too";
    let knobs = "CustomResourceDefinition (apiextensions.k8s.io/v1), Knob (example.com/v1)";
    assert_eq!(told(&[]), [&*unserved(knobs), defined]);
    assert_eq!(told(&["--crds", &crd]), [unserved(knobs)]);
}

#[test]
fn who_gives_policies_may_be_asked_for_more() {
    let server = Weather::start(|ask| match &*ask.path {
        "/apis" => {
            let kyverno = r#"{"metadata":{"name":"kyverno.io"},"versions":[{"version":"v1","resources":[{"resource":"clusterpolicies","responseKind":{"group":"kyverno.io","version":"v1","kind":"ClusterPolicy"},"scope":"Cluster","verbs":["get","list"]}]}]}"#;
            let served = discovery("/apis", "").replace("\"items\":[", &format!("\"items\":[{kyverno},"));
            Answer::Body(200, served)
        }
        "/apis/kyverno.io/v1/clusterpolicies" => Answer::Body(200, r#"{"metadata":{},"items":[]}"#.into()),
        _ => good(ask),
    });
    let folder = Folder::new(&server);
    let selector = "exclude: {any: [{resources: {namespaceSelector: {matchLabels: {tier: back}}}}]}";
    let policy = folder.write("selector.yaml", &policy("selector", "[ConfigMap]", selector));
    let manifest = folder.write("one.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}");
    for (arguments, remedy) in [
        (&["--cluster-policies"][..], "(`--live` asks the cluster for them)"),
        (&[], "(`--values` or a Namespace among the objects gives them)"),
    ] {
        let run = folder.run(&[&["diff", "-p", &policy, "-f", &manifest], arguments].concat());
        assert!(run.code == Some(1) && run.stderr.contains(remedy), "{arguments:?} {run:?}");
    }
}

#[test]
fn a_server_that_never_answers_is_told_with_its_limit() {
    let server = Weather::start(|_| Answer::Hang);
    let folder = Folder::new(&server);
    let run = folder.diff(&["configmaps", "--request-timeout=1s"]);
    let words =
        "Unable to connect to the server: no answer within 1s (--request-timeout gives another limit)";
    assert_eq!((run.code, run.said(), &*run.stdout), (Some(4), vec![words], ""), "{run:?}");
    // It takes the connection and does not begin to speak TLS.
    let address = format!("https://{}", server.authority());
    let run = folder.diff(&["configmaps", "--request-timeout=1s", "--server", &address]);
    let words = "Unable to connect to the server: no connection within 1s";
    assert_eq!((run.code, run.said(), &*run.stdout), (Some(4), vec![words], ""), "{run:?}");
}

#[test]
fn an_object_is_read_once_whatever_version_rules_name() {
    let server = Weather::start(|ask| match &*ask.path {
        "/apis" => {
            let resource = |version: &str| {
                format!(
                    r#"{{"version":"{version}","resources":[{{"resource":"scalers","responseKind":{{"group":"autoscaling","version":"{version}","kind":"Scaler"}},"scope":"Namespaced","verbs":["get","list"]}}]}}"#
                )
            };
            let group = format!(
                r#"{{"metadata":{{"name":"autoscaling"}},"versions":[{},{}]}}"#,
                resource("v2"),
                resource("v1")
            );
            Answer::Body(200, discovery("/apis", "").replace("\"items\":[", &format!("\"items\":[{group},")))
        }
        path if path.contains("/scalers") && path.ends_with("/one") => {
            Answer::Body(200, r#"{"metadata":{"name":"one","namespace":"web"}}"#.into())
        }
        path if path.ends_with("/scalers") => Answer::Body(200, page(&["one"], "")),
        _ => good(ask),
    });
    let folder = Folder::new(&server);
    let first = folder.write("first.yaml", &policy("first", "[autoscaling/v1/Scaler]", ""));
    let second = folder.write("second.yaml", &policy("second", "[autoscaling/v2/Scaler]", ""));
    let third = folder.write("third.yaml", &policy("third", "[autoscaling/*/Scaler]", ""));
    let note = "note: scalers.autoscaling are read once, as autoscaling/v2: autoscaling/v1/Scaler in a rule sees none of them";
    let idle = "note: 1 rule selected no object: first/r";
    let run = folder.run(&["diff", "-p", &first, "-p", &second, "-n", "web"]);
    assert_eq!(
        (run.code, run.changed(), run.said()),
        (Some(1), vec!["Scaler/web/one"], vec![note, idle]),
        "{run:?}"
    );
    // The version that most rules see.
    let run = folder.run(&["diff", "-p", &first, "-p", &third, "-n", "web"]);
    assert_eq!((run.code, run.changed(), run.said()), (Some(1), vec!["Scaler/web/one"], vec![]), "{run:?}");
    let run = folder.run(&["diff", "-p", &first, "-p", &second, "-n", "web", "--strict"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    for arguments in [
        &["scalers.v1.autoscaling,scalers.v2.autoscaling"][..],
        &["scalers.v1.autoscaling/one", "scalers/one"],
        &["scalers.v1.autoscaling,scalers", "one"],
    ] {
        let run = folder.run(&[&["diff", "-p", &third], arguments].concat());
        assert_eq!((run.code, run.changed()), (Some(1), vec!["Scaler/web/one"]), "{run:?}");
    }
}

#[test]
fn schemas_that_cannot_be_read_are_told() {
    let server = Weather::start(|ask| match &*ask.path {
        "/apis" => {
            let definitions = r#"{"metadata":{"name":"apiextensions.k8s.io"},"versions":[{"version":"v1","resources":[{"resource":"customresourcedefinitions","responseKind":{"kind":"CustomResourceDefinition"},"scope":"Cluster","verbs":["get","list"]}]}]}"#;
            Answer::Body(
                200,
                discovery("/apis", "").replace("\"items\":[", &format!("\"items\":[{definitions},")),
            )
        }
        path if path.contains("customresourcedefinitions") => status(403, "Forbidden", "no schemas for you"),
        _ => good(ask),
    });
    let folder = Folder::new(&server);
    let run = folder.diff(&["widgets"]);
    assert_eq!((run.code, run.changed()), (Some(1), vec!["Widget/web/one"]), "{run:?}");
    let words = "note: the schema of widgets.example.com cannot be read, lists in it merge without keys: Error from server (Forbidden): no schemas for you";
    assert_eq!(run.said(), [words], "{run:?}");
    // Where no such object is met nobody needs it.
    let run = folder.diff(&["configmaps", "--strict"]);
    assert_eq!((run.code, run.said()), (Some(1), vec![]), "{run:?}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_tells_what_it_has() {
    let server = Weather::start(|ask| if is_second_page(ask) { Answer::Hang } else { good(ask) });
    let folder = Folder::new(&server);
    let child = folder.command(&["diff", "-p", "team.yaml", "configmaps,secrets"]).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !server.asked().iter().any(|path| path.contains("continue=2")) {
        assert!(Instant::now() < deadline, "the second page is never asked for");
        thread::sleep(Duration::from_millis(10));
    }
    let started = Instant::now();
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let run = ended(child.wait_with_output().unwrap());
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!((run.code, run.changed()), (Some(130), ALL[..2].to_vec()), "{run:?}");
    let rest = "error: the answer is incomplete: not read: secrets; read in part: configmaps";
    assert_eq!(run.said(), ["error: interrupted", rest], "{run:?}");

    // With manifests there is nothing to tell yet.
    let server =
        Weather::start(|ask| if ask.path.ends_with("/configmaps/a") { Answer::Hang } else { good(ask) });
    folder.write("kubeconfig", &kubeconfig(&server.authority()));
    let manifest = folder.write("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
    let child = folder.command(&["diff", "-p", "team.yaml", "-f", &manifest, "--live"]).spawn().unwrap();
    while !server.asked().iter().any(|path| path.ends_with("/a")) {
        assert!(started.elapsed() < Duration::from_secs(30), "the object is never asked for");
        thread::sleep(Duration::from_millis(10));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let run = ended(child.wait_with_output().unwrap());
    assert_eq!((run.code, &*run.stdout), (None, ""), "{run:?}");
}

#[test]
fn flags_and_files_say_how_the_server_is_reached() {
    let server = Weather::start(|ask| {
        let header = |name: &str| ask.headers.get(name).cloned().unwrap_or_default();
        if ask.path.starts_with("/api/v1/") {
            let who = [
                header("authorization"),
                header("impersonate-user"),
                header("impersonate-group"),
                header("impersonate-uid"),
                header("impersonate-extra-team"),
            ];
            return status(403, "Forbidden", &who.join("|"));
        }
        good(ask)
    });
    let folder = Folder::new(&server);
    let told = |arguments: &[&str]| {
        let run = folder.diff(&[&["configmaps"], arguments].concat());
        assert_eq!(run.code, Some(4), "{run:?}");
        run.said()[0].trim_start_matches("Error from server (Forbidden): ").to_owned()
    };
    assert_eq!(told(&[]), "Bearer hidden||||");
    assert_eq!(told(&["--token", "other"]), "Bearer other||||");
    let who = ["--as", "jane", "--as-group", "devs", "--as-uid", "7", "--as-user-extra", "team=a"];
    assert_eq!(told(&who), "Bearer hidden|jane|devs|7|a");
    let address = format!("http://{}", server.authority());
    let empty = folder.write("empty", "apiVersion: v1\nkind: Config\n");
    assert_eq!(told(&["--kubeconfig", &empty, "--server", &address, "--token", "t"]), "Bearer t||||");

    // Of several files the first that says something wins, and one may be missing.
    let first =
        folder.write("first", "apiVersion: v1\nkind: Config\nusers: [{name: x, user: {token: first}}]\n");
    let list = format!("/nonexistent:{first}:{}/kubeconfig", folder.0.path().display());
    let run = ended(
        folder.command(&["diff", "-p", "team.yaml", "configmaps"]).env("KUBECONFIG", &list).output().unwrap(),
    );
    assert!(run.stderr.contains("Bearer first|"), "{run:?}");

    // A program that is asked for the token.
    let plugin = folder.write("plugin", "#!/bin/sh\necho '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"made\"}}'\n");
    set_executable(Path::new(&plugin));
    let exec = format!(
        "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: '{plugin}', interactiveMode: Never}}}}"
    );
    let config = folder.write("exec", &kubeconfig(&server.authority()).replace("{token: hidden}", &exec));
    assert_eq!(told(&["--kubeconfig", &config]), "Bearer made||||");
    assert_eq!(told(&["--kubeconfig", &config, "--token", "given"]), "Bearer given||||");

    for (arguments, words) in [
        (&["--context", "y"][..], "Error in configuration: context was not found for specified context: y"),
        (&["--cluster", "y"], "error: no server found for cluster \"y\""),
        (&["--user", "y"], "error: auth info \"y\" does not exist"),
        (
            &["--as-group", "g"],
            "error: requesting uid, groups or user-extra without impersonating a user (--as)",
        ),
        (
            &["pod/a"],
            "error: there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'",
        ),
        (&["a", "-l", "x=y"], "error: name cannot be provided when a selector is specified"),
        (&["a", "--field-selector", "x=y"], "error: name cannot be provided when a selector is specified"),
    ] {
        let run = folder.diff(&[&["configmaps"], arguments].concat());
        assert_eq!((run.code, run.said(), &*run.stdout), (Some(2), vec![words], ""), "{run:?}");
    }
    let run = folder.diff(&["configmaps", "--request-timeout", "soon"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("Invalid timeout value."), "{run:?}");
}

#[test]
fn without_a_kubeconfig_nothing_is_asked() {
    let server = Weather::start(good);
    let folder = Folder::new(&server);
    let mut command = folder.command(&["diff", "-p", "team.yaml", "configmaps"]);
    let run = ended(command.env_remove("KUBECONFIG").env("HOME", folder.0.path()).output().unwrap());
    let words = "error: kubeconfig: there is none where KUBECONFIG or the home folder should have it";
    assert_eq!((run.code, run.said(), &*run.stdout), (Some(2), vec![words], ""), "{run:?}");
    assert_eq!(server.asked(), [""; 0]);
}

#[cfg(unix)]
fn set_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[cfg(not(unix))]
fn set_executable(_: &Path) {}

/// A server with a Secret, which refuses Pods.
fn with_a_secret() -> Weather {
    Weather::start(|ask| match &*ask.path {
        "/api/v1/namespaces/web/secrets" => {
            let item = r#"{"metadata":{"name":"login","namespace":"web"},"data":{"token":"aHVudGVyMiE=","other":"cGxhaW5seQ=="}}"#;
            Answer::Body(200, format!(r#"{{"kind":"SecretList","metadata":{{}},"items":[{item}]}}"#))
        }
        "/api/v1/namespaces/web/pods" => status(403, "Forbidden", "pods is forbidden"),
        _ => good(ask),
    })
}

/// What is said of a recording without the values of Secrets, and of its replay.
const MASKED: &str = "note: values of Secrets are masked in the recording: a policy that looks at them may do something \
                      else in a replay (--show-secrets records them)\n";
const STAND_INS: &str = "note: texts stand in for the values of Secrets in the recording: a policy that looks at them may do \
                         something else than on the cluster (--record with --show-secrets keeps the values)\n";

const SECRETS: [&str; 4] = ["aHVudGVyMiE=", "hunter2!", "cGxhaW5seQ==", "plainly"];

fn recorded(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut files: Vec<(String, String)> = entries
        .map(|entry| entry.expect("a file").path())
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("text"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_replay_needs_no_server_and_prints_the_same_bytes() {
    let server = with_a_secret();
    let folder = Folder::new(&server);
    let time = "context: [{name: at, variable: {value: '{{ time_now() }}'}}]\n    \
                preconditions: {all: [{key: '{{ at }}', operator: NotEquals, value: ''}]}";
    let timed = folder.write(
        "time.yaml",
        &policy("time", "[ConfigMap, Pod, Secret]", time)
            .replace("team: a", "at: \"{{ at | replace_all(@, ':', '-') }}\""),
    );
    let moved = folder.write(
        "moved.yaml",
        &policy("moved", "[Secret]", "")
            .replace("team: a", "was: \"{{ request.object.data.token | base64_decode(@) }}\""),
    );
    let arguments = ["configmaps,secrets,pods", "--chunk-size=2", "-p", &timed, "-p", &moved];
    for output in [
        &["diff", "-o", "json"][..],
        &["diff"],
        &["diff", "-o", "summary"],
        &["diff", "-o", "markdown"],
        &["explain"],
    ] {
        let run = |more: &[&str]| folder.run(&[output, &arguments, more].concat());
        let live = run(&["--record", "tape"]);
        assert_eq!(live.code, Some(4), "{live:?}");
        let files = recorded(&folder.0.path().join("tape"));
        for (name, text) in &files {
            assert!(name == "recording.json" || text.starts_with("{\n  \"question\": {\n"), "{name}: {text}");
            assert!(SECRETS.iter().all(|secret| !text.contains(secret)), "{name}: {text}");
        }
        for start in
            ["list-configmaps-web-1-", "list-configmaps-web-2-", "list-kinds-", "list-secrets-web-1-"]
        {
            assert_eq!(files.iter().filter(|(name, _)| name.starts_with(start)).count(), 1, "{start}");
        }
        let asked = server.asked().len();
        let replayed = run(&["--replay", "tape", "--kubeconfig", "not-there"]);
        assert_eq!(server.asked().len(), asked);
        assert_eq!((replayed.code, &replayed.stdout), (live.code, &live.stdout), "{replayed:?}");
        assert_eq!(live.stderr.replace(MASKED, STAND_INS), replayed.stderr);
        for shown in [&live, &replayed] {
            assert!(
                SECRETS.iter().all(|secret| !shown.stdout.contains(secret) && !shown.stderr.contains(secret))
            );
        }
    }

    // Whoever asks for it gets the values, on the screen and in the files.
    let shown = folder.run(&[&["diff"][..], &arguments, &["--record", "tape", "--show-secrets"]].concat());
    assert!(shown.stdout.contains("+    was: hunter2!\n"), "{shown:?}");
    let files = recorded(&folder.0.path().join("tape"));
    assert!(files.iter().any(|(_, text)| text.contains("aHVudGVyMiE=")));
    let replayed = folder.run(&[&["diff"][..], &arguments, &["--replay", "tape", "--show-secrets"]].concat());
    assert_eq!((replayed.code, &replayed.stdout), (shown.code, &shown.stdout));
}

/// A server with a Secret; with `ConfigMaps` that hold what a policy makes of it, or are called so; it refuses one of them.
fn with_what_is_made_of_a_secret() -> Weather {
    let map = |name: &str, rest: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"web"{rest}}},"data":{{"tier":"t-{name}"}}}}"#
        )
    };
    let maps = [
        map("a", ""),
        map(
            "b",
            r#","annotations":{"upper":"HUNTER2-SESAME","pair":"x:HUNTER2-SESAME","tier":"t-cm-hunter2"}"#,
        ),
        map("c", r#","annotations":{"pair":"x:HUNTER2-SESAME"}"#),
    ];
    let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"login","namespace":"web","annotations":
        {"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"token\":\"b2xkLXRva2Vu\"}}","copy":"hunter2-sesame"}},
        "data":{"token":"aHVudGVyMi1zZXNhbWU=","word":"YXBw","count":"NDIxNw==","nested":"WTIwdGFIVnVkR1Z5TWc9PQ=="}}"#;
    Weather::start(move |ask| {
        match &*ask.path {
        "/api/v1/namespaces/web/configmaps" => Answer::Body(
            200,
            format!(r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{}},"items":[{}]}}"#, maps.join(",")),
        ),
        "/api/v1/namespaces/web/configmaps/cm-hunter2" => Answer::Body(200, map("cm-hunter2", "")),
        "/api/v1/namespaces/web/configmaps/a" if ask.query.contains("dryRun=All") => {
            status(422, "Invalid", "ConfigMap \"a\" is invalid: HUNTER2-SESAME is no hunter2-sesame")
        }
        "/api/v1/namespaces/web/configmaps/c" if ask.query.contains("dryRun=All") => {
            let annotations = r#","annotations":{"pair":"x:HUNTER2-SESAME","upper":"HUNTER2-SESAME","tier":"t-cm-hunter2","hook":"saw HUNTER2-SESAME"}"#;
            Answer::Body(200, map("c", annotations))
        }
        "/api/v1/namespaces/web/secrets/login" => Answer::Body(200, secret.replace('\n', "")),
        "/api/v1/namespaces/web/pods" if ask.query.contains("hunter2") => {
            Answer::Body(200, r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"p"}},{"metadata":{"name":"q"}}]}"#.into())
        }
        _ => good(ask),
    }
    })
}

/// A policy that asks by what it makes of a Secret, and writes it down.
fn made_of_a_secret() -> String {
    policy(
        "made",
        "[ConfigMap]",
        "context:\n    - {name: login, apiCall: {urlPath: /api/v1/namespaces/web/secrets/login}}\n    \
         - {name: word, variable: {jmesPath: base64_decode(login.data.token)}}\n    \
         - {name: map, configMap: {namespace: web, name: \"cm-{{ split(word, '-')[0] }}\"}}\n    \
         - name: pods\n      apiCall:\n        urlPath: \"/api/v1/namespaces/web/pods?labelSelector=of%3D{{ split(word, '-')[0] }}\"\n        \
         jmesPath: length(items)",
    )
    .replace(
        "labels: {team: a}",
        "annotations: {upper: '{{ to_upper(word) }}', pair: 'x:{{ to_upper(word) }}', tier: '{{ map.data.tier }}', \
         pods: '{{ to_string(pods) }}'}",
    )
}

#[test]
fn nothing_made_of_a_secret_is_recorded_and_the_replay_finds_its_answers() {
    let server = with_what_is_made_of_a_secret();
    let folder = Folder::new(&server);
    let made = folder.write("made.yaml", &made_of_a_secret());
    let secrets = ["hunter2", "aHVudGVyMi1", "sesame", "old-token", "b2xkLXRva2Vu", "YXBw", "WTIwdGFI"];
    for output in [
        &["diff"][..],
        &["diff", "-o", "json"],
        &["diff", "-o", "markdown"],
        &["explain"],
        &["explain", "-o", "json"],
        &["diff", "--server-dry-run"],
        &["diff", "-o", "json", "--server-dry-run"],
    ] {
        let run = |more: &[&str]| folder.run(&[output, &["configmaps", "-p", &made], more].concat());
        let plain = run(&[]);
        let live = run(&["--record", "tape"]);
        assert_eq!((plain.code, &plain.stdout), (live.code, &live.stdout), "{output:?} {live:?}");
        let is_dry = output.contains(&"--server-dry-run");
        assert_eq!(
            live.code,
            Some(if is_dry {
                4
            } else if output[0] == "diff" {
                1
            } else {
                0
            }),
            "{live:?}"
        );
        assert!(!live.stderr.contains("cannot be recorded"), "{live:?}");
        let replayed = run(&["--replay", "tape", "--kubeconfig", "not-there"]);
        assert_eq!((replayed.code, &replayed.stdout), (live.code, &live.stdout), "{output:?} {replayed:?}");
        let files = recorded(&folder.0.path().join("tape"));
        for secret in secrets {
            for (name, text) in &files {
                let both = format!("{name} {text}").to_lowercase();
                assert!(!both.contains(&secret.to_lowercase()), "{output:?} {secret}: {name}: {text}");
            }
            for shown in [&live, &replayed] {
                let both = format!("{} {}", shown.stdout, shown.stderr).to_lowercase();
                assert!(!both.contains(&secret.to_lowercase()), "{output:?} {secret}: {shown:?}");
            }
        }
        if output == ["diff"] {
            assert_eq!(live.changed(), ["ConfigMap/web/a", "ConfigMap/web/b", "ConfigMap/web/c"]);
            assert!(live.stdout.contains("***") && live.stdout.contains("pods:"), "{live:?}");
        }
    }

    // The results are what they are, and so are the values for whoever asks for them.
    let run = folder.run(&["mutate", "configmaps", "-p", &made, "-o", "yaml"]);
    assert!(run.stdout.contains("upper: HUNTER2-SESAME") && run.stdout.contains("t-cm-hunter2"), "{run:?}");
    let shown = folder.run(&["diff", "configmaps", "-p", &made, "--record", "tape", "--show-secrets"]);
    assert!(shown.stdout.contains("upper: HUNTER2-SESAME"), "{shown:?}");
    let replayed = folder.run(&["diff", "configmaps", "-p", &made, "--replay", "tape", "--show-secrets"]);
    assert_eq!((replayed.code, &replayed.stdout), (shown.code, &shown.stdout));
}

/// A policy for `ConfigMaps` that sees the decoded values of the Secret as `word` and `short`.
fn looking(name: &str, rest: &str, metadata: &str) -> String {
    let context = "context:\n    - {name: login, apiCall: {urlPath: /api/v1/namespaces/web/secrets/login}}\n    \
                   - {name: word, variable: {jmesPath: base64_decode(login.data.token)}}\n    \
                   - {name: short, variable: {jmesPath: base64_decode(login.data.word)}}";
    policy(name, "[ConfigMap]", &format!("{context}{rest}")).replace("labels: {team: a}", metadata)
}

#[test]
fn a_replay_prints_the_same_bytes_or_names_the_rules_that_come_out_otherwise() {
    let server = with_what_is_made_of_a_secret();
    let folder = Folder::new(&server);
    let only_if = |key: &str, value: &str| {
        format!(
            "\n    preconditions: {{all: [{{key: '{{{{ {key} }}}}', operator: Equals, value: '{value}'}}]}}"
        )
    };
    let label = "labels: {team: a}";
    for (name, is_same, text) in [
        (
            "inside",
            true,
            looking("inside", "", "annotations: {made: 'x{{ short }}y', upper: '{{ to_upper(short) }}'}"),
        ),
        (
            "keys",
            true,
            looking(
                "keys",
                "",
                "labels: {'{{ word }}': a, '{{ short }}': b, 'x{{ short }}': c, 'x-{{ word }}': d}",
            ),
        ),
        (
            "cut",
            true,
            looking(
                "cut",
                "",
                "annotations: {made: '{{ truncate(word, `2`) }}', hash: '{{ sha256(short) }}'}",
            ),
        ),
        ("met", false, looking("met", &only_if("word", "hunter2-sesame"), label)),
        ("unmet", true, looking("unmet", &only_if("word", "other"), label)),
        ("long", false, looking("long", "", "labels: {long: '{{ length(word) }}'}")),
        ("parts", false, looking("parts", "", "annotations: {made: \"{{ split(word, '-')[1] }}\"}")),
        (
            "number",
            true,
            looking(
                "number",
                &only_if("to_number(base64_decode(login.data.count)) > `1`", "true")
                    .replace("'true'", "true"),
                label,
            ),
        ),
    ] {
        let path = folder.write(&format!("{name}.yaml"), &text);
        for output in [&["diff"][..], &["diff", "-o", "json"], &["explain"], &["explain", "-o", "json"]] {
            let run = |more: &[&str]| folder.run(&[output, &["configmaps", "-p", &path], more].concat());
            let live = run(&["--record", "tape"]);
            let replayed = run(&["--replay", "tape", "--kubeconfig", "not-there"]);
            let told = format!(
                "note: what these rules do depends on what the values of Secrets are, and a replay prints something else where \
                 texts stand in for them (--record with --show-secrets keeps the values): {name}/r on 3 objects, first \
                 ConfigMap/web/a\n"
            );
            assert_eq!(live.stdout == replayed.stdout, is_same, "{name} {output:?} {live:?} {replayed:?}");
            for run in [&live, &replayed] {
                assert_eq!(run.stderr.contains(&told), !is_same, "{name} {output:?} {run:?}");
                assert_eq!(run.stderr.contains("depends on"), !is_same, "{name} {output:?} {run:?}");
            }
            for (file, text) in recorded(&folder.0.path().join("tape")) {
                assert!(!text.contains("hunter2-sesame"), "{name} {output:?} {file} {text}");
            }
        }
    }
}

#[test]
fn a_manifest_may_ask_by_its_own_secret() {
    let server = with_what_is_made_of_a_secret();
    let folder = Folder::new(&server);
    let own = folder.write(
        "own.yaml",
        "{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: web}, data: {token: aHVudGVyMi14}}",
    );
    let context = "context:\n    - name: tier\n      apiCall:\n        \
                   urlPath: \"/api/v1/namespaces/web/configmaps/cm-{{ split(base64_decode(request.object.data.token), '-')[0] }}\"\n        \
                   jmesPath: data.tier";
    let text =
        policy("own", "[Secret]", context).replace("labels: {team: a}", "annotations: {tier: '{{ tier }}'}");
    let policies = folder.write("asks.yaml", &text);
    for output in [&["diff"][..], &["diff", "-o", "json"], &["explain"]] {
        let run =
            |more: &[&str]| folder.run(&[output, &["-f", &own, "--live", "-p", &policies], more].concat());
        let live = run(&["--record", "tape"]);
        assert!(live.code.is_some_and(|code| code < 2) && !live.stderr.contains("depends on"), "{live:?}");
        let replayed = run(&["--replay", "tape", "--kubeconfig", "not-there"]);
        assert_eq!((replayed.code, &replayed.stdout), (live.code, &live.stdout), "{output:?} {replayed:?}");
        for (file, text) in recorded(&folder.0.path().join("tape")) {
            assert!(!format!("{file} {text}").contains("hunter2"), "{output:?} {file} {text}");
        }
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_recording_is_not_complete() {
    let is_hanging = |ask: &Ask| is_second_page(ask) || ask.path.ends_with("/configmaps/a");
    let server = Weather::start(move |ask| if is_hanging(ask) { Answer::Hang } else { good(ask) });
    let folder = Folder::new(&server);
    let manifest = folder.write("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
    for objects in [&["configmaps,secrets"][..], &["-f", &manifest, "--live"]] {
        let asked = server.asked().len();
        let arguments = [&["diff", "-p", "team.yaml", "--record", "tape"], objects].concat();
        let child = folder.command(&arguments).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let hangs = |path: &String| path.contains("continue=2") || path.ends_with("/configmaps/a");
        while !server.asked().iter().skip(asked).any(hangs) {
            assert!(Instant::now() < deadline, "what hangs is never asked for");
            thread::sleep(Duration::from_millis(10));
        }
        let started = Instant::now();
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let run = ended(child.wait_with_output().unwrap());
        assert!(started.elapsed() < Duration::from_secs(5), "{run:?}");
        assert_eq!(run.code, Some(130), "{run:?}");
        let told = "note: the recording is not complete: the run was interrupted\n";
        assert!(run.stderr.contains(told), "{run:?}");
        let head = fs::read_to_string(folder.0.path().join("tape/recording.json")).unwrap();
        assert!(head.contains("\"complete\": false"), "{head}");
        let replayed = folder.run(&[&["diff", "-p", "team.yaml", "--replay", "tape"], objects].concat());
        let told = "note: the recording is not complete: the run that made it was interrupted\n";
        assert!(replayed.code == Some(4) && replayed.stderr.contains(told), "{replayed:?}");
        assert!(replayed.stdout.contains("# incomplete: "), "{replayed:?}");
    }
    // The next run makes a whole one of it.
    assert_eq!(folder.diff(&["secrets", "--record", "tape"]).code, Some(1));
    let head = fs::read_to_string(folder.0.path().join("tape/recording.json")).unwrap();
    assert!(head.contains("\"complete\": true"), "{head}");
    assert!(!folder.diff(&["secrets", "--replay", "tape"]).stderr.contains("not complete"));
}

#[test]
fn what_nothing_stands_in_for_is_counted_when_it_is_recorded_and_told_when_it_is_missing() {
    let server = with_what_is_made_of_a_secret();
    let folder = Folder::new(&server);
    let context = "context:\n    - {name: login, apiCall: {urlPath: /api/v1/namespaces/web/secrets/login}}\n    \
                   - {name: map, configMap: {namespace: web, name: \"{{ base64_decode(base64_decode(login.data.nested)) }}\"}}";
    let text = policy("made", "[ConfigMap]", context).replace("team: a", "tier: '{{ map.data.tier }}'");
    let made = folder.write("made.yaml", &text);
    let live = folder.run(&["diff", "configmaps", "-p", &made, "--record", "tape"]);
    assert_eq!(live.code, Some(1), "{live:?}");
    let told = "note: 1 answer to what a policy asks for by values of Secrets cannot be recorded without them, and will be \
                missing in a replay (--show-secrets records them)\n";
    assert!(live.stderr.contains(told), "{live:?}");
    let replayed = folder.run(&["diff", "configmaps", "-p", &made, "--replay", "tape"]);
    assert_eq!(replayed.code, Some(3), "{replayed:?}");
    let told = "note: 1 answer to what a policy asks for by values of Secrets could not be recorded without them: rules that \
                want them fail (--show-secrets records them)\n";
    assert!(replayed.stderr.contains(told), "{replayed:?}");
    for (name, text) in recorded(&folder.0.path().join("tape")) {
        assert!(!format!("{name} {text}").contains("cm-hunter2"), "{name}: {text}");
    }
}

#[test]
fn what_a_recording_does_not_hold_is_told() {
    let server = Weather::start(good);
    let folder = Folder::new(&server);
    assert_eq!(folder.diff(&["configmaps", "--record", "tape"]).code, Some(1));
    let run = folder.diff(&["configmaps,secrets", "--replay", "tape"]);
    assert_eq!((run.code, run.changed()), (Some(4), ALL.to_vec()), "{run:?}");
    let told =
        "error: the recording has no answer: list secrets, version v1, namespace web, limit 500, page 1";
    assert_eq!(run.said(), [told, "error: the answer is incomplete: not read: secrets"], "{run:?}");

    // An answer that a policy asks for.
    let call = folder.write(
        "call.yaml",
        &policy(
            "call",
            "[ConfigMap]",
            "context: [{name: nodes, apiCall: {urlPath: /api/v1/nodes, jmesPath: 'length(items)'}}]",
        )
        .replace("team: a", "nodes: '{{ nodes }}'"),
    );
    let run = folder.run(&["diff", "-p", &call, "configmaps", "--replay", "tape"]);
    let mark = "# incomplete: not looked up: /api/v1/nodes\n";
    assert_eq!((run.code, &*run.stdout), (Some(4), mark), "{run:?}");
    assert!(run.stderr.contains("error: the recording has no answer: ask /api/v1/nodes\n"), "{run:?}");

    for (arguments, words) in [
        (&["configmaps", "--replay", "."][..], "error: .: this directory is no recording\n"),
        (&["configmaps", "--replay", "none"], "error: none: cannot be read: no such file or directory\n"),
        (&["configmaps", "--record", "."], "error: .: the directory is not empty, and it is no recording\n"),
        (
            &["-f", "team.yaml", "--replay", "tape"],
            "error: a recording is named and no cluster is asked: manifests are evaluated in it with --live\n",
        ),
    ] {
        let run = folder.diff(arguments);
        assert_eq!((run.code, &*run.stderr, &*run.stdout), (Some(2), words, ""), "{arguments:?}");
    }
}

#[test]
fn manifests_are_replayed_with_what_the_cluster_held() {
    let server = with_a_secret();
    let folder = Folder::new(&server);
    let manifest = folder.write(
        "manifest.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: ../..}}\n---\n\
         {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}\n",
    );
    let arguments = ["-f", &*manifest, "--live"];
    let live = folder.diff(&[&arguments[..], &["--record", "deep/tape"]].concat());
    assert_eq!(live.code, Some(1), "{live:?}");
    let replayed = folder.diff(&[&arguments[..], &["--replay", "deep/tape"]].concat());
    assert_eq!((replayed.code, &replayed.stdout, &replayed.stderr), (live.code, &live.stdout, &live.stderr));
    assert_eq!(fs::read_dir(folder.0.path().join("deep")).unwrap().count(), 1);
}

#[test]
fn who_prints_secrets_is_told() {
    let server = with_a_secret();
    let folder = Folder::new(&server);
    let told = "note: the values of 1 Secret are printed as they are";
    for (output, is_told) in
        [("yaml", true), ("json", true), ("patch", true), ("diff", false), ("name", false)]
    {
        let run = folder.run(&["mutate", "-p", "team.yaml", "secrets,configmaps", "-o", output]);
        assert_eq!((run.code, run.said().contains(&told)), (Some(0), is_told), "{output} {run:?}");
    }
    let run = folder.run(&["mutate", "-p", "team.yaml", "secrets", "--show-secrets"]);
    assert_eq!(run.said(), Vec::<&str>::new(), "{run:?}");
}

#[test]
fn webhooks_may_deny_break_or_take_no_dry_run() {
    let denied = "admission webhook \"v.example.com\" denied the request: not today\nnor tomorrow";
    let side_effects = "admission webhook \"v.example.com\" does not support dry run";
    let broken = "Internal error occurred: failed calling webhook \"v.example.com\": connection refused";
    let conflict = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your \
                    changes to the latest version and try again";
    for (code, reason, message, exit, verdict) in [
        (403, "Forbidden", denied, 3, "refused"),
        (400, "", denied, 3, "refused"),
        (400, "BadRequest", side_effects, 4, "unanswered"),
        (500, "InternalError", broken, 4, "unanswered"),
        (409, "Conflict", conflict, 4, "unanswered"),
    ] {
        let server = Weather::start(move |ask| {
            if ask.query.contains("dryRun=All") {
                status(code, reason, &message.replace('\n', "\\n"))
            } else {
                good(ask)
            }
        });
        let folder = Folder::new(&server);
        let run = folder.diff(&["configmaps", "--server-dry-run", "-o", "json"]);
        assert_eq!(run.code, Some(exit), "{reason} {run:?}");
        let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let missing: Vec<String> = ALL.iter().map(|name| format!("dry run of {name}")).collect();
        let missing = if exit == 4 { missing } else { Vec::new() };
        assert_eq!(value["summary"]["notReadable"]["lookUps"], serde_json::json!(missing));
        let told = serde_json::json!({"verdict": verdict, "message": message});
        assert_eq!(value["objects"][0]["server"], told);
        assert_eq!(value["summary"]["serverDryRun"][verdict], 3);
        // Each line of a message is marked as one.
        let run = folder.diff(&["configmaps", "--server-dry-run"]);
        assert!(run.stdout.lines().all(|line| line.starts_with(['-', '+', ' ', '@', '#'])), "{run:?}");
    }
    let run = Folder::new(&Weather::start(good)).diff(&["-f", "team.yaml", "--server-dry-run"]);
    let words = "error: --server-dry-run needs a cluster: manifests are evaluated in it with --live\n";
    assert_eq!((run.code, &*run.stderr, &*run.stdout), (Some(2), words, ""), "{run:?}");
}
