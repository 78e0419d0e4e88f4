package policy

// pathIndex indexes path rules, so that a path is compared with few of them. A pattern
// with a literal name covers only paths that contain this name.
type pathIndex struct {
	byName map[string][]*rule // by the pattern's rarest literal name; lists are in the order of the settings
	rest   []*rule            // rules whose pattern has no literal name
}

func newPathIndex(rules []*rule) pathIndex {
	count := map[string]int{}
	for _, r := range rules {
		for i := range r.path.segments {
			if s := &r.path.segments[i]; s.kind == exact {
				count[s.head]++
			}
		}
	}
	x := pathIndex{byName: map[string][]*rule{}}
	for _, r := range rules {
		if name := rarest(r.path, count); name != "" {
			x.byName[name] = append(x.byName[name], r)
		} else {
			x.rest = append(x.rest, r)
		}
	}
	return x
}

// rarest returns the literal name of a pattern with the lowest count, or "" if the
// pattern has none.
func rarest(p *pathPattern, count map[string]int) string {
	name := ""
	for i := range p.segments {
		if s := &p.segments[i]; s.kind == exact && (name == "" || count[s.head] < count[name]) {
			name = s.head
		}
	}
	return name
}

// find puts the first rule into m for which covers returns true. It tries only rules
// that may cover a path consisting of names or of other.
func (x *pathIndex) find(m *match, covers func(*rule) (path string, ok bool), names, other []string) {
	if len(x.byName) > 0 {
		for _, name := range names {
			m.search(x.byName[name], covers)
		}
		for _, name := range other {
			m.search(x.byName[name], covers)
		}
	}
	m.search(x.rest, covers)
}

// search puts the first of the rules into m that covers the call, unless m holds an
// earlier one. rules must be in the order of the list.
func (m *match) search(rules []*rule, covers func(*rule) (path string, ok bool)) {
	for _, r := range rules {
		if !m.earlier(r) {
			return
		}
		if path, ok := covers(r); ok {
			m.replaceIfEarlier(r, path)
			return
		}
	}
}

// each calls f with each rule, in no particular order.
func (x *pathIndex) each(f func(*rule)) {
	for _, r := range x.rest {
		f(r)
	}
	for _, rules := range x.byName {
		for _, r := range rules {
			f(r)
		}
	}
}
