//! Lists and mappings in flow style on one line.

use crate::yaml::event::{EventReceiver, Kind, Style};

use super::Reader;
use super::scalar::Found;

impl<'t, S: EventReceiver> Reader<'t, '_, S> {
    /// Emits the list or mapping whose bracket is here.
    pub(super) fn flow(&mut self) -> Option<()> {
        let mut open = Vec::new();
        // The closing bracket may follow immediately.
        let mut is_first = false;
        loop {
            let bracket = match self.byte()? {
                b'[' => Some(Kind::List),
                b'{' => Some(Kind::Mapping),
                _ => None,
            };
            if let Some(kind) = bracket {
                self.is_shallow(open.len()).then_some(())?;
                self.node_style(Style::FlowCollection);
                self.receiver.open(kind, 0, self.base + self.at).ok()?;
                open.push(kind);
                is_first = true;
                self.at += 1;
                self.skip_blanks();
            } else {
                let scalar = self.flow_scalar()?;
                self.emit_scalar(scalar)?;
            }
            if !is_first || self.closes(&open) {
                // After a node.
                loop {
                    self.skip_blanks();
                    if self.closes(&open) {
                        self.at += 1;
                        self.receiver.close(self.base + self.at).ok()?;
                        open.pop();
                        if open.is_empty() {
                            return Some(());
                        }
                    } else if self.byte()? == b',' {
                        self.at += 1;
                        self.skip_blanks();
                        break;
                    } else {
                        return None;
                    }
                }
            }
            is_first = false;
            if open.last() == Some(&Kind::Mapping) {
                self.flow_key()?;
            }
        }
    }

    /// Whether the innermost bracket is closed here.
    fn closes(&self, open: &[Kind]) -> bool {
        let closing = if open.last() == Some(&Kind::Mapping) { b'}' } else { b']' };
        self.byte() == Some(closing)
    }

    /// Emits a key and goes to its value.
    fn flow_key(&mut self) -> Option<()> {
        let key = self.flow_scalar()?;
        self.emit_key(key)?;
        (self.byte()? == b':' && self.bytes.get(self.at + 1) == Some(&b' ')).then_some(())?;
        self.at += 1;
        self.skip_blanks();
        Some(())
    }

    fn flow_scalar(&mut self) -> Option<Found<'t>> {
        if matches!(self.byte()?, b'\'' | b'"') {
            return self.quoted(None);
        }
        self.starts_plain().then_some(())?;
        let start = self.at;
        let mut end = start;
        loop {
            match self.bytes.get(end)? {
                b',' | b'[' | b']' | b'{' | b'}' => break,
                b'\n' | b'\t' | b'#' => return None,
                b':' => match self.bytes.get(end + 1)? {
                    b' ' => break,
                    next if next.is_ascii_alphanumeric() || *next == b'/' => end += 1,
                    _ => return None,
                },
                _ => end += 1,
            }
        }
        self.found_plain(end)
    }
}
