package main

import (
	"fmt"
	"math/rand/v2"
)

// Makes one pair of a policy and objects. All choices come from the seed and the number of the pair.
type generator struct {
	*rand.Rand
	// The kinds of the objects, which policies prefer.
	kinds []string
	// A policy uses the time.
	time bool
	// The pair has legacy rules, needs a file of targets, or documents that resolve context entries.
	legacy, targets, context bool
	// The context variables of the current rule, how many loops are around, and whether a target is in scope.
	variables []string
	loops     int
	inTargets bool
	// The current policy is a Policy, or must set spec.background to false.
	namespaced, noBackground bool
}

func newGenerator(seed uint64, number int) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, uint64(number)))}
}

func (g *generator) chance(of float64) bool { return g.Float64() < of }

func pick[T any](g *generator, items ...T) T { return items[g.IntN(len(items))] }

var (
	names      = []string{"web", "db", "web-1", "prod-db", "a", "b", "c", "settings"}
	namespaces = []string{"default", "shop", "prod", "staging", "prod-eu"}
	labelKeys  = []string{"app", "team", "tier", "env", "app.kubernetes.io/name"}
	texts      = []string{"a", "b", "web", "db", "prod", "x-1", "true", "10", "1.10", "100Mi", "2h", "", "*", "a,b", "A b", "é", "a: b"}
	images     = []string{"nginx", "nginx:latest", "nginx:1.25", "ghcr.io/org/app:v2", "registry.example:5000/tools/one",
		"docker.io/library/redis@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "quay.io/team/web:1.4-rc1"}
	controllers = []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"}
	allKinds    = []string{"Pod", "Pod", "Pod", "Deployment", "Deployment", "CronJob", "StatefulSet", "DaemonSet", "Job", "ReplicaSet",
		"ConfigMap", "ConfigMap", "Secret", "Service", "Ingress", "Namespace", "ServiceAccount", "Widget", "List"}
)

func apiVersion(kind string) string {
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet":
		return "apps/v1"
	case "Job", "CronJob":
		return "batch/v1"
	case "Ingress":
		return "networking.k8s.io/v1"
	case "Widget":
		return "example.com/v1"
	default:
		return "v1"
	}
}

// A scalar, mostly a text.
func (g *generator) scalar() any {
	switch g.IntN(10) {
	case 0:
		return g.IntN(2000) - 100
	case 1:
		return g.chance(0.5)
	case 2:
		return pick[any](g, nil, raw("~"), raw("0755"), raw("1.10"), raw("1e3"), raw("12345678901234567890"), raw("9007199254740993"),
			raw("1000000"), raw("0.1"), raw("2001-01-01"), raw("yes"))
	default:
		return pick(g, texts...)
	}
}

func (g *generator) labels(most int) object {
	var labels object
	for range g.IntN(most + 1) {
		labels = labels.with(pick(g, labelKeys...), pick(g, "a", "b", "web", "db", "prod", "true", "10", ""))
	}
	return labels
}

func (g *generator) metadata(kind string) object {
	meta := object{{"name", pick(g, names...)}}
	if g.chance(0.03) {
		meta = object{{"generateName", "made-"}}
	}
	if kind != "Namespace" && g.chance(0.6) {
		meta = meta.with("namespace", pick(g, namespaces...))
	}
	if labels := g.labels(3); len(labels) > 0 || g.chance(0.1) {
		meta = meta.with("labels", labels)
	}
	if g.chance(0.3) {
		meta = meta.with("annotations", object{{pick(g, "owner", "note", "example.com/a"), pick(g, texts...)}})
	}
	return meta
}

func (g *generator) object(kind string) object {
	made := object{{"apiVersion", apiVersion(kind)}, {"kind", kind}, {"metadata", g.metadata(kind)}}
	switch kind {
	case "Pod":
		return append(made, member{"spec", g.podSpec()})
	case "Job":
		return append(made, member{"spec", object{{"suspend", true}, {"template", g.podTemplate()}}})
	case "CronJob":
		return append(made, member{"spec", object{{"schedule", "0 1 * * *"},
			{"jobTemplate", object{{"spec", object{{"template", g.podTemplate()}}}}}}})
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet":
		spec := object{{"selector", object{{"matchLabels", object{{"app", "web"}}}}}, {"template", g.podTemplate()}}
		if g.chance(0.7) {
			spec = append(object{{"replicas", g.IntN(5)}}, spec...)
		}
		return append(made, member{"spec", spec})
	case "ConfigMap":
		return append(made, member{"data", g.data(4)})
	case "Secret":
		made = append(made, member{"type", "Opaque"})
		if g.chance(0.5) {
			return append(made, member{"data", object{{"mode", "c2VjcmV0"}, {"key", pick(g, "YQ==", "b3Blbg==", "!")}}})
		}
		return append(made, member{"stringData", g.data(3)})
	case "Service":
		return append(made, member{"spec", object{{"type", pick(g, "ClusterIP", "NodePort", "LoadBalancer")},
			{"selector", g.labels(2)}, {"ports", g.servicePorts()}}})
	case "Ingress":
		return append(made, member{"spec", object{{"rules", list{object{{"host", pick(g, "a.example.com", "b.local")}}}},
			{"tls", list{object{{"hosts", list{"a.example.com"}}, {"secretName", pick(g, names...)}}}}}})
	case "Widget":
		if g.chance(0.5) {
			return append(made, member{"spec", object{{"size", g.IntN(9)}, {"list", list{object{{"name", "a"}, {"size", 1}}, object{{"name", "b"}}}}}})
		}
		return append(made, member{"spec", g.tree(3)})
	case "List":
		return object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", list{g.object("Pod"), g.object("ConfigMap")}}}
	default:
		return made
	}
}

func (g *generator) podTemplate() object {
	template := object{{"spec", g.podSpec()}}
	if g.chance(0.8) {
		template = append(object{{"metadata", object{{"labels", g.labels(3)}}}}, template...)
	}
	return template
}

func (g *generator) podSpec() object {
	var spec object
	if g.chance(0.2) {
		spec = spec.with("hostNetwork", g.chance(0.5))
	}
	if g.chance(0.2) {
		spec = spec.with("nodeSelector", g.labels(2))
	}
	if g.chance(0.3) {
		spec = spec.with("securityContext", object{{"runAsNonRoot", g.chance(0.5)}, {"supplementalGroups", list{1, 2000}}})
	}
	if g.chance(0.2) {
		spec = spec.with("serviceAccountName", pick(g, names...))
	}
	if g.chance(0.25) {
		spec = spec.with("initContainers", list{g.container("init")})
	}
	var containers list
	for at := range pick(g, 0, 1, 1, 1, 2, 2, 3) {
		containers = append(containers, g.container(pick(g, "web", "db", "a", "b", fmt.Sprintf("c-%d", at))))
	}
	spec = spec.with("containers", containers)
	if g.chance(0.4) {
		spec = spec.with("volumes", list{object{{pick(g, "emptyDir", "configMap", "hostPath"), object{}}, {"name", "scratch"}},
			object{{"name", "cfg"}, {"emptyDir", object{{"medium", "Memory"}}}}}[g.IntN(2):])
	}
	if g.chance(0.3) {
		spec = spec.with("tolerations", list{object{{"key", "spot"}, {"operator", "Exists"}}, object{{"key", "gpu"}, {"effect", "NoSchedule"}}})
	}
	if g.chance(0.2) {
		spec = spec.with("imagePullSecrets", list{object{{"name", "pull"}}})
	}
	return spec
}

func (g *generator) container(name string) object {
	made := object{{"name", name}}
	if g.chance(0.95) {
		made = append(made, member{"image", pick(g, images...)})
	}
	if g.chance(0.3) {
		made = append(made, member{"imagePullPolicy", pick(g, "Always", "IfNotPresent")})
	}
	if g.chance(0.4) {
		made = append(made, member{"resources", object{{"requests", object{{"cpu", pick[any](g, 1, "500m", raw("0.5"))}, {"memory", "64Mi"}}}}})
	}
	if g.chance(0.3) {
		made = append(made, member{"securityContext", object{{"privileged", g.chance(0.5)}}})
	}
	if g.chance(0.4) {
		ports := list{object{{"containerPort", 8080}}, object{{"containerPort", 53}, {"protocol", "UDP"}, {"name", "dns"}},
			object{{"containerPort", 53}, {"protocol", "TCP"}}}
		made = append(made, member{"ports", ports[g.IntN(3):]})
	}
	if g.chance(0.4) {
		env := list{object{{"name", "MODE"}, {"value", "strict"}}, object{{"name", "A"}, {"value", pick(g, texts...)}}, object{{"name", "B"}}}
		made = append(made, member{"env", env[g.IntN(3):]})
	}
	if g.chance(0.2) {
		made = append(made, member{"args", list{"--a", pick(g, texts...)}})
	}
	return made
}

func (g *generator) servicePorts() list {
	return list{object{{"name", "http"}, {"port", 80}, {"targetPort", 8080}}, object{{"port", 443}}}[:1+g.IntN(2)]
}

func (g *generator) data(most int) object {
	data := object{}
	for range g.IntN(most + 1) {
		data = data.with(pick(g, "mode", "key", "gone", "list", "n", "a.b/c"),
			pick(g, "a", "b", "10", "1.10", "[\"eu\", \"us\"]", "x: 1", "two\nlines\n", "2h", "100Mi", "", "true"))
	}
	return data
}

// A tree of any shape, for custom resources.
func (g *generator) tree(depth int) any {
	if depth == 0 || g.chance(0.2) {
		return g.scalar()
	}
	if g.chance(0.3) {
		items := list{}
		for range g.IntN(4) {
			items = append(items, g.tree(depth-1))
		}
		return items
	}
	made := object{}
	for range g.IntN(5) {
		made = made.with(pick(g, "a", "b", "name", "list", "size", "text", "map"), g.tree(depth-1))
	}
	return made
}
