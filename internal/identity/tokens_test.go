package identity

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const anna, bob = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReadTokens reads good and bad files.
func TestReadTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	many := new(strings.Builder)
	for i := range maxTokens + 1 {
		fmt.Fprintf(many, "a:%032d\n", i)
	}
	for text, want := range map[string]string{
		"anna:" + anna + "\nbob:" + bob:                               "",
		"# users\r\n\r\n  anna:" + anna + " \r\nanna:" + bob + "\r\n": "",
		"a:" + anna + ":" + bob:                                       "",
		"":                                                            "has no token; write a line NAME:TOKEN for each user",
		"# nobody\n":                                                  "has no token; write a line NAME:TOKEN for each user",
		"anna:" + anna + "\nx":                                        "line 2: there is no colon; write NAME:TOKEN",
		"Anna:" + anna:                                                "line 1: the name may have a to z, 0 to 9 and -, at most 41 characters, and begins with a letter or digit",
		"-a:" + anna:                                                  "line 1: the name may have a to z, 0 to 9 and -, at most 41 characters, and begins with a letter or digit",
		":" + anna:                                                    "line 1: the name may have a to z, 0 to 9 and -, at most 41 characters, and begins with a letter or digit",
		strings.Repeat("a", 42) + ":" + anna:                          "line 1: the name may have a to z, 0 to 9 and -, at most 41 characters, and begins with a letter or digit",
		"a:" + anna[1:]:                                               "line 1: the token has 31 characters; use 32 or more, such as from openssl rand -hex 32",
		"a:" + anna + " b":                                            "line 1: the token has characters that a header cannot carry; use printable ASCII without spaces",
		"a:" + anna + "é":                                             "line 1: the token has characters that a header cannot carry; use printable ASCII without spaces",
		"a:" + anna + ".b":                                            "line 1: the token has a dot, which tokens of identity providers have; use others, such as from openssl rand -hex 32",
		"anna:" + anna + "\n\nbob:" + anna:                            "line 3: the token is also the token of anna; each needs its own",
		"a:" + strings.Repeat("o", 32):                                "line 1: the token is the operator's; users need others",
		many.String():                                                 "line 10001: there are more than 10000 tokens",
		"anna:" + anna + strings.Repeat("a", 16<<20):                  "exceeds 16 MiB; a file of tokens has a line NAME:TOKEN for each",
	} {
		write(t, path, text)
		_, err := ReadTokens(path, strings.Repeat("o", 32))
		got := ""
		if err != nil {
			got = strings.TrimPrefix(strings.ReplaceAll(err.Error(), " of "+path, ""), path+" ")
		}
		if got != want {
			t.Errorf("%.40q: %q, want %q", text, got, want)
		}
	}
	if _, err := ReadTokens(path+"x", ""); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestFollow changes the file under a list that is in use.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	write(t, path, "anna:"+anna+"\nbob:"+bob)
	users, err := ReadTokens(path, "")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		changes := 0
		go users.Follow(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), func() { changes++ })
		for _, step := range []struct {
			text      string
			anna, bob bool
			changes   int
			logged    string
		}{
			{"anna:" + anna, true, false, 1, "tokens=1"},
			{"anna", true, false, 1, "line 1 of"},
			{"bob:" + bob, false, true, 2, "tokens=1"},
			{"", false, true, 2, "has no token"},
		} {
			log.Reset()
			write(t, path, step.text)
			time.Sleep(2 * lookEvery)
			synctest.Wait()
			a, okA := users.Find(anna)
			b, okB := users.Find(bob)
			if okA != step.anna || okB != step.bob || okA && a.ID != "token:anna" || okB && b.Name != "bob" || changes != step.changes ||
				!strings.Contains(log.String(), step.logged) || strings.Contains(log.String(), anna) || strings.Count(log.String(), "\n") != 1 {
				t.Errorf("%q: %v %v, %d changes, %s", step.text, a, b, changes, log.String())
			}
		}
	})
}

// TestBearer finds the token of a request.
func TestBearer(t *testing.T) {
	for _, c := range []struct {
		query   string
		headers []string
		want    string
		status  int
	}{
		{"", nil, "", 0}, {"", []string{"Bearer x"}, "x", 0}, {"", []string{"bearer x"}, "x", 0}, {"", []string{"Basic x"}, "", 0}, {"", []string{"x"}, "", 0},
		{"", []string{"Bearer x", "Bearer x"}, "", 400}, {"", []string{"", "Bearer x"}, "", 400},
		{"access_token=x", nil, "", 400}, {"a=b&access%5Ftoken=x", nil, "", 400}, {"access_token", []string{"Bearer x"}, "", 400}, {"no_access_token=x", nil, "", 0},
	} {
		got, refusal := Bearer(&http.Request{URL: &url.URL{RawQuery: c.query}, Header: http.Header{"Authorization": c.headers}})
		if status := 0; got != c.want || refusal != nil && refusal.Status != c.status || refusal == nil && c.status != status {
			t.Errorf("%s %.40q: %q %v", c.query, c.headers, got, refusal)
		}
	}
}
