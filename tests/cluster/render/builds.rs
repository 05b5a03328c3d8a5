//! Builds: the rendered manifests of one application each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use kyv::yaml::{Document, Limits, Source, read};
use serde_json::Value;
use test_support::files::files_below;
use test_support::{conformance_folder, tool};

/// The rendered manifests of one application.
pub(super) struct Build {
    pub(super) name: String,
    /// A folder with the manifests, as they are given to the program.
    pub(super) folder: PathBuf,
    /// All objects, items of lists one by one, in the order in which the program reads them.
    pub(super) objects: Vec<Value>,
    /// The definitions of custom resources, which are not among the objects.
    pub(super) definitions: Vec<Value>,
}

impl Build {
    /// Writes manifests into a folder of their own; `None` if they hold no objects.
    pub(super) fn new(root: &Path, name: &str, manifests: &[(String, String)]) -> Option<Self> {
        let folder = root.join(name);
        fs::create_dir_all(&folder).expect("a folder for the build");
        let (mut objects, mut definitions) = (Vec::new(), Vec::new());
        for (index, (file, text)) in manifests.iter().enumerate() {
            let (text, found) = without_definitions(file, text);
            definitions.extend(found);
            objects.extend(self::objects(file, &text));
            fs::write(folder.join(format!("{index:03}-{file}")), text).expect("the folder takes files");
        }
        (!objects.is_empty()).then(|| Self { name: name.to_owned(), folder, objects, definitions })
    }

    /// The builds of `tests/cluster/render/builds`: kustomizations, and folders of plain manifests.
    pub(super) fn own(root: &Path) -> Vec<Self> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/render/builds");
        let mut folders: Vec<PathBuf> =
            fs::read_dir(&source).expect("builds").map(|entry| entry.expect("a folder").path()).collect();
        folders.sort();
        let builds = folders.iter().map(|folder| {
            let name = folder.file_name().expect("a name").to_string_lossy();
            let manifests = match kustomization(folder) {
                Some(folder) => vec![("build.yaml".to_owned(), kustomize(&folder))],
                None => plain(&files_below(folder, &["yaml", "yml", "json"])),
            };
            Self::new(root, &name, &manifests).unwrap_or_else(|| panic!("{name} holds no objects"))
        });
        builds.collect()
    }
}

/// The resources of the conformance folder, a build for each folder below those of `policies` and `kyverno`.
impl Build {
    pub(super) fn conformance(root: &Path, is_whole: bool) -> Vec<Self> {
        let Some(folder) = conformance_folder("resources of the conformance folder") else {
            return Vec::new();
        };
        let mut builds = Vec::new();
        for area in ["policies", "kyverno/cli"] {
            let mut folders: Vec<PathBuf> = fs::read_dir(folder.join(area))
                .expect("a folder")
                .map(|entry| entry.expect("an entry").path())
                .filter(|path| path.is_dir())
                .collect();
            folders.sort();
            for folder in folders.into_iter().step_by(if is_whole { 1 } else { 6 }) {
                let name = folder.file_name().expect("a name").to_string_lossy();
                let manifests = plain(&files_below(&folder, &["yaml", "yml"]));
                builds.extend(Self::new(root, &format!("{}-{name}", area.replace('/', "-")), &manifests));
            }
        }
        builds
    }
}

/// The kustomization of a build: of its overlay, or its only one.
fn kustomization(folder: &Path) -> Option<PathBuf> {
    let candidates = [folder.join("overlay"), folder.to_path_buf()];
    candidates.into_iter().find(|folder| folder.join("kustomization.yaml").exists())
}

/// What kustomize makes of a folder.
pub(super) fn kustomize(folder: &Path) -> String {
    run(Command::new(tool("kustomize")).arg("build").arg(folder))
}

/// The stdout of a program that must succeed.
pub(super) fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {message}", output.status);
    String::from_utf8(output.stdout).expect("the program prints text")
}

/// Files by name, those that can be read as manifests.
pub(super) fn plain(files: &[PathBuf]) -> Vec<(String, String)> {
    let manifests = files.iter().filter_map(|path| {
        let text = fs::read_to_string(path).ok()?;
        let name = path.file_name()?.to_string_lossy().into_owned();
        (!objects(&name, &text).is_empty()).then_some((name, text))
    });
    manifests.collect()
}

/// The objects of a manifest.
pub(super) fn objects(name: &str, text: &str) -> Vec<Value> {
    let source = Arc::new(Source::new(name, text));
    let mut found = Vec::new();
    for document in read(&source, &Limits::default()).unwrap_or_default() {
        if let Some(value) = document.value() {
            add(serde_json::from_str(&value.to_json()).expect("JSON"), &mut found);
        }
    }
    found
}

/// A manifest without the definitions of custom resources, which are large, and these.
fn without_definitions(name: &str, text: &str) -> (String, Vec<Value>) {
    const KIND: &str = "CustomResourceDefinition";
    let documents = read(&Arc::new(Source::new(name, text)), &Limits::default()).unwrap_or_default();
    let is_definition = |document: &&Document| {
        document
            .value()
            .is_some_and(|value| value.get("kind").and_then(kyv::value::Value::as_str) == Some(KIND))
    };
    let (found, kept): (Vec<&Document>, Vec<&Document>) = documents.iter().partition(is_definition);
    if found.is_empty() {
        return (text.to_owned(), Vec::new());
    }
    let kept: Vec<&str> = kept.into_iter().map(Document::body).collect();
    let found = found.into_iter().flat_map(|document| objects(name, document.body()));
    (kept.join("\n---\n"), found.collect())
}

fn add(value: Value, into: &mut Vec<Value>) {
    if let Some(items) = value["items"].as_array().filter(|_| value["kind"].as_str().is_some_and(is_list)) {
        return items.iter().for_each(|item| add(item.clone(), into));
    }
    if value["kind"].is_string() && value["apiVersion"].is_string() {
        into.push(value);
    }
}

fn is_list(kind: &str) -> bool {
    kind.ends_with("List")
}
