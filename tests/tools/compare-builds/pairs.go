package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// One pair in crossedOneIn combines a policy file of the tree with objects of other cases; in one of damagedOneIn, one line
// of the policy is damaged.
const (
	crossedOneIn = 5
	damagedOneIn = 25
)

// The second command of a pair is one of these; the first is always `mutate`.
var turns = []command{
	{args: []string{"explain", "-o", "json"}, report: true},
	{args: []string{"diff"}},
	{args: []string{"mutate", "-o", "json"}},
	{args: []string{"diff", "-o", "json"}, report: true},
	{args: []string{"mutate", "-o", "patch"}},
	{args: []string{"explain"}, report: true},
	{args: []string{"mutate", "--canonical", "--check-idempotent"}},
	{args: []string{"diff", "-o", "markdown", "--annotate"}, report: true},
	{args: []string{"fn"}, stdin: "function.yaml", report: true},
	{args: []string{"explain", "--all", "--strict"}, report: true},
}

// Documents for --context-from, which resolve context entries.
const contextFile = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: ops, labels: {team: a}}
data: {owner: blue, list: '["a", "b"]'}
---
apiVersion: v1
kind: Namespace
metadata: {name: prod, labels: {stage: live}}
---
apiVersion: kyverno.io/v2
kind: GlobalContextEntry
metadata: {name: maps}
spec:
  kubernetesResource: {version: v1, resource: configmaps, namespace: ops}
  projections:
  - {name: owners, jmesPath: "[].data.owner"}
`

// A definition whose lists merge by key.
const definitionFile = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              list:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, properties: {name: {type: string}}, x-kubernetes-preserve-unknown-fields: true}
`

const userFile = `apiVersion: cli.kyverno.io/v1alpha1
kind: UserInfo
metadata: {name: requester}
roles: [dev:edit]
clusterRoles: [view]
userInfo: {username: alice}
`

const valuesFile = `apiVersion: cli.kyverno.io/v1alpha1
kind: Values
metadata: {name: values}
globalValues: {v0.data.owner: green, v1: one}
namespaceSelector:
- {name: prod, labels: {stage: live}}
- {name: default, labels: {stage: dev}}
`

// The policy files and the single objects of the tree's cases.
type material struct{ policies, objects []string }

func pairCases(s *settings) ([]testCase, error) {
	if s.pairs == 0 || !slices.Contains(s.areas, "generated") {
		return nil, nil
	}
	found, err := readMaterial(s.tree)
	if err != nil {
		return nil, err
	}
	var cases []testCase
	for number := range s.pairs {
		cases = append(cases, testCase{area: "generated", name: fmt.Sprintf("pair-%d-%d", s.seed, number),
			generate: func(folder string) ([]command, error) { return writePair(s.seed, number, found, folder) }})
	}
	return cases, nil
}

func readMaterial(tree string) (material, error) {
	var found material
	cases, err := treeCases(tree)
	if err != nil {
		return found, err
	}
	for _, c := range cases {
		if c.area != "corpus" && c.area != "explain" {
			continue
		}
		policy, err := os.ReadFile(filepath.Join(c.folder, "policy.yaml"))
		if err != nil {
			return found, err
		}
		// A case about a missing file has none.
		input, _ := os.ReadFile(filepath.Join(c.folder, "input.yaml"))
		found.policies = append(found.policies, string(policy))
		for _, document := range strings.Split("\n"+string(input), "\n---\n") {
			if strings.Contains(document, "kind:") {
				found.objects = append(found.objects, strings.TrimPrefix(document, "\n"))
			}
		}
	}
	return found, nil
}

// Writes the files of a pair and returns its command lines.
func writePair(seed uint64, number int, found material, folder string) ([]command, error) {
	g := newGenerator(seed, number)
	files := map[string]string{}
	if number%crossedOneIn == 0 && len(found.policies) > 0 {
		g.context = true
		policy := pick(g, found.policies...)
		// Prefer objects of kinds that the policy names.
		var objects []string
		for range 1 + g.IntN(3) {
			made := pick(g, found.objects...)
			for tries := 0; tries < 5 && !strings.Contains(policy, kindOf(made)); tries++ {
				made = pick(g, found.objects...)
			}
			objects = append(objects, strings.TrimSuffix(made, "\n")+"\n")
		}
		g.legacy = strings.Contains(policy, "overlay:") || strings.Contains(policy, "patches:")
		files["policy.yaml"] = policy
		files["input.yaml"] = strings.Join(objects, "---\n")
	} else {
		g.writeGenerated(files)
	}
	if number%damagedOneIn == 1 {
		files["policy.yaml"] = g.damaged(files["policy.yaml"])
	}
	further := g.further(files)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	turn := pick(g, turns...)
	if turn.stdin != "" && files[turn.stdin] == "" {
		turn = turns[0]
	}
	mutate := command{args: []string{"mutate"}, input: files["input.yaml"]}
	inputs := append([]string{"-p", "policy.yaml", "-f", "input.yaml"}, further...)
	if turn.stdin != "" {
		return append(underBoth([]command{mutate}, inputs...), turn), nil
	}
	return underBoth([]command{mutate, turn}, inputs...), nil
}

// The first kind in a text of YAML.
func kindOf(text string) string {
	_, after, _ := strings.Cut(text, "kind:")
	kind, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	return strings.Trim(kind, " \r\"',}")
}

func (g *generator) writeGenerated(files map[string]string) {
	var objects []object
	for range pick(g, 1, 1, 2, 3) {
		kind := pick(g, allKinds...)
		objects = append(objects, g.object(kind))
		if kind == "List" {
			kind = "Pod"
		}
		g.kinds = append(g.kinds, kind)
	}
	layout := randomStyle(g.Rand)
	files["input.yaml"] = layout.write(objects...)
	if g.chance(0.03) {
		files["input.yaml"] = strings.ReplaceAll(files["input.yaml"], "\n", "\r\n")
	}
	policies := []object{g.policy("p0")}
	if g.chance(0.15) {
		policies = append(policies, g.policy("p1"))
	}
	plain := style{}
	files["policy.yaml"] = plain.write(policies...)
	if g.targets {
		files["targets.yaml"] = plain.write(g.object("ConfigMap"), g.object("Secret"), g.object("ConfigMap"))
	}
	if g.chance(0.08) {
		files["exceptions.yaml"] = plain.write(g.exception())
	}
	// `fn` has no flag that freezes the time.
	if !g.time {
		files["function.yaml"] = functionInput(objects, policies)
	}
}

// The pair as the ResourceList of a KRM function.
func functionInput(objects, policies []object) string {
	var items, inline list
	for _, made := range objects {
		items = append(items, made)
	}
	for _, policy := range policies {
		inline = append(inline, policy)
	}
	plain := style{}
	return plain.write(object{{"apiVersion", "config.kubernetes.io/v1"}, {"kind", "ResourceList"}, {"items", items},
		{"functionConfig", object{{"apiVersion", "kyv.dev/v1alpha1"}, {"kind", "Kyv"}, {"metadata", object{{"name", "kyv"}}},
			{"spec", object{{"policies", inline}}}}}})
}

// Further arguments, with the files that they name.
func (g *generator) further(files map[string]string) []string {
	var further []string
	with := func(flag, name, text string) {
		files[name] = text
		further = append(further, flag, name)
	}
	if g.context && g.chance(0.7) {
		with("--context-from", "context.yaml", contextFile)
	}
	if slices.Contains(g.kinds, "Widget") && g.chance(0.5) {
		with("--crds", "crds.yaml", definitionFile)
	}
	if g.chance(0.08) {
		with("--userinfo", "user.yaml", userFile)
	}
	if g.chance(0.1) {
		with("--values", "values.yaml", valuesFile)
	}
	for _, name := range []string{"targets", "exceptions"} {
		if files[name+".yaml"] != "" {
			further = append(further, "--"+name, name+".yaml")
		}
	}
	if g.targets && g.chance(0.25) {
		further = append(further, "--on-policy-update")
	} else if g.chance(0.12) {
		further = append(further, "--operation", pick(g, "UPDATE", "UPDATE", "DELETE", "CREATE", "CONNECT"))
	}
	if g.legacy && g.chance(0.7) {
		further = append(further, "--legacy", pick(g, "native", "smp", "doc"))
	}
	if g.chance(0.05) {
		further = append(further, "--set", pick(g, "request.operation=UPDATE", "v0=given", "request.object.metadata.name=other"))
	}
	if g.chance(0.06) {
		further = append(further, "--strict")
	}
	return further
}

// The text with one line changed, so that reading or checking it may fail.
func (g *generator) damaged(text string) string {
	lines := strings.Split(text, "\n")
	at := g.IntN(len(lines))
	switch g.IntN(6) {
	case 0:
		lines = slices.Delete(lines, at, at+1)
	case 1:
		lines = slices.Insert(lines, at, lines[at])
	case 2:
		lines[at] = " " + lines[at]
	case 3:
		lines[at] = strings.Replace(lines[at], pick(g, "a", "e", "s", ":", "{{", "("), pick(g, "", "x", "}}", "\t", ")"), 1)
	case 4:
		other := g.IntN(len(lines))
		lines[at], lines[other] = lines[other], lines[at]
	default:
		before, _, _ := strings.Cut(lines[at], ":")
		lines[at] = before + ": " + pick(g, "null", "5", "[]", "{}", "text", "\"{{ request.object }}\"")
	}
	return strings.Join(lines, "\n")
}
