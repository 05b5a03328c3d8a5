use super::*;

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn quantities_are_formatted_canonically() {
    for (text, canonical) in [
        ("0", "0"),
        ("-0", "0"),
        ("5.", "5"),
        (".5", "500m"),
        (".", "0"),
        ("-", "0"),
        ("m", "0"),
        ("0.5Gi", "512Mi"),
        ("0.1Gi", "107374182400m"),
        ("1.0Gi", "1Gi"),
        ("1.1Ki", "1126400m"),
        ("1.5Ki", "1536"),
        ("0.3Ki", "307200m"),
        ("1024Ki", "1Mi"),
        ("1025Ki", "1025Ki"),
        ("1536Mi", "1536Mi"),
        ("2.5Pi", "2560Ti"),
        ("1024", "1024"),
        ("1023Ki", "1023Ki"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("1.0e3", "1e3"),
        ("1e18", "1e18"),
        ("1e19", "10e18"),
        ("1e21", "1e21"),
        ("1e100", "10e99"),
        ("1e-3", "1e-3"),
        ("1E", "1E"),
        ("00012", "12"),
        ("12.340", "12340m"),
        ("+1", "1"),
        ("0.0001", "100u"),
        ("1500000", "1500k"),
        ("1000000", "1M"),
        ("0.1", "100m"),
        ("1.5", "1500m"),
        ("-1.5", "-1500m"),
        ("1.2345678912n", "2n"),
        ("0.0000000001", "1n"),
        ("-0.0000000001", "-1n"),
        ("8Ei", "9223372036854775807"),
        ("-8Ei", "-9223372036854775807"),
        ("100E", "100E"),
        ("0.0001Ki", "102400u"),
    ] {
        assert_eq!(quantity(text).to_string(), canonical, "{text}");
    }
}

#[test]
fn other_texts_are_refused_with_the_messages_of_kubernetes() {
    use QuantityError::{Number, OutOfRange, Shape, Suffix};
    for (text, error) in [
        ("", Shape),
        ("1K", Suffix),
        ("1ki", Suffix),
        ("1KI", Shape),
        ("1mi", Suffix),
        ("1p", Shape),
        ("1e", Suffix),
        ("1e+", Suffix),
        ("1d", Shape),
        ("1w", Shape),
        ("1H", Shape),
        ("1 ", Shape),
        (" 1", Shape),
        ("v1", Shape),
        ("1.2.3", Shape),
        ("--1", Suffix),
        ("1k5", Suffix),
        ("1h", Shape),
        ("1é", Shape),
        ("Pi", Number),
        (".Pi", Number),
        ("1e1001", OutOfRange),
        ("1e-1001", OutOfRange),
        ("1e2000000000", OutOfRange),
        ("1e-2000000000", OutOfRange),
        ("1e-2147483648", OutOfRange),
        ("1e2147483648", OutOfRange),
        ("1e-9223372036854775808", OutOfRange),
        // Kubernetes refuses what 64 bits cannot hold.
        ("1e9223372036854775808", Suffix),
        ("1e99999999999999999999", Suffix),
    ] {
        assert_eq!(Quantity::parse(text).unwrap_err(), error, "{text}");
    }
    assert_eq!(
        Shape.to_string(),
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    );
    assert_eq!(Suffix.to_string(), "unable to parse quantity's suffix");
    assert_eq!(Number.to_string(), "unable to parse numeric part of quantity");
    assert_eq!(OutOfRange.to_string(), "quantity has more than 1000 digits or an exponent beyond 1000");
}

#[test]
fn size_is_limited() {
    assert!(Quantity::parse(&"9".repeat(1000)).is_ok());
    assert_eq!(Quantity::parse(&"9".repeat(1001)).unwrap_err(), QuantityError::OutOfRange);
    assert_eq!(Quantity::parse(&format!("0.{}1", "0".repeat(1000))).unwrap_err(), QuantityError::OutOfRange);
    assert_eq!(quantity(&"0".repeat(100_000)), quantity("0"));
    let mut product = quantity("1e1000");
    let factor = product.clone();
    for _ in 0..3 {
        product = product.checked_mul(&factor).unwrap();
    }
    assert!(product.checked_mul(&factor).is_none());
    assert!(product > quantity("1n") && quantity("-1n") < product);
}

#[test]
fn quantities_compare_by_value() {
    for (a, b) in [("1Gi", "1024Mi"), ("0.2", "200m"), ("1e3", "1k"), ("0Ki", "0"), ("100", "100000000000n")]
    {
        assert_eq!(quantity(a), quantity(b), "{a} {b}");
    }
    let sorted = [
        "-1e1000",
        "-1Gi",
        "-1n",
        "0",
        "1n",
        "1u",
        "1m",
        "0.5",
        "1",
        "1k",
        "1Ki",
        "1M",
        "9223372036854775807",
        "100000000000000000000000000000000000000",
        "1000000000000000000000000000000000000001",
        "1e1000",
    ];
    for pair in sorted.windows(2) {
        assert!(quantity(pair[0]) < quantity(pair[1]), "{pair:?}");
    }
}

#[test]
fn sums_are_exact_and_written_as_the_left_side() {
    for (a, b, sum) in [
        ("12Ki", "13Ki", "25Ki"),
        ("12Ki", "13", "12301"),
        ("1", "2", "3"),
        ("0.1", "0.2", "300m"),
        ("1500m", "500m", "2"),
        ("1Gi", "500Mi", "1524Mi"),
        ("1G", "1Gi", "2073741824"),
        ("1.5Gi", "1Gi", "2560Mi"),
        ("1e3", "1", "1001"),
        ("1E", "1", "1000000000000000001"),
        ("1Ti", "1Gi", "1025Gi"),
        ("8Ei", "8Ei", "18446744073709551614"),
        ("12E", "1Ei", "13152921504606846976"),
        ("1", "1e-1", "1100m"),
        ("100", "1k", "1100"),
        ("1Mi", "1", "1048577"),
        ("0", "5Ki", "5Ki"),
        ("0Ki", "5", "5"),
        ("0Ki", "0Mi", "0"),
        ("9223372036854775807", "1", "9223372036854775808"),
        ("100000000000000000000", "1", "100000000000000000001"),
        ("1e3", "1Ki", "2024"),
        ("170141183460469231731687303715884105727", "1", "170141183460469231731687303715884105728"),
    ] {
        assert_eq!(quantity(a).checked_add(&quantity(b)).unwrap().to_string(), sum, "{a} {b}");
    }
    for (a, b, difference) in [
        ("12Ki", "13Ki", "-1Ki"),
        ("12Ki", "13", "12275"),
        ("5Gi", "1Gi", "4Gi"),
        ("1Gi", "1Gi", "0"),
        ("0", "1", "-1"),
    ] {
        assert_eq!(quantity(a).checked_sub(&quantity(b)).unwrap().to_string(), difference, "{a} {b}");
    }
}

#[test]
fn products_and_quotients_with_a_scalar() {
    let scalar = |value| Quantity::from_f64(value).unwrap();
    for (a, b, product) in [
        ("12Ki", 2.0, "24Ki"),
        ("12Ki", 2.5, "30Ki"),
        ("12", 2.5, "30"),
        ("100m", 3.0, "300m"),
        ("1Gi", 1.5, "1536Mi"),
        ("1Gi", 0.3, "322122547200m"),
        ("1Ki", 0.0001, "102400u"),
        ("1", 0.000_000_1, "100n"),
        ("1", 1e-20, "1n"),
        ("1", 1e21, "1000E"),
        ("1n", 0.1, "1n"),
        ("1Ei", 1024.0, "1024Ei"),
    ] {
        assert_eq!(quantity(a).checked_mul(&scalar(b)).unwrap().to_string(), product, "{a} {b}");
    }
    for (a, b, quotient) in [
        ("12Ki", 3.0, "4Ki"),
        ("1Gi", 3.0, "357913941"),
        ("7Gi", 2.0, "3584Mi"),
        ("1", 0.5, "2"),
        ("3", 0.7, "4200m"),
        ("3000", 1e3, "3"),
        ("3", 1e3, "0"),
        ("10", 3.0, "3"),
        ("10.00", 3.0, "3330m"),
        ("1", 3.0, "0"),
        ("100m", 3.0, "33m"),
        ("-10", 3.0, "-3"),
    ] {
        assert_eq!(quantity(a).checked_div(&scalar(b)).unwrap().to_string(), quotient, "{a} {b}");
    }
    assert!(quantity("1").checked_div(&quantity("0Ki")).is_none());
    assert_eq!(Quantity::from_f64(f64::INFINITY).unwrap_err(), QuantityError::Shape);
}

#[test]
fn a_remainder_needs_whole_quantities() {
    for (a, b, rest) in
        [("12Ki", "5Ki", "2Ki"), ("10Gi", "3Gi", "1Gi"), ("-10", "3", "-1"), ("0.0", "3", "0")]
    {
        assert_eq!(quantity(a).checked_rem(&quantity(b)).unwrap().to_string(), rest, "{a} {b}");
    }
    for (a, b) in [("4", "1.5"), ("4.5", "1"), ("1500m", "1"), ("1", "0")] {
        assert!(quantity(a).checked_rem(&quantity(b)).is_none(), "{a} {b}");
    }
    assert!(quantity("2000m").is_integer() && !quantity("1n").is_integer());
}

#[test]
fn floats_are_those_of_kubernetes() {
    let ratio = |a: &str, b: &str| quantity(a).as_f64() / quantity(b).as_f64();
    for (a, b, expected) in [
        ("256M", "256M", 1.0),
        ("8", "3", 2.666_666_666_666_666_5),
        ("12Ki", "200", 61.44),
        ("-7", "2", -3.5),
        ("500m", "250m", 2.0),
        ("0.3", "1", 0.300_000_000_000_000_04),
    ] {
        assert_eq!(ratio(a, b), expected, "{a} {b}");
    }
    assert_eq!(quantity("1e1000").as_f64(), f64::INFINITY);
}
