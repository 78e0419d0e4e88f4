package session

import "slices"

// maxFailures is the maximum number of failed calls to remember. A model that
// is stuck repeats only one or two of them.
const maxFailures = 100

// failures counts failed calls by a key that the tool defines.
type failures struct {
	count map[string]int
	order []string // keys, the latest last
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

// Failures returns how many calls with this key have failed.
func (v View) Failures(key string) int {
	if v.of == nil {
		return 0
	}
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	return v.of.failures.count[key]
}
