package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretsOfServer checks that no command can find the server's own variables or those
// that the settings scrub.
func TestSecretsOfServer(t *testing.T) {
	t.Parallel()
	env := []string{
		"MCP_TOOLSET_TOKEN=secret-of-server", "GOSECRETIVE=secret-by-setting", "LC_COMPANY=secret-by-star", "NPM_TOKEN=secret-by-name",
		"AWS_SECRET_ACCESS_KEY=secret-unknown", "LC_HARMLESS=shown", "COMPANY_PASSED=passed", "BASH_ENV=/secret-of-bash",
	}
	for _, sandbox := range []string{"auto", "off"} {
		t.Run(sandbox, func(t *testing.T) {
			s := startShell(t, shellOptions{env: env, args: []string{"--sandbox", sandbox},
				settings: `{"env": {"scrub": ["GOSECRETIVE", "LC_COMP*"], "pass": ["COMPANY_*"]}}`})
			look := []string{"env", "export -p", "cat /proc/self/environ", "cat /proc/$PPID/environ", "cat /proc/1/environ", "sleep 0 & cat /proc/$!/environ", `cat /proc/[0-9]*/environ`}
			if sandbox != "off" {
				look = append(look, fmt.Sprintf("cat /proc/%d/environ", s.cmd.Process.Pid))
			} else {
				look = look[:4] // a process of the server's user can read its environment
			}
			for _, tool := range []string{"Bash", "BashReadOnly"} {
				if sandbox == "off" && tool == "BashReadOnly" {
					continue
				}
				for _, command := range look {
					a := s.call(tool, map[string]any{"command": "exec 2>&1; " + command + " | tr '\\0' '\\n'; true"})
					if a.failed || strings.Contains(a.text, "secret-") {
						t.Errorf("%s %s: %s", tool, command, a.text)
					}
				}
				a := s.call(tool, map[string]any{"command": "env"})
				if !strings.Contains(a.text, "LC_HARMLESS=shown") || !strings.Contains(a.text, "COMPANY_PASSED=passed") {
					t.Errorf("%s: missing: %s", tool, a.text)
				}
			}
			// This command is classified as read-only, so it runs in another way.
			if a := s.bash("cat /proc/self/environ"); strings.Contains(a.text, "secret-") || !strings.Contains(a.text, "PATH=") {
				t.Error(a.text)
			}
		})
	}
}

// TestTokenOfServer checks that no command can find the token of the HTTP server, given
// or generated.
func TestTokenOfServer(t *testing.T) {
	s := startShellHTTP(t)
	for _, tool := range []string{"Bash", "BashReadOnly"} {
		text, err := s.call(t.Context(), tool, map[string]any{"command": "env; p=$(echo /proc); cat $p/[0-9]*/environ $p/[0-9]*/cmdline | tr '\\0' '\\n'; true"})
		if err != nil || strings.Contains(text, wireToken) || strings.Contains(text, "MCP_TOOLSET_TOKEN") || !strings.Contains(text, "PATH=") {
			t.Errorf("%s: %v %s", tool, err, text)
		}
	}
}

// TestSecretsOfUser checks that commands cannot read credentials in the home folder or
// the state of the server.
func TestSecretsOfUser(t *testing.T) {
	t.Parallel()
	for _, user := range users(t) {
		t.Run(user.name, func(t *testing.T) {
			s := startShell(t, shellOptions{user: user.id})
			user.needs(t, s)
			base := filepath.Dir(s.root)
			secrets := []string{".ssh/id_rsa", ".aws/credentials", ".netrc", ".git-credentials", ".docker/config.json", ".kube/config", ".gnupg/private-keys-v1.d/a.key"}
			for _, name := range secrets {
				writeAt(t, filepath.Join(s.home, name), "a-secret auths")
			}
			writeAt(t, filepath.Join(s.home, "notes.txt"), "no secret")
			writeAt(t, filepath.Join(base, "state/token"), "a-secret")
			// Secrets are located when a command starts.
			for _, tool := range []string{"Bash", "BashReadOnly"} {
				for _, path := range append(secrets, "../state/token") {
					path = filepath.Join(s.home, path)
					a := s.call(tool, map[string]any{"command": strings.ReplaceAll(`cat %; (cd / && cat .%)
cp % $TMPDIR/x && cat $TMPDIR/x; ln % $TMPDIR/y; cat $TMPDIR/y; cat /proc/self/root%; tar c % | cat; cat <%; mv % $TMPDIR/z; cat $TMPDIR/z`, "%", path)})
					if strings.Contains(a.text, "a-secret") {
						t.Errorf("%s, %s: %s", tool, path, a.text)
					}
				}
				if a := s.call(tool, map[string]any{"command": "cat ~/notes.txt"}); a.text != "no secret" {
					t.Errorf("%s: %s", tool, a.text)
				}
			}
			if _, err := os.Stat(filepath.Join(s.home, ".ssh/id_rsa")); err != nil {
				t.Error(err)
			}
		})
	}
}
