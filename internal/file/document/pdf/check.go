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

	"mcp-toolset/internal/text/fault"
)

// Limits of the check.
const (
	// headerWithin is the number of bytes in which readers look for the header.
	headerWithin = 1024
	// endWithin is the number of bytes before the end in which readers look for the end
	// mark.
	endWithin = 1024
	// maxFile is the limit of a file in bytes: pdfium uses signed 32-bit offsets.
	maxFile = 1<<31 - 1
	// maxChecked is the limit of a file that is checked, in bytes. pdfcpu holds the whole
	// file in memory, as objects of several times its size. Larger files are opened by
	// pdfium alone, which reads only the parts it needs.
	maxChecked = 32 << 20
	// maxCheck is the timeout for reading in the check. With a broken table of objects
	// pdfcpu searches the whole file, sometimes more than once.
	maxCheck = 5 * time.Second
	// maxDecoded is the limit of one stream when decompressed, in bytes. The check only
	// decompresses tables and streams of objects. A table of maxObjects takes 5 MB, a
	// stream of objects some hundred kB.
	maxDecoded = 8 << 20
	// maxObjects is the limit of objects that a table may declare: 500,000 take about 150
	// MB. A file of maxChecked with more objects has 64 bytes for each.
	maxObjects = 500_000
)

// noEnd is the flaw of a truncated file.
const noEnd = "its end is missing"

// verdict is the result of the check.
type verdict struct {
	pages  int    // 0 if unknown
	reason string // the reason that the file is invalid, in plain words; "" if it is valid
	minor  bool   // whether the flaw is in no part that is read here, so that nothing is missing

	patches []patch // corrections without which pdfium would read other text
}

// checkStart returns a fault if the file has no PDF header or is too large.
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

// validate checks a file with pdfcpu. It returns an error if the file needs a password.
// Everything else that is wrong is a flaw in the verdict, since pdfium may still read the
// file.
func validate(file io.ReaderAt, size int64, password string) (v verdict, err error) {
	if size > maxChecked {
		return verdict{}, nil
	}
	defer func() {
		if recover() != nil { // pdfcpu catches only panics of its own
			v, err = verdict{reason: "its structure makes no sense"}, nil
		}
		if size > maxChecked/8 {
			debug.FreeOSMemory() // pdfium needs the memory
		}
	}()
	pages, patches, err := validPages(io.NewSectionReader(file, 0, size), password)
	defer func() { v.patches = patches }()
	switch {
	case err == nil && !hasEnd(file, size):
		return verdict{pages: pages, reason: noEnd}, nil
	case err == nil:
		return verdict{pages: pages}, nil
	case errors.Is(err, pdfcpu.ErrWrongPassword):
		return verdict{}, errPassword
	case beyondCheck(err):
		return verdict{}, nil
	}
	if errors.As(err, &errReading{}) && !hasEnd(file, size) {
		return verdict{reason: noEnd}, nil // all other errors follow from that
	}
	flaw, minor := reason(err)
	return verdict{reason: flaw, minor: minor}, nil
}

// disableConfig stops pdfcpu from creating a folder in the user's configuration.
var disableConfig = sync.OnceFunc(api.DisableConfigDir)

// validPages returns the number of pages of a file that pdfcpu finds valid, and corrections
// of its maps of characters.
func validPages(file io.ReadSeeker, password string) (int, []patch, error) {
	disableConfig()
	conf := model.NewDefaultConfiguration()
	conf.Cmd = model.VALIDATE
	conf.ValidationMode = model.ValidationRelaxed
	conf.Offline = true
	conf.UserPW = password
	conf.Limits.MaxStreamBytes = maxChecked
	conf.Limits.MaxDecodeBytes = maxDecoded
	conf.Limits.MaxObjectCount = maxObjects
	conf.Limits.MaxObjectStreamCount = maxObjects
	conf.Limits.MaxXRefEntries = maxObjects
	ctx, cancel := context.WithTimeout(context.Background(), maxCheck)
	defer cancel()
	doc, err := pdfcpu.ReadWithContext(ctx, file, conf)
	if err != nil {
		return 0, nil, errReading{err}
	}
	err = api.ValidateContext(doc)
	return doc.PageCount, mendMaps(doc), err
}

// errReading marks an error in the structure of a file, as opposed to one of its objects.
type errReading struct{ error }

func (e errReading) Unwrap() error { return e.error }

// beyondCheck reports whether a file exceeded the limits of the check, which is no flaw
// of the file.
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

// note returns the note for a damaged file that pdfium could open, or "". pages is the
// number of pages that pdfium found.
func (v verdict) note(pages int) string {
	switch {
	case v.minor:
		return "the file breaks the rules of PDF: " + v.reason + "; its pages could be read"
	case v.reason != "":
		return "the file is damaged: " + v.reason + "; what is shown is what could be recovered"
	case v.pages > 0 && v.pages != pages:
		return fmt.Sprintf("the file is damaged: it can be read as having %d pages or %d; the latter is shown", v.pages, pages)
	}
	return ""
}
