//! The plugin installed as its page says: in the real manifests of Argo CD, and in the file system of its image.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::folder::{Folder, kyv_program};
use crate::page_runner::follow;
use crate::workspace::{build, example};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The manifests of the version of Argo CD that its plugin server is built from.
fn install_manifests() -> PathBuf {
    let output = Command::new("go")
        .args(["list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3"])
        .current_dir(Path::new(ROOT).join("tests/tools/argocd"))
        .output();
    let output = output.expect("go runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let module = String::from_utf8(output.stdout).expect("UTF-8");
    Path::new(module.trim()).join("manifests/install.yaml")
}

/// A folder in which the page was followed, with the objects of its kustomizations in `argocd.yaml` and `sets.yaml`.
fn installed() -> Folder {
    let folder = Folder::with(&[]);
    let checkout = format!("mkdir -p kubectl-kyv/plugin && cp -r {ROOT}/plugin/argocd kubectl-kyv/plugin");
    let download = format!("cp {} \"$2\"", install_manifests().display());
    let scripts = [
        ("git", &*checkout),
        ("docker", "echo \"$*\" >>docker.log"),
        ("curl", &*download),
        ("kubectl", "[ \"$1\" != kyv ] || { shift; exec kubectl-kyv \"$@\"; }"),
    ];
    follow("docs/argocd.md", &folder, &["kustomize"], &scripts);
    folder
}

fn objects(text: &str) -> Vec<Value> {
    let source = std::sync::Arc::new(kyv::yaml::Source::new("built", text.to_owned()));
    let documents = kyv::yaml::read(&source, &kyv::yaml::Limits::default()).expect("YAML");
    let values = documents.iter().filter_map(|document| document.value());
    values.map(|value| serde_json::from_str(&value.to_json()).expect("JSON")).collect()
}

fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let is_it = |object: &&Value| {
        object["kind"] == kind
            && object["metadata"]["name"].as_str().is_some_and(|found| found.starts_with(name))
    };
    objects.iter().find(is_it).unwrap_or_else(|| panic!("{kind} {name}"))
}

fn list<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object[name].as_array().unwrap_or_else(|| panic!("{name} in {object}"))
}

#[test]
fn the_sidecar_is_the_last_container_of_the_repository_server() {
    if test_support::skip_without_real_programs("the sidecar in the manifests of Argo CD") {
        return;
    }
    let folder = installed();
    for name in ["argocd.yaml", "sets.yaml"] {
        let built = objects(&folder.read(name));
        let pod = &find(&built, "Deployment", "argocd-repo-server")["spec"]["template"]["spec"];
        let names: Vec<_> = list(pod, "containers").iter().map(|container| &container["name"]).collect();
        assert_eq!(names, ["argocd-repo-server", "kyv"], "{name}");
    }
    let built = objects(&folder.read("argocd.yaml"));
    let pod = &find(&built, "Deployment", "argocd-repo-server")["spec"]["template"]["spec"];
    let sidecar = &list(pod, "containers")[1];
    let image = sidecar["image"].as_str().expect("an image");
    assert!(folder.read("docker.log").contains(&format!("push {image}\n")));
    assert_eq!(sidecar["securityContext"]["runAsUser"], 999);
    assert_eq!(sidecar["securityContext"]["runAsNonRoot"], true);
    assert_eq!(sidecar["command"], serde_json::json!(["/var/run/argocd/argocd-cmp-server"]));
    for (mount, path) in [("var-files", "/var/run/argocd"), ("plugins", "/home/argocd/cmp-server/plugins")] {
        let mounts = list(sidecar, "volumeMounts");
        assert!(mounts.iter().any(|one| one["name"] == mount && one["mountPath"] == path), "{mount}");
    }
    // Argo CD asks for a temporary folder that is not the server's.
    let server = list(&list(pod, "containers")[0], "volumeMounts");
    let temporary = server.iter().find(|mount| mount["mountPath"] == "/tmp").expect("a mount");
    assert!(!list(sidecar, "volumeMounts").iter().any(|mount| mount["name"] == temporary["name"]));
    // Each volume is there once, and those of ConfigMaps that were made here name them.
    for mount in list(sidecar, "volumeMounts") {
        let volumes = list(pod, "volumes").iter().filter(|volume| volume["name"] == mount["name"]);
        assert_eq!(volumes.count(), 1, "{mount}");
    }
    for name in ["kyv-plugin", "kyv-policies"] {
        let volume = list(pod, "volumes").iter().find(|volume| volume["name"] == name).expect("a volume");
        let map = find(&built, "ConfigMap", name);
        assert_eq!(volume["configMap"]["name"], map["metadata"]["name"]);
        assert_eq!(map["metadata"]["namespace"], "argocd");
    }
    // Nothing else of Argo CD is another one.
    let theirs = objects(&fs::read_to_string(install_manifests()).expect("a file"));
    for object in theirs.iter().filter(|object| object["metadata"]["name"] != "argocd-repo-server") {
        let kind = object["kind"].as_str().expect("a kind");
        let name = object["metadata"]["name"].as_str().expect("a name");
        let is_it = |one: &&Value| one["kind"] == kind && one["metadata"]["name"] == name;
        let kept = built.iter().find(is_it).unwrap_or_else(|| panic!("{kind} {name}"));
        assert_eq!(kept["spec"], object["spec"], "{kind} {name}");
    }
    assert_eq!(built.len(), theirs.len() + 3);
}

/// The file system of an image, assembled as the last stage of its Dockerfile says.
fn image(folder: &Folder) -> (PathBuf, String) {
    let root = folder.path().join("root");
    let text = fs::read_to_string(Path::new(ROOT).join("plugin/argocd/Dockerfile")).expect("a file");
    let text = text.replace("\\\n", " ");
    // The stage of the renderers is run as it is written, in a folder of its own.
    let renderers = folder.path().join("renderers");
    let script = text.lines().find_map(|line| line.strip_prefix("RUN mkdir /renderers")).expect("a stage");
    let script = script.replace("/tools/", &format!("{ROOT}/tests/tools/"));
    let script = script.replace(" /renderers", &format!(" {}", renderers.display()));
    let script = format!("mkdir {}{script}", renderers.display());
    assert!(Command::new("sh").args(["-euc", &script]).status().expect("sh runs").success());
    let (_, last) = text.rsplit_once("\nFROM ").expect("stages");
    let mut path = String::new();
    for line in last.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match &words[..] {
            ["${BASE}"] | ["USER", "999"] | [] => {}
            ["ENV", set] => path = set.strip_prefix("PATH=").expect("the PATH").to_owned(),
            ["COPY", sources @ .., target] => {
                for source in sources.iter().filter(|source| !source.starts_with("--from=")) {
                    let from = match *source {
                        "/kubectl-kyv" => kyv_program().to_owned(),
                        "/source/LICENSE" => Path::new(ROOT).join("LICENSE"),
                        "/renderers/kustomize" => renderers.join("kustomize"),
                        "/renderers/helm" => renderers.join("helm"),
                        // Nothing is fetched here, so that no certificate is needed.
                        "/etc/ssl/certs/ca-certificates.crt" => {
                            folder.write("none.crt", "");
                            folder.path().join("none.crt")
                        }
                        file if file.starts_with("plugin/") => Path::new(ROOT).join(file),
                        _ => panic!("{line}"),
                    };
                    let file = if target.ends_with('/') { source.rsplit('/').next() } else { None };
                    let to = root.join(format!("{}{}", &target[1..], file.unwrap_or_default()));
                    fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
                    fs::copy(&from, &to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
                }
            }
            _ => panic!("{line}"),
        }
    }
    add_libraries(&root);
    (root, path)
}

/// The libraries of a program that is not the static one of a release.
fn add_libraries(root: &Path) {
    let output = Command::new("ldd").arg(kyv_program()).output().expect("ldd runs");
    let listed = String::from_utf8(output.stdout).expect("UTF-8");
    for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
        let copy = root.join(&library[1..]);
        fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder");
        fs::copy(library, copy).expect("a library");
    }
}

/// Mounts a `ConfigMap` as Kubernetes does it: files are links to a folder that is one as a whole.
fn mount(map: &Value, root: &Path, mount: &Value) {
    let path = root.join(&mount["mountPath"].as_str().expect("a path")[1..]);
    let data = map["data"].as_object().expect("data");
    if let Some(file) = mount["subPath"].as_str() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        return fs::write(&path, data[file].as_str().expect("a text")).expect("a file");
    }
    fs::create_dir_all(path.join("..2026_11_23")).expect("a folder");
    symlink("..2026_11_23", path.join("..data")).expect("a link");
    for (file, text) in data {
        fs::write(path.join("..data").join(file), text.as_str().expect("a text")).expect("a file");
        symlink(format!("..data/{file}"), path.join(file)).expect("a link");
    }
}

/// A running container, ended with this value.
struct Container(Child);

impl Drop for Container {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait().map(drop));
    }
}

/// Starts the sidecar in the file system of its image; its socket.
fn start(folder: &Folder, built: &[Value]) -> (Container, PathBuf) {
    let (root, path) = image(folder);
    let pod = &find(built, "Deployment", "argocd-repo-server")["spec"]["template"]["spec"];
    let sidecar = list(pod, "containers").last().expect("a container");
    let mut script = Command::new(Path::new(ROOT).join("tests/tools/container"));
    script.arg(&root).arg(sidecar["securityContext"]["runAsUser"].to_string());
    for one in list(sidecar, "volumeMounts") {
        let volume = list(pod, "volumes").iter().find(|volume| volume["name"] == one["name"]);
        let volume = volume.expect("a volume");
        match volume["configMap"]["name"].as_str() {
            Some(name) => mount(find(built, "ConfigMap", name), &root, one),
            None => drop(script.arg(&one["mountPath"].as_str().expect("a path")[1..])),
        }
    }
    // As the init container of Argo CD does it.
    fs::create_dir_all(root.join("var/run/argocd")).expect("a folder");
    let server = root.join("var/run/argocd/argocd-cmp-server");
    fs::copy(test_support::tool("argocd-cmp-server"), server).expect("a program");
    script.arg(format!("PATH={path}"));
    for variable in list(sidecar, "env") {
        let [name, value] = ["name", "value"].map(|field| variable[field].as_str().expect("a text"));
        script.arg(format!("{name}={value}"));
    }
    script.arg("--").args(list(sidecar, "command").iter().filter_map(Value::as_str));
    let log = fs::File::create(folder.path().join("log")).expect("a file");
    let mut container = Container(
        script.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("the script starts"),
    );
    let socket = root.join("home/argocd/cmp-server/plugins/kyv.sock");
    let since = Instant::now();
    while !socket.exists() {
        let ended = container.0.try_wait().expect("its state");
        assert!(ended.is_none() && since.elapsed() < Duration::from_secs(30), "{}", folder.read("log"));
        thread::sleep(Duration::from_millis(20));
    }
    (container, socket)
}

/// Whether containers can be made here; said on stderr if not.
fn has_namespaces() -> bool {
    let mut unshare = Command::new("unshare");
    let made = unshare.args(["--map-root-user", "--mount", "--pid", "--fork", "true"]).status();
    let can = made.is_ok_and(|status| status.success());
    if !can {
        test_support::log("skipped: the image of the Argo CD plugin (needs Linux namespaces)");
    }
    can
}

#[test]
fn the_sidecar_runs_in_the_file_system_of_its_image() {
    if test_support::skip_without_real_programs("the image of the Argo CD plugin") || !has_namespaces() {
        return;
    }
    let folder = installed();
    let built = objects(&folder.read("argocd.yaml"));
    let (_container, socket) = start(&folder, &built);
    let applications = objects(&folder.read("applications.yaml"));
    assert!(applications.len() >= 3);
    for application in &applications {
        let source = &application["spec"]["source"];
        let path = source["path"].as_str().expect("a path");
        let manifests = generate(&socket, path, &source["plugin"]["parameters"].to_string());
        assert!(!manifests.is_empty(), "{path}");
        for manifest in &manifests {
            assert_eq!(manifest["metadata"]["labels"]["owner"], "team-shop", "{path}");
        }
        if path == "apps/shop/overlays/prod" {
            let deployment = &find(&manifests, "Deployment", "prod-shop")["spec"]["template"]["spec"];
            assert_eq!(deployment["containers"][0]["image"], "registry.example/shop:1.25");
        }
    }
}

/// The manifests of an application of the example, asked for as the repository server does.
fn generate(socket: &Path, path: &str, parameters: &str) -> Vec<Value> {
    let mut client = Command::new(test_support::tool("argocd-cmp-client"));
    client.arg("-socket").arg(socket).args(["-timeout", "60s", "-path", path]);
    for (name, value) in build(path, parameters) {
        client.arg("-env").arg(format!("{name}={value}"));
    }
    let output = client.arg("generate").arg(example()).output().expect("the client runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{path}: {said}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let read = |text: &Value| serde_json::from_str(text.as_str().expect("a text")).expect("JSON");
    list(&answer, "manifests").iter().map(read).collect()
}

#[test]
fn applications_choose_sets_of_the_sidecar() {
    if test_support::skip_without_real_programs("policy sets of the Argo CD plugin") || !has_namespaces() {
        return;
    }
    let folder = installed();
    let built = objects(&folder.read("sets.yaml"));
    let (_container, socket) = start(&folder, &built);
    let token = |parameters: &str| {
        let job = generate(&socket, "apps/jobs", parameters).remove(0);
        assert_eq!(job["metadata"]["labels"]["owner"], "team-shop");
        let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
        pod["automountServiceAccountToken"].clone()
    };
    assert_eq!(token("null"), Value::Null);
    assert_eq!(token(r#"[{"name":"policy-sets","array":["pci"]}]"#), false);
}

#[test]
fn an_api_server_takes_the_installation() {
    if test_support::skip_without_real_programs("the installation of the Argo CD plugin in an API server") {
        return;
    }
    let folder = installed();
    let server = test_support::api_server::ApiServer::start();
    let apply = |name: &str| {
        let arguments = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
        server.kubectl_ok(&arguments, &folder.read(name))
    };
    apply("argocd.yaml");
    server.kubectl_ok(&["wait", "--for=condition=Established", "crd/applications.argoproj.io"], "");
    apply("applications.yaml");
    apply("sets.yaml");
    let arguments = ["get", "deployment", "-n", "argocd", "argocd-repo-server", "-o", "json"];
    let stored: Value = serde_json::from_str(&server.kubectl_ok(&arguments, "")).expect("JSON");
    let pod = &stored["spec"]["template"]["spec"];
    let sidecar = list(pod, "containers").last().expect("a container");
    assert_eq!(sidecar["name"], "kyv");
    let mounts = list(sidecar, "volumeMounts");
    assert!(mounts.iter().any(|mount| mount["mountPath"] == "/etc/kyv/sets/pci"), "{mounts:?}");
}
