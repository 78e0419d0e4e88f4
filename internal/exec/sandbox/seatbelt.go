package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file makes profiles for Seatbelt, the sandbox of macOS, which sandbox-exec
// applies to a command. It builds on every system, so that its tests run everywhere.

// seatbeltBase is the part of a profile that holds for every command. Operations that
// it does not name are denied: hard links and clones of files (file-link, file-clone),
// which would give a hidden or protected file another path, and services such as the
// keychain, the clipboard and launchd, which would act for the command outside of the
// sandbox. (deny default) may not cover process-info*, nvram* and iokit-get-properties, so
// they are denied by name, as are the sysctls kern.procargs*, by which the environment of
// other processes is read.
const seatbeltBase = `(version 1)
(deny default)
(deny nvram*)
(deny iokit-get-properties)

; programs, and the processes of the same command
(allow process-exec)
(allow process-fork)
(deny process-info*)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow mach-priv-task-port (target same-sandbox))

; properties of the machine
(allow mach-host*)
(allow iokit-open (iokit-registry-entry-class "RootDomainUserClient"))
(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "machdep.")
  (sysctl-name-prefix "vm.")
  (sysctl-name-prefix "net.routetable")
  (sysctl-name-prefix "kern.proc.pgrp.")
  (sysctl-name-prefix "kern.proc.pid.")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.boottime")
  (sysctl-name "kern.hostname")
  (sysctl-name "kern.maxfiles")
  (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.maxproc")
  (sysctl-name "kern.ngroups")
  (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease")
  (sysctl-name "kern.ostype")
  (sysctl-name "kern.osvariant_status")
  (sysctl-name "kern.osversion")
  (sysctl-name "kern.secure_kernel")
  (sysctl-name "kern.tcsm_available")
  (sysctl-name "kern.tcsm_enable")
  (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version")
  (sysctl-name "kern.willshutdown")
  (sysctl-name "security.mac.lockdown_mode_state")
  (sysctl-name "sysctl.proc_cputype")
  (sysctl-name "sysctl.proc_translated"))
(deny sysctl-read (sysctl-name-prefix "kern.procargs"))
(allow sysctl-write
  (sysctl-name "kern.grade_cputype")
  (sysctl-name "kern.tcsm_enable"))

; services of the system: users and groups, logs, notifications, temporary folders
(allow mach-lookup
  (global-name "com.apple.PowerManagement.control")
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.logd")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow ipc-posix-sem)
(allow ipc-posix-shm)

; devices and terminals
(allow file-read* (literal "/dev") (literal "/dev/autofs_nowait") (literal "/dev/random") (literal "/dev/urandom"))
(allow file-read* file-write-data file-ioctl
  (literal "/dev/dtracehelper")
  (literal "/dev/null")
  (literal "/dev/tty")
  (literal "/dev/zero"))
(allow file-read* file-write-data (subpath "/dev/fd"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx"))
(allow file-read* file-write* file-ioctl
  (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))

; names, sizes and times of all files, and the system
(allow file-read-metadata)
(allow file-read*
  (literal "/")
  (literal "/Library/Preferences/com.apple.dt.Xcode.plist")
  (literal "/private/var/db/DarwinDirectory/local/recordStore.data")
  (literal "/private/var/db/xcode_select_link")
  (literal "/private/var/run/resolv.conf")
  (subpath "/private/var/db/dyld")
  (subpath "/private/var/db/timezone")
  (subpath "/private/var/select"))
`

// seatbeltFolders lists the folders of macOS that commands may read as a whole, besides
// systemFolders. /System/Volumes/Data, which has all files of the users, is not in them.
var seatbeltFolders = []string{
	"/Applications", "/Library/Apple", "/Library/Developer", "/Library/Fonts", "/Library/Frameworks", "/Library/Java", "/Library/Perl",
	"/Library/Python", "/Library/Ruby", "/Library/TeX", "/System/Applications", "/System/Cryptexes", "/System/DriverKit", "/System/Library",
	"/System/Volumes/Preboot/Cryptexes", "/System/iOSSupport", "/private/etc",
}

// seatbeltOnline is the part of a profile that allows the network. The sockets of other
// programs stay closed, except for the one that looks up names.
const seatbeltOnline = `
; the network
(allow system-socket)
(allow network* (local ip) (remote ip))
(allow network-outbound (remote unix-socket (path-literal "/private/var/run/mDNSResponder")))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.networkd")
  (global-name "com.apple.trustd")
  (global-name "com.apple.trustd.agent"))
`

// seatbeltProfile returns the profile that enforces a policy. stored returns the path
// by which the kernel knows a file, and whether the file exists. The last rule that
// matches decides, so the rules on hidden and protected paths come at the end. A rule
// names a path, so a folder that holds a hidden or protected path cannot be moved.
func seatbeltProfile(p Policy, stored func(path string) (real string, exists bool)) string {
	existing := func(paths []string) (out []string) {
		for _, path := range paths {
			if slices.Contains(p.Exact, path) {
				out = append(out, path) // if it leads through a link, no file matches it
			} else if real, exists := stored(path); exists {
				out = append(out, real)
			}
		}
		return out
	}
	read := append(existing(p.readable()), seatbeltFolders...)
	list, write := existing(p.List), existing(p.writable())
	open := slices.Concat(read, list, write)
	// Links are denied with their targets. What is absent is denied as well.
	closed := func(paths []string) (out []string) {
		for _, path := range paths {
			real, _ := stored(path)
			above, _ := stored(filepath.Dir(path))
			for _, path := range []string{real, filepath.Join(above, filepath.Base(path))} {
				if belowAny(path, open) {
					out = append(out, path)
				}
			}
		}
		return out
	}
	hide, protect := closed(p.Hide), closed(p.Protect)
	var sockets, fixed []string
	for _, path := range hide {
		if belowAny(path, write) && !p.ReadOnly {
			sockets = append(sockets, path)
		}
	}
	for _, path := range slices.Concat(hide, protect) {
		for at := filepath.Dir(path); belowAny(at, write); at = filepath.Dir(at) {
			fixed = append(fixed, at)
		}
	}

	var b strings.Builder
	b.WriteString(seatbeltBase)
	rule := func(operations, form string, paths []string) {
		paths = slices.Compact(slices.Sorted(slices.Values(paths)))
		if len(paths) == 0 {
			return
		}
		b.WriteString("(" + operations)
		for _, path := range paths {
			b.WriteString("\n  " + strings.Replace(form, "PATH", quoteSeatbelt(path), 1))
		}
		b.WriteString(")\n")
	}
	const within = "(subpath PATH)"
	rule("allow file-read*", within, read)
	rule("allow file-read-data", "(require-all (subpath PATH) (vnode-type DIRECTORY))", list)
	b.WriteString("\n; the folders of the command\n")
	rule("allow file-read* file-write*", within, write)
	if !p.ReadOnly {
		b.WriteString("(allow system-socket (socket-domain AF_UNIX))\n")
		rule("allow network-bind network-inbound", "(local unix-socket (subpath PATH))", write)
		rule("allow network-outbound", "(remote unix-socket (subpath PATH))", write)
	}
	if p.online() {
		b.WriteString(seatbeltOnline)
	}
	b.WriteString("\n; hidden and protected paths, and modes\n")
	rule("deny file-read* file-write*", within, hide)
	rule("deny network-outbound", "(remote unix-socket (subpath PATH))", sockets)
	rule("deny file-write*", within, protect)
	rule("deny file-write-unlink", "(literal PATH)", fixed)
	b.WriteString("(deny file-write-setugid)\n")
	return b.String()
}

// quoteSeatbelt returns a path as a string of a profile. Control characters stand for
// themselves there.
func quoteSeatbelt(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// storedPaths finds the paths by which the kernel knows files: without links, and with
// names as folders store them. The file systems of macOS ignore case and Unicode forms,
// and profiles do not.
type storedPaths struct {
	links   *Resolver
	real    map[string]string // by resolved path
	entries map[string][]os.DirEntry
}

func newStoredPaths() storedPaths {
	return storedPaths{NewResolver(), map[string]string{}, map[string][]os.DirEntry{}}
}

// find returns the stored form of a path and whether it exists. Of an absent path it is
// the stored form of the existing part, and the rest as it is.
func (s storedPaths) find(path string) (real string, exists bool) {
	path = filepath.Clean(path)
	if real = s.links.Real(path); real != "" {
		return s.spelled(real), true
	}
	above, _ := s.find(filepath.Dir(path))
	return filepath.Join(above, filepath.Base(path)), false
}

// spelled returns the stored form of a path without links.
func (s storedPaths) spelled(path string) string {
	folder := filepath.Dir(path)
	if folder == path {
		return path
	}
	real, known := s.real[path]
	if !known {
		folder = s.spelled(folder)
		real = filepath.Join(folder, s.name(folder, filepath.Base(path)))
		s.real[path] = real
	}
	return real
}

// name returns the name under which a folder stores the file that is found as name. If
// the folder cannot be listed, it returns name.
func (s storedPaths) name(folder, name string) string {
	entries, known := s.entries[folder]
	if !known {
		entries, _ = os.ReadDir(folder) // sorted by name
		s.entries[folder] = entries
	}
	_, exact := slices.BinarySearchFunc(entries, name, func(e os.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
	if info, err := os.Lstat(filepath.Join(folder, name)); !exact && err == nil {
		for _, e := range entries {
			if e.Type() != info.Mode().Type() || len(e.Name()) == len(name) && !strings.EqualFold(e.Name(), name) {
				continue
			}
			if other, err := e.Info(); err == nil && os.SameFile(info, other) {
				return e.Name()
			}
		}
	}
	return name
}
