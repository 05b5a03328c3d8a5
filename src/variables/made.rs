//! Texts that secrets are written into, and what they would be if stand-ins were written in their place.

use crate::secrets::TaintTracker;
use crate::semantics::Semantics;
use crate::value::{Text, Value};

use super::scan;
use super::template::TextTemplate;

/// Whether a text was made of secrets, and the same text made of what stands in for them.
#[derive(Default)]
pub(super) struct Made {
    of_secrets: bool,
    /// Whether a part of it that is secret would not be found inside of it.
    is_hidden: bool,
    stand_in: Option<Text>,
    /// The round under way: the text that stands in, where it is another, what became of it, and how much was copied.
    template: Option<TextTemplate>,
    out: Option<String>,
    copied: usize,
}

impl Made {
    /// Begins a round; whether secrets were written into its text.
    pub(super) fn begin(&mut self, round: &TextTemplate, semantics: Semantics) -> bool {
        self.copied = 0;
        let is_known = !self.of_secrets || self.stand_in.is_some();
        self.template = self.stand_in.take().map(|text| TextTemplate::new(text, semantics));
        let is_alike = self.template.as_ref().is_none_or(|other| other.found.len() == round.found.len());
        self.out = (is_known && is_alike).then(String::new);
        self.of_secrets
    }

    /// Takes in the value of a variable of the round.
    pub(super) fn take(
        &mut self,
        index: usize,
        value: &Value,
        round: &TextTemplate,
        secrets: Option<&TaintTracker>,
    ) {
        let Some(secrets) = secrets.filter(|secrets| !secrets.is_blank()) else { return };
        if secrets.holds(value) {
            self.of_secrets = true;
            self.is_hidden |= !value.as_str().is_some_and(|text| secrets.finds(text));
        }
        if !secrets.keeps_stand_ins() {
            return;
        }
        let Some(out) = &mut self.out else { return };
        let other = self.template.as_ref().unwrap_or(round);
        let (Some(stand_in), Some(found)) = (secrets.stand_in(value), other.found.get(index)) else {
            self.out = None;
            return;
        };
        out.push_str(other.text.get(self.copied..found.range.start).unwrap_or_default());
        self.copied = found.range.end;
        found.insert(&stand_in, out);
        if index + 1 == other.found.len() {
            out.push_str(other.text.get(self.copied..).unwrap_or_default());
        }
    }

    /// Ends the round.
    pub(super) fn end(&mut self) {
        if self.of_secrets {
            self.stand_in = self.out.take().map(Text::from);
        }
    }
    /// Notes what became of the text, where it is secret beyond the parts that would be found in it.
    pub(super) fn note(&self, text: &str, secrets: Option<&TaintTracker>) {
        let Some(secrets) = secrets.filter(|_| self.is_hidden) else { return };
        let stand_in = self.stand_in.as_deref().map(|stand_in| scan::unescape_variables(stand_in).into());
        secrets.note_text(&text.into(), stand_in);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knows that `hunter2` is secret, and what stands in for it.
    fn taint() -> TaintTracker {
        let taint = TaintTracker::new(true);
        taint.see(&Value::from_json(r#"{"kind":"Secret","data":{"p":"aHVudGVyMg==","q":"eA=="}}"#).unwrap());
        taint
    }

    /// What is made of a text when its variables are these values, and what stands in for it.
    fn made(text: &str, values: &[&str], taint: &TaintTracker) -> Made {
        let round = TextTemplate::new(text.into(), Semantics::Documented);
        let mut made = Made::default();
        made.begin(&round, Semantics::Documented);
        for (index, value) in values.iter().enumerate() {
            made.take(index, &(*value).into(), &round, Some(taint));
        }
        made.end();
        made
    }

    #[test]
    fn a_text_made_of_a_secret_is_made_of_its_stand_in_too() {
        let taint = taint();
        let made = made("a {{ p }} and {{ open }}!", &["hunter2", "hunter3"], &taint);
        assert!(made.of_secrets && !made.is_hidden);
        assert_eq!(made.stand_in.as_deref(), Some("a masked1 and hunter3!"));
    }

    #[test]
    fn a_text_of_nothing_secret_has_no_stand_in() {
        let made = made("a {{ open }}", &["b"], &taint());
        assert!(!made.of_secrets && !made.is_hidden);
        assert_eq!(made.stand_in, None);
    }

    #[test]
    fn a_text_that_hides_what_it_was_made_of_is_noted_with_its_stand_in() {
        let taint = taint();
        // Too short to be found in a longer text.
        let made = made("{{ q }}-{{ q }}", &["x", "x"], &taint);
        assert!(made.is_hidden);
        assert!(!taint.holds_text("x-x"));
        made.note("x-x", Some(&taint));
        assert!(taint.holds_text("x-x"));
        assert_eq!(taint.stand_in(&"x-x".into()), Some("k02-k02".into()));
    }

    #[test]
    fn the_next_round_replaces_the_variables_of_the_stand_in() {
        let taint = taint();
        let mut made = made("{{ p }} {{ next }}", &["hunter2", "{{ o }}"], &taint);
        let second = TextTemplate::new("hunter2 {{ o }}".into(), Semantics::Documented);
        assert!(made.begin(&second, Semantics::Documented));
        made.take(0, &"open".into(), &second, Some(&taint));
        made.end();
        assert_eq!(made.stand_in.as_deref(), Some("masked1 open"));
    }

    #[test]
    fn what_nothing_stands_in_for_leaves_the_text_without_one() {
        let taint = taint();
        taint.note_text(&"HUNTER2".into(), None);
        let made = made("a {{ upper }}", &["HUNTER2"], &taint);
        assert!(made.of_secrets);
        assert_eq!(made.stand_in, None);
    }
}
