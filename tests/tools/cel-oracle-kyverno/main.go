// How Kyverno's own CEL environment for MutatingPolicies judges expressions; the package protocol of `../cel-oracle`
// has the lines it reads and writes. The environment is put together as `newExtendedEnv` in Kyverno's
// pkg/cel/policies/mpol/compiler does it, of the same pieces; what reaches outside has no data.
package main

import (
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"github.com/kyverno/kyverno/pkg/cel/compiler"
	"github.com/kyverno/kyverno/pkg/cel/libs"
	"github.com/kyverno/sdk/extensions/cel/libs/gzip"
	"github.com/kyverno/sdk/extensions/cel/libs/hash"
	"github.com/kyverno/sdk/extensions/cel/libs/image"
	"github.com/kyverno/sdk/extensions/cel/libs/json"
	"github.com/kyverno/sdk/extensions/cel/libs/math"
	"github.com/kyverno/sdk/extensions/cel/libs/random"
	"github.com/kyverno/sdk/extensions/cel/libs/time"
	"github.com/kyverno/sdk/extensions/cel/libs/transform"
	"github.com/kyverno/sdk/extensions/cel/libs/user"
	"github.com/kyverno/sdk/extensions/cel/libs/x509"
	"github.com/kyverno/sdk/extensions/cel/libs/yaml"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/lazy"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"

	"kubectl-kyv/tests/tools/cel-oracle/protocol"
)

var compilerVersion = version.MajorMinor(2, 0)

func main() {
	protocol.Serve(func(c protocol.Case, variables map[string]any) protocol.Answer {
		env, provider := newEnv()
		composed := lazy.NewMapValue(compiler.VariablesType)
		variables[compiler.VariablesKey] = composed
		for _, definition := range c.Definitions {
			ast, issues := env.Compile(definition.Expression)
			if issues.Err() != nil {
				return protocol.Answer{Refused: definition.Name + ": " + issues.Err().Error()}
			}
			provider.RegisterField(definition.Name, ast.OutputType())
			program, err := env.Program(ast)
			if err != nil {
				return protocol.Answer{Refused: definition.Name + ": " + err.Error()}
			}
			composed.Append(definition.Name, func(*lazy.MapValue) ref.Val {
				value, _, err := program.Eval(variables)
				if err != nil {
					return types.WrapErr(err)
				}
				return value
			})
		}
		ast, issues := env.Compile(c.Expression)
		if issues.Err() != nil {
			return protocol.Answer{Refused: issues.Err().Error()}
		}
		program, err := env.Program(ast)
		if err != nil {
			return protocol.Answer{Refused: err.Error()}
		}
		return protocol.Run(program, ast.OutputType(), variables)
	})
}

func newEnv() (*cel.Env, *compiler.VariablesProvider) {
	baseOptions := append(compiler.DefaultEnvOptionsWithCompat(),
		cel.Variable(compiler.NamespaceObjectKey, compiler.NamespaceType.CelType()),
		cel.Variable(compiler.ObjectKey, cel.DynType),
		cel.Variable(compiler.OldObjectKey, cel.DynType),
		cel.Variable(compiler.RequestKey, compiler.RequestType.CelType()),
		cel.Types(compiler.NamespaceType.CelType()),
		cel.Types(compiler.RequestType.CelType()),
		cel.Types(types.NewObjectType("Object")),
		cel.Types(types.NewObjectType("JSONPatch")),
		cel.Variable(compiler.VariablesKey, compiler.VariablesType),
	)
	base := environment.MustBaseEnvSet(compilerVersion)
	env, err := base.Env(environment.StoredExpressions)
	if err != nil {
		panic(err)
	}
	provider := compiler.NewVariablesProvider(env.CELTypeProvider())
	declared, err := apiservercel.NewDeclTypeProvider(compiler.NamespaceType, compiler.RequestType).EnvOptions(provider)
	if err != nil {
		panic(err)
	}
	baseOptions = append(baseOptions, declared...)
	baseOptions = append(baseOptions, common.ResolverEnvOption(&mutation.DynamicTypeResolver{}))
	libraries := []cel.EnvOption{
		ext.NativeTypes(reflect.TypeFor[libs.Exception](), ext.ParseStructTags(true)),
		cel.Variable(compiler.ExceptionsKey, types.NewObjectType("libs.Exception")),
		environment.UnversionedLib(library.JSONPatch),
		image.Lib(image.Latest()),
		hash.Lib(hash.Latest()),
		math.Lib(math.Latest()),
		json.Lib(&json.JsonImpl{}, json.Latest()),
		yaml.Lib(&yaml.YamlImpl{}, yaml.Latest()),
		random.Lib(random.Latest()),
		x509.Lib(x509.Latest()),
		time.Lib(time.Latest()),
		transform.Lib(transform.Latest()),
		gzip.Lib(gzip.Latest()),
		user.Lib(user.Latest()),
	}
	extended, err := base.Extend(
		environment.VersionedOptions{IntroducedVersion: compilerVersion, EnvOptions: baseOptions},
		environment.VersionedOptions{IntroducedVersion: compilerVersion, EnvOptions: libraries},
	)
	if err != nil {
		panic(err)
	}
	env, err = extended.Env(environment.StoredExpressions)
	if err != nil {
		panic(err)
	}
	return env, provider
}
