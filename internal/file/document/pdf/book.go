package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tetratelabs/wazero"
)

// maxRestarts is the limit of restarts of pdfium after it broke off: two for each page
// that breaks it. A file with more than three such pages is no accident.
const maxRestarts = 6

// book is an open file. Its pages can be read one after the other, even if some break the
// engine.
type book struct {
	file     io.ReaderAt
	size     int64
	password string
	pages    int
	cache    wazero.CompilationCache
	engine   *engine // nil after a failed restart
	restarts int
	xfa      bool // the file is a form of XML, whose pages are a placeholder
}

// openBook opens a file in pdfium. It returns the errors of openEngine.
func openBook(file io.ReaderAt, size int64, password, cache string) (*book, error) {
	b := &book{file: file, size: size, password: password, cache: compiled(cache)}
	err := b.start(smallMemory)
	if errors.Is(err, errStart) && cache != "" {
		// The cache is damaged or cannot be written.
		_ = b.cache.Close(context.Background())
		b.cache = wazero.NewCompilationCache()
		if err = b.start(smallMemory); err == nil {
			empty(cache)
		}
	}
	if errors.Is(err, errBroke) {
		err = b.start(largeMemory)
	}
	if err == nil {
		b.pages, err = b.engine.pageCount()
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// compiled returns the cache of compiled code: in a folder if one is given and usable,
// otherwise in memory, so that the next engine starts faster.
func compiled(dir string) wazero.CompilationCache {
	if dir != "" {
		if c, err := wazero.NewCompilationCacheWithDir(dir); err == nil {
			return c
		}
	}
	return wazero.NewCompilationCache()
}

// empty removes the contents of a folder as far as possible.
func empty(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join(dir, e.Name()))
	}
}

func (b *book) start(memory int) (err error) {
	b.engine, err = openEngine(b.file, b.size, b.password, b.cache, memory)
	return err
}

func (b *book) close() {
	if b.engine != nil {
		b.engine.close()
	}
	_ = b.cache.Close(context.Background())
}

// page reads page n, as a picture if asPicture is true or if it has no text. ok is false
// if the page cannot be shown; its text then states the reason. A page that breaks the
// engine gets a second try, because the memory may have been too small or full of earlier
// pages.
func (b *book) page(n int, asPicture bool) (p Page, ok bool) {
	p, err := b.read(n, asPicture)
	if errors.Is(err, errBroke) {
		p, err = b.read(n, asPicture)
	}
	if err != nil {
		return Page{Number: n, Text: fmt.Sprintf("[page %d cannot be shown: %s]", n, reasonOf(err))}, false
	}
	return p, true
}

// read reads page n.
func (b *book) read(n int, asPicture bool) (p Page, err error) {
	p.Number = n
	if asPicture {
		return b.picture(p)
	}
	if !b.ready(smallMemory) {
		return p, errBroke
	}
	x, err := b.engine.flatten(n)
	if err != nil {
		return p, err
	}
	if p.Text, err = b.engine.text(n); err != nil {
		return p, err
	}
	b.xfa = b.xfa || b.engine.xfa
	p.Notes = x.notes(p.Text)
	if readable(p.Text) {
		p.Figures = b.engine.figures(n)
		if b.engine.lostText(n, p.Text) {
			lost := fmt.Sprintf(`[most of the text of page %d cannot be read: its fonts do not tell the characters; to see it: pages "%d", as "image"]`, n, n)
			p.Notes = strings.TrimPrefix(p.Notes+"\n"+lost, "\n")
		}
		return p, nil
	}
	p.Text = ""
	return b.picture(p)
}

// picture adds the picture of a page to it.
func (b *book) picture(p Page) (_ Page, err error) {
	if !b.ready(largeMemory) {
		return p, errBroke
	}
	x, err := b.engine.flatten(p.Number)
	if err != nil {
		return p, err
	}
	if p.Notes == "" {
		p.Notes = x.notes("")
	}
	b.xfa = b.xfa || b.engine.xfa
	p.Picture, err = b.engine.picture(p.Number)
	runtime.GC() // the engine's memory counts as live, so the collector would let as much garbage pile up
	return p, err
}

// ready starts pdfium if needed and reports whether it runs and may use this much memory.
func (b *book) ready(memory int) bool {
	switch {
	case b.engine == nil:
		return false
	case b.engine.broke:
		memory = largeMemory
		b.restarts++
	case b.engine.memory >= memory:
		return true
	}
	b.engine.close()
	b.engine = nil
	return b.restarts <= maxRestarts && b.start(memory) == nil
}

// reasonOf returns the reason that a page cannot be shown.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, errNoSize):
		return "it has no size"
	case errors.Is(err, errBroke):
		return "it takes too much memory, or is made to break its reader"
	}
	return "it is damaged"
}
