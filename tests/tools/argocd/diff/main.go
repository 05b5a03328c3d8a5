// Compares objects as Argo CD's application controller does, with its own code.
//
//	argocd-diff <QUESTIONS >ANSWERS
//
// A question is a line of JSON: `config`, the object in Git; `live`, the object in the cluster; `ignore`, the
// `ignoreDifferences` of the application. The answer is a line, too: `modified`, whether the application is OutOfSync, and
// then the two states that differ, `live` and `predicted`; or `error`.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/argo/diff"
	"github.com/argoproj/argo-cd/v3/util/argo/normalizers"
)

type question struct {
	Config *unstructured.Unstructured             `json:"config"`
	Live   *unstructured.Unstructured             `json:"live"`
	Ignore []v1alpha1.ResourceIgnoreDifferences `json:"ignore"`
}

type answer struct {
	Modified  bool            `json:"modified"`
	Live      json.RawMessage `json:"live,omitempty"`
	Predicted json.RawMessage `json:"predicted,omitempty"`
	Error     string          `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	decoder := json.NewDecoder(lines)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for decoder.More() {
		var asked question
		if err := decoder.Decode(&asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := encoder.Encode(compare(asked)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func compare(asked question) answer {
	ignore := asked.Ignore
	if ignore == nil {
		ignore = []v1alpha1.ResourceIgnoreDifferences{}
	}
	config, err := diff.NewDiffConfigBuilder().
		WithDiffSettings(ignore, map[string]v1alpha1.ResourceOverride{}, false, normalizers.IgnoreNormalizerOpts{}).
		WithTracking("", "").
		WithNoCache().
		Build()
	if err != nil {
		return answer{Error: err.Error()}
	}
	result, err := diff.StateDiff(asked.Live, asked.Config, config)
	if err != nil {
		return answer{Error: err.Error()}
	}
	if !result.Modified {
		return answer{}
	}
	return answer{Modified: true, Live: result.NormalizedLive, Predicted: result.PredictedLive}
}
