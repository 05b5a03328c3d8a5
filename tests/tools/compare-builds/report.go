package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// The longest diff that is printed of one difference, in lines.
const diffLines = 24

// What the comparison of one area, or of all, found.
type tally struct {
	cases, runs, equal, renamed, text, outcome int
	objects, mutated                           int
	codes                                      map[string]int
}

// Differences that look the same but for their numbers.
type group struct {
	count int
	// The one of the first case, whatever the order in which they ended.
	first difference
	name  string
	// The positions of the case, and of the difference in it.
	at, turn int
}

type report struct {
	settings  *settings
	areas     map[string]*tally
	announced map[string]int
	// Differences of outcomes and of stderr, by what they look like.
	outcomes, texts map[string]*group
	broken          error
}

func newReport(s *settings) *report {
	return &report{settings: s, areas: map[string]*tally{}, announced: map[string]int{},
		outcomes: map[string]*group{}, texts: map[string]*group{}}
}

func (r *report) different() bool {
	return slices.ContainsFunc(areas, func(name string) bool { return r.areas[name] != nil && r.areas[name].outcome > 0 })
}

func (r *report) add(at int, c *testCase, found *caseResult) {
	if found.err != nil && r.broken == nil {
		r.broken = found.err
	}
	if r.areas[c.area] == nil {
		r.areas[c.area] = &tally{codes: map[string]int{}}
	}
	area := r.areas[c.area]
	area.cases++
	area.runs += found.runs
	area.equal += found.equal
	area.objects += found.objects
	area.mutated += found.mutated
	for code, count := range found.codes {
		area.codes[code] += count
	}
	for number, count := range found.announced {
		r.announced[number] += count
	}
	name := c.area + " " + c.name
	for turn, difference := range found.differences {
		switch {
		case len(difference.what) > 0:
			area.outcome++
			addTo(r.outcomes, &group{first: difference, name: name, at: at, turn: turn},
				fmt.Sprintf("%v\n%s", difference.what, changedLines(difference.old.stdout, difference.new.stdout)))
		case difference.renamed:
			area.renamed++
		default:
			area.text++
			addTo(r.texts, &group{first: difference, name: name, at: at, turn: turn},
				changedLines(difference.old.stderr, difference.new.stderr))
		}
	}
}

func addTo(groups map[string]*group, found *group, key string) {
	found.count = 1
	if known := groups[key]; known != nil {
		found.count += known.count
		if known.at < found.at || known.at == found.at && known.turn < found.turn {
			known.count = found.count
			return
		}
	}
	groups[key] = found
}

// The groups in the order of the cases.
func inOrder(groups map[string]*group) []*group {
	return slices.SortedFunc(maps.Values(groups), func(a, b *group) int {
		return cmp.Or(a.at-b.at, a.turn-b.turn)
	})
}

var digits = regexp.MustCompile(`[0-9]+`)

// What the first lines that only one of two texts has differ by, without numbers: the key of a group.
func changedLines(old, new []byte) string {
	count := map[string]int{}
	oldLines, newLines := strings.Split(string(old), "\n"), strings.Split(string(new), "\n")
	for _, line := range oldLines {
		count[line]++
	}
	for _, line := range newLines {
		count[line]--
	}
	var removed, added []string
	for _, line := range oldLines {
		if count[line] > 0 {
			count[line]--
			removed = append(removed, line)
		}
	}
	for _, line := range newLines {
		if count[line] < 0 {
			count[line]++
			added = append(added, line)
		}
	}
	var key []string
	for at := range max(len(removed), len(added)) {
		if at == 3 {
			break
		}
		var before, after []string
		if at < len(removed) {
			before = strings.Fields(removed[at])
		}
		if at < len(added) {
			after = strings.Fields(added[at])
		}
		before, after = withoutCommonEnds(before, after)
		key = append(key, strings.Join(before, " ")+" -> "+strings.Join(after, " "))
	}
	slices.Sort(key)
	return digits.ReplaceAllString(strings.Join(slices.Compact(key), "\n"), "#")
}

// The words between the common words at the start and at the end.
func withoutCommonEnds(a, b []string) ([]string, []string) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

func (r *report) print(out io.Writer, took time.Duration) {
	if len(r.outcomes) > 0 {
		cases := onePerCase(inOrder(r.outcomes))
		fmt.Fprintf(out, "OUTCOMES THAT DIFFER: %d distinct, shown by %d cases\n\n", len(r.outcomes), len(cases))
		for _, group := range first(cases, r.settings.show) {
			r.printGroup(out, group)
		}
	}
	if len(r.texts) > 0 {
		fmt.Fprintf(out, "stderr that differs while the outcome is equal: %d distinct\n\n", len(r.texts))
		for _, group := range first(inOrder(r.texts), r.settings.show) {
			fmt.Fprintf(out, "%d × %s: kubectl-kyv %s\n", group.count, group.name, quoted(group.first.command.args))
			fmt.Fprintln(out, shortDiff(group.first.old.stderr, group.first.new.stderr))
		}
	}
	r.printTable(out)
	numbers := slices.Sorted(maps.Keys(r.announced))
	fmt.Fprintf(out, "\n%d divergences announced:", len(numbers))
	for _, number := range numbers {
		fmt.Fprintf(out, " %s×%d", strings.TrimPrefix(number, "KYV-"), r.announced[number])
	}
	fmt.Fprintf(out, "\nseed %d, %s\n", r.settings.seed, took.Round(time.Second))
}

func (r *report) printTable(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "area\tcases\truns\tequal\trenamed words\tstderr differs\toutcome differs\tchanged inputs\texit codes\t")
	sum := tally{codes: map[string]int{}}
	row := func(name string, t *tally) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d of %d\t%s\t\n", name, t.cases, t.runs, t.equal, t.renamed,
			t.text, t.outcome, t.mutated, t.objects, codes(t.codes))
	}
	for _, name := range areas {
		t := r.areas[name]
		if t == nil {
			continue
		}
		row(name, t)
		sum.cases += t.cases
		sum.runs += t.runs
		sum.equal += t.equal
		sum.renamed += t.renamed
		sum.text += t.text
		sum.outcome += t.outcome
		sum.objects += t.objects
		sum.mutated += t.mutated
		for code, count := range t.codes {
			sum.codes[code] += count
		}
	}
	row("all", &sum)
	table.Flush()
}

func codes(counts map[string]int) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s:%d", code, counts[code]))
	}
	return strings.Join(parts, " ")
}

// The first difference of each case: the others are mostly the same in other formats.
func onePerCase(groups []*group) []*group {
	return slices.CompactFunc(groups, func(a, b *group) bool { return a.at == b.at })
}

func first[T any](items []T, count int) []T {
	return items[:min(len(items), count)]
}

// One example of a group: what differs, how to see it again, and a diff.
func (r *report) printGroup(out io.Writer, group *group) {
	found := group.first
	fmt.Fprintf(out, "%d × %s: %s\n", group.count, group.name, strings.Join(found.what, ", "))
	input := ""
	if found.command.stdin != "" {
		input = " <" + found.command.stdin
	}
	for _, binary := range []string{r.settings.old, r.settings.new} {
		fmt.Fprintf(out, "  (cd %s && env -i %s %s%s)\n", quoted([]string{found.folder}), quoted([]string{binary}),
			quoted(found.command.args), input)
	}
	fmt.Fprint(out, shortDiff(found.old.stdout, found.new.stdout))
	fmt.Fprintln(out, shortDiff(found.old.stderr, found.new.stderr))
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@+-]+$`)

// The words as a shell reads them.
func quoted(words []string) string {
	var out []string
	for _, word := range words {
		if !plainWord.MatchString(word) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

var betweenFields = regexp.MustCompile(`([,{\[])("|{)`)

// The text with long lines of JSON broken between their fields, so that a diff shows which one differs.
func wrapped(text []byte) []byte {
	lines := bytes.Split(text, []byte("\n"))
	for at, line := range lines {
		if len(line) > 200 {
			lines[at] = betweenFields.ReplaceAll(line, []byte("$1\n  $2"))
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// The first lines of a unified diff, indented; nothing if the texts are equal.
func shortDiff(old, new []byte) string {
	if bytes.Equal(old, new) {
		return ""
	}
	folder, err := os.MkdirTemp("", "compare-builds-diff-")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(folder)
	for name, text := range map[string][]byte{"old": old, "new": new} {
		if err := os.WriteFile(filepath.Join(folder, name), wrapped(text), 0o600); err != nil {
			return err.Error()
		}
	}
	diff := exec.Command("git", "diff", "--no-index", "--no-color", "--no-ext-diff", "-U1", "old", "new")
	diff.Dir = folder
	// git ends with 1 where the files differ.
	text, _ := diff.Output()
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	// The header names the temporary files.
	lines = lines[min(len(lines), 4):]
	if len(lines) > diffLines {
		lines = append(lines[:diffLines], fmt.Sprintf("… %d more lines", len(lines)-diffLines))
	}
	var out strings.Builder
	for _, line := range lines {
		if len(line) > 400 {
			line = line[:400] + " …"
		}
		fmt.Fprintf(&out, "    %s\n", line)
	}
	return out.String()
}
