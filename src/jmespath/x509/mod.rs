//! X.509 certificates and certificate requests as objects, with the names that Go's library gives their parts.

mod der;
mod extension;
mod name;

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use x509_parser::certificate::X509Certificate;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

use crate::value::{Number, Value};

use super::base64::decoded;
use super::moment::Moment;

use der::{Der, oid_numbers};

/// Decodes the first block of a PEM text.
///
/// # Errors
///
/// Text without such a block, a block that is neither certificate nor request, one that can not be read, and
/// one whose key is not of RSA.
pub(super) fn decode(text: &str) -> Result<Value, String> {
    let (kind, der) = pem(text).ok_or("failed to decode PEM block")?;
    match kind {
        "CERTIFICATE" => certificate(&der),
        "CERTIFICATE REQUEST" => request(&der),
        _ => Err("PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST".into()),
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
        // Headers stand before the content, a blank line behind them.
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

/// An object, its keys in order.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let mut members: Vec<_> = members.into_iter().collect();
    members.sort_by(|a, b| a.0.cmp(b.0));
    Value::from_iter(members)
}

fn bytes(bytes: &[u8]) -> Value {
    STANDARD.encode(bytes).into()
}

/// A list, null if it is empty.
fn list(items: Vec<Value>) -> Value {
    if items.is_empty() { Value::Null } else { Value::array(items) }
}

fn unreadable<E>(_: E) -> String {
    "x509: malformed certificate".into()
}

fn certificate(der: &[u8]) -> Result<Value, String> {
    let (rest, certificate) = X509Certificate::from_der(der).map_err(unreadable)?;
    if !rest.is_empty() {
        return Err("x509: trailing data".into());
    }
    let tbs = &certificate.tbs_certificate;
    let key = public_key(&tbs.subject_pki)?;
    let mut fields = extension::Fields::of_certificate();
    for extension in tbs.extensions() {
        fields.read(&oid_numbers(extension.oid.as_bytes()), extension.critical, extension.value)?;
    }
    let mut members = fields.into_members();
    let time = |seconds| Value::from(Moment::from_unix(seconds).to_string());
    let serial = Number::parse(&decimal(tbs.raw_serial())?).ok_or("x509: serial number out of range")?;
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
        ("SerialNumber", Value::Number(serial)),
        ("Signature", bytes(certificate.signature_value.data.as_ref())),
        ("SignatureAlgorithm", signature_algorithm(&certificate.signature_algorithm)),
        ("Subject", name::object_of(tbs.subject())?),
        ("Version", Value::from(i64::from(tbs.version.0) + 1)),
    ] {
        members.insert(key, value);
    }
    Ok(Value::from_iter(members))
}

fn request(der: &[u8]) -> Result<Value, String> {
    let (rest, request) = X509CertificationRequest::from_der(der).map_err(unreadable)?;
    if !rest.is_empty() {
        return Err("x509: trailing data".into());
    }
    let info = &request.certification_request_info;
    let key = public_key(&info.subject_pki)?;
    let mut fields = extension::Fields::of_request();
    let mut attributes = Vec::new();
    for attribute in info.attributes() {
        let kind = oid_numbers(attribute.oid.as_bytes());
        let values = Der::new(attribute.value).next_of(der::SET).unwrap_or_default();
        if kind == EXTENSION_REQUEST {
            for (oid, critical, value) in requested(values) {
                fields.read(&oid_numbers(oid), critical, value)?;
            }
        }
        attributes.extend(attribute_object(&kind, values));
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

/// The attribute of a request that holds the extensions it asks for.
const EXTENSION_REQUEST: [u64; 7] = [1, 2, 840, 113_549, 1, 9, 14];

/// The extensions inside an attribute: identifier, whether critical, content.
fn requested(attribute: &[u8]) -> Vec<(&[u8], bool, &[u8])> {
    let Some(extensions) = Der::new(attribute).next_of(der::SEQUENCE) else { return Vec::new() };
    let mut found = Vec::new();
    let mut extensions = Der::new(extensions);
    while let Some(extension) = extensions.next_of(der::SEQUENCE) {
        let mut parts = Der::new(extension);
        let Some(oid) = parts.next_of(der::OBJECT_IDENTIFIER) else { continue };
        let critical = parts.next_of(der::BOOLEAN).is_some_and(|content| content != [0]);
        if let Some(value) = parts.next_of(der::OCTET_STRING) {
            found.push((oid, critical, value));
        }
    }
    found
}

/// An attribute whose value is a set of lists of pairs, as Go's structure of attributes takes them.
fn attribute_object(kind: &[u64], value: &[u8]) -> Option<Value> {
    let mut sets = Vec::new();
    let mut lists = Der::new(value);
    while let Some((tag, content)) = lists.next() {
        if tag != der::SEQUENCE {
            return None;
        }
        let mut pairs = Vec::new();
        let mut entries = Der::new(content);
        while let Some((tag, content)) = entries.next() {
            let mut parts = Der::new(content);
            let oid = parts.next_of(der::OBJECT_IDENTIFIER).filter(|_| tag == der::SEQUENCE)?;
            let (tag, content) = parts.next()?;
            let value = match tag {
                der::BOOLEAN => Value::Bool(content != [0]),
                der::OCTET_STRING => bytes(content),
                _ => Value::Null,
            };
            pairs.push(object([("Type", numbers(&oid_numbers(oid))), ("Value", value)]));
        }
        sets.push(Value::array(pairs));
    }
    Some(object([("Type", numbers(kind)), ("Value", Value::array(sets))]))
}

/// An identifier as a list of numbers.
fn numbers(oid: &[u64]) -> Value {
    Value::array(oid.iter().map(|arc| i64::try_from(*arc).unwrap_or(i64::MAX).into()).collect())
}

/// Go's number for keys of RSA.
const RSA: i64 = 1;

fn public_key(info: &SubjectPublicKeyInfo<'_>) -> Result<Value, String> {
    if oid_numbers(info.algorithm.algorithm.as_bytes()) != [1, 2, 840, 113_549, 1, 1, 1] {
        return Err("certificate should use rsa algorithm".into());
    }
    let mut parts = Der::new(info.subject_public_key.data.as_ref());
    let mut parts = parts.next_of(der::SEQUENCE).map(Der::new);
    let mut integer = || parts.as_mut().and_then(|parts| parts.next_of(der::INTEGER));
    let (Some(modulus), Some(exponent)) = (integer(), integer()) else {
        return Err("failed to parse subject public key info".into());
    };
    let exponent = Number::parse(&decimal(exponent)?).ok_or("failed to parse subject public key info")?;
    Ok(object([("E", Value::Number(exponent)), ("N", decimal(modulus)?.into())]))
}

/// The most bytes of an integer that is written out: that of a key of 32768 bits.
const MOST_INTEGER_BYTES: usize = 4097;

/// An integer of the two's complement, in decimal digits.
fn decimal(bytes: &[u8]) -> Result<String, String> {
    if bytes.len() > MOST_INTEGER_BYTES {
        return Err("x509: integer too large".into());
    }
    let negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
    // Nine digits a place, the lowest first.
    const PLACE: u64 = 1_000_000_000;
    let mut places = vec![0u64];
    let mut carry_in = u64::from(negative);
    let magnitude: Vec<u8> = bytes
        .iter()
        .rev()
        .map(|byte| {
            if !negative {
                return *byte;
            }
            let sum = u64::from(!byte) + carry_in;
            carry_in = sum >> 8;
            (sum & 0xff) as u8
        })
        .collect();
    for byte in magnitude.into_iter().rev() {
        let mut carry = u64::from(byte);
        for place in &mut places {
            let value = *place * 256 + carry;
            *place = value % PLACE;
            carry = value / PLACE;
        }
        if carry > 0 {
            places.push(carry);
        }
    }
    let mut text = String::from(if negative { "-" } else { "" });
    for (index, place) in places.iter().rev().enumerate() {
        let _ = if index == 0 { write!(text, "{place}") } else { write!(text, "{place:09}") };
    }
    Ok(text)
}

/// Go's number of a signature algorithm; 0 for one it does not know.
fn signature_algorithm(algorithm: &AlgorithmIdentifier<'_>) -> Value {
    let number = match oid_numbers(algorithm.algorithm.as_bytes()).as_slice() {
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

/// The number for parameters of PSS: one hash throughout, and a salt as long as it.
fn pss(parameters: &[u8]) -> i64 {
    let wanted = |hash: u8, salt: u8| {
        let hash = [0x30, 0x0d, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, hash, 5, 0];
        let mask = [0x30, 0x1a, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 8];
        [&[0xa0, 0x0f], &hash[..], &[0xa1, 0x1c], &mask[..], &hash[..], &[0xa2, 3, 2, 1, salt]].concat()
    };
    [(1, 32, 13), (2, 48, 14), (3, 64, 15)]
        .into_iter()
        .find(|(hash, salt, _)| parameters == wanted(*hash, *salt))
        .map_or(0, |(_, _, number)| number)
}
