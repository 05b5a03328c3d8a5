//! Which paths of an object a JSON patch reads and writes.

use crate::policy::classic::variable_checks::MAX_NESTING;
use crate::value::{PathSet, Step, Value, unescaped_token};
use crate::variables::replace_variables;
use crate::yaml;

/// In place of the index of a loop.
const INDEX: &str = "kyv-index";
/// In place of other variables.
pub(in crate::policy::classic) const UNKNOWN: &str = "kyv-variable";

/// More indexes in one path than this are not followed.
const MAX_INDEXES: usize = 4;

/// Adds the paths of a patch, a text or a list, with its variables. `None` if they are not known. The values of
/// variables count as texts without syntax of their own.
pub(super) fn paths(patch: &Value, reads: &mut PathSet, writes: &mut PathSet) -> Option<()> {
    operations(patch)?.iter().try_for_each(|operation| {
        let text = |name| with_marks(operation.get(name)?.as_str()?);
        let (op, path) = (text("op")?, text("path")?);
        // These create missing parents, or do the same without them; a number may create a list or a map.
        let is_alike = matches!(&*op, "add" | "remove" | "replace")
            && !path.split('/').skip(1).any(|token| token.is_empty() || is_index(token));
        for path in [Some(path.clone()).filter(|_| !is_alike), text("from")].into_iter().flatten() {
            insert_parents(&path, reads)?;
        }
        match op.as_str() {
            "add" => write(&path, true, writes),
            "remove" => write(&path, true, writes),
            "replace" => {
                write(&path, false, writes)?;
                insert(&path, reads)
            }
            "test" => insert(&path, reads),
            "move" => {
                let from = text("from")?;
                insert(&from, reads)?;
                write(&from, true, writes)?;
                write(&path, true, writes)
            }
            "copy" => {
                insert(&text("from")?, reads)?;
                write(&path, true, writes)
            }
            _ => None,
        }
    })
}

/// The operations of a patch, a text or a list, with marks in place of its variables. `None` if they are not known.
pub(in crate::policy::classic) fn operations(patch: &Value) -> Option<Vec<Value>> {
    match patch {
        Value::String(text) => {
            let text = with_marks(text)?;
            // Texts in brackets that are not JSON are YAML.
            let read = Value::from_json(&text).ok().or_else(|| yaml::parse_value(&text).ok())?;
            Some(read.as_array()?.to_vec())
        }
        other => Some(other.as_array()?.to_vec()),
    }
}

/// A text with marks in place of its variables.
fn with_marks(text: &str) -> Option<String> {
    let mark = |expression: &str| {
        let number = expression.strip_prefix("elementIndex");
        let is_index = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        if is_index { INDEX } else { UNKNOWN }.to_owned()
    };
    let mut marked = text.to_owned();
    for _ in 0..MAX_NESTING {
        match replace_variables(&marked, mark) {
            Some(next) => marked = next,
            None => return Some(marked),
        }
    }
    None
}

/// Adds a path that is written. An element that comes or goes moves the others.
fn write(path: &str, moves_others: bool, writes: &mut PathSet) -> Option<()> {
    let is_element = path.rsplit('/').next().is_some_and(is_index);
    match path.rsplit_once('/').filter(|_| is_element && moves_others) {
        Some((list, _)) => insert(list, writes),
        None => insert(path, writes),
    }
}

/// Adds a path up to the first token that is not known.
fn insert(path: &str, set: &mut PathSet) -> Option<()> {
    known(path)?.iter().for_each(|path| set.insert(path));
    Some(())
}

/// Adds what is above a path.
fn insert_parents(path: &str, set: &mut PathSet) -> Option<()> {
    known(path)?.iter().for_each(|path| set.insert_parents(path));
    Some(())
}

/// The paths that a path may stand for, up to the first token that is not known.
fn known(path: &str) -> Option<Vec<Vec<Step>>> {
    if !path.is_empty() && !path.starts_with('/') {
        return None;
    }
    let mut paths = vec![Vec::new()];
    let mut indexes = 0;
    for token in path.split('/').skip(1) {
        indexes += usize::from(is_index(token));
        if token.contains(UNKNOWN) || indexes > MAX_INDEXES || token.contains(INDEX) && token != INDEX {
            break;
        }
        let key = Step::Key(unescaped_token(token).into());
        // An index is a key of a map.
        let as_elements = paths.iter().filter(|_| is_index(token)).map(|path| below(path, &Step::Elements));
        let as_keys = paths.iter().filter(|_| token != INDEX).map(|path| below(path, &key));
        paths = as_elements.chain(as_keys).collect();
    }
    Some(paths)
}

fn below(path: &[Step], step: &Step) -> Vec<Step> {
    path.iter().chain([step]).cloned().collect()
}

/// Whether a token may be the index of a list.
fn is_index(token: &str) -> bool {
    token == INDEX || token == "-" || token.parse::<i64>().is_ok()
}
