//! Incomplete output says what is missing, in every format.

use std::fs;
use std::process::Command;

use super::{Folder, discovery, good, policy, second_page, status};
use test_support::stub_server::{StubRequest, StubResponse, StubServer};

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
    let told = format!("error[KYV513]: the result is incomplete: {gaps}");
    assert!(json.messages().contains(&&*told), "{json:?}");
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
fn denied_kinds_and_lookups_are_named_in_every_format() {
    let server = StubServer::start(|request| match &*request.path {
        "/api/v1/namespaces/web/secrets" | "/api/v1/nodes" | "/api/v1/namespaces/web" => {
            status(403, "Forbidden", "not for you")
        }
        path if path.ends_with("/configmaps/settings") => status(403, "Forbidden", "not for you"),
        path if path.ends_with("/configmaps/one") => status(500, "InternalError", "boom"),
        _ => good(request),
    });
    let folder = Folder::new(&server);
    let names = |kinds: &[&str], part: &[&str], look_ups: &[&str]| serde_json::json!({"kinds": kinds, "inPart": part, "objects": [], "policies": [], "refusedPolicies": [], "files": [], "lookUps": look_ups});
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
type Cause = (
    fn(&StubRequest) -> StubResponse,
    &'static [&'static str],
    &'static str,
    &'static str,
    &'static [&'static str],
);

#[test]
fn every_gap_is_marked_in_every_format() {
    fn gone(request: &StubRequest) -> StubResponse {
        if request.path.ends_with("/nope") {
            return status(404, "NotFound", "deployments.apps \"nope\" not found");
        }
        match &*request.path {
            path if path.ends_with("/deployments/a") => {
                StubResponse::Body(200, r#"{"metadata":{"name":"a","namespace":"web"}}"#.into())
            }
            "/api/v1/namespaces/web" => StubResponse::Body(200, r#"{"metadata":{"name":"web"}}"#.into()),
            "/api/v1/namespaces/nons" => status(404, "NotFound", "namespaces \"nons\" not found"),
            _ => good(request),
        }
    }
    fn refused(request: &StubRequest) -> StubResponse {
        if request.path.ends_with("/secrets") {
            status(403, "Forbidden", "not for you")
        } else {
            good(request)
        }
    }
    fn vanished(request: &StubRequest) -> StubResponse {
        if request.path.ends_with("/widgets") { status(404, "NotFound", "not found") } else { good(request) }
    }
    fn down(request: &StubRequest) -> StubResponse {
        match &*request.path {
            "/api" | "/apis" => StubResponse::Body(200, discovery(&request.path, "example.com")),
            _ => good(request),
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
        let server = StubServer::start(answer);
        let folder = Folder::new(&server);
        let mut names = serde_json::json!({"kinds": [], "inPart": [], "objects": [], "policies": [], "refusedPolicies": [], "files": [], "lookUps": []});
        names[list] = serde_json::json!(what);
        assert_incomplete(&folder, &[&["-p", "team.yaml"], arguments].concat(), gaps, &names);
    }
    let server = StubServer::start(gone);
    let run =
        Folder::new(&server).diff(&["deployment", "a", "nope", "nope-either", "-n", "nons", "-o", "summary"]);
    let told = "error[KYV512]: Error from server (NotFound): namespaces \"nons\" not found";
    assert_eq!(run.messages().first(), Some(&told), "{run:?}");
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
