package assembly

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/console/feed"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// Follow makes a server take over changes of the settings files while it runs.
type Follow struct {
	Start *settings.Found // the settings of the start
	Find  func() (*settings.Found, error)
	// Keys returns the further files that no tool may access with these settings.
	Keys func(*settings.Settings) []string
	// Taken is called when settings have been taken over. It returns tools that take the place of
	// those with their names.
	Taken func(*settings.Found) []*tools.Tool
	// Projects lists which of some roots have files that are used only if the user trusts them, and
	// that need a new start.
	Projects func(roots []string) []string
	State    string
}

// lostFor is the time for which the rules of a settings file that is missing hold. Some editors
// remove a file before they write it again. A later check takes the file for removed.
const lostFor = time.Second

// tries is the number of attempts to read the files while they keep changing.
const tries = 3

// follower replaces the rules of a pipeline when the settings change. The zero value follows
// nothing.
type follower struct {
	Follow
	a      *Assembly
	config Config // of the start
	policy func(Config) *policy.Policy
	places []string
	stamp  atomic.Pointer[settings.Stamp] // of the files when they were last read

	mu      sync.Mutex
	good    settings.Stamp // of the files whose settings hold
	lost    time.Time      // when a file was first missing; zero: none is
	digest  string         // of the settings that hold
	since   time.Time      // when they were taken over
	starts  []string       // keys whose new values need a new start
	problem string         // why newer settings do not hold; "": they hold
	stop    chan struct{}
}

// follow prepares the follower. check begins to follow.
func (a *Assembly) follow(c Config, rules func(Config) *policy.Policy) {
	if c.Follow == nil {
		return
	}
	f := &follower{Follow: *c.Follow, a: a, config: c, policy: rules, places: c.Follow.Start.Places(), digest: c.Follow.Start.Digest(), since: time.Now(), stop: make(chan struct{})}
	f.config.Mode = a.Mode
	f.stamp.Store(new(settings.Stamp)) // the first check reads the files again
	a.follower = f
	a.closers = append(a.closers, f)
}

// Close ends the checks without calls.
func (f *follower) Close() error {
	close(f.stop)
	return nil
}

// watch looks for changes when nothing calls, until Close.
func (f *follower) watch() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-tick.C:
			f.check()
		}
	}
}

// check takes over the settings if a file has changed since the last check. It costs a few
// microseconds if none has.
func (f *follower) check() {
	if f == nil || f.stamp.Load().Same(settings.StampOf(f.places, time.Now())) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before := settings.StampOf(f.places, time.Now())
	if f.stamp.Load().Same(before) {
		return // another call has done it
	}
	for range tries {
		found, err := f.Find()
		after := settings.StampOf(f.places, time.Now())
		if before.Equal(after) { // all files were read in one state
			if f.take(found, err, before) {
				f.stamp.Store(&before) // only now: a call that sees this stamp does not wait
			}
			return
		}
		before = after
	}
	// The files keep changing. The rules still hold, and the next call tries again.
}

// take takes over settings that were found in the state of a stamp. It returns false if a later
// check has to look at the same state again.
func (f *follower) take(found *settings.Found, err error, at settings.Stamp) bool {
	switch {
	case !f.good.Lost(at):
		f.lost = time.Time{}
	case f.lost.IsZero():
		f.lost = time.Now()
		return false
	case time.Since(f.lost) < lostFor:
		return false
	}
	if err != nil {
		if text := plain.Line(err.Error()); text != f.problem {
			f.problem = text
			f.a.log.Warn("the settings have changed and cannot be used; the earlier ones still hold", "error", text)
			f.a.pipeline.Announce(fmt.Sprintf("[The settings have changed and cannot be used, so the earlier ones still hold: %s. Ask the user to correct the file.]", text))
		}
		return true
	}
	f.good, f.lost = at, time.Time{}
	digest := found.Digest()
	if digest == f.digest && f.problem == "" {
		return true
	}
	f.problem = ""
	if digest != f.digest {
		f.digest, f.since = digest, time.Now()
		f.apply(found)
	}
	var notes []string
	if f.starts = f.needStart(found); len(f.starts) > 0 {
		list := plain.Line(strings.Join(f.starts, ", "))
		f.a.log.Warn("a change of the settings holds only after a new start of the server", "keys", list)
		notes = append(notes, fmt.Sprintf("[The settings have changed. The new values of %s hold after a new start of the server. Tell the user.]", list))
	}
	if found.Notice != f.Start.Notice && found.Notice != "" {
		notes = append(notes, found.Notice)
	}
	f.a.pipeline.Announce(strings.Join(notes, "\n"))
	return true
}

// needStart returns the keys of found whose values hold only after a new start.
func (f *follower) needStart(found *settings.Found) []string {
	keys := f.Start.Merged.NeedStart(found.Merged)
	changed := slices.Concat(without(found.Trusted, f.Start.Trusted), without(f.Start.Trusted, found.Trusted))
	for _, root := range f.Projects(changed) {
		keys = append(keys, "skills and agent files of "+root)
	}
	return keys
}

// holding describes the settings that hold, after a look at the files.
func (f *follower) holding() feed.Settings {
	f.check()
	f.mu.Lock()
	defer f.mu.Unlock()
	return feed.Settings{Places: f.places, Digest: f.digest, Since: f.since.UnixMilli(), NeedStart: slices.Clone(f.starts), Problem: f.problem}
}

// apply makes the rules of found hold.
func (f *follower) apply(found *settings.Found) {
	c := f.config
	c.Settings, c.AddTo = found.Merged, found.AddTo
	keys := f.Keys(found.Merged)
	c.Closed = slices.Concat(c.Closed, found.Closed, keys)
	c.Guarded = slices.Concat(c.Guarded, found.Files)
	r := pipeline.Rules{Policy: f.policy(c)}
	f.a.judge(c, &r)
	_, protected := found.FromCommands(nil, f.State)
	r.Unchanged = without(protected, f.config.Guarded)
	r.Hidden = without(keys, f.config.Closed)
	for _, w := range slices.Concat(found.Warnings, found.Merged.Warnings(), r.Policy.Warnings()) {
		f.a.log.Warn(w)
	}
	for _, t := range f.Taken(found) {
		if err := f.a.Registry.Replace(t); err != nil {
			f.a.log.Error("a tool cannot be replaced", "tool", t.Name, "error", err.Error())
		}
	}
	f.a.pipeline.SetRules(r)
	f.a.Registry.Regate()
	f.a.log.Info("the settings have changed and hold now", "digest", found.Digest())
}

// without returns the members of list that are not in other.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}
