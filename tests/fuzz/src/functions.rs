//! ResourceLists: the response has the items that it should have, and everything else as it came.

use kyv::krm::{
    FunctionConfig, FunctionResult, ItemOutcome, ItemTexts, ResourceList, Response, duplicates, is_resource,
    item_errors, write_response,
};
use kyv::value::{MAX_DEPTH, Value};
use kyv::yaml::Document;

use super::edits;
use super::input::{Choices, Input};
use super::values;

const LISTS: &[&str] = &[
    include_str!("rich-list.yaml"),
    "{\"apiVersion\": \"config.kubernetes.io/v1\", \"kind\": \"ResourceList\", \"items\": [{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\"}}]}",
    "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, {kind: b}]\n",
];

/// Checks one input.
pub fn run(data: &[u8]) {
    match Input::new(data) {
        Input::Text(parts) => {
            if let Some((document, value)) = edits::value(parts.at(0)) {
                check(&document, &value, &mut Choices::of(parts.at(1).as_bytes()));
            }
        }
        Input::Choices(mut choices) => {
            let Some((document, value)) = edits::value(LISTS[choices.below(LISTS.len())]) else { return };
            let changed = values::edited(value, &mut choices);
            if changed.depth() > MAX_DEPTH / 2 {
                return;
            }
            // The list in the layout of the text that it came from.
            if let Some((document, value)) = edits::value(&document.edited(&changed).text) {
                check(&document, &value, &mut choices);
            }
        }
    }
}

fn check(document: &Document, value: &Value, choices: &mut Choices<'_>) {
    if value.depth() > MAX_DEPTH / 2 {
        return;
    }
    let list = match ResourceList::from_value(value) {
        Ok(list) => list,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    if let Err(faults) = FunctionConfig::from_value(&list.function_config) {
        assert!(!faults.is_empty(), "a configuration is refused without a reason");
        assert!(faults.iter().all(|fault| !fault.to_string().is_empty()));
    }
    let items: Vec<&Value> = list.items.iter().collect();
    let label = |index: usize| format!("items[{index}]");
    assert_eq!(
        item_errors(&items, &list.function_config, &label),
        item_errors(&items, &list.function_config, &label)
    );
    assert!(duplicates(&items).iter().all(|index| *index < items.len()));
    let texts = ItemTexts::of(document);
    let mut expected = Vec::new();
    let outcomes = list.items.iter().enumerate().map(|(index, item)| {
        let _ = is_resource(item, &list.function_config);
        match choices.below(4) {
            1 => {
                let mut became = item.clone();
                became.insert("changed", Value::from(true));
                let text = texts.edited(index, item, &became);
                expected.push(became);
                ItemOutcome::Replaced(text)
            }
            2 => ItemOutcome::Dropped,
            _ => {
                expected.push(item.clone());
                ItemOutcome::Kept
            }
        }
    });
    let items: Vec<ItemOutcome> = outcomes.collect();
    let result = FunctionResult::failure(("KYV000", "a message: with a colon\nand two lines"));
    let response = Response { items, added: Vec::new(), results: vec![result] };
    let mut out = Vec::new();
    write_response(&texts, &list, &response, &mut out).expect("memory takes everything");
    let text = String::from_utf8(out).expect("a response is text");
    let Some((_, answer)) = edits::value(&text) else { panic!("the response is not read:\n{text}") };
    let answer = ResourceList::from_value(&answer).expect("the response is a list");
    assert_eq!(answer.items, expected, "other items:\n{text}");
    assert_eq!(answer.function_config, list.function_config);
    assert_eq!(answer.api_version, list.api_version);
    assert_eq!(answer.results.len(), list.results.len() + 1);
    assert_eq!(answer.results[..list.results.len()], list.results);
}
