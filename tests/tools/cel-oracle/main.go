// How the API server's own CEL environment for mutations judges expressions; package protocol has the lines it reads
// and writes.
package main

import (
	"context"

	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/interpreter"

	"kubectl-kyv/tests/tools/cel-oracle/protocol"
)

type accessor struct{ name, expression string }

func (a *accessor) GetExpression() string    { return a.expression }
func (a *accessor) GetName() string          { return a.name }
func (a *accessor) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType} }

// The compatibility version of an API server 1.36.
var compatibility = version.MajorMinor(1, 35)

var options = plugincel.OptionalVariableDeclarations{HasParams: true, HasAuthorizer: true, HasPatchTypes: true}

func main() {
	protocol.Serve(func(c protocol.Case, variables map[string]any) protocol.Answer {
		compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(compatibility))
		if err != nil {
			panic(err)
		}
		for _, definition := range c.Definitions {
			result := compiler.CompileAndStoreVariable(&accessor{definition.Name, definition.Expression}, options, environment.NewExpressions)
			if result.Error != nil {
				return protocol.Answer{Refused: definition.Name + ": " + result.Error.Error()}
			}
		}
		result := compiler.CompileCELExpression(&accessor{"", c.Expression}, options, environment.NewExpressions)
		if result.Error != nil {
			return protocol.Answer{Refused: result.Error.Error()}
		}
		composition := compiler.CreateContext(context.Background())
		activation := &activation{variables: variables}
		activation.composed = func() any { return composition.Variables(activation) }
		return protocol.Run(result.Program, result.OutputType, activation)
	})
}

// The variables of the policy come beside those of the request.
type activation struct {
	variables map[string]any
	composed  func() any
	cached    any
}

func (a *activation) ResolveName(name string) (any, bool) {
	if name == plugincel.VariableVarName {
		if a.cached == nil {
			a.cached = a.composed()
		}
		return a.cached, true
	}
	value, found := a.variables[name]
	return value, found
}

func (a *activation) Parent() interpreter.Activation { return nil }
