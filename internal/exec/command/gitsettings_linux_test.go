package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitSettings checks that commands do not read the user's git settings if they hold
// a credential, and that git has the rest of them.
func TestGitSettings(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	c, root := newCommands(t, func(c *Config) { c.Sandbox = Auto })
	if err := c.Uncontained(t.Context()); err != nil {
		t.Skip(err)
	}
	home := c.config.Home
	settings := "[user]\n\tname = Some One\n[url \"https://u:s3cret@github.com/\"]\n\tinsteadOf = https://github.com/\n"
	for file, text := range map[string]string{".gitconfig": settings, ".config/unknown/token": "s3cret"} {
		path := filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := "git config user.name; git init -q r && git -C r status --short && echo fine; cat ~/.gitconfig ~/.config/unknown/token $GIT_CONFIG_GLOBAL"
	for _, readOnly := range []bool{false, true} {
		s := Spec{Script: script, Dir: root, Owner: "o"}
		if readOnly {
			s.Script, s.ReadOnly = strings.Replace(script, "git init -q r && ", "", 1), true
		}
		out, _ := run(t, c, s)
		if !strings.HasPrefix(out, "Some One\nfine\n") || strings.Contains(out, "s3cret") {
			t.Errorf("read-only %v: %s", readOnly, out)
		}
	}
	// Without a credential, git reads the file itself.
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Some One\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _ := run(t, c, Spec{Script: "echo $GIT_CONFIG_GLOBAL; git config user.name", Dir: root, Owner: "o"}); out != "\nSome One\n" {
		t.Errorf("without a credential: %q", out)
	}
}

// TestHomeIsRoot checks that in a home folder that is a root, commands read no
// credentials and no unknown hidden names, and run the programs of PATH.
func TestHomeIsRoot(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{".ssh/key", ".tool/token", ".tool/bin/prog", ".tool/lib/l", ".other/v1/prog2", ".other/token", ".config/unknown/c", "proj/a", ".bashrc"} {
		path := filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho seen "+file+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../.other/v1/prog2", filepath.Join(home, ".tool/bin/prog2")); err != nil {
		t.Fatal(err)
	}
	root := home
	edit := func(c *Config) {
		c.Roots, c.Home = []string{root}, home
		c.Environ = append(c.Environ, "HOME="+home, "PATH="+home+"/.tool/bin:"+os.Getenv("PATH"))
	}
	c, _ := newCommands(t, edit)
	if !c.Report(t.Context()).Write.held("hide") {
		t.Skip("nothing can be hidden in a root here")
	}
	script := "prog; prog2 2>/dev/null; cat ~/.ssh/key ~/.tool/token ~/.other/token ~/.tool/lib/l ~/.config/unknown/c ~/proj/a ~/.bashrc 2>/dev/null | grep seen"
	out, _ := run(t, c, Spec{Script: script, Dir: home, Owner: "o"})
	if want := "seen .tool/bin/prog\necho seen .tool/lib/l\necho seen proj/a\necho seen .bashrc\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
	// If commands cannot change the folder, the targets of links in it also run.
	root = filepath.Join(home, "proj")
	c, _ = newCommands(t, edit)
	out, _ = run(t, c, Spec{Script: script, Dir: root, Owner: "o"})
	if want := "seen .tool/bin/prog\nseen .other/v1/prog2\necho seen .tool/lib/l\necho seen proj/a\necho seen .bashrc\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
}
