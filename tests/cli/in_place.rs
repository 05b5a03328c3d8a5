//! `mutate -i` under failures: after every interruption each file is complete, either old or new.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-kyv");

/// Adds the label `a: b` to every `ConfigMap`.
const POLICY: &str = include_str!("../support/label.yaml");

/// How many runs are ended at a random moment.
const ENDS: usize = 60;
/// As many where the slower tests run too.
const MANY_ENDS: usize = 1000;
/// On a busy machine the moment is hard to meet.
const MAX_ENDS: usize = 5000;

/// Manifests of several sizes, and what they should become.
struct Files {
    folder: TempDir,
    files: Vec<(PathBuf, String)>,
    edited: Vec<String>,
}

impl Files {
    fn new(sizes: impl IntoIterator<Item = usize>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        let files: Vec<(PathBuf, String)> = sizes
            .into_iter()
            .enumerate()
            .map(|(index, size)| {
                let filler = format!("  key: {}  # kept\n", "x".repeat(size));
                let text = format!(
                    "# file {index}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map-{index}\ndata:\n{filler}"
                );
                (folder.path().join(format!("in/{index}.yaml")), text)
            })
            .collect();
        let edited = files
            .iter()
            .map(|(_, text)| text.replace("\ndata:\n", "\n  labels:\n    a: b\ndata:\n"))
            .collect();
        let files = Self { folder, files, edited };
        files.restore();
        files
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn restore(&self) {
        for (path, text) in &self.files {
            fs::write(path, text).unwrap();
        }
    }

    /// How many files were edited; none may be anything else than whole.
    fn edited(&self) -> usize {
        let all = self.files.iter().zip(&self.edited).filter(|((path, text), edited)| {
            let now = fs::read_to_string(path).unwrap();
            assert!(
                now == *text || now == **edited,
                "{}: {} bytes of neither text",
                path.display(),
                now.len()
            );
            now == **edited
        });
        all.count()
    }

    /// Files in the folder that are not the manifests.
    fn left_behind(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path().join("in")).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| !self.files.iter().any(|(file, _)| file == path)).collect()
    }

    fn arguments(&self) -> Vec<String> {
        let path = |name: &str| self.path().join(name).display().to_string();
        ["mutate", "-i", "-p", &path("policy.yaml"), "-f", &path("in")].map(str::to_owned).to_vec()
    }

    fn start(&self) -> Child {
        Command::new(PROGRAM)
            .args(self.arguments())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }
}

/// Ends runs at random moments, until some files were edited and others not at least once.
fn end_at_random(files: &Files, end: impl Fn(&mut Child, usize), check: impl Fn(&Files)) {
    let start = Instant::now();
    assert!(files.start().wait().unwrap().success());
    let whole_run = start.elapsed();
    assert_eq!(files.edited(), files.files.len());
    let mut dice = 1_u64;
    let mut is_in_the_middle = false;
    let ends = if test_support::has_real_programs() { MANY_ENDS } else { ENDS };
    for number in 0..MAX_ENDS {
        if number >= ends && is_in_the_middle {
            return;
        }
        files.restore();
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = whole_run.mul_f64((dice >> 40) as f64 / (1_u64 << 24) as f64);
        let mut run = files.start();
        std::thread::sleep(moment);
        end(&mut run, number);
        run.wait().unwrap();
        check(files);
        is_in_the_middle |= (1..files.files.len()).contains(&files.edited());
    }
    panic!("no end fell between two writes");
}

#[test]
fn killed_runs_leave_complete_files() {
    let files = Files::new((0..8).map(|index| index * 2_000));
    let kill = |run: &mut Child, _| run.kill().unwrap();
    end_at_random(&files, kill, |files| {
        // A killed program cannot clear up; what it leaves is no manifest, so that the next run takes none for one.
        for path in files.left_behind() {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(name.starts_with(".kyv-") && name.ends_with(".tmp"), "{name}");
            fs::remove_file(&path).unwrap();
        }
    });
}

#[test]
#[cfg(unix)]
fn runs_that_a_signal_ends_leave_complete_files_and_no_others() {
    let files = Files::new((0..8).map(|index| index * 2_000));
    let signal = |run: &mut Child, number: usize| {
        let signal = ["-HUP", "-INT", "-TERM"][number % 3];
        // A run that has ended takes none.
        let _ended =
            Command::new("kill").args([signal, &run.id().to_string()]).stderr(Stdio::null()).status();
    };
    let nothing_left = |files: &Files| assert_eq!(files.left_behind(), Vec::<PathBuf>::new());
    end_at_random(&files, signal, nothing_left);
}

#[test]
#[cfg(unix)]
fn full_disk_leaves_files_unchanged() {
    // The small ones fit below the limit of 8 KiB, the last does not.
    let files = Files::new([100, 20_000]);
    // A write past the limit fails as on a full disk, once the signal that comes with it is ignored.
    let mut run = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "sh", PROGRAM])
        .args(files.arguments())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut message = String::new();
    run.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(2), "{message}");
    assert!(message.contains("in/1.yaml: ") && message.contains("File too large"), "{message}");
    assert!(message.contains("in/0.yaml: 1 object changed"), "{message}");
    assert_eq!(files.edited(), 1);
    assert_eq!(files.left_behind(), Vec::<PathBuf>::new());
}

#[test]
#[cfg(unix)]
fn read_only_folders_are_reported() {
    use std::os::unix::fs::PermissionsExt as _;

    let files = Files::new([10]);
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(files.path(), 0o755);
    set(&files.path().join("in"), 0o555);
    // For root every folder can be written: the program then runs as somebody else.
    let is_root = fs::write(files.path().join("in/probe"), "").is_ok();
    let mut command = if is_root {
        fs::remove_file(files.path().join("in/probe")).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", PROGRAM]);
        command
    } else {
        Command::new(PROGRAM)
    };
    let Ok(output) = command.args(files.arguments()).stdin(Stdio::null()).output() else {
        return eprintln!("skipped: a folder that root cannot write");
    };
    set(&files.path().join("in"), 0o755);
    let said = String::from_utf8(output.stderr).unwrap();
    if is_root && output.status.code() != Some(2) && output.stdout.is_empty() && said.contains("setpriv") {
        return eprintln!("skipped: {said}");
    }
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{said}");
    assert!(said.contains("in/0.yaml: ") && said.contains("ermission denied"), "{said}");
    assert_eq!((files.edited(), files.left_behind()), (0, Vec::new()));
}

#[test]
fn non_utf8_files_are_reported_with_position() {
    let files = Files::new([10]);
    let odd: [(&str, &[u8], &str); 4] = [
        ("latin.yaml", b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: caf\xe9}\n", ":3:21: "),
        ("wide.yaml", b"\xff\xfea\0:\0 \x001\0\n\0", ":1:1: "),
        ("tab.yaml", b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: x\n", ":4:2: "),
        ("twice.yaml", b"apiVersion: v1\nkind: ConfigMap\nkind: Secret\n", ":3:1: "),
    ];
    for (name, bytes, _) in &odd {
        fs::write(files.path().join("in").join(name), bytes).unwrap();
    }
    let output = Command::new(PROGRAM).args(files.arguments()).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{said}");
    for (name, bytes, place) in &odd {
        assert!(said.contains(&format!("in/{name}{place}")), "{name}{place}\n{said}");
        assert_eq!(fs::read(files.path().join("in").join(name)).unwrap(), *bytes, "{name}");
    }
    // Files that could be edited are not written either.
    assert_eq!(files.edited(), 0);
}

#[test]
fn concurrent_writes_are_not_overwritten() {
    use std::io::Write as _;

    const THEIRS: &str = "# theirs\n";
    let files = Files::new((0..200).map(|index| index * 50));
    let start = Instant::now();
    assert!(files.start().wait().unwrap().success());
    let whole_run = start.elapsed();
    let mut refused = 0;
    for part in 0..20 {
        files.restore();
        let mut run = files.start();
        std::thread::sleep(whole_run.mul_f64(f64::from(part) / 20.0));
        let last = &files.files.last().unwrap().0;
        fs::OpenOptions::new().append(true).open(last).unwrap().write_all(THEIRS.as_bytes()).unwrap();
        let code = run.wait().unwrap().code();
        let now = fs::read_to_string(last).unwrap();
        assert!(now.ends_with(THEIRS), "{part}: exit {code:?}, and their line is lost");
        let is_edited = now.contains("  labels:\n");
        assert!(is_edited == (code == Some(0)), "{part}: exit {code:?}\n{now}");
        refused += usize::from(!is_edited);
    }
    assert!(refused > 0, "no write fell between reading and writing");
}

#[test]
#[cfg(unix)]
fn file_owner_is_kept() {
    use std::os::unix::fs::{MetadataExt as _, chown};

    let files = Files::new([10]);
    let path = &files.files[0].0;
    if chown(path, Some(65_534), Some(65_534)).is_err() {
        return eprintln!("skipped: a file of somebody else, which only root can make");
    }
    assert!(files.start().wait().unwrap().success());
    let now = fs::metadata(path).unwrap();
    assert_eq!((files.edited(), now.uid(), now.gid()), (1, 65_534, 65_534));
}
