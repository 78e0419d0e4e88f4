package file

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestBrief(t *testing.T) {
	long := strings.Repeat("0123456789", 30)
	for _, tc := range []struct{ name, before, after, want string }{
		{"a line", "a\nb\nc\n", "a\nB\nc\n", "Edited f, line 2:\n1\ta\n2\tB\n3\tc"},
		{"the first", "a\nb\n", "A\nb\n", "Edited f, line 1:\n1\tA\n2\tb"},
		{"the last, without a newline", "a\nb", "a\nB", "Edited f, line 2:\n1\ta\n2\tB"},
		{"two lines", "a\nb\nc\nd\n", "a\nB\nC\nd\n", "Edited f, lines 2 to 3:\n1\ta\n2\tB\n3\tC\n4\td"},
		{"many lines", "a\nb\n", "a\n1\n2\n3\n4\nb\n", "Edited f, lines 2 to 5:\n1\ta\n2\t1\n…\n5\t4\n6\tb"},
		{"a line added", "a\nb\n", "a\nab\nb\n", "Edited f, line 2:\n1\ta\n2\tab\n3\tb"},
		{"a line added that begins as the next", "foo1\nfoo2\n", "foo1\nfoo1b\nfoo2\n", "Edited f, line 2:\n1\tfoo1\n2\tfoo1b\n3\tfoo2"},
		{"a line removed that begins as the next", "x\nfoo1\nfoo2\n", "x\nfoo2\n", "Edited f, 1 line removed:\n1\tx\n2\tfoo2"},
		{"lines removed", "a\nb\nc\nd\n", "a\nd\n", "Edited f, 2 lines removed:\n1\ta\n2\td"},
		{"the first lines removed", "a\nb\nc\n", "c\n", "Edited f, 2 lines removed:\n1\tc"},
		{"the last line removed", "a\nb\n", "a\n", "Edited f, 1 line removed:\n1\ta"},
		{"all removed", "a\nb\n", "", "Edited f, 2 lines removed:"},
		{"text removed in a line", "a\nb c\nd\n", "a\nb\nd\n", "Edited f, line 2:\n1\ta\n2\tb\n3\td"},
		{"the last newline removed", "a\nb\n", "a\nb", "Edited f, line 2:\n1\ta\n2\tb"},
		{"lines joined", "a\nb\nc\n", "ab\nc\n", "Edited f, line 1:\n1\tab\n2\tc"},
		{"a long line", long + "x" + long, long + "y" + long, "Edited f, line 1:\n1\t…" + long[267:] + "y" + long[:66] + "…"},
		{"long lines around", long + "\nx\n" + long, long + "\ny\n" + long, "Edited f, line 2:\n1\t" + long[:100] + "…\n2\ty\n3\t" + long[:100] + "…"},
		{"not to be shown", "a\x1b[31m\n", "a\x1b[32m\n", "Edited f, line 1:\n1\ta\\x1b[32m"},
	} {
		if got := Brief("Edited f", tc.before, tc.after, nil); got != tc.want {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
	}
	if got, want := Brief("Edited f", "a", "b", []string{"one", "two"}), "Edited f, line 1:\n1\tb\n[one]\n[two]"; got != want {
		t.Errorf("with notes: %q", got)
	}
}

// TestNarrow compares the lines said to have changed with a comparison of all lines.
func TestNarrow(t *testing.T) {
	for seed := range uint64(5000) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		text := func(n int) string {
			var b strings.Builder
			for range rnd.IntN(n) {
				b.WriteString([]string{"a", "b", "é", "\n", "ab\n"}[rnd.IntN(5)])
			}
			return b.String()
		}
		head, tail := text(20), text(20)
		before, after := head+text(8)+tail, head+text(8)+tail
		if before == after {
			continue
		}
		c := narrow(before, after)
		old, now := slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))
		if c.last >= c.first {
			c.removed = len(old) - len(now) + c.last - c.first + 1
		}
		rest := append(append([]string{}, now[:c.first-1]...), old[c.first-1:min(len(old), c.first-1+max(0, c.removed))]...)
		rest = append(rest, now[min(len(now), c.last):]...)
		if strings.Join(rest, "") != before {
			t.Fatalf("seed %d: %q to %q: lines %d to %d, %d removed", seed, before, after, c.first, c.last, c.removed)
		}
	}
}
