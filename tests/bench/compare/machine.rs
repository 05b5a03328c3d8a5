//! What a run was measured on.

use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

/// One line about the machine.
pub(crate) fn machine() -> String {
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'));
        line.map(|value| value.trim().to_owned())
    };
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "a processor".to_owned());
    let cores = available_parallelism().map_or(1, usize::from);
    let memory =
        field("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let memory = memory.map_or("unknown".to_owned(), |kib| format!("{:.0} GiB of", kib / 1024.0 / 1024.0));
    let first = |file: &str| {
        fs::read_to_string(file).unwrap_or_default().split_whitespace().next().map(str::to_owned)
    };
    let kernel = first("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{model}, {cores} cores, {memory} memory, Linux {kernel}")
}

/// The commit that is checked out, as far as git tells.
pub(crate) fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").arg("-C").arg(env!("CARGO_MANIFEST_DIR")).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let is_changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|all| !all.is_empty());
    Some(format!("{commit}{}", if is_changed { " and what was changed since" } else { "" }))
}

/// How many threads wanted to run during the last minute.
pub(crate) fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}
