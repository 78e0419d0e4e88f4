package ospath

import "strings"

// kind is the kind of a Windows path's volume.
type kind uint8

const (
	none   kind = iota // no volume: a, \a
	drive              // a drive: C:\a, C:a
	share              // a share on a server: \\server\share\a
	device             // a device or a volume without a letter: \\.\COM1, \\?\Volume{...}
)

// volume describes the beginning of a Windows path.
type volume struct {
	kind   kind
	name   string // as in the result of Clean: C:, \\server\share
	length int    // in bytes of the path as written
	rooted bool   // whether a separator follows
}

// readVolume parses the beginning of a Windows path. \\?\C:\a and
// \\?\UNC\server\share\a are alternative spellings of C:\a and \\server\share\a.
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

// isUNC reports whether a path begins with \\?\UNC or \??\UNC, in any case.
func isUNC(p string) bool {
	head, rest := p[:min(len(p), 7)], p[min(len(p), 7):]
	return (strings.EqualFold(head, `\\?\UNC`) || strings.EqualFold(head, `\??\UNC`)) && (rest == "" || rest[0] == '\\')
}

// readShare parses \\server\share in p. The server's name begins at from.
func readShare(p string, from int) volume {
	server, rest, _ := strings.Cut(p[from:], `\`)
	name, _, _ := strings.Cut(rest, `\`)
	v := volume{kind: share, name: `\\` + server + `\` + name, length: from + len(server), rooted: true}
	if len(p) > v.length {
		v.length += 1 + len(name)
	}
	return v
}

// readDevice parses \\.\NAME or \\?\NAME.
func readDevice(p string) volume {
	name, _, _ := strings.Cut(p[min(len(p), 4):], `\`)
	return volume{device, `\\` + p[2:3] + `\` + name, min(len(p), 4) + len(name), true}
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
