//! The cost of calls, as the API server counts it.

use super::error::EvalError;
use super::meter::Meter;
use super::opaque::Opaque;
use super::value::Val;

/// How the cost of a call follows from its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CostRule {
    /// A cost of its own.
    Fixed(u64),
    /// The text of the first argument is read once.
    Traverse,
    /// It is read, and a result made.
    TraverseTwice,
    /// The result is made.
    MakeResult,
    /// All of a list is looked at.
    Walk,
    /// A regular expression on a text.
    Regex,
    /// A format on a text.
    Format,
    /// A text in a text.
    Contains,
    /// The size of the list that is searched.
    SizeOfSecond,
    /// The smaller of both.
    Smaller,
    /// The same, but 1 for values of Kubernetes' libraries.
    Equal,
    /// Both together.
    Both,
    /// Addresses are compared; whether the second is a text to be read first, and whether both are networks.
    Network { text: bool, network: bool },
    /// A list is made.
    MakeList,
    /// A list is flattened.
    Flatten,
    /// All elements of the list at this argument are compared with all.
    CompareAll(usize),
    /// All elements of two lists are compared, so many times.
    Sets(u64),
}

impl CostRule {
    /// The rule of a function, and of its overload if the types leave only one.
    pub(super) fn of(function: &str, overload: Option<&str>) -> Self {
        match function {
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => return Self::Walk,
            "url"
            | "lowerAscii"
            | "upperAscii"
            | "substring"
            | "trim"
            | "jsonpatch.escapeKey"
            | "cidr"
            | "isIP"
            | "isCIDR"
            | "quantity"
            | "isQuantity"
            | "semver"
            | "isSemver" => return Self::Traverse,
            "replace" | "split" | "ip.isCanonical" => return Self::TraverseTwice,
            "join" => return Self::MakeResult,
            "find" | "findAll" => return Self::Regex,
            "ip" if overload != Some("cidr_ip") => return Self::Traverse,
            "containsIP" => {
                return Self::Network { text: overload == Some("cidr_contains_ip_string"), network: false };
            }
            "containsCIDR" => {
                return Self::Network { text: overload == Some("cidr_contains_cidr_string"), network: true };
            }
            "validate" => return Self::Format,
            "_==_" => return Self::Equal,
            "_!=_" => return Self::Smaller,
            _ => {}
        }
        match overload.unwrap_or_default() {
            "list_slice" | "lists_range" | "list_reverse" => Self::MakeList,
            "list_flatten" | "list_flatten_int" => Self::Flatten,
            "list_distinct" => Self::CompareAll(0),
            sort if sort.ends_with("_sort") => Self::CompareAll(0),
            sort if sort.ends_with("_sortByAssociatedKeys") => Self::CompareAll(1),
            "list_sets_contains_list" | "list_sets_intersects_list" => Self::Sets(1),
            "list_sets_equivalent_list" => Self::Sets(2),
            "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
            | "strings_quote" | "string_format" => Self::Traverse,
            "in_list" => Self::SizeOfSecond,
            "less_string"
            | "less_equals_string"
            | "greater_string"
            | "greater_equals_string"
            | "less_bytes"
            | "less_equals_bytes"
            | "greater_bytes"
            | "greater_equals_bytes" => Self::Smaller,
            "add_string" | "add_bytes" => Self::Both,
            "matches_string" => Self::Regex,
            "contains_string" => Self::Contains,
            _ => Self::Fixed(1),
        }
    }

    /// Whether the cost follows from the result, too.
    pub(super) const fn needs_result(self) -> bool {
        matches!(self, Self::MakeResult | Self::MakeList)
    }

    /// The cost of one call.
    ///
    /// # Errors
    ///
    /// The limit of visits.
    pub(super) fn of_call(self, meter: &mut Meter, args: &[Val], result: &Val) -> Result<u64, EvalError> {
        if self != Self::Walk {
            return Ok(self.of_sizes(args, result));
        }
        let mut cost = 0;
        if let Some(value) = args.first() {
            walk(meter, value, &mut cost)?;
        }
        Ok(cost)
    }

    /// The cost of one call, from the sizes of its values.
    fn of_sizes(self, args: &[Val], result: &Val) -> u64 {
        let size = |index: usize| args.get(index).map_or(1, Val::size);
        let full_size = |index: usize| args.get(index).map_or(1, size_through_optional);
        match self {
            Self::Fixed(cost) => cost,
            Self::Traverse => tenth(size(0)),
            Self::TraverseTwice => tenth(size(0) * 2),
            Self::MakeResult => tenth(result.size() * 2),
            Self::Walk => 0,
            Self::Regex => tenth(size(0) + 1) * rounded_up(size(1), 0.25),
            Self::Format => {
                let Some(Val::Opaque(value)) = args.first() else { return 1 };
                let Opaque::Format(format) = &**value else { return 1 };
                tenth(size(1) + 1) * rounded_up(format.regex_size(), 0.25)
            }
            Self::Contains => tenth(size(0)) * tenth(size(1)),
            Self::SizeOfSecond => size(1),
            Self::Equal if matches!(args.first(), Some(Val::Opaque(_))) => 1,
            Self::Smaller | Self::Equal => tenth(full_size(0).min(full_size(1))),
            Self::Both => tenth(size(0) + size(1)),
            Self::Network { text, network } => network_cost(args, text, network),
            Self::MakeList => result.size() + LIST_CALL,
            Self::Flatten => {
                let depth = match args.get(1) {
                    Some(Val::Int(depth)) => u64::try_from(*depth).unwrap_or(0),
                    _ => 1,
                };
                size(0).saturating_mul(depth).saturating_add(LIST_CALL)
            }
            Self::CompareAll(index) => compare_all(args.get(index)),
            Self::Sets(times) => 1 + size(0) * size(1) * times,
        }
    }
}

fn size_through_optional(value: &Val) -> u64 {
    if let Val::Optional(Some(inner)) = value { size_through_optional(inner) } else { value.size() }
}

/// Reading costs a tenth of a character, rounded up.
fn tenth(size: u64) -> u64 {
    rounded_up(size, 0.1)
}

/// As the API server rounds, in floating point.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "so it counts"
)]
fn rounded_up(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

/// Adds the cost of looking at all of a value.
fn walk(meter: &mut Meter, value: &Val, cost: &mut u64) -> Result<(), EvalError> {
    meter.visit(1)?;
    match value {
        Val::String(text) => *cost += text.len() as u64 / 10,
        Val::Bytes(bytes) => *cost += bytes.len() as u64 / 10,
        Val::List(list) => {
            for item in list.iter() {
                walk(meter, &item, cost)?;
            }
        }
        Val::Map(map) => {
            for (key, value) in map.iter() {
                walk(meter, &key, cost)?;
                walk(meter, &value, cost)?;
            }
        }
        _ => *cost += 1,
    }
    Ok(())
}

/// Of a call that makes a list.
const LIST_CALL: u64 = 11;

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "so it counts"
)]
fn compare_all(list: Option<&Val>) -> u64 {
    let Some(Val::List(list)) = list else { return 1 };
    let size = list.len() as u64;
    let factor = if matches!(list.get(0), Some(Val::String(_) | Val::Bytes(_))) { 2.1 } else { 2.0 };
    (size.saturating_mul(size) as f64 * factor) as u64 + LIST_CALL
}

fn network_cost(args: &[Val], text: bool, network: bool) -> u64 {
    let Some(Val::Opaque(opaque)) = args.first() else { return 1 };
    let size = opaque.size();
    let mut cost = tenth(size * 2);
    if network {
        cost += tenth(size) + 1;
    }
    if text {
        cost += tenth(args.get(1).map_or(1, Val::size));
    }
    cost
}
