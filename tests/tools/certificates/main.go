// certificates FOLDER NAME [GROUP...] makes an authority and a certificate of a client that API servers take for
// the user NAME of these groups: ca.crt, client.crt and client.key, all PEM, good for a day.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: certificates FOLDER NAME [GROUP...]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "certificates:", err)
		os.Exit(1)
	}
}

func run(folder, name string, groups []string) error {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	// Clocks of machines that share a folder may differ a little.
	from := time.Now().Add(-time.Hour)
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "clients of the test cluster"},
		NotBefore:             from,
		NotAfter:              from.Add(25 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	signed, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return err
	}
	if err := write(folder, "ca.crt", "CERTIFICATE", signed); err != nil {
		return err
	}
	clientKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	client := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    authority.NotBefore,
		NotAfter:     authority.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	signed, err = x509.CreateCertificate(rand.Reader, client, authority, clientKey.Public(), authorityKey)
	if err != nil {
		return err
	}
	if err := write(folder, "client.crt", "CERTIFICATE", signed); err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(clientKey)
	if err != nil {
		return err
	}
	return write(folder, "client.key", "PRIVATE KEY", key)
}

func write(folder, name, kind string, bytes []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
	return os.WriteFile(filepath.Join(folder, name), text, 0o600)
}
