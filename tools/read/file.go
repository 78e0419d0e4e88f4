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
	"time"

	"mcp-toolset/internal/workspace"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

const (
	// againFor is how long a model is taken to have what it read: longer, and
	// its context may well have been cut.
	againFor = 10 * time.Minute
	// hashedTo is the largest file whose content is told apart by its hash, in
	// bytes: that of the largest file that can be edited.
	hashedTo = 64 << 20
)

// file is an open file with what the session's record needs.
type file struct {
	*os.File
	info     fs.FileInfo
	identity workspace.Identity
	at       time.Time // when it was opened
	asked    session.Range
	hash     [sha256.Size]byte
	head     []byte // its first bytes, read by kind
}

func open(env *tools.Env, in Input) (*file, error) {
	f, info, err := env.Files.Open(in.FilePath)
	if err != nil {
		return nil, openError(env, in.FilePath, err)
	}
	first, last, err := pages(in.Pages)
	if err != nil {
		return nil, errors.Join(err, f.Close()) // Validate has refused it before
	}
	return &file{
		File: f, info: info, identity: workspace.IdentityOf(info), at: env.Now(),
		asked: session.Range{Offset: max(in.Offset, 1), Limit: in.Limit, FirstPage: first, LastPage: last},
	}, nil
}

// record is what the session remembers of a successful read.
func (f *file) record(env *tools.Env, shown bool) session.Effect {
	return session.Effect{Reads: []session.Read{{
		Path: f.Name(), Range: f.asked, File: f.identity, Hash: f.hash, At: f.at, Shown: shown,
	}}}
}

// unchanged reports whether the model has what it asks for: the same range was
// shown not long ago, and the file is what it was.
func (r *reading) unchanged() bool {
	had, ok := r.env.Session.ReadOf(r.file.Name(), r.file.asked)
	if !ok || !had.Shown || had.File != r.file.identity || r.file.at.Sub(had.At) > againFor {
		return false
	}
	// A file that had just been written when it was read may have been written
	// again within the same tick of its times: then the content is compared.
	same := !had.File.Fresh(had.At)
	if !same && had.Hash != [sha256.Size]byte{} {
		hash, err := sum(io.NewSectionReader(r.file, 0, hashedTo))
		same = err == nil && hash == had.Hash
	}
	if same {
		r.file.hash = had.Hash
	}
	return same
}

// again answers a read of what the model already has. The record then says
// that it was told so: the same call once more returns the content, for a
// model that has lost it.
func (r *reading) again() tools.Result[Output] {
	text := fmt.Sprintf("[%s has not changed since you read this of it. If you no longer have it, send the same call again: that returns the whole content.]", r.shown)
	return tools.Result[Output]{
		Data:   Output{Type: "file_unchanged", FilePath: r.in.FilePath, shown: []tools.Content{tools.Text{Text: text}}},
		Effect: r.file.record(r.env, false),
	}
}

// hashAll computes the hash of a file that is read by others.
func (f *file) hashAll() error {
	if f.info.Size() > hashedTo {
		return nil
	}
	var err error
	f.hash, err = sum(io.NewSectionReader(f.File, 0, hashedTo+1))
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
func (f *file) content() io.Reader { return io.MultiReader(bytes.NewReader(f.head), f.File) }

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
