package session

import "slices"

// maxFailures bounds what is remembered of failed calls: a model that is stuck
// repeats one or two of them.
const maxFailures = 100

// failures counts failed calls by a key of the tool's own making.
type failures struct {
	count map[string]int
	order []string // the latest last
}

func (f *failures) add(key string) {
	if f.count == nil {
		f.count = map[string]int{}
	}
	f.order = append(slices.DeleteFunc(f.order, func(k string) bool { return k == key }), key)
	f.count[key]++
	if len(f.order) > maxFailures {
		delete(f.count, f.order[0])
		f.order = f.order[1:]
	}
}

// Failures returns how often a call with this key has failed.
func (v View) Failures(key string) int {
	if v.of == nil {
		return 0
	}
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	return v.of.failures.count[key]
}
