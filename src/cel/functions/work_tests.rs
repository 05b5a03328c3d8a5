//! What functions do is charged, before it is done. Steps are counted, not time.

use std::sync::Arc;

use super::{Body, TABLE};
use crate::cel::cost::CostRule;
use crate::cel::eval::charged;
use crate::cel::image::Image;
use crate::cel::limits::COST_LIMIT;
use crate::cel::meter::Meter;
use crate::cel::network::Network;
use crate::cel::opaque::Opaque;
use crate::cel::plan::CallStep;
use crate::cel::stamp::Stamp;
use crate::cel::types::Type;
use crate::cel::value::{Entries, Key, Val, steps};
use crate::cel::variables::NoVariables;
use crate::formats::url::Url;
use crate::value::{Quantity, Version};

/// A large value of a type: lists and maps with `size` elements, texts with `size` bytes. Elements differ.
fn large(t: &Type, size: usize, number: usize) -> Val {
    let small = |t: &Type, number: usize| large(t, 3, number);
    match t {
        Type::List(element) => Val::list((0..size).map(|index| small(element, index)).collect()),
        Type::Map(entry) => {
            let entries =
                (0..size).map(|index| (Key::String(format!("k{index}").into()), small(&entry.1, index)));
            Val::map(entries.collect::<Entries>())
        }
        Type::Bool => Val::Bool(true),
        Type::Int => Val::Int(i64::try_from(number).unwrap()),
        Type::Uint => Val::Uint(number as u64),
        Type::Double => Val::Double(1.5),
        Type::String => Val::string(format!("{number}{}", "a".repeat(size))),
        Type::Bytes => Val::bytes(format!("{number}{}", "a".repeat(size)).into_bytes()),
        Type::Duration => Val::Duration(i64::try_from(number).unwrap()),
        Type::Timestamp => Val::Timestamp(Stamp::from_second(i64::try_from(number).unwrap()).unwrap()),
        Type::Type(_) => Val::Type(Arc::new(Type::Int)),
        Type::Optional(inner) => Val::some(small(inner, number)),
        Type::Named(name) => match &**name {
            "kubernetes.Quantity" => opaque(Opaque::Quantity(Quantity::from_integer(1))),
            "kubernetes.Semver" => opaque(Opaque::Semver(Version::parse("1.2.3").unwrap().into_owned())),
            "net.IP" => opaque(Opaque::Ip("1.2.3.4".parse().unwrap())),
            "net.CIDR" => opaque(Opaque::Cidr(Network::parse("1.2.3.0/24").unwrap())),
            "kubernetes.URL" => {
                opaque(Opaque::Url(Url::parse(&format!("https://a/{}?b=c", "a".repeat(size))).unwrap()))
            }
            "kyverno.image" => opaque(Opaque::Image(Image::parse("nginx:1").unwrap())),
            _ => Val::Null,
        },
        // Whatever the function takes: lists of lists are the worst.
        _ => Val::list((0..size).map(|index| Val::list(vec![Val::Int(index as i64)])).collect()),
    }
}

fn opaque(value: Opaque) -> Val {
    Val::Opaque(value.into())
}

/// Steps that need not be charged: to find the overload, and the element at which work is stopped.
const FREE_STEPS: u64 = 100;

/// So many steps may be done for each visit or unit of cost.
const STEPS_PER_CHARGE: u64 = 4;

#[test]
fn every_function_charges_what_it_does() {
    let mut count = 0;
    for function in TABLE.values() {
        for overload in &function.overloads {
            let Body::Pure(_) = overload.body else { continue };
            for size in [300, 3_000, 30_000] {
                // Numbers are depths, positions and lengths.
                for number in [1, size / 2, usize::try_from(i32::MAX).unwrap()] {
                    let args: Vec<Val> = overload.params.iter().map(|t| large(t, size, number)).collect();
                    let call = CallStep {
                        function,
                        overload: Some(overload),
                        cost: CostRule::of(&function.name, Some(&overload.id)),
                        regexp: None,
                        args: Vec::new(),
                    };
                    let mut meter = Meter::default();
                    steps::take();
                    let result = charged(&call, &NoVariables, &mut meter, &args);
                    let (done, paid) = (steps::take(), meter.visits() + meter.cost().min(COST_LIMIT));
                    assert!(
                        done <= FREE_STEPS + STEPS_PER_CHARGE * paid,
                        "{} {}: {done} steps with {size} elements, {paid} charged",
                        function.name,
                        overload.id
                    );
                    let is_cancelled = result.as_ref().is_err_and(crate::cel::EvalError::is_final);
                    assert!(is_cancelled || meter.cost() <= COST_LIMIT, "{} {}", function.name, overload.id);
                    count += 1;
                }
            }
        }
    }
    assert!(count > 1_500, "{count}");
}

#[test]
fn what_costs_too_much_is_not_done() {
    let numbers = Val::list((0..40_000).map(Val::Int).collect());
    for (name, args) in [
        ("distinct", vec![numbers.clone()]),
        ("sort", vec![numbers.clone()]),
        ("sets.contains", vec![numbers.clone(), numbers.clone()]),
        ("sets.equivalent", vec![numbers.clone(), numbers.clone()]),
        ("sets.intersects", vec![numbers.clone(), numbers]),
    ] {
        let function = &TABLE[name];
        let overload = &function.overloads[0];
        let cost = CostRule::of(name, Some(&overload.id));
        let call = CallStep { function, overload: Some(overload), cost, regexp: None, args: Vec::new() };
        steps::take();
        let result = charged(&call, &NoVariables, &mut Meter::default(), &args);
        assert!(result.is_err_and(|error| error.is_final()), "{name}");
        assert!(steps::take() <= FREE_STEPS, "{name}");
    }
}
