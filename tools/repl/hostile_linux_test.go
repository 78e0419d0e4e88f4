package repl

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/testscale"
)

// snippet is hostile code.
type snippet struct {
	language, code   string
	kept, lost, slow bool
}

func snippets(t *testing.T) (all []snippet) {
	t.Helper()
	data, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range strings.Split(string(data), "\n== ") {
		if i == 0 {
			continue
		}
		head, code, _ := strings.Cut(text, "\n")
		words := strings.Fields(head)
		s := snippet{language: words[0], code: strings.TrimRight(code, "\n")}
		for _, word := range words[1:] {
			switch word {
			case "kept":
				s.kept = true
			case "lost":
				s.lost = true
			case "slow":
				s.slow = true
			default:
				t.Fatalf("%q in %q", word, head)
			}
		}
		all = append(all, s)
	}
	return all
}

// TestHostile checks that no code leaves a session stuck: each call has an answer, and the next
// one works, with the state or in a new session. No process is left.
func TestHostile(t *testing.T) {
	const quick = 30
	all := snippets(t)
	if len(all) < 200 {
		t.Fatalf("%d snippets", len(all))
	}
	if !testscale.Full() {
		all = slices.DeleteFunc(all, func(s snippet) bool { return s.slow })
	}
	all = testscale.Sample(all, quick)
	f := newFixture(t, nil)
	for _, language := range []string{"python", "node", "bash"} {
		t.Run(language, func(t *testing.T) {
			if !testscale.Full() { // a fork bomb of one would keep the others from starting
				t.Parallel()
			}
			need(t, languages[language].program)
			set := map[string]string{"python": "x = 41", "node": "x = 41", "bash": "x=41"}[language]
			get := map[string]string{"python": "x", "node": "x", "bash": "echo $x"}[language]
			counts, lost := map[string]int{}, false
			for _, s := range all {
				if s.language != language {
					continue
				}
				if text := f.run(language, set, "reset", !lost); !strings.Contains(text, "41") && !strings.HasPrefix(text, "(no output)") && !strings.HasPrefix(text, "[this is a new") {
					t.Fatalf("before %s: %s", s.code, text)
				}
				timeout := 15000
				if s.slow {
					timeout = 500
				}
				begun := time.Now()
				first := f.run(language, s.code, "timeout", timeout)
				took := time.Since(begun)
				second := f.run(language, get, "timeout", 5000)
				end := "other"
				switch {
				case strings.HasPrefix(first, "Session lost"):
					end = "lost"
					if strings.Contains(second, "41") {
						end = "wrong"
					}
				case strings.Contains(second, "41"):
					end = "kept"
				case strings.Contains(second, "[this is a new session"), strings.HasPrefix(second, "Session lost"):
					end = "lost"
				}
				counts[end]++
				lost = end == "lost"
				wrong := ""
				switch {
				case s.kept && end != "kept", s.lost && end != "lost", end == "wrong":
					wrong = end
				case took > 12*time.Second:
					wrong = fmt.Sprintf("after %v", took)
				}
				if wrong != "" || testing.Verbose() {
					fmt.Printf("%-6s %6d ms %s %q\n\t1: %.300q\n\t2: %.300q\n", end, took.Milliseconds(), language, s.code, first, second)
				}
				if wrong != "" {
					t.Errorf("%s: %s", wrong, s.code)
				}
			}
			t.Log(counts)
		})
	}
}
