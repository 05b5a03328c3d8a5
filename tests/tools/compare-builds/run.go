package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A set of command lines in one folder.
type testCase struct {
	area, name string
	folder     string
	commands   []command
	// For a generated case: writes the inputs into the folder and returns the command lines.
	generate func(folder string) ([]command, error)
}

// One command line.
type command struct {
	args []string
	// A file of the folder for standard input, or none.
	stdin string
	// The text of the input objects, if it should be counted whether they change.
	input string
	// stdout is a report with messages in it, not objects or a diff of them.
	report bool
}

// How one process ended.
type ended struct {
	stdout, stderr []byte
	// The exit code, the signal, or "timed out".
	code string
}

// The comparison of one command line.
type difference struct {
	command  command
	folder   string
	old, new ended
	// Which parts of the outcome differ; empty if only stderr does.
	what []string
	// Only words in the file of -renamed differ.
	renamed bool
}

type caseResult struct {
	runs, equal int
	differences []difference
	// Of the runs of OLD.
	codes     map[string]int
	announced map[string]int
	mutated   int
	objects   int
	err       error
}

var divergence = regexp.MustCompile(`KYV-D[0-9]+`)

func announced(stderr []byte) []string {
	var found []string
	for _, number := range divergence.FindAll(stderr, -1) {
		found = append(found, string(number))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Runs a binary with an empty environment. Its argv[0] is the same for all builds, so that messages with it are equal.
func execute(s *settings, binary, folder, stdin string, args []string) ended {
	limit, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	process := exec.CommandContext(limit, binary)
	process.Args = append([]string{"kubectl-kyv"}, args...)
	process.Dir = folder
	process.Env = []string{}
	var stdout, stderr bytes.Buffer
	process.Stdout, process.Stderr = &stdout, &stderr
	if stdin != "" {
		file, err := os.Open(filepath.Join(folder, stdin))
		if err != nil {
			return ended{code: "did not start", stderr: []byte(err.Error())}
		}
		defer file.Close()
		process.Stdin = file
	}
	err := process.Run()
	code := "0"
	var exit *exec.ExitError
	switch {
	case limit.Err() != nil:
		code = "timed out"
	case errors.As(err, &exit) && exit.Exited():
		code = fmt.Sprint(exit.ExitCode())
	case errors.As(err, &exit):
		code = exit.Error()
	case err != nil:
		return ended{code: "did not start", stderr: []byte(err.Error())}
	}
	return ended{stdout: stdout.Bytes(), stderr: stderr.Bytes(), code: code}
}

func compareCase(s *settings, c *testCase) (result caseResult) {
	folder, commands := c.folder, c.commands
	if c.generate != nil {
		folder = filepath.Join(s.scratch, c.name)
		if result.err = os.MkdirAll(folder, 0o755); result.err != nil {
			return result
		}
		defer func() {
			if len(result.differences) == 0 && !s.keep {
				os.RemoveAll(folder)
			}
		}()
		if commands, result.err = c.generate(folder); result.err != nil {
			return result
		}
	}
	result.codes, result.announced = map[string]int{}, map[string]int{}
	for _, command := range commands {
		old := execute(s, s.old, folder, command.stdin, command.args)
		new := execute(s, s.new, folder, command.stdin, command.args)
		if old.code == "did not start" || new.code == "did not start" {
			result.err = fmt.Errorf("%s: a process did not start: %s%s", c.name, old.stderr, new.stderr)
			return result
		}
		result.runs++
		result.codes[old.code]++
		for _, number := range announced(old.stderr) {
			result.announced[number]++
		}
		if command.input != "" {
			result.objects++
			if len(old.stdout) > 0 && string(old.stdout) != command.input {
				result.mutated++
			}
		}
		if found := compare(s, command, old, new); found != nil {
			found.folder = folder
			result.differences = append(result.differences, *found)
		} else {
			result.equal++
		}
	}
	return result
}

// Returns nil if stdout, stderr and the exit code are equal.
func compare(s *settings, command command, old, new ended) *difference {
	found := &difference{command: command, old: old, new: new}
	sameText := bytes.Equal(old.stderr, new.stderr)
	sameStdout := bytes.Equal(old.stdout, new.stdout)
	if !sameStdout && command.report && equalButForWords(s.renames, old.stdout, new.stdout) {
		sameStdout, found.renamed = true, true
	}
	if !sameStdout {
		found.what = append(found.what, "stdout")
	}
	if old.code != new.code {
		found.what = append(found.what, fmt.Sprintf("exit code %s -> %s", old.code, new.code))
	}
	if before, after := announced(old.stderr), announced(new.stderr); !slices.Equal(before, after) {
		found.what = append(found.what, fmt.Sprintf("divergences %v -> %v", before, after))
	}
	if old.code == "timed out" && new.code == "timed out" {
		found.what = append(found.what, "both timed out, so nothing was compared")
	}
	if len(found.what) == 0 && sameText && !found.renamed {
		return nil
	}
	if !sameText {
		sameText = equalButForWords(s.renames, old.stderr, new.stderr)
		found.renamed = sameText
	}
	found.renamed = found.renamed && len(found.what) == 0
	return found
}

// Words of messages before and after.
type rename struct{ old, new string }

// A file of lines `OLD => NEW`; blank lines and lines that begin with `#` are comments.
func readRenames(path string) ([]rename, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var renames []rename
	for at, line := range strings.Split(string(text), "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		before, after, found := strings.Cut(line, " => ")
		if !found || before == "" {
			return nil, fmt.Errorf("%s:%d: expected `OLD => NEW`", path, at+1)
		}
		renames = append(renames, rename{before, after})
	}
	return renames, nil
}

// Whether the texts are equal after all renames, in the order of the file. They apply to both texts, since data may hold an
// old word that stays.
func equalButForWords(renames []rename, old, new []byte) bool {
	for _, rename := range renames {
		old = bytes.ReplaceAll(old, []byte(rename.old), []byte(rename.new))
		new = bytes.ReplaceAll(new, []byte(rename.old), []byte(rename.new))
	}
	return bytes.Equal(old, new)
}
