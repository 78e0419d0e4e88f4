package read

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mcp-toolset/internal/snapshot"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// hashedTo is the largest file whose content is told apart by its hash, in
// bytes.
const hashedTo = file.MaxEdit

// source is an open file with what the session's record needs.
type source struct {
	*os.File
	info     fs.FileInfo
	identity workspace.Identity
	at       time.Time // when it was opened
	asked    session.Range
	offset   int // number of the first line or cell asked for, from 1
	hash     [sha256.Size]byte
	head     []byte // its first bytes, read by kind

	first, last, total int // what was shown of it, as session.Read has it
}

func open(env *tools.Env, in Input) (*source, error) {
	f, info, err := env.Files.Open(in.FilePath)
	if err != nil {
		return nil, file.OpenError(env, in.FilePath, err)
	}
	if in.Offset == 0 {
		in.Offset = 1
	}
	first, last, err := pages(in.Pages)
	if err != nil {
		return nil, errors.Join(err, f.Close()) // Validate has refused it before
	}
	return &source{
		File: f, info: info, identity: workspace.IdentityOf(info), at: env.Now(),
		asked:  session.Range{Offset: in.Offset, Limit: in.Limit, FirstPage: first, LastPage: last, Pictures: in.As == asImage},
		offset: in.Offset,
	}, nil
}

// Name returns the canonical path. That of the file may have the steps to it,
// such as /ws/./dir/./file.
func (f *source) Name() string { return filepath.Clean(f.File.Name()) }

// record is what the session remembers of a successful read.
func (f *source) record() session.Read {
	return session.Read{
		Path: f.Name(), Range: f.asked, File: f.identity, Hash: f.hash, At: f.at, Shown: true,
		Large: f.info.Size() > hashedTo, First: f.first, Last: f.last, Total: f.total,
	}
}

// showed notes that n lines or cells were shown, of total.
func (f *source) showed(n, total int) {
	f.first, f.last, f.total = f.offset, f.offset+n-1, total
	switch {
	case f.first == 1 && total >= 0 && f.last >= total:
		f.last = 0 // all of it
	case n == 0:
		f.last = -1 // nothing, where 0 would be all
	}
}

// repeats reports whether the model has had what it asks for and the answer may
// be short, and what the session then remembers: what a full answer would leave,
// so that the two do not differ. What was repeated before is shown again.
func (r *reading) repeats() (session.Read, bool) {
	had, ok := r.env.Session.ReadOf(r.file.Name(), r.file.asked)
	now := had
	now.File, now.At = r.file.identity, r.file.at
	if !ok || r.Repeat || had.Told || !had.RepeatedBy(now) {
		return session.Read{}, false
	}
	if !had.Large { // last, since it reads the file
		hash, err := sum(io.NewSectionReader(r.file, 0, hashedTo+1))
		ok = err == nil && hash == had.Hash
	}
	return now, ok
}

// again answers a read of what the model already has. From then on the same
// call returns the content, until that changes or the record expires: for a
// model that has lost it, and for every other one that shares the session.
func (r *reading) again(seen session.Read) tools.Result[Output] {
	if r.OnShort != nil {
		r.OnShort()
	}
	r.env.Private() // another session has not seen it
	part := ""
	if seen.Last != 0 || seen.Range.FirstPage > 0 {
		part = "this part of "
	}
	text := fmt.Sprintf("[%s has not changed since %sit was last read here. If you no longer have it, send the same call again: that returns the content.]", r.shown, part)
	out := Output{Type: "file_unchanged", FilePath: r.in.FilePath, shown: []tools.Content{tools.Text{Text: text}}}
	return tools.Result[Output]{Data: out, Effect: session.Effect{Reads: []session.Read{seen}}, HookFields: out.forHooks(r.env)}
}

// hashAll computes the hash of a file that is read by others.
func (f *source) hashAll(env *tools.Env) error {
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
		env.Snapshots.Put(f.hash, data)
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

// content is the file from its first byte. Files of /proc cannot always be read
// twice, so what kind has read is not read again.
func (f *source) content() io.Reader { return io.MultiReader(bytes.NewReader(f.head), f.File) }

// steadily is r until ctx ends.
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
