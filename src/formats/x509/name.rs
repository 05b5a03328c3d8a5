//! Names of subjects and issuers.

use x509_parser::x509::X509Name;

use crate::value::Value;

use super::{X509Error, arcs, list, numbers, object};

pub(super) fn object_of(name: &X509Name<'_>) -> Result<Value, X509Error> {
    let mut names = Vec::new();
    let mut lists: [Vec<Value>; 7] = Default::default();
    let (mut common_name, mut serial_number) = (Value::from(""), Value::from(""));
    for attribute in name.iter_attributes() {
        let kind = arcs(attribute.attr_type());
        let value = attribute.attr_value();
        let text = Value::from(text(value.header.tag().0, value.data)?);
        match kind.as_slice() {
            [2, 5, 4, 3] => common_name = text.clone(),
            [2, 5, 4, 5] => serial_number = text.clone(),
            [2, 5, 4, last] => {
                let index = LISTS.iter().position(|(number, _)| number == last);
                if let Some(list) = index.and_then(|index| lists.get_mut(index)) {
                    list.push(text.clone());
                }
            }
            _ => {}
        }
        names.push(object([("Type", numbers(&kind)), ("Value", text)]));
    }
    let mut members: Vec<_> = LISTS.iter().zip(lists).map(|((_, key), items)| (*key, list(items))).collect();
    members.extend([
        ("CommonName", common_name),
        ("ExtraNames", Value::Null),
        ("Names", list(names)),
        ("SerialNumber", serial_number),
    ]);
    members.sort_by(|a, b| a.0.cmp(b.0));
    Ok(Value::from_iter(members))
}

/// The attributes that may occur several times, by the last number of their identifier.
const LISTS: [(u64, &str); 7] = [
    (6, "Country"),
    (7, "Locality"),
    (8, "Province"),
    (9, "StreetAddress"),
    (10, "Organization"),
    (11, "OrganizationalUnit"),
    (17, "PostalCode"),
];

/// Decodes an ASN.1 string.
fn text(tag: u32, data: &[u8]) -> Result<String, X509Error> {
    match tag {
        // UTF-8, numeric, printable, teletex, IA5
        12 | 18 | 19 | 20 | 22 => Ok(String::from_utf8_lossy(data).into_owned()),
        // BMP
        30 => {
            let units =
                data.chunks_exact(2).map(|pair| pair.iter().fold(0, |sum, byte| sum << 8 | u16::from(*byte)));
            let units: Vec<u16> = units.collect();
            Ok(String::from_utf16_lossy(&units).trim_end_matches('\0').to_owned())
        }
        _ => Err(X509Error::StringType(tag)),
    }
}
