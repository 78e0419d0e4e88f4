package command

import (
	"errors"
	"os"
	"testing"
	"time"

	"mcp-toolset/internal/exec/spool"
)

// TestQuotaEnds checks that a command that prints more than the quota is ended with its
// process tree, and that the output up to the quota is stored.
func TestQuotaEnds(t *testing.T) {
	const most = 1 << 20
	for name, script := range map[string]string{
		"alone":     "yes",
		"child":     "setsid yes & wait",
		"one line":  "tr '\\0' x </dev/zero",
		"stubborn":  "trap '' TERM PIPE; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
		"read-only": "yes",
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := newCommands(t, func(c *Config) { c.Quota = spool.Quota{Task: most, All: 4 * most} })
			if name == "read-only" && c.ReadOnly(t.Context()) != nil {
				t.Skip("nothing is kept from writing here")
			}
			r, err := c.Start(t.Context(), Spec{Script: script, Dir: c.config.Roots[0], ReadOnly: name == "read-only", Grace: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-r.Done():
			case <-time.After(30 * time.Second):
				t.Fatal("it goes on")
			}
			result := r.Result()
			printed, stored := r.Output.Bytes()
			if result.EndReason != Quota || !result.Exit.Ended || !errors.Is(r.Output.Err(), spool.ErrTaskQuota) {
				t.Errorf("got %+v, %v", result, r.Output.Err())
			}
			info, err := os.Stat(r.Output.Path())
			if err != nil || info.Size() > most || stored > most || stored < most/2 || printed < stored {
				t.Errorf("%d bytes printed, %d stored, %v %v", printed, stored, info, err)
			}
		})
	}
}

// TestQuotaOfAll checks that the outputs of running commands count together, and that
// commands continue if they leave no room.
func TestQuotaOfAll(t *testing.T) {
	const most = 1 << 20
	c, root := newCommands(t, func(c *Config) { c.Quota = spool.Quota{Task: 4 * most, All: most} })
	first, err := c.Start(t.Context(), Spec{Script: "head -c 600000 /dev/zero; echo; sleep 300", Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	for printed := int64(0); printed < 600_000; printed, _ = first.Output.Bytes() {
		select {
		case <-first.Done():
			t.Fatalf("the first ended: %+v", first.Result())
		case <-time.After(5 * time.Millisecond):
		}
	}
	second, err := c.Start(t.Context(), Spec{Script: "head -c 900000 /dev/zero; sleep 300", Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	for second.Output.Err() == nil {
		select {
		case <-second.Done():
			t.Fatalf("the second ended: %+v", second.Result())
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := second.Output.Err(); !errors.Is(err, spool.ErrAllQuota) {
		t.Errorf("the second: %v", err)
	}
	third, err := c.Start(t.Context(), Spec{Script: "echo begin; echo end", Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	if got := third.Result(); got.EndReason != ByItself || got.Code != 0 {
		t.Errorf("the third: %+v", got)
	}
	if view, err := third.Output.View(100); err != nil || view.Head != "begin\nend\n" {
		t.Errorf("the third: %+v, %v", view, err)
	}
	for name, r := range map[string]*Running{"first": first, "second": second} {
		select {
		case <-r.Done():
			t.Errorf("the %s ended too: %+v", name, r.Result())
		default:
		}
	}
	if err := second.End(Stopped, 0); err != nil {
		t.Error(err)
	}
	if err := first.End(Stopped, 0); err != nil {
		t.Error(err)
	}
}
