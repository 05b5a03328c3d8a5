package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensionsscheme "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/generated/openapi"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// An apply configuration for an object: an expression, or the configuration itself, in which lists, maps and structs
// that are replaced as a whole are allowed. A definition is that of the kind of the object.
type applyCase struct {
	Object        map[string]any                          `json:"object"`
	Expression    string                                  `json:"expression"`
	Configuration map[string]any                          `json:"configuration"`
	Definition    *apiextensions.CustomResourceDefinition `json:"definition"`
}

type applier struct {
	builtIn  managedfields.TypeConverter
	compiler plugincel.MutatingCompiler
}

func newApplier() (*applier, error) {
	config := server.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions,
		openapinamer.NewDefinitionNamer(legacyscheme.Scheme, extensionsscheme.Scheme))
	known := definitions()
	var names []string
	for _, of := range legacyscheme.Scheme.AllKnownTypes() {
		if named, ok := reflect.Zero(of).Interface().(interface{ OpenAPIModelName() string }); ok {
			if _, ok := known[named.OpenAPIModelName()]; ok {
				names = append(names, named.OpenAPIModelName())
			}
		}
	}
	slices.Sort(names)
	models, err := builder3.BuildOpenAPIDefinitionsForResources(config, names...)
	if err != nil {
		return nil, err
	}
	converter, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		return nil, err
	}
	// The compatibility version of an API server 1.36.
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(version.MajorMinor(1, 35)))
	return &applier{converter, compiler}, err
}

// Reads cases, one a line, and writes what the API server makes of each object.
func applyLines(input *bufio.Reader, output *bufio.Writer) error {
	applier, err := newApplier()
	if err != nil {
		return err
	}
	return answerLines(input, output, func(line []byte) ([]byte, error) {
		var c applyCase
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, err
		}
		// Integers are not floats.
		object := &unstructured.Unstructured{}
		text, err := json.Marshal(c.Object)
		if err != nil {
			return nil, err
		}
		if err := object.UnmarshalJSON(text); err != nil {
			return nil, err
		}
		patched, err := applier.apply(&c, object)
		if err != nil {
			return nil, err
		}
		return json.Marshal(patched)
	})
}

func (a *applier) apply(c *applyCase, object *unstructured.Unstructured) (any, error) {
	converter := a.builtIn
	if c.Definition != nil {
		document, err := builder.BuildOpenAPIV3(c.Definition, object.GroupVersionKind().Version, builder.Options{})
		if err != nil {
			return nil, err
		}
		if converter, err = managedfields.NewTypeConverter(document.Components.Schemas, false); err != nil {
			return nil, err
		}
	}
	if c.Configuration != nil {
		return replaced(converter, object, c.Configuration)
	}
	kind := object.GroupVersionKind()
	attributes := admission.NewAttributesRecord(object, nil, kind, object.GetNamespace(), object.GetName(),
		schema.GroupVersionResource{}, "", admission.Create, nil, false, nil)
	evaluator := a.compiler.CompileMutatingEvaluator(&patch.ApplyConfigurationCondition{Expression: c.Expression},
		plugincel.OptionalVariableDeclarations{HasPatchTypes: true}, environment.StoredExpressions)
	request := patch.Request{
		VersionedAttributes: &admission.VersionedAttributes{Attributes: attributes, VersionedKind: kind, VersionedObject: object},
		TypeConverter:       converter,
	}
	return patch.NewApplyConfigurationPatcher(evaluator).Patch(context.Background(), request, celconfig.RuntimeCELCostBudget)
}

// The merge as Kyverno calls it for useServerSideApply.
func replaced(converter managedfields.TypeConverter, object *unstructured.Unstructured, configuration map[string]any) (any, error) {
	text, err := json.Marshal(configuration)
	if err != nil {
		return nil, err
	}
	applied := &unstructured.Unstructured{Object: map[string]any{}}
	if err := json.Unmarshal(text, &applied.Object); err != nil {
		return nil, err
	}
	applied.SetGroupVersionKind(object.GroupVersionKind())
	patch, err := converter.ObjectToTyped(applied)
	if err != nil {
		return nil, err
	}
	live, err := converter.ObjectToTyped(object, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("the object: %w", err)
	}
	merged, err := live.Merge(patch)
	if err != nil {
		return nil, err
	}
	return converter.TypedToObject(merged)
}
