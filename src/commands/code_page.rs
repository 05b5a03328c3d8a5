//! `explain KYV012`: the page on a diagnostic or a divergence.

use std::ffi::OsString;

use crate::diagnostics::Code;
use crate::pattern::nearest;

use super::exit::Exit;
use super::options::RunOptions;
use super::session::on_threads;
use super::version::print;

macro_rules! divergence_pages {
    ($($number:literal)*) => {
        /// The names of divergences with their pages.
        const DIVERGENCES: &[(&str, &str)] = &[$((
            concat!("KYV-D", stringify!($number)),
            include_str!(concat!("../../docs/divergences/KYV-D", stringify!($number), ".md")),
        ),)*];
    };
}

divergence_pages! {
    01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20
    21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 40 41
    42 43 44 45 46 47 48 50 55 56 57 65 70 71 72 73 74 75 76 77 78 79 80 81 82
}

/// The codes on the command line, if it is `explain` and nothing but codes: a policy file is named with `-p`.
pub(super) fn codes(arguments: &[OsString]) -> Option<Vec<&str>> {
    let (_, words) = arguments.split_first()?;
    let (command, words) = words.split_first()?;
    let codes: Option<Vec<&str>> =
        words.iter().map(|word| word.to_str().filter(|word| is_code(word))).collect();
    codes.filter(|codes| command == "explain" && !codes.is_empty())
}

/// Whether a word has the form of a code: `KYV012`, `KYV-D16`.
fn is_code(word: &str) -> bool {
    let upper = word.to_ascii_uppercase();
    let number = upper.strip_prefix("KYV").map(|rest| rest.strip_prefix("-D").unwrap_or(rest));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Prints the pages of codes.
pub(super) fn run(codes: &[&str]) -> Exit {
    let unknown: Vec<&str> = codes.iter().copied().filter(|code| page(code).is_none()).collect();
    if unknown.is_empty() {
        let pages: Vec<String> = codes.iter().filter_map(|code| page(code)).map(without_comments).collect();
        return print(&pages.join("\n"));
    }
    on_threads(&RunOptions::default(), |reporter| {
        for code in unknown {
            let meant = nearest(&code.to_ascii_uppercase(), names());
            let meant = meant.map_or_else(String::new, |meant| format!(", did you mean {meant}?"));
            let message = format!("no diagnostic has the code {code}{meant}");
            reporter.error(Exit::Input, Code::NameWithoutMatch, message);
        }
    })
}

/// A page without its HTML comments, which are for tests.
fn without_comments(page: &str) -> String {
    page.split_inclusive('\n').filter(|line| !line.starts_with("<!-- ")).collect()
}

/// The names of all codes.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let divergences = DIVERGENCES.iter().map(|(name, _)| *name);
    Code::ALL.into_iter().map(Code::name).chain(divergences)
}

fn page(name: &str) -> Option<&'static str> {
    let divergence = || DIVERGENCES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    Code::named(name).map(Code::page).or_else(|| divergence().map(|(_, page)| *page))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::Divergence;

    #[test]
    fn every_code_and_divergence_has_its_page() {
        for name in names().map(str::to_owned).chain(Divergence::ALL.iter().map(ToString::to_string)) {
            let page = page(&name.to_ascii_lowercase()).unwrap_or_default();
            assert!(page.starts_with(&format!("# {name}: ")), "{name}: {page}");
        }
    }

    #[test]
    fn only_codes_alone_are_codes() {
        let found = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            codes(&words).map(|codes| codes.len())
        };
        assert_eq!(found(&["kyv", "explain", "KYV012", "kyv-d16"]), Some(2));
        for other in [
            &["kyv", "explain"][..],
            &["kyv", "diff", "KYV012"],
            &["kyv", "explain", "-p", "KYV012"],
            &["kyv", "explain", "kyv.yaml"],
        ] {
            assert_eq!(found(other), None, "{other:?}");
        }
    }
}
