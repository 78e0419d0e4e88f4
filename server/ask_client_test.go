package server

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"mcp-toolset/internal/identity"
)

// TestRealClient asks a user through the protocol's TypeScript client.
// CLIENTS_DIR is the folder with the clients of the end-to-end checks.
func TestRealClient(t *testing.T) {
	clients := os.Getenv("CLIENTS_DIR")
	if clients == "" {
		t.Skip("CLIENTS_DIR is not set; e2e/clients/install.sh prints it")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(clients, "node_modules/node/bin/node"), "../e2e/clients/elicit.mjs", self, "-test.run=^TestAskFixture$")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// TestAskFixture is not a test. It is the server that TestRealClient starts,
// over the transport that ASK_FIXTURE names.
func TestAskFixture(t *testing.T) {
	transport := os.Getenv("ASK_FIXTURE")
	if transport == "" {
		t.Skip("it is started by TestRealClient")
	}
	s := newAsking(t)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if transport == "stdio" {
		if err := s.ServeStdio(ctx, os.Stdin, os.Stdout); err != nil {
			t.Error(err)
		}
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s/mcp\n", l.Addr())
	if err := s.ServeHTTP(ctx, l, HTTP{Users: identity.NewOne(goodToken)}); err != nil {
		t.Error(err)
	}
}
