package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/session"
)

// world is a server with a state folder.
type world struct {
	*Registry
	t      *testing.T
	events *event.Registry
	jump   atomic.Int64 // by which the clock of the machine differs from that of the test
	log    *strings.Builder
}

// start returns a server with a state folder. It runs until the test ends or it is closed.
func start(t *testing.T, state string) *world {
	w := &world{t: t, events: event.New(), log: new(strings.Builder)}
	w.Registry = New(state, filelock.New(filepath.Join(state, "locks")), w.events, slog.New(slog.NewTextHandler(w.log, nil)))
	w.now = func() time.Time { return time.Now().Add(time.Duration(w.jump.Load())) }
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func view(id string) session.View {
	return session.New(session.Config{ID: id, Principal: "p", Roots: []string{"/src"}}).View()
}

// add makes a schedule in UTC from words such as "once durable".
func (w *world) add(v session.View, cron, prompt, how string) Schedule {
	w.t.Helper()
	s, err := w.Add(w.t.Context(), v, Draft{Cron: cron, Zone: "UTC", Prompt: prompt, Once: strings.Contains(how, "once"), Durable: strings.Contains(how, "durable")}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// heard checks the events of a session since the last check.
func (w *world) heard(v session.View, want ...string) {
	w.t.Helper()
	synctest.Wait()
	events, _ := w.events.Take(v.Owner())
	var got []string
	for _, e := range events {
		// The prompt of another session is data.
		source, other := strings.CutSuffix(e.Source, " of an earlier session")
		if e.Data != other {
			w.t.Errorf("data is %v for %s", e.Data, e.Source)
		}
		got = append(got, e.Time.UTC().Format("02 15:04:05 ")+source+": "+e.Text)
	}
	if g, all := strings.Join(got, "\n"), strings.Join(want, "\n"); g != all {
		w.t.Errorf("the events are\n%s\nwant\n%s", g, all)
	}
}

// ids checks the ids of the schedules that a session can see.
func (w *world) ids(v session.View, want string) {
	w.t.Helper()
	list, err := w.List(v)
	var got []string
	for _, s := range list {
		got = append(got, s.ID)
	}
	if all := strings.Join(got, " "); err != nil || all != want {
		w.t.Errorf("the schedules are %s (%v), want %s", all, err, want)
	}
}

// The clock of a synctest bubble begins at 2000-01-01 00:00 UTC.

func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, b := start(t, t.TempDir()), view("1"), view("2")
		w.add(a, "*/20 * * * *", "look", "")
		w.add(a, "30 * * * *", "one", "once")
		w.add(b, "0 1 * * *", "other", "")
		w.ids(a, "1 2")
		w.ids(b, "3")
		time.Sleep(61 * time.Minute)
		w.heard(a, "01 00:20:00 cron 1: look", "01 00:30:00 cron 2: one", "01 00:40:00 cron 1: look", "01 01:00:00 cron 1: look")
		w.heard(b, "01 01:00:00 cron 3: other")
		w.ids(a, "1")
		if _, err := w.Delete(t.Context(), b, "1"); err == nil || err.Error() != "there is no schedule 1. The only schedule is 3." {
			t.Error(err)
		}
		if _, err := w.Delete(t.Context(), a, "1"); err != nil {
			t.Error(err)
		}
		if _, err := w.Delete(t.Context(), a, "1"); err == nil || err.Error() != "there is no schedule 1, as this session has none. Go on; there is nothing to delete." {
			t.Error(err)
		}
		w.End(b.Owner())
		time.Sleep(48 * time.Hour)
		w.heard(a)
		w.heard(b)
		w.ids(b, "")
		if entries, err := os.ReadDir(filepath.Dir(w.file.Path)); err != nil || len(entries) != 0 {
			t.Errorf("the state folder has %v (%v)", entries, err)
		}
	})
}

// TestCommand checks that a command runs at each firing, that its text is the event, and that the
// end of the session or the schedule ends it.
func TestCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, b := start(t, t.TempDir()), view("1"), view("2")
		var runs, ended atomic.Int32
		run := func(takes time.Duration) func(context.Context) string {
			return func(ctx context.Context) string {
				runs.Add(1)
				select {
				case <-time.After(takes):
					return "started"
				case <-ctx.Done():
					ended.Add(1)
					return "ended"
				}
			}
		}
		add := func(v session.View, once bool, takes time.Duration) {
			t.Helper()
			if _, err := w.Add(t.Context(), v, Draft{Cron: "* * * * *", Zone: "UTC", Command: "make", Once: once}, run(takes)); err != nil {
				t.Fatal(err)
			}
		}
		add(a, true, time.Second)
		add(b, false, 90*time.Second)
		time.Sleep(3*time.Minute + 20*time.Second)
		w.heard(a, "01 00:01:01 cron 1: started")
		w.heard(b, "01 00:02:00 cron 2: This firing was left out: the command of the one before it still waits to start.",
			"01 00:02:30 cron 2: started")
		w.End(b.Owner())
		synctest.Wait()
		w.heard(b)
		add(a, false, time.Hour)
		time.Sleep(time.Minute)
		if _, err := w.Delete(t.Context(), a, "3"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		w.heard(a)
		add(a, false, time.Hour)
		time.Sleep(time.Minute)
		if err := w.Close(); err != nil || runs.Load() != 5 || ended.Load() != 3 {
			t.Errorf("%v; %d runs, %d of them ended", err, runs.Load(), ended.Load())
		}
	})
	for want, d := range map[string]Draft{
		"prompt and command are both given. Give one of them.":                                                     {Cron: "* * * * *", Prompt: "x", Command: "make"},
		"prompt and command are empty. Give the text of the event, or a command.":                                  {Cron: "* * * * *", Command: " "},
		"a durable schedule cannot run a command. Give a prompt that asks you to run it, or set durable to false.": {Cron: "* * * * *", Command: "make", Durable: true},
		"command has 1601 characters, and the most is 1600. Write the rest to a file, and name the file.":          {Cron: "* * * * *", Command: strings.Repeat("x", 1601)},
	} {
		if err := d.Check(); err == nil || err.Error() != want {
			t.Errorf("%.30q: %v", d.Command, err)
		}
	}
}

func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := start(t, t.TempDir()), view("1")
		w.add(a, "0 0 1,20,30,31 * *", "look", "")
		w.add(a, "0 0 1 3 *", "spring", "once")
		_, err := w.Add(t.Context(), a, Draft{Cron: "0 0 1 3 *", Zone: "Europe/Berlin", Prompt: "x"}, nil)
		if err == nil || err.Error() != "the first firing would be at 2000-03-01 00:00 +0100, and a recurring schedule ends after 30 days. Set recurring to false, or choose an earlier time." {
			t.Error(err)
		}
		time.Sleep(40 * 24 * time.Hour)
		w.heard(a, "20 00:00:00 cron 1: look", "30 00:00:00 cron 1: look",
			"31 00:00:00 cron 1: look [This schedule has ended, 30 days after it was made. CronCreate makes a new one.]")
		time.Sleep(40 * 24 * time.Hour)
		w.heard(a, "01 00:00:00 cron 2: spring")
		w.ids(a, "")
	})
}

// TestJump lets the clock jump, as it does when a machine wakes.
func TestJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := start(t, t.TempDir()), view("1")
		w.add(a, "*/10 * * * *", "look", "")
		w.add(a, "*/15 * * * *", "stored", "durable")
		time.Sleep(90 * time.Second)
		w.jump.Store(int64(3 * time.Hour))
		time.Sleep(time.Minute)
		w.heard(a, "01 00:02:00 cron 1: look [instead of 18 firings since 2000-01-01 00:10 +0000, for which the server was not in time]",
			"01 00:02:00 cron d1: stored [instead of 12 firings since 2000-01-01 00:15 +0000, for which the server was not in time]")
		time.Sleep(8 * time.Minute) // the clock shows 03:10
		w.heard(a, "01 00:10:00 cron 1: look")
	})
}

// TestRestart lets a server be away, and then another one with the same state folder.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state, a := t.TempDir(), view("1")
		first := start(t, state)
		first.add(a, "0 * * * *", "hourly", "durable")
		first.add(a, "30 2 * * *", "one", "durable once")
		first.add(a, "0 0 2 * *", "tomorrow", "durable once")
		first.add(a, "5 * * * *", "gone", "")
		time.Sleep(90 * time.Minute)
		first.heard(a, "01 00:05:00 cron 1: gone", "01 01:00:00 cron d1: hourly", "01 01:05:00 cron 1: gone")
		_ = first.Close()
		time.Sleep(150 * time.Minute) // until 04:00
		second := start(t, state)
		other := session.New(session.Config{ID: "1", Principal: "p", Roots: []string{"/other"}}).View()
		stranger := session.New(session.Config{ID: "2", Principal: "q", Roots: []string{"/src"}}).View()
		time.Sleep(5 * time.Minute)
		for _, v := range []session.View{other, stranger, view("3"), view("4")} {
			second.Use(v)
		}
		second.heard(view("3"))
		time.Sleep(10 * time.Second)
		second.heard(view("3"), "01 04:05:10 cron d1: 3 firings were missed since 2000-01-01 02:00 +0000, as no session was there. The next is at 2000-01-01 05:00 +0000. The prompt: hourly",
			"01 04:05:10 cron d2: 1 firing was missed since 2000-01-01 02:30 +0000, as no session was there. The prompt: one")
		second.ids(view("4"), "d1 d3")
		second.ids(other, "")
		second.ids(stranger, "")
		if _, err := second.Delete(t.Context(), stranger, "d3"); err == nil || err.Error() != "there is no schedule d3, as this session has none. Go on; there is nothing to delete." {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		second.heard(view("3"), "01 05:00:00 cron d1: hourly")
		second.End(view("3").Owner())
		second.Use(view("4"))
		time.Sleep(19 * time.Hour)
		second.heard(view("3"))
		if events, _ := second.events.Take(view("4").Owner()); len(events) != 20 {
			t.Errorf("%d events", len(events)) // 19 of d1, 1 of d3
		}
		second.heard(other)
		second.heard(stranger)
	})
}

// TestDown lets a server be away for weeks.
func TestDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state, a := t.TempDir(), view("1")
		first := start(t, state)
		first.add(a, "* * * * *", "often", "durable")
		first.add(a, "0 0 15 * *", "rare", "durable")
		_ = first.Close()
		time.Sleep(20 * 24 * time.Hour)
		second := start(t, state)
		second.Use(a)
		time.Sleep(10 * time.Second)
		second.heard(a, "21 00:00:10 cron d1: 100 or more firings were missed since 2000-01-01 00:01 +0000, as no session was there. The next is at 2000-01-21 00:01 +0000. The prompt: often",
			"21 00:00:10 cron d2: 1 firing was missed since 2000-01-15 00:00 +0000, as no session was there. The prompt: rare [This schedule has ended, 30 days after it was made. CronCreate makes a new one.]")
		_ = second.Close()
		time.Sleep(20 * 24 * time.Hour)
		third := start(t, state)
		third.Use(a)
		time.Sleep(10 * time.Second)
		third.heard(a, "10 00:00:20 cron d1: 100 or more firings were missed since 2000-01-21 00:01 +0000, as no session was there. The prompt: often [This schedule has ended, 30 days after it was made. CronCreate makes a new one.]")
		third.ids(a, "")
	})
}

// TestTwoServers lets two servers with one state folder fire the same schedules.
func TestTwoServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := t.TempDir()
		one, two := start(t, state), start(t, state)
		a, b := view("1"), view("2")
		one.Use(a)
		two.Use(b)
		for i := range 10 {
			one.add(a, "*/5 * * * *", fmt.Sprint(i), "durable")
		}
		two.ids(b, "d1 d2 d3 d4 d5 d6 d7 d8 d9 d10")
		time.Sleep(31 * time.Minute)
		if events, _ := one.events.Take(a.Owner()); len(events) != 60 {
			t.Errorf("the server of the schedules has %d events", len(events))
		}
		two.heard(b)
		_ = one.Close()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		events, _ := two.events.Take(b.Owner())
		if len(events) != 10 || events[0].Time.UTC().Format("15:04:05 ")+events[0].Text != "00:35:10 0" {
			t.Errorf("the other server has %d events: %v", len(events), events)
		}
		time.Sleep(5 * time.Minute) // from now on it is theirs
		synctest.Wait()
		if events, _ = two.events.Take(b.Owner()); len(events) != 10 || events[0].Time.UTC().Format("15:04:05") != "00:40:00" {
			t.Errorf("the other server has %d events: %v", len(events), events)
		}
	})
}

// TestRace lets two servers find the same schedule due at once.
func TestRace(t *testing.T) {
	state, a := t.TempDir(), view("1")
	maker := start(t, state)
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	maker.jump.Store(int64(time.Until(at)))
	for range 20 {
		maker.add(a, "* * * * *", "x", "durable")
	}
	_ = maker.Close()
	servers := []*world{start(t, state), start(t, state)}
	done := make(chan error, len(servers))
	for _, w := range servers {
		w.use(a)
		go func() { done <- w.fireDurable(at.Add(90 * time.Second)) }()
	}
	total := 0
	for _, w := range servers {
		if err := <-done; err != nil {
			t.Error(err)
		}
		events, _ := w.events.Take(a.Owner())
		total += len(events)
	}
	for _, w := range servers {
		events, _ := w.events.Take(a.Owner())
		total += len(events)
	}
	if total != 20 {
		t.Errorf("20 schedules have fired %d times", total)
	}
}

// TestMakers checks that a session gets the events of its own durable schedules as long as
// it is there, and that a session without calls loses those of others.
func TestMakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, b := start(t, t.TempDir()), view("1"), view("2")
		w.Use(a)
		w.Use(b)
		w.add(b, "0 * * * *", "mine", "durable")
		time.Sleep(61 * time.Minute)
		w.heard(a)
		w.heard(b, "01 01:00:00 cron d1: mine")
		w.End(b.Owner())
		time.Sleep(time.Hour)
		w.heard(a, "01 02:00:00 cron d1: mine")
		c := view("3")
		w.Use(c)
		time.Sleep(time.Hour)
		w.heard(a, "01 03:00:00 cron d1: mine")
		time.Sleep(time.Hour)
		w.Use(c)
		time.Sleep(time.Hour)
		w.heard(a, "01 04:00:00 cron d1: mine")
		w.heard(c, "01 05:00:00 cron d1: mine")
	})
}

func TestLimits(t *testing.T) {
	w, a := start(t, t.TempDir()), view("1")
	_ = w.Close() // nothing fires
	for i := range maxOwned {
		w.add(a, "0 0 1 1 *", "x", []string{"once", "once durable"}[i%2])
	}
	for d, want := range map[Draft]string{
		{Prompt: "x"}:                                 "this session has 50 schedules, and no more are possible. Delete one with CronDelete; CronList shows them.",
		{Prompt: "x", Durable: true}:                  "this session has 50 schedules, and no more are possible. Delete one with CronDelete; CronList shows them.",
		{Prompt: strings.Repeat("é", 1601)}:           "prompt has 1601 characters, and the most is 1600. Write the rest to a file, and name the file.",
		{Prompt: " \n"}:                               "prompt and command are empty. Give the text of the event, or a command.",
		{Prompt: "x", Zone: strings.Repeat("a", 201)}: "cron or timezone has more than 200 characters. " + example,
	} {
		d.Cron, d.Once = "0 0 1 1 *", true
		if _, err := w.Add(t.Context(), a, d, nil); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := w.Delete(t.Context(), a, "9\n9"); err == nil || err.Error() != `there is no schedule "9\n9". Use one of 1, 2, 3, 4, 5; CronList shows all.` {
		t.Error(err)
	}
	if err := w.file.Update(t.Context(), func(c *content) error {
		for c.Last < maxDurable {
			c.Last++
			s := c.Schedules[0]
			s.ID, s.Root = fmt.Sprintf("d%d", c.Last), "/other"
			c.Schedules = append(c.Schedules, s)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	v := view("2")
	v.Roots = nil
	if _, err := w.Add(t.Context(), v, Draft{Cron: "* * * * *", Prompt: "x", Durable: true}, nil); err == nil ||
		err.Error() != "the state folder has 200 durable schedules, and no more are possible. Set durable to false, or delete one with CronDelete." {
		t.Error(err)
	}
	for len(w.own) < maxMemory {
		w.own = append(w.own, owned{Schedule: w.own[0].Schedule, owner: view("3").Owner(), end: func() {}})
	}
	if _, err := w.Add(t.Context(), v, Draft{Cron: "* * * * *", Prompt: "x"}, nil); err == nil ||
		err.Error() != "the sessions of this server have 2000 schedules, and no more are possible. Use Sleep, or try again later." {
		t.Error(err)
	}
}

// TestDamaged checks that a file that cannot be used is refused, left as it is, and does
// not stop schedules in memory.
func TestDamaged(t *testing.T) {
	const head = `{"version":1,"last":2,"schedules":`
	const one = `{"id":"d1","cron":"* * * * *","prompt":"x","created":"2000-01-01T00:00:00Z","next":"2000-01-01T00:00:00Z"}`
	for data, want := range map[string]string{
		``:                                  "it is damaged: unexpected end of JSON input",
		head + `[{"id":"d1"`:                "it is damaged: unexpected end of JSON input",
		`{}`:                                "its version is 0, and this server knows 1",
		`{"version":2,"more":1}`:            "its version is 2, and this server knows 1",
		head + `[],"more":1}`:               `it is damaged: json: unknown field "more"`,
		head + `[` + one + `,` + one + `]}`: "it is damaged: the id d1 is repeated or out of range",
		head + `[{"id":"d3"}]}`:             "it is damaged: the id d3 is repeated or out of range",
		head + `[{"id":"1"}]}`:              `it is damaged: the id 1 is repeated or out of range`,
		head + `[{"id":"d2"}]}`:             "it is damaged: the schedule d2 is not complete",
	} {
		synctest.Test(t, func(t *testing.T) {
			w, a := start(t, t.TempDir()), view("1")
			w.Use(a)
			w.add(a, "* * * * *", "look", "")
			synctest.Wait()
			if err := os.WriteFile(w.file.Path, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			want := "the durable schedules were not used: reading " + w.file.Path + ": " + want + ". Ask the user to repair or remove that file, or to update this server."
			_, listErr := w.List(a)
			_, addErr := w.Add(t.Context(), a, Draft{Cron: "* * * * *", Prompt: "x", Durable: true}, nil)
			_, deleteErr := w.Delete(t.Context(), a, "d1")
			for _, err := range []error{listErr, addErr, deleteErr} {
				if err == nil || err.Error() != want {
					t.Errorf("%v, want %s", err, want)
				}
			}
			time.Sleep(3 * time.Minute)
			w.heard(a, "01 00:01:00 cron 1: look", "01 00:02:00 cron 1: look", "01 00:03:00 cron 1: look")
			if got, err := os.ReadFile(w.file.Path); err != nil || string(got) != data {
				t.Errorf("%s has become %s (%v)", data, got, err)
			}
			_ = w.Close()
			if n := strings.Count(w.log.String(), "durable schedules do not fire"); n != 1 {
				t.Errorf("%d warnings", n)
			}
		})
	}
}

// TestCannotBeStored checks that a firing that cannot be stored does not happen, and happens
// once it can.
func TestCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := start(t, t.TempDir()), view("1")
		w.add(a, "0 * * * *", "look", "durable")
		// A folder that is not empty, in the place of the new file, stops root too.
		inTheWay := w.file.Path + ".new"
		if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := w.Add(t.Context(), a, Draft{Cron: "* * * * *", Prompt: "x", Durable: true}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "storing the durable schedules failed: ") ||
			!strings.HasSuffix(err.Error(), ". See with CronList whether the change was made, and ask the user to look at "+w.file.Path+".") {
			t.Error(err)
		}
		time.Sleep(2*time.Hour + 30*time.Second)
		w.heard(a)
		if err := os.RemoveAll(inTheWay); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.heard(a, "01 02:01:00 cron d1: look [instead of 2 firings since 2000-01-01 01:00 +0000, for which the server was not in time]")
	})
}

// TestKilled checks what is left of a server that is killed while it replaces the file.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state, a := t.TempDir(), view("1")
		first := start(t, state)
		first.add(a, "0 * * * *", "look", "durable")
		_ = first.Close()
		if err := os.WriteFile(first.file.Path+".new", []byte(`{"version":1,"la`), 0o600); err != nil {
			t.Fatal(err)
		}
		second := start(t, state)
		second.Use(a)
		second.ids(a, "d1")
		time.Sleep(61 * time.Minute)
		second.heard(a, "01 01:00:10 cron d1: look")
		if _, err := os.Stat(first.file.Path + ".new"); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})
}

// TestPending checks for which schedules a server has to stay: those that it will fire.
func TestPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := t.TempDir()
		w, a, b := start(t, state), view("a"), view("b")
		pending := func(why string, w *world, want bool) {
			t.Helper()
			if got := w.Pending(); got != want {
				t.Errorf("%s: %t", why, got)
			}
		}
		w.Use(a)
		pending("none", w, false)
		w.add(a, "0 9 * * *", "x", "")
		pending("in memory", w, true)
		w.End(a.Owner())
		pending("of an ended session", w, false)
		w.Use(b)
		kept := w.add(b, "0 9 * * *", "x", "durable")
		pending("durable", w, true)
		other := start(t, state)
		pending("of another server, without a session", other, false)
		other.Use(b)
		pending("of another server, with a session", other, true)
		if _, err := w.Delete(t.Context(), b, kept.ID); err != nil {
			t.Fatal(err)
		}
		pending("deleted", w, false)
		_ = w.Close()
		_ = other.Close()
	})
}
