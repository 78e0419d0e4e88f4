//go:build unix || windows

package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mcp-toolset/internal/consent/question"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestNothingAtStart(t *testing.T) {
	s := newServer(t, "")
	if s.Take(call("ls")) != 0 || s.Always("", "Bash", call("ls").Subject, "/work") || s.wasDeclined("s1", "Bash", call("ls").Subject) {
		t.Error("something is allowed or declined that nobody was asked about")
	}
	s.Forget("s1")
	if _, err := os.Lstat(s.state); !os.IsNotExist(err) {
		t.Errorf("the state folder was made: %v", err)
	}
}

// TestBound checks that an approval is bound to everything the user sees of a
// call, and to its principal.
func TestBound(t *testing.T) {
	base := call("ls")
	other := map[string]func(*Request){
		"principal": func(r *Request) { r.Principal = "http" },
		"tool":      func(r *Request) { r.Tool = "BashReadOnly" },
		"title":     func(r *Request) { r.Title = "Run" },
		"folder":    func(r *Request) { r.Dir = "/work" },
		"root":      func(r *Request) { r.Root = "/other" },
		"input":     func(r *Request) { r.Input = json.RawMessage(`{"command":"rm"}`) },
		"spelling":  func(r *Request) { r.Input = json.RawMessage(`{"command": "ls"}`) },
		"escape":    func(r *Request) { r.Input = json.RawMessage(`{"command":"l\u0073"}`) },
		"reason":    func(r *Request) { r.Reason = "" },
		"kind":      func(r *Request) { r.Subject.Kind = "input" },
		"access":    func(r *Request) { r.Subject.Access = "Read" },
		"value":     func(r *Request) { r.Subject.Value = "l" },
		"once":      func(r *Request) { r.Once = "a rule asks each time" },
		"borders":   func(r *Request) { r.Tool, r.Title = "Bas", "h"+r.Title },
	}
	s := newServer(t, "")
	n := s.pend(t, base)
	if err := s.Approve(n, "", false); err != nil {
		t.Fatal(err)
	}
	for name, change := range other {
		r := base
		change(&r)
		if s.Take(r) != 0 {
			t.Errorf("the approval was taken by a call with another %s", name)
		}
		if m := s.pend(t, r); m == n {
			t.Errorf("a call with another %s has the same number", name)
		}
	}
	same := base
	same.Session = "s2"
	if s.Take(same) == 0 {
		t.Error("the same call could not take its approval")
	}
	if s.Take(base) != 0 {
		t.Error("an approval was taken twice")
	}
}

// TestKept checks that later changes to the caller's bytes have no effect.
func TestKept(t *testing.T) {
	s := newServer(t, "")
	r := call("ls")
	input := bytes.Clone(r.Input)
	n := s.pend(t, r)
	copy(r.Input, `{"command":"rm"}`)
	o, err := List(t.Context(), s.state, n)
	if err != nil || !bytes.Equal(o.Items[0].Input, input) {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestNumbers(t *testing.T) {
	s := newServer(t, "")
	if n := s.pend(t, call("a")); n != 1 {
		t.Errorf("the first number is %d", n)
	}
	if n := s.pend(t, call("b")); n != 2 {
		t.Errorf("the second number is %d", n)
	}
	if n := s.pend(t, call("a")); n != 1 {
		t.Errorf("the same call has number %d", n)
	}
	// A granted approval retains its number until it is taken.
	if err := s.Approve(1, "", false); err != nil {
		t.Fatal(err)
	}
	if n := s.pend(t, call("a")); n != 1 {
		t.Errorf("the same call, approved, has number %d", n)
	}
	if s.Take(call("a")) == 0 {
		t.Error("not taken")
	}
	if n := s.pend(t, call("a")); n != 3 {
		t.Errorf("the same call, once it has run, has number %d", n)
	}
	// Removing the counter file does not make a number be used twice.
	if err := os.Remove(s.folder + "/" + counterName); err != nil {
		t.Fatal(err)
	}
	if n := s.pend(t, call("c")); n != 4 {
		t.Errorf("without the file, the number is %d", n)
	}
	if err := os.WriteFile(s.folder+"/"+counterName, []byte("many"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := s.Pend(call("d"))
	wants(t, err, "drawing a number: "+filepath.Join(s.folder, counterName)+" holds no number; remove it to begin at 1")
}

func TestRefusedRequests(t *testing.T) {
	s := newServer(t, "")
	for input, want := range map[string]string{
		"{":                                    "the input of the call is not JSON",
		"\"\xff\"":                             "the input of the call is not JSON",
		`"` + strings.Repeat("x", 2<<20) + `"`: fmt.Sprintf("the call has %d bytes, and more than 2097152 cannot be shown to the user", 2<<20+2),
	} {
		_, err := s.Pend(Request{Tool: "T", Input: json.RawMessage(input)})
		wants(t, err, want)
	}
}

func TestExpiry(t *testing.T) {
	s := newServer(t, "")
	n := s.pend(t, call("a"))
	s.clock.add(pendingFor - time.Second)
	if m := s.pend(t, call("a")); m != n {
		t.Errorf("pending as %d, then as %d", n, m)
	}
	s.clock.add(time.Second)
	wants(t, s.Approve(n, "", false), "approval 1 has expired")
	wants(t, s.Deny(n, "", ""), "approval 1 has expired")
	_, err := Approve(t.Context(), s.state, n, false)
	wants(t, err, "approval 1 has expired; none is pending")

	n = s.pend(t, call("a"))
	for _, late := range []bool{false, true} {
		if err := s.Approve(n, "", false); err != nil {
			t.Fatal(err)
		}
		s.clock.add(GrantedFor - time.Second)
		if late {
			s.clock.add(time.Second)
		}
		if got := s.Take(call("a")) != 0; got == late {
			t.Errorf("%v after it was given: taken %v", GrantedFor, got)
		}
		n = s.pend(t, call("a"))
	}
}

// TestApprovedLate checks that the lifetime of a grant counts from the
// approval, not from the request.
func TestApprovedLate(t *testing.T) {
	s := newServer(t, "")
	n := s.pend(t, call("a"))
	s.clock.add(20 * time.Hour)
	if err := s.Approve(n, "", false); err != nil {
		t.Fatal(err)
	}
	s.clock.add(GrantedFor - time.Second)
	if s.Take(call("a")) == 0 {
		t.Error("not taken")
	}
}

func TestSingleUse(t *testing.T) {
	s := newServer(t, "")
	if err := s.Approve(s.pend(t, call("a")), "", false); err != nil {
		t.Fatal(err)
	}
	var taken atomic.Int32
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 50 {
		wg.Go(func() {
			<-start
			if s.Take(call("a")) != 0 {
				taken.Add(1)
			}
		})
	}
	close(start)
	wg.Wait()
	if taken.Load() != 1 {
		t.Errorf("%d calls took one approval", taken.Load())
	}
}

func TestBounds(t *testing.T) {
	s := newServer(t, "")
	first := s.pend(t, call("first"))
	if err := s.Approve(first, "", false); err != nil {
		t.Fatal(err)
	}
	// The items are added without the socket, to avoid a thousand file writes.
	s.mu.Lock()
	for i := range maxPending {
		r := call(fmt.Sprint(i))
		s.items = append(s.items, &item{number: 100 + i, key: r.key(), request: r, waiters: []waiter{{session: "s1"}}, since: s.config.Now()})
	}
	s.mu.Unlock()
	if s.number(100) == nil {
		t.Error("given up though there is room")
	}
	s.pend(t, call("last"))
	wants(t, s.Deny(100, "", ""), "approval 100 was given up for newer ones")
	if len(s.items) != maxPending+1 { // and one that was granted
		t.Errorf("%d are held", len(s.items))
	}
	if s.Take(call("first")) == 0 {
		t.Error("one that was given had to go")
	}
	// Fewer large items exceed the limit.
	large := json.RawMessage(`"` + strings.Repeat("x", maxInput/2) + `"`)
	for i := range 2 * maxHeld / maxInput {
		s.pend(t, Request{Tool: fmt.Sprint(i), Input: large})
	}
	if len(s.items) >= 2*maxHeld/maxInput {
		t.Errorf("%d are held, with %d bytes each", len(s.items), len(large))
	}
	for i := range 2 * maxOutcomes {
		s.mu.Lock()
		it := &item{number: 10000 + i}
		s.items = append(s.items, it)
		s.end(it, outcomeUsed)
		s.mu.Unlock()
	}
	if len(s.outcomes) != maxOutcomes || len(s.outcomeOrder) != maxOutcomes {
		t.Errorf("%d and %d fates", len(s.outcomes), len(s.outcomeOrder))
	}
}

// TestDeclinedAs checks that a decline also holds for the tool under whose rules the call stands.
func TestDeclinedAs(t *testing.T) {
	s := newServer(t, "")
	r := call("rm")
	r.Tool, r.As = "Monitor", "Bash"
	if err := s.Deny(s.pend(t, r), "", ""); err != nil {
		t.Fatal(err)
	}
	if !s.wasDeclined("s1", "Monitor", r.Subject) || !s.wasDeclined("s1", "Bash", r.Subject) {
		t.Error("not declined for both tools")
	}
}

// TestReplied checks that the reply is reported before a call can take it, and that it is
// retained as long as a question.
func TestReplied(t *testing.T) {
	s := newServer(t, "")
	r := call("ask")
	r.Questions = []question.Question{{Header: "H", Options: []question.Option{{Label: "A"}, {Label: "B"}}}}
	reported := 0
	r.Replied = func(n int, reply question.Reply) {
		if reported = n; s.mu.TryLock() {
			t.Error("a call can take the reply before it is reported")
		}
	}
	n := s.pend(t, r)
	wants(t, s.Reply(n, "", question.Reply{}), "1 question and 0 answers do not match")
	wants(t, s.Approve(n, "", false), "1 is a question; answer it with `mcp-toolset answer 1`")
	if err := s.Reply(n, "", question.Reply{Answers: []question.Answer{{Choices: []string{"B"}}}}); err != nil || reported != n {
		t.Fatalf("reported %d: %v", reported, err)
	}
	wants(t, s.Deny(n, "", ""), "question 1 was answered already")
	s.mu.Lock()
	ends := s.items[0].ends().Sub(s.items[0].granted)
	s.mu.Unlock()
	if ends != pendingFor {
		t.Errorf("it is retained for %v", ends)
	}
	other := r
	other.Session = "s2"
	if _, n := s.TakeReply(other); n != 0 {
		t.Error("another session takes the reply")
	}
	if reply, n := s.TakeReply(r); n != 1 || reply.Answers[0].Choices[0] != "B" {
		t.Errorf("%d: %+v", n, reply)
	}
	if _, n := s.TakeReply(r); n != 0 {
		t.Error("taken twice")
	}
}

func TestDeclined(t *testing.T) {
	s := newServer(t, "")
	r := call("rm")
	n := s.pend(t, r)
	again := r
	again.Session = "s2"
	s.pend(t, again)
	if err := s.Deny(n, "", ""); err != nil {
		t.Fatal(err)
	}
	wants(t, s.Approve(n, "", false), "approval 1 was declined")
	if s.Take(r) != 0 {
		t.Error("taken though it was declined")
	}
	for _, tc := range []struct {
		session, tool string
		subject       Subject
		want          bool
	}{
		{"s1", "Bash", r.Subject, true},
		{"s2", "Bash", r.Subject, true}, // it waited for the approval as well
		{"s3", "Bash", r.Subject, false},
		{"", "Bash", r.Subject, false},
		{"s1", "BashReadOnly", r.Subject, false},
		{"s1", "Bash", Subject{Kind: "command", Value: "rm "}, false},
		{"s1", "Bash", Subject{Kind: "path", Value: "rm"}, false},
		{"s1", "Bash", Subject{Kind: "command", Access: "Edit", Value: "rm"}, false},
	} {
		if got := s.wasDeclined(tc.session, tc.tool, tc.subject); got != tc.want {
			t.Errorf("%+v: declined is %v", tc, got)
		}
	}
	// A subject declined in another way also has a number to lift it by.
	path := Subject{Kind: "path", Access: "Edit", Value: "/work/a"}
	s.Decline("s1", "Write", path, nil)
	s.Decline("s1", "Write", path, nil)
	o, err := List(t.Context(), s.state, 0)
	if err != nil || len(o.Declined) != 3 || o.Declined[2].Number != 2 || o.Declined[2].Subject != path {
		t.Fatalf("%+v, %v", o.Declined, err)
	}
	if _, err := Lift(t.Context(), s.state, 2); err != nil || s.wasDeclined("s1", "Write", path) {
		t.Errorf("not lifted: %v", err)
	}
	_, err = Lift(t.Context(), s.state, 2)
	wants(t, err, "nothing was declined by number 2; `mcp-toolset approvals` has the numbers")
	wants(t, s.lift(2), "nothing was declined by number 2")
	if !s.wasDeclined("s1", "Bash", r.Subject) {
		t.Error("lifting one lifted another")
	}
	// A decline without a session or a subject is not recorded.
	s.Decline("", "Write", path, nil)
	s.Decline("s1", "Write", Subject{Kind: "input"}, nil)
	if s.wasDeclined("", "Write", path) || s.wasDeclined("s1", "Write", Subject{Kind: "input"}) {
		t.Error("declined without a conversation, or nothing")
	}
	for i := range maxDeclined + 1 {
		s.decline(i, waiter{session: "s9"}, "T", Subject{Kind: "input", Value: fmt.Sprint(i)}, "")
	}
	if len(s.declined) != maxDeclined {
		t.Errorf("%d declines are remembered", len(s.declined))
	}
}

// TestTakenBack checks that a denial revokes a grant that was not used.
func TestTakenBack(t *testing.T) {
	s := newServer(t, "")
	n := s.pend(t, call("rm"))
	if err := s.Approve(n, "", false); err != nil {
		t.Fatal(err)
	}
	if err := s.Deny(n, "", ""); err != nil {
		t.Fatal(err)
	}
	if s.Take(call("rm")) != 0 {
		t.Error("taken though it was taken back")
	}
}

func TestForget(t *testing.T) {
	s := newServer(t, "")
	both, one, given, none := call("both"), call("one"), call("given"), call("none")
	none.Session = ""
	n := s.pend(t, both)
	both.Session = "s2"
	s.pend(t, both)
	m := s.pend(t, one)
	if err := s.Approve(s.pend(t, given), "", false); err != nil {
		t.Fatal(err)
	}
	l := s.pend(t, none)
	s.Decline("s1", "T", Subject{Kind: "path", Value: "/a"}, nil)
	s.Decline("s2", "T", Subject{Kind: "path", Value: "/a"}, nil)
	s.Forget("s1")
	s.Forget("")
	if s.wasDeclined("s1", "T", Subject{Kind: "path", Value: "/a"}) || !s.wasDeclined("s2", "T", Subject{Kind: "path", Value: "/a"}) {
		t.Error("other declines are left than those of the other conversation")
	}
	wants(t, s.Approve(m, "", false), "approval 2 was of a conversation that has ended")
	for _, number := range []int{n, l} {
		if err := s.Approve(number, "", false); err != nil {
			t.Error(err)
		}
	}
	if s.Take(given) == 0 {
		t.Error("what was given went with the conversation")
	}
}

// TestAnswered checks that each session that waits gets every answer of the user, once.
func TestAnswered(t *testing.T) {
	s := newServer(t, "")
	var got []string
	pend := func(title, session string) int {
		r := call(title)
		r.Session = session
		r.Answered = func(n int, a Answer, reason string) {
			got = append(got, fmt.Sprint(session, " ", n, " ", a, " ", reason))
		}
		n, err := s.Pend(r)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	one := pend("one", "s1")
	pend("one", "s2")
	pend("one", "s1")
	must(s.Approve(one, "", false))
	two := pend("two", "s1")
	must(s.Approve(two, "", true))
	three := pend("three", "s1")
	must(s.Deny(three, "", "no"))
	must(s.lift(three))
	want := []string{"s2 1 0 ", "s1 1 0 ", "s1 2 1 ", "s1 3 2 no", "s1 3 3 "}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestClients checks that an item names the clients that wait for it, each once, and what waits for
// the user in a session.
func TestClients(t *testing.T) {
	s := newServer(t, "")
	r := call("make")
	for i, client := range []string{"Cursor", "Cur\nsor", "Cursor", strings.Repeat("x", 100), "c", "d"} {
		r.Session, r.Client = fmt.Sprint(i), client
		if _, err := s.Pend(r); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := s.Items(0)[0].Client, `Cursor, Cur\nsor, `+strings.Repeat("x", 59)+`…, 2 more`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := s.Waiting("3"); len(got) != 1 || !strings.HasPrefix(got[0], "approval 1: ") || s.Waiting("9") != nil || s.Waiting("") != nil {
		t.Errorf("%q", got)
	}
	if got := AskedBy(Item{Client: "Cursor", Process: 4470}); got != "Cursor (process 4470)" {
		t.Error(got)
	}
}
