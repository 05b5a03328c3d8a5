//! The metadata of images.
//!
//! CEL has the parts of the reference and the digest. Of the manifest and the configuration it leaves out what is empty and
//! what it does not know, so that a field that is there for the classic rule may be missing.

use crate::convert::cel_text::{Cel, concatenation};
use crate::convert::path::Path;
use crate::convert::ty::Ty;
use crate::convert::val::Val;

/// A field of the metadata.
///
/// # Errors
///
/// Why CEL does not have the same.
pub(super) fn field<'a>(data: &Path<'a>, is_tagged: bool, name: &str) -> Result<Val<'a>, &'static str> {
    let word = |name: &str| {
        let mut path = data.member(name);
        path.ty = Ty::WORD;
        Val::path(path)
    };
    match name {
        "image" | "registry" | "repository" => Ok(word(name)),
        "identifier" if is_tagged => Ok(word("tag")),
        "identifier" => {
            Err("of a reference with a tag and a digest it has both, and a field of CEL only the digest")
        }
        "resolvedImage" => Ok(Val::failing(resolved(data.strict()), Ty::WORD, true)),
        "manifest" | "manifestList" | "configData" => {
            Err("CEL leaves out what is empty there, and what it does not know")
        }
        _ => Err("there is no such field"),
    }
}

/// The image by its digest; the field of this name has the tag in CEL, too.
fn resolved(data: Cel) -> Cel {
    let of = |data: Cel| {
        let field = |name: &str| data.clone().member(name);
        concatenation(vec![
            field("registry"),
            Cel::text("/"),
            field("repository"),
            Cel::text("@"),
            field("digest"),
        ])
    };
    match data {
        // It is looked up once.
        Cel::Call { .. } => {
            let name = Cel::atom("metadata");
            Cel::List(vec![data]).call("map", [name.clone(), of(name)]).index(Cel::int(0))
        }
        data => of(data),
    }
}
