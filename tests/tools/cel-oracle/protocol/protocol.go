// Package protocol is what both CEL oracles speak.
//
// Each line of stdin is a JSON object: `expression`, `variables` (a JSON object, integers stay integers), and
// `definitions`, a list of {name, expression} that become `variables.NAME`. Each line of stdout is a JSON object:
//
//	{"refused": "message"}                              the expression does not compile
//	{"type": "int", "value": "3", "cost": 5}            it evaluates; the text of the value says its type
//	{"type": "int", "failed": "message", "cost": 5}     it fails when it is evaluated
package protocol

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/cel/mutation"
)

// Definition is one of the policy's variables.
type Definition struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

// Case is one question.
type Case struct {
	Expression  string          `json:"expression"`
	Variables   json.RawMessage `json:"variables"`
	Definitions []Definition    `json:"definitions"`
}

// Answer is the answer to it.
type Answer struct {
	Refused string  `json:"refused,omitempty"`
	Type    string  `json:"type,omitempty"`
	Value   *string `json:"value,omitempty"`
	Failed  string  `json:"failed,omitempty"`
	Cost    *uint64 `json:"cost,omitempty"`
}

// Evaluate answers one case with the variables as CEL activations.
type Evaluate func(c Case, variables map[string]any) Answer

// Serve answers every line of stdin.
func Serve(evaluate Evaluate) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			encoded, encodeErr := json.Marshal(answer(line, evaluate))
			if encodeErr != nil {
				panic(encodeErr)
			}
			out.Write(append(encoded, '\n'))
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(err)
		}
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}

func answer(line []byte, evaluate Evaluate) (result Answer) {
	defer func() {
		if cause := recover(); cause != nil {
			result = Answer{Failed: fmt.Sprintf("panic: %v", cause)}
		}
	}()
	var c Case
	if err := json.Unmarshal(line, &c); err != nil {
		panic(err)
	}
	variables := map[string]any{}
	if len(c.Variables) > 0 {
		if err := kubejson.Unmarshal(c.Variables, &variables); err != nil {
			panic(err)
		}
	}
	return evaluate(c, variables)
}

// Run evaluates a program.
func Run(program cel.Program, outputType *cel.Type, variables any) Answer {
	result := Answer{Type: cel.FormatCELType(outputType)}
	value, details, err := program.Eval(variables)
	if details != nil {
		result.Cost = details.ActualCost()
	}
	if err != nil {
		result.Failed = err.Error()
		return result
	}
	text := Text(value)
	result.Value = &text
	return result
}

func quoted(text string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// Text writes a value so that its type shows; maps are sorted.
func Text(value ref.Val) string {
	switch v := value.(type) {
	case types.Null:
		return "null"
	case types.Bool:
		return strconv.FormatBool(bool(v))
	case types.Int:
		return strconv.FormatInt(int64(v), 10)
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10) + "u"
	case types.Double:
		if math.IsNaN(float64(v)) {
			return "NaN"
		}
		return "d" + strconv.FormatFloat(float64(v), 'e', -1, 64)
	case types.String:
		return quoted(string(v))
	case types.Bytes:
		return fmt.Sprintf("b%x", []byte(v))
	case types.Duration:
		return fmt.Sprintf("duration(%d)", v.Duration.Nanoseconds())
	case types.Timestamp:
		return "timestamp(" + v.Time.UTC().Format(time.RFC3339Nano) + ")"
	case *types.Optional:
		if !v.HasValue() {
			return "none"
		}
		return "some(" + Text(v.GetValue()) + ")"
	case *types.Type:
		return "type(" + v.TypeName() + ")"
	case *types.Err:
		return "error(" + v.Error() + ")"
	}
	if list, ok := value.(traits.Lister); ok {
		var items []string
		for i := list.Iterator(); i.HasNext() == types.True; {
			items = append(items, Text(i.Next()))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	if mapping, ok := value.(traits.Mapper); ok {
		var items []string
		for i := mapping.Iterator(); i.HasNext() == types.True; {
			key := i.Next()
			items = append(items, Text(key)+":"+Text(mapping.Get(key)))
		}
		sort.Strings(items)
		return "{" + strings.Join(items, ",") + "}"
	}
	if patch, ok := value.(*mutation.JSONPatchVal); ok {
		text := fmt.Sprintf(`JSONPatch{"from":%s,"op":%s,"path":%s`, quoted(patch.From), quoted(patch.Op), quoted(patch.Path))
		if patch.Val != nil {
			text += `,"value":` + Text(patch.Val)
		}
		return text + "}"
	}
	native := value.Value()
	if fields, ok := native.(map[string]any); ok {
		return value.Type().TypeName() + Text(types.DefaultTypeAdapter.NativeToValue(fields))
	}
	if text, ok := native.(fmt.Stringer); ok {
		return fmt.Sprintf("%s(%s)", value.Type().TypeName(), text)
	}
	encoded, err := json.Marshal(native)
	if err != nil {
		return fmt.Sprintf("%s(%v)", value.Type().TypeName(), err)
	}
	return fmt.Sprintf("%s(%s)", value.Type().TypeName(), encoded)
}
