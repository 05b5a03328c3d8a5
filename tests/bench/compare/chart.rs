//! Charts as SVG, in tones that can be read on white and on black.

use std::fmt::Write as _;

use crate::compare::axes::{Axis, KYV, KYVERNO, KYVERNO_SMALL, LIMIT, MANY, SMALL};
use crate::compare::goals::{mebibytes, seconds, thousands};
use crate::compare::results::{Figure, Results};
use crate::compare::rounds::Measured;

const WIDTH: f64 = 840.0;
/// Where the field of a chart lies.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 590.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 340.0;

const TEXT: &str = "#7d8590";
const COLOURS: [&str; 4] = ["#2f81f7", "#db6d28", "#3fa65a", "#a371f7"];

/// All charts that the figures are enough for, each with the name of its file.
pub(crate) fn all(results: &Results) -> Vec<(String, String)> {
    let mut charts = Vec::new();
    let usual = &[KYV, KYVERNO, LIMIT][..];
    let idle = &[SMALL, KYVERNO_SMALL, MANY][..];
    for (file, title, axis, names, unit) in [
        ("objects-time", "Time by objects, 30 policies", Axis::Objects, usual, TIME),
        ("objects-memory", "Peak memory by objects, 30 policies", Axis::Objects, usual, MEMORY),
        ("matching", "Time by policies that match, 1,000 objects", Axis::Matching, usual, TIME),
        ("idle", "Time by policies, all but 10 of which match nothing", Axis::Idle, idle, TIME),
        ("foreach", "Time by elements of a foreach, 20 Pods", Axis::Foreach, usual, TIME),
    ] {
        let series: Vec<Series> =
            names.iter().filter_map(|name| Series::of(results, axis, name, &unit)).collect();
        if series.iter().any(|series| series.points.len() > 1) {
            charts.push((format!("{file}.svg"), lines(title, axis.counts(), &unit, &series)));
        }
    }
    for (file, title, axis) in [
        ("startup", "Start-up: one policy, one Pod", Axis::Startup),
        ("kustomize", "1,000 objects, 30 strategic-merge patches by kind", Axis::Kustomize),
        ("function", "30 policies inside kustomize build", Axis::Function),
    ] {
        let figures: Vec<&Figure> = results.of(axis).collect();
        if !figures.is_empty() {
            charts.push((format!("{file}.svg"), bars(title, &figures)));
        }
    }
    charts
}

/// What is drawn upwards.
struct Unit {
    of: fn(&Measured) -> f64,
    show: fn(f64) -> String,
    /// What stands at a line of the grid, which is a power of ten.
    tick: fn(f64) -> String,
}

const TIME: Unit = Unit { of: |measured| measured.wall().median, show: seconds, tick: time_tick };
const MEMORY: Unit =
    Unit { of: |measured| measured.peak().median, show: mebibytes, tick: |size| format!("{size} MiB") };

fn time_tick(time: f64) -> String {
    match time {
        0.9.. => format!("{time:.0} s"),
        0.0009.. => format!("{:.0} ms", time * 1e3),
        _ => format!("{:.0} µs", time * 1e6),
    }
}

/// A line of a chart.
struct Series {
    name: &'static str,
    points: Vec<(f64, f64)>,
}

impl Series {
    fn of(results: &Results, axis: Axis, name: &'static str, unit: &Unit) -> Option<Self> {
        let figures = results.of(axis).filter(|figure| figure.name == name);
        let along = |point: usize| if axis == Axis::Idle { point + 10 } else { point.max(1) };
        let mut points: Vec<(f64, f64)> =
            figures.map(|figure| (along(figure.point) as f64, (unit.of)(&figure.measured))).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        (!points.is_empty()).then_some(Self { name, points })
    }
}

const HEIGHT: f64 = 400.0;

/// Both axes are logarithmic: what grows as the work does is a straight line.
fn lines(title: &str, counts: &str, unit: &Unit, series: &[Series]) -> String {
    let all = || series.iter().flat_map(|series| &series.points);
    let [across, up] = [
        Scale::over(all().map(|point| point.0), LEFT, RIGHT),
        Scale::over(all().map(|point| point.1), BOTTOM, TOP).rounded(),
    ];
    let mut svg = head(title, HEIGHT);
    for power in across.powers() {
        let (x, number) = (across.at(power), thousands(power as usize));
        line(&mut svg, [x, TOP, x, BOTTOM]);
        text(&mut svg, x, BOTTOM + 20.0, "middle", TEXT, &number);
    }
    for power in up.powers() {
        let y = up.at(power);
        line(&mut svg, [LEFT, y, RIGHT, y]);
        text(&mut svg, LEFT - 8.0, y + 4.0, "end", TEXT, &(unit.tick)(power));
    }
    text(&mut svg, f64::midpoint(LEFT, RIGHT), BOTTOM + 42.0, "middle", TEXT, counts);
    let mut labels = Vec::new();
    for (series, colour) in series.iter().zip(COLOURS) {
        let places: Vec<(f64, f64)> = series.points.iter().map(|(x, y)| (across.at(*x), up.at(*y))).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let path = path.join(" ");
        put(
            &mut svg,
            format_args!(
                "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.5\"/>\n"
            ),
        );
        for ((x, y), (_, value)) in places.iter().zip(&series.points) {
            let value = (unit.show)(*value);
            put(
                &mut svg,
                format_args!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"><title>{value}</title></circle>\n"
                ),
            );
        }
        if let (Some((x, y)), Some((_, value))) = (places.last(), series.points.last()) {
            labels.push((*y, *x, colour, format!("{}: {}", series.name, (unit.show)(*value))));
        }
    }
    // Labels of lines that end close together stand below each other.
    labels.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut above = f64::MIN;
    for (y, x, colour, label) in labels {
        above = y.max(above + 17.0);
        text(&mut svg, x + 10.0, above + 4.0, "start", colour, &label);
    }
    svg + "</svg>\n"
}

/// One bar for each contestant, from nothing: lengths are in the proportion of what they stand for.
fn bars(title: &str, figures: &[&Figure]) -> String {
    const STEP: f64 = 44.0;
    const START: f64 = 250.0;
    let values: Vec<f64> = figures.iter().map(|figure| (TIME.of)(&figure.measured)).collect();
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = head(title, TOP + 30.0 + STEP * figures.len() as f64);
    for (at, (figure, value)) in figures.iter().zip(&values).enumerate() {
        let (y, length) = (TOP + 20.0 + STEP * at as f64, value / most * (WIDTH - START - 100.0));
        let colour = COLOURS[at % COLOURS.len()];
        text(&mut svg, START - 10.0, y + 19.0, "end", TEXT, figure.name);
        put(
            &mut svg,
            format_args!(
                "<rect x=\"{START}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"28\" fill=\"{colour}\"/>\n",
                length.max(1.0)
            ),
        );
        text(&mut svg, START + length + 8.0, y + 19.0, "start", TEXT, &seconds(*value));
    }
    svg + "</svg>\n"
}

/// From a figure to its place, by powers of ten.
struct Scale {
    /// The least and the greatest power.
    powers: [f64; 2],
    places: [f64; 2],
}

impl Scale {
    fn over(figures: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (least, most) = figures.fold((f64::MAX, f64::MIN_POSITIVE), |(least, most), figure| {
            (figure.min(least), figure.max(most))
        });
        Self { powers: [least.log10(), most.log10().max(least.log10() + 0.1)], places: [from, to] }
    }

    /// The same with a power of ten at both ends.
    fn rounded(self) -> Self {
        let [low, high] = self.powers;
        Self { powers: [low.floor(), high.ceil()], ..self }
    }

    fn at(&self, figure: f64) -> f64 {
        let share = (figure.log10() - self.powers[0]) / (self.powers[1] - self.powers[0]);
        self.places[0] + share * (self.places[1] - self.places[0])
    }

    fn powers(&self) -> impl Iterator<Item = f64> {
        ((self.powers[0] - 1e-9).ceil() as i32..=(self.powers[1] + 1e-9).floor() as i32)
            .map(|power| 10_f64.powi(power))
    }
}

fn head(title: &str, height: f64) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"system-ui, sans-serif\" font-size=\"13\" role=\"img\">\n<title>{title}</title>\n"
    );
    put(
        &mut svg,
        format_args!(
            "<text x=\"{LEFT}\" y=\"26\" font-size=\"16\" font-weight=\"600\" fill=\"{TEXT}\">{title}</text>\n"
        ),
    );
    svg
}

fn line(svg: &mut String, [x1, y1, x2, y2]: [f64; 4]) {
    put(
        svg,
        format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{TEXT}\" stroke-opacity=\"0.3\"/>\n"
        ),
    );
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, colour: &str, what: &str) {
    put(
        svg,
        format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{what}</text>\n"
        ),
    );
}

fn put(svg: &mut String, what: std::fmt::Arguments<'_>) {
    svg.write_fmt(what).expect("a text takes everything");
}
