package read

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mcp-toolset/internal/file/snapshot"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// hashedTo is the limit of files whose changes are detected by hash, in bytes.
const hashedTo = file.MaxEdit

// source is an open file with the data for the session's read record.
type source struct {
	*os.File
	info     fs.FileInfo
	identity workspace.Identity
	at       time.Time // time of opening
	asked    session.Range
	offset   int // number of the first line or cell asked for, from 1
	hash     [sha256.Size]byte
	head     []byte // first bytes of the file, read by kind

	first, last, total int // the part that was shown, as in session.Read
}

func open(env *tools.Env, in prepared, now func() time.Time) (*source, error) {
	f, info, err := env.Files.Open(in.FilePath)
	if err != nil {
		return nil, file.OpenError(env, in.FilePath, err)
	}
	if in.Offset == 0 {
		in.Offset = 1
	}
	return &source{
		File: f, info: info, identity: workspace.IdentityOf(info), at: now(),
		asked:  session.Range{Offset: in.Offset, Limit: in.Limit, FirstPage: in.firstPage, LastPage: in.lastPage, Pictures: in.As == asImage, Formulas: in.As == asFormulas},
		offset: in.Offset,
	}, nil
}

// Name returns the canonical path. The path of the os.File may contain redundant steps,
// such as /ws/./dir/./file.
func (f *source) Name() string { return filepath.Clean(f.File.Name()) }

// record returns the read record of a successful read.
func (f *source) record() session.Read {
	return session.Read{
		Path: f.Name(), Range: f.asked, File: f.identity, Hash: f.hash, At: f.at, Shown: true,
		Large: f.info.Size() > hashedTo, First: f.first, Last: f.last, Total: f.total,
	}
}

// showed records that n of total lines or cells were shown.
func (f *source) showed(n, total int) {
	f.first, f.last, f.total = f.offset, f.offset+n-1, total
	switch {
	case f.first == 1 && total >= 0 && f.last >= total:
		f.last = 0 // the whole file
	case n == 0:
		f.last = -1 // nothing; 0 would mean the whole file
	}
}

// repeats reports whether the answer may be short because the model already has the
// content. It also returns the read record that the session then stores, which is that of a
// full answer. A read that was already repeated is shown in full again.
func (r *reading) repeats() (session.Read, bool) {
	had, ok := r.env.Session.ReadOf(r.file.Name(), r.file.asked)
	now := had
	now.File, now.At = r.file.identity, r.file.at
	if !ok || r.Repeat || had.Told || !had.RepeatedBy(now) {
		return session.Read{}, false
	}
	if !had.Large { // checked last, since it reads the file
		hash, err := sum(io.NewSectionReader(r.file, 0, hashedTo+1))
		ok = err == nil && hash == had.Hash
	}
	return now, ok
}

// again answers a read of content that the model already has. After that the same call
// returns the content, until the content changes or the record expires. This serves a model
// that has lost the content, and other models that share the session.
func (r *reading) again(seen session.Read) tools.Result[Output] {
	if r.OnShort != nil {
		r.OnShort()
	}
	part := ""
	if seen.Last != 0 || seen.Range.FirstPage > 0 {
		part = "this part of "
	}
	text := fmt.Sprintf("[%s has not changed since %sit was last read here. If you no longer have it, send the same call again: that returns the content.]", r.shown, part)
	out := Output{Type: "file_unchanged", FilePath: r.in.FilePath, shown: []tools.Content{tools.Text{Text: text}}}
	return tools.Result[Output]{
		Data: out, Effect: session.Effect{Reads: []session.Read{seen}}, HookFields: out.forHooks,
		Private: true, // another session has not seen the content
	}
}

// hashAll computes the hash of a file that another package reads, and takes a snapshot.
func (f *source) hashAll(snapshots *snapshot.Cache) error {
	switch size := f.info.Size(); {
	case size > hashedTo:
		return nil
	case size > snapshot.MaxFile:
		var err error
		f.hash, err = sum(io.NewSectionReader(f.File, 0, hashedTo+1))
		return err
	}
	data, err := io.ReadAll(io.NewSectionReader(f.File, 0, hashedTo+1))
	if err == nil {
		f.hash = sha256.Sum256(data)
		snapshots.Put(f.hash, data)
	}
	return err
}

func sum(r io.Reader) (hash [sha256.Size]byte, err error) {
	h := sha256.New()
	if _, err = io.Copy(h, r); err == nil {
		h.Sum(hash[:0])
	}
	return hash, err
}

// content returns a reader from the first byte of the file. Files of /proc cannot always be
// read twice, so it reuses the bytes that kind has read.
func (f *source) content() io.Reader { return io.MultiReader(bytes.NewReader(f.head), f.File) }

// steadily reads from r until ctx ends.
type steadily struct {
	ctx context.Context
	r   io.Reader
}

func (s steadily) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.r.Read(p)
}
