package main

import (
	"fmt"
	"strings"
)

var operators = []string{"Equals", "Equals", "NotEquals", "In", "NotIn", "AnyIn", "AllIn", "AnyNotIn", "AllNotIn", "GreaterThan", "LessThan",
	"GreaterThanOrEquals", "LessThanOrEquals", "DurationGreaterThan", "DurationLessThan"}

// Preconditions of a rule: blocks, or the older plain list.
func (g *generator) preconditions() any {
	if g.chance(0.1) {
		return list{g.oneCondition()}
	}
	return g.blocks()
}

func (g *generator) blocks() object {
	conditions := func() list {
		items := list{}
		for range 1 + g.IntN(2) {
			items = append(items, g.oneCondition())
		}
		return items
	}
	switch g.IntN(8) {
	case 0:
		return object{{"any", conditions()}, {"all", conditions()}}
	case 1, 2, 3:
		return object{{"any", conditions()}}
	default:
		return object{{"all", conditions()}}
	}
}

func (g *generator) oneCondition() object {
	var key, value any = g.variable(), g.value()
	switch g.IntN(16) {
	case 10, 11, 12, 13, 14:
		// True for most objects.
		return pick(g, object{{"key", "{{ request.object.metadata.name || '' }}"}, {"operator", "NotEquals"}, {"value", "nobody"}},
			object{{"key", key}, {"operator", "AnyNotIn"}, {"value", list{"nothing", "of-this"}}},
			object{{"key", "{{ request.operation || 'BACKGROUND' }}"}, {"operator", "AnyIn"}, {"value", list{"CREATE", "UPDATE", "BACKGROUND"}}},
			object{{"key", "{{ " + g.listOf(0) + " | length(@) }}"}, {"operator", "GreaterThanOrEquals"}, {"value", 0}})
	case 0:
		key, value = "{{ "+g.number(1)+" }}", pick[any](g, 1, 3, "3", "1Gi", "2h", raw("1.5"))
	case 1:
		key = "{{ " + g.listOf(1) + " }}"
		value = list{pick(g, "a", "web"), pick(g, "b", "nginx*")}
	case 2:
		key, value = "{{ request.operation || 'BACKGROUND' }}", pick[any](g, "CREATE", list{"CREATE", "UPDATE"}, "BACKGROUND")
	case 3:
		key, value = "{{ "+g.condition(1)+" }}", g.chance(0.5)
	case 4:
		value = list{g.template(), pick(g, texts...), g.IntN(10)}
	case 5:
		key, value = "{{ request.object.metadata.name || '' }}", pick(g, "*", "w*", "a", "")
	}
	made := object{{"key", key}, {"operator", pick(g, operators...)}, {"value", value}}
	if g.chance(0.1) {
		made = append(made, member{"message", "because of " + g.variable()})
	}
	return made
}

func (g *generator) kind() string {
	if g.chance(0.8) {
		return pick(g, g.kinds...)
	}
	return pick(g, allKinds[:len(allKinds)-1]...)
}

func (g *generator) filter(kinds list) object {
	g.noBackground = g.noBackground || strings.HasPrefix(fmt.Sprint(kinds[0]), "*")
	resources := object{{"kinds", kinds}}
	if g.chance(0.12) {
		resources = resources.with("names", list{pick(g, "*", "w*", "web", "?")})
	}
	if g.chance(0.12) && (!g.namespaced || g.chance(0.05)) {
		resources = resources.with("namespaces", list{pick(g, "*", "prod*", "default", "shop")})
	}
	if g.chance(0.12) {
		resources = resources.with("selector", pick(g, object{{"matchLabels", object{{pick(g, "app", "*"), pick(g, "*", "web", "?*")}}}},
			object{{"matchExpressions", list{object{{"key", "app"}, {"operator", pick(g, "Exists", "DoesNotExist")}}}}},
			object{{"matchExpressions", list{object{{"key", "app"}, {"operator", pick(g, "In", "NotIn")}, {"values", list{"web", "db"}}}}}}))
	}
	if g.chance(0.05) {
		resources = resources.with("annotations", object{{"owner", "*"}})
	}
	if g.chance(0.06) {
		resources = resources.with("namespaceSelector", object{{"matchLabels", object{{"stage", "live"}}}})
	}
	if g.chance(0.1) {
		resources = resources.with("operations", list{pick(g, "CREATE", "UPDATE", "DELETE"), "CREATE"}[g.IntN(2):])
	}
	made := object{{"resources", resources}}
	if g.chance(0.06) {
		g.noBackground = g.noBackground || g.chance(0.9)
		made = append(made, pick(g, member{"subjects", list{object{{"kind", "User"}, {"name", "alice"}}}}, member{"clusterRoles", list{"view"}},
			member{"roles", list{"dev:edit"}}))
	}
	return made
}

func (g *generator) match(kind string) object {
	kinds := list{}
	switch g.IntN(10) {
	case 0:
		kinds = list{apiVersion(kind) + "/" + kind}
	case 1:
		kinds = list{kind, g.kind()}
	case 2:
		kinds = list{pick(g, "*/"+kind, "*/"+kind, "*", kind+"/status", kind[:2]+"*")}
	default:
		kinds = list{kind}
	}
	filters := list{g.filter(kinds)}
	if g.chance(0.15) {
		filters = append(filters, g.filter(list{g.kind()}))
	}
	switch g.IntN(6) {
	case 0:
		return g.filter(kinds)
	case 1:
		return object{{"all", filters}}
	default:
		return object{{"any", filters}}
	}
}

func (g *generator) contextEntries() list {
	entries := list{}
	for at := range 1 + g.IntN(2) {
		name := fmt.Sprintf("v%d", at)
		var m member
		switch g.IntN(9) {
		case 0:
			m = member{"configMap", object{{"name", pick(g, "settings", "missing")}, {"namespace", pick(g, "ops", "{{ request.namespace }}")}}}
		case 1:
			m = member{"apiCall", object{{"urlPath", pick(g, "/api/v1/namespaces/ops/configmaps", "/api/v1/namespaces/ops/configmaps/settings",
				"/apis/apps/v1/deployments")}, {"jmesPath", pick(g, "items | length(@)", "items[].data.owner", "data", "@")}}}
		case 2:
			m = member{"globalReference", object{{"name", pick(g, "maps", "maps.owners", "nowhere")}, {"jmesPath", pick(g, "@", "[0]", "length(@)")}}}
		case 3:
			m = member{"variable", object{{"value", pick[any](g, object{{"a", g.value()}, {"b", 1}}, list{"x", g.template()}, g.value())}}}
		case 4:
			m = member{"variable", object{{"jmesPath", g.path()}, {"default", g.value()}}}
		case 5:
			m = member{"variable", object{{"value", object{{"a", "x"}, {"b", g.template()}}}, {"jmesPath", pick(g, "a", "b", "keys(@)")}}}
		case 6:
			m = member{"imageRegistry", object{{"reference", pick(g, "nginx:latest", "ghcr.io/org/app:1")}, {"jmesPath", pick(g, "registry", "configData.config.User")}}}
		default:
			m = member{"variable", object{{"jmesPath", g.text(1)}}}
		}
		g.context = g.context || m.key != "variable"
		entries = append(entries, object{{"name", name}, m})
		g.variables = append(g.variables, name)
	}
	return entries
}

func (g *generator) rule(at int) object {
	kind := g.kind()
	match := g.match(kind)
	made := object{{"name", fmt.Sprintf("r%d", at)}, {"match", match}}
	g.variables = nil
	if g.chance(0.15) && match.get("resources") == nil {
		excluded := g.filter(list{g.kind()})
		resources, _ := excluded.get("resources").(object)
		made = append(made, member{"exclude", object{{"any", list{excluded.with("resources",
			resources.with("names", list{pick(g, "web", "db", "c")}))}}}})
	}
	if g.chance(0.25) {
		made = append(made, member{"context", g.contextEntries()})
	}
	if g.chance(0.35) {
		made = append(made, member{"preconditions", g.preconditions()})
	}
	if g.chance(0.02) {
		made = append(made, member{"skipBackgroundRequests", true})
	}
	switch {
	case g.chance(0.02):
		return append(made, member{"validate", object{{"message", "m"}, {"pattern", object{{"metadata", object{{"name", "?*"}}}}}}})
	default:
		return append(made, member{"mutate", g.mutation(kind)})
	}
}

func (g *generator) policy(name string) object {
	kind := "ClusterPolicy"
	if g.chance(0.1) {
		kind = "Policy"
	}
	meta := object{{"name", name}}
	g.namespaced, g.noBackground = kind == "Policy", false
	if kind == "Policy" && g.chance(0.7) {
		meta = meta.with("namespace", pick(g, "default", "shop", "prod"))
	}
	if g.chance(0.25) {
		meta = meta.with("annotations", object{{"pod-policies.kyverno.io/autogen-controllers",
			pick(g, "none", "none", "none", "Deployment", "Deployment", "Deployment,CronJob", "DaemonSet,Job")}})
	}
	var spec object
	if g.chance(0.1) {
		spec = spec.with("applyRules", pick(g, "One", "All"))
	}
	if g.chance(0.1) {
		spec = spec.with("failurePolicy", pick(g, "Ignore", "Fail"))
	}
	rules := list{}
	for at := range pick(g, 1, 1, 1, 2, 2, 3) {
		rules = append(rules, g.rule(at))
	}
	if g.noBackground || g.chance(0.1) {
		spec = spec.with("background", false)
	}
	if g.targets && len(rules) == 1 && g.chance(0.3) {
		spec = spec.with("mutateExistingOnPolicyUpdate", true)
	}
	if g.chance(0.015) {
		spec = spec.with(pick(g, "rulez", "Background", "validationFailureAction", "webhookConfiguration"), pick[any](g, "Audit", true, object{}))
	}
	version := "kyverno.io/v1"
	if g.chance(0.06) {
		version = "kyverno.io/v2beta1"
	}
	return object{{"apiVersion", version}, {"kind", kind}, {"metadata", meta},
		{"spec", spec.with("rules", rules)}}
}

func (g *generator) exception() object {
	return object{{"apiVersion", "kyverno.io/v2"}, {"kind", "PolicyException"}, {"metadata", object{{"name", "leave"}, {"namespace", "default"}}},
		{"spec", object{{"exceptions", list{object{{"policyName", pick(g, "p0", "*")}, {"ruleNames", list{pick(g, "r0", "*", "autogen-*")}}}}},
			{"match", object{{"any", list{g.filter(list{g.kind()})}}}}}}}
}
