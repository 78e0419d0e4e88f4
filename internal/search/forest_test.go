package search

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// forest makes random trees with everything that is hard to search. The properties of
// the texts determine which patterns can be compared: see the list of differences from
// ripgrep.
type forest struct {
	*rand.Rand
	t    testing.TB
	dir  string
	cr   bool // some lines end with \r\n
	raw  bool // some bytes are not UTF-8
	wide bool // some runes are not ASCII
	big  bool // files over 16 MiB are allowed
	huge bool // there is one

	fresh    string    // the word that was last put into a file
	branches [2]string // of the repository at the top, the next to check out first; empty if there is none
}

func newForest(t testing.TB, seed uint64) *forest {
	r := rand.New(rand.NewPCG(seed, 7))
	f := &forest{Rand: r, t: t, dir: t.TempDir(), cr: r.IntN(3) == 0, wide: r.IntN(2) == 0}
	f.dir, _ = filepath.EvalSymlinks(f.dir)
	f.raw = f.wide && r.IntN(2) == 0
	return f
}

func (f *forest) one(in int) bool { return f.IntN(in) == 0 }

func pick[T any](f *forest, from ...T) T { return from[f.IntN(len(from))] }

var (
	baseNames   = []string{"a", "b", "c.go", "d.log", "Makefile", ".hidden", ".env", "sub", "deep", "vendor", "e.txt", "f.min.js"}
	oddNames    = []string{"a b", "new\nline", "ü.txt", "\xff\xfe", "-dash", "#x", "!bang", `back\slash`, "[x]", "trail ", "quo\"te", "{y}", "*"}
	words       = []string{"foo", "bar", "Foo", "BAR", "foobar", "x", "k", "K", "s", "func", "return", "_id", "a1", "42", "--", "end.", "(x)", "FooBar_baz"}
	wideWords   = []string{"é", "Ünder", "\u212A", "\u017Fafe", "日本語", "naïve", "\u2028", "x\u0301", "ß", "😀"}
	rawWords    = []string{"\xff", "caf\xe9", "\xe2\x82", "\xc0\x80", "foo\xffbar", "\xed\xa0\x80"}
	rules       = []string{"*.log", "!d.log", "a", "/a", "sub/", "!sub/", "deep/**", "*", "!*.go", "!*/", ".*", "!.env", "c.*", "/vendor", "**/b", "sub/b", "[ab]", "?", "# note", "", "!.hidden", "*.js", "!f.min.js"}
	ignoreFiles = []string{".gitignore", ".gitignore", ".ignore", ".rgignore"}
)

func (f *forest) name() string {
	if f.one(6) {
		return pick(f, oddNames...)
	}
	return pick(f, baseNames...)
}

func (f *forest) word() string {
	switch {
	case f.raw && f.one(8):
		return pick(f, rawWords...)
	case f.wide && f.one(5):
		return pick(f, wideWords...)
	}
	return pick(f, words...)
}

// text returns some lines.
func (f *forest) text(lines int) []byte {
	var b bytes.Buffer
	style := 0 // \n
	if f.cr {
		style = f.IntN(3) // or \r\n, or both
	}
	for range lines {
		if f.one(5) {
			b.WriteString(pick(f, " ", "\t", "    "))
		}
		for n := f.IntN(5); n > 0; n-- {
			b.WriteString(f.word())
			b.WriteString(pick(f, " ", " ", " ", "", "\t", ", "))
		}
		if style == 1 || style == 2 && f.one(2) {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
	}
	out := b.Bytes()
	if f.one(4) {
		out = bytes.TrimRight(out, "\r\n")
	}
	return out
}

// filler returns a text of some length with few words.
func (f *forest) filler(size int) []byte {
	return bytes.Repeat([]byte(strings.Repeat("@@@@ ", fillerLine/5-1)+"qqqq\n"), size/fillerLine)
}

const fillerLine = 150 // bytes of one line

// content returns random content for a file.
func (f *forest) content() []byte {
	text := f.text(f.IntN(12))
	switch f.IntN(24) {
	case 0:
		return nil
	case 1:
		return append([]byte("\xEF\xBB\xBF"), text...)
	case 2, 3:
		if f.one(4) { // many blocks
			text = append(append(text, f.filler(40<<10+f.IntN(20<<10))...), f.text(4)...)
		}
		if f.one(4) { // a NUL
			text = append(append(text, 0, '\n'), f.text(2)...)
		}
		return f.utf16(text)
	case 4: // a NUL early
		return append(append(text, 0), f.text(4)...)
	case 5: // a NUL after 64 KiB
		return append(append(append(text, f.filler(70<<10)...), 0, '\n'), f.text(4)...)
	case 6: // many blocks
		if f.one(3) {
			text = append([]byte("\xEF\xBB\xBF"), text...)
		}
		text = append(append(text, f.filler(40<<10+f.IntN(20<<10))...), f.text(4)...)
		return append(append(text, f.filler(20<<10)...), f.text(3)...)
	case 7: // a long line
		long := bytes.Repeat([]byte("yyyy "), 12<<10)
		return append(append(append(text, long...), f.text(3)...), f.filler(f.IntN(20<<10))...)
	case 8:
		if f.one(4) { // a NUL after 1 MiB
			return append(append(append(text, f.filler(11<<17)...), 0, '\n'), f.text(4)...)
		}
	case 9:
		if f.big && f.one(20) { // more than one chunk, with lines on both sides of the edges
			f.huge = true
			text = append(text, f.filler(17<<20)...)
			for range 100 {
				at := f.IntN(len(text) / fillerLine)
				copy(text[at*fillerLine:], pick(f, "foo bar", "func x", "(x)", "end. "))
			}
			return append(text, f.text(5)...)
		}
	}
	return text
}

func (f *forest) utf16(text []byte) []byte {
	out, low := []byte("\xFF\xFE"), 0
	if f.one(2) {
		out, low = []byte("\xFE\xFF"), 8
	}
	for _, u := range utf16.Encode([]rune(string(text))) {
		out = append(out, byte(u>>low), byte(u>>(8-low)))
	}
	return out
}

// folder returns a random folder of the tree.
func (f *forest) folder() string {
	all := []string{f.dir}
	filepath.WalkDir(f.dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
		case d.Name() == ".git":
			return fs.SkipDir
		default:
			all = append(all, p)
		}
		return nil
	})
	return pick(f, all...)
}

func (f *forest) entry() string { return filepath.Join(f.folder(), f.name()) }

func (f *forest) rules() []byte {
	var list []string
	for range 1 + f.IntN(3) {
		list = append(list, pick(f, rules...))
	}
	return []byte(strings.Join(list, "\n") + "\n")
}

// grow makes a tree.
func (f *forest) grow() {
	for range 25 {
		f.change()
	}
}

// change makes one change. It ignores errors.
func (f *forest) change() {
	p := f.entry()
	switch f.IntN(20) {
	default:
		os.WriteFile(p, f.content(), 0o644)
	case 0, 1, 2:
		os.MkdirAll(filepath.Join(p, f.name()), 0o755)
	case 3:
		os.WriteFile(filepath.Join(f.folder(), pick(f, ignoreFiles...)), f.rules(), 0o644)
	case 4:
		os.Symlink(f.entry(), filepath.Join(f.folder(), "link"))
	case 5:
		os.Mkdir(filepath.Join(f.dir, ".git"), 0o755)
	}
}

// disturb changes a tree that has been searched, in ways that are easily missed.
func (f *forest) disturb() {
	p := f.file()
	switch f.IntN(17) {
	case 0, 14:
		f.freshen(p)
	case 1: // replaced, with the same time
		if info, err := os.Stat(p); err == nil {
			q := filepath.Join(f.dir, "put")
			os.WriteFile(q, f.content(), 0o644)
			os.Chtimes(q, time.Time{}, info.ModTime())
			os.Rename(q, p)
		}
	case 2:
		os.Rename(f.folder(), f.entry())
	case 3: // two exchange places
		q, aside := f.file(), filepath.Join(f.dir, "aside")
		if os.Rename(p, aside) == nil {
			os.Rename(q, p)
			os.Rename(aside, q)
		}
	case 4:
		os.Remove(p)
	case 5:
		if d := f.folder(); d != f.dir {
			os.RemoveAll(d)
		}
	case 6:
		os.Remove(filepath.Join(f.folder(), pick(f, ignoreFiles...)))
	case 7:
		if file, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			file.Write(f.text(3))
			file.Close()
		}
	case 8:
		if text, err := os.ReadFile(p); err == nil {
			half := bytes.TrimRight(text[:len(text)/2], "\r\x00")
			if strings.HasSuffix(p, "ignore") { // half a pattern has another meaning in ripgrep than in git
				half = half[:bytes.LastIndexByte(half, '\n')+1]
			}
			os.Truncate(p, int64(len(half)))
		}
	case 9: // the same content in another file
		text, _ := os.ReadFile(p)
		os.Remove(p)
		os.WriteFile(f.entry(), text, 0o644)
	case 10: // other rules, with the time restored
		list := filepath.Join(f.folder(), pick(f, ignoreFiles...))
		info, err := os.Stat(list)
		os.WriteFile(list, f.rules(), 0o644)
		if err == nil {
			os.Chtimes(list, time.Time{}, info.ModTime())
		}
	case 11: // only those of the repository, if there is one
		os.WriteFile(filepath.Join(f.dir, ".git", "info", "exclude"), f.rules(), 0o644)
	case 15, 16: // only another time
		at := time.Unix(1e9+int64(f.IntN(1e6)), 0)
		os.Chtimes(p, at, at)
	default:
		f.change()
	}
}

// freshen puts a new word into a file, in place or in another file of its name. Size
// and time stay the same.
func (f *forest) freshen(p string) {
	info, err := os.Stat(p)
	text, _ := os.ReadFile(p)
	word := fmt.Sprintf("new%03d", f.IntN(1000))
	at, run := -1, 0 // position of bytes that are plain text
	for i, c := range text {
		if run++; c < ' ' || c > '~' {
			run = 0
		}
		if run == len(word) {
			at = i + 1 - run
			break
		}
	}
	if err != nil || at < 0 {
		return
	}
	copy(text[at:], word)
	to := p
	if f.one(2) {
		to = filepath.Join(f.dir, "put")
	}
	os.WriteFile(to, text, 0o644)
	os.Chtimes(to, time.Time{}, info.ModTime())
	os.Rename(to, p)
	f.fresh = word
}

// file returns a random file of the tree, ignored or not.
func (f *forest) file() string {
	all := []string{filepath.Join(f.dir, "a")}
	filepath.WalkDir(f.dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Type().IsRegular():
			all = append(all, p)
		}
		return nil
	})
	return pick(f, all...)
}
