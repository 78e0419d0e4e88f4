//go:build unix

package approval

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestModes(t *testing.T) {
	s := newServer(t, "")
	s.pend(t, call("a"))
	at := s.socket.At()
	for path, want := range map[string]fs.FileMode{
		s.state: 0o700, s.folder: 0o700, at: 0o700, filepath.Join(at, "s"): 0o600, filepath.Join(s.folder, counterName): 0o600,
	} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left := servers(t, s.folder); len(left) > 0 {
		t.Errorf("closing left %v", left)
	}
	_, err := s.Pend(call("b"))
	wants(t, err, "the server is stopping")
	_, err = Approve(t.Context(), s.state, 1, false)
	wants(t, err, ErrNoServer.Error())
}

// servers lists the files of servers in the folder of approvals.
func servers(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".lock"); len(name) == 16 {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestNoServer checks that without a server there is nothing to decide on, and
// that no file is created.
func TestNoServer(t *testing.T) {
	dir := filepath.Join(shortDir(t), "state")
	o, err := List(t.Context(), dir, 0)
	if err != nil || len(o.Items) > 0 || o.Servers != 0 {
		t.Errorf("%+v, %v", o, err)
	}
	_, err = Deny(t.Context(), dir, 1, "")
	wants(t, err, ErrNoServer.Error())
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the state folder was made")
	}
	if err := os.MkdirAll(folderOf(dir), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folderOf(dir), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = Approve(t.Context(), dir, 1, false)
	wants(t, err, "looking for servers: "+folderOf(dir)+" is not a private folder of this user")
}

// TestTwoServers checks that servers of one user use different numbers, and
// that the user gets one list.
func TestTwoServers(t *testing.T) {
	s := newServer(t, "")
	other := startServer(t, s.state)
	if n := s.pend(t, call("a")); n != 1 {
		t.Errorf("number %d", n)
	}
	if got := other.say("pend", call("a")); got != "2 <nil>" { // the same call, but of another server
		t.Errorf("the other server answers %s", got)
	}
	o, err := List(t.Context(), s.state, 0)
	if err != nil || o.Servers != 2 || len(o.Items) != 2 || o.Items[0].Server != "/work" || o.Items[1].Server != "child" || o.Items[1].Process != other.cmd.Process.Pid {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := Approve(t.Context(), s.state, 2, false); err != nil {
		t.Fatal(err)
	}
	if s.Take(call("a")) != 0 {
		t.Error("an approval of one server was taken in another")
	}
	if got := other.say("take", call("a")); got != "true" {
		t.Errorf("the other server answers %s", got)
	}
	if got := other.say("pend", call("b")); got != "3 <nil>" {
		t.Errorf("the other server answers %s", got)
	}
	if _, err := Deny(t.Context(), s.state, 3, ""); err != nil {
		t.Fatal(err)
	}
	if got := other.say("declined", call("b")); got != "true" {
		t.Errorf("the other server answers %s", got)
	}
	if _, err := Lift(t.Context(), s.state, 3); err != nil {
		t.Fatal(err)
	}
	if got := other.say("declined", call("b")); got != "false" {
		t.Errorf("the other server answers %s", got)
	}
	_, err = Deny(t.Context(), s.state, 3, "")
	wants(t, err, "approval 3 was declined; pending: 1")
	other.end()
	if left := servers(t, s.folder); len(left) != 2 { // our folder and its lock
		t.Errorf("a server that ended left %v", left)
	}
	// A restarted server knows nothing of earlier approvals.
	again := startServer(t, s.state)
	if got := again.say("pend", call("c")); got != "4 <nil>" {
		t.Errorf("the server answers %s", got)
	}
	_, err = Approve(t.Context(), s.state, 2, false)
	wants(t, err, "there is no approval 2; pending: 1, 4")
}

// TestSameNumber checks that a number that two servers have cannot be decided
// on.
func TestSameNumber(t *testing.T) {
	s := newServer(t, "")
	other := newServer(t, s.state)
	s.pend(t, call("a"))
	other.pend(t, call("b"))
	other.items[0].number = 1
	_, err := Approve(t.Context(), s.state, 1, false)
	wants(t, err, "2 servers have an approval 1; stop one of them")
	if s.Take(call("a")) != 0 || other.Take(call("b")) != 0 {
		t.Error("granted")
	}
}

// TestKilled checks that the files of a killed server are ignored, and removed
// by the next server.
func TestKilled(t *testing.T) {
	for name, dir := range map[string]string{"short": "s", "long": strings.Repeat("long/", 25) + "s"} {
		t.Run(name, func(t *testing.T) {
			folder, temp := filepath.Join(shortDir(t), dir), shortDir(t)
			t.Setenv("TMPDIR", temp)
			dead := startServer(t, folder)
			if got := dead.say("pend", call("a")); got != "1 <nil>" {
				t.Fatalf("the server answers %s", got)
			}
			_ = dead.cmd.Process.Kill()
			dead.end()
			if left := servers(t, folderOf(folder)); len(left) != 2 {
				t.Errorf("a server that was killed left %v", left)
			}
			if o, err := List(t.Context(), folder, 0); err != nil || o.Servers != 0 || len(o.Silent) > 0 {
				t.Errorf("%+v, %v", o, err)
			}
			_, err := Approve(t.Context(), folder, 1, false)
			wants(t, err, ErrNoServer.Error())
			s := newServer(t, folder)
			living := newServer(t, folder)
			living.pend(t, call("c"))
			s.pend(t, call("b"))
			if left := servers(t, s.folder); len(left) != 4 {
				t.Errorf("there is %v", left)
			}
			for _, one := range []*server{s, living} {
				if err := one.Close(); err != nil {
					t.Error(err)
				}
			}
			entries, err := os.ReadDir(temp)
			if err != nil || len(entries) > 0 {
				t.Errorf("in the folder for temporary files: %v, %v", entries, err)
			}
		})
	}
}

// TestLongPath checks that the socket is in another private folder if the path
// of the state folder is too long.
func TestLongPath(t *testing.T) {
	temp := shortDir(t)
	t.Setenv("TMPDIR", temp)
	s := newServer(t, filepath.Join(shortDir(t), strings.Repeat("long/", 25)+"s"))
	n := s.pend(t, call("a"))
	if found, err := filepath.Glob(filepath.Join(temp, "mcp-toolset-approval-*", "s")); err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	if _, err := Approve(t.Context(), s.state, n, false); err != nil || s.Take(call("a")) == 0 {
		t.Errorf("%v", err)
	}
	t.Setenv("TMPDIR", filepath.Join(temp, strings.Repeat("long/", 25)))
	if err := os.MkdirAll(os.TempDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	nowhere := newServer(t, s.state)
	if _, err := nowhere.Pend(call("a")); err == nil || !strings.Contains(err.Error(), "too long for the path of a socket; set MCP_TOOLSET_STATE_DIR or TMPDIR to a shorter one") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestStateRemoved checks that removing the state folder while a server runs
// loses only its pending approvals.
func TestStateRemoved(t *testing.T) {
	s := newServer(t, "")
	s.pend(t, call("a"))
	if err := os.RemoveAll(s.state); err != nil {
		t.Fatal(err)
	}
	n := s.pend(t, call("b"))
	if n != 2 {
		t.Errorf("number %d", n)
	}
	if _, err := Approve(t.Context(), s.state, n, false); err != nil || s.Take(call("b")) == 0 {
		t.Errorf("%v", err)
	}
	if err := os.RemoveAll(s.state); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
