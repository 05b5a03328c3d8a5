package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// Values of the types that are no structs, lists or maps: typical, empty, not canonical, and rarely wrong.
var values = map[string][]any{
	"bool":              {true, true, false},
	"string":            {"a", "a", "b", "c.example", ""},
	"int32":             {1, 2, 80, 443, 0, 65536},
	"int64":             {1, 2, 30, 600, 0, int64(1) << 40},
	"float64":           {1, 0.5, 0, 1e7},
	"quantity":          {"1", "500m", "1.5Gi", "0.5", 2, 0.25, "1e3", "1000Mi", "1024Ki", "0.0001", "0", "100n", "1E", "1.0", "0.1Ki", "+1"},
	"int-or-string":     {1, 8080, 0, "25%", "http", ""},
	"time":              {"2020-01-02T03:04:05Z", "2020-01-02T03:04:05+01:30", "2020-01-02T03:04:05.678Z", "0001-01-01T00:00:00Z"},
	"micro-time":        {"2020-01-02T03:04:05.678901Z", "2020-01-02T03:04:05.000000-07:00"},
	"bytes":             {"YWJj", "YQ==", "YW\nJj", ""},
	"raw":               {map[string]any{"b": 1, "a": nil}, map[string]any{}, "x"},
	"json":              {map[string]any{"b": 1, "a": nil}, map[string]any{}, "x"},
	"fields":            {map[string]any{"b": 1, "a": nil}, map[string]any{}, "x"},
	"schema-or-bool":    {true, false, map[string]any{"type": "string", "title": ""}},
	"schema-or-list":    {map[string]any{"type": "string"}, []any{map[string]any{"type": "string"}, map[string]any{}}, []any{}},
	"schema-or-strings": {map[string]any{"type": "string"}, []any{"a"}, []any{}},
}

// Strings of fields that OpenAPI has no enumeration of, and that defaults look at.
var texts = map[string][]any{
	"image":       {"nginx", "nginx:latest", "nginx:1.27", "example.com:5000/a", "nginx@sha256:0000000000000000000000000000000000000000000000000000000000000000", ":"},
	"clusterIP":   {"", "None", "10.0.0.1", "fd00::1"},
	"clusterIPs":  {"10.0.0.1", "fd00::1", "None"},
	"externalIPs": {"10.0.0.1", "fd00::1"},
	"ipFamilies":  {"IPv4", "IPv6"},
	"kind":        {"ServiceAccount", "User", "Group", "Deployment"},
	"apiGroup":    {"", "rbac.authorization.k8s.io", "apps"},
	"roleRef":     {"Role"},
	"type":        {"", "Opaque", "Utilization", "kubernetes.io/tls", "Pods"},
}

var keys = []string{"app", "cpu", "memory", "storage", "ephemeral-storage", "example.com/a", "pods.alpha", ""}

type samples struct {
	*rand.Rand
	definitions map[string]common.OpenAPIDefinition
}

// Reads kinds as writeTable does, and writes count random objects of each, one a line.
func writeSamples(input *bufio.Reader, output *bufio.Writer, count int, seed uint64) error {
	s := samples{rand.New(rand.NewPCG(seed, 0)), definitions()}
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	kinds := bufio.NewScanner(input)
	for kinds.Scan() {
		version, kind, _ := strings.Cut(kinds.Text(), " ")
		object, err := legacyscheme.Scheme.New(schema.FromAPIVersionAndKind(version, kind))
		if err != nil {
			return err
		}
		for range count {
			sample := s.fields(reflect.TypeOf(object).Elem(), 1)
			sample["apiVersion"], sample["kind"] = version, kind
			if err := encoder.Encode(sample); err != nil {
				return err
			}
		}
	}
	return kinds.Err()
}

func (s *samples) chance(of float64) bool {
	return s.Float64() < of
}

// A struct. The deeper it lies, the fewer fields it has.
func (s *samples) fields(of reflect.Type, depth int) map[string]any {
	sample := map[string]any{}
	odds := max(0.06, 0.9/float64(depth))
	if s.chance(0.3) {
		odds = 0
	}
	for field := range jsonFields(of) {
		likely := odds
		if !field.omitted {
			likely = 0.8
		}
		if !s.chance(likely) {
			continue
		}
		switch {
		case s.chance(0.02):
			sample[field.name] = nil
		case s.chance(0.0005):
			sample[field.name] = []any{0.5, "wrong", true, []any{1}, map[string]any{"a": 1}}[s.IntN(5)]
		default:
			sample[field.name] = s.field(field, depth)
		}
	}
	if s.chance(0.02) {
		sample["unknown"] = map[string]any{"a": 1}
	}
	return sample
}

func (s *samples) field(field jsonField, depth int) any {
	of := field.of
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	var words []any
	if named, ok := reflect.Zero(field.in).Interface().(interface{ OpenAPIModelName() string }); ok {
		property := s.definitions[named.OpenAPIModelName()].Schema.Properties[field.name]
		words = property.Enum
		if property.Items != nil && property.Items.Schema != nil {
			words = slices.Concat(words, property.Items.Schema.Enum)
		}
	}
	return s.value(of, slices.Concat(words, words, texts[field.name]), depth)
}

// A value; words are the strings that are likely.
func (s *samples) value(of reflect.Type, words []any, depth int) any {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	scalar, ok := scalars[of]
	if !ok {
		scalar, ok = primitives[of.Kind()]
	}
	if ok {
		if scalar == "string" && len(words) > 0 && s.chance(0.9) {
			return words[s.IntN(len(words))]
		}
		return values[scalar][s.IntN(len(values[scalar]))]
	}
	switch of.Kind() {
	case reflect.Slice:
		list := []any{}
		for range s.IntN(4) {
			list = append(list, s.element(of.Elem(), words, depth))
		}
		return list
	case reflect.Map:
		object := map[string]any{}
		for range s.IntN(4) {
			object[keys[s.IntN(len(keys))]] = s.element(of.Elem(), words, depth)
		}
		return object
	default:
		return s.fields(of, depth+1)
	}
}

func (s *samples) element(of reflect.Type, words []any, depth int) any {
	if s.chance(0.01) {
		return nil
	}
	return s.value(of, words, depth)
}

// The arguments COUNT and SEED.
func numbers(arguments []string) (int, uint64, error) {
	count, err := strconv.Atoi(arguments[0])
	if err != nil {
		return 0, 0, fmt.Errorf("the count of samples: %w", err)
	}
	seed, err := strconv.ParseUint(arguments[1], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("the seed of samples: %w", err)
	}
	return count, seed, nil
}
