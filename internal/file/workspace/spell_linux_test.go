package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/exec/mounttest"
)

const mountsText = `27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
22 27 0:21 / /proc rw - proc proc rw
30 27 0:30 / /tmp rw - tmpfs tmpfs rw,size=4k
31 27 0:31 / /games rw - tmpfs tmpfs rw,casefold=utf8-12.1.0
40 27 0:40 / /mnt/c rw,noatime master:3 - 9p C: rw,dirsync,aname=drvfs
41 40 0:41 / /mnt/c/Sub\040way rw - ext2 /dev/vdb rw
42 27 0:42 / /host rw - fakeowner /run/host_mark/Users rw
43 27 0:43 / /boot/efi rw - vfat /dev/sda1 rw
44 27 0:44 / /net rw - cifs //host/share rw
45 27 0:45 / /new rw - typeoftomorrow none rw
46 27 0:46 / /over rw - ext2 /dev/vdc rw
47 46 0:47 / /over rw - fuseblk /dev/vdd rw
broken line
`

func useMounts(t *testing.T, text string, kernelFolds bool) {
	table := parseMounts(text, func(string) bool { return kernelFolds })
	table.at = time.Now().Add(time.Hour)
	old := presentMounts.Swap(table)
	t.Cleanup(func() { presentMounts.Store(old) })
}

func TestFolding(t *testing.T) {
	for _, kernelFolds := range []bool{false, true} {
		useMounts(t, mountsText, kernelFolds)
		root := exactNames
		if kernelFolds {
			root = folderNames
		}
		for _, tt := range []struct {
			path   string
			in, on folding
		}{
			{"/", root, root},
			{"/home/x", root, root},
			{"/proc/self", exactNames, root},
			{"/tmp/x", exactNames, root},
			{"/games/x", folderNames, folderNames},
			{"/mnt/c", foldingNames, foldingNames},
			{"/mnt/c/Users/x", foldingNames, foldingNames},
			{"/mnt/cx", root, root},
			{"/mnt/c/Sub way/x", exactNames, foldingNames},
			{"/host/me", foldingNames, foldingNames},
			{"/boot/efi/EFI", foldingNames, foldingNames},
			{"/boot", root, root},
			{"/net/a", foldingNames, foldingNames},
			{"/new/a", foldingNames, foldingNames},
			{"/over/a", foldingNames, foldingNames},
		} {
			if in, on := foldingIn(tt.path), foldingOn(tt.path); in != tt.in || on != tt.on {
				t.Errorf("%s, kernel %v: in %v, on %v; want %v, %v", tt.path, kernelFolds, in, on, tt.in, tt.on)
			}
		}
	}
}

// The folders on the way to a path are looked at once, where a flag of each decides.
func TestFolderNames(t *testing.T) {
	dir := tempDir(t)
	path := write(t, "x", dir, "a/b/f")
	useMounts(t, "1 1 0:1 / / rw - ext4 /dev/vda rw\n", true)
	exactFolders.Lock()
	clear(exactFolders.seen)
	exactFolders.Unlock()
	if isCanonical(path) {
		t.Error("the folders were not looked at")
	}
	if got, err := Canonical(path); err != nil || got != path {
		t.Error(got, err)
	}
	if !isCanonical(path) {
		t.Error("the folders are looked at again")
	}
}

func TestDistinct(t *testing.T) {
	dir := tempDir(t)
	for _, name := range []string{"key", "twin", "TWIN", "1234", "progra~1", "dot.", "blank ", "\u00e9t\u00e9"} {
		write(t, name, dir, name)
	}
	for name, want := range map[string]bool{
		"key": true, "twin": true, "TWIN": true,
		"1234": false, "progra~1": false, "dot.": false, "blank ": false, "\u00e9t\u00e9": false,
	} {
		if got := distinct(dir, name); got != want {
			t.Errorf("distinct(%q) = %v", name, got)
		}
	}
}

// File systems that ignore case, of a driver in user space (which lists names in lower case) and of the
// kernel.
func TestStoredSpelling(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	for _, tt := range []struct{ name, make, mount string }{
		{"ntfs", "mkfs.ntfs -q -F IMG", "lowntfs-3g -o ignore_case IMG MNT"},
		{"vfat", "mkfs.vfat IMG", "mount -o loop IMG MNT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tempDir(t)
			img, mnt := filepath.Join(dir, "img"), filepath.Join(dir, "mnt")
			if err := os.Mkdir(mnt, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(img, make([]byte, 16<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{tt.make, tt.mount} {
				words := strings.Fields(strings.NewReplacer("IMG", img, "MNT", mnt).Replace(line))
				if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
					t.Skipf("%s: %v: %s", line, err, out)
				}
			}
			t.Cleanup(func() {
				if out, err := exec.Command("umount", mnt).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			})
			presentMounts.Store(nil)
			write(t, "x", mnt, "secrets/key.txt")
			write(t, "x", mnt, "secrets/a long name.txt")
			write(t, "x", mnt, "readme.md")
			if !sameFile(filepath.Join(mnt, "readme.md"), filepath.Join(mnt, "README.md")) {
				t.Skip("this file system does not ignore case")
			}
			for given, want := range map[string]string{
				"secrets/key.txt": "secrets/key.txt", "SECRETS/KEY.TXT": "secrets/key.txt", "Secrets/key.txt": "secrets/key.txt", "secrets/KEY.txt": "secrets/key.txt",
				"README.MD": "readme.md", "readme.md": "readme.md", "SECRETS": "secrets", "SECRETS/a LONG name.TXT": "secrets/a long name.txt",
				"SECRETS/new.txt": "secrets/new.txt", "New/File": "New/File", "secrets/../SECRETS/KEY.txt": "secrets/key.txt",
			} {
				got, err := Canonical(filepath.Join(mnt, given))
				if err != nil || got != filepath.Join(mnt, want) {
					t.Errorf("%s: %s, %v", given, got, err)
				}
			}
			// A link from elsewhere, and names of a folder that cannot be distinct.
			link := filepath.Join(dir, "link")
			if err := os.Symlink(filepath.Join(mnt, "SECRETS"), link); err != nil {
				t.Fatal(err)
			}
			if got, err := Canonical(filepath.Join(link, "KEY.TXT")); err != nil || got != filepath.Join(mnt, "secrets/key.txt") {
				t.Error(got, err)
			}
			names, err := readNames(mnt)
			if err != nil || !slices.Contains(names, "secrets") {
				t.Error(names, err)
			}
		})
	}
}
