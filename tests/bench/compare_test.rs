//! The benchmark runs: on tiny numbers, with the real programs, and with no expectation of times.

mod compare;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};

/// The name under which the program calls itself for a whole run.
const RUN: &str = "run-the-benchmark";

/// All but the live objects: they take an API server, and twice the time.
const AXES: [&str; 13] = [
    "startup",
    "objects",
    "drawn",
    "cel",
    "matching",
    "idle",
    "foreach",
    "threads",
    "view",
    "canonical",
    "stream",
    "kustomize",
    "function",
];

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(code) = compare::subcommand(&arguments) {
        return code;
    }
    if arguments.first().is_some_and(|first| first == RUN) {
        return compare::main(arguments[1..].to_vec());
    }
    let trials = vec![
        Trial::test("a quick run compares, measures and reports", || left_out().map_or_else(whole, Ok)),
        Trial::test("different output stops the run", || left_out().map_or_else(difference, Ok)),
        Trial::test("the policies use features in the shares of the catalogue", shares),
        Trial::test("invalid arguments are refused", unknown),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn left_out() -> Option<()> {
    test_support::skip_without_real_programs("the benchmark on tiny numbers").then_some(())
}

fn run(kyv: &Path, arguments: &[&str]) -> Result<Output, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(RUN).args(arguments).env("KYV_BINARY", kyv).stdin(Stdio::null());
    Ok(command.output()?)
}

fn whole() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let write = format!("--write={}", folder.path().display());
    let arguments = [&["--quick", "--rounds", "1", "--seed", "7", &write], &AXES[..]].concat();
    let is_drawn = test_support::conformance_folder("drawn sets of policies and objects").is_some();
    let output = run(Path::new(env!("CARGO_BIN_EXE_kubectl-kyv")), &arguments)?;
    let [report, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{stderr}");

    let checked =
        report.lines().find_map(|line| line.strip_prefix("First it was checked that both print the same: "));
    let checked: Vec<&str> =
        checked.ok_or("nothing was checked")?.trim_end_matches('.').split("; ").collect();
    for what in [
        "1 object × 1 policy",
        "40 objects × 30 policies",
        "40 objects × 30 MutatingPolicies",
        "40 objects × the classic policies beside the MutatingPolicies",
        "20 objects × 10 and 8 policies",
    ] {
        assert!(checked.contains(&what), "{what} is not among {checked:?}");
    }

    let drawn = checked.iter().filter(|what| what.contains("of --seed 7")).count();
    assert_eq!(drawn, if is_drawn { 2 } else { 0 }, "{checked:?}");

    let mut tables = report.split("\n\n").filter(|part| part.starts_with('|'));
    let goals: Vec<&str> = tables.next().ok_or("no table of goals")?.lines().collect();
    assert_eq!(goals.len(), 2 + 19 + if is_drawn { 2 } else { 0 }, "a goal is missing: {goals:?}");
    let verdict = |row: &&str| row.contains("| reached |") || row.contains("| **missed** |");
    assert!(goals.iter().skip(2).all(verdict), "{goals:?}");
    let mut number = 0;
    for table in tables {
        number += 1;
        let cells: Vec<usize> = table.lines().map(|row| row.matches('|').count()).collect();
        assert!(cells.len() > 3 && cells.iter().all(|cells| *cells == 8), "{table}");
    }
    assert_eq!(number, AXES.len() - usize::from(!is_drawn), "each axis has its table");

    assert_eq!(fs::read_to_string(folder.path().join("table.md"))?, report);
    let figures = fs::read_to_string(folder.path().join("figures.csv"))?;
    assert!(figures.starts_with("axis,point,program,run,wall_s,cpu_s,peak_kib,waiting\n"), "{figures}");
    let rows = figures.lines().skip(1).map(|line| line.split('"').collect::<Vec<_>>());
    for row in rows {
        assert!(
            matches!(row[..], [before, _, after] if before.matches(',').count() == 2 && after.matches(',').count() == 5)
        );
    }
    for chart in
        ["startup", "objects-time", "objects-memory", "matching", "idle", "foreach", "kustomize", "function"]
    {
        let svg = fs::read_to_string(folder.path().join(format!("{chart}.svg")))?;
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
    }
    Ok(())
}

/// A program that makes something else of one label.
fn difference() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let other = folder.path().join("other");
    let script =
        format!("#!/bin/sh\n{} \"$@\" | /bin/sed s/Always/Never/\n", env!("CARGO_BIN_EXE_kubectl-kyv"));
    fs::write(&other, script)?;
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755))?;
    let output = run(&other, &["--quick", "startup"])?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(output.stdout.is_empty(), "figures that mean nothing are printed");
    assert!(
        stderr.contains("differ at (\"Pod\", \"team-00\", \"one\"), so their times mean nothing"),
        "{stderr}"
    );
    Ok(())
}

/// Of 72 samples that mutate 57 use strategic merge, 29 preconditions, 17 `foreach`, 16 `request.operation`, 15 a JSON
/// patch, 11 `+()` and 6 `<()`; each policy patches in one way, so those with a JSON patch are what is left.
fn shares() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/compare/policies");
    let texts: Result<Vec<String>, _> =
        fs::read_dir(folder)?.map(|entry| fs::read_to_string(entry?.path())).collect();
    let texts = texts?;
    assert_eq!(texts.len(), 30);
    for (feature, number) in [
        ("patchStrategicMerge:", 24),
        ("patchesJson6902:", 6),
        ("preconditions:", 12),
        ("foreach:", 7),
        ("request.operation", 7),
        ("+(", 5),
        ("<(", 2),
    ] {
        assert_eq!(texts.iter().filter(|text| text.contains(feature)).count(), number, "{feature}");
    }
    Ok(())
}

fn unknown() -> Result<(), Failed> {
    let kyv = Path::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    for (arguments, expected) in [
        (&["speed"][..], "`speed` is unknown"),
        (&["--seed", "-1"], "--seed: a number has to follow"),
        (&["--rounds", "0"], "--rounds: a number of 1 or more has to follow"),
        (&["--quick", "--write"], "--write without a folder replaces the published figures"),
        (&["startup", "--write"], "--write without a folder replaces the published figures"),
        (&["--write="], "a folder has to follow"),
        (&["startup", "--write=/proc/nowhere"], "/proc/nowhere: "),
    ] {
        let output = run(kyv, arguments)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(expected) && output.stdout.is_empty(), "{stderr}");
    }
    let stderr = String::from_utf8(run(kyv, &["--help"])?.stdout)?;
    assert!(stderr.starts_with("compare [AXIS...]: ") && stderr.ends_with(", function, live\n"), "{stderr}");
    Ok(())
}
