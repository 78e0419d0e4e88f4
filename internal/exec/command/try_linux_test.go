package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/testscale"
)

// withoutMounts makes commands run without namespaces, as on systems where users cannot
// make any: only Landlock and seccomp are left.
func withoutMounts(t *testing.T, c *Commands) {
	t.Helper()
	if err := c.runner.Close(0); err != nil {
		t.Fatal(err)
	}
	c.runner = process.NewRunner(process.Config{Tiers: []process.Tier{process.Subreaper}})
}

// needs skips a test on a machine whose Landlock is missing or too old.
func needs(t *testing.T, abi int) {
	t.Helper()
	c, _ := untriedCommands(t, nil)
	if have := c.Report(t.Context()).Write.Coverage.Landlock; have < abi {
		t.Skipf("Landlock ABI %d, not %d", have, abi)
	}
}

// tried reports whether a trial of the sandbox was made.
func tried(c *Commands) bool { return c.temp.base() != "" }

func TestTrialWithoutMounts(t *testing.T) {
	needs(t, 6)
	c, root := untriedCommands(t, nil)
	withoutMounts(t, c)
	r := c.Report(t.Context())
	if r.Tier != process.Subreaper || r.Write.Err != nil || r.ReadOnly.Err != nil {
		t.Fatalf("%+v", r)
	}
	if !r.Write.InForce() || !r.ReadOnly.InForce() {
		t.Errorf("not in force: %q, %q", r.Write.Broken(), r.ReadOnly.Broken())
	}
	for _, promise := range []string{"protect", "hide", "metadata"} {
		if !slices.Contains(r.Write.lacks(), promise) {
			t.Errorf("%s held without mounts", promise)
		}
	}
	// The root holds no secret, so nothing must be hidden in it.
	if open := c.Open(t.Context(), false); len(open) != 1 || !strings.Contains(open[0], ".git/config") {
		t.Errorf("open is %q", open)
	}
	if open := c.Open(t.Context(), true); len(open) != 2 || !strings.Contains(open[1], "denied") {
		t.Errorf("open is %q", open)
	}
	if !c.Exposed(t.Context()) {
		t.Error("denied files are out of reach without mounts")
	}
	if err := c.Uncontained(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.ReadOnly(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Required(t.Context()); err != nil {
		t.Error(err)
	}
	if text, res := run(t, c, Spec{Script: "echo x >y", ReadOnly: true}); res.Code == 0 {
		t.Errorf("it was written: %s", text)
	}
	if text, res := run(t, c, Spec{Script: "echo x >y"}); res.Code != 0 {
		t.Errorf("%s: %s", root, text)
	}
}

// TestOpenHides checks that a secret in the root that cannot be hidden is reported,
// and that there are no read-only commands then.
func TestOpenHides(t *testing.T) {
	needs(t, 6)
	var secret string
	c, root := untriedCommands(t, func(config *Config) {
		secret = filepath.Join(config.Roots[0], "token")
		config.Closed = []string{secret}
	})
	withoutMounts(t, c)
	if c.hides() {
		t.Error("what does not exist is to be hidden")
	}
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if open := c.Open(t.Context(), false); len(open) != 2 || !strings.Contains(open[1], "secret") {
		t.Errorf("%s: open is %q", root, open)
	}
	if err := c.ReadOnly(t.Context()); err == nil || !strings.Contains(err.Error(), "hide") {
		t.Errorf("read-only: %v", err)
	}
	spec := Spec{Script: "true", Dir: root, ReadOnly: true}
	if _, err := c.Start(t.Context(), spec); err == nil {
		t.Error("a read-only command was started")
	}
	// A command that was judged to only read runs with the partial sandbox.
	spec.Judged, spec.Script = true, "echo x >y"
	if text, res := run(t, c, spec); res.Code == 0 {
		t.Errorf("it was written: %s", text)
	}
}

// TestContained checks that a trial in namespaces, where they are possible, matches
// how commands run.
func TestContained(t *testing.T) {
	c, _ := untriedCommands(t, nil)
	r := c.Report(t.Context())
	if r.Tier != process.PIDNamespace {
		t.Skipf("the tier is %v: %q", r.Tier, r.TierMissing)
	}
	if broken := slices.Concat(r.Write.Broken(), r.ReadOnly.Broken()); len(broken) > 0 {
		t.Errorf("broken: %q", broken)
	}
	if open := c.Open(t.Context(), true); len(open) > 0 || c.Exposed(t.Context()) {
		t.Errorf("open: %q", open)
	}
	outside := t.TempDir()
	for _, spec := range []Spec{{}, {ReadOnly: true}, {ReadOnly: true, Judged: true}} {
		spec.Script = "echo x >" + outside + "/x"
		if text, res := run(t, c, spec); res.Code == 0 {
			t.Errorf("%+v: %s", spec, text)
		}
	}
}

// TestHostileGit checks that git does not use a configuration that a command makes.
func TestHostileGit(t *testing.T) {
	c, root := untriedCommands(t, nil)
	if !c.Report(t.Context()).Write.InForce() {
		t.Skip("there is no containment here")
	}
	for _, script := range []string{
		"mkdir -p evil && echo 'gitdir: evil' >.git",
		"mkdir -p evil && touch evil/config && ln -s evil .git",
		"mkdir -p .git && echo ../evil >.git/commondir",
		"mkdir .git/hooks && touch .git/hooks/post-checkout",
	} {
		if _, res := run(t, c, Spec{Script: script}); res.Code != 0 || len(res.Removed) != 1 {
			t.Errorf("%s: exit code %d, removed %q", script, res.Code, res.Removed)
		}
	}
	if err := os.RemoveAll(filepath.Join(root, ".git")); err != nil {
		t.Fatal(err)
	}
	// That of a linked worktree is unchanged.
	if err := os.WriteFile(filepath.Join(root, ".git"), []byte("gitdir: /good\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if len(c.Open(t.Context(), false)) > 0 {
		t.Skip("nothing can be protected here")
	}
	for _, script := range []string{"echo 'gitdir: evil' >.git", "rm .git", "mv .git x"} {
		if text, res := run(t, c, Spec{Script: script}); res.Code == 0 {
			t.Errorf("%s: %s", script, text)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, ".git")); err != nil || string(text) != "gitdir: /good\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestOnRefuses(t *testing.T) {
	c, root := untriedCommands(t, func(config *Config) { config.Sandbox = On })
	withoutMounts(t, c)
	if err := c.Required(t.Context()); err == nil || !strings.Contains(err.Error(), "--sandbox on") || !strings.Contains(err.Error(), "protect: ") {
		t.Errorf("required: %v", err)
	}
	for _, spec := range []Spec{{}, {ReadOnly: true}, {ReadOnly: true, Judged: true}} {
		spec.Script, spec.Dir = "echo x >y", root
		if _, err := c.Start(t.Context(), spec); err == nil {
			t.Errorf("%+v was started", spec)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, "y")); err == nil {
		t.Error("it ran")
	}
}

func TestOffTriesNothing(t *testing.T) {
	c, root := untriedCommands(t, func(config *Config) { config.Sandbox = Off })
	r := c.Report(t.Context())
	if !errors.Is(r.Write.Err, errOff) || !errors.Is(r.ReadOnly.Err, errOff) || r.Tier == process.None {
		t.Errorf("%+v", r)
	}
	if tried(c) {
		t.Error("something was tried")
	}
	if err := c.Required(t.Context()); err != nil || c.Open(t.Context(), true) != nil || !errors.Is(c.Uncontained(t.Context()), errOff) {
		t.Error(err, c.Open(t.Context(), true), c.Uncontained(t.Context()))
	}
	if !c.Exposed(t.Context()) {
		t.Error("denied files are out of reach without a sandbox")
	}
	if err := c.ReadOnly(t.Context()); !errors.Is(err, errOff) {
		t.Error(err)
	}
	if _, err := c.Start(t.Context(), Spec{Script: "true", Dir: root, ReadOnly: true}); !errors.Is(err, errOff) {
		t.Errorf("a read-only command: %v", err)
	}
	outside := filepath.Join(t.TempDir(), "x")
	if text, res := run(t, c, Spec{Script: "echo x >" + outside}); res.Code != 0 {
		t.Errorf("%s", text)
	}
}

// TestUnbounded checks that no command is confined if everything is writable, and
// that the report includes this.
func TestUnbounded(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*Config){
		"root":       func(c *Config) { c.Roots = append(c.Roots, "/") },
		"allowWrite": func(c *Config) { c.AllowWrite = []string{"/"} },
		"link":       func(c *Config) { c.AllowWrite = []string{link} },
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := untriedCommands(t, edit)
			r := c.Report(t.Context())
			for _, trial := range []Trial{r.Write, r.ReadOnly} {
				if trial.Err == nil || trial.InForce() || !strings.Contains(trial.Err.Error(), "nothing would be left to contain") {
					t.Errorf("%+v", trial)
				}
			}
			if c.ReadOnly(t.Context()) == nil || c.Uncontained(t.Context()) == nil {
				t.Error("it is not said")
			}
			outside := filepath.Join(t.TempDir(), "x")
			if text, res := run(t, c, Spec{Script: "echo x >" + outside}); res.Code != 0 {
				t.Errorf("%s", text)
			}
			on, root := untriedCommands(t, func(c *Config) { edit(c); c.Sandbox = On })
			if _, err := on.Start(t.Context(), Spec{Script: "true", Dir: root}); err == nil {
				t.Error("it was started")
			}
		})
	}
}

// TestUntried checks that a policy that was not tried is not in force.
func TestUntried(t *testing.T) {
	var none Trial
	if none.InForce() || len(none.Broken()) != 1 {
		t.Errorf("in force %v, broken %q", none.InForce(), none.Broken())
	}
	c := &Commands{config: Config{Sandbox: On}}
	c.report = &Report{Tier: process.Subreaper}
	if c.Required(t.Context()) == nil || c.ReadOnly(t.Context()) == nil {
		t.Error("what was not tried is taken for whole")
	}
}

// TestUnprivileged checks that the result is the same for a user other than root.
func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is no root")
	}
	const nobody = 65534
	// The folder of the test binary may be closed to other users.
	image := filepath.Join(t.TempDir(), "command.test")
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image, data, 0o755); err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	for dir := filepath.Dir(temp); dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Dir(image), 0o711), os.Chmod(temp, 0o1777)); err != nil {
		t.Fatal(err)
	}
	which := "Contained|TrialWithoutMounts|NetworkAttacks|SharedLoopback|Proxy|NetworkMissing|OffTriesNothing"
	if testscale.Full() {
		which += "|OnRefuses|NetworksForgotten|SpawnerKilled"
	}
	cmd := exec.Command(image, "-test.v", "-test.run", "^Test("+which+")$")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "HOME=/nonexistent")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestOffTriesNothing") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTempVariablesWithoutMounts checks that commands get the variables of tempVariables where
// their /tmp is not their own, and only there.
func TestTempVariablesWithoutMounts(t *testing.T) {
	needs(t, 6)
	c, _ := untriedCommands(t, func(c *Config) { c.Environ = append(c.Environ, "JAVA_TOOL_OPTIONS=-Xuser") })
	for _, mounts := range []bool{true, false} {
		if !mounts {
			withoutMounts(t, c)
			c.report = nil
		} else if !c.Report(t.Context()).Write.Coverage.Mounts {
			continue
		}
		text, _ := run(t, c, Spec{Script: `[ "$TMPPREFIX" = "$TMPDIR/zsh" ] && echo zsh; echo "${JAVA_TOOL_OPTIONS/$TMPDIR/DIR}"`})
		want := "zsh\n-Djava.io.tmpdir='DIR' -Xuser\n"
		if mounts {
			want = "-Xuser\n"
		}
		if text != want {
			t.Errorf("mounts %v: %q", mounts, text)
		}
	}
}
