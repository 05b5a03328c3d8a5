// Oracle answers what the YAML library of Kubernetes and Kyverno makes of a text.
//
//	oracle parse         a JSON string holding one YAML document -> its value
//	oracle parse-strict  the same, duplicate keys refused
//	oracle split         a JSON string holding a YAML stream -> the texts of its documents, as kubectl and Kyverno cut it
//	oracle emit          a JSON value -> its YAML text
//
// Each line of stdin is one question, each line of stdout its answer: {"ok": …} or {"error": "…"}.
// An answer leaves as soon as no further question waits, so both a dialogue and a bulk run work;
// whoever asks in bulk reads while it writes.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	streams "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// An answer gives JSON text, not a value, so that numbers keep the digits that the library gave them.
type answer func(question []byte) (jsonText []byte, err error)

var modes = map[string]answer{
	"parse":        ofText(yaml.YAMLToJSON),
	"parse-strict": ofText(yaml.YAMLToJSONStrict),
	"split":        ofText(split),
	"emit":         emit,
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "oracle: %v\n", err)
		os.Exit(1)
	}
}

func run(arguments []string, stdin io.Reader, stdout io.Writer) error {
	if len(arguments) != 1 || modes[arguments[0]] == nil {
		return errors.New("wants one of parse, parse-strict, split, emit")
	}
	ask := modes[arguments[0]]
	questions := bufio.NewReaderSize(stdin, 1<<16)
	answers := bufio.NewWriterSize(stdout, 1<<16)
	for {
		question, err := questions.ReadBytes('\n')
		if len(question) > 0 {
			if err := write(answers, ask, question); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return answers.Flush()
		}
		if err != nil {
			return err
		}
		if questions.Buffered() == 0 {
			if err := answers.Flush(); err != nil {
				return err
			}
		}
	}
}

func write(answers io.Writer, ask answer, question []byte) error {
	key := "ok"
	text, err := guarded(ask, question)
	if err != nil {
		key = "error"
		text, err = encode(err.Error())
		if err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(answers, "{%q:%s}\n", key, text)
	return err
}

// The library panics on some broken documents; those are answers too.
func guarded(ask answer, question []byte) (text []byte, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			text, err = nil, fmt.Errorf("panic: %v", fault)
		}
	}()
	return ask(question)
}

func ofText(convert func([]byte) ([]byte, error)) answer {
	return func(question []byte) ([]byte, error) {
		var text string
		if err := json.Unmarshal(question, &text); err != nil {
			return nil, fmt.Errorf("the question is not a JSON string: %w", err)
		}
		return convert([]byte(text))
	}
}

func split(stream []byte) ([]byte, error) {
	documents := []string{}
	reader := streams.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream)))
	for {
		document, err := reader.Read()
		if err == io.EOF {
			return encode(documents)
		}
		if err != nil {
			return nil, err
		}
		documents = append(documents, string(document))
	}
}

func emit(question []byte) ([]byte, error) {
	if !json.Valid(question) {
		return nil, errors.New("the question is not JSON")
	}
	text, err := yaml.JSONToYAML(question)
	if err != nil {
		return nil, err
	}
	return encode(string(text))
}

func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(text.Bytes()), nil
}
