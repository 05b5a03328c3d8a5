// The `fn` commands of kpt: the whole program cannot be built from what the module proxy serves.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kptdev/kpt/commands/fn"
	kpterrors "github.com/kptdev/kpt/pkg/lib/errors"
	"github.com/kptdev/kpt/pkg/lib/errors/resolver"
	"github.com/kptdev/kpt/pkg/printer"
	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{Use: "kpt", SilenceUsage: true, SilenceErrors: true}
	ctx := printer.WithContext(context.Background(), printer.New(os.Stdout, os.Stderr))
	root.AddCommand(fn.GetCommand(ctx, "kpt"))
	if err := root.ExecuteContext(ctx); err != nil {
		os.Exit(report(err))
	}
}

// report says what kpt's own main would say of an error, and returns its exit code.
func report(err error) int {
	if resolved, ok := resolver.ResolveError(err); ok {
		if resolved.Message != "" {
			fmt.Fprintln(os.Stderr, resolved.Message)
		}
		return resolved.ExitCode
	}
	var inner *kpterrors.Error
	if errors.As(err, &inner) {
		if unwrapped, ok := kpterrors.UnwrapErrors(inner); ok {
			err = unwrapped
		}
	}
	fmt.Fprintln(os.Stderr, "Error:", err)
	return 1
}
