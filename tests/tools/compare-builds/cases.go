package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Fixed time and random seed.
var frozen = []string{"--now", "2026-01-31T12:00:00Z", "--seed", "7"}

var bothSemantics = []string{"documented", "kyverno"}

// The commands and formats that run on a policy and objects.
var formats = []command{
	{args: []string{"mutate", "-o", "yaml"}},
	{args: []string{"mutate", "-o", "json"}},
	{args: []string{"mutate", "-o", "patch"}},
	{args: []string{"mutate", "--canonical"}},
	{args: []string{"diff"}},
	{args: []string{"diff", "-o", "json"}, report: true},
	{args: []string{"explain", "-o", "json"}, report: true},
	{args: []string{"explain"}, report: true},
}

// All cases of the chosen areas.
func collect(s *settings) ([]testCase, error) {
	var cases []testCase
	found, err := treeCases(s.tree)
	if err != nil {
		return nil, err
	}
	if s.conformance == "" {
		fmt.Fprintln(os.Stderr, "skipped: conformance and catalogue; neither -conformance nor KYV_CONFORMANCE names a folder")
	} else {
		more, err := conformanceCases(s)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	pairs, err := pairCases(s)
	if err != nil {
		return nil, err
	}
	found = append(found, pairs...)
	for _, name := range s.areas {
		before := len(cases)
		skipped := s.conformance == "" && (name == "conformance" || name == "catalogue")
		for _, c := range found {
			if c.area == name && strings.Contains(c.name, s.only) {
				cases = append(cases, c)
			}
		}
		if len(cases) == before && s.only == "" && !skipped && !(name == "generated" && s.pairs == 0) {
			return nil, fmt.Errorf("no case of area %s below %s", name, s.tree)
		}
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("no case is called *%s*", s.only)
	}
	return cases, nil
}

// The case folders of the source tree, by what they hold.
func treeCases(tree string) ([]testCase, error) {
	root := filepath.Join(tree, "tests")
	var cases []testCase
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if entry.Name() == "target" || entry.Name() == "fuzz" {
			return fs.SkipDir
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		c := testCase{name: name, folder: path}
		switch {
		case has(path, "kyverno-test.yaml"), has(path, "kyverno-test.yml"):
			c.area, c.commands = "suites", suiteCommands(".")
		case isFunctionCase(path):
			c.area = "krm"
			c.commands = []command{{args: []string{"fn"}, stdin: "input.yaml", report: true}, {stdin: "input.yaml", report: true}}
		case has(path, "policy.yaml") && has(path, "manifests"):
			c.area, c.commands = "diff", manifestCommands(path)
		case has(path, "policy.yaml") && has(path, "input.yaml") && has(path, "expected.txt"):
			c.area, c.commands = "explain", explainCommands(path)
		case has(path, "policy.yaml"):
			c.area, c.commands = "corpus", corpusCommands(path)
		default:
			return nil
		}
		cases = append(cases, c)
		return nil
	})
	return cases, err
}

func has(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}

func isFunctionCase(folder string) bool {
	text, err := os.ReadFile(filepath.Join(folder, "input.yaml"))
	return err == nil && strings.Contains(string(text), "ResourceList")
}

// The command lines of `commands`, each with further arguments, under both semantics and with frozen inputs.
func underBoth(commands []command, further ...string) []command {
	var all []command
	for _, semantics := range bothSemantics {
		for _, command := range commands {
			command.args = slices.Concat(command.args, further, []string{"--semantics", semantics}, frozen)
			all = append(all, command)
		}
	}
	return all
}

// The further arguments of a case: one each line of its file `options`.
func options(folder string) []string {
	text, _ := os.ReadFile(filepath.Join(folder, "options"))
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })
}

// As the corpus test runs a case, in all formats.
func corpusCommands(folder string) []command {
	arguments := []string{"-p", "policy.yaml", "-f", "input.yaml"}
	for _, name := range []string{"targets", "exceptions", "old"} {
		if has(folder, name+".yaml") {
			arguments = append(arguments, "--"+name, name+".yaml")
		}
	}
	commands := slices.Clone(formats)
	if text, err := os.ReadFile(filepath.Join(folder, "input.yaml")); err == nil {
		commands[0].input = string(text)
	}
	return underBoth(commands, append(arguments, options(folder)...)...)
}

func explainCommands(folder string) []command {
	text := command{args: []string{"explain"}, report: true}
	json := command{args: []string{"explain", "-o", "json"}, report: true}
	further := append([]string{"-p", "policy.yaml", "-f", "input.yaml"}, options(folder)...)
	if slices.Contains(further, "-o") {
		return underBoth([]command{text}, further...)
	}
	return underBoth([]command{text, json}, further...)
}

// A folder of manifests in many files.
func manifestCommands(folder string) []command {
	diff := underBoth([]command{{args: []string{"diff"}}}, append([]string{"-p", "policy.yaml", "-f", "manifests", "-R"}, options(folder)...)...)
	return append(diff, underBoth(formats, "-p", "policy.yaml", "-f", "manifests", "-R")...)
}

func suiteCommands(path string) []command {
	return underBoth([]command{
		{args: []string{"test", path, "-o", "json"}, report: true},
		{args: []string{"test", path, "--detailed-results"}, report: true},
	})
}
