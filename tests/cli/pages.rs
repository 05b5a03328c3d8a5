//! Pages for a browser: what is in them here, and how Chromium shows them (`tests/tools/browser/pages.mjs`).
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::folder::{Folder, write};

const POLICIES: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  rules:
  - name: owner
    match: {any: [{resources: {kinds: [ConfigMap, Deployment]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {+(owner): shop}}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: privileged}
spec:
  rules:
  - name: as-root
    match: {any: [{resources: {kinds: [Deployment]}}]}
    mutate:
      patchStrategicMerge:
        spec: {template: {spec: {containers: [{(name): '*', securityContext: {privileged: true}}]}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: sizes}
spec:
  rules:
  - name: as-text
    match: {any: [{resources: {kinds: [ConfigMap], names: [bad]}}]}
    mutate: {patchStrategicMerge: {data: {size: '{{ to_upper(request.object.data.size) }}'}}}
";

const TEAMS: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team-a}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Deployment]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: a}}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team-b}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Deployment]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: b}}}}
";

const OBJECTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: bad}
data: {zone: east}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: done, labels: {owner: somebody}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: west}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        securityContext: {privileged: false}
        image: nginx
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
";

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata: {name: web}
";

/// An object whose texts mean something to a browser.
const HOSTILE: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: "a</script><script>harmed=1</script><img src=x onerror=harmed=1>\u202e\u001b"
  labels: {x: "<b>bold</b>", "<!--": "&lt;"}
"#;

/// A folder with the inputs of the pages.
fn folder() -> Folder {
    let files = [
        ("policies.yaml", POLICIES),
        ("teams.yaml", TEAMS),
        ("objects.yaml", OBJECTS),
        ("service.yaml", SERVICE),
        ("hostile.yaml", HOSTILE),
    ];
    Folder::new(&files)
}

/// The page that a command writes.
fn page(folder: &Folder, command: &str, policies: &str, objects: &str) -> String {
    folder.run(&[command, "-q", "-p", policies, "-f", objects, "-o", "html"]).stdout
}

/// The data in a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    assert!(!data.contains(['<', '>', '&']), "{data}");
    serde_json::from_str(data).unwrap()
}

#[test]
fn pages_have_the_data_of_json() {
    let folder = folder();
    for (command, policies) in [("check", "teams.yaml"), ("drift", "policies.yaml")] {
        let json = folder.run(&[command, "-q", "-p", policies, "-f", "objects.yaml", "-o", "json"]).stdout;
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(data(&page(&folder, command, policies, "objects.yaml")), json, "{command}");
    }
    let json =
        folder.run(&["explain", "-q", "-p", "policies.yaml", "-f", "objects.yaml", "-o", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let mut explained = data(&page(&folder, "explain", "policies.yaml", "objects.yaml"));
    let diff = explained["objects"][3].as_object_mut().unwrap().remove("diff").unwrap();
    assert!(diff.as_str().unwrap().contains("+          privileged: true\n"), "{diff}");
    for object in explained["objects"].as_array_mut().unwrap() {
        object.as_object_mut().unwrap().remove("diff");
    }
    assert_eq!(explained, json);
}

#[test]
fn the_page_of_a_diff_has_the_objects_that_rules_match() {
    let folder = folder();
    let run = folder.run(&["diff", "-p", "policies.yaml", "-f", "objects.yaml", "-o", "html"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let data = data(&run.stdout);
    let rules: Vec<(&str, Vec<&str>)> = data["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|object| {
            let outcomes = object["rules"].as_array().unwrap().iter();
            let outcomes = outcomes.map(|rule| rule["outcome"].as_str().unwrap());
            (object["object"]["name"].as_str().unwrap(), outcomes.collect())
        })
        .collect();
    let expected = [
        ("bad", vec!["patched", "error"]),
        ("good", vec!["patched"]),
        ("done", vec!["no change"]),
        ("web", vec!["patched", "patched"]),
    ];
    assert_eq!(rules, expected);
    assert_eq!(data["summary"]["objects"], 5);
}

#[test]
fn values_of_secrets_are_masked_in_pages() {
    let folder = Folder::new(&[
        (
            "policy.yaml",
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: copy}\nspec:\n  rules:\n  - name: upper\n    \
             match: {any: [{resources: {kinds: [Secret]}}]}\n    preconditions: {all: [{key: '{{ request.object.stringData.key }}', \
             operator: NotEquals, value: x}]}\n    mutate: {patchStrategicMerge: {stringData: {other: '{{ \
             to_upper(request.object.stringData.key) }}'}}}\n",
        ),
        (
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {key: correct-horse}\n",
        ),
    ]);
    for command in ["diff", "explain", "check", "drift"] {
        let page = page(&folder, command, "policy.yaml", "secret.yaml");
        assert!(data(&page)["version"] == 1, "{command}: {page}");
        for value in ["correct-horse", "CORRECT-HORSE"] {
            assert!(!page.contains(value), "{command}: {page}");
        }
    }
}

#[test]
fn chromium_shows_the_pages() {
    if test_support::skip_without_real_programs("pages in Chromium") {
        return;
    }
    let folder = folder();
    let config = |number: usize| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: config-{number}, namespace: n-{}}}\n",
            number % 50
        )
    };
    folder.write("large.yaml", &(0..10_000).map(config).collect::<String>());
    let pages = [
        ("diff", "diff", "policies.yaml", "objects.yaml"),
        ("explain", "explain", "policies.yaml", "objects.yaml"),
        ("check", "check", "teams.yaml", "objects.yaml"),
        ("drift", "drift", "policies.yaml", "objects.yaml"),
        ("refused", "diff", "nowhere.yaml", "objects.yaml"),
        ("nothing", "diff", "policies.yaml", "service.yaml"),
        ("hostile", "diff", "policies.yaml", "hostile.yaml"),
        ("large", "diff", "policies.yaml", "large.yaml"),
    ];
    for (name, command, policies, objects) in pages {
        let path = folder.path().join(format!("pages/{name}.html"));
        write(&path, &page(&folder, command, policies, objects));
    }
    let browser = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/browser");
    let mut look = Command::new(browser.join("run"));
    look.arg(browser.join("pages.mjs")).arg(folder.path().join("pages"));
    // Somebody may want to see them.
    look.args(std::env::var_os("KYV_SCREENSHOTS"));
    let output = look.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    test_support::log(&said);
}
