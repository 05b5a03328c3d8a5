//! What the rooms of the engine take, one by one.
//!
//! `cargo bench --bench micro [-- FILTER]` measures time. `-- --names` lists the workloads; `-- --count NAME` runs one of
//! them twice and the second time inside `counted`, so that a program that counts instructions can leave out all else;
//! `-- --write FOLDER` writes manifests, policies and what those ask for, to run the program on. All inputs are the same
//! in each run, and all of it runs on one thread: on more of them each run would share the work in another way.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod cel;
mod inputs;
mod jmespath;
mod matching;
mod patches;
mod patterns;
mod rules;
mod twins;
mod variables;
mod yaml;

use std::cell::OnceCell;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::Criterion;
use rayon::ThreadPoolBuilder;

/// The name of a workload, and what prepares it.
type Workload = (&'static str, fn() -> Work);

/// A workload, prepared. To drop what a run makes belongs to it.
struct Work(Box<dyn Fn()>);

impl Work {
    fn new<R>(run: impl Fn() -> R + 'static) -> Self {
        Self(Box::new(move || drop(black_box(run()))))
    }
}

const GROUPS: [(&str, &[Workload]); 8] = [
    ("yaml", yaml::WORKLOADS),
    ("jmespath", jmespath::WORKLOADS),
    ("patterns", patterns::WORKLOADS),
    ("variables", variables::WORKLOADS),
    ("patches", patches::WORKLOADS),
    ("matching", matching::WORKLOADS),
    ("rules", rules::WORKLOADS),
    ("cel", cel::WORKLOADS),
];

/// So many manifests are written for the program.
const MANIFESTS: usize = 1_000;

fn main() {
    // Cargo adds a flag of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    pool.install(|| run(&arguments));
}

fn run(arguments: &[String]) {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--names"] => names().for_each(|(name, _)| println!("{name}")),
        ["--count", wanted] => {
            let (_, prepare) = names().find(|(name, _)| name == wanted).expect("one of --names");
            let work = prepare();
            // What is made once, at the first need, is not what the workload takes.
            (work.0)();
            counted(&work);
        }
        ["--write", folder] => write(Path::new(folder)),
        _ => measure(),
    }
}

fn names() -> impl Iterator<Item = (String, fn() -> Work)> {
    GROUPS.iter().flat_map(|(group, workloads)| {
        workloads.iter().map(move |(name, prepare)| (format!("{group}/{name}"), *prepare))
    })
}

/// Known by this name to what counts instructions.
#[inline(never)]
fn counted(work: &Work) {
    (work.0)();
}

fn measure() {
    let criterion = Criterion::default().without_plots().warm_up_time(Duration::from_millis(500));
    let mut criterion = criterion.measurement_time(Duration::from_secs(2)).configure_from_args();
    for (name, workloads) in GROUPS {
        let mut group = criterion.benchmark_group(name);
        for (name, prepare) in workloads {
            let work = OnceCell::new();
            group.bench_function(*name, |bencher| bencher.iter(&work.get_or_init(prepare).0));
        }
        group.finish();
    }
    criterion.final_summary();
}

fn write(folder: &Path) {
    let policies = folder.join("policies");
    fs::create_dir_all(&policies).expect("a folder can be made");
    test_support::sample_objects::write_policies(&policies);
    let texts = [
        ("manifests.yaml", inputs::manifests(MANIFESTS)),
        ("namespaces.yaml", inputs::stream(&inputs::namespaces())),
        ("settings.yaml", inputs::SETTINGS.to_owned()),
        ("deployment.yaml", inputs::DEPLOYMENT.to_owned()),
    ];
    for (name, text) in texts {
        fs::write(folder.join(name), text).expect("the folder takes files");
    }
}
