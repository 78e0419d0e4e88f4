package ignore

import "strings"

// List holds the patterns of one ignore file. A nil List ignores nothing. It is safe
// for concurrent use.
//
// Most patterns can only match entries with one name, or with one extension, and are
// looked up by it. The others are tried one after the other, newest first.
type List struct {
	rules  []rule           // in the order of the file
	byName map[string]int32 // the newest rule for a name, as an index + 1
	byExt  map[string]int32 // the same for an extension, with its dot
	rest   []unkeyed        // the others, newest first

	folded func() *List // the list for texts in lower case
}

// unkeyed is a rule without a fixed name or extension.
type unkeyed struct {
	need mask
	rule int32 // its index
}

// mask is a prefilter: the bytes of a name. Four bytes share each bit, and a second dot
// has a bit with which it is not alone either. So a missing bit proves that a byte is
// missing, and a bit that is set proves nothing. Most names have one dot, and most patterns
// without a fixed extension have two (*.tab.[ch]).
type mask uint64

const secondDot mask = 1 << 0

func bit(b byte) mask { return 1 << (b & 63) }

// Len returns the number of patterns.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.rules)
}

// Match returns the verdict on an entry, given its path relative to the list's folder,
// with slashes. folder is whether it is a folder; a link to a folder is not.
func (l *List) Match(path string, folder bool) Verdict {
	if l == nil {
		return Undecided
	}
	cut := strings.LastIndexByte(path, '/') + 1
	e := newEntry(path[cut:], folder)
	return l.match(path[:cut], strings.Count(path[:cut], "/"), &e)
}

// entry holds the properties of an entry that all lists use.
type entry struct {
	name   string
	ext    string // from the name's last dot; "" if there is none
	bytes  mask
	folder bool
}

func newEntry(name string, folder bool) entry {
	dot := len(name)
	var bytes mask
	for i := range len(name) {
		bytes |= bit(name[i])
		if name[i] == '.' {
			if dot < i {
				bytes |= secondDot
			}
			dot = i
		}
	}
	return entry{name: name, ext: name[dot:], bytes: bytes, folder: folder}
}

func extension(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[i:]
	}
	return ""
}

func (l *List) add(r rule) { l.rules = append(l.rules, r) }

// index sorts the rules into buckets. Each bucket is a chain, newest first.
func (l *List) index() {
	l.byName, l.byExt = map[string]int32{}, map[string]int32{}
	for i := range l.rules {
		r := &l.rules[i]
		name, ext := r.key()
		switch {
		case name != "":
			r.next = l.byName[name]
			l.byName[name] = int32(i + 1)
		case ext != "":
			r.next = l.byExt[ext]
			l.byExt[ext] = int32(i + 1)
		}
	}
	for i := len(l.rules) - 1; i >= 0; i-- {
		if name, ext := l.rules[i].key(); name == "" && ext == "" {
			l.rest = append(l.rest, unkeyed{l.rules[i].need, int32(i)})
		}
	}
}

// key returns the name or, if that is not fixed, the extension that an entry must have
// for the rule to match it. It returns "" if there is none.
func (r *rule) key() (name, ext string) {
	tail := r.suffix
	if r.ops == nil {
		tail = r.prefix
	}
	if i := strings.LastIndexByte(tail, '/'); i >= 0 {
		return tail[i+1:], ""
	}
	if r.ops == nil {
		return tail, ""
	}
	// A name begins after **/, unless ** follows a part of a name (see newPattern).
	afterSlash := len(r.ops) > 1 || r.prefix == "" || strings.HasSuffix(r.prefix, "/")
	if r.ops[len(r.ops)-1].kind == folders && afterSlash {
		return tail, ""
	}
	return "", extension(tail)
}

// match returns the verdict on the entry in the folder dir, which is "" or ends with a
// slash, and has depth slashes. The newest matching rule decides.
func (l *List) match(dir string, depth int, e *entry) Verdict {
	found := int32(-1)
	if len(l.byName) > 0 {
		found = l.chain(l.byName[e.name], found, dir, depth, e)
	}
	if e.ext != "" && len(l.byExt) > 0 {
		found = l.chain(l.byExt[e.ext], found, dir, depth, e)
	}
	for i := range l.rest {
		r := &l.rest[i]
		if r.rule < found {
			break
		}
		if r.need&^e.bytes == 0 && l.rules[r.rule].match(dir, depth, e) {
			found = r.rule
			break
		}
	}
	switch {
	case found < 0:
		return Undecided
	case l.rules[found].negated:
		return Included
	}
	return Ignored
}

// chain returns the newest matching rule of a bucket that is newer than found, or
// found.
func (l *List) chain(head, found int32, dir string, depth int, e *entry) int32 {
	for i := head - 1; i > found; i = l.rules[i].next - 1 {
		if l.rules[i].match(dir, depth, e) {
			return i
		}
	}
	return found
}

// shortPath is the limit of a path that is not allocated on the heap. Longer paths are
// rare, and few patterns look at them as a whole.
const shortPath = 512

func (r *rule) match(dir string, depth int, e *entry) bool {
	if r.folders && !e.folder {
		return false
	}
	if !r.path {
		dir = ""
	} else if r.depth != anyDepth && int(r.depth) != depth {
		return false
	}
	size := len(dir) + len(e.name)
	if size < int(r.least) || !hasPrefix(dir, e.name, r.prefix) {
		return false
	}
	if r.ops == nil {
		return size == len(r.prefix)
	}
	if !hasSuffix(dir, e.name, r.suffix) {
		return false
	}
	if len(r.ops) == 1 && r.ops[0].kind == star {
		return true // the number of slashes was checked above
	}
	if !r.path {
		return matchOps(r.ops, e.name[len(r.prefix):size-len(r.suffix)])
	}
	return r.matchPath(dir, e.name)
}

func (r *rule) matchPath(dir, name string) bool {
	var short [shortPath]byte
	text := append(append(short[:0], dir...), name...)
	return matchOps(r.ops, text[len(r.prefix):len(text)-len(r.suffix)])
}

// hasPrefix reports whether dir+name begins with prefix.
func hasPrefix(dir, name, prefix string) bool {
	if len(prefix) <= len(dir) {
		return dir[:len(prefix)] == prefix
	}
	return prefix[:len(dir)] == dir && strings.HasPrefix(name, prefix[len(dir):])
}

// hasSuffix reports whether dir+name ends with suffix.
func hasSuffix(dir, name, suffix string) bool {
	if len(suffix) <= len(name) {
		return name[len(name)-len(suffix):] == suffix
	}
	cut := len(suffix) - len(name)
	return suffix[cut:] == name && strings.HasSuffix(dir, suffix[:cut])
}
