package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"reflect"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// The types that read and write JSON themselves.
var scalars = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():                          "quantity",
	reflect.TypeFor[intstr.IntOrString]():                         "int-or-string",
	reflect.TypeFor[meta.Time]():                                  "time",
	reflect.TypeFor[meta.MicroTime]():                             "micro-time",
	reflect.TypeFor[meta.Duration]():                              "duration",
	reflect.TypeFor[meta.FieldsV1]():                              "fields",
	reflect.TypeFor[runtime.RawExtension]():                       "raw",
	reflect.TypeFor[apiextensions.JSON]():                         "json",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]():        "schema-or-bool",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray]():       "schema-or-list",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrStringArray](): "schema-or-strings",
	reflect.TypeFor[[]byte]():                                     "bytes",
}

// What JSON writes for fields of these kinds; other numbers are in no type that is served.
var primitives = map[reflect.Kind]string{
	reflect.Bool:    "bool",
	reflect.String:  "string",
	reflect.Int32:   "int32",
	reflect.Int64:   "int64",
	reflect.Int:     "int64",
	reflect.Float64: "float64",
}

type table struct {
	lines map[string]string
	// What the API publishes of its types, with defaults.
	definitions map[string]common.OpenAPIDefinition
}

func definitions() map[string]common.OpenAPIDefinition {
	return openapi.GetOpenAPIDefinitions(func(string) spec.Ref { return spec.Ref{} })
}

// Reads kinds as `apps/v1 Deployment`, one a line, and writes the lines of these kinds and of all types they use, sorted.
func writeTable(input *bufio.Reader, output *bufio.Writer) error {
	t := table{
		lines:       map[string]string{},
		definitions: definitions(),
	}
	kinds := bufio.NewScanner(input)
	for kinds.Scan() {
		version, kind, ok := strings.Cut(kinds.Text(), " ")
		if !ok {
			return fmt.Errorf("%q is no version and kind", kinds.Text())
		}
		object, err := legacyscheme.Scheme.New(schema.FromAPIVersionAndKind(version, kind))
		if err != nil {
			return err
		}
		name, err := t.value(reflect.TypeOf(object).Elem())
		if err != nil {
			return err
		}
		t.lines[version+"/"+kind] = "= " + name
	}
	if err := kinds.Err(); err != nil {
		return err
	}
	names := make([]string, 0, len(t.lines))
	for name := range t.lines {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if _, err := fmt.Fprintf(output, "%s %s\n", name, t.lines[name]); err != nil {
			return err
		}
	}
	return nil
}

// How the table names a kind of values; adds the lines of named types.
func (t *table) value(of reflect.Type) (string, error) {
	if scalar, ok := scalars[of]; ok {
		return scalar, nil
	}
	if primitive, ok := primitives[of.Kind()]; ok {
		return primitive, nil
	}
	switch {
	case of.Kind() == reflect.Pointer:
		element, err := t.value(of.Elem())
		return "*" + element, err
	case of.Name() != "":
		return t.named(of)
	default:
		return t.collection(of)
	}
}

func (t *table) collection(of reflect.Type) (string, error) {
	switch {
	case of.Kind() == reflect.Slice:
		element, err := t.value(of.Elem())
		return "[]" + element, err
	case of.Kind() == reflect.Map && of.Key().Kind() == reflect.String:
		element, err := t.value(of.Elem())
		return "{}" + element, err
	default:
		return "", fmt.Errorf("the table has no word for %v", of)
	}
}

// A named struct, list or map: `core/v1.Container`.
func (t *table) named(of reflect.Type) (string, error) {
	name := typeName(of)
	if _, ok := t.lines[name]; ok {
		return name, nil
	}
	t.lines[name] = ""
	if _, ok := reflect.New(of).Interface().(json.Unmarshaler); ok {
		return "", fmt.Errorf("%v reads JSON itself", of)
	}
	var line string
	var err error
	if of.Kind() == reflect.Struct {
		var words []string
		words, err = t.fields(of)
		if modelOf(of, t.definitions).Extensions[mapType] == "atomic" {
			words = append([]string{"!"}, words...)
		}
		line = strings.Join(words, " ")
	} else {
		line, err = t.collection(of)
		line = "= " + line
	}
	t.lines[name] = line
	return name, err
}

func typeName(of reflect.Type) string {
	group, version := path.Split(of.PkgPath())
	return path.Base(group) + "/" + version + "." + of.Name()
}

// A field of a struct as JSON has it.
type jsonField struct {
	name string
	// The struct that has the field in Go, which may be embedded in another.
	in reflect.Type
	of reflect.Type
	// Whether JSON does not have it if the value is empty.
	omitted bool
}

// The fields of a struct, those of embedded ones in their place.
func jsonFields(of reflect.Type) iter.Seq[jsonField] {
	return func(yield func(jsonField) bool) {
		for index := range of.NumField() {
			field := of.Field(index)
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.Anonymous && name == "" {
				for below := range jsonFields(field.Type) {
					if !yield(below) {
						return
					}
				}
				continue
			}
			if name == "-" {
				continue
			}
			if name == "" {
				name = field.Name
			}
			if !yield(jsonField{name, of, field.Type, isOmitted(field.Type, strings.Split(options, ","))}) {
				return
			}
		}
	}
}

// Whether JSON has no such field if the value is empty: for structs that is what omitzero says, for all others omitempty.
func isOmitted(of reflect.Type, options []string) bool {
	if of.Kind() == reflect.Struct {
		return slices.Contains(options, "omitzero")
	}
	return slices.Contains(options, "omitempty")
}

// The fields of a struct as words. Those of an embedded struct come after its name.
func (t *table) fields(of reflect.Type) ([]string, error) {
	var words []string
	in := of
	for field := range jsonFields(of) {
		if field.in != in {
			in = field.in
			if in != of {
				words = append(words, "+"+typeName(in))
			}
		}
		value, err := t.value(field.of)
		if err != nil {
			return nil, err
		}
		word := field.name + ":" + value + t.mergeMark(field)
		if field.omitted {
			word += "?"
		}
		words = append(words, word+t.constant(field))
	}
	return words, nil
}

const mapType = "x-kubernetes-map-type"

// How server-side apply merges the field: `@` and the keys of a list that is a map, with their defaults; `@` alone for a
// set, `!` for a map or
// struct that is replaced as a whole, `~` for a struct that is not, other than its type says. Lists without a mark are
// replaced, maps and structs merged.
func (t *table) mergeMark(field jsonField) string {
	property := modelOf(field.in, t.definitions).Properties[field.name]
	if items := property.Items; items != nil && items.Schema != nil && len(items.Schema.Extensions) > 0 {
		panic("the table has no mark for the elements of " + field.name)
	}
	switch property.Extensions["x-kubernetes-list-type"] {
	case "atomic":
		return ""
	case "set":
		return "@"
	case "map":
		return "@" + t.keysWithDefaults(field, mapKeys(property))
	}
	if strategy, _ := property.Extensions["x-kubernetes-patch-strategy"].(string); strings.HasPrefix(strategy, "merge") &&
		field.of.Kind() == reflect.Slice {
		if key, ok := property.Extensions["x-kubernetes-patch-merge-key"].(string); ok {
			return "@" + t.keysWithDefaults(field, []string{key})
		}
		return "@"
	}
	switch {
	case property.Extensions[mapType] == "atomic":
		return "!"
	case property.Extensions[mapType] == "granular" && field.of.Kind() != reflect.Map:
		return "~"
	}
	return ""
}

// `containerPort:0,protocol:"TCP"`: fields of the elements, with the values that they have where they are absent.
func (t *table) keysWithDefaults(list jsonField, keys []string) string {
	properties := modelOf(list.of.Elem(), t.definitions).Properties
	for index, key := range keys {
		if value := properties[key].Default; value != nil {
			text, err := json.Marshal(value)
			if err != nil {
				panic(err)
			}
			keys[index] += ":" + string(text)
		}
	}
	return strings.Join(keys, ",")
}

func mapKeys(list spec.Schema) []string {
	var keys []string
	for _, key := range list.Extensions["x-kubernetes-list-map-keys"].([]any) {
		keys = append(keys, key.(string))
	}
	return keys
}

// What OpenAPI says of a struct; nothing, if it does not have it.
func modelOf(of reflect.Type, definitions map[string]common.OpenAPIDefinition) spec.Schema {
	named, ok := reflect.Zero(of).Interface().(interface{ OpenAPIModelName() string })
	if !ok {
		return spec.Schema{}
	}
	return definitions[named.OpenAPIModelName()].Schema
}

// The default that a field has whatever the others are, as JSON after `=`.
func (t *table) constant(field jsonField) string {
	value := modelOf(field.in, t.definitions).Properties[field.name].Default
	// OpenAPI also has the zero values of fields that are no pointers.
	if value == nil || field.of.Kind() != reflect.Pointer && reflect.ValueOf(value).IsZero() || isMap(value) {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return "=" + string(text)
}

func isMap(value any) bool {
	return reflect.TypeOf(value).Kind() == reflect.Map
}
