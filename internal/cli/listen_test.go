package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	used, by := l.Addr().String(), "another program"
	if runtime.GOOS == "linux" {
		by = fmt.Sprintf("cli.test, process %d", os.Getpid())
	}
	for _, tc := range []struct {
		addr, want string
		usage      bool
	}{
		{"127.0.0.1:99999", `--addr is "127.0.0.1:99999"; the port is a number from 0 to 65535`, true},
		{"127.0.0.1:-1", `--addr is "127.0.0.1:-1"; the port is a number from 0 to 65535`, true},
		{used, used + " is in use by " + by + "; stop that, or use --addr 127.0.0.1:0 for a free port", false},
		{"192.0.2.1:0", `--addr is "192.0.2.1:0"; this machine does not have that address`, true},
	} {
		o := httpOptions{addr: tc.addr}
		_, err := o.listen(t.Context())
		var usage usageError
		if err == nil || err.Error() != tc.want || errors.As(err, &usage) != tc.usage {
			t.Errorf("%s: %v", tc.addr, err)
		}
	}
	o := httpOptions{addr: "127.0.0.1:0"}
	free, err := o.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
}

func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, blocks ...*pem.Block) string {
		var text strings.Builder
		for _, b := range blocks {
			_ = pem.Encode(&text, b) // to memory
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert, key := selfSigned(t)
	_, other := selfSigned(t)
	certFile, keyFile, both := write("cert.pem", cert), write("key.pem", key), write("both.pem", key, cert)
	otherFile, empty, missing := write("other.pem", other), write("empty"), filepath.Join(dir, "missing")
	for _, tc := range []struct{ cert, key, want string }{
		{certFile, keyFile, ""},
		{both, both, ""},
		{missing, keyFile, "reading --tls-cert: open " + missing},
		{certFile, missing, "reading --tls-key: open " + missing},
		{empty, keyFile, "--tls-cert: " + empty + " has no certificate in PEM format"},
		{keyFile, certFile, "--tls-cert: " + keyFile + " has no certificate in PEM format"},
		{certFile, empty, "--tls-key: " + empty + " has no private key in PEM format"},
		{certFile, otherFile, "--tls-cert " + certFile + " with --tls-key " + otherFile + ": tls: private key does not match public key"},
	} {
		o := httpOptions{cert: tc.cert, key: tc.key}
		if _, err := o.certificate(); tc.want == "" && err != nil || tc.want != "" && !strings.HasPrefix(fmt.Sprint(err), tc.want) {
			t.Errorf("%s, %s: %v", filepath.Base(tc.cert), filepath.Base(tc.key), err)
		}
	}
}

// selfSigned makes a certificate and its key.
func selfSigned(t *testing.T) (cert, key *pem.Block) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certDER, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return &pem.Block{Type: "CERTIFICATE", Bytes: certDER}, &pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}
}
