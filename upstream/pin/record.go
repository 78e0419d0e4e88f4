package pin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"mcp-toolset/internal/record/state"
)

const (
	// version is the version of the file format. A file of another version is
	// ignored.
	version = 1
	// maxListing is the limit of a stored listing, in bytes.
	maxListing = 16 << 20
	// maxRecord is the limit of a file, in bytes: a listing, as much again for
	// the definitions seen, and the overhead of each tool.
	maxRecord = 2*maxListing + 4<<20
	// maxOthers is the number of earlier configs whose seen definitions are
	// retained.
	maxOthers = 16
)

// record is the content of one server's file.
type record struct {
	Version int               `json:"version"`
	Server  string            `json:"server"`
	Config  string            `json:"config"` // digest of what was started
	Looked  time.Time         `json:"looked"` // when the user was last shown Seen, or the server was first listed
	List    []json.RawMessage `json:"list"`   // the last listing, each definition as received except for white space
	Seen    []seen            `json:"seen"`
	Others  []other           `json:"others,omitempty"` // earlier configs of this name, latest first
}

// other holds what the user saw of another config under the same server name.
type other struct {
	Config string    `json:"config"`
	Looked time.Time `json:"looked"`
	Seen   []seen    `json:"seen"`
}

// of returns what the user saw of config, or the zero value if it is not known.
func (r *record) of(config string) other {
	if r.Config == config {
		return other{r.Config, r.Looked, r.Seen}
	}
	if i := slices.IndexFunc(r.Others, func(o other) bool { return o.Config == config }); i >= 0 {
		return r.Others[i]
	}
	return other{}
}

// seen is the definition of a tool as the user last saw it.
type seen struct {
	Name       string          `json:"name"`
	Hash       string          `json:"sha256"` // of Definition
	Definition json.RawMessage `json:"definition"`
}

// readRecord reads the record of server from the file path. It returns nil if
// there is no file, or one of another version. It returns an error if the file
// is not trusted, damaged, or of another server.
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
		enc.SetEscapeHTML(false) // escaping would change bytes that were hashed
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

// listed returns a record with a new listing. If config is known, what was seen
// of it is unchanged. Otherwise, all listed tools count as seen.
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

// same reports whether other does not need to be written.
func (r *record) same(other *record) bool {
	return r != nil && r.Config == other.Config && len(r.Seen) == len(other.Seen) &&
		slices.EqualFunc(r.List, other.List, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// changes returns how the listing differs from what was seen, in the order of
// the listing, followed by removed tools. A name listed twice is compared each
// time.
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
			continue // not a tool
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

// accept records the changes that the user was shown as seen.
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
