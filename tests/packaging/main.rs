//! The release archive of this platform: built, validated and installed by the real krew, run by the real kubectl. Needs real programs; `KYV_PROFILE=dist` tries the build of a release.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use kyv::value::Value;
use sha2::{Digest as _, Sha256};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const TAG: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// Runs a command to its end; what it wrote on stdout and stderr.
fn done(command: &mut Command) -> (String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}\n{stderr}");
    (stdout.into_owned(), stderr.into_owned())
}

/// The platform that the tests run on, as Go names it.
fn platform() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        arch => arch,
    };
    format!("{os}_{arch}")
}

fn sha256(path: &Path) -> String {
    Sha256::digest(fs::read(path).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a program of Linux asks for an interpreter, as one does that finds its C library at run time.
fn is_dynamic(program: &[u8]) -> bool {
    const INTERPRETER: u32 = 3;
    let half = |at: usize| usize::from(u16::from_le_bytes(program[at..at + 2].try_into().unwrap()));
    assert_eq!(program[..6], *b"\x7fELF\x02\x01", "a program of 64 bits, little end first");
    let table = usize::try_from(u64::from_le_bytes(program[32..40].try_into().unwrap())).unwrap();
    (0..half(56))
        .map(|index| table + index * half(54))
        .any(|entry| u32::from_le_bytes(program[entry..entry + 4].try_into().unwrap()) == INTERPRETER)
}

/// The manifest as krew-release-bot makes it of the template in the tree.
fn manifest(sums: &BTreeMap<String, String>) -> String {
    let template = fs::read_to_string(Path::new(ROOT).join(".krew.yaml")).unwrap();
    let lines = template.lines().map(|line| {
        let line = line.replace("{{ .TagName }}", TAG);
        let Some(uri) = line.trim_start().strip_prefix("{{addURIAndSha \"") else { return line };
        let uri = uri.strip_suffix("\" .TagName }}").unwrap();
        let archive = uri.rsplit_once('/').unwrap().1;
        let sum = sums.get(archive).cloned().unwrap_or_else(|| "f".repeat(64));
        format!("    uri: {uri}\n    sha256: {sum}")
    });
    lines.map(|line| line + "\n").collect()
}

/// That a `CycloneDX` document lists the crates that were compiled in.
fn assert_lists_components(document: &Path) {
    let document = Value::from_json(&fs::read_to_string(document).unwrap()).unwrap();
    assert_eq!(document.path(&["bomFormat"]).and_then(Value::as_str), Some("CycloneDX"));
    let components = document.get("components").and_then(Value::as_array).unwrap();
    for name in ["clap", "indexmap", "kube"] {
        let is_listed = |found: &Value| found.get("name").and_then(Value::as_str) == Some(name);
        assert!(components.iter().any(is_listed), "{name}");
    }
}

#[test]
fn the_archive_is_installed_by_krew_and_run_by_kubectl() {
    if test_support::skip_without_real_programs("the packages") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let archives = || {
        let profile = std::env::var("KYV_PROFILE").unwrap_or_else(|_| "quick".into());
        let mut command = Command::new(Path::new(ROOT).join("plugin/kubectl/archives"));
        done(command.arg(&out).env("KYV_PROFILE", profile))
    };
    let (made, stderr) = archives();
    let name = format!("kubectl-kyv_{TAG}_{}", platform());
    let archive = out.join(format!("{name}.tar.gz"));
    for file in [&format!("{name}.tar.gz"), &format!("{name}.cdx.json"), "checksums.txt"] {
        assert!(made.lines().any(|line| Path::new(line) == out.join(file)), "{file}: {made}");
    }
    // What was not built is named.
    for other in ["linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"] {
        let built = made.contains(&format!("_{}.tar.gz", other.replace('/', "_")));
        assert_ne!(built, stderr.contains(&format!("left out {other}: ")), "{other}: {stderr}");
    }

    let sums: BTreeMap<String, String> = fs::read_to_string(out.join("checksums.txt"))
        .unwrap()
        .lines()
        .map(|line| line.split_once("  ").unwrap())
        .map(|(sum, file)| (file.to_owned(), sum.to_owned()))
        .collect();
    assert!(sums.iter().all(|(file, sum)| sha256(&out.join(file)) == *sum), "{sums:?}");
    assert_lists_components(&out.join(format!("{name}.cdx.json")));

    let (listed, _) = done(Command::new("tar").arg("-tzf").arg(&archive));
    for file in ["kubectl-kyv", "LICENSE", "README.md", "man/kubectl-kyv.1", "man/kubectl-kyv-diff.1"] {
        assert!(listed.lines().any(|line| line == file), "{file}: {listed}");
    }
    let unpacked = folder.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    done(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&unpacked));
    if cfg!(target_os = "linux") {
        assert!(
            !is_dynamic(&fs::read(unpacked.join("kubectl-kyv")).unwrap()),
            "the C library is not part of it"
        );
    }

    // Equal sources give equal archives.
    archives();
    assert_eq!(sums.get(&format!("{name}.tar.gz")), Some(&sha256(&archive)));

    let path = folder.path().join("kyv.yaml");
    fs::write(&path, manifest(&sums)).unwrap();
    done(
        Command::new(test_support::tool("validate-krew-manifest"))
            .arg("-skip-install")
            .arg("-manifest")
            .arg(&path),
    );
    let root = folder.path().join("krew");
    let install = |root: &Path, manifest: &Path| {
        let mut command = Command::new(test_support::tool("krew"));
        command.arg("install").arg("--manifest").arg(manifest).arg("--archive").arg(&archive);
        command.env("KREW_ROOT", root).env("KREW_NO_UPGRADE_CHECK", "1");
        command
    };
    done(&mut install(&root, &path));
    let (version, _) = done(
        Command::new(test_support::tool("kubectl"))
            .args(["kyv", "version", "-o", "json"])
            .env_clear()
            .env("PATH", root.join("bin")),
    );
    let version = Value::from_json(&version).unwrap();
    assert_eq!(version.get("version").and_then(Value::as_str), Some(env!("CARGO_PKG_VERSION")));
    assert!(
        version.get("commit").and_then(Value::as_str).is_some_and(|commit| commit.len() >= 12),
        "{version:?}"
    );

    // An archive that is another than the manifest says is refused.
    let wrong = folder.path().join("wrong.yaml");
    fs::write(&wrong, manifest(&BTreeMap::new())).unwrap();
    let refused = install(&folder.path().join("other"), &wrong).output().unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && stderr.contains("checksum"), "{stderr}");
}
