//! Functions that encode, decode and hash text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::formats::base64::decoded;
use crate::formats::x509;
use crate::jmespath::error::SearchResult;
use crate::value::JsonReader;
use crate::yaml;

use super::signature::STRING;
use super::{Function, Invocation};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::own("base64_decode", &[STRING], "string", base64_decode).describe("the decoded text of Base64"),
    Function::own("base64_encode", &[STRING], "string", |call| {
        call.runtime.allow_bytes(call.text(0).len())?;
        call.text_result(STANDARD.encode(call.text(0)))
    })
    .describe("a text in Base64"),
    Function::own("md5", &[STRING], "string", hash::<Md5>)
        .describe("the MD5 hash of a text, in hexadecimal digits"),
    Function::own("parse_json", &[STRING], "any", parse_json).describe("the value of a text in JSON"),
    Function::own("parse_yaml", &[STRING], "any", parse_yaml).describe("the value of a text in YAML"),
    Function::own("sha1", &[STRING], "string", hash::<Sha1>)
        .describe("the SHA-1 hash of a text, in hexadecimal digits"),
    Function::own("sha256", &[STRING], "string", hash::<Sha256>)
        .describe("the SHA-256 hash of a text, in hexadecimal digits"),
    Function::own("x509_decode", &[STRING], "object", |call| {
        call.runtime.allow_bytes(call.text(0).len())?;
        let decoded = x509::decode(call.text(0), x509::Shape::All).map_err(|why| call.fail_plainly(why))?;
        call.runtime.allow(decoded)
    })
    .describe("a certificate or certificate request in PEM as an object"),
];

fn hash<D: Digest>(call: &Invocation<'_>) -> SearchResult {
    call.runtime.spend_for(call.text(0).len())?;
    let digest = D::digest(call.text(0));
    call.text_result(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn parse_json(call: &Invocation<'_>) -> SearchResult {
    call.runtime.allow_bytes(call.text(0).len())?;
    // Of equal keys the last wins, as in Go.
    JsonReader::new(call.text(0)).last_wins().read().map_err(|error| call.fail_plainly(error))
}

/// Only the first document is parsed.
fn parse_yaml(call: &Invocation<'_>) -> SearchResult {
    call.runtime.allow_bytes(call.text(0).len())?;
    let parsed = yaml::parse_value(call.text(0)).map_err(|error| {
        // Without the line itself, which may contain a secret.
        call.fail_plainly(format_args!("yaml: {}: {}", error.position(), error.message()))
    })?;
    call.runtime.allow(parsed)
}

fn base64_decode(call: &Invocation<'_>) -> SearchResult {
    call.runtime.allow_bytes(call.text(0).len())?;
    let bytes = decoded(call.text(0).as_bytes())
        .map_err(|offset| call.fail_plainly(format_args!("illegal base64 data at input byte {offset}")))?;
    call.text_result(text(&bytes))
}

/// Bytes as text; each byte that is no UTF-8 becomes a replacement character.
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
    fn yaml_and_json_are_parsed() {
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
    fn invalid_bytes_are_replaced() {
        assert_eq!(search("null", "base64_decode('/4HigqM=')"), "\"\u{fffd}\u{fffd}₣\"");
    }
}
