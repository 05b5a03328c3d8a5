//! Kubernetes' libraries: quantities, versions, addresses.

use std::cmp::Ordering;

use crate::value::{Quantity, QuantityError, Version};

use super::args;
use super::{Row, row};
use crate::cel::error::EvalError;
use crate::cel::meter::Meter;
use crate::cel::named_format::NamedFormat;
use crate::cel::network::{self, Network};
use crate::cel::opaque::Opaque;
use crate::cel::value::Val;

type Result = std::result::Result<Val, EvalError>;

pub(super) const ROWS: &[Row] = &[
    row("quantity", "string_to_quantity", "(string) kubernetes.Quantity", |_, args| {
        let quantity = Quantity::parse(args::text(args, 0)?).map_err(quantity_error)?;
        Ok(opaque(Opaque::Quantity(quantity)))
    }),
    row("isQuantity", "is_quantity_string", "(string) bool", |_, args| {
        match Quantity::parse(args::text(args, 0)?) {
            // Kubernetes may read it, so that neither answer would be true.
            Err(error @ QuantityError::OutOfRange) => Err(quantity_error(error)),
            parsed => Ok(Val::Bool(parsed.is_ok())),
        }
    }),
    row("sign", "quantity_sign", "(kubernetes.Quantity) int", |_, args| {
        Ok(order(quantity(args, 0)?.cmp(&Quantity::from_integer(0))))
    }),
    row("isGreaterThan", "{}_is_greater_than", "{}.({}) bool", |_, args| {
        Ok(Val::Bool(compared(args)?.is_gt()))
    })
    .each(ORDERED),
    row("isLessThan", "{}_is_less_than", "{}.({}) bool", |_, args| Ok(Val::Bool(compared(args)?.is_lt())))
        .each(ORDERED),
    row("compareTo", "{}_compare_to", "{}.({}) int", |_, args| Ok(order(compared(args)?))).each(ORDERED),
    row("asApproximateFloat", "quantity_get_float", "kubernetes.Quantity.() double", |_, args| {
        Ok(Val::Double(quantity(args, 0)?.as_f64()))
    }),
    row("asInteger", "quantity_get_int", "kubernetes.Quantity.() int", |_, args| {
        let value = quantity(args, 0)?.written_as_i64();
        value.map(Val::Int).ok_or_else(|| EvalError::failed("cannot convert value to integer"))
    }),
    row("isInteger", "quantity_is_integer", "kubernetes.Quantity.() bool", |_, args| {
        Ok(Val::Bool(quantity(args, 0)?.written_as_i64().is_some()))
    }),
    row("add", "quantity_add", "kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity", add),
    row("add", "quantity_add_int", "kubernetes.Quantity.(int) kubernetes.Quantity", add),
    row("sub", "quantity_sub", "kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity", sub),
    row("sub", "quantity_sub_int", "kubernetes.Quantity.(int) kubernetes.Quantity", sub),
    row("semver", "string_to_semver", "(string) kubernetes.Semver", semver),
    row("semver", "string_bool_to_semver", "(string, bool) kubernetes.Semver", semver),
    row("isSemver", "is_semver_string", "(string) bool", is_semver),
    row("isSemver", "is_semver_string_bool", "(string, bool) bool", is_semver),
    row("major", "semver_major", "kubernetes.Semver.() int", |_, args| number(args, 0)),
    row("minor", "semver_minor", "kubernetes.Semver.() int", |_, args| number(args, 1)),
    row("patch", "semver_patch", "kubernetes.Semver.() int", |_, args| number(args, 2)),
    row("ip", "string_to_ip", "(string) net.IP", |_, args| {
        Ok(opaque(Opaque::Ip(network::address(args::text(args, 0)?)?)))
    }),
    row("ip", "cidr_ip", "net.CIDR.() net.IP", |_, args| Ok(opaque(Opaque::Ip(cidr(args, 0)?.address)))),
    row("isIP", "is_ip", "(string) bool", |_, args| {
        Ok(Val::Bool(network::address(args::text(args, 0)?).is_ok()))
    }),
    row("ip.isCanonical", "ip_is_canonical", "(string) bool", |_, args| {
        let text = args::text(args, 0)?;
        Ok(Val::Bool(network::address(text)?.to_string() == **text))
    }),
    row("family", "ip_family", "net.IP.() int", |_, args| {
        Ok(Val::Int(if ip(args, 0)?.is_ipv4() { 4 } else { 6 }))
    }),
    row("isUnspecified", "ip_is_unspecified", "net.IP.() bool", |_, args| {
        Ok(Val::Bool(ip(args, 0)?.is_unspecified()))
    }),
    row("isLoopback", "ip_is_loopback", "net.IP.() bool", |_, args| {
        Ok(Val::Bool(ip(args, 0)?.is_loopback()))
    }),
    row("isLinkLocalMulticast", "ip_is_link_local_multicast", "net.IP.() bool", |_, args| {
        Ok(Val::Bool(network::is_link_local_multicast(ip(args, 0)?)))
    }),
    row("isLinkLocalUnicast", "ip_is_link_local_unicast", "net.IP.() bool", |_, args| {
        Ok(Val::Bool(network::is_link_local_unicast(ip(args, 0)?)))
    }),
    row("isGlobalUnicast", "ip_is_global_unicast", "net.IP.() bool", |_, args| {
        Ok(Val::Bool(network::is_global_unicast(ip(args, 0)?)))
    }),
    row("string", "ip_to_string", "(net.IP) string", address_text),
    row("string", "cidr_to_string", "(net.CIDR) string", address_text),
    row("cidr", "string_to_cidr", "(string) net.CIDR", |_, args| {
        Ok(opaque(Opaque::Cidr(Network::parse(args::text(args, 0)?)?)))
    }),
    row("isCIDR", "is_cidr", "(string) bool", |_, args| {
        Ok(Val::Bool(Network::parse(args::text(args, 0)?).is_ok()))
    }),
    row("containsIP", "cidr_contains_ip_string", "net.CIDR.(string) bool", |_, args| {
        Ok(Val::Bool(cidr(args, 0)?.contains(network::address(args::text(args, 1)?)?)))
    }),
    row("containsIP", "cidr_contains_ip_ip", "net.CIDR.(net.IP) bool", |_, args| {
        Ok(Val::Bool(cidr(args, 0)?.contains(ip(args, 1)?)))
    }),
    row("containsCIDR", "cidr_contains_cidr_string", "net.CIDR.(string) bool", |_, args| {
        Ok(Val::Bool(cidr(args, 0)?.contains_network(Network::parse(args::text(args, 1)?)?)))
    }),
    row("containsCIDR", "cidr_contains_cidr", "net.CIDR.(net.CIDR) bool", |_, args| {
        Ok(Val::Bool(cidr(args, 0)?.contains_network(cidr(args, 1)?)))
    }),
    row("prefixLength", "cidr_prefix_length", "net.CIDR.() int", |_, args| {
        Ok(Val::Int(cidr(args, 0)?.bits.into()))
    }),
    row("format.named", "format-named", "(string) optional<kubernetes.NamedFormat>", |_, args| {
        let name = args::text(args, 0)?;
        Ok(NamedFormat::named(name).map_or(Val::NONE, |format| Val::some(opaque(Opaque::Format(format)))))
    }),
    format("format.dns1123Label", |_, _| named_format("dns1123Label")),
    format("format.dns1123Subdomain", |_, _| named_format("dns1123Subdomain")),
    format("format.dns1035Label", |_, _| named_format("dns1035Label")),
    format("format.qualifiedName", |_, _| named_format("qualifiedName")),
    format("format.dns1123LabelPrefix", |_, _| named_format("dns1123LabelPrefix")),
    format("format.dns1123SubdomainPrefix", |_, _| named_format("dns1123SubdomainPrefix")),
    format("format.dns1035LabelPrefix", |_, _| named_format("dns1035LabelPrefix")),
    format("format.labelValue", |_, _| named_format("labelValue")),
    format("format.uuid", |_, _| named_format("uuid")),
    format("format.byte", |_, _| named_format("byte")),
    format("format.date", |_, _| named_format("date")),
    format("format.datetime", |_, _| named_format("datetime")),
    format("format.uri", |_, _| named_format("uri")),
    row(
        "validate",
        "format-validate",
        "kubernetes.NamedFormat.(string) optional<list<string>>",
        |meter, args| {
            let Some(Val::Opaque(value)) = args.first() else { return Err(EvalError::no_overload()) };
            let Opaque::Format(format) = &**value else { return Err(EvalError::no_overload()) };
            let faults = format.faults(args::text(args, 1)?);
            meter.make(faults.iter().map(String::len).sum())?;
            let faults: Vec<Val> = faults.into_iter().map(|fault| Val::String(fault.into())).collect();
            Ok(if faults.is_empty() { Val::NONE } else { Val::some(Val::list(faults)) })
        },
    ),
    row("masked", "cidr_masked", "net.CIDR.() net.CIDR", |_, args| {
        Ok(opaque(Opaque::Cidr(cidr(args, 0)?.masked())))
    }),
];

/// A function that names a format.
const fn format(name: &'static str, body: super::Pure) -> Row {
    row(name, "format_constant", "() kubernetes.NamedFormat", body)
}

fn named_format(name: &str) -> Result {
    let format = NamedFormat::named(name).ok_or_else(EvalError::no_overload)?;
    Ok(opaque(Opaque::Format(format)))
}

const ORDERED: &[&str] = &["kubernetes.Quantity", "kubernetes.Semver"];

fn opaque(value: Opaque) -> Val {
    Val::Opaque(value.into())
}

fn library_value(args: &[Val], index: usize) -> std::result::Result<&Opaque, EvalError> {
    match args.get(index) {
        Some(Val::Opaque(value)) => Ok(value),
        _ => Err(EvalError::no_overload()),
    }
}

fn quantity(args: &[Val], index: usize) -> std::result::Result<&Quantity, EvalError> {
    library_value(args, index)?.as_quantity().ok_or_else(EvalError::no_overload)
}

fn ip(args: &[Val], index: usize) -> std::result::Result<core::net::IpAddr, EvalError> {
    match library_value(args, index)? {
        Opaque::Ip(address) => Ok(*address),
        _ => Err(EvalError::no_overload()),
    }
}

fn cidr(args: &[Val], index: usize) -> std::result::Result<Network, EvalError> {
    match library_value(args, index)? {
        Opaque::Cidr(network) => Ok(*network),
        _ => Err(EvalError::no_overload()),
    }
}

fn address_text(_: &mut Meter, args: &[Val]) -> Result {
    match library_value(args, 0)? {
        Opaque::Ip(address) => Ok(Val::string(address.to_string())),
        Opaque::Cidr(network) => Ok(Val::string(network.to_string())),
        _ => Err(EvalError::no_overload()),
    }
}

fn order(order: Ordering) -> Val {
    Val::Int(match order {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    })
}

fn compared(args: &[Val]) -> std::result::Result<Ordering, EvalError> {
    match (library_value(args, 0)?, library_value(args, 1)?) {
        (Opaque::Semver(a), Opaque::Semver(b)) => Ok(a.cmp(b)),
        _ => Ok(quantity(args, 0)?.cmp(quantity(args, 1)?)),
    }
}

/// The second argument as a quantity, which may be an int.
fn amount(args: &[Val]) -> std::result::Result<Quantity, EvalError> {
    match args.get(1) {
        Some(Val::Int(value)) => Ok(Quantity::from_integer(*value)),
        _ => quantity(args, 1).cloned(),
    }
}

/// Why a text is no quantity here.
fn quantity_error(error: QuantityError) -> EvalError {
    match error {
        QuantityError::OutOfRange => EvalError::ValueLimit(error.to_string()),
        _ => EvalError::failed(error.to_string()),
    }
}

fn too_large() -> EvalError {
    EvalError::failed("the quantity has too many digits")
}

fn add(_: &mut Meter, args: &[Val]) -> Result {
    let sum = quantity(args, 0)?.checked_add(&amount(args)?).ok_or_else(too_large)?;
    Ok(opaque(Opaque::ComputedQuantity(sum)))
}

fn sub(_: &mut Meter, args: &[Val]) -> Result {
    let difference = quantity(args, 0)?.checked_sub(&amount(args)?).ok_or_else(too_large)?;
    Ok(opaque(Opaque::ComputedQuantity(difference)))
}

/// A version, from a text that may be short and have a `v` in front if the second argument is true.
fn parsed(args: &[Val]) -> std::result::Result<Version<'static>, EvalError> {
    let text = args::text(args, 0)?;
    let failed = |error: &dyn std::fmt::Display| EvalError::failed(error.to_string());
    if !matches!(args.get(1), Some(Val::Bool(true))) {
        return Version::parse(text).map(Version::into_owned).map_err(|error| failed(&error));
    }
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return Err(EvalError::failed("short version cannot contain PreRelease/Build meta data"));
    }
    while parts.len() < 3 {
        parts.push("0".to_owned());
    }
    Version::parse(&parts.join(".")).map(Version::into_owned).map_err(|error| failed(&error))
}

fn without_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    let rest = part.trim_start_matches('0');
    if rest.starts_with(|c: char| c.is_ascii_digit()) { rest.to_owned() } else { format!("0{rest}") }
}

fn semver(_: &mut Meter, args: &[Val]) -> Result {
    Ok(opaque(Opaque::Semver(parsed(args)?)))
}

fn is_semver(_: &mut Meter, args: &[Val]) -> Result {
    args::text(args, 0)?;
    Ok(Val::Bool(parsed(args).is_ok()))
}

fn number(args: &[Val], index: usize) -> Result {
    match library_value(args, 0)? {
        Opaque::Semver(version) => Ok(Val::Int(i64::try_from(version.numbers()[index]).unwrap_or(i64::MAX))),
        _ => Err(EvalError::no_overload()),
    }
}
