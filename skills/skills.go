// Package skills finds Agent Skills and agent files in folders, checks them, and makes of them
// what tools, prompts and the MCP skills extension serve.
//
// A skill is a folder with a file SKILL.md: front matter in YAML with a name and a description,
// then instructions (https://agentskills.io/specification). Only the front matter is held in
// memory; a file is read when it is used.
//
// A skill never widens what a call may do: allowed-tools is shown and has no effect, and commands
// in the text are not run. A file is opened only below the folder of its skill, and links may
// lead to no other place.
package skills

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// Limits of discovery.
const (
	maxSkills  = 200     // in all folders
	maxFolders = 2000    // that one scan enters
	maxDepth   = 3       // of a skill below its source
	maxFile    = 1 << 20 // of SKILL.md or an agent file, in bytes
	maxFront   = 64 << 10
	maxNesting = 20 // of values in front matter
)

// The layers of skills, in the order of precedence.
const (
	Machine     = "machine"
	CommandLine = "command line"
	User        = "user"
	Project     = "project"
)

// Source is a folder in which skills are searched for.
type Source struct {
	Dir   string // absolute
	Layer string
	// Within lists the folders in which a link to a skill may end, besides Dir.
	Within []string
}

// Skill describes a skill.
type Skill struct {
	Name        string
	Description string // with when_to_use
	Layer       string
	Dir         string   // canonical
	Paths       []string // patterns of files for which the skill is announced; nil: it is in the catalogue
	Allowed     string   // allowed-tools, in one line; it has no effect
	Hint        string   // argument-hint
	UserOnly    bool     // disable-model-invocation
	ModelOnly   bool     // not user-invocable

	front json.RawMessage // front matter as JSON; nil if a strict reader would not accept it
}

// File returns the path of SKILL.md.
func (s *Skill) File() string { return filepath.Join(s.Dir, skillFile) }

const skillFile = "SKILL.md"

// Issue describes a fault of a file.
type Issue struct {
	Path   string
	Line   int // 0: the whole file
	Text   string
	Loaded bool // the file is used nevertheless
	name   string
}

// String returns the issue in one line, safe to show.
func (i Issue) String() string {
	at := plain.Line(i.Path)
	if i.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, i.Line)
	}
	return at + ": " + plain.Text(i.Text)
}

// Set holds the result of a scan. It is immutable.
type Set struct {
	Skills []*Skill // sorted by name
	Issues []Issue
}

// Scan searches the sources, the most authoritative first. denied returns why a skill may not
// be used, or ""; it may be nil.
func Scan(sources []Source, denied func(*Skill) string) *Set {
	return parseAll(search(sources), denied)
}

// Name returns the name of a skill as users write it, without the slash before it.
func Name(text string) string { return strings.TrimPrefix(strings.TrimSpace(text), "/") }

// Lookup returns the skill with a name, as in Name.
func (s *Set) Lookup(name string) *Skill {
	name = Name(name)
	i := slices.IndexFunc(s.Skills, func(k *Skill) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return s.Skills[i]
}

// Unknown returns one fact and one next step for a name that Lookup does not find.
func (s *Set) Unknown(name string) (fact, next string) {
	name = Name(name)
	for _, i := range s.Issues {
		if !i.Loaded && i.name == name {
			return fmt.Sprintf("the skill %s cannot be used: %v", plain.Key(name), i), "Ask the user to correct the file; mcp-toolset skills checks it."
		}
	}
	var names []string
	for _, k := range s.Skills {
		if !k.UserOnly {
			names = append(names, k.Name)
		}
	}
	fact = fmt.Sprintf("there is no skill %s", plain.Key(name))
	if len(names) == 0 {
		return fact, "Go on without it."
	}
	if near := nearest.Names(name, names, 3); len(near) > 0 {
		return fact, "The nearest is " + strings.Join(near, ", ") + "."
	}
	if len(names) > 5 {
		return fact, fmt.Sprintf("Use one of the %d skills, such as %s; ToolSearch finds them by words.", len(names), strings.Join(names[:5], ", "))
	}
	return fact, "Use one of " + strings.Join(names, ", ") + "."
}

// Problems returns the issues because of which something is not used.
func (s *Set) Problems() []Issue {
	var out []Issue
	for _, i := range s.Issues {
		if !i.Loaded {
			out = append(out, i)
		}
	}
	return out
}

// Catalogue returns a list of the skills that a model may load, in at most room bytes: with
// descriptions that are as long as fit, or only names, or as many names as fit.
func (s *Set) Catalogue(room int) string {
	var list []*Skill
	for _, k := range s.Skills {
		if !k.UserOnly && len(k.Paths) == 0 {
			list = append(list, k)
		}
	}
	for _, most := range []int{1024, 400, 250, 160, 100, 70} {
		var b strings.Builder
		for _, k := range list {
			fmt.Fprintf(&b, "- %s: %s\n", k.Name, plain.Cut(k.Description, most))
		}
		if b.Len() <= room {
			return b.String()
		}
	}
	text := ""
	for i, k := range list {
		more := fmt.Sprintf(", and %d more, which ToolSearch finds by words\n", len(list)-i)
		if len(text)+len(k.Name)+2+len(more) > room {
			return text + more
		}
		if i > 0 {
			text += ", "
		}
		text += k.Name
	}
	return text + "\n"
}

// Find returns the skills that best match some words, the best first, at most most. A word counts
// three times as much in the name, and the more the fewer skills have it.
func (s *Set) Find(words []string, most int) []*Skill {
	score := map[*Skill]float64{}
	for _, w := range words {
		w = strings.ToLower(w)
		hits := map[*Skill]float64{}
		for _, k := range s.Skills {
			switch {
			case k.UserOnly || w == "":
			case slices.ContainsFunc(strings.Split(k.Name, "-"), func(part string) bool { return part == w || len(w) > 3 && strings.HasPrefix(part, w) }):
				hits[k] = 3
			case len(w) > 2 && strings.Contains(strings.ToLower(k.Description), w):
				hits[k] = 1
			}
		}
		for k, hit := range hits {
			score[k] += hit * math.Log(1+float64(len(s.Skills))/float64(len(hits)))
		}
	}
	found := slices.DeleteFunc(slices.Clone(s.Skills), func(k *Skill) bool { return score[k] == 0 })
	slices.SortStableFunc(found, func(a, b *Skill) int { return cmp.Compare(score[b], score[a]) })
	return found[:min(len(found), most)]
}

// Live is a Set that follows its folders. It is safe for concurrent use.
type Live struct {
	sources []Source
	denied  atomic.Pointer[func(*Skill) string]
	stale   atomic.Bool // denied has changed since the folders were looked at

	looking sync.Mutex // held while the folders are looked at
	looked  time.Time
	seen    found
	set     atomic.Pointer[Set]

	mu    sync.Mutex
	tell  []func(*Set)
	first session.Owned[map[string]bool] // subjects of First
}

const (
	// lookEvery is the interval in which the folders are looked at at most once.
	lookEvery = time.Second
	// lookTime is the timeout of that, for file systems that do not answer.
	lookTime = 5 * time.Second
)

// NewLive searches the sources. The arguments are those of Scan.
func NewLive(sources []Source, denied func(*Skill) string) *Live {
	l := &Live{sources: sources}
	l.denied.Store(&denied)
	unread := &Set{}
	for _, s := range sources {
		unread.Issues = append(unread.Issues, Issue{Path: s.Dir, Text: "was not searched: " + bounded.ErrTime.Error()})
	}
	l.set.Store(unread)
	l.look()
	return l
}

// OnChange registers f to be called with a changed set, by the goroutine that calls Now. f must
// not block.
func (l *Live) OnChange(f func(*Set)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell = append(l.tell, f)
}

// Deny replaces the function that returns why a skill may not be used.
func (l *Live) Deny(denied func(*Skill) string) {
	if l != nil {
		l.denied.Store(&denied)
		l.stale.Store(true)
	}
}

// Now returns the present set. It looks at the folders at most once a second.
func (l *Live) Now() *Set {
	if l == nil {
		return &Set{}
	}
	if l.look() {
		l.mu.Lock()
		tell := slices.Clone(l.tell)
		l.mu.Unlock()
		for _, f := range tell {
			f(l.set.Load())
		}
	}
	return l.set.Load()
}

// look searches for changes, and reports whether there are some. While another call looks, or if
// the folders do not answer in time, there are none.
func (l *Live) look() (changed bool) {
	if !l.looking.TryLock() {
		return false
	}
	defer l.looking.Unlock()
	stale := l.stale.Swap(false)
	if now := time.Now(); now.Sub(l.looked) < lookEvery && !stale {
		return false
	}
	type result struct {
		seen found
		set  *Set // nil: nothing has changed
	}
	before, first := l.seen, l.looked.IsZero()
	r, err := bounded.Do(context.Background(), lookTime, func(context.Context) (result, error) {
		seen := search(l.sources)
		if !first && !stale && seen.equal(before) {
			return result{seen: seen}, nil
		}
		return result{seen, parseAll(seen, *l.denied.Load())}, nil
	})
	l.looked = time.Now()
	if err != nil && stale {
		l.stale.Store(true)
	}
	if err != nil || r.set == nil {
		return false
	}
	l.seen = r.seen
	l.set.Store(r.set)
	return true
}

// First reports whether this is the first call for an owner and a subject, such as a skill.
func (l *Live) First(o session.Owner, subject string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.first.Get(o)
	if *seen == nil {
		*seen = map[string]bool{}
	}
	if (*seen)[subject] {
		return false
	}
	(*seen)[subject] = true
	return true
}

// Forget drops what was recorded for an owner that has ended.
func (l *Live) Forget(o session.Owner) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first.Delete(o)
}

// Applies returns a note on the skills whose patterns match a file for the first time in a
// session, or "".
func (l *Live) Applies(v session.View, file string) string {
	if l == nil || file == "" {
		return ""
	}
	var notes []string
	for _, k := range l.set.Load().Skills { // a read of a file does not wait for the folders
		if k.UserOnly || !k.matches(v.Roots, file) || !l.First(v.Owner(), k.Name) {
			continue
		}
		notes = append(notes, fmt.Sprintf("[The skill %s applies to this file: %s Load it with the tool Skill.]", k.Name, sentence(plain.Cut(k.Description, 250))))
	}
	return strings.Join(notes, "\n")
}

// sentence returns a text with a full stop at its end.
func sentence(s string) string {
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".!?") && !strings.HasSuffix(s, "…") {
		s += "."
	}
	return s
}

// matches reports whether a pattern of the skill matches a file, relative to a root.
func (s *Skill) matches(roots []string, file string) bool {
	for _, root := range roots {
		rel, err := filepath.Rel(root, file)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		rel = filepath.ToSlash(rel)
		if slices.ContainsFunc(s.Paths, func(p string) bool {
			ok, _ := doublestar.Match(path.Clean(p), rel)
			return ok
		}) {
			return true
		}
	}
	return false
}
