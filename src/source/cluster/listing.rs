//! Pages of lists whose objects are parsed when they are evaluated.

use std::ops::Range;
use std::sync::Arc;

use crate::value::{GroupVersionKind, JsonReader, Text, Value};

use super::{ClusterError, Page};

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub struct ListedPage {
    /// Its objects.
    pub objects: Vec<ListedObject>,
    /// The continue token of the next page; `None` on the last.
    pub next: Option<Text>,
    /// See [`Page::is_inconsistent`].
    pub is_inconsistent: bool,
}

/// An object of a page: as JSON, which takes a tenth of the memory, or parsed already.
#[derive(Clone, Debug)]
pub struct ListedObject(Form);

#[derive(Clone, Debug)]
enum Form {
    Read(Value),
    Sent(Arc<Sent>, Range<usize>),
}

/// The answer that holds a page.
#[derive(Debug)]
struct Sent {
    text: String,
    kind: GroupVersionKind,
    /// The request, for messages.
    asked: String,
}

impl Sent {
    fn malformed(&self, fault: String) -> ClusterError {
        ClusterError::Malformed { asked: self.asked.clone(), fault }
    }
}

impl From<Value> for ListedObject {
    fn from(object: Value) -> Self {
        Self(Form::Read(object))
    }
}

impl ListedObject {
    /// The object, with its `apiVersion` and `kind`.
    ///
    /// # Errors
    ///
    /// A text that is no object.
    pub fn read(self) -> Result<Value, ClusterError> {
        let (sent, place) = match self.0 {
            Form::Read(object) => return Ok(object),
            Form::Sent(sent, place) => (sent, place),
        };
        let text = sent.text.get(place).unwrap_or_default();
        let object = Value::from_json(text).map_err(|error| sent.malformed(error.to_string()))?;
        let object = with_kind(object, &sent.kind);
        if !is_of_kind(&object, &sent.kind) {
            return Err(sent.malformed("one of its items is of another kind".into()));
        }
        Ok(object)
    }

    /// About how many bytes it takes as JSON.
    pub fn weight(&self) -> usize {
        match &self.0 {
            Form::Read(object) => object.weight(),
            Form::Sent(_, place) => place.len(),
        }
    }
}

impl From<Page> for ListedPage {
    fn from(page: Page) -> Self {
        let Page { objects, next, is_inconsistent } = page;
        Self { objects: objects.into_iter().map(ListedObject::from).collect(), next, is_inconsistent }
    }
}

impl ListedPage {
    /// Splits the answer of a list into its objects.
    ///
    /// # Errors
    ///
    /// An answer that is no list.
    #[cfg_attr(
        not(any(feature = "cluster", test)),
        expect(dead_code, reason = "only a live cluster sends text")
    )]
    pub(super) fn of(text: String, kind: &GroupVersionKind, asked: String) -> Result<Self, ClusterError> {
        let read = JsonReader::new(&text).read_around("items");
        let sent = Arc::new(Sent { text, kind: kind.clone(), asked });
        let (list, places) = read.map_err(|error| sent.malformed(error.to_string()))?;
        let next = list.path(&["metadata", "continue"]).and_then(Value::as_text);
        let next = next.filter(|token| !token.is_empty()).cloned();
        let places = match (places, list.get("items")) {
            (Some(places), _) => places,
            (None, Some(Value::Null)) => Vec::new(),
            (None, Some(other)) => {
                let fault = format!("expected items to be a list, found {}", other.type_name());
                return Err(sent.malformed(fault));
            }
            (None, None) => return Err(sent.malformed("it has no items".into())),
        };
        let is_object =
            |place: &Range<usize>| sent.text.get(place.clone()).is_some_and(|item| item.starts_with('{'));
        if !places.iter().all(is_object) {
            return Err(sent.malformed("one of its items is no object".into()));
        }
        let objects =
            places.into_iter().map(|place| ListedObject(Form::Sent(Arc::clone(&sent), place))).collect();
        Ok(Self { objects, next, is_inconsistent: false })
    }

    /// The page with all its objects.
    ///
    /// # Errors
    ///
    /// A text that is no object.
    pub fn read(self) -> Result<Page, ClusterError> {
        let Self { objects, next, is_inconsistent } = self;
        let objects = objects.into_iter().map(ListedObject::read).collect::<Result<_, _>>()?;
        Ok(Page { objects, next, is_inconsistent })
    }
}

/// Whether an object is of a kind, in whatever version.
pub(super) fn is_of_kind(object: &Value, kind: &GroupVersionKind) -> bool {
    GroupVersionKind::of(object).is_some_and(|own| own.group == kind.group && own.kind == kind.kind)
}

/// An object with its `apiVersion` and `kind` in front; the elements of a list lack them.
pub(super) fn with_kind(object: Value, kind: &GroupVersionKind) -> Value {
    let Some(members) = object.as_object() else { return object };
    let own =
        |key: &str, other: Text| (Text::from(key), members.get(key).cloned().unwrap_or(Value::String(other)));
    [own("apiVersion", kind.api_version().into()), own("kind", kind.kind.clone())]
        .into_iter()
        .chain(
            members
                .iter()
                .filter(|(key, _)| !matches!(&***key, "apiVersion" | "kind"))
                .map(|(key, value)| (key.clone(), value.clone())),
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Result<Page, ClusterError> {
        let kind = GroupVersionKind::new("v1", "Pod");
        ListedPage::of(text.to_owned(), &kind, "pods".into())?.read()
    }

    #[test]
    fn elements_of_a_list_get_their_kind_in_front() {
        let text =
            r#"{"kind":"PodList","metadata":{"continue":"x"},"items":[{"metadata":{"name":"a"}} , {}]}"#;
        let read = page(text).unwrap();
        assert_eq!(read.next.as_deref(), Some("x"));
        assert_eq!(read.objects[0].to_json(), r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#);
        assert_eq!(read.objects[1].to_json(), r#"{"apiVersion":"v1","kind":"Pod"}"#);
        let read = page(r#"{"metadata":{"continue":""},"items":null}"#).unwrap();
        assert_eq!((read.next, read.objects.len()), (None, 0));
    }

    #[test]
    fn an_answer_that_is_no_list_is_an_error_before_anything_of_it_is_taken() {
        for (text, fault) in [
            ("{}", "it has no items"),
            ("[]", "it has no items"),
            ("<html>", "expected a JSON value"),
            (r#"{"items":[1,"x",null]}"#, "one of its items is no object"),
            (r#"{"items":[{"a":1}, []]}"#, "one of its items is no object"),
            (r#"{"items":{}}"#, "expected items to be a list, found object"),
            (r#"{"items":[{"a":1},{"a":}]}"#, "expected a JSON value"),
            (r#"{"items":[{"a":1},]}"#, "expected a JSON value"),
            (r#"{"items":[{"a":[1 2]}]}"#, "expected `,` or `]`"),
            (r#"{"items":[{"a":1}"#, "expected `,` or `]`"),
            (r#"{"items":[{"a" 1}]}"#, "expected `:` after the key"),
        ] {
            let error = ListedPage::of(text.to_owned(), &GroupVersionKind::new("v1", "Pod"), "pods".into());
            let fault = ClusterError::Malformed { asked: "pods".into(), fault: fault.into() };
            assert_eq!(error.unwrap_err(), fault, "{text}");
        }
        for item in [
            r#"{"kind":"Status"}"#,
            r#"{"apiVersion":"apps/v1","kind":"Pod"}"#,
            r#"{"apiVersion":1,"kind":"Pod"}"#,
        ] {
            let list = ListedPage::of(
                format!(r#"{{"items":[{{}},{item}]}}"#),
                &GroupVersionKind::new("v1", "Pod"),
                "pods".into(),
            );
            let fault = "one of its items is of another kind".into();
            assert_eq!(
                list.unwrap().read().unwrap_err(),
                ClusterError::Malformed { asked: "pods".into(), fault },
                "{item}"
            );
        }
        let deep = format!(r#"{{"items":[{}{}]}}"#, "[".repeat(300), "]".repeat(300));
        assert!(page(&deep).is_err());
    }
}
