package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The files that a Kyverno test suite names.
type suite struct {
	folder                                           string
	policies, resources, targets, exceptions, others []string
}

// Each suite with `test`, the files it names with every command (conformance), and every policy on every resource of all
// suites at once (catalogue).
func conformanceCases(s *settings) ([]testCase, error) {
	root, err := filepath.Abs(s.conformance)
	if err != nil {
		return nil, err
	}
	var cases []testCase
	var policies, resources []string
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != "kyverno-test.yaml" && entry.Name() != "kyverno-test.yml" {
			return err
		}
		folder := filepath.Dir(path)
		name, err := filepath.Rel(root, folder)
		if err != nil {
			return err
		}
		found, err := readSuite(path)
		if err != nil {
			return err
		}
		if len(found.policies) == 0 || len(found.resources) == 0 {
			fmt.Fprintf(os.Stderr, "%s names no policies or no resources: only `test` runs on it\n", path)
		}
		commands := suiteCommands(".")
		commands = append(commands, underBoth(formats, found.arguments()...)...)
		cases = append(cases, testCase{area: "conformance", name: name, folder: folder, commands: commands})
		for _, file := range found.policies {
			policies = append(policies, filepath.Join(folder, file))
		}
		for _, file := range found.resources {
			resources = append(resources, filepath.Join(folder, file))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return append(cases, catalogueCases(root, policies, resources)...), nil
}

func catalogueCases(root string, policies, resources []string) []testCase {
	slices.Sort(policies)
	slices.Sort(resources)
	var files []string
	for _, file := range slices.Compact(resources) {
		files = append(files, "-f", file)
	}
	var cases []testCase
	for _, policy := range slices.Compact(policies) {
		name, err := filepath.Rel(root, policy)
		if err != nil {
			name = policy
		}
		commands := underBoth([]command{formats[0], {args: []string{"explain", "-o", "json"}, report: true}},
			append([]string{"-p", policy}, files...)...)
		cases = append(cases, testCase{area: "catalogue", name: name, folder: root, commands: commands})
	}
	return cases
}

func (found *suite) arguments() []string {
	var arguments []string
	for _, flag := range []struct {
		name  string
		files []string
	}{{"-p", found.policies}, {"-f", found.resources}, {"--targets", found.targets}, {"--exceptions", found.exceptions}} {
		for _, file := range flag.files {
			arguments = append(arguments, flag.name, file)
		}
	}
	return append(arguments, found.others...)
}

// Reads the files of a suite. Not a YAML parser: it knows top-level lists and scalars in the layout of these suites.
func readSuite(path string) (*suite, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	found := &suite{folder: filepath.Dir(path)}
	lists := map[string]*[]string{"policies": &found.policies, "resources": &found.resources, "resource": &found.resources,
		"targetResources": &found.targets, "exceptions": &found.exceptions}
	files := map[string]string{"variables": "--values", "userinfo": "--userinfo"}
	var current *[]string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n ")
		key, value, isField := strings.Cut(line, ":")
		value = unquoted(strings.TrimSpace(value))
		switch item := strings.TrimLeft(line, " "); {
		case strings.HasPrefix(item, "- ") && current != nil:
			if file := unquoted(strings.TrimPrefix(item, "- ")); has(found.folder, file) {
				*current = append(*current, file)
			}
		case line == "" || !isField || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "-"):
		case files[key] != "":
			current = nil
			found.others = append(found.others, files[key], value)
		default:
			current = lists[key]
			if current != nil && value != "" {
				for _, file := range strings.Split(strings.Trim(value, "[]"), ",") {
					*current = append(*current, unquoted(strings.TrimSpace(file)))
				}
			}
		}
	}
	return found, nil
}

func unquoted(text string) string {
	return strings.Trim(strings.TrimSpace(text), `"'`)
}
