//! The variable `images`: the parts of the image references of an object, as functions of texts.
//!
//! Kyverno's `image()` has other parts: it knows `index.docker.io`, and refuses some names.

use crate::convert::cel_text::{Cel, Operator};
use crate::convert::path::Path;
use crate::convert::ty::Ty;
use crate::convert::val::{Form, Val};

/// The lists of containers.
const LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// What an image begins with that names its registry.
const REGISTRY: &str = "^([^/]*[.:A-Z][^/]*|localhost)/";

/// A tag, if there is no digest behind it; with one, a part of it.
const TAG: &str = ":[^/]*$";

const DIGEST: &str = "@.*$";

/// What stands before the tag and the digest.
const NAME: &str = "^[^:@]*";

/// The registry of images that name none.
const DEFAULT_REGISTRY: &str = "docker.io";

/// The image of the container that a name is of, if the name is that of an element of a list of containers.
pub(super) fn of_element(name: &Val<'_>, list: &str) -> Option<Cel> {
    let Form::Path(path) = &name.form else { return None };
    match path.names() {
        [.., spec, own, last] if spec == "spec" && own == list && last == "name" && LISTS.contains(&list) => {
            path.beside("image")
        }
        _ => None,
    }
}

/// A part of the image of the container with a name, if `spec` has such a list and images have such a part.
pub(super) fn of_container<'a>(spec: &Path<'a>, list: &str, name: &str, part: &str) -> Option<Val<'a>> {
    if !LISTS.contains(&list) {
        return None;
    }
    let containers = spec.member(list).or(Cel::List(Vec::new()));
    let variable = || Cel::atom("c");
    let is_named = variable().member("name").equals(Cel::text(name));
    let (cel, soft) = text(&variable().member("image"), part)?;
    let found = containers.clone().call("filter", [variable(), is_named.clone()]);
    let cel = found.call("map", [variable(), cel]).index(Cel::int(0));
    let soft = containers.call("exists", [variable(), Cel::all(vec![is_named, soft])]);
    Some(Val { form: Form::Missing { cel, soft }, ty: Ty::WORD })
}

/// A part of an image reference, if references have such a part.
pub(super) fn part<'a>(image: &Cel, part: &str) -> Option<Val<'a>> {
    let (cel, soft) = text(image, part)?;
    Some(Val { form: Form::Missing { cel, soft }, ty: Ty::WORD })
}

/// A part of an image reference, and whether it is there.
fn text(image: &Cel, part: &str) -> Option<(Cel, Cel)> {
    let image = || image.clone();
    let find = |text: Cel, pattern: &str| text.call("find", [Cel::text(pattern)]);
    let behind = |text: Cel| text.call("substring", [Cel::int(1)]);
    let matches = |text: Cel, pattern: &str| text.call("matches", [Cel::text(pattern)]);
    let before_digest = || image().call("split", [Cel::text("@")]).index(Cel::int(0));
    let has_registry = || matches(image(), REGISTRY);
    let has_digest = || image().call("contains", [Cel::text("@")]);
    let has_tag = || matches(before_digest(), TAG);
    let registry = || Cel::if_else(has_registry(), find(image(), "^[^/]*"), Cel::text(DEFAULT_REGISTRY));
    let path = || find(Cel::if_else(has_registry(), behind(find(image(), "/.*$")), image()), NAME);
    // With a digest and no tag it is missing, and nothing is behind the mark.
    let tag = || {
        let written = behind(find(before_digest(), TAG));
        Cel::if_else(matches(image(), TAG), written, Cel::text("latest"))
    };
    let join = |parts: Vec<Cel>| Cel::Chain { operator: Operator::Plus, operands: parts };
    let always = Cel::bool(true);
    Some(match part {
        "registry" => (registry(), always),
        "path" => (path(), always),
        "name" => (find(find(image(), "[^/]*$"), NAME), always),
        "tag" => (tag(), Cel::any(vec![has_tag(), has_digest().negated()])),
        "digest" => (behind(find(image(), DIGEST)), has_digest()),
        "reference" => {
            let end = Cel::if_else(has_digest(), find(image(), DIGEST), join(vec![Cel::text(":"), tag()]));
            (join(vec![registry(), Cel::text("/"), path(), end]), always)
        }
        "referenceWithTag" => {
            let tag = Cel::if_else(Cel::any(vec![has_tag(), has_digest().negated()]), tag(), Cel::text(""));
            (join(vec![registry(), Cel::text("/"), path(), Cel::text(":"), tag]), always)
        }
        _ => return None,
    })
}
