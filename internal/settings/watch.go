package settings

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/models"
	"mcp-toolset/policy"
)

// grain is the resolution of change times: two changes within it can have the same time. Kernels
// stamp files with the time of the last clock tick, at most 10 ms ago. File systems without
// fractions of a second have coarseGrain.
const (
	grain       = 20 * time.Millisecond
	coarseGrain = 2 * time.Second
)

// Stamp identifies the states of the files that Find reads, without their contents.
type Stamp struct {
	files []fileStamp
	young time.Time // until then a file can change without another stamp
}

// fileStamp identifies the state of a path. The zero value is that of a path without a file.
type fileStamp struct {
	link, file workspace.Identity // file is that of the target if the path is a link
	mode       fs.FileMode
}

// Places returns the paths whose files Find reads, whether they exist or not.
func (f *Found) Places() []string { return slices.Clone(f.read) }

// Digest identifies the contents of the files, and which of them apply in full.
func (f *Found) Digest() string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(f.sum, "\x00"))))[:16]
}

// add adds the content of a file to the digest.
func (f *Found) add(path, content string) { f.sum = append(f.sum, path, content) }

// liveKeys lists the keys that hold in running servers when they are saved.
var liveKeys = []string{"classifier", "hooks", "hooksFailClosed", "models", "permissions.allow", "permissions.ask", "permissions.deny", "sandbox.publish", "undo.destructive", "webSearch"}

// startKeys lists the exceptions from liveKeys: variables with keys are kept from commands since the
// start, and budgets count from the start.
var startKeys = []string{"models.default.keyEnv", "models.maxCost", "models.maxCostPerDay", "models.maxTokensPerSession", "models.small.keyEnv", "webSearch.keyEnv"}

// Live reports whether a running server takes over a change of a key, such as "permissions.deny" or
// "hooks.PreToolUse". Other keys need a new start.
func Live(key string) bool { return within(key, liveKeys) && !within(key, startKeys) }

// within reports whether key is in list, or below a key of it.
func within(key string, list []string) bool {
	return slices.ContainsFunc(list, func(k string) bool { return key == k || strings.HasPrefix(key, k+".") })
}

// Following returns a function that reports whether a server that was started with s takes the value
// of a key from next. The first models need a new start, since tools depend on them, as does another
// variable with a key, with the endpoint that it is for.
func (s *Settings) Following(next *Settings) func(key string) bool {
	searches, models := s.FollowsSearch(next), s.FollowsModels(next)
	return func(key string) bool {
		switch top, _, _ := strings.Cut(key, "."); {
		case top == "webSearch" && !searches, top == "models" && !models:
			return false
		}
		return Live(key)
	}
}

// FollowsSearch reports whether a server that was started with s can search as next says.
func (s *Settings) FollowsSearch(next *Settings) bool {
	w := next.WebSearch()
	return w == nil || w.KeyEnv == "" || s.WebSearch() != nil && s.WebSearch().KeyEnv == w.KeyEnv
}

// FollowsModels reports whether a server that was started with s can use the models of next.
func (s *Settings) FollowsModels(next *Settings) bool {
	was, is := s.Models(), next.Models()
	if was == nil || is == nil {
		return was == is
	}
	var scrubbed []string
	for _, e := range []*models.Endpoint{was.Default, was.Small} {
		if e != nil {
			scrubbed = append(scrubbed, e.KeyEnv)
		}
	}
	for _, e := range []*models.Endpoint{is.Default, is.Small} {
		if e != nil && e.KeyEnv != "" && !slices.Contains(scrubbed, e.KeyEnv) {
			return false
		}
	}
	return true
}

// NeedStart returns the keys that differ between s and next and that a server that was started with
// s does not take over, sorted.
func (s *Settings) NeedStart(next *Settings) []string {
	follows := s.Following(next)
	was, is := s.values(follows), next.values(follows)
	var keys []string
	for _, list := range []map[string]string{was, is} {
		for key := range list {
			if was[key] != is[key] && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// values returns the values that hold of the keys that need a new start.
func (s *Settings) values(follows func(string) bool) map[string]string {
	out := map[string]string{}
	for _, e := range s.Entries() {
		if e.Unused == "" && !follows(e.Key) {
			out[e.Key] += e.raw + "\n"
		}
	}
	return out
}

// StampOf returns the stamp of paths. now is the time before the call.
func StampOf(paths []string, now time.Time) Stamp {
	s := Stamp{files: make([]fileStamp, len(paths))}
	for i, path := range paths {
		if i > 0 && s.files[i-1] == (fileStamp{}) && filepath.Dir(path) == paths[i-1] {
			continue // its folder does not exist
		}
		s.files[i] = s.stamp(path, now)
	}
	return s
}

func (s *Stamp) stamp(path string, now time.Time) (out fileStamp) {
	info, err := os.Lstat(path)
	if err != nil {
		return out
	}
	out.link, out.mode = s.identity(info, now), info.Mode()
	if info.Mode()&fs.ModeSymlink == 0 {
		return out
	}
	if info, err = os.Stat(path); err == nil {
		out.file, out.mode = s.identity(info, now), info.Mode()
	}
	return out
}

// identity returns the identity of a file. It makes the stamp young if the file may have changed
// less than the clock's grain ago.
func (s *Stamp) identity(info fs.FileInfo, now time.Time) workspace.Identity {
	id := workspace.IdentityOf(info)
	changed := max(id.ChangeTime, info.ModTime().UnixNano())
	limit := grain
	if changed%int64(time.Second) == 0 {
		limit = coarseGrain
	}
	if until := time.Unix(0, changed).Add(limit); until.After(now) && until.Sub(now) <= 2*limit && until.After(s.young) {
		s.young = until
	}
	return id
}

// Same reports whether the files have not changed from s to t. It returns false if they might
// have changed within the grain of the clock.
func (s Stamp) Same(t Stamp) bool { return s.young.IsZero() && slices.Equal(s.files, t.files) }

// Equal reports whether the stamps are equal.
func (s Stamp) Equal(t Stamp) bool { return slices.Equal(s.files, t.files) }

// Lost reports whether a file of s does not exist in t.
func (s Stamp) Lost(t Stamp) bool {
	for i := range min(len(s.files), len(t.files)) {
		if s.files[i] != (fileStamp{}) && t.files[i] == (fileStamp{}) {
			return true
		}
	}
	return false
}

// reads lists the paths that Find reads.
func reads(o Options, user string, trust *Trust) (paths []string) {
	for _, path := range []string{o.Managed, o.Explicit, user, trust.file} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	for _, root := range o.Roots {
		paths = append(paths, filepath.Join(root, policy.ProjectFolder), projectFile(root))
	}
	return paths
}
