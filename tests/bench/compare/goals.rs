//! What kyv is meant to reach, and whether it does.

use crate::compare::axes::{
    ADMITTED, AT_ONCE, Axis, Bench, CANONICAL, CANONICAL_TWO, CLASSIC, FEW, FOLDER, KUSTOMIZE, KYV, KYVERNO,
    LIMIT, MANY,
};
use crate::compare::axes::{NOTHING, ONE_FILE, ONE_THREAD, TWO_THREADS, WRITTEN};
use crate::compare::rounds::{Measured, Spread};

/// A goal, and how far away it is.
pub(crate) struct Verdict {
    pub(crate) what: String,
    /// The two that are compared, as measured.
    pub(crate) figures: [String; 2],
    pub(crate) ratio: String,
    /// The same of processor time, which what else the machine does changes less.
    pub(crate) cpu: String,
    pub(crate) goal: &'static str,
    pub(crate) reached: bool,
}

/// Something that is compared.
type Figure = fn(&Measured) -> Spread;

const NONE: &str = "";

/// The goals that the run measured.
pub(crate) fn verdicts(bench: &Bench) -> Vec<Verdict> {
    let sizes = &bench.sizes;
    let get = |axis, point, name| bench.results.get(axis, point, name);
    let pair = |axis, point, ours, theirs| Some((get(axis, point, ours)?, get(axis, point, theirs)?));
    let (yardstick, large) = (sizes.yardstick, sizes.large);
    let work = format!("{} objects × 30 policies", thousands(yardstick));
    let mut verdicts = Vec::new();
    let mut least = |what: &str, pair: Option<(&Measured, &Measured)>, figure: Figure, least: f64, goal| {
        let Some((ours, theirs)) = pair else { return };
        let unit = if what.ends_with("memory") { mebibytes } else { seconds };
        let cpu = theirs.cpu().median / ours.cpu().median;
        let (ours, theirs) = (figure(ours), figure(theirs));
        let ratio = theirs.median / ours.median;
        let cpu = if what.ends_with("wall") { format!("1 : {cpu:.0}") } else { NONE.to_owned() };
        verdicts.push(Verdict {
            what: what.to_owned(),
            figures: [unit(ours.median), unit(theirs.median)],
            ratio: format!("1 : {ratio:.0} ({:.0}–{:.0})", theirs.low / ours.high, theirs.high / ours.low),
            cpu,
            goal,
            reached: ratio >= least,
        });
    };
    let kyverno = pair(Axis::Objects, yardstick, KYV, KYVERNO);
    least(&format!("{work}, kyv : Kyverno CLI, wall"), kyverno, Measured::wall, 500.0, "1 : 500");
    least(&format!("{work}, kyv : Kyverno CLI, CPU"), kyverno, Measured::cpu, 400.0, "1 : 400");
    least(&format!("{work}, kyv : Kyverno CLI, peak memory"), kyverno, Measured::peak, 10.0, "1 : 10");
    let what = format!("{} drawn objects × 30 of Kyverno's policies, worst of", thousands(yardstick));
    for (figure, name, goal) in
        [(Measured::wall as Figure, "wall", (500.0, "1 : 500")), (Measured::cpu, "CPU", (400.0, "1 : 400"))]
    {
        let draws = (1..=sizes.draws).filter_map(|draw| pair(Axis::Drawn, draw, KYV, KYVERNO));
        let ratio = |(ours, theirs): &(&Measured, &Measured)| figure(theirs).median / figure(ours).median;
        let worst = draws.min_by(|one, other| ratio(one).total_cmp(&ratio(other)));
        let what = format!("{what} {}, kyv : Kyverno CLI, {name}", sizes.draws);
        least(&what, worst, figure, goal.0, goal.1);
    }
    let cel = format!("{} objects × 30 MutatingPolicies", thousands(yardstick));
    let kyverno = pair(Axis::Cel, yardstick, KYV, KYVERNO);
    least(&format!("{cel}, kyv : Kyverno CLI, wall"), kyverno, Measured::wall, 500.0, "1 : 500");
    let start = pair(Axis::Startup, 1, KYV, KYVERNO);
    least("start-up, kyv : Kyverno CLI, wall", start, Measured::wall, 60.0, "1 : 60");
    let patches = format!("{} objects × 30 patches by kind, kyv : kustomize, wall", thousands(yardstick));
    least(&patches, pair(Axis::Kustomize, yardstick, KYV, KUSTOMIZE), Measured::wall, 100.0, "1 : 100");

    // The limit is one thread in either case.
    for (threads, canonical, faithful) in
        [("two threads", CANONICAL_TWO, TWO_THREADS), ("one thread", CANONICAL, ONE_THREAD)]
    {
        let printing = format!("{} objects × 30 policies, {threads}, kyv", thousands(large));
        let canonical = pair(Axis::Canonical, large, canonical, LIMIT);
        let faithful = pair(Axis::Canonical, large, faithful, LIMIT);
        let what = format!("{printing} --canonical : limit, wall");
        verdicts.extend(canonical.map(|pair| most(what, pair, 1.5, "1.5 : 1")));
        verdicts.extend(faithful.map(|pair| most(format!("{printing} : limit, wall"), pair, 2.2, "2.2 : 1")));
    }
    verdicts.extend(pair(Axis::Startup, 1, KYV, NOTHING).map(more_than_nothing));
    for name in [ONE_FILE, FOLDER] {
        let [few, many] = sizes.stream.map(|number| get(Axis::Stream, number, name));
        if let Some(ratio) = few.zip(many) {
            verdicts.extend(streamed(name, sizes.stream, ratio));
        }
    }
    verdicts.extend(idle(bench));
    let twins = pair(Axis::Cel, yardstick, KYV, CLASSIC);
    let what = format!("{cel} : 30 classic policies, kyv, wall");
    verdicts.extend(twins.map(|pair| most(what, pair, 1.5, "1.5 : 1")));
    let views = pair(Axis::View, yardstick, ADMITTED, WRITTEN);
    let what = format!("{work}, one thread, admitted view : written view, wall");
    verdicts.extend(views.map(|pair| most(what, pair, 1.25, "1.25 : 1")));
    let threads = pair(Axis::Threads, large, TWO_THREADS, ONE_THREAD);
    let most = get(Axis::Threads, large, AT_ONCE).map(|at_once| at_once.wall().median / 2.0);
    verdicts.extend(threads.map(|(two, one)| {
        let cpu = one.cpu().median / two.cpu().median;
        let (two, one) = (two.wall(), one.wall());
        let ratio = one.median / two.median;
        // What two processes that share nothing come to on this machine.
        let most = most
            .map_or_else(String::new, |each| format!("; two processes at once 1 : {:.2}", one.median / each));
        Verdict {
            what: format!("{} objects × 30 policies, two threads : one, wall", thousands(large)),
            figures: [seconds(two.median), seconds(one.median)],
            ratio: format!("1 : {ratio:.2} ({:.2}–{:.2}){most}", one.low / two.high, one.high / two.low),
            cpu: format!("1 : {cpu:.2}"),
            goal: "1 : 1.7",
            reached: ratio >= 1.7,
        }
    }));
    verdicts
}

fn most(what: String, (ours, theirs): (&Measured, &Measured), most: f64, goal: &'static str) -> Verdict {
    let cpu = ours.cpu().median / theirs.cpu().median;
    let (ours, theirs) = (ours.wall(), theirs.wall());
    let ratio = ours.median / theirs.median;
    Verdict {
        what,
        figures: [seconds(ours.median), seconds(theirs.median)],
        ratio: format!("{ratio:.2} : 1 ({:.2}–{:.2})", ours.low / theirs.high, ours.high / theirs.low),
        cpu: format!("{cpu:.2} : 1"),
        goal,
        reached: ratio <= most,
    }
}

fn more_than_nothing((ours, nothing): (&Measured, &Measured)) -> Verdict {
    let cpu = ours.cpu().median - nothing.cpu().median;
    let (ours, nothing) = (ours.wall().median, nothing.wall().median);
    Verdict {
        what: "start-up, kyv and `true`, wall".to_owned(),
        figures: [seconds(ours), seconds(nothing)],
        ratio: format!("{} more", seconds(ours - nothing)),
        cpu: format!("{} more", seconds(cpu)),
        goal: "5 ms more",
        reached: ours - nothing <= 0.005,
    }
}

/// Ten times the objects: ten times the time, and the memory stays.
fn streamed(name: &str, points: [usize; 2], (few, many): (&Measured, &Measured)) -> [Verdict; 2] {
    let times = points[1] as f64 / points[0] as f64;
    let what = format!("{} → {} objects, {name}", thousands(points[0]), thousands(points[1]));
    let (time, memory) =
        ([few, many].map(|measured| measured.wall().median), [few, many].map(|one| one.peak().median));
    let busier = many.cpu().median / few.cpu().median;
    let (slower, larger) = (time[1] / time[0], memory[1] / memory[0]);
    [
        Verdict {
            what: format!("{what}, wall"),
            figures: time.map(seconds),
            ratio: format!("× {slower:.2}"),
            cpu: format!("× {busier:.2}"),
            goal: "× 10 ± 10 %",
            reached: (0.9..=1.1).contains(&(slower / times)),
        },
        Verdict {
            what: format!("{what}, peak memory"),
            figures: memory.map(mebibytes),
            ratio: format!("× {larger:.2}"),
            cpu: NONE.to_owned(),
            goal: "× 1, give or take 10 %",
            reached: larger <= 1.1,
        },
    ]
}

/// What one object costs, without what loading the policies costs.
fn idle(bench: &Bench) -> Option<Verdict> {
    let sizes = &bench.sizes;
    let each = |idle: usize, figure: Figure| {
        let [few, many] =
            [FEW, MANY].map(|name| bench.results.get(Axis::Idle, idle, name).map(|one| figure(one).median));
        Some((many? - few?) / (sizes.large - sizes.yardstick) as f64)
    };
    let last = *sizes.idle.last()?;
    let (without, with) = (each(0, Measured::wall)?, each(last, Measured::wall)?);
    let cpu = each(last, Measured::cpu)? / each(0, Measured::cpu)?;
    Some(Verdict {
        what: format!(
            "{} policies that do not match beside 10 that do, wall for each object",
            thousands(last)
        ),
        figures: [seconds(with), seconds(without)],
        ratio: format!("{:.2} : 1", with / without),
        cpu: format!("{cpu:.2} : 1"),
        goal: "1.3 : 1",
        reached: with <= 1.3 * without,
    })
}

/// A time that people read.
pub(crate) fn seconds(time: f64) -> String {
    match time {
        10.0.. => format!("{time:.1} s"),
        1.0.. => format!("{time:.2} s"),
        0.1.. => format!("{:.0} ms", time * 1e3),
        0.001.. => format!("{:.1} ms", time * 1e3),
        _ => format!("{:.1} µs", time * 1e6),
    }
}

pub(crate) fn mebibytes(size: f64) -> String {
    if size < 100.0 { format!("{size:.1} MiB") } else { format!("{size:.0} MiB") }
}

/// A number with commas.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
