package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/tools"
)

// TestWriteErrors checks the errors for files that cannot be written.
func TestWriteErrors(t *testing.T) {
	at := func(err error) error { return &fs.PathError{Op: "writing", Path: "/w/a", Err: err} }
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&workspace.KindError{Path: "/w/a", Kind: "directory"}, "/w/a is a directory. Name a file in it."},
		{&workspace.KindError{Path: "/w/a", Kind: "named pipe (FIFO)"}, "/w/a is a named pipe (FIFO), not a file. Only regular files can be written."},
		{at(workspace.ErrProtected), "/w/a is write-protected. Ask the user to change its mode if it is to be written."},
		{at(syscall.ENOSPC), "there is no room left to write /w/a; it is as it was. Free some space first."},
		{at(syscall.EDQUOT), "there is no room left to write /w/a; it is as it was. Free some space first."},
		{at(syscall.EFBIG), "there is no room left to write /w/a; it is as it was. Free some space first."},
		{at(syscall.EROFS), "/w/a is on a file system that is read-only. Write somewhere else."},
		{at(syscall.EPERM), "/w/a may not be replaced: it is immutable, or its folder is sticky and another user's. Ask the user to change that or to write it."},
		{at(syscall.EACCES), "/w/a may not be written by the user the server runs as. Ask the user to change the permissions of its folder or to write it."},
		{at(syscall.ENAMETOOLONG), "/w/a is a path too long. Use a shorter one."},
		{at(syscall.EBUSY), "/w/a cannot be written: device or resource busy; it is as it was. Check the path, then try once more."},
		{at(fmt.Errorf("%w: %w; %w", workspace.ErrTorn, syscall.EIO, syscall.ENOSPC)), "/w/a is a mount of its own, was written in part, and its old content could not be restored: input/output error. Undo this call, or write the whole file again; if that fails, too, ask the user to check the disk."},
		{context.Canceled, "context canceled"},
	} {
		if got := writeError("/w/a", tc.err).Error(); got != tc.want {
			t.Errorf("%v:\n got %s\nwant %s", tc.err, got, tc.want)
		}
	}
}

// TestHung checks the errors for a file system that does not respond.
func TestHung(t *testing.T) {
	for err, want := range map[error]string{
		bounded.ErrTime:    "the file system of /w/a does not answer. Search another folder, or try again later; if that fails too, ask the user to check the file system.",
		bounded.ErrTooMany: "too many earlier calls still wait for a file system that does not answer. Try again later; if that fails too, ask the user to check the file system.",
	} {
		if got := NotResponding(fmt.Errorf("searching: %w", err), "/w/a").Error(); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	notes := Silent([]string{"slow", "1", "2", "3", "4", "5"}, "sub/")
	if want := "incomplete: the file system of sub/slow does not answer, so what is in it is missing"; len(notes) != mostSilent+1 || notes[0] != want || notes[mostSilent] != "incomplete: 1 further folder left out for the same reason" {
		t.Errorf("got %q\nwant %s", notes, want)
	}
}

func TestUnconfirmed(t *testing.T) {
	err := fmt.Errorf("%w: %w", workspace.ErrUnconfirmed, syscall.EIO)
	want := "/w/a was written, but the system did not confirm that it is on disk: input/output error. " +
		"It has the new content, so do not write it again; ask the user to check the disk."
	if got := unconfirmed("/w/a", err).Error(); got != want {
		t.Errorf(" got %s\nwant %s", got, want)
	}
}

func TestLockError(t *testing.T) {
	want := "the lock of /w/a cannot be taken: /state/locks is not a folder; nothing was written. Ask the user to check the server's state folder."
	if got := lockError(t.Context(), "/w/a", errors.New("/state/locks is not a folder")).Error(); got != want {
		t.Errorf(" got %s\nwant %s", got, want)
	}
	want = "another server has been holding the lock of /w/a for 30 seconds; nothing was written. Try again; if that fails too, ask the user to look for a suspended mcp-toolset process."
	if got := lockError(t.Context(), "/w/a", fmt.Errorf("waiting: %w", filelock.ErrHeld)).Error(); got != want {
		t.Errorf(" got %s\nwant %s", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lockError(ctx, "/w/a", ctx.Err()); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancel is worded as %v", err)
	}
}

// TestTell checks the notes on side effects of a change.
func TestTell(t *testing.T) {
	for want, w := range map[string]workspace.Written{
		"":                           {Created: true},
		"made 1 folder: /w/a":        {MadeDirs: []string{"/w/a"}},
		"made 2 folders: /w/a, /w/b": {MadeDirs: []string{"/w/a", "/w/b"}},
		"the file had other hard links; they keep the old content":                         {BrokeLink: true},
		"setuid and setgid are not set any more":                                           {DroppedBits: true},
		"the file belongs to the user the server runs as now: its owner could not be kept": {NewOwner: true, NewGroup: true},
		"the file's group could not be kept":                                               {NewGroup: true},
		"the file's group could not be kept; setuid and setgid are not set any more":       {NewGroup: true, DroppedBits: true},
	} {
		if got := strings.Join(Changed{Written: w}.Notes(), "; "); got != want {
			t.Errorf("%+v: %s", w, got)
		}
	}
}

// TestMissingInLayer checks the error for a change of a file that only commands find, in a layer over
// a cache.
func TestMissingInLayer(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/there", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := &tools.Env{Real: func(string, bool) string { return dir + "/there" }}
	if got := Missing(env, "/c/a.go").Error(); got != "/c/a.go is only in the layer that commands of this workspace have over the cache. Copy it into the workspace with cp to change it." {
		t.Errorf("got %s", got)
	}
}
