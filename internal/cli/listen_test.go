package cli

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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
		if _, err := o.certificates(); tc.want == "" && err != nil || tc.want != "" && !strings.HasPrefix(fmt.Sprint(err), tc.want) {
			t.Errorf("%s, %s: %v", filepath.Base(tc.cert), filepath.Base(tc.key), err)
		}
	}
}

// TestCertificateChanges checks that a changed certificate holds without a restart, and that the old
// one stays, with one line in the log, while the files are not valid.
func TestCertificateChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		o := &httpOptions{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
		write := func(path string, b *pem.Block) {
			if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cert, key := selfSigned(t)
		write(o.cert, cert)
		write(o.key, key)
		c, err := o.certificates()
		if err != nil {
			t.Fatal(err)
		}
		var log lines
		ctx, stop := context.WithCancel(t.Context())
		go c.follow(ctx, slog.New(slog.NewTextHandler(&log, nil)))
		shows := func(why string, want *pem.Block, errors, read int) {
			t.Helper()
			time.Sleep(3 * certificateEvery)
			synctest.Wait()
			got, _ := c.get(nil)
			if !bytes.Equal(got.Certificate[0], want.Bytes) {
				t.Errorf("%s: it is another certificate", why)
			}
			if e, r := strings.Count(log.String(), "level=ERROR"), strings.Count(log.String(), "was read again"); e != errors || r != read {
				t.Errorf("%s: %d errors and %d readings, want %d and %d:\n%s", why, e, r, errors, read, log.String())
			}
		}
		shows("at first", cert, 0, 0)
		next, nextKey := selfSigned(t)
		write(o.cert, next)
		shows("with the old key", cert, 1, 0)
		write(o.key, nextKey)
		shows("with its key", next, 1, 1)
		_ = os.Remove(o.key)
		shows("without a key", next, 2, 1)
		write(o.key, nextKey)
		shows("as before", next, 2, 2)
		stop()
	})
}

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
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
