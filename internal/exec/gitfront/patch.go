package gitfront

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// patched is writes for am and apply: the paths of set that a patch names. A patch on the
// standard input is read into a file, which becomes the standard input.
func (f *front) patched(set []string) []string {
	if f.verb == "apply" && f.has("--stat", "--numstat", "--summary", "--check", "--cached") && !f.has("--apply") {
		return nil
	}
	if f.verb == "am" && f.has("--quit", "--show-current-patch") {
		return nil
	}
	if f.verb == "am" && f.has("--abort") {
		return f.differ(set, "ORIG_HEAD", "HEAD")
	}
	before, after := f.operands("-p", "-C", "--directory", "--exclude", "--include", "--whitespace")
	waits := f.verb == "am" && f.has("--skip", "--continue", "--resolved", "-r")
	if waits { // patches that wait, as 0001
		before, _ = filepath.Glob(filepath.Join(f.inFolder("rebase-apply"), "[0-9]*"))
	}
	var texts [][]byte
	for _, file := range append(before, after...) {
		_ = filepath.WalkDir(f.in(file), func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() || err == nil && path == f.in(file) && !d.IsDir() {
				if text, err := os.ReadFile(path); err == nil {
					texts = append(texts, text)
				}
			}
			return nil
		})
	}
	if !waits && len(before)+len(after) == 0 || slices.Contains(before, "-") {
		text, err := f.spool()
		if err != nil {
			return set
		}
		texts = append(texts, text)
	}
	moved := f.has("-p", "--directory")
	out := slices.DeleteFunc(slices.Clone(set), func(path string) bool {
		if moved {
			path = filepath.Base(path)
		}
		return !slices.ContainsFunc(texts, func(text []byte) bool { return names(text, path) })
	})
	if len(out) == 0 {
		return nil
	}
	return f.exactly(out, texts)
}

// exactly returns the files of patches that are in some paths, or the paths if git does not tell.
func (f *front) exactly(paths []string, texts [][]byte) (out []string) {
	for _, text := range texts {
		args := []string{"apply", "--numstat", "-z"}
		for _, n := range f.values("-p") {
			args = append(args, "-p"+n)
		}
		for _, dir := range f.values("--directory") {
			args = append(args, "--directory="+dir)
		}
		cmd := f.command(args...)
		cmd.Stdin = bytes.NewReader(text)
		listed, err := cmd.Output()
		if err != nil {
			return paths
		}
		for _, entry := range split(string(listed)) {
			if w := strings.SplitN(entry, "\t", 3); len(w) == 3 {
				out = append(out, w[2])
			}
		}
	}
	out = slices.DeleteFunc(out, func(file string) bool {
		return !slices.ContainsFunc(paths, func(p string) bool { return inside(file, p) })
	})
	for _, p := range paths { // renamed, or below another folder
		if !slices.ContainsFunc(out, func(file string) bool { return inside(file, p) }) {
			out = append(out, p)
		}
	}
	return out
}

// names reports whether a header of a patch names a path, or a file below it.
func names(text []byte, path string) bool {
	for line := range bytes.Lines(text) {
		for _, start := range []string{"diff ", "--- ", "+++ ", "rename ", "copy "} {
			if !bytes.HasPrefix(line, []byte(start)) {
				continue
			}
			for rest := line; ; {
				before, after, ok := bytes.Cut(rest, []byte(path))
				if !ok {
					break
				}
				if bytes.ContainsAny(before[len(before)-min(1, len(before)):], "/ \"") && bytes.ContainsAny(after[:min(1, len(after))], "/ \"\t\r\n") {
					return true
				}
				rest = rest[len(before)+1:]
			}
		}
	}
	return false
}

// in returns a path as git sees it, which -C may have led to another folder.
func (f *front) in(path string) string {
	for i := 0; i+1 < len(f.globals) && !filepath.IsAbs(path); i++ {
		if f.globals[i] == "-C" {
			path = filepath.Join(f.globals[i+1], path)
		}
	}
	return path
}

// spool reads the standard input and replaces it by a file with the same content.
func (f *front) spool() ([]byte, error) {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(f.Temp, "git-input-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := file.Write(text); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return text, replaceStdin(file)
}
