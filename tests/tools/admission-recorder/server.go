package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
)

type server struct {
	address string
	token   string
	client  *http.Client

	lock sync.Mutex
	// By apiVersion.
	resources map[string][]resource
	// By path: what was created for others, once.
	created map[string]*sync.Once
}

type resource struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Namespaced bool     `json:"namespaced"`
	Verbs      []string `json:"verbs"`
}

func connect(address, authority, token string) (*server, error) {
	certificate, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificate) {
		return nil, fmt.Errorf("%s: no certificate", authority)
	}
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: pool},
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: workers,
	}
	return &server{
		address:   address,
		token:     token,
		client:    &http.Client{Transport: transport},
		resources: map[string][]resource{},
		created:   map[string]*sync.Once{},
	}, nil
}

// Sends a request, as another administrator if a user is named.
func (s *server) send(method, path string, body []byte, user string) (int, []byte, error) {
	request, err := http.NewRequest(method, s.address+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", "application/json")
	if user != "" {
		request.Header.Set("Impersonate-User", user)
		request.Header.Set("Impersonate-Group", "system:masters")
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	return answer.StatusCode, content, err
}

func (s *server) create(path string, object []byte, user string) (int, []byte, error) {
	return s.send(http.MethodPost, path, object, user)
}

// The parts of an object that decide where it is created. Each is read by itself, so that an error in one is none of
// another.
type head struct {
	apiVersion, kind, namespace, serviceAccount string
}

func headOf(object []byte) head {
	text := func(raw json.RawMessage) string {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return ""
		}
		return text
	}
	members := func(raw json.RawMessage) map[string]json.RawMessage {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return nil
		}
		return members
	}
	root := members(object)
	head := head{
		apiVersion: text(root["apiVersion"]),
		kind:       text(root["kind"]),
		namespace:  text(members(root["metadata"])["namespace"]),
	}
	if head.apiVersion == "v1" && head.kind == "Pod" {
		spec := members(root["spec"])
		head.serviceAccount = text(spec["serviceAccountName"])
		if head.serviceAccount == "" {
			head.serviceAccount = text(spec["serviceAccount"])
		}
	}
	return head
}

// The path at which an object is created. What must exist there is created before.
func (s *server) prepare(object []byte) (string, error) {
	head := headOf(object)
	if head.apiVersion == "" || head.kind == "" {
		return "", fmt.Errorf("no apiVersion or kind")
	}
	found, err := s.resource(head.apiVersion, head.kind)
	if err != nil {
		return "", err
	}
	root := groupPath(head.apiVersion)
	if !found.Namespaced {
		return root + "/" + found.Name, nil
	}
	namespace := head.namespace
	if namespace == "" {
		namespace = "default"
	}
	s.ensure("/api/v1/namespaces", "Namespace", namespace)
	accounts := "/api/v1/namespaces/" + url.PathEscape(namespace) + "/serviceaccounts"
	s.ensure(accounts, "ServiceAccount", "default")
	if head.serviceAccount != "" {
		s.ensure(accounts, "ServiceAccount", head.serviceAccount)
	}
	return root + "/namespaces/" + url.PathEscape(namespace) + "/" + found.Name, nil
}

// Creates an object without further fields. A name that the server refuses is an error of the object that uses it.
func (s *server) ensure(path, kind, name string) {
	key := path + "/" + name
	s.lock.Lock()
	once, ok := s.created[key]
	if !ok {
		once = new(sync.Once)
		s.created[key] = once
	}
	s.lock.Unlock()
	once.Do(func() {
		object, _ := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name},
		})
		_, _, _ = s.create(path, object, "")
	})
}

func groupPath(apiVersion string) string {
	if strings.Contains(apiVersion, "/") {
		return "/apis/" + apiVersion
	}
	return "/api/" + apiVersion
}

func (s *server) resource(apiVersion, kind string) (resource, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	known, ok := s.resources[apiVersion]
	if !ok {
		code, answer, err := s.send(http.MethodGet, groupPath(apiVersion), nil, "")
		if err != nil {
			return resource{}, err
		}
		var list struct {
			Resources []resource `json:"resources"`
		}
		if code == http.StatusOK {
			if err := json.Unmarshal(answer, &list); err != nil {
				return resource{}, err
			}
		}
		known = list.Resources
		s.resources[apiVersion] = known
	}
	for _, resource := range known {
		if resource.Kind == kind && !strings.Contains(resource.Name, "/") {
			return resource, nil
		}
	}
	return resource{}, fmt.Errorf("%s %s is not served", apiVersion, kind)
}

func statusMessage(answer []byte) string {
	var status struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(answer, &status) != nil || status.Message == "" {
		return string(answer)
	}
	return status.Message
}
