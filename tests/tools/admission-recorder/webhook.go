package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"

// How long the server may take until it calls a new webhook.
const registrationTimeout = 30 * time.Second

// A mutating webhook that changes nothing and keeps what it gets, by user.
type webhook struct {
	// Also the prefix of users, so that recorders of one server do not get in each other's way.
	name        string
	address     string
	certificate []byte

	lock     sync.Mutex
	expected map[string]json.RawMessage
}

type review struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID      string `json:"uid"`
	UserInfo struct {
		Username string `json:"username"`
	} `json:"userInfo"`
	Object json.RawMessage `json:"object"`
}

type response struct {
	UID     string `json:"uid"`
	Allowed bool   `json:"allowed"`
}

func startWebhook() (*webhook, error) {
	certificate, encoded, err := selfSigned()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	hook := &webhook{
		name:        "recorder-" + strings.ToLower(rand.Text()),
		address:     "https://" + listener.Addr().String() + "/",
		certificate: encoded,
		expected:    map[string]json.RawMessage{},
	}
	server := &http.Server{
		Handler:   http.HandlerFunc(hook.serve),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
	}
	go func() { log.Fatal(server.ServeTLS(listener, "", "")) }()
	return hook, nil
}

func (h *webhook) serve(writer http.ResponseWriter, from *http.Request) {
	var asked review
	if err := json.NewDecoder(from.Body).Decode(&asked); err != nil || asked.Request == nil {
		http.Error(writer, "no AdmissionReview", http.StatusBadRequest)
		return
	}
	h.lock.Lock()
	if _, ok := h.expected[asked.Request.UserInfo.Username]; ok {
		h.expected[asked.Request.UserInfo.Username] = asked.Request.Object
	}
	h.lock.Unlock()
	writer.Header().Set("Content-Type", "application/json")
	// The server sees a broken answer as a failed webhook, and says so.
	_ = json.NewEncoder(writer).Encode(review{
		APIVersion: asked.APIVersion,
		Kind:       asked.Kind,
		Response:   &response{UID: asked.Request.UID, Allowed: true},
	})
}

// From now on the object of this user's request is kept.
func (h *webhook) expect(user string) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.expected[user] = nil
}

// The object of the user's request, nil if none came.
func (h *webhook) take(user string) json.RawMessage {
	h.lock.Lock()
	defer h.lock.Unlock()
	object := h.expected[user]
	delete(h.expected, user)
	return object
}

// Registers the webhook for the creation of everything, and waits until the server calls it.
func (h *webhook) register(server *server) error {
	configuration, err := json.Marshal(map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind":       "MutatingWebhookConfiguration",
		"metadata":   map[string]any{"name": h.name},
		"webhooks": []any{map[string]any{
			"name":                    "admission-recorder.test.invalid",
			"admissionReviewVersions": []string{"v1"},
			"clientConfig":            map[string]any{"url": h.address, "caBundle": h.certificate},
			// Another recorder of the same server may have been killed.
			"failurePolicy":  "Ignore",
			"matchPolicy":    "Exact",
			"sideEffects":    "None",
			"timeoutSeconds": 30,
			"rules": []any{map[string]any{
				"apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": []string{"*"},
				"operations": []string{"CREATE"}, "scope": "*",
			}},
		}},
	})
	if err != nil {
		return err
	}
	code, answer, err := server.create(configurations, configuration, "")
	if err != nil {
		return err
	}
	if code >= 300 {
		return fmt.Errorf("the webhook is not registered: %s", statusMessage(answer))
	}
	probe := []byte(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "probe"}}`)
	for start := time.Now(); time.Since(start) < registrationTimeout; time.Sleep(50 * time.Millisecond) {
		if recordOne(server, h, probe, h.name).Admitted != nil {
			return nil
		}
	}
	return fmt.Errorf("the server never called the webhook")
}

// The server calls the webhook no more.
func (h *webhook) remove(server *server) error {
	code, answer, err := server.send(http.MethodDelete, configurations+"/"+h.name, nil, "")
	if err == nil && code >= 300 {
		err = fmt.Errorf("the webhook is not removed: %s", statusMessage(answer))
	}
	return err
}

// A certificate for the loopback address, good for a day, and its PEM.
func selfSigned() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	from := time.Now().Add(-time.Hour)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "admission-recorder"},
		NotBefore:             from,
		NotAfter:              from.Add(25 * time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	encoded := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}, encoded, nil
}
