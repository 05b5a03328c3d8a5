//! Conversion of classic policies to CEL policies.

mod cases;
mod corpora;
mod pairs;
mod targets;
