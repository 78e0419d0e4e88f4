// Command release makes the files of a release that the Go toolchain and goreleaser do not make. It
// is for maintainers: docs/releasing.md has the order of the steps.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// commands maps the first argument to what it makes of the others.
var commands = map[string]struct {
	args string
	n    int
	run  func(args []string) error
}{
	"assets":   {"DIR", 1, assets},
	"notes":    {"CHANGELOG VERSION", 2, notes},
	"sbom":     {"VERSION BINARY FILE", 3, sbom},
	"packages": {"DIST DIR", 2, packages},
	"server":   {"DIR FILE", 2, server},
	"validate": {"SCHEMA FILE", 2, validate},
}

func main() {
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	c, ok := commands[name]
	if !ok || len(os.Args)-2 != c.n {
		fmt.Fprintln(os.Stderr, "usage:")
		for _, name := range []string{"assets", "sbom", "packages", "server", "notes", "validate"} {
			fmt.Fprintf(os.Stderr, "  release %s %s\n", name, commands[name].args)
		}
		os.Exit(2)
	}
	if err := c.run(os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "release %s: %v\n", name, err)
		os.Exit(1)
	}
}

// assets writes completions, man pages and the licences of what is linked to a folder. It runs in
// the folder of the module.
func assets(args []string) error {
	if err := completions(filepath.Join(args[0], "completions")); err != nil {
		return err
	}
	if err := manPages(filepath.Join(args[0], "man")); err != nil {
		return err
	}
	return licenses(filepath.Join(args[0], "LICENSES.txt"))
}

// write writes a file and makes its folder.
func write(file string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, mode)
}

// writeJSON writes a value as indented JSON.
func writeJSON(file string, value any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return err
	}
	return write(file, out.Bytes(), 0o644)
}

// notes prints the section of a version in the changelog. It fails if there is none, or if the
// heading still has the mark "(not released)".
func notes(args []string) error {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	text, err := section(string(data), strings.TrimPrefix(args[1], "v"))
	if err != nil {
		return err
	}
	fmt.Println(text)
	return nil
}

// section returns the text below the heading "## VERSION", without the heading.
func section(changelog, version string) (string, error) {
	var out []string
	found := false
	for line := range strings.SplitSeq(changelog, "\n") {
		title, heading := strings.CutPrefix(line, "## ")
		switch {
		case heading && found:
			return strings.TrimSpace(strings.Join(out, "\n")), nil
		case heading && strings.HasPrefix(title, version+" (not released)"):
			return "", fmt.Errorf("the section of %s still says that it is not released", version)
		case heading && strings.TrimSpace(title) == version:
			found = true
		case found:
			out = append(out, line)
		}
	}
	if !found {
		return "", fmt.Errorf("the changelog has no section ## %s", version)
	}
	return strings.TrimSpace(strings.Join(out, "\n")), nil
}
