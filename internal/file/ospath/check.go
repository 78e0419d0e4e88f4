package ospath

import (
	"fmt"
	"strings"
)

// Fault describes why the text of a path makes it unusable. Fact is one fact about the
// path and begins with a verb. Next is one next step.
type Fault struct{ Fact, Next string }

func (f *Fault) Error() string { return "it " + f.Fact }

// Check returns a *Fault for a clean absolute path that Windows would take for another
// path or for something that is not a file. It also rejects a path that cannot be
// judged by its text, so that no alternative spelling evades a rule.
func (s Style) Check(p string) error {
	if !s.windows {
		return nil
	}
	v := readVolume(p)
	switch v.kind {
	case device:
		return &Fault{"names a device, or a volume without a drive letter", "Use a path that begins with a drive letter."}
	case share:
		server, name, _ := strings.Cut(v.name[2:], `\`)
		if server == "" || name == "" {
			return &Fault{`names no share of a server`, `Write it as \\server\share\file.`}
		}
		for _, name := range [...]string{server, name} {
			if f := checkName(name); f != nil {
				return f
			}
		}
	}
	for name := range strings.SplitSeq(p[v.length:], `\`) {
		if f := checkName(name); f != nil {
			return f
		}
	}
	return nil
}

// checkName returns the reason why one name of a path is unusable, or nil.
func checkName(name string) *Fault {
	if name == "" {
		return nil
	}
	if at := strings.IndexByte(name, ':'); at >= 0 {
		if at == 1 && isLetter(name[0]) {
			return &Fault{"has a drive letter that no backslash follows, or that is not at its beginning", `Write the whole path, as in C:\folder\file.`}
		}
		return &Fault{`names a stream of a file (":")`, "Use the path of the file itself."}
	}
	for _, r := range name {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`<>"|?*`, r) {
			return &Fault{fmt.Sprintf("holds %q, which no Windows name has", r), "Use the name of one file."}
		}
	}
	if last := name[len(name)-1]; last == '.' || last == ' ' {
		return &Fault{"has a name that ends in a dot or a space, which Windows leaves out", "Write the name without it."}
	}
	if isReserved(name) {
		return &Fault{fmt.Sprintf("has the name %s, which Windows reserves for a device", name), "Use another name."}
	}
	return nil
}

// isReserved reports whether Windows takes a name for a device, in any folder and with
// any extension.
func isReserved(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	port, ok := strings.CutPrefix(base, "COM")
	if !ok {
		port, ok = strings.CutPrefix(base, "LPT")
	}
	return ok && (len(port) == 1 && port[0] >= '0' && port[0] <= '9' || port == "¹" || port == "²" || port == "³")
}

// IsShort reports whether a name has the 8.3 form that Windows generates for old
// programs, with at most eight characters and an extension of at most three:
// PROGRA~1.TXT. A file may also have such a name as its real one.
func (s Style) IsShort(name string) bool {
	if !s.windows {
		return false
	}
	base, ext, _ := strings.Cut(name, ".")
	at := strings.LastIndexByte(base, '~')
	return at >= 0 && len(base) <= 8 && len(ext) <= 3
}

// Share returns the server and the share of a clean absolute path, folded, or "" for a
// path on a drive. Access to a file on a share sends the user's credentials to the
// server.
func (s Style) Share(p string) string {
	if !s.windows {
		return ""
	}
	if v := readVolume(p); v.kind == share {
		return s.Fold(v.name)
	}
	return ""
}
