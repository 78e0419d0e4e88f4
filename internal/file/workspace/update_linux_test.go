package workspace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"mcp-toolset/internal/exec/mounttest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	nobody = 65534
	group  = 54321 // a group without nobody
)

// asNobody runs f, in a test that runs as root, with the file rights of the user
// nobody, who is also in these groups. The rights belong to a thread, which ends with
// its goroutine.
func asNobody(t *testing.T, f func(), groups ...uint32) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		list := append(groups, nobody) // never empty
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(list)), uintptr(unsafe.Pointer(&list[0])), 0); errno != 0 {
			t.Error(errno)
		}
		for call, id := range map[uintptr]uintptr{unix.SYS_SETFSUID: nobody, unix.SYS_SETFSGID: nobody} {
			if _, _, errno := unix.RawSyscall(call, id, 0, 0); errno != 0 {
				t.Error(errno)
			}
		}
		f()
	}()
	<-done
}

// publicDir returns a new directory that every user can reach.
func publicDir(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "workspace-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = Canonical(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	for up := dir; up != separator; up = filepath.Dir(up) {
		if _, _, mode := stat(t, up); mode&0o005 != 0o005 {
			t.Skip(up, "is closed to others")
		}
	}
	return dir
}

// owned writes a file with this owner and group.
func owned(t *testing.T, path string, uid, gid int, mode fs.FileMode) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may give files away")
	}
	write(t, "old", path)
	if err := errors.Join(os.Chown(path, uid, gid), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

func stat(t *testing.T, path string) (uid, gid int, mode fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return int(st.Uid), int(st.Gid), info.Mode()
}

func TestUpdateOwner(t *testing.T) {
	dir := tempDir(t)
	path := owned(t, filepath.Join(dir, "f"), nobody, group, 0o640)
	w, err := NewFiles(openRoots(t, dir), anything).Update(t.Context(), path, set("new"))
	if err != nil || w.NewOwner || w.NewGroup {
		t.Fatalf("%+v, %v", w, err)
	}
	if uid, gid, mode := stat(t, path); uid != nobody || gid != group || mode != 0o640 {
		t.Errorf("owner %d, group %d, mode %v", uid, gid, mode)
	}
}

// A user who may write to a file but cannot set its owner and group becomes the owner,
// and the new group gets no more rights than others have.
func TestUpdateNotOwner(t *testing.T) {
	dir := publicDir(t, 0o777)
	files := NewFiles(openRoots(t, dir), anything)
	want := map[string]fs.FileMode{}
	for mode, becomes := range map[fs.FileMode]fs.FileMode{0o666: 0o666, 0o676: 0o666, 0o646: 0o646, 0o647: 0o647} {
		want[owned(t, filepath.Join(dir, mode.String()), 0, group, mode)] = becomes
	}
	mine := owned(t, filepath.Join(dir, "mine"), nobody, nobody, 0o640)
	asNobody(t, func() {
		for path := range want {
			if w, err := files.Update(t.Context(), path, set("new")); err != nil || !w.NewOwner || !w.NewGroup {
				t.Errorf("%+v, %v", w, err)
			}
		}
		if w, err := files.Update(t.Context(), mine, set("new")); err != nil || w.NewOwner || w.NewGroup {
			t.Errorf("%+v, %v", w, err)
		}
	})
	want[mine] = 0o640
	for path, want := range want {
		if uid, gid, mode := stat(t, path); uid != nobody || gid != nobody || mode != want {
			t.Errorf("%s: owner %d, group %d, mode %v, want %v", filepath.Base(path), uid, gid, mode, want)
		}
	}
}

// A member of the file's group retains the group and its rights.
func TestUpdateInGroup(t *testing.T) {
	dir := publicDir(t, 0o777)
	path := owned(t, filepath.Join(dir, "f"), 0, group, 0o664)
	files := NewFiles(openRoots(t, dir), anything)
	asNobody(t, func() {
		if w, err := files.Update(t.Context(), path, set("new")); err != nil || !w.NewOwner || w.NewGroup {
			t.Errorf("%+v, %v", w, err)
		}
	}, group)
	if uid, gid, mode := stat(t, path); uid != nobody || gid != group || mode != 0o664 {
		t.Errorf("owner %d, group %d, mode %v", uid, gid, mode)
	}
}

// A file that no user may change is distinguished from one that its mode protects.
func TestUpdateNotPermitted(t *testing.T) {
	refused := func(path string, want error) {
		t.Helper()
		_, err := NewFiles(openRoots(t, filepath.Dir(path)), anything).Update(t.Context(), path, set("new"))
		var at *fs.PathError
		if !errors.Is(err, want) || !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at) || at.Path != path {
			t.Errorf("%v; want %v", err, want)
		}
		if errors.Is(err, syscall.EPERM) != (want == syscall.EPERM) {
			t.Errorf("%v is EPERM: %v", err, errors.Is(err, syscall.EPERM))
		}
		if content(path) != "old" {
			t.Errorf("holds %q", content(path))
		}
	}
	t.Run("sticky folder", func(t *testing.T) {
		dir := publicDir(t, 0o777|fs.ModeSticky)
		path := owned(t, filepath.Join(dir, "f"), 0, 0, 0o666)
		asNobody(t, func() { refused(path, syscall.EPERM) })
		onlyNames(t, dir, "f")
	})
	t.Run("folder", func(t *testing.T) {
		dir := publicDir(t, 0o755)
		path := owned(t, filepath.Join(dir, "f"), 0, 0, 0o666)
		asNobody(t, func() { refused(path, syscall.EACCES) })
		onlyNames(t, dir, "f")
	})
	t.Run("immutable", func(t *testing.T) {
		dir := tempDir(t)
		path := write(t, "old", dir, "f")
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		set := func(flags int) error {
			return onFd(file, func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags) })
		}
		if err := set(unix.STATX_ATTR_IMMUTABLE); err != nil { // the same bit
			t.Skip("files cannot be made immutable here:", err)
		}
		defer func() {
			if err := set(0); err != nil {
				t.Error(err)
			}
		}()
		refused(path, syscall.EPERM)
		onlyNames(t, dir, "f")
	})
}

func TestUpdateProtected(t *testing.T) {
	dir := publicDir(t, 0o777)
	theirs := owned(t, filepath.Join(dir, "theirs"), 0, 0, 0o644)
	mine := owned(t, filepath.Join(dir, "mine"), nobody, nobody, 0o444)
	closed := filepath.Join(dir, "closed", "f")
	write(t, "old", closed)
	owned(t, closed, nobody, nobody, 0o644)
	if err := os.Chmod(filepath.Dir(closed), 0o755); err != nil {
		t.Fatal(err)
	}
	files := NewFiles(openRoots(t, dir), anything)
	asNobody(t, func() {
		for _, path := range []string{theirs, mine, closed, filepath.Join(dir, "closed", "new"), filepath.Join(dir, "closed", "a", "b")} {
			_, err := files.Update(t.Context(), path, set("new"))
			var at *fs.PathError
			protected := path == theirs || path == mine
			if !errors.Is(err, fs.ErrPermission) || errors.Is(err, ErrProtected) != protected || !errors.As(err, &at) || at.Path != path {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
	for _, path := range []string{theirs, mine, closed} {
		if content(path) != "old" {
			t.Errorf("%s holds %q", path, content(path))
		}
	}
	onlyNames(t, filepath.Dir(closed), "f")
	onlyNames(t, dir, "closed", "mine", "theirs")
	if _, err := files.Update(t.Context(), mine, set("new")); err != nil {
		t.Error("not even root:", err)
	}
}

// accessListOf returns a list by which user 1000 may read and write, and the group only
// read.
func accessListOf(mask uint16) []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2) // version
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, 1<<32 - 1}, {2, 6, 1000}, {4, 4, 1<<32 - 1}, {16, mask, 1<<32 - 1}, {32, 0, 1<<32 - 1}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	return list
}

func TestUpdateAttributes(t *testing.T) {
	get := func(path, name string) []byte {
		buf := make([]byte, 4096)
		n, err := unix.Getxattr(path, name, buf)
		if err != nil {
			return nil
		}
		return buf[:n]
	}
	dir := tempDir(t)
	files := NewFiles(openRoots(t, dir), anything)
	with, without := write(t, "old", dir, "with"), write(t, "old", dir, "without")
	values := map[string][]byte{"user.one": []byte("1"), "user.two": bytes.Repeat([]byte("2"), 1000), "user.empty": {}, accessList: accessListOf(6)}
	for name, value := range values {
		if err := unix.Setxattr(with, name, value, 0); err != nil {
			t.Skip("no such attributes here:", err)
		}
	}
	// Files made here from now on inherit a list from the folder.
	if err := unix.Setxattr(dir, "system.posix_acl_default", accessListOf(6), 0); err != nil {
		t.Fatal(err)
	}
	_, _, before := stat(t, with)
	for _, path := range []string{with, without, filepath.Join(dir, "new")} {
		if _, err := files.Update(t.Context(), path, set("new")); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range values {
		if got := get(with, name); !bytes.Equal(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, _, after := stat(t, with); after != before {
		t.Errorf("mode was %v and is %v", before, after)
	}
	if got := get(without, accessList); got != nil {
		t.Errorf("got an access control list: %x", got)
	}
	if get(filepath.Join(dir, "new"), accessList) == nil {
		t.Error("a new file did not get the folder's access control list")
	}
}

// On a full or read-only disk the old content stays.
func TestUpdateDiskFull(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	dir := tempDir(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("mounting is not allowed here:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	old := strings.Repeat("old ", 5000)
	path := write(t, old, dir, "f")
	files := NewFiles(openRoots(t, dir), anything)
	for _, want := range []error{syscall.ENOSPC, syscall.EROFS} {
		for _, path := range []string{path, filepath.Join(dir, "new"), filepath.Join(dir, "a", "b", "c")} {
			_, err := files.Update(t.Context(), path, set(strings.Repeat("new ", 50_000)))
			var at *fs.PathError
			if !errors.Is(err, want) || !errors.As(err, &at) || at.Path != path {
				t.Errorf("%v; want %v", err, want)
			}
		}
		onlyNames(t, dir, "f")
		if content(path) != old {
			t.Errorf("%v: holds %.20q", want, content(path))
		}
		if want == syscall.EROFS {
			break
		}
		if _, err := files.Update(t.Context(), path, set(old)); err != nil {
			t.Errorf("the same size still fits: %v", err)
		}
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// A file that is a mount point is written in place. After an error it has its old content,
// or the error says that it has not.
func TestUpdateMounted(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	full := tempDir(t)
	if err := unix.Mount("tmpfs", full, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("mounting is not allowed here:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(full, unix.MNT_DETACH) })
	broken := &fs.PathError{Op: "write", Path: "f", Err: syscall.EIO}
	fail := func(when func(off int64) bool) func(*os.File, []byte, int64) (int, error) {
		return func(f *os.File, b []byte, off int64) (int, error) {
			if when(off) && len(b) > 0 {
				n, _ := f.WriteAt(b[:len(b)/2], off)
				return n, broken
			}
			return f.WriteAt(b, off)
		}
	}
	calls := 0
	short, long, huge := "new", strings.Repeat("longer ", 1000), strings.Repeat("huge ", 50_000)
	for _, tc := range []struct {
		name, old, new string
		write          func(*os.File, []byte, int64) (int, error)
		want           error
	}{
		{"shorter", long, short, nil, nil},
		{"longer", short, long, nil, nil},
		{"as long", "old", short, nil, nil},
		{"from empty", "", short, nil, nil},
		{"to empty", long, "", nil, nil},
		{"no room", long, huge, nil, syscall.ENOSPC},
		{"error in the added part", short, long, fail(func(off int64) bool { return off > 0 }), syscall.EIO},
		{"error in the old part", long, short, fail(func(off int64) bool { calls++; return off == 0 && calls == 2 }), syscall.EIO},
		{"error also of the restoring", long, short, fail(func(off int64) bool { return off == 0 }), ErrTorn},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := tempDir(t)
			path, below := write(t, "hidden", dir, "f"), write(t, tc.old, full, "below")
			if err := unix.Mount(below, path, "", unix.MS_BIND, ""); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
			if calls = 0; tc.write != nil {
				writeAt = tc.write
				t.Cleanup(func() { writeAt = (*os.File).WriteAt })
			}
			done := false
			files := NewFiles(openRoots(t, dir), anything).Watched(func(string, *Old, []byte) func(Written) {
				return func(Written) { done = true }
			})
			w, err := files.Update(t.Context(), path, set(tc.new))
			if !errors.Is(err, tc.want) || errors.Is(err, ErrTorn) != (tc.want == ErrTorn) {
				t.Errorf("error %v", err)
			}
			want := tc.new
			if tc.want != nil {
				want = tc.old
			}
			if content(path) != want && tc.want != ErrTorn {
				t.Errorf("holds %.20q, %d bytes", content(path), len(content(path)))
			}
			if err == nil {
				info, _ := os.Stat(path)
				if !w.InPlace || w.Identity != IdentityOf(info) {
					t.Errorf("%+v", w)
				}
			}
			if recorded := err == nil || tc.want == ErrTorn; done != recorded {
				t.Error("the watch was told:", done)
			}
			onlyNames(t, dir, "f")
		})
	}
}

// An undo writes a mount point in place, too.
func TestSpotMounted(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	dir, other := tempDir(t), tempDir(t)
	path, below := write(t, "hidden", dir, "f"), write(t, "new and longer", other, "below")
	if err := unix.Mount(below, path, "", unix.MS_BIND, ""); err != nil {
		t.Skip("mounting is not allowed here:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	spot, err := openRoots(t, dir).Spot(path)
	if err != nil {
		t.Fatal(err)
	}
	defer spot.Close()
	refused := errors.New("refused")
	for _, want := range []error{refused, nil} {
		err := spot.PutFile(strings.NewReader("old"), 0o640, Owner{}, func(*Look) error { return want })
		if !errors.Is(err, want) || (content(path) == "old") != (want == nil) {
			t.Errorf("%v, holds %q", err, content(path))
		}
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
		t.Error(info.Mode())
	}
	onlyNames(t, dir, "f")
}

// A program that has the file open for writing goes on with the old file.
func TestUpdateWriter(t *testing.T) {
	dir := tempDir(t)
	path := write(t, "old", dir, "f")
	files := NewFiles(openRoots(t, dir), anything)
	for _, open := range []bool{true, false} {
		log, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !open {
			log.Close()
		}
		w, err := files.Update(t.Context(), path, set("new"))
		if err != nil || w.Writer != open {
			t.Errorf("%v, writer %v, not %v", err, w.Writer, open)
		}
		log.Close()
	}
}

// A file reached by two paths is still one file.
func TestUpdateTurnsMounted(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	dir := memoryDir(t)
	path := write(t, "", dir, "a", "f")
	other := mkdir(t, dir, "b")
	if err := unix.Mount(filepath.Dir(path), other, "", unix.MS_BIND, ""); err != nil {
		t.Skip("mounting is not allowed here:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(other, unix.MNT_DETACH) })
	var paths []string
	for range 8 { // so many that a file is often replaced before it is locked
		paths = append(paths, path, filepath.Join(other, "f"))
	}
	takesTurns(t, paths...)
}

// Folders that may be passed but not listed are no obstacle.
func TestUpdateUnlistable(t *testing.T) {
	top := publicDir(t, 0o777)
	path := filepath.Join(top, "search", "d", "f")
	write(t, "old", path)
	if err := errors.Join(os.Chmod(filepath.Dir(path), 0o777), os.Chmod(filepath.Join(top, "search"), 0o711)); err != nil {
		t.Fatal(err)
	}
	owned(t, path, nobody, nobody, 0o600)
	r := openRoots(t)
	if _, ok := r.opener.(kernel); !ok {
		t.Skip("only openat2 can do that")
	}
	asNobody(t, func() {
		if _, err := NewFiles(r, anything).Update(t.Context(), path, set("new")); err != nil {
			t.Error(err)
		}
	})
}
