// Package gitconfig reads the configuration of git repositories, decides which settings make git
// run a program, and carries changes of a file over to another one. It reads the syntax that git
// reads (git's config.c) and refuses what git refuses.
package gitconfig

import (
	"bytes"
	"errors"
	"slices"
	"strings"
)

// Key names a setting. Section and Name are in lower case, as git compares them.
type Key struct{ Section, Sub, Name string }

func (k Key) String() string {
	if k.Sub != "" {
		return k.Section + "." + k.Sub + "." + k.Name
	}
	return k.Section + "." + k.Name
}

// Entry is one setting of a file.
type Entry struct {
	Key
	Value string
	// Bare reports that there is no =, which git reads as true.
	Bare bool
	// Spelled is the name as it is written.
	Spelled  string
	from, to int // bytes of the text, without the line end
}

// header is the line that begins a section.
type header struct {
	section, sub string
	from, to     int // bytes of the text, from [ to behind ]
}

// File is a parsed configuration.
type File struct {
	Entries []Entry
	headers []header
	text    []byte
}

// errSyntax is the error of Parse.
var errSyntax = errors.New("not a configuration of git")

// Parse parses a configuration. It fails for what git refuses, for text with a NUL, and for a
// section or subsection with an empty name.
func Parse(text []byte) (*File, error) {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, errSyntax
	}
	p := parser{text: text, file: &File{text: text}}
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		p.at = 3
	}
	if !p.parse() {
		return nil, errSyntax
	}
	return p.file, nil
}

// parser has the structure of git_parse_source in config.c.
type parser struct {
	text    []byte
	at      int
	eof     bool
	section string
	sub     string
	file    *File
}

// next returns the next character. A CR before a LF is left out, and the end is a LF.
func (p *parser) next() byte {
	if p.at >= len(p.text) {
		p.eof = true
		return '\n'
	}
	c := p.text[p.at]
	p.at++
	if c == '\r' && p.at < len(p.text) && p.text[p.at] == '\n' {
		p.at++
		return '\n'
	}
	return c
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isKey(c byte) bool   { return isAlpha(c) || c >= '0' && c <= '9' || c == '-' }

func (p *parser) parse() bool {
	for comment := false; ; {
		from := p.at
		c := p.next()
		switch {
		case c == '\n' && p.eof:
			return true
		case c == '\n':
			comment = false
		case comment, isSpace(c):
		case c == '#' || c == ';':
			comment = true
		case c == '[':
			if !p.head(from) {
				return false
			}
		case !isAlpha(c) || !p.entry(from):
			return false
		}
	}
}

// head reads the rest of a section header.
func (p *parser) head(from int) bool {
	var base strings.Builder
	quoted, sub := false, ""
	for !quoted {
		c := p.next()
		switch {
		case p.eof:
			return false
		case isSpace(c):
			var ok bool
			if sub, ok = p.subsection(c); !ok {
				return false
			}
			quoted = true
			continue
		case c == ']':
		case isKey(c) || c == '.':
			base.WriteByte(c)
			continue
		default:
			return false
		}
		break
	}
	section, dotted, hasSub := strings.Cut(strings.ToLower(base.String()), ".")
	if hasSub && quoted {
		dotted += "." + sub
	} else if quoted {
		dotted, hasSub = sub, true
	}
	if section == "" || hasSub && dotted == "" {
		return false // git knows no setting there but those of a filter without a name
	}
	p.section, p.sub = section, dotted
	p.file.headers = append(p.file.headers, header{section, dotted, from, p.at})
	return true
}

// subsection reads the quoted part of a section header.
func (p *parser) subsection(c byte) (sub string, ok bool) {
	for ; isSpace(c); c = p.next() {
		if c == '\n' {
			return "", false
		}
	}
	if c != '"' {
		return "", false
	}
	var b strings.Builder
	for {
		c = p.next()
		if c == '"' {
			return b.String(), p.next() == ']'
		}
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return "", false
		}
		b.WriteByte(c)
	}
}

// entry reads the rest of a setting, whose first character is at from.
func (p *parser) entry(from int) bool {
	end := p.at
	c := p.next()
	for !p.eof && isKey(c) {
		end = p.at
		c = p.next()
	}
	e := Entry{Spelled: string(p.text[from:end]), from: from, Bare: true}
	e.Key = Key{p.section, p.sub, strings.ToLower(e.Spelled)}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	if c != '\n' {
		if c != '=' {
			return false
		}
		value, ok := p.value()
		if !ok {
			return false
		}
		e.Bare, e.Value = false, value
	}
	e.to = p.at
	if !p.eof {
		if e.to--; p.text[e.to-1] == '\r' {
			e.to--
		}
	}
	p.file.Entries = append(p.file.Entries, e)
	return true
}

// value reads a value up to the end of its line.
func (p *parser) value() (string, bool) {
	var b strings.Builder
	quoted, comment, spaces := false, false, ""
	for {
		c := p.next()
		switch {
		case c == '\n':
			return b.String(), !quoted
		case comment:
			continue
		case !quoted && isSpace(c):
			if b.Len() > 0 {
				spaces += string(c)
			}
			continue
		case !quoted && (c == ';' || c == '#'):
			comment = true
			continue
		}
		b.WriteString(spaces)
		spaces = ""
		switch c {
		case '"':
			quoted = !quoted
			continue
		case '\\':
			switch c = p.next(); c {
			case '\n':
				if p.eof {
					return "", false
				}
				continue
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case 'n':
				c = '\n'
			case '\\', '"':
			default:
				return "", false
			}
		}
		b.WriteByte(c)
	}
}

// Values returns the settings of a key, in their order.
func (f *File) Values(k Key) []Entry {
	var out []Entry
	for _, e := range f.Entries {
		if e.Key == k {
			out = append(out, e)
		}
	}
	return out
}

// Last returns the value of a key that applies; "" if it is not set.
func (f *File) Last(section, name string) string {
	if v := f.Values(Key{Section: section, Name: name}); len(v) > 0 {
		return v[len(v)-1].Value
	}
	return ""
}

// keys returns the keys of files, each once, in their order.
func keys(files ...*File) (out []Key) {
	seen := map[Key]bool{}
	for _, f := range files {
		for _, e := range f.Entries {
			if !seen[e.Key] {
				seen[e.Key] = true
				out = append(out, e.Key)
			}
		}
	}
	return out
}

// same reports whether two lists of settings have the same values.
func same(a, b []Entry) bool {
	return slices.EqualFunc(a, b, func(x, y Entry) bool { return x.Value == y.Value && x.Bare == y.Bare })
}
