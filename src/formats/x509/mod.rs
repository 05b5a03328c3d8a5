//! X.509 certificates and certificate requests as objects, with the field names of Go's library.

mod extension;
mod name;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use num_bigint::{BigInt, Sign};
use x509_parser::asn1_rs::{Any, FromDer as _, Oid, Tag};
use x509_parser::certificate::X509Certificate;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::cri_attributes::ParsedCriAttribute;
use x509_parser::public_key::RSAPublicKey;
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

use crate::value::{Number, Value};

use super::base64::decoded;

/// Why a text cannot be decoded, where possible in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum X509Error {
    #[error("failed to decode PEM block")]
    NoPem,
    #[error("PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST")]
    OtherPem,
    #[error("x509: malformed certificate")]
    Malformed,
    #[error("x509: trailing data")]
    TrailingData,
    #[error("certificate should use rsa algorithm")]
    NotRsa,
    #[error("failed to parse subject public key info")]
    MalformedKey,
    #[error("x509: integer too large")]
    IntegerTooLarge,
    /// The identifier of the extension.
    #[error("x509: invalid extension {0}")]
    Extension(String),
    /// The tag of a string in a name.
    #[error("x509: unsupported string type {0} in a name")]
    StringType(u32),
}

/// Which fields of a certificate are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All, as in JMESPath.
    All,
    /// Those of Kyverno's CEL library, with a serial number of 64 bits.
    Cel,
}

/// Decodes the first block of a PEM text.
///
/// # Errors
///
/// No such block, neither certificate nor request, malformed, or a key that is not RSA.
pub fn decode(text: &str, shape: Shape) -> Result<Value, X509Error> {
    let (kind, der) = pem(text).ok_or(X509Error::NoPem)?;
    match kind {
        "CERTIFICATE" => certificate(&der, shape),
        "CERTIFICATE REQUEST" => request(&der),
        _ => Err(X509Error::OtherPem),
    }
}

/// The kind and the content of the first block.
fn pem(text: &str) -> Option<(&str, Vec<u8>)> {
    let mut rest = text;
    loop {
        let start = rest.find("-----BEGIN ")?;
        let at_line_start = start == 0 || rest[..start].ends_with('\n');
        rest = &rest[start + "-----BEGIN ".len()..];
        if !at_line_start {
            continue;
        }
        let Some((kind, body)) = rest.split_once("-----") else { continue };
        let Some((body, _)) = body.split_once(&format!("-----END {kind}-----")) else { continue };
        if kind.contains('\n') || !(body.ends_with('\n') || body.is_empty()) {
            continue;
        }
        // Headers end with a blank line.
        let body = match body.split_once("\n\n") {
            Some((headers, body)) if headers.contains(':') => body,
            _ => body,
        };
        let packed: Vec<u8> = body.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        if let Ok(bytes) = decoded(&packed) {
            return Some((kind, bytes));
        }
    }
}

/// An object with sorted keys.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let mut members: Vec<_> = members.into_iter().collect();
    members.sort_by(|a, b| a.0.cmp(b.0));
    Value::from_iter(members)
}

fn bytes(bytes: &[u8]) -> Value {
    STANDARD.encode(bytes).into()
}

/// A list; null if it is empty.
fn list(items: Vec<Value>) -> Value {
    if items.is_empty() { Value::Null } else { Value::array(items) }
}

fn certificate(der: &[u8], shape: Shape) -> Result<Value, X509Error> {
    let (rest, certificate) = X509Certificate::from_der(der).map_err(|_| X509Error::Malformed)?;
    if !rest.is_empty() {
        return Err(X509Error::TrailingData);
    }
    let tbs = &certificate.tbs_certificate;
    let key = public_key(&tbs.subject_pki)?;
    let mut fields = extension::Fields::of_certificate();
    for extension in tbs.extensions() {
        fields.read(extension)?;
    }
    let mut members = fields.into_members();
    for (key, value) in [
        ("Issuer", name::object_of(tbs.issuer())?),
        ("NotAfter", time(tbs.validity().not_after.timestamp())),
        ("NotBefore", time(tbs.validity().not_before.timestamp())),
        ("PublicKey", key),
        ("PublicKeyAlgorithm", Value::from(RSA)),
        ("Raw", bytes(der)),
        ("RawIssuer", bytes(tbs.issuer().as_raw())),
        ("RawSubject", bytes(tbs.subject().as_raw())),
        ("RawSubjectPublicKeyInfo", bytes(tbs.subject_pki.raw)),
        ("RawTBSCertificate", bytes(tbs.as_ref())),
        ("SerialNumber", number(tbs.raw_serial())?),
        ("Signature", bytes(certificate.signature_value.data.as_ref())),
        ("SignatureAlgorithm", signature_algorithm(&certificate.signature_algorithm)),
        ("Subject", name::object_of(tbs.subject())?),
        ("Version", Value::from(i64::from(tbs.version.0) + 1)),
    ] {
        members.insert(key, value);
    }
    if shape == Shape::Cel {
        members.retain(|key, _| CEL_FIELDS.contains(key));
        members.insert("SerialNumber", low_64_bits(tbs.raw_serial()).into());
        members.insert("PermittedIPRanges", Value::Null);
    }
    Ok(Value::from_iter(members))
}

/// The fields of a certificate in CEL but for the permitted IP ranges, which Kyverno leaves empty.
const CEL_FIELDS: [&str; 35] = [
    "AuthorityKeyId",
    "BasicConstraintsValid",
    "CRLDistributionPoints",
    "DNSNames",
    "EmailAddresses",
    "ExcludedDNSDomains",
    "ExcludedEmailAddresses",
    "ExcludedIPRanges",
    "ExcludedURIDomains",
    "ExtKeyUsage",
    "Extensions",
    "ExtraExtensions",
    "IPAddresses",
    "IsCA",
    "Issuer",
    "IssuingCertificateURL",
    "KeyUsage",
    "MaxPathLen",
    "MaxPathLenZero",
    "NotAfter",
    "NotBefore",
    "OCSPServer",
    "PermittedDNSDomains",
    "PermittedDNSDomainsCritical",
    "PermittedEmailAddresses",
    "PermittedURIDomains",
    "PolicyIdentifiers",
    "PublicKey",
    "PublicKeyAlgorithm",
    "Raw",
    "RawIssuer",
    "RawSubject",
    "RawSubjectPublicKeyInfo",
    "RawTBSCertificate",
    "Signature",
];

/// As Go's `big.Int` is cut: the lowest bits of the amount, and the sign.
fn low_64_bits(serial: &[u8]) -> i64 {
    let serial = BigInt::from_signed_bytes_be(serial);
    let low = serial.iter_u64_digits().next().unwrap_or(0).cast_signed();
    if serial.sign() == Sign::Minus { low.wrapping_neg() } else { low }
}

/// A time in RFC 3339, from the seconds since 1970.
fn time(seconds: i64) -> Value {
    let epoch = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
    let time = epoch.checked_add(SignedDuration::from_secs(seconds));
    time.map_or(Value::Null, |time| format!("{time}Z").into())
}

fn request(der: &[u8]) -> Result<Value, X509Error> {
    let (rest, request) = X509CertificationRequest::from_der(der).map_err(|_| X509Error::Malformed)?;
    if !rest.is_empty() {
        return Err(X509Error::TrailingData);
    }
    let info = &request.certification_request_info;
    let key = public_key(&info.subject_pki)?;
    let mut fields = extension::Fields::of_request();
    let mut attributes = Vec::new();
    for attribute in info.attributes() {
        if let ParsedCriAttribute::ExtensionRequest(request) = attribute.parsed_attribute() {
            for extension in &request.extensions {
                fields.read(extension)?;
            }
        }
        attributes.extend(attribute_object(&arcs(&attribute.oid), attribute.value));
    }
    let mut members = fields.into_members();
    for (key, value) in [
        ("Attributes", list(attributes)),
        ("PublicKey", key),
        ("PublicKeyAlgorithm", Value::from(RSA)),
        ("Raw", bytes(der)),
        ("RawSubject", bytes(info.subject.as_raw())),
        ("RawSubjectPublicKeyInfo", bytes(info.subject_pki.raw)),
        ("RawTBSCertificateRequest", bytes(info.raw)),
        ("Signature", bytes(request.signature_value.data.as_ref())),
        ("SignatureAlgorithm", signature_algorithm(&request.signature_algorithm)),
        ("Subject", name::object_of(&info.subject)?),
        ("Version", Value::from(i64::from(info.version.0))),
    ] {
        members.insert(key, value);
    }
    Ok(Value::from_iter(members))
}

/// An attribute of a request if Go's type can represent it: a set of lists of pairs.
fn attribute_object(oid: &[u64], value: &[u8]) -> Option<Value> {
    let (_, set) = Any::from_der(value).ok()?;
    let mut lists = Vec::new();
    for list in elements(set.data) {
        if list.tag() != Tag::Sequence {
            return None;
        }
        let pairs = elements(list.data).map(|pair| {
            let (rest, oid) = Oid::from_der(pair.data).ok().filter(|_| pair.tag() == Tag::Sequence)?;
            let (_, value) = Any::from_der(rest).ok()?;
            let value = match value.tag() {
                Tag::Boolean => Value::Bool(value.data != [0]),
                Tag::OctetString => bytes(value.data),
                _ => Value::Null,
            };
            Some(object([("Type", numbers(&arcs(&oid))), ("Value", value)]))
        });
        lists.push(Value::array(pairs.collect::<Option<_>>()?));
    }
    Some(object([("Type", numbers(oid)), ("Value", Value::array(lists))]))
}

/// The consecutive elements of an encoding, up to the first malformed one.
fn elements(mut der: &[u8]) -> impl Iterator<Item = Any<'_>> {
    std::iter::from_fn(move || {
        let (rest, element) = Any::from_der(der).ok()?;
        der = rest;
        Some(element)
    })
}

/// The numbers of an object identifier; empty if one of them exceeds 64 bits.
fn arcs(oid: &Oid<'_>) -> Vec<u64> {
    oid.iter().map(Iterator::collect).unwrap_or_default()
}

/// An identifier as a list of numbers.
fn numbers(oid: &[u64]) -> Value {
    Value::array(oid.iter().map(|arc| i64::try_from(*arc).unwrap_or(i64::MAX).into()).collect())
}

/// Go's number for RSA keys.
const RSA: i64 = 1;

fn public_key(info: &SubjectPublicKeyInfo<'_>) -> Result<Value, X509Error> {
    if arcs(&info.algorithm.algorithm) != [1, 2, 840, 113_549, 1, 1, 1] {
        return Err(X509Error::NotRsa);
    }
    let (_, key) =
        RSAPublicKey::from_der(&info.subject_public_key.data).map_err(|_| X509Error::MalformedKey)?;
    Ok(object([("E", number(key.exponent)?), ("N", decimal(key.modulus)?.into())]))
}

/// The maximum length of an integer: that of a key of 32,768 bits.
const MAX_INTEGER_BYTES: usize = 4097;

/// An integer in two's complement, in decimal digits.
fn decimal(bytes: &[u8]) -> Result<String, X509Error> {
    if bytes.len() > MAX_INTEGER_BYTES {
        return Err(X509Error::IntegerTooLarge);
    }
    Ok(BigInt::from_signed_bytes_be(bytes).to_string())
}

fn number(bytes: &[u8]) -> Result<Value, X509Error> {
    Number::parse(&decimal(bytes)?).map(Value::Number).ok_or(X509Error::IntegerTooLarge)
}

/// Go's number of a signature algorithm; 0 for others.
fn signature_algorithm(algorithm: &AlgorithmIdentifier<'_>) -> Value {
    let number = match arcs(&algorithm.algorithm).as_slice() {
        [1, 2, 840, 113_549, 1, 1, last] => match last {
            4 => 2,
            5 => 3,
            10 => algorithm.parameters.as_ref().map_or(0, |parameters| pss(parameters.data)),
            11 => 4,
            12 => 5,
            13 => 6,
            _ => 0,
        },
        [1, 3, 14, 3, 2, 29] => 3,
        [1, 2, 840, 10_040, 4, 3] => 7,
        [2, 16, 840, 1, 101, 3, 4, 3, 2] => 8,
        [1, 2, 840, 10_045, 4, 1] => 9,
        [1, 2, 840, 10_045, 4, 3, last @ 2..=4] => i64::try_from(*last).unwrap_or(0) + 8,
        [1, 3, 101, 112] => 16,
        _ => 0,
    };
    Value::from(number)
}

/// The number for PSS parameters that use one hash, and a salt of its length.
fn pss(parameters: &[u8]) -> i64 {
    let encoded = |hash: u8, salt: u8| {
        let hash = [0x30, 0x0d, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, hash, 5, 0];
        let mask = [0x30, 0x1a, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 8];
        [&[0xa0, 0x0f], &hash[..], &[0xa1, 0x1c], &mask[..], &hash[..], &[0xa2, 3, 2, 1, salt]].concat()
    };
    [(1, 32, 13), (2, 48, 14), (3, 64, 15)]
        .into_iter()
        .find(|(hash, salt, _)| parameters == encoded(*hash, *salt))
        .map_or(0, |(_, _, number)| number)
}
