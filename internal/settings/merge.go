package settings

import "slices"

// Merging the settings of several files.

// scalar is a setting that may be unset.
type scalar[T any] struct {
	value T
	set   bool
}

func scalarOf[T any](value T) scalar[T] { return scalar[T]{value, true} }

// or returns the value, or def if it is unset.
func (s scalar[T]) or(def T) T {
	if s.set {
		return s.value
	}
	return def
}

// under sets the value from less authoritative settings if it is unset.
func (s *scalar[T]) under(less scalar[T]) {
	if !s.set {
		*s = less
	}
}

// Merge combines several settings, the most authoritative first. It skips nil elements
// and returns nil if nothing is left. Lists are concatenated in this order. Any other
// value comes from the first settings that set it; each switch of features is such a
// value. The warnings are those of all settings, followed by warnings about rules that
// a rule of another file makes ineffective.
func Merge(layers []*Settings) *Settings {
	layers = slices.DeleteFunc(slices.Clone(layers), func(s *Settings) bool { return s == nil })
	switch len(layers) {
	case 0:
		return nil
	case 1:
		return layers[0]
	}
	m := &Settings{features: map[string]feature{}}
	for _, s := range layers {
		m.append(s)
	}
	m.ruleWarnings = append(m.ruleWarnings, m.rules.MergeWarnings()...)
	return m
}

// append adds less authoritative settings to s.
func (s *Settings) append(less *Settings) {
	s.rules.Append(&less.rules)
	for name, f := range less.features {
		if _, ok := s.features[name]; !ok {
			s.features[name] = f
		}
	}
	s.directories = append(s.directories, less.directories...)
	s.exempt = append(s.exempt, less.exempt...)
	s.sandbox.allowRead = append(s.sandbox.allowRead, less.sandbox.allowRead...)
	s.sandbox.allowWrite = append(s.sandbox.allowWrite, less.sandbox.allowWrite...)
	s.scrub = append(s.scrub, less.scrub...)
	s.pass = append(s.pass, less.pass...)
	s.mode.under(less.mode)
	s.editGuard.under(less.editGuard)
	s.reminder.under(less.reminder)
	s.sandbox.caches.under(less.sandbox.caches)
	s.sandbox.network.under(less.sandbox.network)
	s.sandbox.publish.under(less.sandbox.publish)
	s.undo.enabled.under(less.undo.enabled)
	s.undo.quota.under(less.undo.quota)
	s.undo.destructive.under(less.undo.destructive)
	if s.classifier == nil {
		s.classifier = less.classifier
	}
	if s.webSearch == nil {
		s.webSearch = less.webSearch
	}
	if s.models == nil {
		s.models = less.models
	}
	if s.agents == nil {
		s.agents = less.agents
	}
	if s.summarize == nil {
		s.summarize = less.summarize
	}
	s.addUpstreams(less.upstreams)
	s.denied = append(s.denied, less.denied...)
	s.allowed.under(less.allowed)
	s.pin.under(less.pin)
	s.taskList.under(less.taskList)
	s.diagnostics.under(less.diagnostics)
	s.addLanguageServers(less.languages)
	s.worktrees.under(less.worktrees)
	s.addProfiles(less.profiles)
	s.addEntries(less.entries)
	s.hooks.Append(&less.hooks)
	s.failClosed = s.failClosed || less.failClosed
	s.warnings = append(s.warnings, less.warnings...)
	s.ruleWarnings = append(s.ruleWarnings, less.ruleWarnings...)
}
