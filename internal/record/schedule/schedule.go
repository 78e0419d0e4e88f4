// Package schedule holds the schedules of sessions, and makes an event of each firing.
//
// A schedule is in memory and ends with its session, or it is durable: then it is in a file
// of the state folder, which all servers with that folder use, and it belongs to the
// principal and the first root of its session.
package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/record/durable"
	"mcp-toolset/internal/text/fault"
)

const (
	// maxOwned is the limit of schedules that a session can see.
	maxOwned = 50
	// maxMemory and maxDurable are the limits of all schedules of a server in memory, and of
	// all in the file.
	maxMemory, maxDurable = 2000, 200
	// maxPrompt is the limit of a prompt, in characters. With a note it fits into an event.
	maxPrompt = 1600
	// maxWord is the limit of an expression and of the name of a time zone, in bytes.
	maxWord = 200
	// Lifetime is the time after which a recurring schedule ends.
	Lifetime = 30 * 24 * time.Hour
	// maxCounted is the limit up to which missed firings are counted.
	maxCounted = 100
)

// Schedule is a time or a series of times at which a session gets a prompt.
type Schedule struct {
	ID      string    `json:"id"` // 1, 2, 3, ... in memory, d1, d2, d3, ... if durable
	Cron    string    `json:"cron"`
	Zone    string    `json:"zone,omitempty"` // "": that of the machine
	Prompt  string    `json:"prompt"`
	Command string    `json:"command,omitempty"` // what runs instead of a prompt; only in memory
	Once    bool      `json:"once,omitempty"`
	Created time.Time `json:"created"`
	Next    time.Time `json:"next"`

	// Of a durable schedule: whose it is, and the server that fires it, as long as that one
	// is in time.
	Principal string `json:"principal,omitempty"`
	Root      string `json:"root,omitempty"`
	Server    string `json:"server,omitempty"`
}

// Durable reports whether the schedule is in the file.
func (s *Schedule) Durable() bool { return DurableID(s.ID) }

// DurableID reports whether an id is one of a durable schedule.
func DurableID(id string) bool { return strings.HasPrefix(id, "d") }

// Ends returns the time after which a recurring schedule does not fire.
func (s *Schedule) Ends() time.Time { return s.Created.Add(Lifetime) }

func (s *Schedule) key() durable.Key { return durable.Key{Principal: s.Principal, Root: s.Root} }

// Draft holds the properties of a new schedule.
type Draft struct {
	Cron, Zone, Prompt string
	Once, Durable      bool

	Command string // takes the place of Prompt
}

// Check refuses a draft of which no schedule can be made.
func (d Draft) Check() error {
	_, err := d.schedule(time.Now())
	return err
}

// schedule checks a draft and returns its schedule, without an id.
func (d Draft) schedule(now time.Time) (Schedule, error) {
	name, text := "prompt", d.Prompt
	switch {
	case d.Command != "" && d.Prompt != "":
		return Schedule{}, fault.New("prompt and command are both given", "Give one of them.")
	case d.Command != "" && d.Durable:
		return Schedule{}, fault.New("a durable schedule cannot run a command", "Give a prompt that asks you to run it, or set durable to false.")
	case d.Command != "":
		name, text = "command", d.Command
	}
	if n := utf8.RuneCountInString(text); n > maxPrompt {
		return Schedule{}, fault.New(fmt.Sprintf("%s has %d characters, and the most is %d", name, n, maxPrompt), "Write the rest to a file, and name the file.")
	}
	if strings.TrimSpace(text) == "" {
		return Schedule{}, fault.New("prompt and command are empty", "Give the text of the event, or a command.")
	}
	if len(d.Cron) > maxWord || len(d.Zone) > maxWord {
		return Schedule{}, fault.New(fmt.Sprintf("cron or timezone has more than %d characters", maxWord), example)
	}
	cron, err := Parse(d.Cron, d.Zone)
	if err != nil {
		return Schedule{}, err
	}
	s := Schedule{Cron: d.Cron, Zone: d.Zone, Prompt: d.Prompt, Command: d.Command, Once: d.Once, Created: now.Round(0).UTC().Truncate(time.Second)}
	if s.Next, err = cron.Next(now); err != nil {
		return Schedule{}, err
	}
	if s.Next = s.Next.UTC(); !s.Once && s.Next.After(s.Ends()) {
		return Schedule{}, fault.New(fmt.Sprintf("the first firing would be at %s, and a recurring schedule ends after 30 days", cron.Format(s.Next)),
			"Set recurring to false, or choose an earlier time.")
	}
	return s, nil
}

// due reports whether the schedule fires at a time.
func (s *Schedule) due(now time.Time) bool { return !now.Before(s.Next) }

// advance returns the text of the event for all firings up to now, and moves Next after
// now. live reports whether a server was there to fire them: then they are one firing.
// Otherwise the event states how many were missed. If last is true, the schedule has ended.
func (s *Schedule) advance(now time.Time, live bool) (text string, last bool) {
	cron, err := Parse(s.Cron, s.Zone)
	if err != nil {
		return fmt.Sprintf("This schedule has ended: %v", err), true
	}
	first, count := s.Next, 1
	next, err := cron.Next(first)
	for !s.Once && err == nil && !next.After(now) && !next.After(s.Ends()) && count < maxCounted {
		count++
		next, err = cron.Next(next)
	}
	if !next.After(now) && err == nil {
		next, err = cron.Next(now)
	}
	s.Next = next.UTC()
	last = s.Once || err != nil || next.After(s.Ends())
	number, were := fmt.Sprint(count), "firings were"
	switch count {
	case 1:
		were = "firing was"
	case maxCounted:
		number += " or more"
	}
	since := cron.Format(first)
	switch {
	case !live && last:
		text = fmt.Sprintf("%s %s missed since %s, as no session was there. The prompt: %s", number, were, since, s.Prompt)
	case !live:
		text = fmt.Sprintf("%s %s missed since %s, as no session was there. The next is at %s. The prompt: %s", number, were, since, cron.Format(next), s.Prompt)
	case count > 1:
		text = fmt.Sprintf("%s [instead of %s firings since %s, for which the server was not in time]", s.Prompt, number, since)
	default:
		text = s.Prompt
	}
	if last && !s.Once {
		text += " [This schedule has ended, 30 days after it was made. CronCreate makes a new one.]"
	}
	return text, last
}

// unknown returns the error for an id that is not that of a schedule in a list.
func unknown(id string, list []Schedule) error {
	fact := "there is no schedule " + id
	ids := make([]string, len(list))
	for i, s := range list {
		ids[i] = s.ID
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	if len(ids) == 0 {
		return fault.New(fact+", as this session has none", "Go on; there is nothing to delete.")
	}
	return fault.Unknown(fact, "schedule", ids, "CronList shows all")
}

// sorted returns a list in the order of the next firings.
func sorted(list []Schedule) []Schedule {
	slices.SortStableFunc(list, func(a, b Schedule) int { return a.Next.Compare(b.Next) })
	return list
}
