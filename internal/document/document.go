// Package document reads the files that are risky to parse: pictures,
// notebooks and PDFs.
//
// Each file is read in a process of its own, which is this program run again
// (Serve) with the open file as its standard input. The process has a limit of
// memory and a deadline, opens nothing but its cache, and says one JSON value;
// whatever a file makes of its reader, the server gets an answer or an error.
// Reader is the server's side of it.
package document

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"mcp-toolset/internal/document/pdf"
	"mcp-toolset/internal/document/picture"
	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/notebook"
	"mcp-toolset/internal/state"
)

// Limits of the server's side.
const (
	// maxMemory is what all processes but small ones may hold together, in
	// bytes. A server takes 40 MB beside it and smallMemory, which makes the
	// 400 MB that all may take.
	maxMemory = 300_000_000
	// smallMemory is further room for those that need no more than this
	// together, so that a small picture does not wait for large files.
	smallMemory = 60_000_000
	// maxWait is how long one waits for room, so that a file that only waited
	// is not told to be slow.
	maxWait = 25 * time.Second
	// baseMemory is what a process takes before it looks at its file, and for
	// an answer. An idle one takes about 20 MB.
	baseMemory = 40_000_000
	// maxTime is how long a process may take. The slowest real files, scanned
	// pages by the dozen, need a few seconds.
	maxTime = 30 * time.Second

	// Sizes of files in bytes over which none is tried; pictures have a limit
	// of their own. A notebook is held in memory about four times over, as
	// bytes, as JSON, as cells and as the answer; of a PDF only parts are.
	maxNotebook = 64 << 20
	maxPDF      = 1 << 30

	// notebookShare is how many times its size a notebook takes in memory.
	notebookShare = 4
)

// Config is what a Reader needs to know.
type Config struct {
	// Cache is a folder for what the PDF engine compiles, which saves a second
	// per file; "": none. It is made when first needed, for this user only.
	Cache string
	Log   *slog.Logger // what became of each process, at debug level; nil: nowhere
}

// Reader reads documents, each in a process of its own. It is safe for
// concurrent use; what does not fit into memory beside others waits its turn.
type Reader struct {
	cache string
	log   *slog.Logger
	room  *semaphore.Weighted // bytes of maxMemory that are not given out
	small *semaphore.Weighted // the same of smallMemory

	self   func() (program, error)
	time   time.Duration // maxTime but in tests
	wait   time.Duration // maxWait but in tests
	memory int64         // maxMemory but in tests
}

// NewReader makes a Reader. It starts nothing and touches no file.
func NewReader(c Config) *Reader {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	r := &Reader{
		cache:  c.Cache,
		log:    c.Log,
		room:   semaphore.NewWeighted(maxMemory),
		small:  semaphore.NewWeighted(smallMemory),
		wait:   maxWait,
		self:   sync.OnceValues(findSelf),
		time:   maxTime,
		memory: maxMemory,
	}
	if raceDetector {
		r.time *= 4
	}
	return r
}

// Picture reads a picture of size bytes and makes it fit for a model. What its
// header already rules out costs no process.
//
// Here as in Notebook and PDF, what the file is to blame for is a
// *fault.Fault whose fact goes on after the name of the file, a cancelled
// context's cause is returned as it is, and f must be open for reading and
// keeps its offset.
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

// Notebook reads the cells of a notebook of size bytes that q asks for.
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

// PDF reads the pages of a PDF file of size bytes that q asks for. Its cache
// is that of the Reader, whatever q says.
func (r *Reader) PDF(ctx context.Context, f *os.File, size int64, q pdf.Request) (*pdf.Document, error) {
	if err := tooLarge(kindPDF, size, maxPDF); err != nil {
		return nil, err
	}
	q.Cache, q.Time = r.privateCache(), r.time/2
	return read[*pdf.Document](ctx, r, f, request{Kind: kindPDF, Size: size, Memory: maxMemory, PDF: q})
}

// privateCache is the cache folder if only this user can write to it: what is
// in it is run. Without one a PDF is read all the same.
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

// sweep removes what a process that was ended left half-written in the cache.
func (r *Reader) sweep() {
	left, _ := filepath.Glob(filepath.Join(r.cache, "*", "*.tmp"))
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
