//! Summaries: numbers of objects by outcome, policy, rule, kind and namespace.

use std::fmt::Write as _;

use indexmap::IndexMap;

use crate::report::{Counts, Flag, MissingData, ServerDryRuns, Totals, TotalsRow};
use crate::value::Text;

use super::printable::printable_line;
use super::table::{Table, fence, markdown_text};

/// How many places are named for one object.
const PLACES: usize = 3;

/// How many rows a table has; those with the fewest changes are summed up in one more.
const ROWS: usize = 20;

/// How much a summary shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One table, unless it would be too long.
    Short,
    /// By policy, kind and namespace, too.
    Whole,
}

/// What a row counts: `NAMES` columns of names, and numbers.
trait Counting: Clone + Default {
    /// The headings of the numbers.
    const HEADINGS: &'static [&'static str];

    fn numbers(&self) -> Vec<usize>;

    fn flagged(&self, flag: Flag) -> usize;

    fn add(&mut self, other: &Self);

    /// The rank in the table: by changes, then by errors.
    fn weight(&self) -> (usize, usize);
}

impl Counting for TotalsRow {
    const HEADINGS: &'static [&'static str] = &["Patched", "Dropped", "No change", "Skipped", "Errors"];

    fn numbers(&self) -> Vec<usize> {
        vec![self.patched, self.discarded, self.no_change, self.skipped, self.errors]
    }

    fn flagged(&self, flag: Flag) -> usize {
        self.flags.flagged(flag)
    }

    fn add(&mut self, other: &Self) {
        self.add(other);
    }

    fn weight(&self) -> (usize, usize) {
        (self.patched, self.errors)
    }
}

impl Counting for Counts {
    const HEADINGS: &'static [&'static str] = &["Objects", "Would change", "No change", "Errors"];

    fn numbers(&self) -> Vec<usize> {
        vec![self.objects, self.changed, self.unchanged, self.errors]
    }

    fn flagged(&self, flag: Flag) -> usize {
        self.flags.flagged(flag)
    }

    fn add(&mut self, other: &Self) {
        self.add(other);
    }

    fn weight(&self) -> (usize, usize) {
        (self.changed, self.errors)
    }
}

const fn title(flag: Flag) -> &'static str {
    match flag {
        Flag::Rollout => "Rollout",
        Flag::Immutable => "Immutable",
        Flag::Privilege => "Privilege",
    }
}

/// A table of rows with their names. Flags that no row has need no column.
fn table<C: Counting>(names: &[&'static str], rows: &[(Vec<String>, C)]) -> Table {
    let is_set = |flag: &Flag| rows.iter().any(|(_, counts)| counts.flagged(*flag) > 0);
    let flags: Vec<Flag> = Flag::ALL.into_iter().filter(is_set).collect();
    let titles = flags.iter().map(|flag| title(*flag));
    let headings = names.iter().copied().chain(C::HEADINGS.iter().copied()).chain(titles).collect();
    let cells = rows.iter().map(|(names, counts)| {
        let flagged = flags.iter().map(|flag| counts.flagged(*flag));
        let numbers = counts.numbers().into_iter().chain(flagged).map(|number| number.to_string());
        names
            .iter()
            .map(|name| printable_line(if name.is_empty() { "-" } else { name }))
            .chain(numbers)
            .collect()
    });
    Table::new(headings, names.len(), cells.collect())
}

/// The rows with the most changes, and the rest as one.
fn folded<C: Counting>(mut rows: Vec<(Vec<String>, C)>) -> Vec<(Vec<String>, C)> {
    rows.sort_by(|(a, counts), (b, other)| other.weight().cmp(&counts.weight()).then_with(|| a.cmp(b)));
    if rows.len() > ROWS + 1 {
        let rest = rows.split_off(ROWS);
        let mut sum = C::default();
        rest.iter().for_each(|(_, counts)| sum.add(counts));
        let columns = rows.first().map_or(1, |(names, _)| names.len());
        let mut names = vec![String::new(); columns];
        if let Some(name) = names.first_mut() {
            *name = format!("({} more)", rest.len());
        }
        rows.push((names, sum));
    }
    rows
}

/// The tables of a summary, each with what it is called.
fn tables(tally: &Totals, width: Width) -> Vec<(&'static str, Table)> {
    let mut tables = Vec::new();
    let is_long = tally.rows.len() > ROWS;
    if is_long {
        let mut rules: IndexMap<Vec<String>, TotalsRow> = IndexMap::new();
        for (key, row) in &tally.rows {
            rules.entry(vec![key.policy.to_string(), key.rule.to_string()]).or_default().add(row);
        }
        tables.push(("By rule", table(&["Policy", "Rule"], &folded(rules.into_iter().collect()))));
    } else if !tally.rows.is_empty() {
        let names = |text: [&Text; 4]| text.into_iter().map(ToString::to_string).collect();
        let rows = tally.rows.iter();
        let rows = rows.map(|(key, row)| (names([&key.policy, &key.rule, &key.kind, &key.namespace]), *row));
        let rows: Vec<(Vec<String>, TotalsRow)> = rows.collect();
        tables.push((
            "By policy, rule, kind and namespace",
            table(&["Policy", "Rule", "Kind", "Namespace"], &rows),
        ));
    }
    let dimensions = [
        ("By policy", "Policy", &tally.by_policy),
        ("By kind", "Kind", &tally.by_kind),
        ("By namespace", "Namespace", &tally.by_namespace),
    ];
    // A single row is the same as the totals.
    for (title, name, counts) in dimensions.into_iter().filter(|(_, _, counts)| counts.len() > 1) {
        if is_long || width == Width::Whole {
            let rows = counts.iter().map(|(name, counts)| (vec![name.to_string()], *counts)).collect();
            tables.push((title, table(&[name], &folded(rows))));
        }
    }
    tables
}

/// Where the rows are that the table leaves out.
fn rest(tally: &Totals) -> Option<String> {
    let rows = tally.rows.len();
    (rows > ROWS).then(|| format!("all {rows} rows by policy, rule, kind and namespace: -o json"))
}

/// One line of totals.
fn totals(tally: &Totals, gaps: &MissingData) -> String {
    let objects = if tally.objects == 1 { "object" } else { "objects" };
    let mut line = format!("{} {objects}, {} would change", tally.objects, tally.changed);
    if tally.unchanged > 0 && tally.unchanged < tally.objects {
        let _ = write!(line, ", {} would not", tally.unchanged);
    }
    if tally.errors > 0 {
        let _ = write!(line, ", {} with errors", tally.errors);
    }
    for (names, [one, more], what) in [
        (&gaps.not_found, ["object", "objects"], "not found"),
        (&gaps.unreadable, ["kind", "kinds"], "not readable"),
        (&gaps.partial, ["kind", "kinds"], "readable in part"),
        (&gaps.policies, ["kind", "kinds"], "of policies not readable"),
    ] {
        if !names.is_empty() {
            let number = names.len();
            let _ = write!(line, ", {number} {} {what}", if number == 1 { one } else { more });
        }
    }
    line.push_str(&dry_runs_line(&tally.server_dry_runs));
    line
}

/// Counts of dry runs, as the end of a line of totals; empty without dry runs.
pub fn dry_runs_line(server_dry_runs: &ServerDryRuns) -> String {
    if server_dry_runs.is_empty() {
        return String::new();
    }
    let mut line = format!("; server dry run: {} accepted", server_dry_runs.accepted);
    if server_dry_runs.changed > 0 {
        let _ = write!(line, " ({} with further changes)", server_dry_runs.changed);
    }
    let more = [(server_dry_runs.refused, "refused"), (server_dry_runs.failed, "without answer")];
    for (number, what) in more.into_iter().filter(|(number, _)| *number > 0) {
        let _ = write!(line, ", {number} {what}");
    }
    line
}

/// What the changes mean for a cluster: a line for each flag, with the first objects.
fn meanings(tally: &Totals) -> Vec<(String, Vec<String>)> {
    let set = Flag::ALL.into_iter().filter_map(|flag| Some((flag, tally.flags.get(&flag)?)));
    let told = set.map(|(flag, flagged)| {
        let number = flagged.objects;
        let (objects, runs) = if number == 1 { ("object", "it runs") } else { ("objects", "they run") };
        let line = match flag {
            Flag::Rollout => format!("rollout: {number} {objects} would restart what {runs}"),
            Flag::Immutable => format!("immutable: {number} {objects} would be refused by the API server"),
            Flag::Privilege => format!("privilege: {number} {objects} would be allowed more than before"),
        };
        let mut names: Vec<String> = flagged
            .first
            .iter()
            .map(|(object, places)| {
                let places: Vec<String> = places.iter().take(PLACES).map(ToString::to_string).collect();
                let places =
                    if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
                printable_line(&format!("{object}{places}"))
            })
            .collect();
        if number > names.len() {
            names.push(format!("and {} more", number - names.len()));
        }
        (line, names)
    });
    told.collect()
}

/// The summary as kubectl prints tables: columns two blanks apart, totals last.
pub fn summary_table(tally: &Totals, gaps: &MissingData, width: Width) -> String {
    let tables: Vec<String> = tables(tally, width).iter().map(|(_, table)| table.text()).collect();
    let mut out = tables.join("\n");
    if tables.len() > 1 {
        out.push('\n');
    }
    out.extend(rest(tally).map(|rest| format!("{rest}\n")));
    out.push_str(&totals(tally, gaps));
    out.push('\n');
    for (line, names) in meanings(tally) {
        let _ = writeln!(out, "\n{line}");
        for name in names {
            let _ = writeln!(out, "  {name}");
        }
    }
    out
}

/// The summary as Markdown, fit for a pull request, with diffs and the number of objects whose diffs found no room.
pub fn markdown(tally: &Totals, gaps: &MissingData, diffs: &str, left_out: usize) -> String {
    let mut out = format!("### Kyverno mutations\n\n{}\n", totals(tally, gaps));
    for (line, names) in meanings(tally) {
        let _ = writeln!(out, "\n**{}**\n", markdown_text(&line));
        for name in names {
            let _ = writeln!(out, "* {}", markdown_text(&name));
        }
    }
    let tables = tables(tally, Width::Whole);
    for (title, table) in &tables {
        let title = if tables.len() > 1 { format!("#### {title}\n\n") } else { String::new() };
        let _ = write!(out, "\n{title}{}", table.markdown());
    }
    out.extend(rest(tally).map(|rest| format!("\n{rest}\n")));
    if let Some(kyverno) = &tally.kyverno {
        let _ = writeln!(out, "\n{}", markdown_text(&kyverno.message));
    }
    if !diffs.is_empty() {
        let fence = fence(diffs);
        let _ =
            writeln!(out, "\n<details><summary>Diff</summary>\n\n{fence}diff\n{diffs}{fence}\n\n</details>");
    }
    if left_out > 0 {
        let text = if left_out == 1 {
            "The diff of 1 more object is left out.".to_owned()
        } else {
            format!("The diffs of {left_out} more objects are left out.")
        };
        let _ = writeln!(out, "\n{text}");
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::report::{RunningKyverno, TotalsKey};
    use crate::semantics::DivergenceSet;

    use super::*;

    fn tally(namespaces: usize) -> Totals {
        let mut tally = Totals::default();
        for number in 0..namespaces {
            let namespace: Text = if number == 1 { "".into() } else { format!("n{number:03}").into() };
            let kind: Text = if number == 1 { "Node".into() } else { "Pod".into() };
            let changed = usize::from(number != 1);
            let key = TotalsKey {
                policy: "add-labels".into(),
                rule: "add".into(),
                kind: kind.clone(),
                namespace: namespace.clone(),
            };
            let row = TotalsRow { patched: changed, no_change: 1 - changed, ..TotalsRow::default() };
            let counts = Counts { objects: 1, changed, unchanged: 1 - changed, ..Counts::default() };
            tally.rows.insert(key, row);
            tally.by_kind.entry(kind).or_default().add(&counts);
            tally.by_namespace.entry(namespace).or_default().add(&counts);
            tally.by_policy.entry("add-labels".into()).or_default().add(&counts);
            tally.objects += 1;
            tally.changed += changed;
            tally.unchanged += 1 - changed;
        }
        tally
    }

    #[test]
    fn columns_line_up() {
        let short = "\
POLICY       RULE   KIND   NAMESPACE   PATCHED   DROPPED   NO CHANGE   SKIPPED   ERRORS
add-labels   add    Pod    n000        1         0         0           0         0
add-labels   add    Node   -           0         0         1           0         0
";
        let totals = "2 objects, 1 would change, 1 would not\n";
        let gaps = MissingData::default();
        assert_eq!(summary_table(&tally(2), &gaps, Width::Short), format!("{short}{totals}"));
        let more = "
KIND   OBJECTS   WOULD CHANGE   NO CHANGE   ERRORS
Pod    1         1              0           0
Node   1         0              1           0

NAMESPACE   OBJECTS   WOULD CHANGE   NO CHANGE   ERRORS
n000        1         1              0           0
-           1         0              1           0

";
        assert_eq!(summary_table(&tally(2), &gaps, Width::Whole), format!("{short}{more}{totals}"));
    }

    #[test]
    fn long_tables_are_folded_and_nothing_is_lost_in_their_sums() {
        let gaps = MissingData {
            unreadable: vec!["secrets".into()],
            partial: vec!["pods".into()],
            ..MissingData::default()
        };
        let expected_end = "
n018         1         1              0           0
n019         1         1              0           0
n020         1         1              0           0
(180 more)   180       179            1           0

all 200 rows by policy, rule, kind and namespace: -o json
200 objects, 199 would change, 1 would not, 1 kind not readable, 1 kind readable in part
";
        for width in [Width::Short, Width::Whole] {
            let text = summary_table(&tally(200), &gaps, width);
            assert!(text.ends_with(expected_end), "{text}");
            assert_eq!(text.lines().count(), 2 + 1 + 3 + 1 + 22 + 1 + 2, "{text}");
            let first = "POLICY       RULE   PATCHED   DROPPED   NO CHANGE   SKIPPED   ERRORS\n\
                         add-labels   add    199       0         1           0         0\n";
            assert!(text.starts_with(first), "{text}");
        }
        let page = markdown(&tally(200), &gaps, "", 0);
        assert!(page.contains("\n| (180 more) | 180 | 179 | 1 | 0 |\n"), "{page}");
        assert!(
            page.contains("\n#### By kind\n\n| Kind | Objects | Would change | No change | Errors |\n"),
            "{page}"
        );
    }

    #[test]
    fn a_page_names_the_kyverno_of_the_cluster() {
        let kyverno = RunningKyverno {
            version: "v1.19.0".into(),
            namespace: "kyverno".into(),
            divergences: DivergenceSet::NONE,
            message: "Kyverno v1.19.0 runs".into(),
        };
        let text =
            markdown(&Totals { kyverno: Some(kyverno), ..tally(2) }, &MissingData::default(), "+ a\n", 0);
        assert!(text.contains("\n\nKyverno v1.19.0 runs\n\n<details>"), "{text}");
    }

    #[test]
    fn markdown_fences_outlast_backticks() {
        let text = markdown(&tally(1), &MissingData::default(), "+ ```\n", 2);
        assert!(text.ends_with("\nThe diffs of 2 more objects are left out.\n"), "{text}");
        let one = markdown(&tally(1), &MissingData::default(), "+ a\n", 1);
        assert!(one.ends_with("\nThe diff of 1 more object is left out.\n"), "{one}");
        assert!(text.contains("| add-labels | add | Pod | n000 | 1 | 0 | 0 | 0 | 0 |"), "{text}");
        assert!(text.contains("\n````diff\n+ ```\n````\n"), "{text}");
    }
}
