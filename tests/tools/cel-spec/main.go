// Prints the public conformance tests of CEL, which the module cel.dev/expr carries, as JSON lines: the folder of the
// module is the only argument. A line has `file`, `name`, `expression`, `container`, `macros` (false: they are off),
// `checked` (false: types are not), `variables` (name to CEL source), and either `value` (as tests/language/cel.rs writes
// values) or `fails`. `message` is true where a value is a protocol buffer.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"cel.dev/expr"
	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
	"cel.dev/expr/conformance/test"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type line struct {
	File       string            `json:"file"`
	Name       string            `json:"name"`
	Expression string            `json:"expression"`
	Container  string            `json:"container"`
	Macros     bool              `json:"macros"`
	Checked    bool              `json:"checked"`
	Variables  map[string]string `json:"variables"`
	Value      string            `json:"value"`
	Fails      bool              `json:"fails"`
	Message    bool              `json:"message"`
}

func main() {
	paths, err := filepath.Glob(filepath.Join(os.Args[1], "tests/simple/testdata/*.textproto"))
	check(err)
	sort.Strings(paths)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check(err)
		var file test.SimpleTestFile
		check(prototext.Unmarshal(text, &file))
		for _, section := range file.Section {
			for _, one := range section.Test {
				encoded, err := json.Marshal(converted(file.Name, section.Name, one))
				check(err)
				fmt.Fprintln(out, string(encoded))
			}
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func converted(file, section string, one *test.SimpleTest) line {
	result := line{
		File: file, Name: section + "/" + one.Name, Expression: one.Expr, Container: one.Container,
		Macros: !one.DisableMacros, Checked: !one.DisableCheck, Variables: map[string]string{},
	}
	for name, binding := range one.Bindings {
		source, ok := source(binding.GetValue())
		result.Variables[name] = source
		result.Message = result.Message || !ok
	}
	var value *expr.Value
	switch matcher := one.ResultMatcher.(type) {
	case *test.SimpleTest_Value:
		value = matcher.Value
	case *test.SimpleTest_TypedResult:
		value = matcher.TypedResult.Result
	case nil:
		value = &expr.Value{Kind: &expr.Value_BoolValue{BoolValue: true}}
	default:
		result.Fails = true
		return result
	}
	text, ok := canonical(value)
	result.Value = text
	result.Message = result.Message || !ok
	return result
}

// canonical is a value as text, and whether it has no messages in it.
func canonical(value *expr.Value) (string, bool) {
	switch kind := value.GetKind().(type) {
	case *expr.Value_NullValue:
		return "null", true
	case *expr.Value_BoolValue:
		return strconv.FormatBool(kind.BoolValue), true
	case *expr.Value_Int64Value:
		return strconv.FormatInt(kind.Int64Value, 10), true
	case *expr.Value_Uint64Value:
		return strconv.FormatUint(kind.Uint64Value, 10) + "u", true
	case *expr.Value_DoubleValue:
		if math.IsNaN(kind.DoubleValue) {
			return "NaN", true
		}
		return "d" + strconv.FormatFloat(kind.DoubleValue, 'e', -1, 64), true
	case *expr.Value_StringValue:
		return quoted(kind.StringValue), true
	case *expr.Value_BytesValue:
		return fmt.Sprintf("b%x", kind.BytesValue), true
	case *expr.Value_TypeValue:
		return "type(" + kind.TypeValue + ")", true
	case *expr.Value_ListValue:
		items, ok := all(kind.ListValue.Values, canonical)
		return "[" + strings.Join(items, ",") + "]", ok
	case *expr.Value_MapValue:
		items, ok := entries(kind.MapValue.Entries, canonical)
		sort.Strings(items)
		return "{" + strings.Join(items, ",") + "}", ok
	case *expr.Value_ObjectValue:
		var duration durationpb.Duration
		if kind.ObjectValue.UnmarshalTo(&duration) == nil {
			return fmt.Sprintf("duration(%d)", duration.AsDuration().Nanoseconds()), true
		}
		var stamp timestamppb.Timestamp
		if kind.ObjectValue.UnmarshalTo(&stamp) == nil {
			return "timestamp(" + stamp.AsTime().Format("2006-01-02T15:04:05.999999999Z07:00") + ")", true
		}
	}
	return "", false
}

// source is a value as a CEL expression, and whether it has no messages in it.
func source(value *expr.Value) (string, bool) {
	switch kind := value.GetKind().(type) {
	case *expr.Value_DoubleValue:
		return fmt.Sprintf("double('%v')", kind.DoubleValue), true
	case *expr.Value_BytesValue:
		return "b" + strconv.QuoteToASCII(string(kind.BytesValue)), true
	case *expr.Value_TypeValue:
		return kind.TypeValue, true
	case *expr.Value_ListValue:
		items, ok := all(kind.ListValue.Values, source)
		return "[" + strings.Join(dynamic(items), ", ") + "]", ok
	case *expr.Value_MapValue:
		items, ok := entries(kind.MapValue.Entries, source)
		return "{" + strings.Join(items, ", ") + "}", ok
	case *expr.Value_ObjectValue:
		return "null", false
	}
	return canonical(value)
}

func dynamic(items []string) []string {
	for i, item := range items {
		items[i] = "dyn(" + item + ")"
	}
	return items
}

func all(values []*expr.Value, convert func(*expr.Value) (string, bool)) ([]string, bool) {
	items := []string{}
	ok := true
	for _, value := range values {
		item, fine := convert(value)
		items = append(items, item)
		ok = ok && fine
	}
	return items, ok
}

func entries(values []*expr.MapValue_Entry, convert func(*expr.Value) (string, bool)) ([]string, bool) {
	items := []string{}
	ok := true
	for _, entry := range values {
		key, fineKey := convert(entry.Key)
		value, fineValue := convert(entry.Value)
		items = append(items, key+":"+value)
		ok = ok && fineKey && fineValue
	}
	return items, ok
}

// As tests/language/cel.rs quotes.
func quoted(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteString("\\" + string(r))
		case r == '\n':
			out.WriteString("\\n")
		case r == '\r':
			out.WriteString("\\r")
		case r == '\t':
			out.WriteString("\\t")
		case r < 0x20:
			fmt.Fprintf(&out, "\\u%04x", r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String() + "\""
}
