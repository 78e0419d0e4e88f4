package shellsafe

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// The tests of this file compare the flags in the tables with those of the
// programs: whether a flag takes the next word, an attached value, or none.

const (
	noValue  = "none"
	needed   = "value"
	optional = "optional" // attached only
)

// described returns the flags of a table entry.
func described(s *spec) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(s.short); i++ {
		kind := noValue
		switch {
		case strings.IndexByte(":%/", s.short[i]) >= 0:
			continue
		case i+1 < len(s.short) && strings.IndexByte(":/", s.short[i+1]) >= 0:
			kind = needed
		case i+1 < len(s.short) && s.short[i+1] == '%':
			kind = optional
		}
		out["-"+s.short[i:i+1]] = kind
	}
	for _, f := range strings.Fields(s.long) {
		name, kind, value := strings.Cut(f, "=")
		switch {
		case !value:
			out["--"+name] = noValue
		case kind == "?":
			out["--"+name] = optional
		default:
			out["--"+name] = needed
		}
	}
	return out
}

// wrapped returns the wrappers whose help is read, with the flags in the table.
func wrapped() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, name := range strings.Fields("env nice timeout stdbuf xargs flock ionice chrt prlimit unshare nsenter setpriv watch strace") {
		w, flags := wrappers[name], map[string]string{}
		for _, f := range strings.Fields(w.vals + " " + w.c) {
			flags[f] = needed
		}
		for _, f := range strings.Fields(w.opt) {
			flags[f] = optional
		}
		out[name] = flags
	}
	return out
}

var (
	flagLine = regexp.MustCompile(`^\s{0,8}(-\S.*)$`)
	flagItem = regexp.MustCompile(`^(--?[A-Za-z0-9?@%][-A-Za-z0-9_]*)(.*)$`)
	itemGap  = regexp.MustCompile(`(?:, *|\s*\|\s*| )(-)`)
)

// helpFlags parses the flags of a --help text. A flag without a value of its own
// has the value of the last flag on its line, as in texts of GNU programs.
func helpFlags(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		m := flagLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		head, _, _ := strings.Cut(strings.ReplaceAll(m[1], "\t", "  "), "  ")
		items := strings.Split(itemGap.ReplaceAllString(head, "\x00$1"), "\x00")
		last := noValue
		for i := len(items) - 1; i >= 0; i-- {
			f := flagItem.FindStringSubmatch(items[i])
			if f == nil {
				continue
			}
			if !strings.HasPrefix(f[1], "--") && len(f[1]) > 2 { // -lVALUE, or not in GNU's form
				continue
			}
			kind := last
			switch rest := strings.TrimSpace(f[2]); {
			case strings.HasPrefix(rest, "[=") || strings.HasPrefix(f[2], "["):
				kind = optional
			case strings.HasPrefix(f[2], "=") || strings.HasPrefix(rest, "<") || strings.HasPrefix(rest, "[(") || placeholder(rest):
				kind = needed
			}
			if last == noValue {
				last = kind
			}
			if _, ok := out[f[1]]; !ok {
				out[f[1]] = kind
			}
		}
	}
	return out
}

// placeholder reports whether the text after a flag names a value, rather than
// beginning a sentence.
func placeholder(s string) bool {
	word, _, _ := strings.Cut(s, " ")
	return word != "" && (strings.ToUpper(word) == word || word == s) && strings.ContainsAny(word[:1], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'\"")
}

// messages runs a program of the tables where it can do no harm, and returns its
// messages.
func messages(dir, name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + dir}, time.Second
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	out, _ := cmd.CombinedOutput()
	return string(bytes.ToValidUTF8(out, nil))
}

// probed asks the program's own parser about a flag, since the help may be wrong.
// The parser complains about a missing value, or about an unexpected one.
func probed(dir, name, flag, kind string) string {
	missing := messages(dir, name, flag)
	if strings.Contains(missing, "requires an argument") || strings.Contains(missing, "argument is required") {
		return needed
	}
	excess := ""
	if strings.HasPrefix(flag, "--") {
		excess = messages(dir, name, flag+"=\x01")
	} else {
		excess = messages(dir, name, flag+"\x01")
	}
	getopt := strings.Contains(messages(dir, name, "--no-such-flag"), "unrecognized option")
	switch {
	case strings.Contains(excess, "doesn't allow an argument"), strings.Contains(excess, "invalid option -- '\x01'"), strings.Contains(excess, `invalid option -- '\001'`):
		return noValue
	case strings.Contains(missing, "unrecognized option"), strings.Contains(missing, "invalid option"):
		return "" // not in this version
	case getopt && (kind != noValue || strings.HasPrefix(flag, "--")):
		return optional
	}
	return kind
}

// helpOf returns the text in which a program describes its flags. git-NAME means a
// subcommand of git.
func helpOf(dir, name string) string {
	if verb, ok := strings.CutPrefix(name, "git-"); ok {
		return messages(dir, "git", verb, "-h")
	}
	return messages(dir, name, "--help")
}

// tableFlags returns the flags of both kinds of tables, by program.
func tableFlags() map[string]map[string]string {
	out := map[string]map[string]string{}
	for name, s := range table {
		if s.outside && !s.raw || name == "xargs" || name == "timeout" {
			out[name] = described(s)
		}
	}
	for name, s := range gitTable {
		if !has("diff-tree diff-index diff-files rev-list", name) { // their help names flags without their values
			out["git-"+name] = described(s)
		}
	}
	for name, flags := range wrapped() {
		if out[name] == nil {
			out[name] = map[string]string{}
		}
		maps.Copy(out[name], flags)
	}
	return out
}

// knownFlags reads the stored list of flags, by program and flag.
func knownFlags() map[string]string {
	known := map[string]string{}
	if data, err := os.ReadFile("testdata/flags.txt"); err == nil {
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(line); len(f) == 3 {
				known[f[0]+" "+f[1]] = f[2]
			}
		}
	}
	return known
}

// otherForms lists flags that do not fit the kinds. lsof -i may take the next word,
// which lsofNames checks. Those of jq take two words. Those of git take the next
// word if there is one, which is an operand for the table.
const otherForms = "lsof-i jq--arg jq--argjson git-branch--merged git-branch--no-merged git-tag--merged git-tag--no-merged git-for-each-ref--merged git-for-each-ref--no-merged git-for-each-ref--contains git-for-each-ref--no-contains"

// TestFlagsOfPrograms compares the tables with a list made from the programs'
// --help and corrected by the answers of their parsers. -update makes the list
// again from the installed programs.
func TestFlagsOfPrograms(t *testing.T) {
	known := knownFlags()
	tables := tableFlags()
	if *update {
		dir := t.TempDir()
		for name, flags := range tables {
			help := helpFlags(helpOf(dir, name))
			if len(help) == 0 {
				continue
			}
			for flag := range flags {
				kind := help[flag]
				if _, wrapper := wrappers[name]; !strings.HasPrefix(name, "git-") && (!wrapper || name == "xargs" || name == "timeout") {
					kind = probed(dir, name, flag, kind)
				}
				delete(known, name+" "+flag)
				if kind != "" {
					known[name+" "+flag] = kind
				}
			}
		}
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(known)) {
			fmt.Fprintf(&b, "%s %s\n", key, known[key])
		}
		if err := os.WriteFile("testdata/flags.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(known) < 500 {
		t.Errorf("only %d flags are known", len(known))
	}
	for name, flags := range tables {
		for flag, kind := range flags {
			if is, ok := known[name+" "+flag]; ok && is != kind && !has(otherForms, name+flag) {
				t.Errorf("%s %s: its value is %s in the table, and %s by the program", name, flag, kind, is)
			}
		}
	}
}

// TestFlagsOfHelp compares the tables with the --help of the installed programs,
// whose versions may differ from the list's. Where a parser has shown that the help
// is wrong, the list applies.
func TestFlagsOfHelp(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the tables mean GNU programs")
	}
	dir, read, known := t.TempDir(), 0, knownFlags()
	for name, flags := range tableFlags() {
		help := helpFlags(helpOf(dir, name))
		if len(help) > 0 {
			read++
		}
		for flag, kind := range flags {
			if is, ok := help[flag]; ok && is != kind && known[name+" "+flag] != kind && !has(otherForms, name+flag) {
				t.Errorf("%s %s: its value is %s in the table, and %s by --help", name, flag, kind, is)
			}
		}
	}
	t.Logf("%d programs have help", read)
}
