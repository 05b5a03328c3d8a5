//! The report: what was measured on what, the goals, and all figures, in Markdown.

use std::fmt::Write as _;

use crate::compare::axes::{Axis, Bench, FEW, MANY};
use crate::compare::goals::{mebibytes, seconds, thousands, verdicts};
use crate::compare::rounds::{Measured, Spread};

/// The report of a run.
pub(crate) fn report(bench: &Bench) -> String {
    let mut text = String::new();
    head(bench, &mut text);
    let verdicts = verdicts(bench);
    if !verdicts.is_empty() {
        row(&mut text, &["", "first", "second", "ratio", "goal", "", "ratio of CPU"]);
        text.push_str("|---|---:|---:|---:|---:|---|---:|\n");
        for verdict in verdicts {
            let [first, second] = &verdict.figures;
            let reached = if verdict.reached { "reached" } else { "**missed**" };
            row(
                &mut text,
                &[&verdict.what, first, second, &verdict.ratio, verdict.goal, reached, &verdict.cpu],
            );
        }
    }
    for axis in Axis::ALL {
        section(bench, axis, &mut text);
    }
    text
}

fn head(bench: &Bench, text: &mut String) {
    let versions = bench.programs.versions();
    let versions: Vec<String> = versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let quick =
        if bench.options.quick { " Tiny numbers, which only show that everything works." } else { "" };
    put(text, format_args!("Measured on {}, with {}.{quick}", bench.machine, versions.join(", ")));
    if let Some(commit) = &bench.commit {
        put(text, format_args!(" The tree was that of commit {commit}."));
    }
    put(text, format_args!(" {} rounds, fewer of what takes long.", bench.options.rounds));
    if cfg!(debug_assertions) {
        text.push_str(" The limit was built without optimisation and means nothing.");
    }
    if let Some(load) = bench.load {
        put(text, format_args!(" At the start {load} threads of others wanted to run."));
    }
    text.push_str(
        " Each figure is the median of several runs in turn, with the least and the most, or with the quartiles of more than seven; ratios are those of medians.\n",
    );
    if !bench.agreements.is_empty() {
        put(
            text,
            format_args!(
                "\nFirst it was checked that both print the same: {}.\n",
                bench.agreements.join("; ")
            ),
        );
    }
    text.push('\n');
}

fn section(bench: &Bench, axis: Axis, text: &mut String) {
    let mut figures: Vec<_> = bench.results.of(axis).collect();
    if figures.is_empty() {
        return;
    }
    // Measured in another order than it is read.
    figures.sort_by_key(|figure| figure.point);
    put(text, format_args!("\n**{}**\n\n", axis.title()));
    row(text, &[axis.counts(), "", "wall", "", "CPU", "peak memory", "runs"]);
    text.push_str("|---:|---|---:|---:|---:|---:|---:|\n");
    let mut first: Option<(usize, &Measured)> = None;
    for figure in figures {
        let measured = &figure.measured;
        let (point, times) = match first {
            // Contestants with other work have no ratio.
            Some((point, _)) if point == figure.point && matches!(figure.name, FEW | MANY) => {
                (String::new(), String::new())
            }
            Some((point, first)) if point == figure.point => {
                (String::new(), times(measured.wall().median / first.wall().median))
            }
            _ => {
                first = Some((figure.point, measured));
                (thousands(figure.point), "× 1".to_owned())
            }
        };
        let [wall, cpu] = [measured.wall(), measured.cpu()].map(|figure| spread(figure, seconds));
        let (peak, runs) = (spread(measured.peak(), mebibytes), measured.samples.len().to_string());
        row(text, &[&point, figure.name, &wall, &times, &cpu, &peak, &runs]);
    }
}

fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("× {ratio:.2}") } else { format!("× {ratio:.0}") }
}

fn spread(Spread { low, median, high }: Spread, unit: fn(f64) -> String) -> String {
    let (low, median, high) = (unit(low), unit(median), unit(high));
    // The unit once, where it is the same.
    let bare = |text: &str| text.split_once(' ').map_or(text.to_owned(), |(number, _)| number.to_owned());
    let same = |text: &str| text.rsplit(' ').next() == median.rsplit(' ').next();
    let around = [&low, &high].map(|text| if same(text) { bare(text) } else { text.clone() });
    if low == high { median } else { format!("{median} ({}–{})", around[0], around[1]) }
}

fn row(text: &mut String, cells: &[&str]) {
    put(text, format_args!("| {} |\n", cells.join(" | ")));
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a text takes everything");
}
