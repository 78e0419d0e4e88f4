package worklist

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/text/fault"
)

// show returns the items of a list in short: id, first letter of the status, owner,
// blockers, subject.
func show(l List) string {
	var all []string
	for _, it := range l.Items {
		text := fmt.Sprintf("%d%c", it.ID, it.Status[0])
		if it.Owner != "" {
			text += "@" + it.Owner
		}
		if len(it.BlockedBy) > 0 {
			text += fmt.Sprint(it.BlockedBy)
		}
		all = append(all, text+" "+it.Subject)
	}
	return strings.Join(all, ", ")
}

// step is one change of a list, with the wanted error or the wanted list.
type step struct {
	change Change
	by     string
	err    string
	want   string
}

func text(s string) *string { return &s }

// listOf returns a list of items with these subjects.
func listOf(t testing.TB, subjects ...string) List {
	t.Helper()
	var l List
	for _, s := range subjects {
		if _, err := l.Create(Draft{Subject: s}); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// apply changes a list as a Store does: an error changes nothing.
func apply(l *List, change func(*List) error) error {
	next := l.Clone()
	if err := change(&next); err != nil {
		return err
	}
	*l = next
	return nil
}

func TestUpdate(t *testing.T) {
	for name, steps := range map[string][]step{
		"claim": {
			{Change{ID: "1", Status: InProgress}, "x", "", "1i@x a, 2p b, 3p c"},
			{Change{ID: "1", Status: InProgress}, "x", "", "1i@x a, 2p b, 3p c"},
			{Change{ID: "1", Status: InProgress}, "y", "task 1 is in progress by x. Take another task; only if that owner has stopped, set this one to pending first.", ""},
			{Change{ID: "1", Status: InProgress, Owner: text("y")}, "x", "task 1 is in progress by x. Take another task; only if that owner has stopped, set this one to pending first.", ""},
			{Change{ID: "1", Owner: text("y")}, "y", "task 1 is in progress by x. Take another task; only if that owner has stopped, set this one to pending first.", ""},
			{Change{ID: "1", Status: InProgress, Owner: text("x")}, "y", "", "1i@x a, 2p b, 3p c"}, // it acts as x
			{Change{ID: "1", Subject: text("A")}, "y", "", "1i@x A, 2p b, 3p c"},
			{Change{ID: "1", Status: Pending}, "y", "", "1p A, 2p b, 3p c"},
			{Change{ID: "1", Status: InProgress, Owner: text("")}, "y", "", "1i@y A, 2p b, 3p c"},
			{Change{ID: "1", Status: Completed}, "y", "", "1c@y A, 2p b, 3p c"},
			{Change{ID: "1", Status: InProgress}, "x", "", "1i@x A, 2p b, 3p c"},
			{Change{ID: "1", Status: Pending, Owner: text("z")}, "y", "", "1p@z A, 2p b, 3p c"},
			{Change{ID: "1", Status: Pending}, "y", "", "1p@z A, 2p b, 3p c"}, // assigned, not claimed
		},
		"a session's own": {
			{Change{ID: "1", Status: InProgress}, "", "", "1i a, 2p b, 3p c"},
			{Change{ID: "1", Status: InProgress}, "", "", "1i a, 2p b, 3p c"},
			{Change{ID: "1", Owner: text("bob")}, "", "", "1i@bob a, 2p b, 3p c"},
			{Change{ID: "1", Status: InProgress}, "", "task 1 is in progress by bob. Take another task; only if that owner has stopped, set this one to pending first.", ""},
			{Change{ID: "1", Status: Completed}, "", "", "1c@bob a, 2p b, 3p c"},
		},
		"blocked": {
			{Change{ID: "3", AddBlockedBy: []string{"2", "1", "2"}}, "", "", "1p a, 2p b, 3p[1 2] c"},
			{Change{ID: "3", Status: InProgress}, "", "task 3 is blocked by 1, 2. Complete what blocks it first.", ""},
			{Change{ID: "1", Status: Completed}, "", "", "1c a, 2p b, 3p[1 2] c"},
			{Change{ID: "3", Status: InProgress}, "", "task 3 is blocked by 2. Complete what blocks it first.", ""},
			{Change{ID: "2", Status: Deleted}, "", "", "1c a, 3p[1] c"},
			{Change{ID: "3", Status: InProgress}, "", "", "1c a, 3i[1] c"},
			{Change{ID: "1", Status: Pending}, "", "", "1p a, 3i[1] c"},
			{Change{ID: "3", Status: InProgress}, "", "", "1p a, 3i[1] c"}, // it has been started
		},
		"blocked by the same call": {
			{Change{ID: "3", Status: InProgress, AddBlockedBy: []string{"1"}}, "", "task 3 is blocked by 1. Complete what blocks it first.", ""},
			{Change{ID: "1", Status: InProgress, AddBlocks: []string{"2", "3"}}, "", "", "1i a, 2p[1] b, 3p[1] c"},
		},
		"cycles": {
			{Change{ID: "1", AddBlocks: []string{"1"}}, "", "the tasks would block each other: 1 blocks 1. Leave out one of these dependencies.", ""},
			{Change{ID: "1", AddBlocks: []string{"2"}}, "", "", "1p a, 2p[1] b, 3p c"},
			{Change{ID: "2", AddBlocks: []string{"1"}}, "", "the tasks would block each other: 2 blocks 1 blocks 2. Leave out one of these dependencies.", ""},
			{Change{ID: "1", AddBlockedBy: []string{"2"}}, "", "the tasks would block each other: 2 blocks 1 blocks 2. Leave out one of these dependencies.", ""},
			{Change{ID: "2", AddBlocks: []string{"3"}}, "", "", "1p a, 2p[1] b, 3p[2] c"},
			{Change{ID: "3", AddBlocks: []string{"1"}}, "", "the tasks would block each other: 3 blocks 1 blocks 2 blocks 3. Leave out one of these dependencies.", ""},
			{Change{ID: "1", AddBlocks: []string{"3"}}, "", "", "1p a, 2p[1] b, 3p[1 2] c"},
			{Change{ID: "3", AddBlocks: []string{"1"}}, "", "the tasks would block each other: 3 blocks 1 blocks 3. Leave out one of these dependencies.", ""},
		},
		"ids": {
			{Change{ID: "9", Status: Completed}, "", "there is no task 9. Use one of 1, 2, 3.", ""},
			{Change{ID: "1", AddBlocks: []string{"2", "x\n"}}, "", `there is no task "x\n". Use one of 1, 2, 3.`, ""},
			{Change{ID: "-1"}, "", "there is no task -1. Use one of 1, 2, 3.", ""},
			{Change{ID: "0"}, "", "there is no task 0. Use one of 1, 2, 3.", ""},
			{Change{ID: "99999999999999999999"}, "", "there is no task 99999999999999999999. Use one of 1, 2, 3.", ""},
			{Change{ID: "3", Status: Deleted}, "", "", "1p a, 2p b"},
			{Change{ID: "3"}, "", "task 3 was deleted. Use one of 1, 2.", ""},
			{Change{ID: "1", Status: Completed}, "", "", "1c a, 2p b"},
			{Change{ID: "3"}, "", "task 3 was deleted. Use one of 2, 1.", ""},
			{Change{ID: "1", Status: Deleted}, "", "", "2p b"},
			{Change{ID: "3"}, "", "task 3 was deleted. The only task is 2.", ""},
			{Change{ID: "2", Status: Deleted}, "", "", ""},
			{Change{ID: "4"}, "", "there is no task 4, as the list is empty. Add a task with TaskCreate.", ""},
		},
		"limits": {
			{Change{ID: "1", Subject: text("")}, "", "subject is empty. Name the work in a few words.", ""},
			{Change{ID: "1", Subject: text(strings.Repeat("é", 201))}, "", "subject has 201 characters, and the most is 200. Put the rest into description.", ""},
			{Change{ID: "1", Description: text(strings.Repeat("é", 10_001))}, "", "description has 10001 characters, and the most is 10000. Shorten it, or write it to a file and name the file.", ""},
			{Change{ID: "1", ActiveForm: text(strings.Repeat("x", 201))}, "", "activeForm has 201 characters, and the most is 200. Shorten it.", ""},
			{Change{ID: "1", Owner: text(strings.Repeat("x", 201))}, "", "owner has 201 characters, and the most is 200. Shorten it.", ""},
			{Change{ID: "1", Metadata: object(`{"a": "` + strings.Repeat("x", 10_000) + `"}`)}, "", "metadata would have 10008 bytes, and the most is 10000. Leave something out, or remove keys by setting them to null.", ""},
			{Change{ID: "1", Subject: text(strings.Repeat("é", 200)), Description: text(strings.Repeat("é", 10_000))}, "", "", "1p " + strings.Repeat("é", 200) + ", 2p b, 3p c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := listOf(t, "a", "b", "c")
			for i, s := range steps {
				before := show(l)
				err := apply(&l, func(l *List) error { _, err := l.Update(s.change, s.by); return err })
				if s.err == "" && err == nil {
					if diff := cmp.Diff(s.want, show(l)); diff != "" {
						t.Errorf("step %d (-want +got):\n%s", i, diff)
					}
					continue
				}
				var f *fault.Fault
				if !errors.As(err, &f) || f.Error() != s.err || f.Next == "" {
					t.Errorf("step %d: %v, want %q", i, err, s.err)
				}
				if show(l) != before {
					t.Errorf("step %d: a refused change made %s of %s", i, show(l), before)
				}
			}
			if err := l.sound(); err != nil {
				t.Error(err)
			}
		})
	}
}

func object(raw string) (m map[string]json.RawMessage) {
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		panic(err)
	}
	return m
}

func TestMetadata(t *testing.T) {
	var l List
	if _, err := l.Create(Draft{Subject: "a", Metadata: object(`{"a": 1, "b": null, "c": {"d": [12345678901234567890]}}`)}); err != nil {
		t.Fatal(err)
	}
	first := l.Items[0]
	it, err := l.Update(Change{ID: "1", Metadata: object(`{"a": null, "e": "x", "none": null}`)}, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(object(`{"c": {"d": [12345678901234567890]}, "e": "x"}`), it.Metadata); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(first.Metadata) != 2 || string(first.Metadata["a"]) != "1" {
		t.Errorf("an item that was read has changed: %s", first.Metadata)
	}
}

func TestMostItems(t *testing.T) {
	l := listOf(t, slices.Repeat([]string{"a"}, maxItems)...)
	const want = "the list has 1000 tasks, and no more fit. Delete completed tasks with TaskUpdate and status deleted."
	create := func(l *List) error { _, err := l.Create(Draft{Subject: "a"}); return err }
	if err := apply(&l, create); err == nil || err.Error() != want {
		t.Error(err)
	}
	if err := apply(&l, func(l *List) error { _, err := l.Update(Change{ID: "7", Status: Deleted}, ""); return err }); err != nil {
		t.Fatal(err)
	}
	if err := apply(&l, create); err != nil || l.Items[maxItems-1].ID != maxItems+1 {
		t.Errorf("%v, the id %d", err, l.Items[maxItems-1].ID)
	}
	if _, err := l.Get("7"); err == nil || err.Error() != "task 7 was deleted. Use one of 1, 2, 3, 4, 5; TaskList shows all." {
		t.Error(err)
	}
}

func TestMostText(t *testing.T) {
	var l List
	var err error
	n := 0
	for ; err == nil && n < maxItems; n++ {
		err = apply(&l, func(l *List) error {
			_, err := l.Create(Draft{Subject: "a", Description: strings.Repeat("é", maxDescription)})
			return err
		})
	}
	const want = "the texts of the list would have 4200210 bytes, and the most is 4194304. Delete completed tasks with TaskUpdate and status deleted."
	if err == nil || err.Error() != want {
		t.Errorf("after %d items: %v", n, err)
	}
}

func TestMostBlockers(t *testing.T) {
	l := listOf(t, slices.Repeat([]string{"a"}, maxBlockers+2)...)
	var blockers []string
	for i := range maxBlockers {
		blockers = append(blockers, fmt.Sprint(i+2))
	}
	if _, err := l.Update(Change{ID: "1", AddBlockedBy: blockers}, ""); err != nil {
		t.Fatal(err)
	}
	const want = "task 1 is blocked by 100 tasks, and no more may block it. Let it be blocked by one task that those block."
	if _, err := l.Update(Change{ID: "1", AddBlockedBy: []string{"102"}}, ""); err == nil || err.Error() != want {
		t.Error(err)
	}
	if _, err := l.Update(Change{ID: "1", Status: InProgress}, ""); err == nil || err.Error() != "task 1 is blocked by 2, 3, 4, 5, 6 and 95 more. Complete what blocks it first." {
		t.Error(err)
	}
}

func TestLongCycle(t *testing.T) {
	l := listOf(t, slices.Repeat([]string{"a"}, 20)...)
	for i := range 19 {
		if _, err := l.Update(Change{ID: fmt.Sprint(i + 1), AddBlocks: []string{fmt.Sprint(i + 2)}}, ""); err != nil {
			t.Fatal(err)
		}
	}
	_, err := l.Update(Change{ID: "20", AddBlocks: []string{"1"}}, "")
	const want = "the tasks would block each other: 20 blocks 1 blocks 2 blocks 3 blocks … blocks 17 blocks 18 blocks 19 blocks 20. Leave out one of these dependencies."
	if err == nil || err.Error() != want {
		t.Error(err)
	}
}

// TestCyclesRandomly compares the refusal of dependencies with the transitive closure.
func TestCyclesRandomly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		const n = 7
		l := listOf(t, slices.Repeat([]string{"a"}, n)...)
		var reach [n + 1][n + 1]bool
		for range 20 {
			a, b := 1+r.IntN(n), 1+r.IntN(n)
			err := apply(&l, func(l *List) error {
				_, err := l.Update(Change{ID: fmt.Sprint(a), AddBlocks: []string{fmt.Sprint(b)}}, "")
				return err
			})
			if want := a == b || reach[b][a]; (err != nil) != want {
				t.Fatalf("%d blocks %d in %s: %v", a, b, show(l), err)
			}
			if err != nil {
				continue
			}
			for i := range reach {
				for j := range reach {
					reach[i][j] = reach[i][j] || (i == a || reach[i][a]) && (j == b || reach[b][j])
				}
			}
			if err := l.sound(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestBlocks(t *testing.T) {
	l := listOf(t, "a", "b", "c")
	if _, err := l.Update(Change{ID: "1", AddBlocks: []string{"3", "2"}}, ""); err != nil {
		t.Fatal(err)
	}
	if got := l.Blocks(1); !slices.Equal(got, []int{2, 3}) || l.Blocks(2) != nil {
		t.Errorf("1 blocks %v", got)
	}
}

func TestReplace(t *testing.T) {
	todo := func(texts ...string) (out []Todo) {
		for _, s := range texts {
			status := map[byte]Status{'p': Pending, 'i': InProgress, 'c': Completed}[s[0]]
			out = append(out, Todo{Subject: s[2:], ActiveForm: s[2:], Status: status})
		}
		return out
	}
	const takenByY = "task 1 is in progress by y. Take another task; only if that owner has stopped, set this one to pending first."
	type replace struct {
		todos     []Todo
		by        string
		err, want string
	}
	for name, tc := range map[string]struct {
		before func(*List)
		steps  []replace
	}{
		"a session's own": {steps: []replace{
			{todo("i a", "p b", "p b"), "", "", "1i a, 2p b, 3p b"},
			{todo("p new", "p b", "c a"), "", "", "4p new, 2p b, 1c a"},
			{todo(), "", "", ""},
			{todo("p a"), "", "", "5p a"},
		}},
		"created items are replaced too": {
			before: func(l *List) { *l = listOf(t, "a", "b") },
			steps:  []replace{{todo("c b"), "", "", "2c b"}},
		},
		"shared": {
			before: func(l *List) { *l = listOf(t, "mine") },
			steps: []replace{
				{todo("i a", "p b"), "x", "", "1p mine, 2i@x a, 3p b"},
				{todo("p b", "i c"), "y", "", "1p mine, 2i@x a, 3p b, 4p b, 5i@y c"},
				{todo("p a"), "x", "", "1p mine, 4p b, 5i@y c, 2p a"},
				{nil, "y", "", "1p mine, 2p a"},
			},
		},
		"what another has in progress": {
			before: func(l *List) {
				if err := l.Replace(todo("p a", "p b"), "x"); err != nil {
					t.Fatal(err)
				}
				if _, err := l.Update(Change{ID: "1", Status: InProgress}, "y"); err != nil {
					t.Fatal(err)
				}
			},
			steps: []replace{
				{todo("i a"), "x", takenByY, ""},
				{todo("p b", "p a"), "x", "", "2p b, 1i@y a"},
				{todo("p c"), "x", "", "1i@y a, 3p c"},
				{todo("c a"), "x", "", "1c@y a"},
			},
		},
		"blocked": {
			before: func(l *List) {
				*l = listOf(t, "a", "b")
				if _, err := l.Update(Change{ID: "1", AddBlocks: []string{"2"}}, ""); err != nil {
					t.Fatal(err)
				}
			},
			steps: []replace{
				{todo("p a", "i b"), "", "task 2 is blocked by 1. Complete what blocks it first.", ""},
				{todo("c a", "i b"), "", "", "1c a, 2i[1] b"},
				{todo("p a", "i b"), "", "", "1p a, 2i[1] b"}, // it has been started
				{todo("i b"), "", "", "2i b"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var l List
			if tc.before != nil {
				tc.before(&l)
			}
			for i, s := range tc.steps {
				before := show(l)
				err := apply(&l, func(l *List) error { return l.Replace(s.todos, s.by) })
				got := ""
				if err != nil {
					got, s.want = err.Error(), before
				}
				if got != s.err || show(l) != s.want {
					t.Errorf("step %d: error %q, want %q; list %s, want %s", i, got, s.err, show(l), s.want)
				}
				if err := l.sound(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
