package tools

import (
	"maps"
	"slices"

	"mcp-toolset/session"
)

// view is the catalogue of a profile, made of base.
type view struct{ base, of *Catalogue }

// View returns the catalogue of a profile: the tools that it offers, and others as absent. While
// no tool changes it returns the same catalogue. nil is the profile with all tools.
func (r *Registry) View(p *session.Profile) *Catalogue {
	base := r.now.Load()
	if p == nil {
		return base
	}
	if v, ok := r.views.Load(p); ok && v.(view).base == base {
		return v.(view).of
	}
	next := &Catalogue{byName: map[string]*Tool{}, absent: maps.Clone(base.absent), servers: base.servers, query: base.query}
	for _, t := range base.tools {
		if t.Finder || t.Unwrap != nil || p.Offers(append([]string{t.Name}, t.Aliases...)...) {
			next.tools = append(next.tools, t)
		}
	}
	for name, t := range base.byName {
		if slices.Contains(next.tools, t) {
			next.byName[name] = t
		} else {
			next.absent[name] = absent{Absence{t.Name, "the profile " + p.Name + " leaves it out"}, t, false}
		}
	}
	if v, ok := r.views.Load(p); ok && slices.Equal(v.(view).of.tools, next.tools) {
		next.tools = v.(view).of.tools // callers cache by this slice
	}
	r.views.Store(p, view{base, next})
	return next
}

// Replace replaces the tool of the server's own list that has the same name. It calls the
// listeners after a change.
func (r *Registry) Replace(t *Tool) error {
	r.mu.Lock()
	list := slices.Clone(r.list)
	if i := slices.IndexFunc(list, func(o *Tool) bool { return o.Name == t.Name }); i >= 0 {
		list[i] = t
	}
	before := r.list
	r.list = list
	next, err := r.offered()
	if err != nil {
		r.list = before
		r.mu.Unlock()
		return err
	}
	r.base = next
	_, tell := r.set(r.now.Load().servers)
	r.mu.Unlock()
	tell()
	return nil
}
