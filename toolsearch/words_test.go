package toolsearch

import (
	"slices"
	"testing"
)

func TestStem(t *testing.T) {
	for _, same := range [][]string{
		{"file", "files", "filed", "filing"},
		{"fill", "fills", "filled", "filling"},
		{"query", "queries", "queried", "querying"},
		{"repository", "repositories"},
		{"run", "runs", "running"},
		{"stop", "stops", "stopped", "stopping"},
		{"add", "adds", "added", "adding"},
		{"call", "calls", "called", "calling"},
		{"create", "creates", "created", "creating"},
		{"branch", "branches", "branched", "branching"},
		{"index", "indexes", "indexed", "indexing"},
		{"database", "databases"},
		{"cache", "caches", "cached", "caching"},
		{"issue", "issues"},
		{"movie", "movies"},
		{"key", "keys"},
		{"copy", "copies", "copied", "copying"},
		{"pass", "passes", "passed", "passing"},
		{"set", "sets", "setting", "settings"},
		{"status"}, {"analysis"}, {"process"}, {"string", "strings"}, {"feed", "feeds"}, {"bed"}, {"s3"}, {"日本"}, {"größe"}, {"plan"}, {"plane", "planes"},
	} {
		for _, word := range same {
			if stem(word) != stem(same[0]) {
				t.Errorf("stem(%s) = %s, but stem(%s) = %s", word, stem(word), same[0], stem(same[0]))
			}
		}
	}
	for _, other := range [][2]string{{"file", "fill"}, {"note", "notion"}, {"page", "pager"}, {"string", "str"}, {"bed", "b"}, {"class", "cla"}, {"status", "statu"}, {"feed", "fe"}} {
		if stem(other[0]) == stem(other[1]) {
			t.Errorf("%s and %s have the same stem %s", other[0], other[1], stem(other[0]))
		}
	}
}

func TestStops(t *testing.T) {
	if !slices.IsSorted(stops) {
		t.Error("the stop words are not sorted")
	}
	for word, want := range map[string]bool{"a": true, "the": true, "your": true, "mcp": true, "how": true, "file": false, "create": false, "": false} {
		if stop(word) != want {
			t.Errorf("stop(%q) = %v", word, !want)
		}
	}
}

func TestFirstSentence(t *testing.T) {
	for in, want := range map[string]string{
		"Reads a file.":                                 "Reads a file.",
		"Reads a file. Then more.":                      "Reads a file.",
		"Takes e.g. one of v1.2 or more! Other":         "Takes e.g. one of v1.2 or more!",
		"Over two\n  lines, then\n\nanother paragraph.": "Over two lines, then",
		"A list\n- one\n- two":                          "A list",
		"\n\n  # no, it begins with this":               "# no, it begins with this",
		"No full stop":                                  "No full stop",
		"Windows lines.\r\n\r\nMore":                    "Windows lines.",
		"Ends with dots...":                             "Ends with dots...",
		"Why? Because.":                                 "Why?",
		"":                                              "",
		" \n\t ":                                        "",
		"Zeigt die Größe an. Über alles.":               "Zeigt die Größe an.",
		"Use it when you see api.example.com/a?b=c. Done": "Use it when you see api.example.com/a?b=c.",
	} {
		if got := firstSentence(in); got != want {
			t.Errorf("firstSentence(%q) = %q, want %q", in, got, want)
		}
	}
}
