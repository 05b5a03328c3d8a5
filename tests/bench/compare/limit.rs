//! The limits: what reading and printing the same bytes takes, one document after the other. One reads with the YAML
//! library that kyv stands on, the other with kyv's own reader, which has the library behind it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Read, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle};
use kyv::value::{Map, Text, Value};
use kyv::yaml::{Limits, Source, print, read, resolve};
use rayon::ThreadPoolBuilder;

/// The name under which the program calls itself.
pub(crate) const SUBCOMMAND: &str = "limit";

/// How much is read at once. What is done with it stays in the processor's cache.
const BLOCK: usize = 256 * 1024;

/// Between two documents, in what the generator writes.
const BETWEEN: &str = "\n---\n";

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Library,
    Own,
}

impl Reading {
    /// The argument that says so.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Own => "own",
        }
    }
}

/// Reads one file and prints its objects to another.
pub(crate) fn subcommand(arguments: &[OsString]) -> ExitCode {
    let [reading, input, output] = arguments else { return ExitCode::FAILURE };
    let all = [Reading::Library, Reading::Own];
    let Some(reading) = all.into_iter().find(|known| known.name() == reading) else {
        return ExitCode::FAILURE;
    };
    // The reader would take all processors.
    let alone = ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    alone.install(|| copy_all(reading, input, output));
    ExitCode::SUCCESS
}

fn copy_all(reading: Reading, input: &OsString, output: &OsString) {
    let mut input = File::open(input).expect("a file to read");
    let mut output = BufWriter::with_capacity(BLOCK, File::create(output).expect("a file to write"));
    let (limits, mut rest, mut printed) = (Limits::default(), Vec::new(), String::new());
    loop {
        let before = rest.len();
        let added = Read::by_ref(&mut input)
            .take(BLOCK as u64)
            .read_to_end(&mut rest)
            .expect("a file that can be read");
        let all = std::str::from_utf8(&rest).expect("what the generator writes is plain");
        let end = if added == 0 { all.len() } else { all.rfind(BETWEEN).map_or(0, |at| at + 1) };
        if end == 0 && added == 0 && before == 0 {
            break;
        }
        let mut print_one = |value: &Value| {
            printed.push_str("---\n");
            print(value, &mut printed);
        };
        match reading {
            Reading::Library => parsed(&all[..end], &mut print_one),
            Reading::Own => {
                let source = Arc::new(Source::new("limit", &all[..end]));
                let documents = read(&source, &limits).expect("the generator writes YAML");
                documents.iter().filter_map(|document| document.value()).for_each(print_one);
            }
        }
        output.write_all(printed.as_bytes()).expect("room for it");
        printed.clear();
        rest.drain(..end);
    }
    output.flush().expect("room for it");
}

/// Takes the documents of a text as the library tells them.
fn parsed(text: &str, take: &mut impl FnMut(&Value)) {
    let mut open: Vec<Open> = Vec::new();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let node = match event.expect("the generator writes YAML").0 {
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Mapping(Map::default(), None));
                continue;
            }
            Event::Scalar(text, style, ..) => match open.last_mut() {
                Some(Open::Mapping(_, key @ None)) => {
                    *key = Some(text.into());
                    continue;
                }
                _ if style == ScalarStyle::Plain => resolve(&text),
                _ => Value::string(text),
            },
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::array(items),
                Some(Open::Mapping(members, _)) => Value::object(members),
                None => continue,
            },
            _ => continue,
        };
        match open.last_mut() {
            Some(Open::List(items)) => items.push(node),
            Some(Open::Mapping(members, key)) => {
                members.extend(key.take().map(|key| (key, node)));
            }
            None => take(&node),
        }
    }
}

/// A list or mapping that is being read.
enum Open {
    List(Vec<Value>),
    /// The members, and the key whose value comes next.
    Mapping(Map, Option<Text>),
}
