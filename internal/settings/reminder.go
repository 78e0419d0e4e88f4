package settings

import "strings"

// readReminder reads the setting of the reminder that the content of files is data:
// true, false, "on", "off", or {"exempt": [models]}.
func (s *Settings) readReminder(f field) error {
	switch {
	case f.value.kind == isBool:
		s.reminder = scalarOf(f.value.truth)
		return nil
	case f.value.kind == isString && (f.value.text == "on" || f.value.text == "off"):
		s.reminder = scalarOf(f.value.text == "on")
		return nil
	case f.value.kind != isObject:
		return f.value.typeError(f.key, `true, false, "on", "off" or {"exempt": [model...]}`)
	}
	for _, g := range f.value.fields {
		if g.key != reminderKeys[0] {
			s.unknown(f.key, g, reminderKeys)
			continue
		}
		var err error
		if s.exempt, err = g.value.strings(joinKey(f.key, g.key)); err != nil {
			return err
		}
	}
	return nil
}

// Reminder reports whether results for a model include the reminder. It returns true
// if s is nil. model may be "" if it is unknown.
func (s *Settings) Reminder(model string) bool {
	if s == nil {
		return true
	}
	if !s.reminder.or(true) {
		return false
	}
	for _, pattern := range s.exempt {
		if model != "" && wildcard(strings.ToLower(pattern), strings.ToLower(model)) {
			return false
		}
	}
	return true
}
