package settings

import (
	"math"
	"regexp"
	"strconv"
)

// undoKey is the key of the setting undo.
const undoKey = "undo"

var undoKeys = []string{"destructive", "enabled", "quota"}

// Undo holds the setting undo, which controls the recording of changes.
type Undo struct {
	Enabled     bool
	Quota       int64 // bytes of a workspace; 0 means the default
	Destructive bool  // commands that destroy only files that could be restored run without a question
}

// undo holds the settings from which Undo is made.
type undo struct {
	enabled     scalar[bool]
	quota       scalar[int64]
	destructive scalar[bool]
}

func (s *Settings) readUndo(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	for _, g := range f.value.fields {
		path := joinKey(f.key, g.key)
		switch g.key {
		case "enabled":
			if g.value.kind != isBool {
				return g.value.typeError(path, "true or false")
			}
			s.undo.enabled = scalarOf(g.value.truth)
		case "quota":
			size, ok := readSize(g.value.text)
			if g.value.kind != isString || !ok {
				return g.value.typeError(path, `a size from 16MiB to 1TiB, such as "2GiB"`)
			}
			s.undo.quota = scalarOf(size)
		case "destructive":
			if g.value.kind != isString || g.value.text != "ask" && g.value.text != "allow" {
				return g.value.typeError(path, `"ask" or "allow"`)
			}
			s.undo.destructive = scalarOf(g.value.text == "allow")
		default:
			s.unknown(f.key, g, undoKeys)
		}
	}
	return nil
}

var size = regexp.MustCompile(`^([0-9]{1,7}) ?(MiB|GiB|TiB)$`)

// readSize returns the size that a text such as 2GiB stands for, from 16 MiB to 1 TiB.
func readSize(text string) (n int64, ok bool) {
	m := size.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	n *= map[string]int64{"MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[m[2]]
	return n, err == nil && n >= 16<<20 && n <= 1<<40 && n < math.MaxInt64
}

// Undo returns the setting undo. If s is nil, recording is enabled with the default quota.
func (s *Settings) Undo() Undo {
	if s == nil {
		return Undo{Enabled: true}
	}
	return Undo{Enabled: s.undo.enabled.or(true), Quota: s.undo.quota.or(0), Destructive: s.undo.destructive.or(false)}
}
