//! kyv beside itself and beside the limit.

use std::path::Path;

use super::{Axis, Bench};
use crate::compare::agreement;
use crate::compare::contestant::Contestant;
use crate::compare::limit::Reading;
use crate::compare::manifests;
use crate::compare::policies::MATCHING;

/// kyv with one thread.
pub(crate) const ONE_THREAD: &str = "kyv --workers 1";
/// kyv with two threads.
pub(crate) const TWO_THREADS: &str = "kyv --workers 2";
/// Two of kyv at the same time, each with one thread: as quick as two threads can be on this machine.
pub(crate) const AT_ONCE: &str = "two of kyv --workers 1 at once";
/// kyv with one thread, printing canonically.
pub(crate) const CANONICAL: &str = "kyv --workers 1 --canonical";
/// kyv with two threads, printing canonically.
pub(crate) const CANONICAL_TWO: &str = "kyv --workers 2 --canonical";
/// kyv with one thread, on objects as the API server admits them.
pub(crate) const ADMITTED: &str = "kyv --workers 1 --view admitted";
/// kyv with one thread, on objects as they are written.
pub(crate) const WRITTEN: &str = "kyv --workers 1 --view written";
/// All objects in one file.
pub(crate) const ONE_FILE: &str = "kyv, one file";
/// All objects in files of a folder.
pub(crate) const FOLDER: &str = "kyv, files of 100";

/// Runs of many seconds.
const SLOW: usize = 3;

fn named(mut contestant: Contestant, name: &'static str) -> Contestant {
    contestant.name = name;
    contestant
}

pub(crate) fn threads(bench: &mut Bench) -> Result<(), String> {
    let number = bench.sizes.large;
    let (policies, objects) = (bench.policies(MATCHING, 0), bench.objects(number));
    let kyv = |workers| bench.kyv(&policies, &objects).args(&["--workers", workers]);
    let contestants = [
        named(kyv("1"), ONE_THREAD),
        named(kyv("2"), TWO_THREADS),
        // What the first one prints would mix with the second's.
        Contestant::new(AT_ONCE, Path::new("/bin/sh"))
            .args(&["-c", r#""$0" "$@" >/dev/null & "$0" "$@" && wait $!"#])
            .arg(kyv("1").program)
            .args_of(&kyv("1")),
    ];
    bench.take(Axis::Threads, contestants.map(|contestant| (number, contestant)).to_vec())
}

pub(crate) fn view(bench: &mut Bench) -> Result<(), String> {
    let number = bench.sizes.yardstick;
    let (policies, objects) = (bench.policies(MATCHING, 0), bench.objects(number));
    let kyv = |workers, view| bench.kyv_with_view(view, &policies, &objects).args(&["--workers", workers]);
    let contestants = [
        named(kyv("1", "written"), WRITTEN),
        named(kyv("1", "admitted"), ADMITTED),
        named(kyv("2", "written"), "kyv --workers 2 --view written"),
        named(kyv("2", "admitted"), "kyv --workers 2 --view admitted"),
    ];
    bench.take(Axis::View, contestants.map(|contestant| (number, contestant)).to_vec())
}

pub(crate) fn canonical(bench: &mut Bench) -> Result<(), String> {
    let number = bench.sizes.large;
    let (policies, objects) = (bench.policies(MATCHING, 0), bench.objects(number));
    let faithful = |workers| bench.kyv(&policies, &objects).args(&["--workers", workers]);
    let canonical = |workers| faithful(workers).arg("--canonical");
    let limits = [Reading::Library, Reading::Own].map(|reading| bench.limit(reading, &objects));
    for limit in &limits {
        agreement::unchanged(&mut limit.command(), &bench.printed_by_limit(), &objects, limit.name)?;
    }
    let [library, own] = limits;
    let contestants = [
        library,
        own,
        named(canonical("1"), CANONICAL),
        named(faithful("1"), ONE_THREAD),
        named(canonical("2"), CANONICAL_TWO),
        named(faithful("2"), TWO_THREADS),
    ];
    bench.take(Axis::Canonical, contestants.map(|contestant| (number, contestant)).to_vec())
}

pub(crate) fn stream(bench: &mut Bench) -> Result<(), String> {
    let policies = bench.policies(MATCHING, 0);
    let mut contestants = Vec::new();
    for number in bench.sizes.stream {
        let file = bench.objects(number);
        let folder =
            bench.made(&format!("files-{number}"), |path| manifests::write_folder(path, number, 100));
        contestants.push((number, named(bench.kyv(&policies, &file), ONE_FILE).at_most(SLOW)));
        contestants.push((number, named(bench.kyv(&policies, &folder), FOLDER).at_most(SLOW)));
    }
    bench.take(Axis::Stream, contestants)
}
