//! Texts in YAML, and compressed texts.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::read::MultiGzDecoder;

use super::{Row, args, row};
use crate::cel::error::EvalError;
use crate::cel::meter::Meter;
use crate::cel::opaque::Opaque;
use crate::cel::value::{Numbers, Val};
use crate::formats::gzip;
use crate::yaml;

type Result = std::result::Result<Val, EvalError>;

pub(super) const ROWS: &[Row] = &[
    row("yaml.parse", "parse_string_dyn", "(string) dyn", parse_yaml).kyverno(),
    row("gzip.decompress", "decompress_bytes_string", "(bytes) string", decompress).kyverno(),
    row("gzip.compress", "compress_any_bytes", "(dyn) bytes", compress).kyverno(),
];

/// The first document. Numbers are doubles.
fn parse_yaml(meter: &mut Meter, args: &[Val]) -> Result {
    /// So many bytes take as long as looking at a value.
    const BYTES_PER_VISIT: usize = 4;
    let text = args::text(args, 0)?;
    meter.visit_items(text.len() / BYTES_PER_VISIT)?;
    meter.make(text.len())?;
    let parsed = yaml::parse_value(text).map_err(|error| {
        // Without the line itself, which may contain a secret.
        EvalError::failed(format!("error converting YAML to JSON: {}: {}", error.position(), error.message()))
    })?;
    Ok(Val::from_json(&parsed, Numbers::Doubles))
}

/// A text as a gzip file.
fn compress(meter: &mut Meter, args: &[Val]) -> Result {
    /// Earlier places are looked at for each byte.
    const VISITS_PER_BYTE: usize = 3;
    let text = native_text(args)?;
    meter.visit_items(text.len().saturating_mul(VISITS_PER_BYTE))?;
    meter.make(text.len())?;
    Ok(Val::Bytes(gzip::compress(text.as_bytes()).into()))
}

/// The text that Go's value of an argument has: of texts, and of values of libraries that are written as texts.
fn native_text(args: &[Val]) -> std::result::Result<Cow<'_, str>, EvalError> {
    let Some(Val::Opaque(value)) = args.first() else {
        return args::text(args, 0).map(|text| Cow::from(&**text));
    };
    match &**value {
        Opaque::Quantity(quantity) | Opaque::ComputedQuantity(quantity) => Ok(quantity.to_string().into()),
        Opaque::Ip(address) => Ok(address.to_string().into()),
        Opaque::Cidr(network) => Ok(network.to_string().into()),
        Opaque::Url(url) => Ok(url.text().into()),
        _ => Err(EvalError::no_overload()),
    }
}

/// Bytes that are no UTF-8 become replacement characters.
fn decompress(meter: &mut Meter, args: &[Val]) -> Result {
    const CHUNK_BYTES: usize = 16 * 1024;
    let Some(Val::Bytes(compressed)) = args.first() else { return Err(EvalError::no_overload()) };
    let mut decoder = MultiGzDecoder::new(&**compressed);
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; CHUNK_BYTES]);
    loop {
        let read = decoder.read(&mut chunk).map_err(|error| EvalError::failed(format!("gzip: {error}")))?;
        if read == 0 {
            break;
        }
        meter.make(read)?;
        bytes.extend_from_slice(&chunk[..read]);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(Val::string(text))
}
