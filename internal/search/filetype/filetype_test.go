package filetype

import (
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/text/fault"
)

var update = flag.Bool("update", false, "write types.txt anew from rg --type-list")

const header = `# The file types of ripgrep 15, as "rg --type-list" prints them.
# Made anew by "go test ./internal/search/filetype -update" with rg in the PATH
# or named by RIPGREP. Not to be edited.
`

// ripgrep returns the path of rg or skips the test.
func ripgrep(t testing.TB) string {
	if rg := os.Getenv("RIPGREP"); rg != "" {
		return rg
	}
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("no rg in the PATH and RIPGREP not set")
	}
	return rg
}

// TestData compares the data with rg's.
func TestData(t *testing.T) {
	rg := ripgrep(t)
	if version, err := exec.Command(rg, "--version").Output(); err != nil || !strings.HasPrefix(string(version), "ripgrep 15.") {
		t.Skipf("rg is not version 15: %.20q, %v", version, err)
	}
	out, err := exec.Command(rg, "--no-config", "--type-list").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := header + string(out)
	if *update {
		if err := os.WriteFile("types.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if data != want {
		t.Error("types.txt is not what rg has; run with -update")
	}
}

// TestSyntax checks that the matcher supports everything in the globs.
func TestSyntax(t *testing.T) {
	if len(Names()) < 200 {
		t.Fatalf("%d types", len(Names()))
	}
	all, _ := Globs("all")
	for _, glob := range all {
		if strings.ContainsAny(glob, `?{}!\/^`) || strings.Contains(glob, "**") || strings.Count(glob, "[") != strings.Count(glob, "]") ||
			strings.ContainsFunc(glob, func(r rune) bool { return r >= 0x80 }) || glob != strings.TrimSpace(glob) || glob == "" {
			t.Errorf("glob %q", glob)
		}
	}
	for _, name := range Names() {
		globs, err := Globs(name)
		if err != nil || len(globs) == 0 || !slices.IsSorted(globs) {
			t.Errorf("%s: %q, %v", name, globs, err)
		}
	}
}

func TestGlobs(t *testing.T) {
	got, err := Globs("go")
	if err != nil || !slices.Equal(got, []string{"*.go"}) {
		t.Errorf("go: %q, %v", got, err)
	}
	got[0] = "changed"
	if got, _ := Globs("go"); got[0] != "*.go" {
		t.Error("a caller's change reached the data")
	}
	all, err := Globs("all")
	if err != nil || !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("all: %v", err)
	}
	for _, name := range Names() {
		globs, _ := Globs(name)
		for _, glob := range globs {
			if _, ok := slices.BinarySearch(all, glob); !ok {
				t.Errorf("all lacks %s of %s", glob, name)
			}
		}
	}
}

// bases returns file names that match globs, and near misses.
func bases() []string {
	set := map[string]bool{"": true, ".": true, "x": true, ".hidden": true, "Makefile.am": true, "README": true, "OLDREADME": true, "ä.go": true}
	all, _ := Globs("all")
	for _, glob := range all {
		for i, glob := range withoutClasses(glob) {
			if i >= 3 { // enough of [0-9]
				break
			}
			for _, fill := range []string{"", "a", "a.b", "."} {
				base := strings.ReplaceAll(glob, "*", fill)
				for _, s := range []string{base, base + "x", "x" + base, strings.ToUpper(base), strings.Trim(base, ".")} {
					set[s] = true
				}
				if len(base) > 0 {
					set[base[1:]], set[base[:len(base)-1]] = true, true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// TestMatch compares with path.Match, glob by glob.
func TestMatch(t *testing.T) {
	names := bases()
	for _, name := range append(Names(), "all") {
		match, err := Match(name)
		if err != nil {
			t.Fatal(err)
		}
		globs, _ := Globs(name)
		for _, base := range names {
			want := slices.ContainsFunc(globs, func(glob string) bool {
				ok, _ := path.Match(strings.ReplaceAll(glob, "[.-]", "[.\\-]"), base)
				return ok
			})
			if got := match(base); got != want {
				t.Errorf("type %s, file %q: %t, want %t", name, base, got, want)
			}
		}
	}
}

// TestRipgrep compares with the files that rg chooses for some types, and for all.
func TestRipgrep(t *testing.T) {
	rg := ripgrep(t)
	if _, err := os.Stat("/proc"); err != nil {
		t.Skip("needs a file system that respects case")
	}
	dir := t.TempDir()
	var names []string
	for i, base := range bases() {
		if i%stride != 0 {
			continue
		}
		if strings.HasSuffix(base, ".") {
			continue // rg 15 gives such a file no type, whatever the globs are
		}
		if len(base) > 2 && os.WriteFile(filepath.Join(dir, base), nil, 0o600) == nil {
			names = append(names, base)
		}
	}
	for _, name := range []string{"all", "c", "cpp", "go", "license", "make", "man", "readme", "sh", "tf", "docker"} {
		cmd := exec.Command(rg, "--no-config", "--files", "--hidden", "--no-ignore", "-t", name)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil && cmd.ProcessState.ExitCode() != 1 { // 1 means no file
			t.Fatal(err)
		}
		want := strings.Fields(string(out))
		slices.Sort(want)
		match, _ := Match(name)
		var got []string
		for _, base := range names {
			if match(base) {
				got = append(got, base)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("type %s: %d files, rg has %d; %s", name, len(got), len(want), cmp.Diff(want, got))
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, tc := range []struct{ name, want string }{
		{"Go", `there is no file type "Go". Use "go".`},
		{".go", `there is no file type ".go". Use "go".`},
		{"*.rs", `"*.rs" is no file type but part of a file name. Files like that have type "rust".`},
		{"ALL", `there is no file type "ALL". Use "all".`},
		{"yml", `"yml" is no file type but part of a file name. Files like that have type "yaml".`},
		{"tsx", `"tsx" is no file type but part of a file name. Files like that have type "ts" or "typescript".`},
		{"TSX", `"TSX" is no file type but part of a file name. Files like that have type "ts" or "typescript".`},
		{"H", `there is no file type "H". Use "h".`},
		{"hpp", `"hpp" is no file type but part of a file name. Files like that have type "h" or "cpp".`},
		{"Dockerfile", `"Dockerfile" is no file type but part of a file name. Files like that have type "docker".`},
		{"conf", `"conf" is no file type but part of a file name. Files like that have type "config", "bitbake" or "systemd".`},
		{"h++", `there is no file type "h++". Use "cpp".`},
		{"javascript", `there is no file type "javascript". Use "js".`},
		{"pyhton", `there is no file type "pyhton". Did you mean "python" or "cython"?`},
		{"xyzzy", `there is no file type "xyzzy". Use a glob instead.`},
		{"", `the name of the file type is empty. Name one, such as "go", or leave it out.`},
		{strings.Repeat("é", 5000), `there is no file type "` + strings.Repeat("é", 20) + `...". Use a glob instead.`},
	} {
		_, err := Globs(tc.name)
		var f *fault.Fault
		if !errors.As(err, &f) || err.Error() != tc.want {
			t.Errorf("%.50q:\n%v\nwant\n%s", tc.name, err, tc.want)
		}
		if _, err := Match(tc.name); err == nil {
			t.Errorf("Match(%.50q) has no error", tc.name)
		}
	}
	for name, meant := range said {
		if _, ok := types()[meant]; !ok || types()[name] != nil {
			t.Errorf("%q stands for %q", name, meant)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, name := range []string{"go", "cpp", "license", "all"} {
		match, _ := Match(name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				match("walk_linux.unknown")
			}
		})
	}
}
