package walk

// place is where a folder is. Long paths are kept in pieces: each folder has
// its path from a folder above, the base. A place never changes.
type place struct {
	base *place // nil is the top
	rel  string // path from the base, "" for the top itself
	name string // last element of rel
	size int    // bytes of the whole path
}

// below gives the place of the folder called name in p.
func (p *place) below(name string) *place {
	if p.rel == "" {
		return &place{rel: name, name: name, size: len(name)}
	}
	size := p.size + 1 + len(name)
	if len(p.rel) > maxBase {
		return &place{base: p, rel: name, name: name, size: size}
	}
	rel := p.rel + "/" + name
	return &place{base: p.base, rel: rel, name: rel[len(rel)-len(name):], size: size}
}

// path gives the whole path from the top.
func (p *place) path() string {
	if p.base == nil {
		return p.rel
	}
	buf := make([]byte, p.size)
	end := p.size
	for ; p != nil; p = p.base {
		end -= copy(buf[end-len(p.rel):], p.rel)
		if end > 0 {
			end--
			buf[end] = '/'
		}
	}
	return string(buf)
}

// locator finds places from the top. It keeps the base last used open, since
// neighbours share it. It is used by one goroutine.
type locator struct {
	top  folder
	at   *place // whose folder base is; nil if there is none
	base folder

	quiet  bool // the scheduler is not told of looking at files: see Pace
	pace   Pace
	row    row
	looker Looker // nil: none was made
	post   *Post
}

// find gives the folder that p.rel is relative to. It belongs to the locator
// and is good until the next find.
func (l *locator) find(p *place) (folder, error) {
	if p.base == nil {
		return l.top, nil
	}
	if l.at == p.base {
		return l.base, nil
	}
	var chain []*place
	for q := p.base; q != nil && q != l.at; q = q.base {
		chain = append(chain, q)
	}
	from, owned := l.top, false
	if last := chain[len(chain)-1]; last.base != nil { // stopped at l.at
		from, owned = l.base, true
	} else {
		l.close()
	}
	for i := len(chain) - 1; i >= 0; i-- {
		next, err := from.enter(chain[i].rel)
		if owned {
			from.close()
		}
		if err != nil {
			l.at = nil
			return folder{}, err
		}
		from, owned = next, true
	}
	l.at, l.base = p.base, from
	return from, nil
}

func (l *locator) close() {
	if l.at != nil {
		l.base.close()
		l.at = nil
	}
}

// stat looks at a folder, or at the entry called name in it if name is not
// "". Links above the last element may be followed: compare the stamp, trust
// nothing else.
func (l *locator) stat(p *place, name string) (Stamp, kind, error) {
	from, err := l.find(p)
	if err != nil {
		return Stamp{}, 0, err
	}
	return from.quiet(l.quiet).stat(p.rel, name)
}
