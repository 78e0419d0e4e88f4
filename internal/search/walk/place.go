package walk

// place is the path of a folder. Long paths are stored in pieces: each folder has its
// path relative to a folder above, the base. A place never changes.
type place struct {
	base *place // nil is the top
	rel  string // path relative to the base, "" for the top itself
	name string // last element of rel
	size int    // bytes of the whole path
}

// below returns the place of the folder called name in p.
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

// path returns the whole path relative to the top.
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

// locator opens places, starting from the top. It leaves the last base open, because
// neighbours share it. It is for one goroutine.
type locator struct {
	top  folder
	at   *place // the place of base; nil if there is none
	base folder

	unnotified bool // the scheduler is not notified of looking at files: see Pace
	pace       Pace
	row        row
	chooser    StatChooser // nil: not made
	post       *Post
}

// find returns the folder that p.rel is relative to. The locator owns it. It is valid
// until the next find.
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

// stat looks at a folder, or at the entry called name in it if name is not "". It may
// follow links above the last element: the result is only good for comparing stamps.
func (l *locator) stat(p *place, name string) (Stamp, kind, error) {
	from, err := l.find(p)
	if err != nil {
		return Stamp{}, 0, err
	}
	return from.withoutNotify(l.unnotified).stat(p.rel, name)
}
