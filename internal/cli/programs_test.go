package cli

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
	s := parseSettings(t, `{
		"hooks": {
			"PreToolUse": [{"hooks": [{"type": "command", "command": "python3 check.py --strict"}, {"type": "command", "command": "`+outside+`/own.sh"}]}],
			"PostToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "cd /; \"$CLAUDE_PROJECT_DIR\"/fmt.sh && absent.sh && ls src"}]}]
		},
		"classifier": {"command": ["`+root+`/judge", "fmt.sh"]}
	}`)
	var got []string
	for _, path := range programs(s, []string{root}) {
		got = append(got, strings.ReplaceAll(path, root, "$ROOT"))
	}
	if diff := cmp.Diff([]string{"$ROOT/check.py", "$ROOT/fmt.sh", "$ROOT/judge"}, got); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	if got := programs(nil, []string{root}); got != nil {
		t.Error(got)
	}
}
