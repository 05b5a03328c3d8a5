//! Functions that encode, decode and hash text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::jmespath::base64::decoded;
use crate::jmespath::error::EvalError;
use crate::jmespath::x509;
use crate::value::{JsonReader, Value};
use crate::yaml;

use super::signature::STRING;
use super::{Function, Invocation};

type Answer = Result<Value, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::own("base64_decode", &[STRING], "string", "the text that Base64 stands for", base64_decode),
    Function::own("base64_encode", &[STRING], "string", "a text in Base64", |call| {
        call.runtime().allow_bytes(call.text(0).len())?;
        call.text_result(STANDARD.encode(call.text(0)))
    }),
    Function::own("md5", &[STRING], "string", "the MD5 hash of a text, in hexadecimal digits", hash::<Md5>),
    Function::own("parse_json", &[STRING], "any", "the value that a text in JSON stands for", parse_json),
    Function::own("parse_yaml", &[STRING], "any", "the value that a text in YAML stands for", parse_yaml),
    Function::own(
        "sha1",
        &[STRING],
        "string",
        "the SHA-1 hash of a text, in hexadecimal digits",
        hash::<Sha1>,
    ),
    Function::own(
        "sha256",
        &[STRING],
        "string",
        "the SHA-256 hash of a text, in hexadecimal digits",
        hash::<Sha256>,
    ),
    Function::own(
        "x509_decode",
        &[STRING],
        "object",
        "a certificate or certificate request in PEM as an object",
        |call| {
            call.runtime().allow_bytes(call.text(0).len())?;
            let decoded = x509::decode(call.text(0)).map_err(|why| call.fail_plainly(why))?;
            call.runtime().allow(decoded)
        },
    ),
];

fn hash<D: Digest>(call: &Invocation<'_>) -> Answer {
    call.runtime().spend_for(call.text(0).len())?;
    let digest = D::digest(call.text(0));
    call.text_result(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn parse_json(call: &Invocation<'_>) -> Answer {
    call.runtime().allow_bytes(call.text(0).len())?;
    // Of members with one name the last wins, as for Go's decoder.
    JsonReader::new(call.text(0)).last_wins().read().map_err(|error| call.fail_plainly(error))
}

/// Only the first document counts.
fn parse_yaml(call: &Invocation<'_>) -> Answer {
    call.runtime().allow_bytes(call.text(0).len())?;
    let parsed = yaml::parse_value(call.text(0)).map_err(|error| {
        // Without the line itself, which may hold a secret.
        call.fail_plainly(format_args!("yaml: {}: {}", error.position(), error.message()))
    })?;
    call.runtime().allow(parsed)
}

fn base64_decode(call: &Invocation<'_>) -> Answer {
    call.runtime().allow_bytes(call.text(0).len())?;
    let bytes = decoded(call.text(0).as_bytes())
        .map_err(|offset| call.fail_plainly(format_args!("illegal base64 data at input byte {offset}")))?;
    call.text_result(text(&bytes))
}

/// Bytes as text; each that is no part of a character becomes a replacement character.
fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::jmespath::testing::{check, search};
    use crate::value::Value;

    #[test]
    fn text_in_yaml_and_json_is_parsed() {
        let yaml = |text: &str| search(&Value::from(text).to_json(), "parse_yaml(@)");
        for (text, expected) in [
            ("- a: 1\n- b: {c: d}", r#"[{"a":1},{"b":{"c":"d"}}]"#),
            ("a: >\n  b\n  c\n", r#"{"a":"b c\n"}"#),
            ("---\n~", "null"),
            ("a: &x [1]\nb: *x", r#"{"a":[1],"b":[1]}"#),
        ] {
            assert_eq!(yaml(text), expected, "{text}");
        }
        assert!(yaml("a: [secret").starts_with("error: yaml: 1:4: "));
        assert!(!yaml("a: [secret").contains("secret"));
        check(&[
            ("parse_json('{\"a\":1,\"a\":2}')", r#"{"a":2}"#),
            ("parse_json('')", "error: unexpected end of JSON input"),
            ("parse_json('1e999')", "error: "),
        ]);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(search("null", "base64_decode('/4HigqM=')"), "\"\u{fffd}\u{fffd}₣\"");
    }
}
