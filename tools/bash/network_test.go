package bash

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/tools"
	"mcp-toolset/web/site"
)

// TestOutlet checks where connections of a command go, and the facts on those that fail.
func TestOutlet(t *testing.T) {
	var dialed, asked []string
	served := map[string]bool{}
	o := &outlet{
		local: func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
			dialed = append(dialed, to.String())
			if !served[to.String()] {
				return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
			}
			client, server := net.Pipe()
			t.Cleanup(func() { client.Close(); server.Close() })
			return client, nil
		},
		rules: tools.Connections{Allow: func(_ context.Context, to site.Site) error {
			asked = append(asked, to.String())
			return fault.New("nothing may connect to "+to.String(), "Ask the user.")
		}},
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	connect := func(host string, port uint16) error {
		t.Helper()
		dialed, asked = nil, nil
		to := site.Site{Host: host, Port: port}
		conn, err := o.connect(t.Context(), to)
		if (conn == nil) != (err != nil) {
			t.Fatal(conn, err)
		}
		if err != nil {
			o.note(to, err)
		}
		return err
	}
	for _, c := range []struct{ host, dialed, asked string }{
		{"localhost", "127.0.0.1:3000 [::1]:3000", "localhost:3000"},
		{"127.0.0.2", "127.0.0.2:3000", "127.0.0.2:3000"},
		{"::1", "[::1]:3000", "[::1]:3000"},
		{"0.0.0.0", "127.0.0.1:3000", "127.0.0.1:3000"},
		{"::", "[::1]:3000", "[::1]:3000"},
		{strings.ToLower(name), "127.0.0.1:3000 [::1]:3000", "localhost:3000"},
		{"example.com", "", "example.com:3000"},
		{"10.0.0.1", "", "10.0.0.1:3000"},
	} {
		err := connect(c.host, 3000)
		var refusal *fault.Fault
		if !errors.As(err, &refusal) || errors.Is(err, syscall.ECONNREFUSED) != (c.dialed != "") {
			t.Errorf("%s: %v", c.host, err)
		}
		if got := strings.Join(dialed, " "); got != c.dialed || strings.Join(asked, " ") != c.asked {
			t.Errorf("%s: dialed %s, asked about %v", c.host, got, asked)
		}
	}
	// What is reached in the end is no failure, under any of its names.
	served["127.0.0.1:3000"], served["[::1]:3000"] = true, true
	for _, host := range []string{"localhost", "0.0.0.0", "::", "::1", strings.ToLower(name)} {
		if err := connect(host, 3000); err != nil || len(asked) > 0 {
			t.Errorf("%s, served: %v, asked about %v", host, err, asked)
		}
	}
	if facts := o.facts(); len(facts) != 3 || !strings.Contains(strings.Join(facts, "\n"), "nothing may connect to example.com:3000. Ask the user") {
		t.Errorf("the facts are %q", facts)
	}
	// Background requests of browsers are in one line.
	outer := o
	o = &outlet{rules: tools.Connections{Allow: func(context.Context, site.Site) error { return tools.ErrBackground }}}
	for _, host := range []string{"clients2.google.com", "update.googleapis.com", "clients2.google.com"} {
		for _, port := range []uint16{80, 443} {
			_ = connect(host, port)
		}
	}
	if facts := o.facts(); len(facts) != 1 || facts[0] != "refused without a question, as background requests of a browser or build tool: update.googleapis.com, clients2.google.com" {
		t.Errorf("the facts are %q", facts)
	}
	_ = connect("redirector.gvt1.com", 80)
	_ = connect("r1.gvt1.com", 80)
	if facts := o.facts(); len(facts) != 1 || !strings.HasSuffix(facts[0], ", redirector.gvt1.com and 1 more") {
		t.Errorf("the facts are %q", facts)
	}
	o = outer
	// A command cannot ask about any number of hosts.
	for i := range maxFailed + 5 {
		_ = connect(fmt.Sprintf("host%d.example", i), 443)
	}
	if err := connect("one-more.example", 443); len(asked) > 0 || err.Error() != "the command has tried 100 hosts in vain. Try fewer hosts in one command." {
		t.Errorf("asked about %v: %v", asked, err)
	}
	if facts := o.facts(); len(facts) != mostShown+1 || facts[mostShown] != "97 more hosts were not reached" {
		t.Errorf("the facts are %q", facts)
	}
	if err := connect("localhost", 3000); err != nil {
		t.Errorf("a server of the session, after that: %v", err)
	}
}
