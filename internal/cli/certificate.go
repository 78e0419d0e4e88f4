package cli

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/text/plain"
)

// certificateEvery is the interval at which certificates looks for a change of the files.
const certificateEvery = 5 * time.Second

// certificates holds the certificate of --tls-cert and --tls-key.
type certificates struct {
	o    *httpOptions
	held atomic.Pointer[tls.Certificate]
	text string // of both files, or the error of reading them, when they were last looked at
}

// certificates reads the files of --tls-cert and --tls-key.
func (o *httpOptions) certificates() (*certificates, error) {
	c := &certificates{o: o}
	_, err := c.look()
	return c, err
}

// get returns the certificate for a connection.
func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.held.Load(), nil }

// look reads the files, and reports whether they have changed. If the new ones are not valid, it
// returns an error, and the old certificate stays.
func (c *certificates) look() (changed bool, err error) {
	cert, key, err := c.o.readPair()
	text := string(cert) + "\x00" + string(key)
	if err != nil {
		text = err.Error()
	}
	if text == c.text {
		return false, nil
	}
	c.text = text
	if err != nil {
		return true, err
	}
	pair, err := c.o.parsePair(cert, key)
	if err == nil {
		c.held.Store(&pair)
	}
	return true, err
}

// follow reads the files again when they change, until ctx ends.
func (c *certificates) follow(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(certificateEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch changed, err := c.look(); {
		case err != nil:
			log.Error("the certificate stays as it was: the changed files are not valid", "error", err.Error())
		case changed:
			log.Info("the certificate was read again")
		}
	}
}

func (o *httpOptions) readPair() (cert, key []byte, err error) {
	if cert, err = os.ReadFile(o.cert); err != nil {
		return nil, nil, fmt.Errorf("reading --tls-cert: %w", err)
	}
	if key, err = os.ReadFile(o.key); err != nil {
		return nil, nil, fmt.Errorf("reading --tls-key: %w", err)
	}
	return cert, key, nil
}

func (o *httpOptions) parsePair(cert, key []byte) (tls.Certificate, error) {
	none := tls.Certificate{}
	switch {
	case !hasPEM(cert, "CERTIFICATE"):
		return none, fmt.Errorf("--tls-cert: %s has no certificate in PEM format", plain.Line(o.cert))
	case !hasPEM(key, "PRIVATE KEY"):
		return none, fmt.Errorf("--tls-key: %s has no private key in PEM format", plain.Line(o.key))
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return none, fmt.Errorf("--tls-cert %s with --tls-key %s: %w", plain.Line(o.cert), plain.Line(o.key), err)
	}
	return pair, nil
}

// hasPEM reports whether data contains a PEM block whose type ends in kind.
func hasPEM(data []byte, kind string) bool {
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			return false
		}
		if strings.HasSuffix(block.Type, kind) {
			return true
		}
		data = rest
	}
}
