package main

import (
	"slices"
	"strings"
)

// Where a kind holds its pod's spec.
func podPath(kind string) []string {
	switch {
	case kind == "CronJob":
		return []string{"spec", "jobTemplate", "spec", "template", "spec"}
	case slices.Contains(controllers, kind):
		return []string{"spec", "template", "spec"}
	default:
		return []string{"spec"}
	}
}

// The value nested below a path of keys.
func below(path []string, value any) object {
	for _, key := range slices.Backward(path) {
		value = object{{key, value}}
	}
	made, _ := value.(object)
	return made
}

func anchored(anchor, key string) string {
	if anchor == "" {
		return key
	}
	return strings.TrimSuffix(anchor, "(") + "(" + key + ")"
}

// A key, sometimes with an anchor.
func (g *generator) key(name string) string {
	if g.chance(0.82) {
		return name
	}
	if g.chance(0.03) {
		return anchored(pick(g, "=(", "X(", "^("), name)
	}
	return anchored(pick(g, "(", "+(", "+(", "+(", "<("), name)
}

// An overlay for patchStrategicMerge.
func (g *generator) overlay(kind string) object {
	made := object{}
	for range 1 + g.IntN(2) {
		made = merged(made, g.overlayPart(kind))
	}
	if g.chance(0.015) {
		made = made.with(pick(g, "$patch", "$retainKeys", "$setElementOrder/containers"), pick[any](g, "delete", "replace", "merge", list{"a"}))
	}
	return made
}

// Deep merge of two maps; b wins.
func merged(a, b object) object {
	for _, m := range b {
		old, isObject := a.get(m.key).(object)
		new, areBoth := m.value.(object)
		if isObject && areBoth {
			a = a.with(m.key, merged(old, new))
		} else {
			a = a.with(m.key, m.value)
		}
	}
	return a
}

func (g *generator) overlayPart(kind string) object {
	switch {
	case g.chance(0.35):
		return object{{"metadata", object{{g.key(pick(g, "labels", "labels", "annotations")), g.members(labelKeys)}}}}
	case kind == "ConfigMap":
		return object{{g.key("data"), g.members([]string{"mode", "key", "gone", "n", "a.b/c"})}}
	case kind == "Secret":
		return object{{pick(g, "stringData", "data"), g.members([]string{"mode", "key"})}}
	case kind == "Widget" && g.chance(0.5):
		return object{{"spec", object{{"list", list{object{{g.key("name"), pick(g, "a", "b", "c")}, {g.key("size"), g.value()}}}}}}}
	case kind == "Widget":
		return object{{"spec", g.freeOverlay(3)}}
	case kind == "Service":
		return object{{"spec", object{{"ports", list{object{{g.key("port"), pick[any](g, 80, 443)}, {g.key("name"), "p"}}}}}}}
	case slices.Contains(controllers, kind) && g.chance(0.1):
		return object{{"spec", object{{g.key("replicas"), pick[any](g, 3, ">2", "{{ add(request.object.spec.replicas, `1`) }}")}}}}
	default:
		return below(podPath(kind), g.podOverlay())
	}
}

func (g *generator) members(keys []string) any {
	made := object{}
	for range 1 + g.IntN(3) {
		key := g.key(pick(g, keys...))
		if g.chance(0.04) {
			key = "{{ request.object.metadata.name }}-" + key
		}
		made = made.with(key, g.value())
	}
	if g.chance(0.03) {
		return object{}
	}
	return made
}

func (g *generator) freeOverlay(depth int) any {
	if depth == 0 || g.chance(0.2) {
		return g.value()
	}
	if g.chance(0.25) {
		items := list{}
		for range g.IntN(3) {
			items = append(items, g.freeOverlay(depth-1))
		}
		return items
	}
	made := object{}
	for range 1 + g.IntN(3) {
		made = made.with(g.key(pick(g, "a", "b", "name", "list", "size", "text", "map")), g.freeOverlay(depth-1))
	}
	return made
}

func (g *generator) podOverlay() object {
	made := object{}
	for range 1 + g.IntN(2) {
		switch g.IntN(9) {
		case 0:
			made = made.with(g.key("hostNetwork"), g.chance(0.5))
		case 1:
			made = made.with(g.key("nodeSelector"), g.members(labelKeys))
		case 2:
			made = made.with(g.key("volumes"), list{object{{pick(g, "<(emptyDir)", "(emptyDir)", "emptyDir"), object{}}, {"name", pick(g, "scratch", "new")}}})
		case 3:
			made = made.with("tolerations", list{object{{g.key("key"), pick(g, "spot", "gpu", "new")}, {g.key("operator"), "Equal"}}})
		case 4:
			made = made.with(g.key("securityContext"), object{{g.key("runAsNonRoot"), true}, {"supplementalGroups", list{1, 3000}}})
		case 5:
			made = made.with("imagePullSecrets", list{object{{"name", g.template()}}})
		default:
			made = made.with(pick(g, "containers", "containers", "containers", "initContainers", "(containers)"), g.containersOverlay())
		}
	}
	return made
}

func (g *generator) containersOverlay() list {
	var items list
	for range pick(g, 1, 1, 1, 2) {
		item := object{}
		switch g.IntN(5) {
		case 0, 1:
			item = item.with("(name)", pick(g, "*", "*", "w*", "?", "!db", "web|db"))
		case 2:
			item = item.with("name", pick(g, "web", "db", "new"))
		case 3:
			item = item.with(pick(g, "(image)", "<(image)"), pick(g, "*:latest", "nginx*", "!*:latest", "*/*"))
		}
		for range 1 + g.IntN(2) {
			item = merged(item, g.containerPart())
		}
		items = append(items, item)
	}
	return items
}

func (g *generator) containerPart() object {
	switch g.IntN(8) {
	case 0:
		return object{{g.key("imagePullPolicy"), pick(g, "Always", "IfNotPresent")}}
	case 1:
		return object{{g.key("securityContext"), object{{g.key("privileged"), g.chance(0.5)}}}}
	case 2:
		return object{{"resources", object{{g.key("requests"), object{{g.key("memory"), pick(g, "128Mi", "<100Mi")}, {"cpu", raw("0.5")}}}}}}
	case 3:
		return object{{"ports", list{object{{g.key("containerPort"), pick[any](g, 53, 8080, 9090)}, {pick(g, "protocol", "name"), pick(g, "UDP", "TCP")}}}}}
	case 4:
		return object{{"env", list{object{{g.key("name"), pick(g, "MODE", "A", "NEW")}, {"value", g.template()}}}}}
	case 5:
		return object{{"env", list{object{{"name", "A"}, {"$patch", pick(g, "delete", "replace", "other")}}}}}
	case 6:
		return object{{g.key("args"), pick[any](g, list{"--x"}, list{}, list{g.template()})}}
	default:
		return object{{g.key("image"), g.template()}}
	}
}

// The text of a JSON patch.
func (g *generator) jsonPatch(kind string) any {
	operations := list{}
	for range 1 + g.IntN(3) {
		operations = append(operations, g.operation(kind, "add", "add", "add", "add", "add", "replace", "replace", "remove", "copy", "move", "test"))
	}
	plain := style{}
	switch g.IntN(40) {
	case 0:
		return operations
	case 1, 2, 3:
		return plain.inline(operations)
	case 4:
		return block("[" + strings.TrimPrefix(plain.inline(operations), "["))
	default:
		var text strings.Builder
		plain.items(&text, operations, 0)
		return block(text.String())
	}
}

func (g *generator) operation(kind string, ops ...string) object {
	op := pick(g, ops...)
	if g.chance(0.015) {
		op = pick(g, "Add", "merge", "")
	}
	made := object{{"op", op}, {"path", g.pointer(kind)}}
	switch op {
	case "copy", "move":
		return made.with("from", g.pointer(kind))
	case "remove":
		return made
	default:
		var value any = g.value()
		if g.chance(0.25) {
			value = pick[any](g, object{{"name", "new"}, {"image", "x:1"}}, list{"a", 1}, object{}, list{})
		}
		return made.with("value", value)
	}
}

func (g *generator) pointer(kind string) string {
	pod := "/" + strings.Join(podPath(kind), "/")
	index := pick(g, "0", "0", "1", "-", "-1", "7")
	if g.loops > 0 && g.chance(0.7) {
		index = "{{elementIndex}}"
	}
	if g.chance(0.03) {
		return "/metadata/labels/{{ request.object.metadata.name }}"
	}
	own := []string{"/spec/replicas", "/spec/a", "/spec/list/0", "/spec/new/deep/0/x"}
	switch kind {
	case "Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob":
		own = []string{pod + "/containers/" + index, pod + "/containers/" + index + "/image", pod + "/containers/" + index + "/env/-",
			pod + "/containers/" + index + "/securityContext/privileged", pod + "/tolerations/" + index, pod + "/volumes/-", pod + "/hostNetwork"}
	case "ConfigMap", "Secret":
		own = []string{"/data/mode", "/data/key", "/data/a.b~1c", "/data/list"}
	}
	if g.chance(0.6) {
		return pick(g, own...)
	}
	return pick(g, "/metadata/labels/app", "/metadata/labels/new", "/metadata/annotations/owner", "/metadata/labels",
		"/metadata/labels/app.kubernetes.io~1name", "/metadata/annotations/a~0b", "/metadata/name")
}

// One of the two kinds of patch, as members of `mutate` or of a loop.
func (g *generator) patch(kind string) object {
	if g.chance(0.3) {
		return object{{"patchesJson6902", g.jsonPatch(kind)}}
	}
	made := object{{"patchStrategicMerge", g.overlay(kind)}}
	if g.chance(0.01) {
		made = append(made, member{"patchesJson6902", g.jsonPatch(kind)})
	}
	return made
}

func (g *generator) mutation(kind string) object {
	switch {
	case g.chance(0.22):
		loops := list{}
		for range pick(g, 1, 1, 1, 2) {
			loops = append(loops, g.loop(kind, 0))
		}
		return object{{"foreach", loops}}
	case g.chance(0.06):
		g.legacy = true
		if g.chance(0.5) {
			return object{{"overlay", g.overlay(kind)}}
		}
		operations := list{}
		for range 1 + g.IntN(2) {
			operations = append(operations, g.operation(kind, "add", "add", "replace", "remove"))
		}
		return object{{"patches", operations}}
	case g.chance(0.09):
		return g.existing()
	default:
		return g.patch(kind)
	}
}

func (g *generator) loop(kind string, depth int) object {
	pod := "request.object." + strings.Join(podPath(kind), ".")
	lists := []string{pod + ".containers", pod + ".containers", pod + ".containers", pod + ".initContainers || `[]`", pod + ".volumes || `[]`", pod + ".volumes",
		"['a', 'b']", "items(request.object.metadata.labels || `{}`, 'key', 'value')", g.listOf(1)}
	if depth > 0 {
		lists = append(lists, "element.ports || `[]`", "element.ports || `[]`", "element.env || `[]`", "element.env || `[]`")
	}
	chosen := pick(g, lists...)
	if g.chance(0.02) {
		chosen = pick(g, "{{ "+pod+".containers }}", "request.object.data")
	}
	made := object{{"list", chosen}}
	g.loops++
	defer func() { g.loops-- }()
	if depth < 2 && g.chance(0.2) {
		return append(made, member{"foreach", list{g.loop(kind, depth+1)}})
	}
	if g.chance(0.2) {
		made = append(made, member{"order", pick(g, "Ascending", "Descending")})
	}
	if g.chance(0.15) {
		made = append(made, member{"context", list{object{{"name", "inner"}, {"variable", object{{"jmesPath", g.text(1)}}}}}})
	}
	if g.chance(0.35) {
		made = append(made, member{"preconditions", g.blocks()})
	}
	if g.chance(0.6) {
		return append(made, member{"patchStrategicMerge", below(podPath(kind), object{{"containers",
			list{merged(object{{pick(g, "(name)", "(name)", "name"), "{{ element.name }}"}}, g.containerPart())}}})})
	}
	return append(made, g.patch(kind)...)
}

// A mutate-existing rule body: targets and a patch.
func (g *generator) existing() object {
	g.targets = true
	targets := list{}
	for range 1 + g.IntN(2) {
		target := object{{"apiVersion", "v1"}, {"kind", pick(g, "Secret", "ConfigMap", "ConfigMap")},
			{"name", pick(g, "*", "a", "web", "w*", "{{ request.object.metadata.name }}")}}
		if g.chance(0.8) && !g.namespaced {
			target = target.with("namespace", pick(g, "default", "*", "shop", "{{ request.object.metadata.namespace || 'default' }}"))
		}
		if g.chance(0.15) {
			target = target.with("selector", object{{"matchLabels", g.labels(1)}})
		}
		g.inTargets = true
		if g.chance(0.2) {
			target = target.with("preconditions", g.blocks())
		}
		targets = append(targets, target)
	}
	g.inTargets = true
	made := append(object{{"targets", targets}}, g.patch("ConfigMap")...)
	g.inTargets = false
	if g.chance(0.5) {
		made = append(made, member{"mutateExistingOnPolicyUpdate", g.chance(0.7)})
	}
	return made
}
