package policy

import (
	"fmt"
	"slices"
	"strings"
)

// This file makes one Settings of those of several files.

// scalar is a value of the settings that may not be set.
type scalar[T any] struct {
	value T
	set   bool
}

func given[T any](value T) scalar[T] { return scalar[T]{value, true} }

// or is the value, or def if none is set.
func (s scalar[T]) or(def T) T {
	if s.set {
		return s.value
	}
	return def
}

// under takes the value of less authoritative settings if none is set.
func (s *scalar[T]) under(less scalar[T]) {
	if !s.set {
		*s = less
	}
}

// Merge makes one Settings of several, the most authoritative first; nil ones
// are passed over, and without any the result is nil. Lists follow one another
// in that order. A value that is not a list is that of the first that sets it,
// and so is each switch of features. Warnings are those of all, then the rules
// that a rule of another file leaves without effect.
func Merge(layers []*Settings) *Settings {
	layers = slices.DeleteFunc(slices.Clone(layers), func(s *Settings) bool { return s == nil })
	switch len(layers) {
	case 0:
		return nil
	case 1:
		return layers[0]
	}
	m := &Settings{features: map[string]bool{}}
	for _, s := range layers {
		m.append(s)
	}
	m.judgeMerged()
	return m
}

// append adds less authoritative settings.
func (s *Settings) append(less *Settings) {
	for b := range s.rules {
		for _, r := range less.rules[b] {
			r.order = len(s.rules[b])
			s.rules[b] = append(s.rules[b], r)
		}
	}
	for name, on := range less.features {
		if _, ok := s.features[name]; !ok {
			s.features[name] = on
		}
	}
	s.directories = append(s.directories, less.directories...)
	s.exempt = append(s.exempt, less.exempt...)
	s.sandbox.allowWrite = append(s.sandbox.allowWrite, less.sandbox.allowWrite...)
	s.scrub = append(s.scrub, less.scrub...)
	s.pass = append(s.pass, less.pass...)
	s.mode.under(less.mode)
	s.editGuard.under(less.editGuard)
	s.reminder.under(less.reminder)
	s.sandbox.caches.under(less.sandbox.caches)
	s.sandbox.network.under(less.sandbox.network)
	if s.classifier == nil {
		s.classifier = less.classifier
	}
	s.hooks = *MergeHooks(&s.hooks, &less.hooks)
	s.warnings = append(s.warnings, less.warnings...)
	s.ruleWarnings = append(s.ruleWarnings, less.ruleWarnings...)
}

// Tightened are the settings without all that could make a decision laxer: their
// deny and ask rules alone. It is what holds of a project's file until a person trusts
// the project. A warning names what is left out.
func (s *Settings) Tightened() *Settings {
	if s == nil {
		return nil
	}
	t := &Settings{source: s.source, root: s.root, features: map[string]bool{}, warnings: slices.Clone(s.warnings)}
	for b := Deny; b <= Ask; b++ {
		t.rules[b] = slices.Clone(s.rules[b])
	}
	t.judgeRules()
	if len(s.loose) > 0 {
		t.warnings = append(t.warnings, fmt.Sprintf("%s is not trusted: of it only deny and ask rules hold, not %s; to use all of it, run mcp-toolset trust %s",
			show(s.source), strings.Join(s.loose, ", "), quoted(s.root)))
	}
	return t
}

// note remembers a key with something in it that Tightened leaves out.
func (s *Settings) note(path string, n *node) {
	if len(n.items)+len(n.fields) > 0 || n.kind != isArray && n.kind != isObject {
		s.loose = append(s.loose, fmt.Sprintf("%s (line %d)", path, n.line))
	}
}

// quoted is a folder as a word for a shell, if it can be shown.
func quoted(dir string) string {
	if !plain(dir) || !strings.ContainsFunc(dir, func(r rune) bool {
		return !strings.ContainsRune("/._-+,:@%", r) && (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z')
	}) {
		return show(dir)
	}
	return show("'" + strings.ReplaceAll(dir, "'", `'\''`) + "'")
}
