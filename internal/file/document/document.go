// Package document reads files that are risky to parse: pictures, notebooks, PDFs, office
// files and web pages.
//
// Each file is read in a process of its own. The process is this program run again
// (Serve), with the open file as its standard input. It has a memory limit and a
// deadline, opens no file but its cache, and writes one JSON value. Whatever a file does
// to its reader, the server gets an answer or an error. Reader is the server's side.
//
// # Details
//
// Our own binary, started again with read-document, one file a process, the open file as
// standard input. It opens nothing by name except the PDF engine's cache, has no
// environment, a memory limit and a deadline, and ends with its parent. The start is
// cheap (5 to 15 ms) because the engine's compiled code is in the state folder (50 ms to
// load, 1.4 s to compile). pdfcpu judges (validation, page count, encryption), pdfium
// shows. A file that pdfcpu refuses and pdfium can show is shown with a note.
// Office files are read by package office as streams of XML, without a library: that of
// the usual choice adds 2.5 ms to every start and unpacks large sheets to temporary files.
// Web pages are converted by package page, which has limits of its own; those of the
// process catch what they miss. go-runewidth, which pdfcpu pulls in, is held at a version that does not build its
// tables at every start (25 ms).
package document

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"mcp-toolset/internal/file/document/office"
	"mcp-toolset/internal/file/document/page"
	"mcp-toolset/internal/file/document/pdf"
	"mcp-toolset/internal/file/document/picture"
	"mcp-toolset/internal/file/notebook"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/fault"
)

// Limits on the server's side.
const (
	// maxMemory is the memory limit of all processes together, in bytes, except those
	// that fit into smallMemory. With that and the 40 MB of the server, the total stays
	// within the 400 MB allowed.
	maxMemory = 300_000_000
	// smallMemory is a separate memory limit, in bytes, of all processes that need no
	// more than this each. So a small picture does not wait for large files.
	smallMemory = 60_000_000
	// maxWait is the timeout for memory to become free. It is counted apart from the
	// deadline, so that a file that only waited is not reported as slow.
	maxWait = 25 * time.Second
	// baseMemory is the memory of a process besides its file, including the answer, in
	// bytes. An idle process takes about 20 MB.
	baseMemory = 40_000_000
	// maxTime is the timeout of a process. The slowest real files, dozens of scanned
	// pages, need a few seconds.
	maxTime = 30 * time.Second
	// compileTime is the additional timeout of a process that compiles the PDF engine first,
	// which takes a second of a fast processor. A process that is killed leaves no cache, so
	// that no PDF could be read on a machine that is too slow for maxTime.
	compileTime = 30 * time.Second

	// Limits of file sizes in bytes. Pictures have a limit of their own. A notebook is
	// held in memory about four times: as bytes, JSON, cells and answer. Of a PDF, only
	// parts are held.
	maxNotebook = 64 << 20
	maxPDF      = 1 << 30
	maxPage     = 10 << 20
	maxOffice   = 512 << 20

	// notebookShare is the memory that a notebook takes, as a multiple of its size.
	notebookShare = 4
	// pageShare is the memory that a page takes, as a multiple of its size. Of the HTML, at
	// most 2 MB are converted, in up to 100 MB.
	pageShare = 50
)

// Config configures a Reader.
type Config struct {
	// Cache is the folder for the compiled PDF engine, which saves a second per file. It
	// is created when first needed, for this user only. If empty, there is no cache.
	Cache string
	Log   *slog.Logger // receives the outcome of each process, at debug level; may be nil
}

// Reader reads documents, each in a process of its own. It is safe for concurrent use. A
// document waits while others take the memory that it needs.
type Reader struct {
	cache      string
	log        *slog.Logger
	freeMemory *semaphore.Weighted // bytes of maxMemory that are free
	small      *semaphore.Weighted // bytes of smallMemory that are free

	self   func() (program, error)
	time   time.Duration // maxTime, except in tests
	wait   time.Duration // maxWait, except in tests
	memory int64         // maxMemory, except in tests
}

// NewReader returns a Reader. It starts no process and touches no file.
func NewReader(c Config) *Reader {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	r := &Reader{
		cache:      c.Cache,
		log:        c.Log,
		freeMemory: semaphore.NewWeighted(maxMemory),
		small:      semaphore.NewWeighted(smallMemory),
		wait:       maxWait,
		self:       sync.OnceValues(findSelf),
		time:       maxTime,
		memory:     maxMemory,
	}
	if raceDetector {
		r.time *= 4
	}
	return r
}

// Picture reads a picture of size bytes and prepares it for a model. A picture that its
// header already rules out is refused without a process.
//
// Picture, Notebook, PDF, Office and Page share these rules: an error that the file is to blame for is
// a *fault.Fault whose fact continues the name of the file. The cause of a cancelled
// context is returned unchanged. f must be open for reading; its offset does not change.
func (r *Reader) Picture(ctx context.Context, f *os.File, size int64) (*picture.Picture, error) {
	info, err := picture.Inspect(f, size)
	if err != nil {
		return nil, err
	}
	q := request{Kind: kindPicture, Size: size, Memory: baseMemory + size + info.Memory}
	if q.Memory > maxMemory {
		return nil, &fault.Fault{
			Fact: fmt.Sprintf("is a picture of %d x %d pixels and %d bytes, which takes too much memory to decode", info.Width, info.Height, size),
			Next: kindPicture.words().smaller,
		}
	}
	return read[*picture.Picture](ctx, r, f, q)
}

// Notebook reads the cells of a notebook of size bytes that q selects.
func (r *Reader) Notebook(ctx context.Context, f *os.File, size int64, q notebook.Request) (*notebook.View, error) {
	if err := tooLarge(kindNotebook, size, maxNotebook); err != nil {
		return nil, err
	}
	return read[*notebook.View](ctx, r, f, request{
		Kind:     kindNotebook,
		Size:     size,
		Memory:   baseMemory + notebookShare*size,
		Notebook: q,
	})
}

// PDF reads the pages of a PDF file of size bytes that q selects. It overrides the cache
// and time of q with those of the Reader.
func (r *Reader) PDF(ctx context.Context, f *os.File, size int64, q pdf.Request) (*pdf.Document, error) {
	if err := tooLarge(kindPDF, size, maxPDF); err != nil {
		return nil, err
	}
	return read[*pdf.Document](ctx, r, f, r.pdfRequest(size, q))
}

// pdfRequest returns the request for a PDF file, for read, which adds the timeout of the Reader to
// its Deadline.
func (r *Reader) pdfRequest(size int64, q pdf.Request) request {
	q.Cache, q.Time = r.privateCache(), r.time/2
	whole := request{Kind: kindPDF, Size: size, Memory: maxMemory, PDF: q}
	if !hasEngine(q.Cache) {
		whole.Deadline = compileTime
	}
	return whole
}

// hasEngine reports whether a cache has a compiled PDF engine.
func hasEngine(cache string) bool {
	if cache == "" {
		return false
	}
	files, _ := filepath.Glob(filepath.Join(cache, "*", "*"))
	return slices.ContainsFunc(files, func(path string) bool { return filepath.Ext(path) != partial })
}

// partial is the extension of a file of the cache that is being written.
const partial = ".tmp"

// Page reads a web page of size bytes as q selects.
func (r *Reader) Page(ctx context.Context, f *os.File, size int64, q page.Request) (*page.Page, error) {
	if err := tooLarge(kindPage, size, maxPage); err != nil {
		return nil, err
	}
	memory := baseMemory + pageShare*min(size, 2<<20) + notebookShare*size
	return read[*page.Page](ctx, r, f, request{Kind: kindPage, Size: size, Memory: memory, Page: q})
}

// Office reads the parts of an office file of size bytes that q selects.
func (r *Reader) Office(ctx context.Context, f *os.File, size int64, q office.Request) (*office.Document, error) {
	if err := tooLarge(kindOffice, size, maxOffice); err != nil {
		return nil, err
	}
	return read[*office.Document](ctx, r, f, request{Kind: kindOffice, Size: size, Memory: baseMemory + notebookShare*size, Office: q})
}

// privateCache returns the cache folder if only this user can write to it, because the
// code in it is run. Otherwise it returns "": a PDF is then read without a cache.
func (r *Reader) privateCache() string {
	if r.cache == "" {
		return ""
	}
	for _, dir := range []string{filepath.Dir(r.cache), r.cache} {
		if err := state.EnsurePrivate(dir); err != nil {
			r.log.Debug("reading PDF files without a cache", "error", err)
			return ""
		}
	}
	r.sweep()
	return r.cache
}

// sweep removes partial files of the cache that a killed process left.
func (r *Reader) sweep() {
	left, _ := filepath.Glob(filepath.Join(r.cache, "*", "*"+partial))
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > 10*maxTime {
			_ = os.Remove(path)
		}
	}
}

func tooLarge(k kind, size, limit int64) error {
	if size <= limit {
		return nil
	}
	return &fault.Fault{
		Fact: fmt.Sprintf("is a %s of %d bytes, over the limit of %d MiB", k.noun(), size, limit>>20),
		Next: k.words().smaller,
	}
}
