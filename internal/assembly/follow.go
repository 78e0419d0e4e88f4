package assembly

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
)

// Follow makes a server take over changes of the settings files while it runs.
type Follow struct {
	Start *settings.Found // the settings of the start
	Find  func() (*settings.Found, error)
	// Keys returns the further files that no tool may access with these settings.
	Keys  func(*settings.Settings) []string
	Taken func(*settings.Found) // called when settings have been taken over
	State string
}

// lostFor is the time for which a settings file may be missing while an editor replaces it. Until
// then the rules of the file hold.
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
	problem string         // why newer settings do not hold; "": they hold
	stop    chan struct{}
}

// follow prepares the follower. check begins to follow.
func (a *Assembly) follow(c Config, rules func(Config) *policy.Policy) {
	if c.Follow == nil {
		return
	}
	f := &follower{Follow: *c.Follow, a: a, config: c, policy: rules, places: c.Follow.Start.Places(), digest: c.Follow.Start.Digest(), stop: make(chan struct{})}
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
			f.take(found, err, before)
			return
		}
		before = after
	}
	// The files keep changing. The rules still hold, and the next call tries again.
}

// take takes over settings that were found in the state of a stamp.
func (f *follower) take(found *settings.Found, err error, at settings.Stamp) {
	if f.good.Lost(at) {
		if f.lost.IsZero() {
			f.lost = time.Now()
		}
		if time.Since(f.lost) < lostFor {
			return
		}
	}
	f.stamp.Store(&at)
	if err != nil {
		if text := plain.Line(err.Error()); text != f.problem {
			f.problem = text
			f.a.log.Warn("the settings have changed and cannot be used; the earlier ones still hold", "error", text)
			f.a.pipeline.Announce(fmt.Sprintf("[The settings have changed and cannot be used, so the earlier ones still hold: %s. Ask the user to correct the file.]", text))
		}
		return
	}
	f.good, f.lost = at, time.Time{}
	digest := found.Digest()
	if digest == f.digest && f.problem == "" {
		return
	}
	f.problem = ""
	if digest != f.digest {
		f.digest = digest
		f.apply(found)
	}
	var notes []string
	if keys := f.Start.Merged.NeedStart(found.Merged); len(keys) > 0 {
		list := plain.Line(strings.Join(keys, ", "))
		f.a.log.Warn("a change of the settings holds only after a new start of the server", "keys", list)
		notes = append(notes, fmt.Sprintf("[The settings have changed. The new values of %s hold after a new start of the server. Tell the user.]", list))
	}
	if found.Notice != f.Start.Notice && found.Notice != "" {
		notes = append(notes, found.Notice)
	}
	f.a.pipeline.Announce(strings.Join(notes, "\n"))
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
	f.Taken(found)
	f.a.pipeline.SetRules(r)
	f.a.Registry.Regate()
	f.a.log.Info("the settings have changed and hold now", "digest", found.Digest())
}

// without returns the members of list that are not in other.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}
