package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutside checks what commands do in a root whose repository is elsewhere: a linked worktree and
// a submodule work, their repositories stay closed otherwise, and a file .git alone opens nothing.
func TestOutside(t *testing.T) {
	base := tempRoot(t)
	repository(t, base+"/lib")
	repository(t, base+"/main")
	git(t, base+"/main", "submodule", "--quiet", "add", base+"/lib", "sub")
	git(t, base+"/main", "commit", "-q", "-m", "x")
	git(t, base+"/main", "worktree", "add", "-q", "-b", "wt", "../wt")
	git(t, base+"/main", "worktree", "add", "-q", "-b", "other", "../other")
	git(t, base+"/main/sub", "switch", "-q", "-C", "main")
	main := base + "/main/.git"
	for name, tc := range map[string]struct {
		top, common string
		closed      []string // files of the repository that no command changes
	}{
		"a linked worktree": {base + "/wt", main, []string{"config", "HEAD", "index", "refs/heads/main", "worktrees/other/HEAD", "worktrees/wt/commondir", "hooks/pre-commit", "info/attributes", "modules/sub/config"}},
		"a submodule":       {base + "/main/sub", main + "/modules/sub", []string{"config", "hooks/pre-commit", "info/attributes", "../../config", "../../HEAD"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := guardedCommands(t, func(config *Config) { config.Roots = []string{tc.top} })
			const work = "echo 2 >>f && git add f && git commit -q -m 2 && echo 3 >>f && git stash -q && git stash pop -q && git commit -qam 3 && git tag v && git switch -q -c n && git fetch -q . n:refs/remotes/x/n && git branch -q -u main && git status --short"
			if said, res := run(t, c, Spec{Script: work, Dir: tc.top}); res.Code != 0 || said != "" || len(res.Removed)+len(res.Restored) > 0 {
				t.Errorf("%d, removed %q, restored %q: %s", res.Code, res.Removed, res.Restored, said)
			}
			if now := text(t, tc.common+"/config"); !strings.Contains(now, "[branch \"n\"]") {
				t.Errorf("the settings of the branch are not there: %s", now)
			}
			for _, file := range tc.closed {
				path := filepath.Join(tc.common, file)
				before := text(t, path)
				_, res := run(t, c, Spec{Script: "echo '[core] fsmonitor = x' >>" + path + "; rm -f " + path + "; git config core.editor x; git config user.name x", Dir: tc.top})
				if now := text(t, path); now != before {
					t.Errorf("%s: %q, was %q; %+v", file, now, before, res)
				}
			}
			if _, res := run(t, c, Spec{Script: "echo x >" + tc.common + "/hooks/post-commit", Dir: tc.top}); len(res.Blocked) != 1 || !strings.Contains(res.Blocked[0], "stays closed: of the repository "+tc.common) {
				t.Errorf("blocked %q", res.Blocked)
			}
		})
	}
	for name, file := range map[string]string{"the repository": main, "a worktree": main + "/worktrees/wt", "a submodule": main + "/modules/sub"} {
		top := tempRoot(t)
		if err := os.WriteFile(top+"/.git", []byte("gitdir: "+file+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		c, _ := guardedCommands(t, func(config *Config) { config.Roots = []string{top} })
		if said, res := run(t, c, Spec{Script: "git commit -q --allow-empty -m x || echo x >" + file + "/x", Dir: top}); res.Code == 0 || text(t, file+"/x") != "" {
			t.Errorf("%s: %d, %s", name, res.Code, said)
		}
	}
}
