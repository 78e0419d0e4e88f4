package ospath

import "strings"

// kind is the kind of root that a Windows path begins with.
type kind uint8

const (
	none   kind = iota // nothing: a, \a
	drive              // a drive: C:\a, C:a
	share              // a share of a server: \\server\share\a
	device             // a device or a volume without a letter: \\.\COM1, \\?\Volume{...}
)

// volume is the beginning of a Windows path.
type volume struct {
	kind   kind
	name   string // as Clean writes it: C:, \\server\share
	length int    // in the path as it is written
	rooted bool   // a separator follows
}

// readVolume takes the beginning of a Windows path apart. \\?\C:\a and
// \\?\UNC\server\share\a are other ways to write C:\a and \\server\share\a.
func readVolume(p string) volume {
	slashed := strings.ReplaceAll(p, "/", `\`)
	prefix := 0
	switch {
	case isUNC(slashed):
		if len(slashed) == len(`\\?\UNC`) {
			return volume{share, `\\\`, len(slashed), true}
		}
		return readShare(slashed, len(`\\?\UNC\`))
	case strings.HasPrefix(slashed, `\\?\`), strings.HasPrefix(slashed, `\??\`):
		prefix = len(`\\?\`)
	case strings.HasPrefix(slashed, `\\.\`) || slashed == `\\.` || slashed == `\\?`:
		return readDevice(slashed)
	case strings.HasPrefix(slashed, `\\`):
		return readShare(slashed, len(`\\`))
	}
	rest := slashed[prefix:]
	if len(rest) >= 2 && rest[1] == ':' && isLetter(rest[0]) {
		rooted := len(rest) > 2 && rest[2] == '\\'
		if prefix == 0 || rooted {
			return volume{drive, strings.ToUpper(rest[:1]) + ":", prefix + 2, rooted}
		}
	}
	if prefix > 0 {
		return readDevice(slashed)
	}
	return volume{}
}

// isUNC reports whether a path begins with \\?\UNC, in any case.
func isUNC(p string) bool {
	head, rest := p[:min(len(p), 7)], p[min(len(p), 7):]
	return (strings.EqualFold(head, `\\?\UNC`) || strings.EqualFold(head, `\??\UNC`)) && (rest == "" || rest[0] == '\\')
}

// readShare reads \\server\share from the server's name on.
func readShare(p string, from int) volume {
	server, rest, _ := strings.Cut(p[from:], `\`)
	name, _, _ := strings.Cut(rest, `\`)
	v := volume{kind: share, name: `\\` + server + `\` + name, length: from + len(server), rooted: true}
	if len(p) > v.length {
		v.length += 1 + len(name)
	}
	return v
}

// readDevice reads \\.\NAME or \\?\NAME.
func readDevice(p string) volume {
	name, _, _ := strings.Cut(p[min(len(p), 4):], `\`)
	return volume{device, `\\` + p[2:3] + `\` + name, min(len(p), 4) + len(name), true}
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
