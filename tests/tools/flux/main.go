// Compares objects with a cluster as the controllers of Flux do, with their own code.
//
//	flux-diff KUBECONFIG <QUESTIONS >ANSWERS
//
// A question is a line of JSON: `object`, the object in Git; `apply`, whether it is applied as kustomize-controller does,
// not compared alone; `ignore`, the rules of what drift detection ignores, as a HelmRelease and a Kustomization have them:
// `paths` and `target`. The answer is a line, too:
// `kustomization`, what kustomize-controller does or would do: `created`, `configured` or `unchanged`;
// `helmRelease`, the JSON patch of the drift that helm-controller detects, `null` if there is none; or `error`.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
)

type question struct {
	Object *unstructured.Unstructured `json:"object"`
	Apply  bool                       `json:"apply"`
	Ignore []rule                     `json:"ignore"`
}

type rule struct {
	Paths  []string           `json:"paths"`
	Target *jsondiff.Selector `json:"target"`
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
	for _, rule := range asked.Ignore {
		options.DriftIgnoreRules = append(options.DriftIgnoreRules,
			jsondiff.IgnoreRule{Paths: rule.Paths, Selector: rule.Target})
	}
	entry, _, _, err := manager.Diff(ctx, asked.Object.DeepCopy(), options)
	if err != nil {
		return answer{}, err
	}
	// As helm-controller compares the objects of a release.
	drifts, err := jsondiff.UnstructuredList(ctx, cluster, []*unstructured.Unstructured{asked.Object.DeepCopy()},
		jsondiff.FieldOwner("kustomize-controller"), jsondiff.IgnoreRules(options.DriftIgnoreRules), jsondiff.Rationalize(true))
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
