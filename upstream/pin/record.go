package pin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"mcp-toolset/internal/state"
)

const (
	// version is the form of the file. One of another version is as good as none.
	version = 1
	// maxListing is the largest listing that is kept, in bytes.
	maxListing = 16 << 20
	// maxRecord bounds a file, in bytes: a listing, and as much of what was seen,
	// with what is around each tool.
	maxRecord = 2*maxListing + 4<<20
	// maxOthers is of how many configs more it is kept what was seen.
	maxOthers = 16
)

// record is what is remembered of one server: its file.
type record struct {
	Version int               `json:"version"`
	Server  string            `json:"server"`
	Config  string            `json:"config"` // digest of what was started
	Looked  time.Time         `json:"looked"` // when a person was last shown what is seen, or the server was first listed
	List    []json.RawMessage `json:"list"`   // the last listing, each definition as it came but for white space
	Seen    []seen            `json:"seen"`
	Others  []other           `json:"others,omitempty"` // what else was started by that name, the latest first
}

// other is what a person saw of what is started elsewhere by the same name.
type other struct {
	Config string    `json:"config"`
	Looked time.Time `json:"looked"`
	Seen   []seen    `json:"seen"`
}

// of is what a person saw of what is started by a config; nothing if that is not
// known.
func (r *record) of(config string) other {
	if r.Config == config {
		return other{r.Config, r.Looked, r.Seen}
	}
	if i := slices.IndexFunc(r.Others, func(o other) bool { return o.Config == config }); i >= 0 {
		return r.Others[i]
	}
	return other{}
}

// seen is a tool as a person last saw it.
type seen struct {
	Name       string          `json:"name"`
	Hash       string          `json:"sha256"` // of Definition
	Definition json.RawMessage `json:"definition"`
}

// readRecord reads a file. None, and one of another version, is nil; it is an
// error if the file cannot be believed.
func readRecord(path, server string) (*record, error) {
	data, _, err := state.ReadTrusted(path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var form struct{ Version int }
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, fmt.Errorf("reading %s: it is damaged: %w", path, err)
	}
	if form.Version != version {
		return nil, nil
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("reading %s: it is damaged: %w", path, err)
	}
	if r.Server != server {
		return nil, fmt.Errorf("reading %s: it is of another server", path)
	}
	for _, o := range append([]other{{Seen: r.Seen}}, r.Others...) {
		for _, s := range o.Seen {
			if digest(s.Definition) != s.Hash {
				return nil, fmt.Errorf("reading %s: it is damaged: a hash is not that of its definition", path)
			}
		}
	}
	return &r, nil
}

func (r *record) write(path string) error {
	var b bytes.Buffer
	for {
		b.Reset()
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false) // which would make other bytes of what was hashed
		if err := enc.Encode(r); err != nil {
			return err
		}
		if b.Len() <= maxRecord || len(r.Others) == 0 {
			break
		}
		r.Others = r.Others[:len(r.Others)-1]
	}
	if b.Len() > maxRecord {
		return fmt.Errorf("writing %s: it would have %d bytes, and %d is the most", path, b.Len(), maxRecord)
	}
	if err := state.Replace(path, b.Bytes()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// listed is the record with another listing. What was seen stays, unless what is
// started is another; what was not there before counts as seen.
func (r *record) listed(server, config string, list []json.RawMessage, now time.Time) *record {
	next := &record{Version: version, Server: server, Config: config, List: list}
	if r != nil {
		known := r.of(config)
		next.Others = r.Others
		if r.Config != config {
			next.Others = append([]other{r.of(r.Config)}, slices.DeleteFunc(slices.Clone(r.Others), func(o other) bool { return o.Config == config })...)
			next.Others = next.Others[:min(len(next.Others), maxOthers)]
		}
		if known.Config == config {
			next.Looked, next.Seen = known.Looked, known.Seen
			return next
		}
	}
	next.Looked, next.Seen = now, []seen{}
	named := map[string]bool{}
	for _, raw := range list {
		form, err := definition(raw)
		if name := toolName(raw); err == nil && name != "" && !named[name] {
			named[name] = true
			next.Seen = append(next.Seen, seen{name, digest(form), form})
		}
	}
	return next
}

// same reports whether there is nothing to write.
func (r *record) same(other *record) bool {
	return r != nil && r.Config == other.Config && len(r.Seen) == len(other.Seen) &&
		slices.EqualFunc(r.List, other.List, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// changes is how the listing differs from what was seen, in the order of the
// listing, and then what is gone. A name that is listed twice is held against
// the one that was seen each time.
func (r *record) changes() []Change {
	was := map[string]seen{}
	for _, s := range r.Seen {
		was[s.Name] = s
	}
	var out []Change
	there := map[string]bool{}
	for _, raw := range r.List {
		form, err := definition(raw)
		name := toolName(raw)
		if err != nil || name == "" {
			continue // no tool
		}
		there[name] = true
		if s := was[name]; s.Hash != digest(form) {
			out = append(out, Change{Tool: name, Was: s.Definition, Is: form})
		}
	}
	for _, s := range r.Seen {
		if !there[s.Name] {
			out = append(out, Change{Tool: s.Name, Was: s.Definition})
		}
	}
	return out
}

// accept makes what a person was shown what they saw.
func (r *record) accept(shown []Change, now time.Time) {
	for _, c := range shown {
		at := slices.IndexFunc(r.Seen, func(s seen) bool { return s.Name == c.Tool })
		switch {
		case c.Is == nil && at >= 0:
			r.Seen = slices.Delete(r.Seen, at, at+1)
		case c.Is == nil:
		case at >= 0:
			r.Seen[at] = seen{c.Tool, digest(c.Is), c.Is}
		default:
			r.Seen = append(r.Seen, seen{c.Tool, digest(c.Is), c.Is})
		}
	}
	r.Looked = now
}
