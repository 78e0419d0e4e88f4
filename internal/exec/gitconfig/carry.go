package gitconfig

import (
	"slices"
	"strings"
)

// Carry returns the text onto with the changes between two other texts, from and to: it sets each
// key whose values differ. It leaves out the changes that allow refuses, and returns the names
// of their keys in refused. allow gets the files that from and to hold. If from or onto cannot be
// parsed, or to, Carry returns onto, and ok is false.
//
// Where onto is from, the result is to, byte for byte, but for the settings that were refused.
func Carry(from, to, onto []byte, allow func(from, to *File, k Key) bool) (out []byte, refused []string, ok bool) {
	old, err := Parse(from)
	if err != nil {
		return onto, nil, false
	}
	changed, err := Parse(to)
	if err != nil {
		return onto, nil, false
	}
	now, err := Parse(onto)
	if err != nil {
		return onto, nil, false
	}
	want := map[Key][]Entry{} // of the keys that differ
	edits := want             // of the keys to set in out
	out = onto
	if string(onto) == string(from) {
		out, edits = to, map[Key][]Entry{}
	}
	differing := slices.DeleteFunc(keys(changed, old), func(k Key) bool { return same(old.Values(k), changed.Values(k)) })
	for _, k := range differing {
		if allow(old, changed, k) {
			want[k] = changed.Values(k)
			continue
		}
		refused = append(refused, spelled(k, changed, old))
		if want[k] = now.Values(k); string(onto) == string(from) {
			edits[k] = want[k]
		}
	}
	for _, k := range differing {
		if v, is := edits[k]; is {
			out = set(out, k, v)
		}
	}
	// What was refused must not come in by a mistake of set.
	done, err := Parse(out)
	if err != nil {
		return onto, nil, false
	}
	for _, k := range keys(done, now) {
		v, is := want[k]
		if !is {
			v = now.Values(k)
		}
		if !same(v, done.Values(k)) {
			return onto, nil, false
		}
	}
	return out, refused, true
}

// spelled returns the name of a key as a file writes it.
func spelled(k Key, files ...*File) string {
	for _, f := range files {
		if v := f.Values(k); len(v) > 0 {
			k.Name = v[0].Spelled
			break
		}
	}
	return k.String()
}

// set returns a text in which a key has some values and no others.
func set(text []byte, k Key, values []Entry) []byte {
	f, err := Parse(text)
	if err != nil {
		return text
	}
	if same(f.Values(k), values) {
		return text
	}
	at := -1 // where the new values belong
	for _, h := range f.headers {
		if h.section == k.Section && h.sub == k.Sub {
			at = h.to
		}
	}
	for _, e := range f.Entries {
		if e.Section == k.Section && e.Sub == k.Sub {
			at = max(at, e.to)
		}
	}
	for _, e := range f.Values(k) {
		at = e.to
	}
	var b strings.Builder
	copied := 0
	insert := func(upTo int) {
		if at < 0 || at > upTo || at < copied {
			return
		}
		b.Write(text[copied:at])
		copied = at
		for _, v := range values {
			b.WriteString("\n\t" + line(v))
		}
		// What follows a header on its line is a line of its own then.
		if rest := text[at:]; len(rest) > 0 && rest[0] != '\n' && rest[0] != '\r' && len(values) > 0 {
			b.WriteByte('\n')
		}
		at = -1
	}
	for _, e := range f.Entries {
		if e.Key != k {
			continue
		}
		insert(e.from)
		from := e.from
		for from > 0 && (text[from-1] == ' ' || text[from-1] == '\t') {
			from--
		}
		if from > 0 && text[from-1] == '\n' {
			from--
			if from > 0 && text[from-1] == '\r' {
				from--
			}
		}
		b.Write(text[copied:max(from, copied)])
		copied = e.to
	}
	found := at >= 0 || len(f.Values(k)) > 0
	if at >= 0 {
		insert(len(text))
	}
	b.Write(text[copied:])
	out := b.String()
	if !found && len(values) > 0 {
		if out != "" && !strings.HasSuffix(out, "\n") {
			out += "\n"
		}
		out += head(k)
		for _, v := range values {
			out += "\n\t" + line(v)
		}
		out += "\n"
	}
	if len(values) == 0 {
		out = dropEmpty(out, k)
	}
	return []byte(out)
}

// dropEmpty removes the headers of a section that hold nothing any more.
func dropEmpty(text string, k Key) string {
	f, err := Parse([]byte(text))
	if err != nil {
		return text
	}
	for i := len(f.headers) - 1; i >= 0; i-- {
		h, next := f.headers[i], len(text)
		if i+1 < len(f.headers) {
			next = f.headers[i+1].from
		}
		if h.section == k.Section && h.sub == k.Sub && strings.TrimSpace(text[h.to:next]) == "" {
			text = text[:h.from] + text[next:]
		}
	}
	return text
}

func head(k Key) string {
	if k.Sub == "" {
		return "[" + k.Section + "]"
	}
	return "[" + k.Section + ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(k.Sub) + `"]`
}

// line returns a setting as git writes it.
func line(e Entry) string {
	if e.Bare {
		return e.Spelled
	}
	v := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(e.Value)
	if strings.ContainsAny(v, ";#\r") || strings.TrimSpace(v) != v || strings.Contains(v, "  ") {
		v = `"` + v + `"`
	}
	return e.Spelled + " = " + v
}
