// Crds prints the custom resource definitions that Kyverno embeds, as one YAML stream:
// what an API server needs before it takes a policy.
package main

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno/data"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "kyverno-crds: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	files, err := data.Crds()
	if err != nil {
		return err
	}
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if _, err := fmt.Printf("---\n%s\n", text); err != nil {
			return err
		}
	}
	return nil
}
