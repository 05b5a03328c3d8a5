//! All figures of a run.

use std::fmt::Write as _;

use crate::compare::axes::Axis;
use crate::compare::rounds::Measured;

/// One contestant at one point of an axis.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) axis: Axis,
    /// How many of what the axis counts; 0 where it counts nothing.
    pub(crate) point: usize,
    pub(crate) name: &'static str,
    pub(crate) measured: Measured,
}

/// The figures in the order they were taken.
#[derive(Debug, Default)]
pub(crate) struct Results(Vec<Figure>);

impl Results {
    pub(crate) fn add(&mut self, figure: Figure) {
        self.0.push(figure);
    }

    pub(crate) fn of(&self, axis: Axis) -> impl Iterator<Item = &Figure> {
        self.0.iter().filter(move |figure| figure.axis == axis)
    }

    pub(crate) fn get(&self, axis: Axis, point: usize, name: &str) -> Option<&Measured> {
        self.of(axis)
            .find(|figure| figure.point == point && figure.name == name)
            .map(|figure| &figure.measured)
    }

    /// Every single run.
    pub(crate) fn csv(&self) -> String {
        let mut text = "axis,point,program,run,wall_s,cpu_s,peak_kib,waiting\n".to_owned();
        for Figure { axis, point, name, measured } in &self.0 {
            for (run, sample) in measured.samples.iter().enumerate() {
                let (wall, cpu) = (sample.wall.as_secs_f64(), sample.cpu.as_secs_f64());
                let (axis, peak, waiting) = (axis.name(), sample.peak, sample.waiting);
                writeln!(text, "{axis},{point},\"{name}\",{run},{wall:.6},{cpu:.6},{peak},{waiting:.3}")
                    .expect("a text takes everything");
            }
        }
        text
    }
}
