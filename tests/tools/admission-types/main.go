// admission-types knows the types of the built-in kinds, as an API server decodes, defaults and encodes them.
//
//	admission-types table                kinds -> the table of types that kubectl-kyv is compiled with
//	admission-types samples COUNT SEED   kinds -> random objects of each kind
//	admission-types decode               objects -> the objects as admission webhooks get them, were there no plugins
//	admission-types apply                apply configurations and objects -> the merged objects
//
// A line of stdin is a kind as `apps/v1 Deployment`, or an object as JSON. In the table a type is named by the last two
// elements of the path of its package: core/v1.PodSpec, apps/v1.Deployment, meta/v1.ObjectMeta.
//
// The answer to an object is {"ok": …} or {"error": "…"}. The object is decoded to its internal version with defaults,
// not strictly, and encoded in its own version; the feature gates have their defaults. An answer leaves as soon as no
// further line waits, so both a dialogue and a bulk run work; whoever asks in bulk reads while it writes.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "admission-types: %v\n", err)
		os.Exit(1)
	}
}

func run(arguments []string, stdin io.Reader, stdout io.Writer) error {
	// These two have API servers of their own in the same process.
	apiextensions.Install(legacyscheme.Scheme)
	apiregistration.Install(legacyscheme.Scheme)
	output := bufio.NewWriterSize(stdout, 1<<16)
	var err error
	switch {
	case len(arguments) == 1 && arguments[0] == "decode":
		err = decodeLines(bufio.NewReaderSize(stdin, 1<<16), output)
	case len(arguments) == 1 && arguments[0] == "apply":
		err = applyLines(bufio.NewReaderSize(stdin, 1<<16), output)
	case len(arguments) == 1 && arguments[0] == "table":
		err = writeTable(bufio.NewReader(stdin), output)
	case len(arguments) == 3 && arguments[0] == "samples":
		var count int
		var seed uint64
		if count, seed, err = numbers(arguments[1:]); err == nil {
			err = writeSamples(bufio.NewReader(stdin), output, count, seed)
		}
	default:
		err = errors.New("wants one of table, decode, apply, samples COUNT SEED")
	}
	if err != nil {
		return err
	}
	return output.Flush()
}
