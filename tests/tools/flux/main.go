// Compares objects with a cluster as the controllers of Flux do, with their own code.
//
//	flux-diff KUBECONFIG <QUESTIONS >ANSWERS
//
// A question is a line of JSON: `object`, the object in Git; `apply`, whether it is applied as kustomize-controller does,
// not compared alone; `helmRelease` and `kustomization`, the objects of Flux that have the rules of what is ignored. Fields
// that these kinds do not have are refused. The answer is a line, too:
// `kustomization`, what kustomize-controller does or would do: `created`, `configured` or `unchanged`;
// `helmRelease`, the JSON patch of the drift that helm-controller detects, `null` if there is none; or `error`.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helm "github.com/fluxcd/helm-controller/api/v2"
	kustomizer "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
)

type question struct {
	Object        *unstructured.Unstructured `json:"object"`
	Apply         bool                       `json:"apply"`
	HelmRelease   *helm.HelmRelease          `json:"helmRelease"`
	Kustomization *kustomizer.Kustomization  `json:"kustomization"`
}

type answer struct {
	Kustomization string `json:"kustomization,omitempty"`
	HelmRelease   any    `json:"helmRelease"`
	Error         string `json:"error,omitempty"`
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	check(err)
	config.QPS, config.Burst = 1000, 1000
	cluster, err := client.New(config, client.Options{})
	check(err)
	// The field manager of kustomize-controller; helm-controller has its own.
	owner := ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"}
	manager := ssa.NewResourceManager(cluster, nil, owner)
	decoder := json.NewDecoder(bufio.NewReader(os.Stdin))
	decoder.DisallowUnknownFields()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for decoder.More() {
		var asked question
		check(decoder.Decode(&asked))
		found, err := compare(cluster, manager, asked)
		if err != nil {
			found = answer{Error: err.Error()}
		}
		check(encoder.Encode(found))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func compare(cluster client.Client, manager *ssa.ResourceManager, asked question) (answer, error) {
	ctx := context.Background()
	if asked.Apply {
		entry, err := manager.Apply(ctx, asked.Object.DeepCopy(), ssa.DefaultApplyOptions())
		if err != nil {
			return answer{}, err
		}
		return answer{Kustomization: string(entry.Action)}, nil
	}
	options := ssa.DefaultDiffOptions()
	if asked.Kustomization != nil {
		for _, rule := range asked.Kustomization.Spec.Ignore {
			options.DriftIgnoreRules = append(options.DriftIgnoreRules, ignored(rule.Paths, rule.Target))
		}
	}
	entry, _, _, err := manager.Diff(ctx, asked.Object.DeepCopy(), options)
	if err != nil {
		return answer{}, err
	}
	// As helm-controller compares the objects of a release.
	var rules jsondiff.IgnoreRules
	if asked.HelmRelease != nil {
		detection := asked.HelmRelease.GetDriftDetection()
		if !detection.MustDetectChanges() {
			return answer{}, errors.New("the HelmRelease detects no drift")
		}
		for _, rule := range detection.Ignore {
			rules = append(rules, ignored(rule.Paths, rule.Target))
		}
	}
	drifts, err := jsondiff.UnstructuredList(ctx, cluster, []*unstructured.Unstructured{asked.Object.DeepCopy()},
		jsondiff.FieldOwner("kustomize-controller"), rules, jsondiff.Rationalize(true))
	if err != nil {
		return answer{}, err
	}
	found := answer{Kustomization: string(entry.Action)}
	for _, drift := range drifts {
		if drift.Type != jsondiff.DiffTypeNone && drift.Type != jsondiff.DiffTypeExclude {
			found.HelmRelease = drift.Patch
		}
	}
	return found, nil
}

// A rule as the controllers hand it to the comparison.
func ignored(paths []string, target *kustomize.Selector) jsondiff.IgnoreRule {
	rule := jsondiff.IgnoreRule{Paths: paths}
	if target != nil {
		rule.Selector = &jsondiff.Selector{
			Group: target.Group, Version: target.Version, Kind: target.Kind, Name: target.Name, Namespace: target.Namespace,
			AnnotationSelector: target.AnnotationSelector, LabelSelector: target.LabelSelector,
		}
	}
	return rule
}
