package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// settings returns the settings of a configuration, sorted.
func settings(t testing.TB, path string) []string {
	t.Helper()
	out, err := exec.Command("git", "config", "-f", path, "-l").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	return lines
}

// TestConfigKeys compares what commands change in the configuration of a repository with plain git
// on a copy. What runs nothing is the same; what runs something stays as it was, by itself.
func TestConfigKeys(t *testing.T) {
	c, root := guardedCommands(t, nil)
	twin := tempRoot(t)
	for _, tc := range testscale.Sample([]struct {
		script string
		back   []string // keys that stay as they were
	}{
		{"git branch old && git branch -m old new && git config branch.new.description x && git branch -m new newer", nil},
		{"git switch -q -c t --track main && git branch --unset-upstream && git branch --set-upstream-to=main t && git switch -q main", nil},
		{"git remote add up https://example.com/x.git && git remote rename up o && git remote set-url o git@example.com:a/b.git && git remote add -t main --mirror=fetch m https://example.com/m.git", nil},
		{"git remote remove m; git config user.name x; git config user.email x@example.com; git config --unset user.email", nil},
		{"git sparse-checkout set --cone d && git sparse-checkout add e && git sparse-checkout disable", nil},
		{"git config core.sparseCheckout true; git config --worktree core.sparseCheckoutCone false; git config push.autoSetupRemote true; git config pull.rebase true", nil},
		{"git submodule init && git config submodule.x.update none && git submodule deinit -f --all", nil},
		{"git init -q --bare bare.git && git push -q -u ./bare.git main && git remote add near ./bare.git && git push -q -u near main", nil},
		{"git config core.hooksPath .hooks; git config user.name y", []string{"core.hookspath=.hooks"}},
		{"git config core.fsmonitor ./evil; git config alias.x '!evil'; git config user.name z", []string{"core.fsmonitor=./evil", "alias.x=!evil"}},
		{"git config include.path ../evil; git config filter.x.clean evil; git config --add remote.o.fetch y", []string{"include.path=../evil", "filter.x.clean=evil"}},
		{"git remote add e ext::evil; git config core.sshCommand evil", []string{"remote.e.url=ext::evil", "core.sshcommand=evil"}},
		{"git config core.editor evil; git config --unset core.pager", nil},
	}, 14) {
		repository(t, root+"/r")
		repository(t, twin+"/r")
		for _, dir := range []string{root + "/r", twin + "/r"} {
			git(t, dir, "config", "core.editor", "mine")
			git(t, dir, "config", "core.pager", "mine")
		}
		said, res := run(t, c, Spec{Script: "cd r; " + tc.script})
		cmd := exec.Command("bash", "-c", tc.script)
		cmd.Dir, cmd.Env = twin+"/r", append(os.Environ(), gitEnv...)
		out, err := cmd.CombinedOutput()
		if (err == nil) != (res.Code == 0) {
			t.Errorf("%s: %v, %d: %s%s", tc.script, err, res.Code, out, said)
		}
		have, want := settings(t, root+"/r/.git/config"), settings(t, twin+"/r/.git/config")
		want = slices.DeleteFunc(want, func(line string) bool {
			return slices.Contains(tc.back, line) || strings.HasPrefix(line, "core.editor=")
		})
		if !slices.Contains(want, "core.pager=mine") {
			want = append(want, "core.pager=mine")
		}
		want = append(want, "core.editor=mine")
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("%s: %q, want %q: %s", tc.script, have, want, said)
		}
		if len(res.Removed) > 0 || (len(tc.back) > 0) != (len(res.Restored) > 0) && !strings.Contains(tc.script, "core.editor") {
			t.Errorf("%s: removed %q, restored %q", tc.script, res.Removed, res.Restored)
		}
		for _, back := range tc.back {
			key, _, _ := strings.Cut(back, "=")
			if !slices.ContainsFunc(res.Restored, func(fact string) bool {
				return strings.HasPrefix(strings.ToLower(fact), strings.ReplaceAll(key, "] x", ""))
			}) && !strings.HasPrefix(back, "user.q") {
				t.Errorf("%s: %s is not named: %q", tc.script, back, res.Restored)
			}
		}
		if err := errors.Join(os.RemoveAll(root+"/r"), os.RemoveAll(twin+"/r")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConfigNever checks that no git outside of the sandbox reads a setting that a running command
// made, and that harmless ones are there while it runs.
func TestConfigNever(t *testing.T) {
	c, root := guardedCommands(t, nil)
	repository(t, root)
	config := root + "/.git/config"
	r, err := c.Start(t.Context(), Spec{Dir: root, Script: "step() { echo >$1; until test -e $1.go; do sleep 0.01; done; }\n" +
		"git config core.fsmonitor x; git config user.name x; step a; git config core.fsmonitor; step b; printf '[core]\\n\\tfsmonitor = y\\n\\tfilemode = false\\n' >>.git/config; step c"})
	if err != nil {
		t.Fatal(err)
	}
	wait := func(step string) {
		for text(t, root+"/"+step) == "" {
			if t.Context().Err() != nil {
				t.Fatal("no step " + step)
			}
		}
	}
	wait("a")
	if now := text(t, config); strings.Contains(now, "= x") {
		t.Errorf("before a look: %s", now)
	}
	c.guard.tick()
	if now := text(t, config); strings.Contains(now, "fsmonitor") || !strings.Contains(now, "name = x") {
		t.Errorf("after a look: %s", now)
	}
	if err := write(root, "a.go", ""); err != nil {
		t.Fatal(err)
	}
	wait("b")
	git(t, root, "config", "user.email", "mine") // the user's git, which renames a file over the mount
	if err := write(root, "b.go", ""); err != nil {
		t.Fatal(err)
	}
	wait("c")
	c.guard.tick()
	if now := text(t, config); strings.Contains(now, "fsmonitor") || !strings.Contains(now, "email = mine") || !strings.Contains(now, "filemode = false") {
		t.Errorf("without a mount: %s", now)
	}
	if err := write(root, "c.go", ""); err != nil {
		t.Fatal(err)
	}
	res := r.Result()
	if v, err := r.Output.View(1000); err != nil || v.Head != "x\n" {
		t.Errorf("the command saw %q, %v", v.Head, err)
	}
	if len(res.Restored) != 1 || len(res.Removed) > 0 {
		t.Errorf("restored %q, removed %q", res.Restored, res.Removed)
	}
	if left, _ := filepath.Glob(c.temp.base() + "/*/.git-*"); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// TestConfigForms checks that other ways to a configuration than git config change nothing.
func TestConfigForms(t *testing.T) {
	c, root := guardedCommands(t, nil)
	repository(t, root+"/r")
	if err := os.Link(root+"/r/.git/config", root+"/name"); err != nil {
		t.Fatal(err)
	}
	before := text(t, root+"/r/.git/config")
	for _, script := range []string{
		"rm -f r/.git/config; echo '[core] fsmonitor = x' >r/.git/config", "mv r/.git g; cp -r g r/.git; echo '[core] fsmonitor = x' >>r/.git/config", "echo '[core' >r/.git/config",
		"echo '[core] fsmonitor = x' >>name", "f=$(readlink r/.git/config); rm $f; mkfifo $f", "f=$(readlink r/.git/config); rm $f; ln -s /etc/passwd $f", "f=$(readlink r/.git/config); ln $f l; rm -rf $(dirname $f)",
		"echo '[core] fsmonitor = x' >r/.git/config.lock; mv r/.git/config.lock r/.git/config", "printf '[core]\\n\\0fsmonitor = x' >r/.git/config", "rm -rf r/.git", "ln -f name r/.git/config", "chmod 777 r/.git/config; exec 3>>r/.git/config; echo '[core] fsmonitor = x' >&3",
	} {
		said, res := run(t, c, Spec{Script: script})
		if now := text(t, root+"/r/.git/config"); now != before {
			t.Fatalf("%s: %q; %d: %s", script, now, res.Code, said)
		}
	}
	// A copy of a repository has a file, not a link to what is gone.
	if said, res := run(t, c, Spec{Script: "git -C r config core.fsmonitor x; cp -a r r2"}); res.Code != 0 || text(t, root+"/r2/.git/config") != before || len(res.Removed) > 0 {
		t.Errorf("copy: %q, removed %q: %s", text(t, root+"/r2/.git/config"), res.Removed, said)
	}
	if info, err := os.Lstat(root + "/r2/.git/config"); err != nil || !info.Mode().IsRegular() {
		t.Error(info, err)
	}
}

// TestConfigNew checks that what a command sets in a new repository stays, without what runs a
// program.
func TestConfigNew(t *testing.T) {
	c, root := guardedCommands(t, nil)
	said, res := run(t, c, Spec{Script: "git init -q -b main n && cd n && git config user.email a@b.c && git remote add origin https://example.com/x.git && git config core.hooksPath .hooks && ln .git/config c2"})
	now := text(t, root+"/n/.git/config")
	if res.Code != 0 || len(res.Removed) > 0 || len(res.Restored) != 1 || !strings.HasPrefix(res.Restored[0], "core.hooksPath of ") ||
		!strings.Contains(now, "a@b.c") || !strings.Contains(now, "origin") || strings.Contains(now, "ooks") {
		t.Errorf("%d, removed %q, restored %q: %s\n%s", res.Code, res.Removed, res.Restored, said, now)
	}
}

// TestPrograms checks that commands cannot change what git's configuration makes git run.
func TestPrograms(t *testing.T) {
	for name, tc := range map[string]struct {
		config []string
		file   string
	}{
		"hooks":            {[]string{"core.hooksPath", "tools/hooks"}, "tools/hooks/pre-commit"},
		"hooks, absolute":  {[]string{"core.hooksPath", "ROOT/tools/hooks"}, "tools/hooks/pre-commit"},
		"hooks at the top": {[]string{"core.hooksPath", "."}, "pre-commit"},
		"hooks in .git":    {[]string{"core.hooksPath", ".git/own"}, ".git/own/pre-commit"},
		"an include":       {[]string{"include.path", "../cfg/shared"}, "cfg/shared"},
		"a condition":      {[]string{"includeIf.onbranch:x.path", "../cfg/shared"}, "cfg/shared"},
		"a filter":         {[]string{"filter.x.clean", "python3 tools/strip.py %f"}, "tools/strip.py"},
		"an editor":        {[]string{"core.editor", "./tools/ed"}, "tools/ed"},
		"an alias":         {[]string{"alias.x", "!f() { tools/al \"$@\"; }; f"}, "tools/al"},
		"attributes":       {[]string{"core.attributesFile", "attr"}, "attr"},
	} {
		t.Run(name, func(t *testing.T) {
			c, root := guardedCommands(t, nil)
			repository(t, root)
			git(t, root, "config", tc.config[0], strings.ReplaceAll(tc.config[1], "ROOT", root))
			if err := write(root, tc.file, "good", "tools/free", "", "cfg/free", ""); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Dir(tc.file)
			for _, script := range []string{"echo x >>" + tc.file, "rm -rf " + tc.file, "mv " + dir + " d2; mkdir -p " + dir + "; echo x >" + tc.file, "echo x >n; mv n " + tc.file, "ln -sf /dev/null " + tc.file} {
				said, res := run(t, c, Spec{Script: script})
				if now := text(t, filepath.Join(root, tc.file)); now != "good" {
					t.Errorf("%s: %q; %d: %s", script, now, res.Code, said)
				}
			}
			if _, res := run(t, c, Spec{Script: "echo x >tools/free && echo x >cfg/free && echo x >f"}); res.Code != 0 {
				t.Errorf("beside it: %d", res.Code)
			}
			// What was agreed to is open.
			if said, res := run(t, c, Spec{Script: "echo x >" + tc.file, Grants: []Grant{{Path: filepath.Join(root, tc.file), Change: true}}}); res.Code != 0 || text(t, filepath.Join(root, tc.file)) != "x\n" {
				t.Errorf("granted: %d, %s", res.Code, said)
			}
		})
	}
}

// TestProgramsAbsent checks that hooks that appear in a folder that the configuration names are
// quarantined, unless a commit has them.
func TestProgramsAbsent(t *testing.T) {
	c, root := guardedCommands(t, nil)
	repository(t, root)
	git(t, root, "switch", "-q", "-c", "b")
	if err := write(root, ".githooks/pre-commit", "x"); err != nil {
		t.Fatal(err)
	}
	git(t, root, "add", "-A")
	git(t, root, "commit", "-q", "-m", "x")
	git(t, root, "switch", "-q", "main")
	git(t, root, "config", "core.hooksPath", ".githooks")
	if _, res := run(t, c, Spec{Script: "mkdir .githooks; echo evil >.githooks/post-commit"}); len(res.Removed) != 1 || text(t, root+"/.githooks/post-commit") != "" {
		t.Errorf("removed %q", res.Removed)
	}
	if said, res := run(t, c, Spec{Script: "git switch -q b"}); res.Code != 0 || len(res.Removed) != 0 || text(t, root+"/.githooks/pre-commit") != "x" {
		t.Errorf("removed %q: %s", res.Removed, said)
	}
}

// TestRebaseSteps checks that commands add no step that runs a command to a rebase that waits.
func TestRebaseSteps(t *testing.T) {
	c, root := guardedCommands(t, nil)
	repository(t, root)
	const steps = "exec echo mine\npick 1234567 x\n# exec comment\n"
	todo := ".git/rebase-merge/git-rebase-todo"
	for script, want := range map[string]string{
		"echo 'exec evil' >>" + todo:          steps,
		"printf '  x\\tevil\\r\\n' >>" + todo: steps,
		"echo 'exec echo mine' >>" + todo:     steps, // a second time
		"sed -i s/mine/evil/ " + todo:         "pick 1234567 x\n# exec comment\n",
		"echo 'pick 7654321 y' >>" + todo:     steps + "pick 7654321 y\n",
		"sed -i 1d " + todo:                   "pick 1234567 x\n# exec comment\n",
		"rm -rf .git/rebase-merge":            "",
		"mv .git/rebase-merge a; cp -r a .git/rebase-merge; echo x evil >>" + todo: steps,
	} {
		if err := write(root, todo, steps); err != nil {
			t.Fatal(err)
		}
		said, res := run(t, c, Spec{Script: script})
		if now := text(t, filepath.Join(root, todo)); now != want {
			t.Errorf("%s: %q, want %q; restored %q: %s", script, now, want, res.Restored, said)
		}
	}
	// Of a rebase that waits: one that a command begins keeps its steps.
	if err := write(root, todo, steps); err != nil {
		t.Fatal(err)
	}
	if said, _ := run(t, c, Spec{Script: "mkdir e; echo x evil >e/git-rebase-todo; rm -rf .git/rebase-merge; ln -s ../e .git/rebase-merge"}); strings.Contains(text(t, filepath.Join(root, todo)), "evil") {
		t.Errorf("by a link: %s", said)
	}
}

// TestPointers checks that what names the folder of a repository is put back, so that worktrees
// work on, and that git can still remove, move and repair them.
func TestPointers(t *testing.T) {
	c, root := guardedCommands(t, nil)
	repository(t, root+"/main")
	git(t, root+"/main", "worktree", "add", "-q", "../wt")
	for _, script := range []string{
		"mkdir -p e; echo ../../../../e >main/.git/worktrees/wt/commondir", "rm main/.git/worktrees/wt/commondir", "ln -sf /nowhere main/.git/worktrees/wt/commondir",
		"echo 'gitdir: ../e' >wt/.git", "echo x >wt/.git", "rm wt/.git; ln -s ../main/.git wt/.git", "echo /nowhere/.git >main/.git/worktrees/wt/gitdir",
		"echo /nowhere >main/.git/worktrees/wt/gitdir; echo x >wt/.git; echo x >main/.git/worktrees/wt/commondir",
	} {
		said, res := run(t, c, Spec{Script: script})
		cmd := exec.Command("git", "status", "--short")
		cmd.Dir, cmd.Env = root+"/wt", append(os.Environ(), gitEnv...)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 || len(res.Restored) == 0 || text(t, root+"/main/.git/worktrees/wt/gitdir") != root+"/wt/.git\n" {
			t.Fatalf("%s: %v %s; restored %q, removed %q: %s", script, err, out, res.Restored, res.Removed, said)
		}
	}
	for _, script := range []string{"git -C main worktree move ../wt ../wt2 && git -C wt2 status", "mv wt2 wt3 && git -C wt3 worktree repair && git -C wt3 status", "git -C main worktree remove ../wt3 && test ! -e wt3 -a ! -e main/.git/worktrees/wt"} {
		if said, res := run(t, c, Spec{Script: script}); res.Code != 0 || len(res.Restored) > 0 {
			t.Errorf("%s: %d, restored %q: %s", script, res.Code, res.Restored, said)
		}
	}
}

// TestPointersKilled checks that the next server puts back what commands of a killed one changed.
func TestPointersKilled(t *testing.T) {
	root, state := tempRoot(t), t.TempDir()
	repository(t, root+"/main")
	git(t, root+"/main", "worktree", "add", "-q", "../wt")
	if err := write(root, "main/.git/rebase-merge/git-rebase-todo", "pick x\n"); err != nil {
		t.Fatal(err)
	}
	killed, _ := newGuard(t, root)
	next, _ := newGuard(t, root)
	killed.journal, next.journal = state, state
	killed.begin(nil, []string{root})
	if err := write(root, "main/.git/rebase-merge/git-rebase-todo", "pick x\nexec evil\n", "main/.git/worktrees/wt/commondir", "../../evil\n"); err != nil {
		t.Fatal(err)
	}
	_ = killed.lock.Close()
	next.begin(nil, []string{root})
	if steps, common := text(t, root+"/main/.git/rebase-merge/git-rebase-todo"), text(t, root+"/main/.git/worktrees/wt/commondir"); steps != "pick x\n" || common != "../..\n" {
		t.Errorf("%q, %q", steps, common)
	}
}
