//! What a run over a live cluster takes, on a real API server filled with objects of 12 kinds in 200 namespaces.
//!
//! `cargo bench --bench live [-- NUMBER…]` prints for each number of objects (1,000 and 10,000) and each format: wall
//! and processor time, the peak of memory, how many requests were made, and the share of the time in which the program
//! could only wait for the server. Needs Linux and the programs of `tests/tools/`; an unoptimised program is measured
//! with `--profile dev`. Times say little on a machine that others use too; the peak and the requests mean something.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark prints, and stops where it cannot go on"
)]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use test_support::api_server::ApiServer;
use test_support::process_usage::ProcessUsage;
use test_support::rest::Rest;
use test_support::sample_objects::{NAMESPACES, namespace, object, write_policies};

const CONNECTIONS: usize = 16;

const FORMATS: [&str; 4] = ["diff", "summary", "json", "markdown"];

fn main() {
    let mut numbers: Vec<usize> =
        std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    if numbers.is_empty() {
        numbers = vec![1_000, 10_000];
    }
    numbers.sort_unstable();
    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let spaces: Vec<_> = (0..NAMESPACES).map(namespace).collect();
    rest.create_all(&spaces, CONNECTIONS);
    let settings = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"zone": "north"},
                                      "metadata": {"name": "settings", "namespace": "team-000"}});
    rest.create(&settings, "").expect("the server takes it");
    let folder = tempfile::tempdir().unwrap();
    let policies = folder.path().join("policies");
    fs::create_dir(&policies).unwrap();
    write_policies(&policies);
    println!("objects  format     wall s   CPU s   peak MiB   requests   waiting   printed MB   exit");
    let mut there = 0;
    for number in numbers {
        let objects: Vec<_> = (there..number).map(object).collect();
        rest.create_all(&objects, CONNECTIONS);
        there = number;
        for format in FORMATS {
            let before = requests(server.audit_log());
            let out = folder.path().join("out");
            let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
            command.args(["diff", "-A", "-o", format, "-p"]).arg(&policies).arg("--kubeconfig");
            command.arg(server.kubeconfig()).env_clear().stdin(Stdio::null());
            command.stdout(File::create(&out).unwrap());
            command.stderr(File::create(folder.path().join("stderr")).unwrap());
            let run = ProcessUsage::measure(&mut command);
            println!(
                "{number:>7}  {format:<8} {:>8.2} {:>7.2} {:>10.1} {:>10} {:>8.0}% {:>12.1}   {}",
                run.wall.as_secs_f64(),
                run.cpu.as_secs_f64(),
                run.peak as f64 / 1024.0,
                requests(server.audit_log()) - before,
                run.waiting * 100.0,
                fs::metadata(&out).unwrap().len() as f64 / 1e6,
                run.code.unwrap_or(-1),
            );
            if !matches!(run.code, Some(0 | 1)) {
                let stderr = fs::read_to_string(folder.path().join("stderr")).unwrap();
                stderr.lines().take(5).for_each(|line| println!("    {line}"));
            }
        }
    }
}

/// How many requests of the program the server has logged.
fn requests(log: &Path) -> usize {
    let text = fs::read_to_string(log).unwrap();
    text.lines().filter(|line| line.contains(r#""userAgent":"kubectl-kyv/"#)).count()
}
