package e2e

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestRegistries runs real package managers through the proxy of commands, in fresh folders and
// without rules. REGISTRIES=1 switches it on. Registries that this machine does not reach are
// left out. Nothing asks.
func TestRegistries(t *testing.T) {
	if os.Getenv("REGISTRIES") == "" {
		t.Skip("REGISTRIES is not set")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, program, host, command string }{
		{"npm", "npm", "registry.npmjs.org:443", "npm init -y >/dev/null && npm install left-pad express && test -d node_modules/express"},
		{"npx", "npx", "registry.npmjs.org:443", "npx --yes cowsay moo"},
		{"Go", "go", "proxy.golang.org:443", "go mod init example.com/x && go get golang.org/x/text@v0.14.0 golang.org/x/tools/cmd/stringer@v0.24.0 && go mod download"},
		{"pip", "python3", "pypi.org:443", "python3 -m venv v && v/bin/pip download --no-deps -d d six"},
		{"cargo", "cargo", "index.crates.io:443", "cargo init --name x && cargo add anyhow && cargo fetch"},
		{"Debian", "curl", "deb.debian.org:80", "curl -sSf -o r http://deb.debian.org/debian/dists/stable/Release && grep -q ^Origin r"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skip(err)
			}
			conn, err := net.DialTimeout("tcp", c.host, 5*time.Second)
			if err != nil {
				t.Skip(err)
			}
			conn.Close()
			s := startShell(t, shellOptions{asks: true, env: []string{"HOME=" + home}})
			a := s.call("Bash", map[string]any{"command": c.command, "timeout": 100_000})
			if a.failed || strings.Contains(a.text, "[network: ") {
				t.Errorf("%s", a.text)
			}
		})
	}
}
