// Asks a plugin server what Argo CD's repository server asks it, with that server's own code.
//
//	argocd-cmp-client -socket PATH [-timeout TIME] [-path DIR] [-env NAME=VALUE]… QUESTION [ROOT]
//
// QUESTION is check, match, parameters or generate. All but check send the folder ROOT, in which -path leads to the
// application. The answer is printed as JSON; a refusal goes to stderr and ends with exit code 1.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	retry "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/retry"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/util/cmp"
)

func main() {
	socket := flag.String("socket", "", "")
	timeout := flag.Duration("timeout", time.Minute, "")
	path := flag.String("path", ".", "")
	var env []string
	flag.Func("env", "", func(pair string) error {
		env = append(env, pair)
		return nil
	})
	flag.Parse()

	answer, err := ask(*socket, *timeout, *path, env, flag.Arg(0), flag.Arg(1))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, status.Convert(err).Message())
		os.Exit(1)
	}
}

func ask(socket string, timeout time.Duration, path string, env []string, question, root string) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	closer, client, err := apiclient.NewConfigManagementPluginClientSet(socket).NewConfigManagementPluginClient()
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	send := func(stream cmp.StreamSender) error {
		return cmp.SendRepoStream(ctx, filepath.Join(root, path), root, stream, env, nil)
	}
	switch question {
	case "check":
		return client.CheckPluginConfiguration(ctx, &emptypb.Empty{})
	case "match":
		stream, err := client.MatchRepository(ctx, retry.Disable())
		if err != nil {
			return nil, err
		}
		if err := send(stream); err != nil {
			return nil, err
		}
		return stream.CloseAndRecv()
	case "parameters":
		stream, err := client.GetParametersAnnouncement(ctx, retry.Disable())
		if err != nil {
			return nil, err
		}
		if err := send(stream); err != nil {
			return nil, err
		}
		return stream.CloseAndRecv()
	case "generate":
		stream, err := client.GenerateManifest(ctx, retry.Disable())
		if err != nil {
			return nil, err
		}
		if err := send(stream); err != nil {
			return nil, err
		}
		return stream.CloseAndRecv()
	default:
		return nil, fmt.Errorf("no such question: %q", question)
	}
}
