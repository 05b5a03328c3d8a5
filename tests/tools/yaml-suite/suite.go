// Package suite names the module that carries the test suite of YAML, so that Go fetches it; its texts lie in
// testdata/yaml-test-suite/NAME/in.yaml, with a file `error` beside those that are no YAML.
package suite

import _ "github.com/goccy/go-yaml"
