package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReads checks which files commands and file tools may name without a question.
func TestReads(t *testing.T) {
	c, home := cacheCommands(t, func(c *Config) {
		if err := write(c.Home, ".ssh/id", "x", ".netrc", "x", "notes", "x", ".bashrc", "x", "tools/bin/t", "x", "tools/lib/l", "x", ".odd/x", "x", ".config/gh/hosts.yml", "x"); err != nil {
			t.Fatal(err)
		}
		c.Environ = append(c.Environ, "PATH="+os.Getenv("PATH")+":"+c.Home+"/tools/bin")
	})
	p := c.Private("one")
	root := os.Geteuid() == 0 // another user can neither change these folders nor look into /root
	for _, test := range []struct {
		path                   string
		tool, command, unknown bool // by a file tool, by a command, and by one that may write to it
	}{
		{"/etc/hosts", true, true, true},
		{"/etc/passwd", true, true, true},
		{"/etc", true, true, !root},
		{"/usr/share", true, true, true},
		{"/proc/cpuinfo", true, true, true},
		{"/sys/devices/system/cpu", true, true, true},
		{"/etc/shadow", false, false, false},
		{"/etc/shadow-", false, false, false},
		{"/etc/ssl/private/key", false, false, false},
		{"/proc/1/environ", false, false, false},
		{"/dev/null", false, true, false},
		{"/dev/absent", false, true, false},
		{"/srv/absent/x", true, true, !root},
		{"/root/absent", false, false, false},
		{home + "/notes", false, false, false},
		{home + "/absent", false, false, true},
		{home + "/.ssh/id", false, false, false},
		{home + "/.ssh/absent", false, false, false},
		{home + "/.netrc", false, false, false},
		{home + "/.odd/x", false, false, false},
		{home + "/.config/gh/hosts.yml", false, false, false},
		{home + "/.bashrc", true, true, false},
		{home + "/go/pkg/mod/x", true, true, true},
		{home + "/.cache/x", true, true, true},
		{home + "/tools/lib/l", true, true, true},
	} {
		if tool, command, unknown := p.Reads(test.path, false, false), p.Reads(test.path, true, false), p.Reads(test.path, true, true); tool != test.tool || command != test.command || unknown != test.unknown {
			t.Errorf("%s: tool %v, command %v, one that may write %v", test.path, tool, command, unknown)
		}
	}
	secret := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if forAll(secret) {
		t.Error("a file of its owner is for all")
	}
}

// TestOwnProcess checks which paths denote the process that opens them.
func TestOwnProcess(t *testing.T) {
	c, _ := cacheCommands(t, nil)
	p := c.Private("one")
	for path, want := range map[string]bool{
		"/proc/self": true, "/proc/self/status": true, "/proc/thread-self/stat": true, "/proc/self/fd": true, "/proc/self/fd/1": true, "/proc/self/task/1": true, "/proc/self/net/dev": true,
		"/proc/mounts": true, "/proc/net/tcp": true, "/proc/self/ns/net": true, "/proc/self/exe": true, "/proc/self/environ": true, "/dev/shm/x": true,
		"/proc/self/root": false, "/proc/self/root/etc/shadow": false, "/proc/self/cwd": false, "/proc/self/cwd/x": false, "/proc/self/map_files/x": false, "/proc/self/task/1/root/etc": false,
		"/proc/1/status": false, "/proc/selfish": false, "/proc/cpuinfo": false, "/etc/hosts": false,
	} {
		if got := p.Own(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	secret, _ := cacheCommands(t, func(c *Config) { c.Pass = []string{"A_TOKEN"}; c.Environ = append(c.Environ, "A_TOKEN=x") })
	if secret.Private("one").Own("/proc/self/environ") {
		t.Error("an environment with a secret is shown")
	}
}

// TestLayered checks that files which commands added to caches are found, by the names that they
// have for commands.
func TestLayered(t *testing.T) {
	c, home := cacheCommands(t, nil)
	if !c.Report(t.Context()).Write.Coverage.Layers {
		t.Skip("there are no overlays here")
	}
	run(t, c, Spec{Script: "cd; mkdir -p go/pkg/mod/new go/pkg/mod/both .cache/deep/er; echo layer >go/pkg/mod/new/f; echo layer >go/pkg/mod/x; echo layer >.cache/deep/er/f; rm -f .npm/_npx/x; ln -s /etc/shadow .cache/link"})
	p := c.Private("one")
	for path, want := range map[string]string{
		"/go/pkg/mod/new/f": "layer\n", "/go/pkg/mod/x": "layer\n", "/.cache/deep/er/f": "layer\n", "/.cache/x": "old", "/.npm/_npx/x": "old", "/.npm/_cacache/x": "old",
	} {
		at, merged := p.Layered(home + path)
		if got, err := os.ReadFile(at); err != nil || string(got) != want || merged || p.Shown(at) != home+path {
			t.Errorf("%s: %q, %v, merged %v, shown as %s", path, got, err, merged, p.Shown(at))
		}
	}
	if at, merged := p.Layered(home + "/go/pkg/mod"); at != home+"/go/pkg/mod" || !merged {
		t.Errorf("a folder of both: %s, merged %v", at, merged)
	}
	if at, _ := p.Layered(home + "/go/pkg/mod/new/absent"); holding(at, p.LayerFolders()) == "" {
		t.Errorf("an absent file of a folder that only the layer has: %s", at)
	}
	for _, path := range []string{home + "/notes", "/etc/hosts", home + "/go/pkg/mod/none/x"} {
		if at, merged := p.Layered(path); at != path || merged {
			t.Errorf("%s: %s", path, at)
		}
	}
	for _, readOnly := range []bool{false, true} {
		if said, _ := run(t, c, Spec{Script: "cat ~/.cache/deep/er/f; ls -d ~/.cache/deep", ReadOnly: readOnly}); said != "layer\n"+home+"/.cache/deep\n" {
			t.Errorf("read-only %v: %q", readOnly, said)
		}
	}
	// A change that the user agreed to is made to the cache itself.
	run(t, c, Spec{Script: "mkdir ~/.cache/agreed; echo real >~/.cache/agreed/f", Grants: []Grant{{Path: home + "/.cache", Change: true}}})
	if got, err := os.ReadFile(home + "/.cache/agreed/f"); err != nil || string(got) != "real\n" {
		t.Errorf("an agreed change: %q, %v", got, err)
	}
}

// TestToolchains runs programs on PATH that need files beside them, or where their links lead.
func TestToolchains(t *testing.T) {
	base := filepath.Join(tempRoot(t), "base")
	script := func(reads ...string) (out string) {
		out = "#!/bin/sh\n"
		for _, path := range reads {
			out += "cat " + path + "\n"
		}
		return out
	}
	if err := write(base,
		"brew/Cellar/foo/1/bin/foo", script(base+"/brew/Cellar/foo/1/share/d"), "brew/Cellar/foo/1/share/d", "foo ", "brew/bin/.keep", "",
		"conda/envs/e/bin/cpy", script(base+"/conda/envs/e/lib/d"), "conda/envs/e/lib/d", "cpy ",
		"node/v20/lib/node_modules/n/bin/cli", script(base+"/node/v20/lib/node_modules/n/package.json"), "node/v20/lib/node_modules/n/package.json", "cli ", "node/v20/bin/.keep", "",
		"app/v1/libexec/real", script(base+"/app/v1/libexec/d"), "app/v1/libexec/d", "real ", "links/.keep", "",
		"home/secret", "hidden", "interp/v/bin/sh2", "", "interp/v/lib/d", "interp ",
		"scripts/bin/by", "#!"+base+"/interp/v/bin/sh2\ncat "+base+"/interp/v/lib/d\n",
		"rust/.cargo/bin/cargo2", script(base+"/rust/.rustup/settings.toml")+"ls "+base+"/rust/.rustup/toolchains\n",
		"rust/.rustup/settings.toml", "rustup ", "rust/.rustup/toolchains/x/lib/d", "", "rust/.rustup/toolchains/x/bin/.keep", "",
	); err != nil {
		t.Logf("%v", err)
	}
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{"brew/Cellar/foo/1/bin/foo": 0o755, "conda/envs/e/bin/cpy": 0o755, "node/v20/lib/node_modules/n/bin/cli": 0o755, "app/v1/libexec/real": 0o755, "scripts/bin/by": 0o755, "rust/.cargo/bin/cargo2": 0o755} {
		if err := os.Chmod(filepath.Join(base, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(base+"/interp/v/bin/sh2", shell, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(base+"/interp/v/bin/sh2", 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"brew/bin/foo": "../Cellar/foo/1/bin/foo", "node/v20/bin/cli": "../lib/node_modules/n/bin/cli", "links/real": base + "/app/v1/libexec/real"} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := newCommands(t, func(config *Config) {
		path := "PATH="
		for _, folder := range []string{"brew/bin", "conda/envs/e/bin", "node/v20/bin", "links", "scripts/bin", "rust/.cargo/bin"} {
			path += filepath.Join(base, folder) + ":"
		}
		config.Environ = append(config.Environ, path+os.Getenv("PATH"))
	})
	needContained(t, c)
	if said, _ := run(t, c, Spec{Script: "foo; cpy; cli; real; by; cargo2; cat " + base + "/home/secret 2>/dev/null"}); said != "foo cpy cli real interp rustup x\n" {
		t.Errorf("the programs say %q", said)
	}
	if n, not := c.Programs(); len(not) > 0 {
		t.Errorf("%d programs, %d not readable, such as %s", n, len(not), not[0])
	}
}

// TestUnreadablePrograms checks that programs of PATH are found whose files commands do not read.
func TestUnreadablePrograms(t *testing.T) {
	base := filepath.Join(tempRoot(t), "base")
	if err := write(base, "closed/bin/direct", "#!/bin/sh\n", "closed/bin/sh2", "#!/bin/sh\n", "open/bin/by", "#!"+base+"/closed/bin/sh2\n", "open/bin/fine", "#!/bin/sh\n", "open/bin/data", "1"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"closed/bin/direct", "closed/bin/sh2", "open/bin/by", "open/bin/fine"} {
		if err := os.Chmod(filepath.Join(base, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../closed/bin/direct", base+"/open/bin/link"); err != nil {
		t.Fatal(err)
	}
	c, _ := newCommands(t, func(config *Config) {
		config.Environ = append(config.Environ, "PATH="+base+"/open/bin:"+base+"/closed/bin")
		config.Closed = append(config.Closed, base+"/closed")
	})
	n, not := c.Programs()
	for i, path := range not {
		not[i] = path[len(base)+1:]
	}
	if got := strings.Join(not, " "); n != 5 || got != "closed/bin/direct closed/bin/sh2 open/bin/by open/bin/link" {
		t.Errorf("of %d programs %q are not readable", n, got)
	}
}
