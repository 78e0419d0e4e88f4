package sandbox

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// tree lists a folder with the content of its files, to show that nothing is left
// over.
func tree(t *testing.T, folder string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(path + " " + info.Mode().String())
		if d.Type().IsRegular() {
			b.WriteString(" " + content(t, path))
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProtect(t *testing.T) {
	t.Parallel()
	for _, at := range []tier{spaces, userns} {
		if err := at.available(); err != nil {
			t.Logf("%s: %v", at.name, err)
			continue
		}
		s := newScratch(t)
		write(t, s.root+"/.git/config", "config\n")
		write(t, s.root+"/.git/hooks/sample", "hook\n")
		write(t, s.root+"/.git/HEAD", "head\n")
		write(t, s.root+"/deep/er/settings.json", "{}\n")
		p := s.policy
		p.Protect = []string{s.root + "/.git/config", s.root + "/.git/hooks", s.root + "/deep/er/settings.json"}
		before := tree(t, s.root)
		s.steps(t, at, p, []step{
			{"echo x >> .git/config", false, ""},
			{"rm .git/config", false, ""},
			{"mv .git/config c", false, ""},
			{"echo x > n && mv n .git/config", false, ""},
			{"mv .git g", false, ""},
			{"rm -rf .git/hooks", false, ""},
			{"echo x > .git/hooks/pre-commit", false, ""},
			{"mv deep d", false, ""},
			{"mv deep/er d", false, ""},
			{"echo x >> deep/er/settings.json", false, ""},
			{"chmod 777 .git/config", false, ""},
			{"ln .git/config l && echo x >> l", false, ""},
			{"ln -s .git/config l; echo x >> l", false, ""},
			{"exec 3<.git/config; echo x >> /proc/self/fd/3", false, ""},
			{"echo head > .git/HEAD.lock && mv .git/HEAD.lock .git/HEAD && mkdir .git/x && rmdir .git/x", true, ""},
			{"echo x > deep/er/y && rm deep/er/y; rm -rf n l c d g", true, ""},
		})
		if after := tree(t, s.root); after != before {
			t.Errorf("%s: changed from\n%s\nto\n%s", at.name, before, after)
		}
	}
}

// TestInstead checks that a command finds a link and a folder in the place of others, also in a
// protected folder, and cannot reach those.
func TestInstead(t *testing.T) {
	t.Parallel()
	for _, at := range []tier{spaces, userns} {
		if err := at.available(); err != nil {
			t.Logf("%s: %v", at.name, err)
			continue
		}
		s := newScratch(t)
		write(t, s.root+"/.git/config", "config\n")
		write(t, s.root+"/fixed/hooks/one", "hook\n")
		write(t, s.policy.TempDir+"/copy/config", "copy\n")
		write(t, s.policy.TempDir+"/copy/hooks/two", "two\n")
		if err := os.Symlink(s.policy.TempDir+"/copy/config", s.policy.TempDir+"/link"); err != nil {
			t.Fatal(err)
		}
		p := s.policy
		p.Protect = []string{s.root + "/fixed"}
		p.Instead = map[string]string{s.root + "/.git/config": p.TempDir + "/link", s.root + "/fixed/hooks": p.TempDir + "/copy/hooks"}
		before := tree(t, s.root)
		s.steps(t, at, p, []step{
			{"cat .git/config fixed/hooks/two", true, "copy\ntwo\n"},
			{"rm .git/config", false, ""},
			{"mv .git/config c", false, ""},
			{"echo x > n && mv n .git/config", false, ""},
			{"mv .git g", false, ""},
			{"ln .git/config l && echo x >> l", false, ""},
			{"rm -rf fixed/hooks", false, ""},
			{"mv fixed/hooks h", false, ""},
			{"cat fixed/hooks/one", false, ""},
			{"echo x >> fixed/new", false, ""},
			{"echo x >> fixed/hooks/three && echo y >> .git/config && cat .git/config", true, "copy\ny\n"},
			{"rm -rf n l c g h", true, ""},
		})
		if after := tree(t, s.root); after != before {
			t.Errorf("%s: changed from\n%s\nto\n%s", at.name, before, after)
		}
		if now := content(t, s.policy.TempDir+"/copy/config"); now != "copy\ny\n" {
			t.Errorf("%s: the copy is %q", at.name, now)
		}
	}
}

func TestHide(t *testing.T) {
	t.Parallel()
	for _, at := range []tier{spaces, userns} {
		if err := at.available(); err != nil {
			t.Logf("%s: %v", at.name, err)
			continue
		}
		s := newScratch(t)
		write(t, s.root+"/sub/.env", "secret\n")
		write(t, s.root+"/sub/plain", "plain\n")
		write(t, s.root+"/vault/key", "secret\n")
		write(t, s.root+"/far/off/.env", "secret\n")
		write(t, s.root+"/far/plain", "plain\n")
		if err := os.Symlink("sub/.env", s.root+"/link"); err != nil {
			t.Fatal(err)
		}
		p := s.policy
		p.Hide = []string{s.root + "/sub/.env", s.root + "/vault", s.root + "/vault/key", s.root + "/far/off/.env"}
		before := tree(t, s.root)
		for _, readOnly := range []bool{false, true} {
			p.ReadOnly = readOnly
			s.steps(t, at, p, []step{
				{"cat sub/plain", true, ""},
				{"cat sub/.env", false, ""},
				{"cat link", false, ""},
				{"cat vault/key", false, ""},
				{"ls vault", false, ""},
				{"cat /proc/self/cwd/sub/.env", false, ""},
				{"cat /proc/self/root" + s.root + "/sub/.env", false, ""},
				{"cp -r vault v2 && cat v2/key", false, ""},
			})
		}
		p.ReadOnly = false
		s.steps(t, at, p, []step{
			{"ln sub/.env hard && cat hard", false, ""},
			{"chmod 644 sub/.env", false, ""},
			{"mv sub other && cat other/.env", false, ""},
			{"mv other sub; rm -rf v2 hard; ls", true, ""},
			{"mv sub/.env x", false, ""},
			{"mv far other && cat other/off/.env", false, ""},
			{"mv far/off far/other && cat far/other/.env", false, ""},
			{"mv far/off . && cat off/.env", false, ""}, // copies the readable files
			{"rm -r off", true, ""},
			{"echo x > far/off/y && mv far/off/y far/z && rm far/z", true, ""},
			// This would find files that earlier steps have moved.
			{"grep -rsl '^secret$' . || find . -name .env | grep -v -e '^./sub/' -e '^./far/off/'", false, ""},
		})
		if after := tree(t, s.root); after != before {
			t.Errorf("%s: changed from\n%s\nto\n%s", at.name, before, after)
		}
		for _, script := range []string{"cat sub/.env", "grep -r secret ."} {
			if res := s.bash(t, at, p, script); strings.Contains(res.out, "secret\n") {
				t.Errorf("%s: %s prints %s", at.name, script, res.out)
			}
		}
	}
}

// TestUnmaskable checks that paths that cannot be masked are reported, and that
// nothing is left over.
func TestUnmaskable(t *testing.T) {
	t.Parallel()
	spaces.need(t)
	s := newScratch(t)
	write(t, s.root+"/linked", "x\n")
	write(t, s.root+"/real", "x\n")
	if err := os.Link(s.root+"/linked", s.root+"/other name"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", s.root+"/link"); err != nil {
		t.Fatal(err)
	}
	write(t, s.root+"/folder/file", "x\n")
	if err := os.Symlink("folder", s.root+"/other folder"); err != nil {
		t.Fatal(err)
	}
	p := s.policy
	p.Hide = []string{s.root + "/absent", s.root + "/linked", s.home + "/.absent", s.root + "/other folder/file"}
	p.Protect = []string{s.root + "/.mcp.json", s.root + "/none/at all", s.root + "/link", s.root + "/linked"}
	before := tree(t, s.root)
	res := s.bash(t, spaces, p, "true")
	got := res.Coverage.Missing
	want := []string{
		"protect " + s.root + "/.mcp.json: it does not exist, and a name without a file cannot be masked",
		"protect " + s.root + "/none/at all: it does not exist, and a name without a file cannot be masked",
		"protect " + s.root + "/link: it is a link, which may be replaced",
		"protect " + s.root + "/linked: the file has other names (hard links)",
		"hide " + s.root + "/absent: it does not exist, and a name without a file cannot be masked",
		"hide " + s.root + "/linked: the file has other names (hard links)",
		"hide " + s.root + "/other folder/file: it is reached by a link, which may be replaced",
	}
	if !slices.Equal(got, want) {
		t.Errorf("missing is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if after := tree(t, s.root); after != before {
		t.Errorf("changed to\n%s", after)
	}
}

// mountsIn lists the mounts in a folder that are visible from outside of the
// sandbox.
func mountsIn(t *testing.T, folder string) []string {
	t.Helper()
	var out []string
	for _, line := range strings.Split(content(t, "/proc/self/mountinfo"), "\n") {
		if strings.Contains(line, folder) {
			out = append(out, line)
		}
	}
	return out
}

// TestMountsStayInside checks that no mount is visible from outside, even if the
// process is killed, and that nothing is mounted if the policy is applied in the
// server's own namespace.
func TestMountsStayInside(t *testing.T) {
	t.Parallel()
	for _, at := range tiers(t) {
		s := newScratch(t)
		write(t, s.root+"/.git/config", "x\n")
		p := s.policy
		p.Protect, p.Hide = []string{s.root + "/.git/config"}, []string{s.root + "/.git"}
		base := filepath.Dir(s.root)
		files := tree(t, base)
		res := s.bash(t, at, p, "cat /proc/self/mountinfo; kill -KILL $$")
		if strings.Contains(res.out, s.root) != (at != plain) || res.Coverage.Mounts != (at != plain) {
			t.Errorf("%s: mounts inside are\n%s", at.name, res.out)
		}
		if left := mountsIn(t, base); len(left) > 0 {
			t.Errorf("%s: left mounted: %q", at.name, left)
		}
		if after := tree(t, base); after != files {
			t.Errorf("%s: files were\n%s\nand are\n%s", at.name, files, after)
		}
	}
}

// TestSockets tries sockets of services in masked folders and outside of them, and
// sockets inside of the root, which must work.
func TestSockets(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here")
	}
	out, err := exec.Command("python3", "-c", "import sys; print(sys.base_prefix); print(sys.executable)").Output()
	if err != nil {
		t.Skip(err)
	}
	prefix, python, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	for _, at := range []tier{spaces, userns} {
		if at.available() != nil {
			continue
		}
		s := newScratch(t)
		inTmp, err := os.MkdirTemp("/tmp", "sandbox-test-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(inTmp)
		s.policy.Read = append(s.policy.Read, prefix, python)
		folder, err := os.Open(inTmp)
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		// The kernel does not list this socket by its path, since it was bound by
		// another one.
		unlisted := fmt.Sprintf("/proc/self/fd/%d/unlisted", folder.Fd())
		for _, c := range []struct {
			bound, path string
			works       bool
		}{
			{inTmp + "/s", inTmp + "/s", false}, {unlisted, inTmp + "/unlisted", false},
			{s.outside + "/s", s.outside + "/s", false}, {s.root + "/s", s.root + "/s", true},
		} {
			l, err := net.Listen("unix", c.bound)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			script := "import socket; socket.socket(socket.AF_UNIX).connect('" + c.path + "')"
			res := job{Policy: s.policy, Args: []string{python, "-c", script}}.run(t, at, s.root)
			if (res.code == 0) != c.works {
				t.Errorf("%s: %s: exit %d, want success %v\n%s", at.name, c.path, res.code, c.works, res.out)
			}
		}
	}
}

// TestRootInCoveredFolder has a root in a masked folder, and readable paths in that
// folder.
func TestRootInCoveredFolder(t *testing.T) {
	t.Parallel()
	for _, at := range tiers(t) {
		base, err := os.MkdirTemp("/tmp", "sandbox-test-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		s := scratch{root: base + "/root", temp: base + "/temp", home: base, outside: base + "/outside"}
		write(t, s.root+"/file", "x\n")
		write(t, s.outside+"/file", "x\n")
		write(t, base+"/readable/file", "x\n")
		write(t, base+"/one", "x\n")
		if err := os.Mkdir(s.temp, 0o700); err != nil {
			t.Fatal(err)
		}
		read, _ := Readable(base+"/nobody", nil)
		p := Policy{Write: []string{s.root}, TempDir: s.temp, Read: append(read, base+"/readable", base+"/one")}
		s.steps(t, at, p, []step{
			{"cat file ../readable/file ../one && echo x > new && rm new && echo x > $TMPDIR/x && rm $TMPDIR/x", true, ""},
			{"echo x > ../readable/file", false, ""},
			{"echo x > ../one", false, ""},
			{"chmod 600 ../one", false, "mounts"},
			{"chmod 600 file", true, ""},
			{"cat ../outside/file", false, ""},
			{"echo x > /tmp/x", false, ""},
			{"ls /run/", false, ""},
		})
	}
}

// TestFileRights has a server that runs as root on files of another user.
func TestFileRights(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	spaces.need(t)
	s := newScratch(t)
	write(t, s.root+"/theirs/file", "x\n")
	write(t, s.outside+"/file", "x\n")
	for _, path := range []string{s.root + "/theirs", s.root + "/theirs/file", s.outside + "/file"} {
		if err := os.Chown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p := s.policy
	deeds := []step{{"cat theirs/file", false, ""}, {"echo x > theirs/new", false, ""}, {"chown 0 theirs/file", false, ""}}
	s.steps(t, spaces, p, deeds)
	p.FileRights = true
	s.steps(t, plain, p, deeds) // without mounts, FileRights is ignored
	s.steps(t, spaces, p, []step{
		{"cat theirs/file && echo x > theirs/new && rm theirs/new && chown 65534 theirs/file && chmod 700 theirs/file", true, ""},
		{"chown 0 " + s.outside + "/file", false, ""},
		{"mknod d c 1 3", false, ""},
	})
	p.ReadOnly = true
	s.steps(t, spaces, p, []step{{"cat theirs/file", true, ""}, {"chown 0 theirs/file", false, ""}})
}

// TestHideWithFileRights checks that hidden files do not seem empty to a process
// that can bypass modes.
func TestHideWithFileRights(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	for _, at := range []tier{spaces, userns} {
		if err := at.available(); err != nil {
			t.Logf("%s: %v", at.name, err)
			continue
		}
		s := newScratch(t)
		write(t, s.root+"/.env", "secret\n")
		write(t, s.root+"/vault/key", "secret\n")
		p := s.policy
		p.FileRights = true
		p.Hide = append(p.Hide, s.root+"/.env", s.root+"/vault")
		for _, p.ReadOnly = range []bool{true, false} {
			s.steps(t, at, p, []step{
				{"cat .env", false, ""},
				{"exec 3>>.env", false, ""},
				{"cat vault/key", false, ""},
				{"cat vault/" + hiddenName, false, ""},
				{"ls vault | grep -q hidden", true, ""},
				{"cp -r vault v2", false, ""},
				{"chmod 644 .env", false, ""},
				{"ls -l .", true, ""},
			})
			if res := s.bash(t, at, p, "cat .env"); !strings.Contains(res.out, "Permission denied") {
				t.Errorf("%s, read-only %v: reading a mask says %s", at.name, p.ReadOnly, res.out)
			}
		}
	}
}

// TestCommandCannotReachItsStarter checks that the process that applies the policy
// can end its command, and that the command cannot end it. It uses Within without
// any namespace.
func TestCommandCannotReachItsStarter(t *testing.T) {
	t.Parallel()
	if landlockABI() < 6 {
		t.Skip("needs Landlock ABI 6")
	}
	s := newScratch(t)
	text, err := json.Marshal(s.policy)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), starterVariable+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "ended by its starter") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestWritableInHidden has a writable folder in a hidden one, such as TempDir in a
// state folder.
func TestWritableInHidden(t *testing.T) {
	t.Parallel()
	for _, at := range tiers(t) {
		s := newScratch(t)
		state := filepath.Dir(s.root) + "/state"
		write(t, state+"/token", "secret\n")
		s.temp = state + "/temp"
		if err := os.Mkdir(s.temp, 0o700); err != nil {
			t.Fatal(err)
		}
		p := s.policy
		p.TempDir, p.Hide = s.temp, []string{state}
		for _, readOnly := range []bool{false, true} {
			p.ReadOnly = readOnly
			s.steps(t, at, p, []step{
				{"echo x > $TMPDIR/x && cat $TMPDIR/x && rm $TMPDIR/x", true, ""},
				{"cat " + state + "/token", false, ""},
			})
		}
	}
}
