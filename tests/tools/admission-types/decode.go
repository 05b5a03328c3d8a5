package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// What the handler of POST requests decodes with, strict field validation aside.
var decoder = legacyscheme.Codecs.DecoderToVersion(
	serializer.NewSerializerWithOptions(
		serializer.DefaultMetaFactory, legacyscheme.Scheme, legacyscheme.Scheme, serializer.SerializerOptions{}),
	runtime.InternalGroupVersioner)

func decodeLines(input *bufio.Reader, output *bufio.Writer) error {
	return answerLines(input, output, decoded)
}

// Answers each line that is not blank.
func answerLines(input *bufio.Reader, output *bufio.Writer, answer func([]byte) ([]byte, error)) error {
	for {
		line, err := input.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := writeAnswer(output, line, answer); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if input.Buffered() == 0 {
			if err := output.Flush(); err != nil {
				return err
			}
		}
	}
}

func writeAnswer(output *bufio.Writer, line []byte, ask func([]byte) ([]byte, error)) error {
	answer := struct {
		Ok    json.RawMessage `json:"ok,omitempty"`
		Error string          `json:"error,omitempty"`
	}{}
	object, err := ask(line)
	if err == nil {
		answer.Ok = object
	} else {
		answer.Error = err.Error()
	}
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(answer)
}

// The object in its own version, as JSON.
func decoded(text []byte) ([]byte, error) {
	object, kind, err := decoder.Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	return encoded(object, *kind)
}

// What a webhook gets of an object of the internal version.
func encoded(object runtime.Object, kind schema.GroupVersionKind) ([]byte, error) {
	external, err := legacyscheme.Scheme.ConvertToVersion(object, kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	external.GetObjectKind().SetGroupVersionKind(kind)
	return json.Marshal(external)
}
