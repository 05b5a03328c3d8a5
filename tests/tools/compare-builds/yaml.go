package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// Generated documents are trees of object, list, string, raw, block, bool, int and nil.

type member struct {
	key   string
	value any
}

// A map that keeps its order.
type object []member

type list []any

// A scalar that is written without quotes.
type raw string

// A text of several lines, written as a literal block.
type block string

func (o object) get(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// The object with a member set, at the end if it is new.
func (o object) with(key string, value any) object {
	for at := range o {
		if o[at].key == key {
			o[at].value = value
			return o
		}
	}
	return append(o, member{key, value})
}

// How a document is written. The zero value is plain block style.
type style struct {
	random *rand.Rand
	// Elements of lists are indented.
	indented bool
	// Chances of brackets, comments, blank lines and needless quotes.
	flow, comments, blanks, quotes float64
	step                           int
}

func randomStyle(random *rand.Rand) style {
	chosen := style{random: random, step: 2, indented: random.IntN(2) == 0}
	switch random.IntN(5) {
	case 0:
		return chosen
	case 1:
		chosen.step = 4
	case 2:
		chosen.flow = 0.3
	}
	chosen.comments, chosen.blanks, chosen.quotes = 0.08, 0.03, 0.15
	return chosen
}

func (s *style) chance(of float64) bool { return s.random != nil && s.random.Float64() < of }

func (s *style) write(documents ...object) string {
	var out strings.Builder
	for at, document := range documents {
		if at > 0 {
			out.WriteString("---\n")
		}
		s.members(&out, document, 0)
	}
	return out.String()
}

func (s *style) members(out *strings.Builder, o object, indent int) {
	for _, m := range o {
		s.member(out, m, indent)
	}
}

func (s *style) spaces() int { return max(s.step, 2) }

func (s *style) member(out *strings.Builder, m member, indent int) {
	pad := strings.Repeat(" ", indent)
	if s.chance(s.blanks) {
		out.WriteString("\n")
	}
	if s.chance(s.comments) {
		fmt.Fprintf(out, "%s# about %s\n", pad, strings.Trim(m.key, "\n"))
	}
	out.WriteString(pad)
	s.rest(out, m, indent)
}

// A member whose indentation is written already.
func (s *style) rest(out *strings.Builder, m member, indent int) {
	out.WriteString(s.scalar(m.key) + ":")
	switch value := m.value.(type) {
	case object:
		if len(value) > 0 && !s.chance(s.flow) {
			out.WriteString("\n")
			s.members(out, value, indent+s.spaces())
			return
		}
	case list:
		if len(value) > 0 && !s.chance(s.flow) {
			out.WriteString("\n")
			if s.indented {
				indent += 2
			}
			s.items(out, value, indent)
			return
		}
	case block:
		pad := strings.Repeat(" ", indent+s.spaces())
		text := strings.TrimRight(string(value), "\n")
		out.WriteString(" |-\n" + pad + strings.ReplaceAll(text, "\n", "\n"+pad) + "\n")
		return
	}
	out.WriteString(" " + s.inline(m.value))
	if s.chance(s.comments) {
		out.WriteString("  # so it is")
	}
	out.WriteString("\n")
}

func (s *style) items(out *strings.Builder, items list, indent int) {
	pad := strings.Repeat(" ", indent)
	for _, item := range items {
		out.WriteString(pad + "- ")
		o, isObject := item.(object)
		if !isObject || len(o) == 0 || s.chance(s.flow) {
			out.WriteString(s.inline(item) + "\n")
			continue
		}
		s.rest(out, o[0], indent+2)
		s.members(out, o[1:], indent+2)
	}
}

// A value on one line.
func (s *style) inline(value any) string {
	var parts []string
	switch value := value.(type) {
	case object:
		for _, m := range value {
			parts = append(parts, s.scalar(m.key)+": "+s.inline(m.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case list:
		for _, item := range value {
			parts = append(parts, s.inline(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return s.scalar(value)
	case block:
		return quotedText(string(value))
	case nil:
		return "null"
	default:
		return fmt.Sprint(value)
	}
}

var (
	plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)
	reserved  = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n)$`)
)

func (s *style) scalar(text string) string {
	if plainText.MatchString(text) && !reserved.MatchString(text) && !s.chance(s.quotes) {
		return text
	}
	if s.chance(0.4) && !strings.ContainsAny(text, "\n\t\\") {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return quotedText(text)
}

// A text in double quotes, which JSON and YAML read alike.
func quotedText(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return `""`
	}
	return strings.TrimSpace(out.String())
}
