package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
)

// Memory of the engine in bytes.
//
// A WebAssembly memory that grows is copied, and the garbage collector hardly
// gets to run meanwhile: for a moment there are three copies, of which the last
// is a quarter larger. So the engine is small for text, and a large one grows
// once, when it starts. The process then has 190 MB; with what a picture takes
// to encode, up to 240 MB were measured.
const (
	// smallMemory is enough for the text of nearly every page.
	smallMemory = 32 << 20
	// largeMemory is for pictures, and for text that breaks a small engine.
	// It holds a page of 2,000 by 2,000 pixels beside a scan of A4 in 600 dpi
	// and colour. What pdfium has no room for it may leave out of a picture
	// without a word, which is why no picture is tried in less.
	largeMemory = 128 << 20
	// wasmPage is the unit of a WebAssembly memory's size.
	wasmPage = 64 << 10
)

// errBroke says that pdfium ended in the middle of a call: out of memory, too
// deep a recursion, or a bug. What it holds can no longer be trusted.
var errBroke = errors.New("the PDF engine broke off")

// errStart says that pdfium did not start.
var errStart = errors.New("starting the PDF engine")

// engine is pdfium with one file open in it. It reaches nothing but its own
// memory and that file.
type engine struct {
	pool   pdfium.Pool
	pdfium pdfium.Pdfium
	doc    references.FPDF_DOCUMENT
	memory int
	canvas []byte // of the last picture, for the next
	broke  bool
}

// openEngine starts pdfium and opens the file in it. If pdfium refuses the
// file, the error is one of pdfium's or errBroke.
func openEngine(file io.ReaderAt, size int64, cache wazero.CompilationCache, memory int) (*engine, error) {
	pool, err := webassembly.Init(confined(cache, memory))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStart, err)
	}
	e := &engine{pool: pool, memory: memory}
	if e.pdfium, err = pool.GetInstanceWithContext(context.Background()); err != nil {
		e.close()
		return nil, fmt.Errorf("%w: %w", errStart, err)
	}
	if memory == largeMemory {
		e.grow(memory)
	}
	opened, err := e.pdfium.OpenDocument(&requests.OpenDocument{FileReader: newSource(file, size), FileReaderSize: size})
	if err = e.judge(err); err != nil {
		e.close()
		return nil, err
	}
	e.doc = opened.Document
	return e, nil
}

// confined is what pdfium may use.
func confined(cache wazero.CompilationCache, memory int) webassembly.Config {
	return webassembly.Config{
		MaxTotal:      1,
		RuntimeConfig: wazero.NewRuntimeConfig().WithMemoryLimitPages(uint32(memory / wasmPage)).WithCompilationCache(cache),
		FSConfig:      wazero.NewFSConfig(), // no files: the default is all of them
		Stdout:        io.Discard,
		Stderr:        io.Discard,
	}
}

// grow has pdfium's memory grow to its limit at once, by the largest bitmap
// that there is room for, which is given up again.
func (e *engine) grow(limit int) {
	const row = 4096
	for size := limit; size > limit/2; size -= wasmPage {
		made, err := e.pdfium.FPDFBitmap_Create(&requests.FPDFBitmap_Create{Width: row / pixelBytes, Height: size / row})
		if err != nil {
			return // the file may still be read: the memory grows as it is used
		}
		height, err := e.pdfium.FPDFBitmap_GetHeight(&requests.FPDFBitmap_GetHeight{Bitmap: made.Bitmap})
		_, _ = e.pdfium.FPDFBitmap_Destroy(&requests.FPDFBitmap_Destroy{Bitmap: made.Bitmap})
		if err == nil && height.Height > 0 {
			return
		}
	}
}

// judge passes on what pdfium answers, and takes any other error for its end.
func (e *engine) judge(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pdfiumerrors.ErrFile), errors.Is(err, pdfiumerrors.ErrFormat), errors.Is(err, pdfiumerrors.ErrPassword),
		errors.Is(err, pdfiumerrors.ErrSecurity), errors.Is(err, pdfiumerrors.ErrPage):
		return err
	}
	e.broke = true
	return errBroke
}

// pageCount is how many pages pdfium finds.
func (e *engine) pageCount() (int, error) {
	count, err := e.pdfium.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: e.doc})
	if err = e.judge(err); err != nil {
		return 0, err
	}
	return max(count.PageCount, 0), nil
}

// close ends pdfium. One that broke off is not called again, which might never
// return; its memory is given back at once, since another may be started.
func (e *engine) close() {
	if e.pdfium != nil && !e.broke {
		_ = e.pdfium.Close()
	}
	if e.pdfium != nil && e.broke {
		_ = e.pdfium.Kill()
	}
	_ = e.pool.Close()
	if e.broke {
		e.pool, e.pdfium, e.canvas = nil, nil, nil
		debug.FreeOSMemory()
	}
}

// source is a file as pdfium's reader wants it: one call gets all there is, or
// an error.
type source struct{ *io.SectionReader }

func newSource(file io.ReaderAt, size int64) source {
	return source{io.NewSectionReader(file, 0, size)}
}

func (s source) Read(p []byte) (int, error) { return io.ReadFull(s.SectionReader, p) }
