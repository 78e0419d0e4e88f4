package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"mcp-toolset/internal/file/document/office"
	"mcp-toolset/internal/file/document/page"
	"mcp-toolset/internal/file/document/pdf"
	"mcp-toolset/internal/file/document/picture"
	"mcp-toolset/internal/file/notebook"
	"mcp-toolset/internal/text/fault"
)

// Arg is the first argument of a process that reads a document: `mcp-toolset
// read-document {json}`.
const Arg = "read-document"

// Exit codes of a process. Go's own fatal errors also end with 2, after a message of
// Go's.
const (
	exitUsage  = 2
	exitMemory = 81 // over its limit of memory
	exitTime   = 82 // over its deadline
	exitOrphan = 83 // the server is gone
	exitPanic  = 84
	exitAnswer = 85 // the answer could not be written
)

// usage is printed for a user who runs the command by hand.
const usage = Arg + " is how the server reads one picture, notebook, PDF file, office file or web page in a process of its own; it is not for use by hand"

// request is the argument of a process, as JSON.
type request struct {
	Kind     kind
	Size     int64         // bytes of the file
	Memory   int64         // bytes that the process may hold
	Deadline time.Duration // from its start
	Parent   int           // process id of the server
	Notebook notebook.Request
	PDF      pdf.Request
	Page     page.Request
	Office   office.Request
}

// answer is the JSON output of a process: a value, the fault of the file, or the error
// that prevented reading it.
type answer[T any] struct {
	Value T
	Fault *fault.Fault `json:",omitempty"`
	Error string       `json:",omitempty"`
}

// kinds maps each kind to its reader. Readers run within the limits of the process and
// return a *fault.Fault for errors that the file is to blame for.
var kinds = map[kind]func(in *os.File, q request) (any, error){
	kindPicture:  readPicture,
	kindNotebook: readNotebook,
	kindPDF:      readPDF,
	kindPage:     readPage,
	kindOffice:   readOffice,
}

// Serve runs a process that reads a document and returns its exit code. args[0] is the
// request as JSON. in is the file, which is read at offsets only. The answer is written
// to out as one JSON value. Serve limits the whole process, so the caller can only exit
// afterwards.
func Serve(args []string, in *os.File, out io.Writer) int {
	q, ok := parseRequest(args)
	read, known := kinds[q.Kind]
	if !ok || !known {
		fmt.Fprintln(os.Stderr, usage)
		return exitUsage
	}
	confine(q)
	value, err := guard(read, in, q)
	a := answer[any]{Value: value}
	if err != nil {
		a.Value = nil
		if !errors.As(err, &a.Fault) {
			a.Error = err.Error()
		}
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false) // HTML escapes would make code several times as long
	if err := enc.Encode(a); err != nil {
		fmt.Fprintln(os.Stderr, "answering:", err)
		return exitAnswer
	}
	return 0
}

func parseRequest(args []string) (q request, ok bool) {
	if len(args) != 1 {
		return q, false
	}
	dec := json.NewDecoder(strings.NewReader(args[0]))
	dec.DisallowUnknownFields()
	if dec.Decode(&q) != nil || dec.More() {
		return q, false
	}
	return q, q.Size >= 0 && q.Memory > 0 && q.Deadline > 0 && q.Parent > 0
}

// guard ends the process when its reader panics, with a shorter message than Go's.
func guard(read func(*os.File, request) (any, error), in *os.File, q request) (any, error) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "panic: %.500v\n%s", p, debug.Stack())
			os.Exit(exitPanic)
		}
	}()
	return read(in, q)
}

func readPicture(in *os.File, q request) (any, error) {
	data, err := readAll(in, q.Size)
	if err != nil {
		return nil, err
	}
	return picture.Fit(data)
}

func readNotebook(in *os.File, q request) (any, error) {
	data, err := readAll(in, q.Size)
	if err != nil {
		return nil, err
	}
	n, err := notebook.Parse(data)
	if err != nil {
		return nil, err
	}
	return n.View(q.Notebook)
}

func readPDF(in *os.File, q request) (any, error) { return pdf.Read(in, q.Size, q.PDF) }

func readOffice(in *os.File, q request) (any, error) { return office.Read(in, q.Size, q.Office) }

func readPage(in *os.File, q request) (any, error) {
	data, err := readAll(in, q.Size)
	if err != nil {
		return nil, err
	}
	return page.Read(data, q.Page), nil
}

// readAll reads size bytes: the size of the file when it was checked.
func readAll(in io.ReaderAt, size int64) ([]byte, error) {
	data := make([]byte, size)
	n, err := in.ReadAt(data, 0)
	switch {
	case int64(n) == size:
		return data, nil
	case err == io.EOF:
		return nil, &fault.Fault{Fact: "became shorter while it was read", Next: "Read it again."}
	}
	return nil, fmt.Errorf("reading the file: %w", err)
}
