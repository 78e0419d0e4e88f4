package ignore

// byteSet is a set of bytes.
type byteSet [256 / 32]uint32

func (s *byteSet) add(b byte)      { s[b>>5] |= 1 << (b & 31) }
func (s *byteSet) has(b byte) bool { return s[b>>5]&(1<<(b&31)) != 0 }

func (s *byteSet) addRange(lo, hi byte) {
	for b := int(lo); b <= int(hi); b++ {
		s.add(byte(b))
	}
}

// The faults of a pattern, in words for the user.
const (
	unclosedBracket   = "the [ is not closed"
	danglingBackslash = "nothing follows the backslash"
	unknownClass      = "no such character class"
	backwardRange     = "the range runs backwards"
	unclosedBrace     = "the { is not closed"
	unopenedBrace     = "no { is open"
)

// parseClass parses the bracket expression at s[0]. It returns its set, its length, and
// a fault or "". It follows git's wildmatch: ! or ^ negates, a ] in first place is
// literal, a backslash quotes, [:name:] names a class, and nothing matches a slash.
// backward reports a range that runs backwards, which git treats as empty.
//
// With fold, the set is for texts in lower case. As in git, only ranges and [:upper:] then
// match the letters of the other case.
func parseClass(s string, fold bool) (set byteSet, n int, backward bool, fault string) {
	i := 1
	negated := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negated {
		i++
	}
	last := -1 // the first byte of a possible range
	for first := true; ; first = false {
		if i >= len(s) {
			return set, 0, backward, unclosedBracket
		}
		b := s[i]
		if b == ']' && !first {
			break
		}
		if b == '[' && i+1 < len(s) && s[i+1] == ':' {
			name, size, fault := className(s[i:])
			if fault != "" {
				return set, 0, backward, fault
			}
			if size > 0 {
				classes[name](&set)
				if fold && name == "upper" {
					set.addRange('a', 'z')
				}
				i, last = i+size, -1
				continue
			}
		}
		isRange := b == '-' && last >= 0 && i+1 < len(s) && s[i+1] != ']'
		if isRange {
			i++
			b = s[i]
		}
		if b == '\\' {
			if i++; i >= len(s) {
				return set, 0, backward, unclosedBracket
			}
			b = s[i]
		}
		i++
		if isRange {
			backward = backward || int(b) < last
			set.addRange(byte(last), b)
			for upper := max(last, 'A'); fold && upper <= min(int(b), 'Z'); upper++ {
				set.add(byte(upper) | 0x20)
			}
			last = -1
			continue
		}
		set.add(b)
		last = int(b)
	}
	if negated {
		for k := range set {
			set[k] = ^set[k]
		}
	}
	set['/'>>5] &^= 1 << ('/' & 31)
	return set, i + 1, backward, ""
}

// className parses the [:name:] at s[0]. A length of 0 means that no ":]" ends it, so
// that the [ is an ordinary member of the set.
func className(s string) (name string, n int, fault string) {
	i := 2
	for i < len(s) && s[i] != ']' {
		i++
	}
	switch {
	case i == len(s):
		return "", 0, unclosedBracket
	case i < 3 || s[i-1] != ':':
		return "", 0, ""
	}
	name = s[2 : i-1]
	if classes[name] == nil {
		return "", 0, unknownClass
	}
	return name, i + 1, ""
}

// classes holds the POSIX classes as in git's own tables: ASCII only, and space without
// vertical tab and form feed.
var classes = map[string]func(*byteSet){
	"alnum":  func(s *byteSet) { s.addRange('0', '9'); s.addRange('A', 'Z'); s.addRange('a', 'z') },
	"alpha":  func(s *byteSet) { s.addRange('A', 'Z'); s.addRange('a', 'z') },
	"blank":  func(s *byteSet) { s.add(' '); s.add('\t') },
	"cntrl":  func(s *byteSet) { s.addRange(0, 31); s.add(127) },
	"digit":  func(s *byteSet) { s.addRange('0', '9') },
	"graph":  func(s *byteSet) { s.addRange('!', '~') },
	"lower":  func(s *byteSet) { s.addRange('a', 'z') },
	"print":  func(s *byteSet) { s.addRange(' ', '~') },
	"punct":  addPunct,
	"space":  func(s *byteSet) { s.add(' '); s.addRange('\t', '\n'); s.add('\r') },
	"upper":  func(s *byteSet) { s.addRange('A', 'Z') },
	"xdigit": func(s *byteSet) { s.addRange('0', '9'); s.addRange('A', 'F'); s.addRange('a', 'f') },
}

func addPunct(s *byteSet) {
	s.addRange('!', '/')
	s.addRange(':', '@')
	s.addRange('[', '`')
	s.addRange('{', '~')
}
