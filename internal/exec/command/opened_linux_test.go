package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/exec/sandbox"
)

// outsideFolder makes a folder outside of the workspace, with a file in it.
func outsideFolder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "old"), []byte("old\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestGrants checks which grant a command needs for a file, and which grants are
// refused.
func TestGrants(t *testing.T) {
	c, root := newCommands(t, nil)
	out, home := outsideFolder(t), resolved(c.config.Home)
	for _, dir := range []string{filepath.Join(home, ".ssh"), c.config.State} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range []struct {
		want  FileRequest
		grant Grant // no path: no grant is needed
		err   string
	}{
		{FileRequest{Path: out + "/old"}, Grant{Path: out + "/old"}, ""},
		{FileRequest{Path: out + "/gone"}, Grant{}, ""},
		{FileRequest{Path: out}, Grant{Path: out}, ""},
		{FileRequest{Path: "/etc/passwd"}, Grant{}, ""},
		{FileRequest{Path: home + "/.ssh"}, Grant{Path: home + "/.ssh"}, ""},
		{FileRequest{Path: out + "/old", Change: true, Content: true}, Grant{Path: out + "/old", Change: true}, ""},
		{FileRequest{Path: out + "/new", Change: true, Content: true}, Grant{Path: out + "/new", Change: true, Create: true}, ""},
		{FileRequest{Path: out + "/new", Change: true}, Grant{Path: out, Change: true}, ""},
		{FileRequest{Path: out + "/a/b/c", Change: true}, Grant{Path: out, Change: true}, ""},
		{FileRequest{Path: out + "/folder", Change: true}, Grant{Path: out + "/folder", Change: true}, ""},
		{FileRequest{Path: out + "/folder", Change: true, Remove: true}, Grant{Path: out, Change: true}, ""},
		{FileRequest{Path: root + "/.git/config", Change: true, Content: true}, Grant{Path: root + "/.git/config", Change: true}, ""},
		{FileRequest{Path: "/tmp"}, Grant{Path: "/tmp", List: true}, ""},
		{FileRequest{Path: "/"}, Grant{Path: "/", List: true}, ""},
		{FileRequest{Path: "/proc/1/environ"}, Grant{}, "only its own processes"},
		{FileRequest{Path: "/tmp/no-such-folder-here", Change: true}, Grant{}, "temporary files of others"},
		{FileRequest{Path: "/no-such-folder-here", Change: true}, Grant{}, "the whole file system"},
		{FileRequest{Path: home + "/new", Change: true}, Grant{}, "holds the home folder"},
		{FileRequest{Path: c.config.State + "/x"}, Grant{}, "closed to all tools"},
		{FileRequest{Path: "/dev/null"}, Grant{}, "a device"},
		{FileRequest{Path: "/proc/self/mem", Change: true, Content: true}, Grant{}, "a device or a file of the kernel"},
		{FileRequest{Path: "/proc/cpuinfo"}, Grant{}, ""},
		{FileRequest{Path: "/dev/tcp/127.0.0.1/80"}, Grant{}, ""},
	} {
		got, err := c.Grants([]FileRequest{one.want}, false)
		var cannot *GrantError
		switch {
		case one.err != "":
			if !errors.As(err, &cannot) || !strings.Contains(cannot.Reason, one.err) {
				t.Errorf("%+v: %v, %v, want %q", one.want, got, err, one.err)
			}
		case err != nil, one.grant.Path == "" && len(got) > 0, one.grant.Path != "" && (len(got) != 1 || got[0] != one.grant):
			t.Errorf("%+v: %+v, %v, want %+v", one.want, got, err, one.grant)
		}
	}
	// A copy is made at a path or below it.
	for _, to := range []string{out + "/old", out + "/new"} {
		got, err := c.Grants([]FileRequest{{Path: to, Change: true, Content: true}, {Path: to + "/a", Change: true}}, false)
		if err != nil || len(got) != 1 || got[0].Path != to {
			t.Errorf("a copy to %s: %+v, %v", to, got, err)
		}
	}
	both, err := c.Grants([]FileRequest{{Path: out + "/old"}, {Path: out, Change: true}, {Path: out + "/folder", Change: true}}, false)
	if err != nil || len(both) != 1 || both[0].Path != out {
		t.Errorf("files in a folder that is given: %+v, %v", both, err)
	}
}

// TestGranted checks that a confined command may use exactly its grants.
func TestGranted(t *testing.T) {
	c, root := newCommands(t, nil)
	needContained(t, c)
	out, home := outsideFolder(t), resolved(c.config.Home)
	for path, text := range map[string]string{home + "/.ssh/config": "host\n", home + "/.ssh/id": "key\n"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(s Spec, script string) string {
		t.Helper()
		s.Script = script
		text, _ := run(t, c, s)
		return text
	}
	read := func(path string) string {
		text, _ := os.ReadFile(path)
		return string(text)
	}
	if text := do(Spec{Grants: []Grant{{Path: out + "/old", Change: true}}}, "echo new >"+out+"/old; echo x >"+out+"/other; cat "+home+"/.ssh/id"); read(out+"/old") != "new\n" || read(out+"/other") != "" || strings.Contains(text, "key") {
		t.Errorf("a file: %q, other %q\n%s", read(out+"/old"), read(out+"/other"), text)
	}
	if text := do(Spec{Grants: []Grant{{Path: out + "/made", Change: true, Create: true}}}, "echo made >"+out+"/made"); read(out+"/made") != "made\n" {
		t.Errorf("an absent file: %s", text)
	}
	do(Spec{Grants: []Grant{{Path: out + "/unused", Change: true, Create: true}}}, "false")
	if _, err := os.Lstat(out + "/unused"); err == nil {
		t.Error("an empty file is left of a command that did not write it")
	}
	if text := do(Spec{ReadOnly: true, Grants: []Grant{{Path: "/", List: true}}}, "ls / && cat "+out+"/old"); !strings.Contains(text, "usr\n") || strings.Contains(text, "new\n") {
		t.Errorf("names: %s", text)
	}
	if text := do(Spec{Grants: []Grant{{Path: out, Change: true}}}, "mkdir "+out+"/sub && mv "+out+"/old "+out+"/sub/moved"); read(out+"/sub/moved") != "new\n" {
		t.Errorf("a folder: %s", text)
	}
	for _, readOnly := range []bool{false, true} {
		s := Spec{ReadOnly: readOnly, Grants: []Grant{{Path: home + "/.ssh/config"}}}
		if text := do(s, "cat "+home+"/.ssh/config; cat "+home+"/.ssh/id; echo x >>"+home+"/.ssh/config"); !strings.Contains(text, "host\n") || strings.Contains(text, "key") || read(home+"/.ssh/config") != "host\n" {
			t.Errorf("a hidden file, read-only %v: %s", readOnly, text)
		}
	}
	r, err := c.Start(t.Context(), Spec{Script: "true", Dir: root, Grants: []Grant{{Path: out + "/sub"}, {Path: home + "/.ssh", Change: true}}})
	if err != nil {
		t.Fatal(err)
	}
	r.Result()
	if want := []string{out + "/sub", home + "/.ssh"}; !slices.Equal(r.policy.Exact, want) {
		t.Errorf("links are not followed in %q, want %q", r.policy.Exact, want)
	}
	if err := os.Symlink(home+"/.ssh", out+"/link"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Start(t.Context(), Spec{Script: "true", Dir: root, Grants: []Grant{{Path: out + "/link/id"}}}); err == nil || !strings.Contains(err.Error(), "no longer what was agreed to") {
		t.Errorf("a path that leads elsewhere now: %v", err)
	}
}

// TestGrantedName checks that a command may change a protected name that was granted, and
// no other, and that its changes remain.
func TestGrantedName(t *testing.T) {
	c, root := newCommands(t, nil)
	needContained(t, c)
	if err := os.MkdirAll(root+"/.git/hooks", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HEAD", "config"} {
		if err := os.WriteFile(root+"/.git/"+name, []byte("ref: refs/heads/main\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(root+"/.git/objects", 0o777), os.Mkdir(root+"/.git/refs", 0o777)); err != nil {
		t.Fatal(err)
	}
	hook := root + "/.git/hooks/post-commit"
	other, err := c.Start(t.Context(), Spec{Script: "read x </dev/zero", Dir: root}) // runs at the same time
	if err != nil {
		t.Fatal(err)
	}
	text, result := run(t, c, Spec{Script: "echo x >" + hook + "; echo x >>" + root + "/.git/config", Grants: []Grant{{Path: hook, Change: true}}})
	if err := other.End(Stopped, 0); err != nil {
		t.Fatal(err)
	}
	config, _ := os.ReadFile(root + "/.git/config")
	if _, err := os.Lstat(hook); err != nil || string(config) != "ref: refs/heads/main\n" || len(result.Removed)+len(other.Result().Removed) > 0 {
		t.Errorf("hook %v, config %q, taken away %q and %q\n%s", err, config, result.Removed, other.Result().Removed, text)
	}
}

// TestGrantedKeeps checks that files that rules protect from changes stay unchanged in
// a granted folder.
func TestGrantedKeeps(t *testing.T) {
	c, _ := newCommands(t, nil)
	needContained(t, c)
	out := outsideFolder(t)
	text, _ := run(t, c, Spec{
		Script: "echo x >" + out + "/new; echo x >" + out + "/old",
		Grants: []Grant{{Path: out, Change: true}}, Protect: []string{out + "/old"},
	})
	old, _ := os.ReadFile(out + "/old")
	made, _ := os.ReadFile(out + "/new")
	if string(old) != "old\n" || string(made) != "x\n" {
		t.Errorf("old %q, new %q: %s", old, made, text)
	}
}

// TestAllowRead checks that commands may read exactly the paths that the settings allow,
// including secrets.
func TestAllowRead(t *testing.T) {
	out := outsideFolder(t)
	c, _ := newCommands(t, func(c *Config) { c.AllowRead = []string{filepath.Join(c.Home, ".aws/config"), out} })
	needContained(t, c)
	aws := filepath.Join(resolved(c.config.Home), ".aws")
	if err := os.Mkdir(aws, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config", "credentials"} {
		if err := os.WriteFile(filepath.Join(aws, name), []byte("is "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := run(t, c, Spec{Script: "cat " + aws + "/config " + aws + "/credentials " + out + "/old; echo x >" + out + "/old"})
	after, _ := os.ReadFile(out + "/old")
	if !strings.Contains(text, "is config\n") || strings.Contains(text, "is credentials") || !strings.Contains(text, "old\n") || string(after) != "old\n" {
		t.Errorf("%s", text)
	}
}

// TestGrantedFolder checks that possible secrets stay hidden in a granted folder that
// holds the home folder, even under unknown names.
func TestGrantedFolder(t *testing.T) {
	c, _ := newCommands(t, nil)
	needContained(t, c)
	home := resolved(c.config.Home)
	files := map[string]bool{"notes": true, ".some-tool/token": false, ".config/some-tool/key": false, ".ssh/id": false}
	for name := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte("text of "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, given := range []string{home, filepath.Dir(home)} {
		for name, readable := range files {
			text, _ := run(t, c, Spec{Script: "cat " + filepath.Join(home, name), Grants: []Grant{{Path: given}}})
			if strings.Contains(text, "text of "+name) != readable {
				t.Errorf("given %s: %s: %s", given, name, text)
			}
		}
	}
	token := filepath.Join(home, ".some-tool/token")
	if text, _ := run(t, c, Spec{Script: "cat " + token, Grants: []Grant{{Path: home}, {Path: token}}}); !strings.Contains(text, "text of") {
		t.Errorf("named beside the folder: %s", text)
	}
}

// TestGrantedWithoutMasks checks that, if nothing in a folder can be hidden, its other
// entries are granted and the folder cannot be changed.
func TestGrantedWithoutMasks(t *testing.T) {
	out := outsideFolder(t)
	for _, name := range []string{"deep/secret/key", "deep/plain", "deep/secret.txt"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(out, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(out, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("deep/secret", out+"/link"); err != nil {
		t.Fatal(err)
	}
	p := sandbox.Policy{Hide: []string{out + "/link", out + "/absent"}}
	if _, err := open(&p, []Grant{{Path: out}}, false); err != nil {
		t.Fatal(err)
	}
	if want := []string{out + "/deep/plain", out + "/deep/secret.txt", out + "/folder", out + "/old"}; !slices.Equal(p.Read, want) || !slices.Equal(p.List, []string{out}) {
		t.Errorf("given %q and the names in %q, want %q", p.Read, p.List, want)
	}
	if _, err := open(&p, []Grant{{Path: out, Change: true}}, false); err == nil || !strings.Contains(err.Error(), "cannot hide") {
		t.Errorf("changes of the folder: %v", err)
	}
	whole := sandbox.Policy{Hide: p.Hide}
	if _, err := open(&whole, []Grant{{Path: out}}, true); err != nil || !slices.Equal(whole.Read, []string{out}) {
		t.Errorf("with masks: %q, %v", whole.Read, err)
	}

	c, _ := newCommands(t, nil)
	home := resolved(c.config.Home)
	if err := os.MkdirAll(home+"/notes/.git", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(home+"/.config/gh", 0o700); err != nil {
		t.Fatal(err)
	}
	for mounts, refused := range map[bool]bool{true: false, false: true} {
		believe(c, Trial{Coverage: sandbox.Coverage{Mounts: mounts}}, Trial{})
		_, err := c.Grants([]FileRequest{{Path: home + "/.config/new", Change: true}}, false)
		if (err != nil) != refused {
			t.Errorf("mounts %v: %v", mounts, err)
		}
		if _, err := c.Grants([]FileRequest{{Path: home + "/notes/new", Change: true}, {Path: home + "/.config"}}, false); err != nil {
			t.Errorf("mounts %v, nothing hidden, and reading: %v", mounts, err)
		}
	}
}

// TestGrantedTouch checks that an empty file that a command made on purpose stays.
func TestGrantedTouch(t *testing.T) {
	c, _ := newCommands(t, nil)
	needContained(t, c)
	out := outsideFolder(t)
	for _, script := range []string{"touch %s", ": >%s", "touch -d 2001-01-01 %s"} {
		path := out + "/new"
		text, _ := run(t, c, Spec{Script: strings.ReplaceAll(script, "%s", path), Grants: []Grant{{Path: path, Change: true, Create: true}}})
		if err := os.Remove(path); err != nil {
			t.Errorf("%s: %v\n%s", script, err, text)
		}
	}
}

// TestMakeFile checks that a file is made at the approved path, not at the target of a
// link.
func TestMakeFile(t *testing.T) {
	out := outsideFolder(t)
	if err := os.Symlink("folder", out+"/link"); err != nil {
		t.Fatal(err)
	}
	if _, err := makeFile(out + "/link/new"); !errors.Is(err, errLinked) {
		t.Errorf("through a link: %v", err)
	}
	if _, err := os.Lstat(out + "/folder/new"); err == nil {
		t.Error("it was made where the link leads")
	}
	m, err := makeFile(out + "/folder/new")
	if err != nil {
		t.Fatal(err)
	}
	m.undo()
	if _, err := os.Lstat(out + "/folder/new"); err == nil {
		t.Error("it is still there")
	}
}

// TestUncontained checks that a command outside the sandbox sees processes other than
// its own.
func TestUncontained(t *testing.T) {
	c, _ := newCommands(t, nil)
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	text, _ := run(t, c, Spec{Script: fmt.Sprintf("kill %d", other.Process.Pid), Uncontained: true})
	if text != "" {
		_ = other.Process.Kill()
		t.Error(text)
	}
	_ = other.Wait()
}
