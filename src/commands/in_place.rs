//! Files edited in place.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use crate::engine::World;
use crate::source::{Content, Manifests, replace_read_file, still_holds};
use crate::yaml::{Edited, Source};

use super::driver::{Work, chunks, drive};
use super::evaluate::{Evaluated, Evaluator};
use super::exit::Exit;
use super::ledger::{Ledger, SumUp};
use super::output::Layout;
use super::session::{Session, counted};
use super::talk::Talk;

/// The files of a run with their new texts.
#[derive(Debug)]
pub(super) struct Edits<'a> {
    manifests: &'a Manifests,
    layout: Layout,
    /// Whether to say what would be written, and to write nothing.
    check: bool,
    /// The text of the current file as far as it was evaluated, and how many of its objects changed.
    current: Option<Edit>,
    /// The changed files.
    changed: BTreeMap<usize, Edit>,
}

#[derive(Debug)]
struct Edit {
    input: usize,
    /// The text as it was read; `None` until its first document comes.
    read: Option<Arc<Source>>,
    text: String,
    objects: usize,
}

impl<'a> Edits<'a> {
    /// No edits yet.
    pub(super) const fn new(manifests: &'a Manifests, layout: Layout, check: bool) -> Self {
        Self { manifests, layout, check, current: None, changed: BTreeMap::new() }
    }

    /// Evaluates all files, and then writes those that changed, unless a rule failed.
    pub(super) fn run<W: World>(mut self, session: &Session, world: &W, keep_going: bool, talk: &mut Talk) {
        let manifests = self.manifests;
        let mut ledger = Ledger::default();
        let mut faults = Vec::new();
        let work = Editing { evaluator: session.evaluator(world), layout: self.layout };
        let take = |(evaluated, edited): (Evaluated, Option<Edited>)| -> io::Result<()> {
            ledger.take(&evaluated, talk);
            if let Some(edited) = &edited {
                ledger.edited(&evaluated, edited);
            }
            self.take(&evaluated, edited.map(|edited| edited.text));
            Ok(())
        };
        let driven = drive(chunks(manifests.pieces()), &work, take, |error| faults.push(error));
        if let Err(error) = driven {
            talk.error(Exit::Input, &error.to_string());
        }
        for error in &faults {
            talk.error(Exit::of(error), &error.to_string());
        }
        if talk.exit() == Exit::Input {
            return;
        }
        self.turn_page();
        if !self.may_write(talk) {
            return;
        }
        ledger.close(session, SumUp::Nothing, talk);
        if self.check {
            self.tell(talk);
        } else if talk.exit() == Exit::Evaluation && !keep_going && !self.changed.is_empty() {
            let files = counted(self.changed.len(), "file");
            let message =
                format!("nothing was written because of these errors; --keep-going would write {files}");
            talk.error(Exit::Evaluation, &message);
        } else {
            self.write(talk);
        }
        ledger.sum_up(SumUp::Line, talk);
    }

    fn take(&mut self, evaluated: &Evaluated, text: Option<String>) {
        let input = evaluated.piece.input;
        if self.current.as_ref().is_none_or(|current| current.input != input) {
            self.turn_page();
            self.current = Some(Edit { input, read: None, text: String::new(), objects: 0 });
        }
        let (Some(current), Content::Document(document)) = (&mut self.current, &evaluated.piece.content)
        else {
            return;
        };
        current.read.get_or_insert_with(|| Arc::clone(document.source()));
        current.text.push_str(text.as_deref().unwrap_or_else(|| document.text()));
        current.objects += evaluated.objects.iter().filter(|object| object.report.is_changed()).count();
    }

    /// Keeps the current file if it changed.
    fn turn_page(&mut self) {
        if let Some(edit) = self.current.take().filter(|edit| edit.objects > 0) {
            self.changed.insert(edit.input, edit);
        }
    }

    /// Whether everything that changed is a file; says what is not.
    fn may_write(&self, talk: &mut Talk) -> bool {
        let mut all = true;
        for input in self.changed.keys() {
            if self.manifests.file(*input).is_none() {
                all = false;
                talk.error(Exit::Input, "-i edits regular files only, and one of the inputs is none");
            }
        }
        all
    }

    /// Says what would be written.
    fn tell(&self, talk: &mut Talk) {
        for (input, edit) in &self.changed {
            let Some(path) = self.manifests.file(*input) else { continue };
            talk.worsen(Exit::Changes);
            let objects = counted(edit.objects, "object");
            talk.summary(&format!("{}: {objects} would change", path.display()));
        }
    }

    fn write(&self, talk: &mut Talk) {
        let files = || {
            self.changed.iter().filter_map(|(input, edit)| {
                let read = edit.read.as_ref().map_or("", |read| read.text()).as_bytes();
                Some((self.manifests.file(*input)?, read, edit))
            })
        };
        let mut all = true;
        for error in files().filter_map(|(path, read, _)| still_holds(path, read).err()) {
            all = false;
            talk.error(Exit::of(&error), &error.to_string());
        }
        if !all {
            return talk.error(Exit::Input, "nothing was written because of these errors");
        }
        for (path, read, edit) in files() {
            match replace_read_file(path, read, edit.text.as_bytes()) {
                Ok(()) => {
                    let objects = counted(edit.objects, "object");
                    talk.summary(&format!("{}: {objects} changed", path.display()));
                }
                Err(error) => talk.error(Exit::of(&error), &error.to_string()),
            }
        }
    }
}

/// Evaluates pieces and prints what changed.
struct Editing<'a, W> {
    evaluator: Evaluator<'a, W>,
    layout: Layout,
}

impl<W: World> Work for Editing<'_, W> {
    type Made = (Evaluated, Option<Edited>);
    type World = W;

    fn evaluator(&self) -> &Evaluator<'_, W> {
        &self.evaluator
    }

    fn make(&self, evaluated: Evaluated) -> Self::Made {
        let edited = match (&evaluated.piece.content, &evaluated.after) {
            (Content::Document(document), Some(after)) => Some(self.layout.text(document, after)),
            _ => None,
        };
        (evaluated, edited)
    }
}
