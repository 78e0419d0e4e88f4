package policy

// pathIndex is a list of path rules, sorted so that few of them have to be held
// against a path. A pattern with a literal name in it covers only paths that
// hold the name.
type pathIndex struct {
	byName map[string][]*rule // by the literal name that the fewest patterns hold, each in the order of the list
	rest   []*rule            // patterns without a literal name
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

// rarest is the literal name of a pattern with the least count, "" if it has
// none.
func rarest(p *pathPattern, count map[string]int) string {
	name := ""
	for i := range p.segments {
		if s := &p.segments[i]; s.kind == exact && (name == "" || count[s.head] < count[name]) {
			name = s.head
		}
	}
	return name
}

// find keeps the first rule that covers says covers the call. Rules are tried
// that may cover a path of the names, or one of the other names.
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

// search keeps the first rule that covers the call.
func (m *match) search(rules []*rule, covers func(*rule) (path string, ok bool)) {
	for _, r := range rules {
		if !m.earlier(r) {
			return
		}
		if path, ok := covers(r); ok {
			m.keep(r, path)
			return
		}
	}
}

// each calls f with the rules, in no order.
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
