package spool

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/text/terminal"
)

// pieces lists the parts of random output.
var pieces = []string{
	"a", "b", " ", "\t", "word ", "é", "漢", "\r", "\b", "\n", "\n", "\r\n", "\x1b", "\x1b[", "\x1b[31m", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[0K",
	"\x1b[3D", "\x1b[2C", "\x1b[G", "\x1b[4G", "\x1b]0;t\a", "\x1b]0;t\x1b\\", "\x1b]", "\x1bP", "\u009b", "\u009b1m", "\u009c", "\x9b", "\xff", "\xe6\xbc",
	"\u202e", "\x00", "\x7f", "\x1b(B", "\x1b7", "m", "0;", "\a", "\x1b\\", "\x1b[?1", "\x1b[99999C", "\U000E0041",
}

func randomText(rnd *rand.Rand, size int) string {
	var b strings.Builder
	some := make([]string, 1+rnd.IntN(8))
	for i := range some {
		some[i] = pieces[rnd.IntN(len(pieces))]
	}
	for b.Len() < size {
		if rnd.IntN(3) == 0 {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		} else {
			b.WriteString(some[rnd.IntN(len(some))])
		}
	}
	return b.String()
}

// slowRow is a row of the obvious implementation.
type slowRow struct {
	start, end int
	text       string
}

// slowRows cuts a whole output into rows as specified by the comment of row.
func slowRows(all string) (list []slowRow) {
	type piece struct {
		start, end  int
		cutAt, over bool // begins with a cut; has a carriage return that overwrites
	}
	var cuts []int
	forced := map[int]bool{}
	for i := range len(all) {
		if i > 0 && all[i-1] == '\n' {
			cuts = append(cuts, i)
		} else if i > 0 && i%block == 0 && !strings.Contains(all[i-block:i], "\n") {
			at := i
			for at < min(i+3, len(all)) && all[at]&0xc0 == 0x80 {
				at++
			}
			if at < len(all) {
				cuts = append(cuts, at)
				forced[at] = true
			}
		}
	}
	cuts = append(cuts, len(all))
	from := 0
	var ps []piece
	for _, to := range cuts {
		if to > from {
			text := strings.TrimRight(strings.TrimSuffix(all[from:to], "\n"), "\r")
			ps = append(ps, piece{from, to, forced[from], strings.Contains(text, "\r")})
		}
		from = to
	}
	for i, p := range ps {
		text, newline := strings.CutSuffix(all[p.start:p.end], "\n")
		if p.cutAt && p.over {
			text = text[strings.Index(text, "\r")+1:]
		}
		if i+1 < len(ps) && ps[i+1].cutAt && ps[i+1].over {
			text = ""
		}
		text = string(terminal.AppendLine(nil, []byte(text)))
		if newline {
			text += "\n"
		}
		list = append(list, slowRow{p.start, p.end, text})
	}
	return list
}

func slowText(all string) string {
	var b strings.Builder
	for _, r := range slowRows(all) {
		b.WriteString(r.text)
	}
	return b.String()
}

// randomOutput returns random text, sometimes with long lines.
func randomOutput(rnd *rand.Rand) string {
	var b strings.Builder
	for range 1 + rnd.IntN(4) {
		switch rnd.IntN(4) {
		case 0:
			b.WriteString(strings.Repeat(randomText(rnd, 10), rnd.IntN(3000)))
		case 1:
			b.WriteString(strings.Repeat([]string{"x", "é", "漢", "\r 45%", "word "}[rnd.IntN(5)], rnd.IntN(3*block)))
		default:
			b.WriteString(randomText(rnd, rnd.IntN(3000)))
		}
	}
	return b.String()
}

// Views equal those of the obvious implementation: all of the output if it fits, otherwise its
// start and end, in whole lines unless that leaves much room unused, with the right gap.
func TestViewRandom(t *testing.T) {
	for seed := range uint64(manySeeds) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		all := randomOutput(rnd)
		l := newLog(t, anyStore(t))
		for rest := all; rest != ""; { // sequences are split between chunks
			n := 1 + rnd.IntN(min(len(rest), 1+rnd.IntN(100_000)))
			l.append([]byte(rest[:n]))
			rest = rest[n:]
		}
		l.finish()
		want := slowText(all)
		chars := utf8.RuneCountInString(want)
		for _, limit := range []int{1 << 30, chars, chars - 1, 1 + rnd.IntN(chars+1), 100, 30_000} {
			if limit < 6 {
				continue
			}
			v, err := l.View(limit)
			if err != nil {
				t.Fatal(err)
			}
			if chars <= limit {
				if v.Head != want || v.Tail != "" || v.Gap != (Gap{}) {
					t.Fatalf("seed %d, limit %d: not all is shown: %+v, want %q", seed, limit, v, want)
				}
				continue
			}
			head, tail := utf8.RuneCountInString(v.Head), utf8.RuneCountInString(v.Tail)
			switch {
			case !strings.HasPrefix(want, v.Head), !strings.HasSuffix(want, v.Tail):
				t.Fatalf("seed %d, limit %d: it is not the begin and the end", seed, limit)
			case head+tail > limit, head > limit/headShare, tail < (limit-limit/headShare)/2:
				t.Fatalf("seed %d, limit %d: head %d and tail %d of %d characters", seed, limit, head, tail, chars)
			case v.Gap.From > v.Gap.To || v.Gap.To > int64(len(all)) || v.Gap.From < 0:
				t.Fatalf("seed %d, limit %d: gap %+v of %d", seed, limit, v.Gap, len(all))
			}
			checkGap(t, fmt.Sprintf("seed %d, limit %d", seed, limit), all, v)
		}
		if err := l.Remove(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExcerptAfter checks that an excerpt after a mark is that of a log with the later output only,
// and one of output that is stored in part.
func TestExcerptAfter(t *testing.T) {
	for seed := range uint64(manySeeds) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		before, later := randomOutput(rnd), randomOutput(rnd)
		l := logOf(t, before, false)
		m := l.Mark()
		l.append([]byte(later))
		for _, limit := range []int{100, 30_000} {
			want, err := logOf(t, later, false).Excerpt(limit, limit/2)
			if err != nil {
				t.Fatal(err)
			}
			if want.Gap != (Gap{}) {
				want.Gap.From, want.Gap.To = want.Gap.From+int64(len(before)), want.Gap.To+int64(len(before))
			}
			if got, err := l.ExcerptAfter(m, limit, limit/2); got != want || err != nil || m.Offset() != int64(len(before)) {
				t.Fatalf("seed %d, limit %d: got %+v, %v\nwant %+v", seed, limit, got, err, want)
			}
		}
	}
	l := newLog(t, newStore(t, Quota{Task: 20, All: 1 << 20}, time.Now))
	var marks []Mark
	for _, text := range []string{"one\n", "two\n", strings.Repeat("x", 2*tailSize) + "\n", "three\n", "four\n"} {
		marks = append(marks, l.Mark())
		l.append([]byte(text))
	}
	for i, want := range map[int]View{
		1: {Head: "two\n", Tail: strings.Repeat("x", 30) + "\nthree\nfour\n", Gap: Gap{From: 8, To: 8 + 2*tailSize - 30}},
		3: {Head: "three\nfour\n"},
		4: {Head: "four\n"},
	} {
		if got, err := l.ExcerptAfter(marks[i], 50, 50); got != want || err != nil {
			t.Errorf("after %d: %+v, %v", i, got, err)
		}
	}
}

// inOrder reports whether the characters of a row are shown in the order of the bytes.
func inOrder(raw string) bool {
	_, _, ok := terminal.Offset([]byte(raw), 0)
	return ok
}

// checkGap compares the offsets with the rows that are cut or left out. It skips cut rows that were
// overwritten or contain escaped characters.
func checkGap(t *testing.T, name, all string, v View) {
	t.Helper()
	from, to := int(v.Gap.From), int(v.Gap.To)
	exact := true
	for _, r := range slowRows(all) {
		raw := all[r.start:r.end]
		if (r.start < from && from < r.end || r.start < to && to < r.end || r.start == from || r.start == to) && (!inOrder(raw) || strings.ContainsAny(raw, "\u202e\U000E0041")) {
			exact = false
		}
		exact = exact && r.end-r.start < block // pieces of a long line may be overwritten
	}
	if !exact {
		return
	}
	if got := slowText(all[:from]); strings.TrimSuffix(got, "\n") != strings.TrimSuffix(v.Head, "\n") {
		t.Fatalf("%s: before the gap is %q, the head is %q", name, got, v.Head)
	}
	if got := slowText(all[to:]); got != v.Tail && !strings.HasSuffix(v.Tail, got) {
		t.Fatalf("%s: behind the gap is %q, the tail is %q", name, got, v.Tail)
	}
	if got := int64(strings.Count(all[from:to], "\n")); got != v.Gap.Lines {
		t.Fatalf("%s: %d lines, want %d", name, v.Gap.Lines, got)
	}
}

func TestView(t *testing.T) {
	text := lines(0, 1000, func(i int) string { return fmt.Sprintf("line %03d\n", i) }) // lines of 9 bytes
	v, err := logOf(t, text, true).View(600)
	if err != nil {
		t.Fatal(err)
	}
	if v.Head != text[:99] || v.Tail != text[len(text)-495:] {
		t.Errorf("head %q, tail %q", v.Head, v.Tail)
	}
	if want := (Gap{99, 9000 - 495, 1000 - 11 - 55}); v.Gap != want || want.Bytes() != 9000-99-495 {
		t.Errorf("got %+v, want %+v", v.Gap, want)
	}
	// One line without an end.
	v, err = logOf(t, strings.Repeat("é", 100_000), true).View(600)
	if err != nil || v.Head != strings.Repeat("é", 100) || v.Tail != strings.Repeat("é", 500) || v.Gap != (Gap{200, 199_000, 0}) {
		t.Errorf("got %+v, %v", v, err)
	}
	// A progress bar with many states is shown in its last state, however long it took.
	bar := lines(0, 100_000, func(i int) string { return fmt.Sprintf("\r\x1b[K%6d of 100000", i) })
	if got := whole(t, logOf(t, "begin\n"+bar+"\nend\n", true)); got != "begin\n 99999 of 100000\nend\n" {
		t.Errorf("got %q", got)
	}
	for _, c := range []struct {
		text, running, done string
	}{
		{"", "", ""},
		{"a\nb", "a\nb", "a\nb"},
		{"a\xc3", "a", "a\uFFFD"},
		{"a\xe6\xbc", "a", "a\uFFFD\uFFFD"},
		{"a\x1b[3", "a", "a3"},
		{"a\x1b]0;title\x1b", "a", "a0;title"},
		{"a\x1b[31m", "a", "a"},
		{" 45%\r", " 45%", " 45%"},
	} {
		if got := whole(t, logOf(t, c.text, false)); got != c.running {
			t.Errorf("%q while running is %q", c.text, got)
		}
		if got := whole(t, logOf(t, c.text, true)); got != c.done {
			t.Errorf("%q is %q", c.text, got)
		}
	}
}

func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"\n\n":                                 "",
		"one\ntwo\n\n  \n":                     "two",
		"one\ntwo":                             "two",
		"one\n\x1b[32m 45%\r\x1b[K 46%":        "46%",
		strings.Repeat("x", 300):               strings.Repeat("x", maxLast),
		strings.Repeat("line\n", 50_000) + "z": "z",
	} {
		if got := logOf(t, text, false).LastLine(); got != want {
			t.Errorf("of %.30q: %q", text, got)
		}
	}
}

// Reads in steps of any size return all output exactly once.
func TestReadRandom(t *testing.T) {
	for seed := range uint64(manySeeds) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		all := randomOutput(rnd)
		readInSteps(t, fmt.Sprint("seed ", seed), all, slowText(all), 1+rnd.IntN(5000), func() int { return 1 + rnd.IntN(50_000) })
	}
}

// Long lines are cut into rows, at each place where a reader may stop.
func TestReadLong(t *testing.T) {
	for name, all := range map[string]string{
		"characters within cuts":     "x" + strings.Repeat("é", 100_000) + "\n" + strings.Repeat("漢", 70_000),
		"a progress bar":             "begin\n" + strings.Repeat("\r 45%", 60_000) + "\nend\n",
		"one long state, then short": strings.Repeat("x", 3*block-5) + "\rshort\n",
		"the same in characters":     "a\nb" + strings.Repeat("漢", 60_000) + "\r漢\n",
		"a return behind two blocks": strings.Repeat("x", 2*block) + "\r" + strings.Repeat("y", block) + "\n",
		"full blocks":                strings.Repeat("x", block-1) + "\n" + strings.Repeat("y", 2*block) + "\n",
	} {
		want := slowText(all)
		for _, most := range []int{20_000, 1 << 20} {
			for _, chunk := range []int{40_001, 1 << 20} {
				readInSteps(t, fmt.Sprintf("%s, %d, %d", name, most, chunk), all, want, most, func() int { return chunk })
			}
		}
	}
}

// readInSteps writes an output in chunks, reads the available part after each, and compares the
// whole with want.
func readInSteps(t *testing.T, name, all, want string, most int, chunk func() int) {
	t.Helper()
	l := newLog(t, anyStore(t))
	var got strings.Builder
	q := Query{Max: most}
	step := func() {
		t.Helper()
		for {
			p, err := l.Read(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if n := utf8.RuneCountInString(p.Text); n > q.Max+2 {
				t.Fatalf("%s: %d characters of %d", name, n, q.Max)
			}
			got.WriteString(p.Text)
			if p.More && p.Next <= q.Offset {
				t.Fatalf("%s: no progress at %d", name, q.Offset)
			}
			if q.Offset = p.Next; !p.More {
				return
			}
		}
	}
	for rest := all; rest != ""; {
		n := min(len(rest), chunk())
		l.append([]byte(rest[:n]))
		rest = rest[n:]
		step()
	}
	l.finish()
	step()
	// A line that was overwritten and does not fit is truncated.
	if got.String() != want && !strings.Contains(got.String(), "…") {
		at := 0
		for at < min(len(want), got.Len()) && want[at] == got.String()[at] {
			at++
		}
		t.Fatalf("%s: %d bytes, want %d; at %d is %.50q, want %.50q", name, got.Len(), len(want), at, got.String()[at:], want[at:])
	}
	if q.Offset != int64(len(all)) {
		t.Fatalf("%s: it ends at %d of %d", name, q.Offset, len(all))
	}
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	l := logOf(t, "one\ntwo\nthr", false)
	read := func(q Query, want Part) {
		t.Helper()
		if p, err := l.Read(t.Context(), q); err != nil || p != want {
			t.Errorf("got %+v, %v, want %+v", p, err, want)
		}
	}
	read(Query{Max: 100}, Part{Text: "one\ntwo\n", Next: 8})
	read(Query{Max: 100, Offset: 8}, Part{Next: 8})
	read(Query{Max: 100, Offset: 4, Partial: true}, Part{Text: "two\nthr", Next: 11})
	read(Query{Max: 5}, Part{Text: "one\n", Next: 4, More: true})
	read(Query{Max: 2}, Part{Text: "on", Next: 2, More: true})
	read(Query{Max: 100, Offset: 2}, Part{Text: "e\ntwo\n", Next: 8})
	read(Query{Max: 100, Offset: -1, Filter: regexp.MustCompile("^t")}, Part{Text: "two\n", Next: 8})
	read(Query{Max: 100, Offset: 1000}, Part{Next: 11})
	l.append([]byte("ee\n"))
	read(Query{Max: 100, Offset: 8}, Part{Text: "three\n", Next: 14})
	l.append([]byte("end"))
	l.finish()
	read(Query{Max: 100, Offset: 14}, Part{Text: "end", Next: 17})
	read(Query{Max: 100, Offset: 8, Filter: regexp.MustCompile("^(three|end)$")}, Part{Text: "three\nend", Next: 17})
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(t.Context(), Query{Max: 1}); err != ErrRemoved {
		t.Errorf("got %v", err)
	}
	if err := l.Remove(); err != nil {
		t.Error(err)
	}
}

// Readers see the log grow, and never see anything that is not in it.
func TestConcurrentReaders(t *testing.T) {
	l := newLog(t, anyStore(t))
	w, wait := pumped(t, l)
	const count = 20_000
	format := func(i int) string { return fmt.Sprintf("%06d\n", i) }
	all := lines(0, count, format)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			var got strings.Builder
			for q := (Query{Max: 10_000}); ; {
				done := l.isDone()
				p, err := l.Read(t.Context(), q)
				if err != nil {
					t.Error(err)
					return
				}
				got.WriteString(p.Text)
				if q.Offset = p.Next; done && !p.More {
					break
				}
				v, err := l.View(1000)
				if err != nil || !strings.HasPrefix(all, v.Head) || !strings.Contains(all, v.Tail) {
					t.Errorf("%+v, %v", v, err)
				}
				_ = l.LastLine()
			}
			if got.String() != all {
				t.Errorf("reader %d has %d bytes of %d", i, got.Len(), len(all))
			}
		})
	}
	for i := 0; i < count; i += 100 {
		write(t, w, lines(i, i+100, format))
	}
	w.Close()
	wait()
	wg.Wait()
}
