//! Pages of lists whose objects are parsed when they are used.

use std::ops::Range;
use std::sync::Arc;

use crate::value::{GroupVersionKind, JsonReader, Text, Value};

use super::{ClusterError, ClusterResult, Page};

/// The longest object of a list. An API server stores a tenth of it at most.
const MAX_OBJECT_BYTES: usize = 16 << 20;

/// A page whose objects are parsed when they are used.
pub type ListedPage = Page<ListedObject>;

/// An object of a page: as JSON, which takes a tenth of the memory, or parsed.
#[derive(Clone, Debug)]
pub struct ListedObject(Content);

#[derive(Clone, Debug)]
enum Content {
    Parsed(Value),
    /// A range of a response.
    Json(Arc<Response>, Range<usize>),
}

/// The response with a page.
#[derive(Debug)]
struct Response {
    text: String,
    kind: GroupVersionKind,
    /// The request, for messages.
    asked: String,
}

impl Response {
    fn malformed(&self, cause: String) -> ClusterError {
        ClusterError::Malformed { asked: self.asked.clone(), cause }
    }
}

impl From<Value> for ListedObject {
    fn from(object: Value) -> Self {
        Self(Content::Parsed(object))
    }
}

impl ListedObject {
    /// The object, with its `apiVersion` and `kind`.
    ///
    /// # Errors
    ///
    /// A text that is no object.
    pub fn read(self) -> ClusterResult {
        let (response, place) = match self.0 {
            Content::Parsed(object) => return Ok(object),
            Content::Json(response, place) => (response, place),
        };
        let text = response.text.get(place).unwrap_or_default();
        if text.len() > MAX_OBJECT_BYTES {
            return Err(
                response.malformed(format!("one of its items is longer than {MAX_OBJECT_BYTES} bytes"))
            );
        }
        let object = Value::from_json(text).map_err(|error| response.malformed(error.to_string()))?;
        let object = with_kind(object, &response.kind);
        if !is_of_kind(&object, &response.kind) {
            return Err(response.malformed("one of its items is of another kind".into()));
        }
        Ok(object)
    }

    /// About how many bytes it takes as JSON.
    pub fn weight(&self) -> usize {
        match &self.0 {
            Content::Parsed(object) => object.weight(),
            Content::Json(_, place) => place.len(),
        }
    }
}

impl Page {
    /// The same page with objects that are parsed already.
    pub(super) fn listed(self) -> ListedPage {
        let Self { objects, next, is_inconsistent } = self;
        Page { objects: objects.into_iter().map(ListedObject::from).collect(), next, is_inconsistent }
    }
}

impl ListedPage {
    /// Splits the response to a list into its objects.
    ///
    /// # Errors
    ///
    /// A response that is no list.
    #[cfg_attr(
        not(any(feature = "cluster", test)),
        expect(dead_code, reason = "only a live cluster sends text")
    )]
    pub(super) fn of(text: String, kind: &GroupVersionKind, asked: String) -> ClusterResult<Self> {
        let read = JsonReader::new(&text).read_around("items");
        let response = Arc::new(Response { text, kind: kind.clone(), asked });
        let (list, places) = read.map_err(|error| response.malformed(error.to_string()))?;
        let next = list.path(&["metadata", "continue"]).and_then(Value::as_text);
        let next = next.filter(|token| !token.is_empty()).cloned();
        let places = match (places, list.get("items")) {
            (Some(places), _) => places,
            (None, Some(Value::Null)) => Vec::new(),
            (None, Some(other)) => {
                let cause = format!("expected items to be a list, found {}", other.type_name());
                return Err(response.malformed(cause));
            }
            (None, None) => return Err(response.malformed("it has no items".into())),
        };
        let is_object =
            |place: &Range<usize>| response.text.get(place.clone()).is_some_and(|item| item.starts_with('{'));
        if !places.iter().all(is_object) {
            return Err(response.malformed("one of its items is no object".into()));
        }
        let objects = places
            .into_iter()
            .map(|place| ListedObject(Content::Json(Arc::clone(&response), place)))
            .collect();
        Ok(Self { objects, next, is_inconsistent: false })
    }

    /// The page with all its objects.
    ///
    /// # Errors
    ///
    /// A text that is no object.
    pub fn read(self) -> ClusterResult<Page> {
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

    fn page(text: &str) -> ClusterResult<Page> {
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
    fn a_response_that_is_no_list_is_an_error() {
        for (text, cause) in [
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
            let cause = ClusterError::Malformed { asked: "pods".into(), cause: cause.into() };
            assert_eq!(error.unwrap_err(), cause, "{text}");
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
            let cause = "one of its items is of another kind".into();
            assert_eq!(
                list.unwrap().read().unwrap_err(),
                ClusterError::Malformed { asked: "pods".into(), cause },
                "{item}"
            );
        }
        let deep = format!(r#"{{"items":[{}{}]}}"#, "[".repeat(300), "]".repeat(300));
        assert!(page(&deep).is_err());
    }
}
