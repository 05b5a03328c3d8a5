package main

import (
	"fmt"
	"strings"
)

// JMESPath expressions and texts with variables.

// A path into the data of a rule.
func (g *generator) path() string {
	root := "request.object"
	switch {
	case g.inTargets && g.chance(0.6):
		root = "target"
	case g.loops > 0 && g.chance(0.6):
		return g.elementPath()
	case len(g.variables) > 0 && g.chance(0.5):
		return pick(g, g.variables...) + pick(g, "", "", ".data.owner", "[0]", ".a")
	case g.chance(0.06):
		return pick(g, "request.operation", "request.namespace", "request.userInfo.username", "request.oldObject.metadata.name",
			"serviceAccountName", "request.uid", "request.name", "images.containers.web.tag", `images.containers."c-0".registry`,
			"images.containers.*.path[]", "request.kind.kind", "nowhere.at.all")
	}
	pod := "." + strings.Join(podPath(pick(g, g.kinds...)), ".")
	if g.chance(0.85) {
		return root + pick(g, ".metadata.name", ".metadata.name", ".metadata.name", ".metadata.namespace", ".metadata.labels.app",
			".metadata.labels.team", `.metadata.labels."app.kubernetes.io/name"`, ".metadata.annotations.owner", ".data.mode", ".data.key",
			pod+".containers[0].image", pod+".containers[0].name", pod+".containers[?name=='web'].image | [0]", ".spec.text", ".kind")
	}
	return root + pick(g, ".metadata.labels", ".spec.replicas", ".data.n", ".data", ".data.list", pod+".containers", pod+".containers[].name",
		pod+".containers[*].image", pod+".volumes[].name", pod+".hostNetwork", pod+".containers[].ports[].containerPort", ".spec.a",
		".spec.list", ".spec.size", ".spec.ports[0].port", "")
}

func (g *generator) elementPath() string {
	if g.loops > 1 && g.chance(0.3) {
		return fmt.Sprintf("element%d", g.IntN(g.loops)) + pick(g, ".name", "", ".image")
	}
	if g.chance(0.7) {
		return "element" + pick(g, ".name", ".name", ".image")
	}
	return "element" + pick(g, "", ".ports[0].containerPort", ".ports[].containerPort", ".env", ".resources.requests.memory",
		".securityContext.privileged", ".key", ".value")
}

// An expression that mostly evaluates to a text.
func (g *generator) text(depth int) string {
	if depth == 0 {
		if g.chance(0.93) {
			return fmt.Sprintf("(%s || '%s')", g.path(), pick(g, "none", "x", "10", ""))
		}
		return g.path()
	}
	a := func() string { return g.text(depth - 1) }
	switch g.IntN(24) {
	case 0:
		return "to_upper(" + a() + ")"
	case 1:
		return "to_lower(" + a() + ")"
	case 2:
		return fmt.Sprintf("join('%s', %s)", pick(g, ",", "-", ""), g.listOf(depth-1))
	case 3:
		return fmt.Sprintf("replace_all(%s, '%s', '%s')", a(), pick(g, "a", "-", "/"), pick(g, "", "_", "bb"))
	case 4:
		return fmt.Sprintf("regex_replace_all('%s', %s, '%s')", pick(g, "[0-9]+", "([a-z])(-?)", "^.*/", "("), a(), pick(g, "$1", "x", "${1}y"))
	case 5:
		return fmt.Sprintf("truncate(%s, `%d`)", a(), g.IntN(6))
	case 6:
		return fmt.Sprintf("trim(%s, '%s')", a(), pick(g, "a", "-", " "))
	case 7:
		return "base64_encode(" + a() + ")"
	case 8:
		return "base64_decode(base64_encode(" + a() + "))"
	case 9:
		return pick(g, "sha256", "md5", "sha1") + "(" + a() + ")"
	case 10:
		return "to_string(" + g.number(depth-1) + ")"
	case 11:
		return "to_string(" + g.condition(depth-1) + ")"
	case 12:
		return fmt.Sprintf("split(%s, '%s')[%d]", a(), pick(g, "-", "/", ":"), g.IntN(3)-1)
	case 13:
		return "random('[a-z]{4}')"
	case 14:
		g.time = true
		return pick(g, "time_now_utc()", "time_add(time_now_utc(), '1h')", "time_to_cron('2026-01-31T12:00:00Z')",
			"time_truncate(time_now_utc(), '24h')")
	case 15:
		return fmt.Sprintf("not_null(%s, %s)", g.path(), a())
	case 16:
		return "to_string(" + g.listOf(depth-1) + ")"
	case 17:
		return fmt.Sprintf("path_canonicalize(%s)", a())
	case 18:
		return fmt.Sprintf("image_normalize(%s)", a())
	case 19:
		return "type(" + g.path() + ")"
	case 20:
		return pick(g, "parse_yaml", "parse_json") + "(" + a() + ")"
	case 21:
		return fmt.Sprintf("[%s, %s] | %s", a(), a(), pick(g, "[0]", "[-1]", "join('+', @)", "sort(@)[0]", "reverse(@)[0]"))
	case 22:
		if g.chance(0.3) {
			return pick(g, "join(',', split('a/b' '/'))", "[`1` `2`] | to_string(@)", "regex_replace_all('1', `0.1`, `0.7`)", "replace_all('x' 'x', 'y')")
		}
		return pick(g, "reverse(", "to_string(", "trim_prefix(") + a() + pick(g, ")", ", 'a')")
	default:
		return g.text(0)
	}
}

func (g *generator) number(depth int) string {
	if depth <= 0 {
		return pick(g, "`1`", "`2.5`", "`1000000`", "(request.object.spec.replicas || `3`)", "length("+g.listOf(0)+")", "to_number('12')",
			"request.object.spec.replicas", "elementIndex")
	}
	a, b := g.number(depth-1), g.number(depth-1)
	switch g.IntN(7) {
	case 0, 1:
		return fmt.Sprintf("%s(%s, %s)", pick(g, "add", "subtract", "multiply", "divide", "modulo"), a, b)
	case 2:
		return fmt.Sprintf("%s('%s', '%s')", pick(g, "add", "subtract", "divide"), pick(g, "100Mi", "2h", "500m"), pick(g, "1Gi", "30m", "250m"))
	case 3:
		return pick(g, "sum", "max", "min", "avg") + "([" + a + ", " + b + "])"
	case 4:
		return fmt.Sprintf("round(%s, `%d`)", a, g.IntN(3))
	case 5:
		return pick(g, "ceil", "floor", "abs") + "(" + a + ")"
	default:
		return "compare(" + g.text(0) + ", 'm')"
	}
}

func (g *generator) condition(depth int) string {
	a := g.text(max(depth-1, 0))
	switch g.IntN(9) {
	case 0:
		return fmt.Sprintf("%s == '%s'", a, pick(g, "web", "a", "none"))
	case 1:
		return fmt.Sprintf("starts_with(%s, '%s')", a, pick(g, "w", "a", ""))
	case 2:
		return fmt.Sprintf("contains(%s, %s)", g.listOf(max(depth-1, 0)), a)
	case 3:
		return fmt.Sprintf("regex_match('%s', %s)", pick(g, "^[a-z]+$", "[0-9]", "("), a)
	case 4:
		return fmt.Sprintf("pattern_match('%s', %s)", pick(g, "w*", "?", "*"), a)
	case 5:
		return fmt.Sprintf("semver_compare('%s', '>=1.0.0')", pick(g, "1.2.3", "0.9", "x"))
	case 6:
		return fmt.Sprintf("label_match(%s, request.object.metadata.labels)", "`{\"app\": \"web\"}`")
	case 7:
		return fmt.Sprintf("%s %s %s", g.number(depth-1), pick(g, ">", "<=", "==", "!="), g.number(depth-1))
	default:
		return fmt.Sprintf("%s && !%s", a, g.path())
	}
}

func (g *generator) listOf(depth int) string {
	pod := "request.object." + strings.Join(podPath(pick(g, g.kinds...)), ".")
	if depth <= 0 {
		return pick(g, "("+pod+".containers[].name || `[]`)", pod+".containers[*].image", "['a', 'b', 'web']", "`[1, 2, 3]`", "keys(request.object.metadata)",
			"("+g.path()+" || `[]`)")
	}
	switch g.IntN(8) {
	case 0:
		return fmt.Sprintf("split(%s, ',')", g.text(depth-1))
	case 1:
		return "sort(" + g.listOf(depth-1) + ")"
	case 2:
		return "reverse(" + g.listOf(depth-1) + ")"
	case 3:
		return "items(request.object.metadata.labels || `{}`, 'k', 'v')[].v"
	case 4:
		return fmt.Sprintf("map(&to_string(@), %s)", g.listOf(depth-1))
	case 5:
		return "sort_by(" + pod + ".containers, &name)[].image"
	case 6:
		return "keys(merge(request.object.metadata.labels || `{}`, `{\"z\": \"1\"}`))"
	default:
		return "to_array(" + g.text(depth-1) + ")"
	}
}

func (g *generator) variable() string {
	spaces := pick(g, " ", " ", " ", "")
	return "{{" + pick(g, "", "", "", "", "", "-") + spaces + g.text(pick(g, 0, 0, 1, 1, 2)) + spaces + "}}"
}

// A text of a policy: plain, or with variables.
func (g *generator) template() string {
	switch g.IntN(12) {
	case 0, 1, 2, 3:
		return g.variable()
	case 4:
		return "pre-" + g.variable() + "-" + g.variable()
	case 5:
		if g.chance(0.4) {
			return pick(g, "{{ request.object.metadata.labels.app }}", "{{@}}", "{{ to_upper('{{@}}') }}", "$(../../metadata/name)", "$(./name)",
				`\{{ escaped }}`, "{{ request.object.metadata.{{ request.object.data.mode || 'name' }} }}", "{{ {{ nested }} }}")
		}
		return g.variable()
	default:
		return pick(g, texts...)
	}
}

// A value of a policy.
func (g *generator) value() any {
	if g.chance(0.75) {
		return g.template()
	}
	return g.scalar()
}
