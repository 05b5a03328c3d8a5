//! Summaries: numbers of objects by outcome, policy, rule, kind and namespace.

use std::fmt::Write as _;

use indexmap::IndexMap;

use crate::report::{Counts, Flag, FlagCounts, MissingData, ServerDryRuns, Totals, TotalsRow};
use crate::value::Text;

use super::printable::printable_line;
use super::table::{Table, markdown_text};
use super::words::counted;

/// The most paths that are shown for one object.
const PATHS: usize = 3;

/// The most rows of a table without errors and privileges; those with the fewest changes are summed up in one more.
const ROWS: usize = 20;

/// A row of a table.
struct Row {
    /// The cells of the first columns.
    names: Vec<String>,
    /// The numbers of objects, as the columns say.
    numbers: Vec<usize>,
    /// The objects with each of [`Flag::ALL`].
    flagged: [usize; Flag::ALL.len()],
}

/// The columns of the numbers of rules.
const RULE_COLUMNS: Columns =
    Columns { headings: &["Patched", "Discarded", "No change", "Skipped", "Errors"], changed: 0 };

/// The columns of the numbers of policies, kinds and namespaces.
const OBJECT_COLUMNS: Columns =
    Columns { headings: &["Objects", "Would change", "No change", "Errors"], changed: 1 };

struct Columns {
    headings: &'static [&'static str],
    /// The index of the number by which rows are sorted first; the second one is the last, that of errors.
    changed: usize,
}

impl Row {
    fn of_rule(names: &[&Text], row: &TotalsRow) -> Self {
        let numbers = vec![row.patched, row.discarded, row.no_change, row.skipped, row.errors];
        Self::new(names, numbers, row.flags)
    }

    fn of_objects(name: &Text, counts: &Counts) -> Self {
        let numbers = vec![counts.objects, counts.changed, counts.unchanged, counts.errors];
        Self::new(&[name], numbers, counts.flags)
    }

    fn new(names: &[&Text], numbers: Vec<usize>, flags: FlagCounts) -> Self {
        let names = names.iter().map(ToString::to_string).collect();
        Self { names, numbers, flagged: Flag::ALL.map(|flag| flags.flagged(flag)) }
    }
}

impl Row {
    /// Whether a rule failed or a change is about privileges. Such rows come first and are never summed up.
    fn is_grave(&self) -> bool {
        let flags = Flag::ALL.into_iter().zip(self.flagged);
        self.numbers.last().is_some_and(|errors| *errors > 0)
            || flags.into_iter().any(|(flag, number)| flag == Flag::Privilege && number > 0)
    }
}

/// The headings of [`Flag::ALL`].
const FLAG_HEADINGS: [&str; Flag::ALL.len()] = ["Rollout", "Immutable", "Privilege"];

/// A table of rows. Flags that no row has get no column.
fn table(names: &[&'static str], columns: &Columns, rows: &[Row]) -> Table {
    let flags: Vec<usize> =
        (0..Flag::ALL.len()).filter(|flag| rows.iter().any(|row| row.flagged[*flag] > 0)).collect();
    let flag_headings = flags.iter().map(|flag| FLAG_HEADINGS[*flag]);
    let headings = names.iter().copied().chain(columns.headings.iter().copied()).chain(flag_headings);
    let cells = rows.iter().map(|row| {
        let names = row.names.iter().map(|name| printable_line(if name.is_empty() { "-" } else { name }));
        let flagged = flags.iter().map(|flag| &row.flagged[*flag]);
        names.chain(row.numbers.iter().chain(flagged).map(ToString::to_string)).collect()
    });
    Table::new(headings.collect(), names.len(), cells.collect())
}

/// The rows with errors or privileges, then those with the most changes, and the sum of the rest.
fn folded(mut rows: Vec<Row>, columns: &Columns) -> Vec<Row> {
    let weight = |row: &Row| (row.is_grave(), row.numbers[columns.changed], row.numbers.last().copied());
    rows.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.names.cmp(&b.names)));
    let kept = ROWS.max(rows.iter().filter(|row| row.is_grave()).count());
    if rows.len() > kept + 1 {
        let rest = rows.split_off(kept);
        let count = rest.len();
        let sum = rest.into_iter().reduce(|mut sum, row| {
            sum.numbers.iter_mut().zip(row.numbers).for_each(|(sum, number)| *sum += number);
            sum.flagged.iter_mut().zip(row.flagged).for_each(|(sum, number)| *sum += number);
            sum
        });
        rows.extend(sum.map(|sum| {
            let mut names = vec![String::new(); sum.names.len()];
            names[0] = format!("({count} more)");
            Row { names, ..sum }
        }));
    }
    rows
}

/// The tables of a summary with their titles.
fn tables(tally: &Totals) -> Vec<(&'static str, Table)> {
    let mut tables = Vec::new();
    let is_long = tally.rows.len() > ROWS;
    if is_long {
        let mut rules: IndexMap<[&Text; 2], TotalsRow> = IndexMap::new();
        for (key, row) in &tally.rows {
            rules.entry([&key.policy, &key.rule]).or_default().add(row);
        }
        let rows = rules.iter().map(|(names, row)| Row::of_rule(names, row)).collect();
        let rows = folded(rows, &RULE_COLUMNS);
        tables.push(("By rule", table(&["Policy", "Rule"], &RULE_COLUMNS, &rows)));
    } else if !tally.rows.is_empty() {
        let rows = tally
            .rows
            .iter()
            .map(|(key, row)| Row::of_rule(&[&key.policy, &key.rule, &key.kind, &key.namespace], row));
        let mut rows: Vec<Row> = rows.collect();
        rows.sort_by_key(|row| !row.is_grave());
        let names = ["Policy", "Rule", "Kind", "Namespace"];
        tables.push(("By policy, rule, kind and namespace", table(&names, &RULE_COLUMNS, &rows)));
    }
    let dimensions = [
        ("By policy", "Policy", &tally.by_policy),
        ("By kind", "Kind", &tally.by_kind),
        ("By namespace", "Namespace", &tally.by_namespace),
    ];
    // A single row is the same as the totals.
    for (title, name, counts) in dimensions.into_iter().filter(|(_, _, counts)| counts.len() > 1) {
        let rows = counts.iter().map(|(name, counts)| Row::of_objects(name, counts)).collect();
        tables.push((title, table(&[name], &OBJECT_COLUMNS, &folded(rows, &OBJECT_COLUMNS))));
    }
    tables
}

/// A line on the rows that the tables leave out.
fn omitted_rows(tally: &Totals) -> Option<String> {
    let rows = tally.rows.len();
    (rows > ROWS).then(|| format!("all {rows} rows by policy, rule, kind and namespace: -o json"))
}

/// One line of totals.
fn totals(tally: &Totals, gaps: &MissingData) -> String {
    let mut line = format!("{}, {} would change", counted(tally.objects, "object"), tally.changed);
    if tally.unchanged > 0 && tally.unchanged < tally.objects {
        let _ = write!(line, ", {} would not", tally.unchanged);
    }
    if tally.errors > 0 {
        let _ = write!(line, ", {} with errors", tally.errors);
    }
    for (names, thing, problem) in [
        (&gaps.not_found, "object", "not found"),
        (&gaps.unreadable, "kind", "not readable"),
        (&gaps.partial, "kind", "partly readable"),
        (&gaps.policies, "kind", "of policies not readable"),
    ] {
        if !names.is_empty() {
            let _ = write!(line, ", {} {problem}", counted(names.len(), thing));
        }
    }
    line.push_str(&dry_runs_line(&tally.server_dry_runs));
    line
}

/// A line on refused policies and unreadable files; `None` without any.
pub fn refused_inputs(tally: &Totals, gaps: &MissingData) -> Option<String> {
    let policies = |number| if number == 1 { "1 policy".to_owned() } else { format!("{number} policies") };
    let refused = gaps.refused_policies.len();
    let refused = (refused > 0).then(|| format!("{} refused", policies(refused)));
    let files = (!gaps.unread_files.is_empty())
        .then(|| format!("{} unreadable", counted(gaps.unread_files.len(), "file")));
    let all: Vec<String> = refused.into_iter().chain(files).collect();
    (!all.is_empty()).then(|| format!("{}; {} evaluated", all.join(", "), policies(tally.policies)))
}

/// The number of dry runs by result, as the end of a line of totals; empty without dry runs.
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

/// The number of objects with each impact on a cluster, as the end of a line of totals; empty without impact.
pub fn impact_line(tally: &Totals) -> String {
    let flags = Flag::ALL.into_iter().zip(FLAG_HEADINGS);
    let numbers = flags.filter_map(|(flag, name)| Some((tally.flags.get(&flag)?.objects, name)));
    let parts: Vec<String> =
        numbers.map(|(number, name)| format!("{number} {}", name.to_lowercase())).collect();
    if parts.is_empty() { String::new() } else { format!("; impact: {}", parts.join(", ")) }
}

/// The impact of the changes on a cluster: a line for each flag, with the first objects.
fn impacts(tally: &Totals) -> impl Iterator<Item = (String, Vec<String>)> {
    let flags = Flag::ALL.into_iter().filter_map(|flag| Some((flag, tally.flags.get(&flag)?)));
    flags.map(|(flag, flagged)| {
        let objects = counted(flagged.objects, "object");
        let line = match flag {
            Flag::Rollout if flagged.objects == 1 => {
                format!("rollout: {objects} would restart what it runs")
            }
            Flag::Rollout => format!("rollout: {objects} would restart what they run"),
            Flag::Immutable => format!("immutable: {objects} would be refused by the API server"),
            Flag::Privilege => format!("privilege: {objects} would be allowed more than before"),
        };
        let mut names: Vec<String> = flagged
            .first
            .iter()
            .map(|(object, paths)| {
                let paths: Vec<String> = paths.iter().take(PATHS).map(ToString::to_string).collect();
                let paths = if paths.is_empty() { String::new() } else { format!(" ({})", paths.join(", ")) };
                printable_line(&format!("{object}{paths}"))
            })
            .collect();
        if flagged.objects > names.len() {
            names.push(format!("and {} more", flagged.objects - names.len()));
        }
        (line, names)
    })
}

/// The summary as tables in kubectl's style, totals last. The tables fit the width, if there is one.
pub fn summary_table(tally: &Totals, gaps: &MissingData, width: Option<usize>) -> String {
    let tables: Vec<String> = tables(tally).iter().map(|(_, table)| table.text(width)).collect();
    let mut out = refused_inputs(tally, gaps).map_or_else(String::new, |line| format!("{line}\n"));
    out.push_str(&tables.join("\n"));
    if tables.len() > 1 {
        out.push('\n');
    }
    out.extend(omitted_rows(tally).map(|line| format!("{line}\n")));
    out.push_str(&totals(tally, gaps));
    out.push('\n');
    for (line, names) in impacts(tally) {
        let _ = writeln!(out, "\n{line}");
        for name in names {
            let _ = writeln!(out, "  {name}");
        }
    }
    out
}

/// The heading of a summary in Markdown.
pub(super) const MARKDOWN_HEADING: &str = "### Kyverno mutations\n\n";

/// The summary as Markdown for a pull request.
pub fn markdown(tally: &Totals, gaps: &MissingData) -> String {
    let mut out = MARKDOWN_HEADING.to_owned();
    out.extend(refused_inputs(tally, gaps).map(|line| format!("**{line}**\n\n")));
    let _ = writeln!(out, "{}", totals(tally, gaps));
    for (line, names) in impacts(tally) {
        let _ = writeln!(out, "\n**{}**\n", markdown_text(&line));
        for name in names {
            let _ = writeln!(out, "* {}", markdown_text(&name));
        }
    }
    let tables = tables(tally);
    for (title, table) in &tables {
        let title = if tables.len() > 1 { format!("#### {title}\n\n") } else { String::new() };
        let _ = write!(out, "\n{title}{}", table.markdown());
    }
    out.extend(omitted_rows(tally).map(|line| format!("\n{line}\n")));
    if let Some(kyverno) = &tally.kyverno {
        let _ = writeln!(out, "\n{}", markdown_text(&kyverno.message));
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
POLICY       RULE   KIND   NAMESPACE   PATCHED   DISCARDED   NO CHANGE   SKIPPED   ERRORS
add-labels   add    Pod    n000        1         0           0           0         0
add-labels   add    Node   -           0         0           1           0         0
";
        let totals = "2 objects, 1 would change, 1 would not\n";
        let gaps = MissingData::default();
        let more = "
KIND   OBJECTS   WOULD CHANGE   NO CHANGE   ERRORS
Pod    1         1              0           0
Node   1         0              1           0

NAMESPACE   OBJECTS   WOULD CHANGE   NO CHANGE   ERRORS
n000        1         1              0           0
-           1         0              1           0

";
        assert_eq!(summary_table(&tally(2), &gaps, None), format!("{short}{more}{totals}"));
    }

    #[test]
    fn long_tables_end_with_the_sum_of_the_rest() {
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
200 objects, 199 would change, 1 would not, 1 kind not readable, 1 kind partly readable
";
        let text = summary_table(&tally(200), &gaps, None);
        assert!(text.ends_with(expected_end), "{text}");
        assert_eq!(text.lines().count(), 2 + 1 + 3 + 1 + 22 + 1 + 2, "{text}");
        let first = "POLICY       RULE   PATCHED   DISCARDED   NO CHANGE   SKIPPED   ERRORS\n\
                     add-labels   add    199       0           1           0         0\n";
        assert!(text.starts_with(first), "{text}");
        let page = markdown(&tally(200), &gaps);
        assert!(page.contains("\n| (180 more) | 180 | 179 | 1 | 0 |\n"), "{page}");
        assert!(
            page.contains("\n#### By kind\n\n| Kind | Objects | Would change | No change | Errors |\n"),
            "{page}"
        );
    }

    #[test]
    fn rows_with_errors_or_privileges_come_first_and_are_not_summed_up() {
        let row = |number: usize| Row {
            names: vec![format!("n{number:03}")],
            numbers: vec![1, 1, 0, usize::from(number == 150)],
            flagged: [0, 0, usize::from((100..130).contains(&number))],
        };
        let rows = folded((0..200).map(row).collect(), &OBJECT_COLUMNS);
        let names: Vec<&str> = rows.iter().map(|row| &*row.names[0]).collect();
        // Errors are the last of the numbers by which they are sorted.
        assert_eq!((names[0], names[1], names[30]), ("n150", "n100", "n129"));
        assert_eq!(names[31..], ["(169 more)"]);
    }

    #[test]
    fn markdown_names_the_kyverno_of_the_cluster() {
        let kyverno = RunningKyverno {
            version: "v1.19.0".into(),
            namespace: "kyverno".into(),
            divergences: DivergenceSet::NONE,
            message: "Kyverno v1.19.0 runs".into(),
        };
        let text = markdown(&Totals { kyverno: Some(kyverno), ..tally(2) }, &MissingData::default());
        assert!(text.ends_with("\n\nKyverno v1.19.0 runs\n"), "{text}");
    }
}
