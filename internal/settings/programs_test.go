package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrograms(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	for _, file := range []string{root + "/fmt.sh", root + "/check.py", root + "/judge", outside + "/own.sh"} {
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := parse(t, "/etc/test.json", "/etc", `{
		"hooks": {
			"PreToolUse": [{"hooks": [{"type": "command", "command": "python3 check.py --strict"}, {"type": "command", "command": "`+outside+`/own.sh"}]}],
			"PostToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "cd /; \"$CLAUDE_PROJECT_DIR\"/fmt.sh && absent.sh && ls src"}]}]
		},
		"classifier": {"command": ["`+root+`/judge", "fmt.sh"]}
	}`)
	var got []string
	for _, path := range s.programs(Options{Roots: []string{root}, Getenv: func(string) string { return "" }}) {
		got = append(got, strings.ReplaceAll(path, root, "$ROOT"))
	}
	if diff := cmp.Diff([]string{"$ROOT/check.py", "$ROOT/fmt.sh", "$ROOT/judge"}, got); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	if got := (*Settings)(nil).programs(Options{Roots: []string{root}}); got != nil {
		t.Error(got)
	}
}

// TestProgramsOfServers covers the files that start an upstream server, relative to its
// own settings, its working directory and the first root, even if a variable is not set.
func TestProgramsOfServers(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"run.sh", "own.py", "a b.js", "sub/in.js", "conf.json", "off.py", "env.py", "var.py", "unset.py", "sh.sh", "linked.py"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("linked.py", root+"/link.py"); err != nil {
		t.Fatal(err)
	}
	s, err := Parse([]byte(`{"mcpServers": {
		"a": {"command": "./run.sh", "args": ["sub", "absent.py", "/etc/passwd"]},
		"b": {"command": "python3", "args": ["own.py", "a b.js", "--config=conf.json", "link.py"], "env": {"X": "env.py"}},
		"c": {"command": "node", "args": ["in.js"], "cwd": "sub"},
		"d": {"command": "python3", "args": ["off.py"], "disabled": true},
		"e": {"command": "${PY}", "args": ["${FILE}"]},
		"f": {"command": "python3", "args": ["${NO}", "unset.py"]},
		"g": {"command": "sh", "args": ["-c", "cd /; \"${CLAUDE_PROJECT_DIR:-x}\" $CLAUDE_PROJECT_DIR/sh.sh|cat"]},
		"h": {"url": "https://example.com/own.py"}
	}}`), root+"/settings.json", root)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PY": "python3", "FILE": root + "/var.py"}
	var got []string
	for _, path := range s.programs(Options{Roots: []string{root}, Getenv: func(k string) string { return env[k] }, Dir: "/"}) {
		got = append(got, strings.TrimPrefix(path, root+"/"))
	}
	if diff := cmp.Diff([]string{"run.sh", "own.py", "a b.js", "conf.json", "linked.py", "sub/in.js", "var.py", "unset.py", "sh.sh"}, got); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
}
