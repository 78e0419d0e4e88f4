package read

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// askedFor lists the parts of a file that the calls of TestReadsTogether read.
var askedFor = []Input{{}, {Offset: 2}, {Limit: 1}}

// TestReadsTogether checks that random reads that run at the same time leave the session in
// the same state as one after the other: the same records, and the same answer to the next
// read.
func TestReadsTogether(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	for seed := range uint64(150) {
		p := party{t: t, w: w, rnd: rand.New(rand.NewPCG(seed, 9))}
		p.rewrite()
		oneByOne, together := p.fresh(), p.fresh()
		for range 1 + p.rnd.IntN(3) {
			reads := p.random()
			last := make([]int, len(reads)) // how many are done when each runs
			for i := range last {
				last[i] = i
			}
			p.perform(oneByOne, reads, last)
			for i := range last {
				last[i] = p.rnd.IntN(i + 1)
			}
			p.perform(together, reads, last)
			if diff := cmp.Diff(p.state(oneByOne), p.state(together)); diff != "" {
				t.Fatalf("seed %d: %+v, each run when %v were done (-one by one +together):\n%s", seed, reads, last, diff)
			}
			if p.rnd.IntN(3) == 0 {
				p.rewrite()
			}
			p.at = p.at.Add(time.Duration(len(reads)) * p.step)
		}
	}
}

// party reads files in one batch.
type party struct {
	t    *testing.T
	w    *toolstest.Workspace
	rnd  *rand.Rand
	at   time.Time
	step time.Duration // between two calls
}

func (p *party) path(n int) string { return filepath.Join(p.w.Root, fmt.Sprint(n)) }

// rewrite gives the files new content.
func (p *party) rewrite() {
	p.at, p.step = time.Now(), time.Duration(p.rnd.IntN(5))*time.Minute
	for n := range 2 {
		if err := os.WriteFile(p.path(n), fmt.Appendf(nil, "one\n%d\nthree\n", p.rnd.Int()), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *party) fresh() *session.Session {
	return session.New(session.Config{Roots: []string{p.w.Root}})
}

func (p *party) random() (reads []Input) {
	for range 1 + p.rnd.IntN(8) {
		in := askedFor[p.rnd.IntN(len(askedFor))]
		in.FilePath = p.path(p.rnd.IntN(2))
		reads = append(reads, in)
	}
	return reads
}

// perform runs each read i after last[i] of the reads have ended, and applies the effects
// in order.
func (p *party) perform(s *session.Session, reads []Input, last []int) {
	effects := make([]session.Effect, len(reads))
	for done := range reads {
		for i, in := range reads {
			if last[i] == done {
				effects[i] = p.run(s, in, p.at.Add(time.Duration(i)*p.step)).Effect
			}
		}
		s.Apply(effects[done])
	}
}

func (p *party) run(s *session.Session, in Input, at time.Time) tools.Result[Output] {
	p.w.Session = s
	env := p.w.Env()
	o := Options{MaxTokens: DefaultMaxTokens, now: func() time.Time { return at }}
	r, err := run(p.t.Context(), env, prepared{Input: in}, o)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// state returns the session's read record of each part, and the type of answer that a
// read would get.
func (p *party) state(s *session.Session) (state []any) {
	for n := range 2 {
		seen, _ := s.View().Seen(p.path(n))
		state = append(state, seen)
		for _, in := range askedFor {
			in.FilePath = p.path(n)
			had, _ := s.View().ReadOf(in.FilePath, session.Range{Offset: max(1, in.Offset), Limit: in.Limit})
			state = append(state, had, p.run(s, in, p.at.Add(10*p.step)).Data.Type)
		}
	}
	return state
}

// TestTwoReadsTogether checks the shortest case, with the answers.
func TestTwoReadsTogether(t *testing.T) {
	c := converse(t, Options{})
	path := filepath.Join(c.w.Root, "f")
	p := party{t: t, w: c.w, at: time.Now()}
	two := []Input{{FilePath: path}, {FilePath: path}}
	p.perform(c.w.Session, two, []int{0, 0})
	c.want("", whole) // as after two reads one by one
	c.want("", whole)
	c.write("one\nother\n")
	c.want("", "1\tone\n2\tother")
	c.want("", told)
}
