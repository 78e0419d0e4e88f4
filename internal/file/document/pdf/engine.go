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
// A WebAssembly memory is copied when it grows, and the garbage collector hardly runs
// meanwhile. For a moment there are three copies, the last a quarter larger. So the
// engine is small for text, and a large one grows once, at its start. The process then
// has 190 MB; with the memory to encode a picture, up to 240 MB were measured.
const (
	// smallMemory is enough for the text of nearly all pages.
	smallMemory = 32 << 20
	// largeMemory is for pictures, and for text that breaks a small engine. It is enough
	// for a page of 2,000 by 2,000 pixels with a colour scan of A4 at 600 dpi. Without
	// enough memory pdfium may silently leave parts out of a picture, so no picture is
	// drawn with less.
	largeMemory = 128 << 20
	// wasmPage is the unit of a WebAssembly memory's size.
	wasmPage = 64 << 10
)

// errBroke means that pdfium ended in the middle of a call: out of memory, too deep a
// recursion, or a bug. Its state can no longer be trusted.
var errBroke = errors.New("the PDF engine broke off")

// errStart means that pdfium did not start.
var errStart = errors.New("starting the PDF engine")

// engine is pdfium with one open file. It can access only its own memory and that file.
type engine struct {
	pool   pdfium.Pool
	pdfium pdfium.Pdfium
	doc    references.FPDF_DOCUMENT
	memory int
	canvas []byte // pixels of the last picture, reused for the next
	broke  bool

	flattened map[int]*extras // by page
	form      references.FPDF_FORMHANDLE
	formAsked bool // form and xfa are known
	xfa       bool // the form is XML that pdfium does not read
}

// openEngine starts pdfium and opens the file in it. If pdfium does not accept the file,
// the error is one of pdfium's or errBroke.
func openEngine(file io.ReaderAt, size int64, password string, cache wazero.CompilationCache, memory int) (*engine, error) {
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
	opened, err := e.pdfium.OpenDocument(&requests.OpenDocument{FileReader: newSource(file, size), FileReaderSize: size, Password: &password})
	if err = e.judge(err); err != nil {
		e.close()
		return nil, err
	}
	e.doc = opened.Document
	return e, nil
}

// confined returns the configuration that limits pdfium.
func confined(cache wazero.CompilationCache, memory int) webassembly.Config {
	return webassembly.Config{
		MaxTotal:      1,
		RuntimeConfig: wazero.NewRuntimeConfig().WithMemoryLimitPages(uint32(memory / wasmPage)).WithCompilationCache(cache),
		FSConfig:      wazero.NewFSConfig(), // no files: the default is the whole file system
		Stdout:        io.Discard,
		Stderr:        io.Discard,
	}
}

// grow makes pdfium's memory grow to its limit at once. It allocates the largest bitmap
// that fits, and frees it.
func (e *engine) grow(limit int) {
	const row = 4096
	for size := limit; size > limit/2; size -= wasmPage {
		made, err := e.pdfium.FPDFBitmap_Create(&requests.FPDFBitmap_Create{Width: row / pixelBytes, Height: size / row})
		if err != nil {
			return // the file may still be readable: the memory grows as it is used
		}
		height, err := e.pdfium.FPDFBitmap_GetHeight(&requests.FPDFBitmap_GetHeight{Bitmap: made.Bitmap})
		_, _ = e.pdfium.FPDFBitmap_Destroy(&requests.FPDFBitmap_Destroy{Bitmap: made.Bitmap})
		if err == nil && height.Height > 0 {
			return
		}
	}
}

// judge returns errors of pdfium about the file unchanged. Any other error means that
// pdfium broke off: judge records that and returns errBroke.
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

// pageCount returns the number of pages that pdfium finds.
func (e *engine) pageCount() (int, error) {
	count, err := e.pdfium.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: e.doc})
	if err = e.judge(err); err != nil {
		return 0, err
	}
	return max(count.PageCount, 0), nil
}

// close ends pdfium. If it broke off, close does not call it again, because the call
// might never return. Its memory is freed at once, since another engine may be started.
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

// source provides a file with the contract that pdfium's reader expects: each call
// returns all the bytes asked for, or an error.
type source struct{ *io.SectionReader }

func newSource(file io.ReaderAt, size int64) source {
	return source{io.NewSectionReader(file, 0, size)}
}

func (s source) Read(p []byte) (int, error) { return io.ReadFull(s.SectionReader, p) }
