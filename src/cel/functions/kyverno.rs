//! Kyverno's libraries, without what reaches outside of an expression.

use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use indexmap::IndexMap;
use sha1::Digest as _;

use crate::formats::x509;
use crate::value::JsonReader;

use super::args;
use super::{Row, row};
use crate::cel::error::EvalError;
use crate::cel::image::Image;
use crate::cel::json::marshal;
use crate::cel::meter::Meter;
use crate::cel::opaque::Opaque;
use crate::cel::time::shifted;
use crate::cel::value::{Entries, MessageVal, Numbers, Val};

type Result = std::result::Result<Val, EvalError>;

pub(super) const ROWS: &[Row] = &[
    row("base64.encode", "base64_encode_bytes", "(bytes) string", base64_encode).kyverno(),
    row("base64.decode", "base64_decode_string", "(string) bytes", base64_decode).kyverno(),
    row("sha1", "sha1_string", "(string) string", sha1_hex).kyverno(),
    row("hash.sha1", "sha1_string_prefixed", "(string) string", sha1_hex).kyverno(),
    row("sha256", "sha256_string", "(string) string", sha256_hex).kyverno(),
    row("hash.sha256", "sha256_string_prefixed", "(string) string", sha256_hex).kyverno(),
    row("md5", "md5_string", "(string) string", md5_hex).kyverno(),
    row("hash.md5", "md5_string_prefixed", "(string) string", md5_hex).kyverno(),
    row("json.unmarshal", "unmarshal_string_dyn", "(dyn) dyn", unmarshal).kyverno(),
    row("json.marshal", "marshal_dyn_string", "(dyn) string", |meter, args| {
        Ok(Val::string(marshal(&args::value(args, 0), meter)?))
    })
    .kyverno(),
    row("time.toCron", "time_to_cron", "(timestamp) string", to_cron).kyverno(),
    row("time.truncate", "time_truncate", "(timestamp, duration) timestamp", truncate).kyverno(),
    row(
        "listObjToMap",
        "list_of_object_to_map",
        "(list<dyn>, list<dyn>, string, string) map<dyn, dyn>",
        to_map,
    )
    .kyverno(),
    row(
        "transform.listObjToMap",
        "list_of_object_to_map_prefixed",
        "(list<dyn>, list<dyn>, string, string) map<dyn, dyn>",
        to_map,
    )
    .kyverno(),
    row(
        "parseServiceAccount",
        "parse_service_account_string",
        "(string) user.ServiceAccount",
        service_account,
    )
    .kyverno(),
    row(
        "user.parseServiceAccount",
        "parse_service_account_string_prefixed",
        "(string) user.ServiceAccount",
        service_account,
    )
    .kyverno(),
    row("image", "string_to_image_deprecated", "(string) kyverno.image", to_image).kyverno(),
    row("parseImageReference", "string_to_image", "(string) kyverno.image", to_image).kyverno(),
    row("isImage", "is_image_string", "(string) bool", |_, args| {
        Ok(Val::Bool(Image::parse(args::text(args, 0)?).is_ok()))
    })
    .kyverno(),
    row("containsDigest", "image_contains_digest", "kyverno.image.() bool", |_, args| {
        Ok(Val::Bool(image(args)?.digest.is_some()))
    })
    .kyverno(),
    row("registry", "image_registry", "kyverno.image.() string", |meter, args| {
        part(meter, args, |image| &image.registry)
    })
    .kyverno(),
    row("repository", "image_repository", "kyverno.image.() string", |meter, args| {
        part(meter, args, |image| &image.repository)
    })
    .kyverno(),
    row("identifier", "image_identifier", "kyverno.image.() string", |meter, args| {
        part(meter, args, Image::identifier)
    })
    .kyverno(),
    row("tag", "image_tag", "kyverno.image.() string", |meter, args| {
        part(meter, args, |image| image.tag.as_deref().unwrap_or_default())
    })
    .kyverno(),
    row("digest", "image_digest", "kyverno.image.() string", |meter, args| {
        part(meter, args, |image| image.digest.as_deref().unwrap_or_default())
    })
    .kyverno(),
    row("x509.decode", "x509_decode_string", "(string) dyn", decode_certificate).kyverno(),
];

/// A certificate or a certificate request; all numbers are doubles.
fn decode_certificate(meter: &mut Meter, args: &[Val]) -> Result {
    // The parts of a certificate are kept once more as texts of their own.
    const COPIES: usize = 8;
    let text = args::text(args, 0)?;
    meter.make(text.len() * COPIES)?;
    let decoded =
        x509::decode(text, x509::Shape::Cel).map_err(|error| EvalError::failed(error.to_string()))?;
    Ok(Val::from_json(&decoded, Numbers::Doubles))
}

fn made(meter: &mut Meter, text: String) -> Result {
    meter.make(text.len())?;
    Ok(Val::string(text))
}

/// As Go decodes: the bits after the last byte do not count.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

fn base64_encode(meter: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Bytes(bytes)] => made(meter, STANDARD.encode(bytes)),
        _ => Err(EvalError::no_overload()),
    }
}

/// With padding or without.
fn base64_decode(meter: &mut Meter, args: &[Val]) -> Result {
    let text = args::text(args, 0)?;
    meter.make(text.len())?;
    let clean = text.replace(['\r', '\n'], "");
    let decoded = LENIENT.decode(&clean);
    decoded.map(Val::bytes).map_err(|_| EvalError::failed("illegal base64 data"))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn sha1_hex(meter: &mut Meter, args: &[Val]) -> Result {
    made(meter, hex(&sha1::Sha1::digest(args::text(args, 0)?.as_bytes())))
}

fn sha256_hex(meter: &mut Meter, args: &[Val]) -> Result {
    made(meter, hex(&sha2::Sha256::digest(args::text(args, 0)?.as_bytes())))
}

fn md5_hex(meter: &mut Meter, args: &[Val]) -> Result {
    made(meter, hex(&md5::Md5::digest(args::text(args, 0)?.as_bytes())))
}

/// Numbers are doubles.
fn unmarshal(meter: &mut Meter, args: &[Val]) -> Result {
    /// So many bytes take as long as looking at a value.
    const BYTES_PER_VISIT: usize = 8;
    let text = args::text(args, 0)?;
    meter.visit_items(text.len() / BYTES_PER_VISIT)?;
    meter.make(text.len())?;
    let value = JsonReader::new(text).last_wins().read();
    let value = value.map_err(|error| EvalError::failed(error.to_string()))?;
    Ok(Val::from_json(&value, Numbers::Doubles))
}

fn to_cron(_: &mut Meter, args: &[Val]) -> Result {
    let Some(Val::Timestamp(stamp)) = args.first() else { return Err(EvalError::no_overload()) };
    let at = stamp.parts(stamp.offset().into());
    Ok(Val::string(format!("{} {} {} {} {}", at.minute, at.hour, at.day, at.month, at.weekday)))
}

/// Down to a multiple of a duration since the year 1.
fn truncate(_: &mut Meter, args: &[Val]) -> Result {
    const SINCE_YEAR_1: i128 = 62_135_596_800_000_000_000;
    let [Val::Timestamp(stamp), Val::Duration(step)] = args else { return Err(EvalError::no_overload()) };
    if *step <= 0 {
        return Ok(Val::Timestamp(*stamp));
    }
    let surplus = (stamp.as_nanosecond() + SINCE_YEAR_1).rem_euclid(i128::from(*step));
    let surplus = i64::try_from(surplus).unwrap_or(0);
    shifted(*stamp, -surplus).map(Val::Timestamp)
}

/// Keys from the objects of one list, values from those of another.
fn to_map(meter: &mut Meter, args: &[Val]) -> Result {
    let (keys, values) = (args::list(args, 0)?, args::list(args, 1)?);
    let (key_name, value_name) = (args::text(args, 2)?, args::text(args, 3)?);
    if keys.len() != values.len() {
        return Err(EvalError::failed(format!(
            "listObjToMap must take lists of equal length. list1: {}, list2: {}",
            keys.len(),
            values.len()
        )));
    }
    meter.visit_items(keys.len() * 2)?;
    meter.make(keys.len() * 2 * size_of::<Val>())?;
    let mut entries = Entries::default();
    for (key, value) in keys.iter().zip(values.iter()) {
        let (Val::Map(key), Val::Map(value)) = (key, value) else {
            return Err(EvalError::failed("object cannot be handled as a map string to any"));
        };
        let Some(name @ Val::String(_)) = key.get(key_name) else {
            return Err(EvalError::failed(
                "the passed key name cannot be handled as a string in the key object list",
            ));
        };
        meter.visit_text(key_name.len() + value_name.len())?;
        let value = value.get(value_name).unwrap_or(Val::Null);
        entries.extend(name.key().map(|name| (name, value)));
    }
    Ok(Val::map(entries))
}

fn service_account(meter: &mut Meter, args: &[Val]) -> Result {
    let user = args::text(args, 0)?;
    meter.make(user.len())?;
    let parts = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let (namespace, name) = parts.unwrap_or_default();
    let mut fields = IndexMap::default();
    fields.insert("Name".into(), Val::string(name));
    fields.insert("Namespace".into(), Val::string(namespace));
    Ok(Val::Message(Arc::new(MessageVal { name: "user.ServiceAccount".into(), fields })))
}

fn to_image(meter: &mut Meter, args: &[Val]) -> Result {
    meter.make(args::text(args, 0)?.len() * 2)?;
    Ok(Val::Opaque(Opaque::Image(Image::parse(args::text(args, 0)?)?).into()))
}

fn image(args: &[Val]) -> std::result::Result<&Image, EvalError> {
    match args.first() {
        Some(Val::Opaque(value)) => match &**value {
            Opaque::Image(image) => Ok(image),
            _ => Err(EvalError::no_overload()),
        },
        _ => Err(EvalError::no_overload()),
    }
}

fn part(meter: &mut Meter, args: &[Val], of: impl Fn(&Image) -> &str) -> Result {
    let text = of(image(args)?);
    meter.make(text.len())?;
    Ok(Val::string(text))
}
