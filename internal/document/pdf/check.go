package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/filter"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"

	"mcp-toolset/internal/fault"
)

// Limits of the check.
const (
	// headerWithin is how far into a file readers look for its header.
	headerWithin = 1024
	// endWithin is how far from its end they look for its end mark.
	endWithin = 1024
	// maxFile is the largest file in bytes: pdfium counts in 32 bits with a sign.
	maxFile = 1<<31 - 1
	// maxChecked is the largest file in bytes that is checked: pdfcpu holds all
	// of it in memory, as objects that take several times its size. Larger ones
	// are opened by pdfium alone, which reads what it needs.
	maxChecked = 32 << 20
	// maxCheck is how long reading for the check may take: a broken table of
	// objects has pdfcpu search all of the file, some of them more than once.
	maxCheck = 5 * time.Second
	// maxDecoded bounds what one compressed stream becomes, in bytes. Only
	// tables and bundles of objects are decompressed for the check: a table of
	// maxObjects has 5 MB, a bundle some hundred kB.
	maxDecoded = 8 << 20
	// maxObjects bounds what a table of objects may claim: 500,000 take about
	// 150 MB, and a file of maxChecked with more has 64 bytes for each.
	maxObjects = 500_000
)

// noEnd is the flaw of a file that was cut short.
const noEnd = "its end is missing"

// verdict is what the check found.
type verdict struct {
	pages int    // 0: not known
	flaw  string // what is wrong, in plain words; "": nothing
	minor bool   // the flaw is not in what is read here, so nothing is missing
}

// checkStart refuses what is no PDF file, or too large for one.
func checkStart(file io.ReaderAt, size int64) error {
	start := make([]byte, min(size, headerWithin))
	n, err := file.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("reading the header: %w", err)
	}
	if !bytes.Contains(start[:n], []byte("%PDF-")) {
		return &fault.Fault{
			Fact: fmt.Sprintf("is not a PDF file: its first %d bytes have no PDF header", headerWithin),
			Next: "Check that it is the file you mean; its name may be wrong.",
		}
	}
	if size > maxFile {
		return &fault.Fault{
			Fact: fmt.Sprintf("is a PDF of %d bytes, over the limit of %d", size, int64(maxFile)),
			Next: "Ask the user to split it into smaller files.",
		}
	}
	return nil
}

// validate has pdfcpu judge a file. Its error says that a password is needed;
// whatever else is wrong is a flaw, since pdfium may still read the file.
func validate(file io.ReaderAt, size int64) (v verdict, err error) {
	if size > maxChecked {
		return verdict{}, nil
	}
	defer func() {
		if recover() != nil { // pdfcpu catches only panics of its own making
			v, err = verdict{flaw: "its structure makes no sense"}, nil
		}
		if size > maxChecked/8 {
			debug.FreeOSMemory() // pdfium needs the room
		}
	}()
	pages, err := validPages(io.NewSectionReader(file, 0, size))
	switch {
	case err == nil && !hasEnd(file, size):
		return verdict{pages: pages, flaw: noEnd}, nil
	case err == nil:
		return verdict{pages: pages}, nil
	case errors.Is(err, pdfcpu.ErrWrongPassword):
		return verdict{}, encrypted()
	case beyondCheck(err):
		return verdict{}, nil
	}
	if errors.As(err, &errReading{}) && !hasEnd(file, size) {
		return verdict{flaw: noEnd}, nil // whatever else is wrong comes of that
	}
	flaw, minor := reason(err)
	return verdict{flaw: flaw, minor: minor}, nil
}

// disableConfig keeps pdfcpu from making a folder in the user's configuration.
var disableConfig = sync.OnceFunc(api.DisableConfigDir)

// validPages returns how many pages a file has that pdfcpu finds no fault with.
func validPages(file io.ReadSeeker) (int, error) {
	disableConfig()
	conf := model.NewDefaultConfiguration()
	conf.Cmd = model.VALIDATE
	conf.ValidationMode = model.ValidationRelaxed
	conf.Offline = true
	conf.Limits.MaxStreamBytes = maxChecked
	conf.Limits.MaxDecodeBytes = maxDecoded
	conf.Limits.MaxObjectCount = maxObjects
	conf.Limits.MaxObjectStreamCount = maxObjects
	conf.Limits.MaxXRefEntries = maxObjects
	ctx, cancel := context.WithTimeout(context.Background(), maxCheck)
	defer cancel()
	doc, err := pdfcpu.ReadWithContext(ctx, file, conf)
	if err != nil {
		return 0, errReading{err}
	}
	if err := api.ValidateContext(doc); err != nil {
		return 0, err
	}
	return doc.PageCount, nil
}

// errReading says that the error is in what holds a file together rather than
// in one of its objects.
type errReading struct{ error }

func (e errReading) Unwrap() error { return e.error }

// beyondCheck reports whether a file was too much for the check, which says
// nothing of the file.
func beyondCheck(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, filter.ErrDecodeLimitExceeded) ||
		strings.Contains(err.Error(), "limit exceeded") || strings.Contains(err.Error(), "exceeds limit")
}

// hasEnd reports whether the end mark is where readers look for it.
func hasEnd(file io.ReaderAt, size int64) bool {
	end := make([]byte, min(size, endWithin))
	n, _ := file.ReadAt(end, size-int64(len(end)))
	return bytes.Contains(end[:n], []byte("%%EOF"))
}

// note says what is wrong with a file that pdfium finds so many pages in.
func (v verdict) note(pages int) string {
	switch {
	case v.minor:
		return "the file breaks the rules of PDF: " + v.flaw + "; its pages could be read"
	case v.flaw != "":
		return "the file is damaged: " + v.flaw + "; what is shown is what could be recovered"
	case v.pages > 0 && v.pages != pages:
		return fmt.Sprintf("the file is damaged: it can be read as having %d pages or %d; the latter is shown", v.pages, pages)
	}
	return ""
}
