//! Responses to server dry runs, without values of Secrets.

use crate::secrets::{MASK, TaintedTexts, is_secret, mask_server_fields};
use crate::source::cluster::DryRunRequest;
use crate::value::{Text, Value};

/// Masks what the server would store. Values that are equal to what was sent get its mask, others never have an equal
/// mask.
pub(super) fn masked(stored: &Value, request: &DryRunRequest<'_>, texts: &TaintedTexts) -> Value {
    let stored = mask_server_fields(request.object, stored);
    let mut masked = texts.redacted_object(&stored);
    if is_secret(&stored)
        && let Some(members) = masked.as_object_mut()
    {
        for field in ["data", "stringData"] {
            if let Some(values) = members.get_mut(field).and_then(Value::as_object_mut) {
                values.values_mut().for_each(|value| *value = MASK.into());
            }
        }
    }
    compared(&stored, &masked, (request.object, request.shown))
}

fn compared(stored: &Value, masked: &Value, (sent, shown): (&Value, &Value)) -> Value {
    if stored == sent {
        return shown.clone();
    }
    match (stored, masked, sent, shown) {
        (Value::Object(stored), Value::Object(masked), Value::Object(sent), Value::Object(shown))
            if stored.len() == masked.len() && sent.len() == shown.len() =>
        {
            let member = |((key, stored), (name, masked)): ((&Text, &Value), (&Text, &Value))| {
                let known = sent.get_full(key).and_then(|(at, _, sent)| Some((sent, shown.get_index(at)?.1)));
                (name.clone(), known.map_or_else(|| masked.clone(), |known| compared(stored, masked, known)))
            };
            stored.iter().zip(masked.iter()).map(member).collect()
        }
        _ if masked == shown && *masked != *stored => format!("{MASK}*").into(),
        _ => masked.clone(),
    }
}

/// Restores what was sent where the recorded response has its mask.
pub(super) fn unmasked(response: &Value, shown: &Value, sent: &Value) -> Value {
    if response == shown {
        return sent.clone();
    }
    let (Some(members), Some(shown), Some(sent)) =
        (response.as_object(), shown.as_object(), sent.as_object())
    else {
        return response.clone();
    };
    let member = |(key, value): (&Text, &Value)| {
        // A key may be masked, too.
        let known = shown.get_full(key).and_then(|(at, _, shown)| Some((shown, sent.get_index(at)?)));
        match known.filter(|_| shown.len() == sent.len()) {
            Some((shown, (key, sent))) => (key.clone(), unmasked(value, shown, sent)),
            None => (key.clone(), value.clone()),
        }
    };
    members.iter().map(member).collect()
}
