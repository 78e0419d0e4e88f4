package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// targets lists the systems of a release, as .goreleaser.yaml does.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

var licenseName = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)(-[a-z]+)?(\.(md|txt))?$`)

// pdfium is the notice of PDFium, which go-pdfium embeds as WebAssembly without its license.
//
//go:embed pdfium.txt
var pdfium string

// licenses writes the licenses of all modules that are linked on any target, of the Go standard
// library, and of PDFium. A module without a license is an error.
func licenses(file string) error {
	modules := map[string]string{} // folders by module and version
	for _, target := range targets {
		system, machine, _ := strings.Cut(target, "/")
		cmd := exec.Command("go", "list", "-deps", "-json=Module,Standard", ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("listing the packages of %s: %w", target, err)
		}
		dec := json.NewDecoder(bytes.NewReader(out))
		for {
			var pkg struct {
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := dec.Decode(&pkg); err == io.EOF {
				break
			} else if err != nil {
				return err
			}
			if m := pkg.Module; m != nil && !m.Main {
				modules[m.Path+" "+m.Version] = m.Dir
			}
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "mcp-toolset contains the software below, under the licenses of each.\n")
	add := func(title, body string) {
		fmt.Fprintf(&text, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), title, strings.TrimSpace(body))
	}
	standard, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(goroot)), "LICENSE"))
	if err != nil {
		return err
	}
	add("Go standard library "+runtime.Version(), string(standard))
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		found, err := moduleLicenses(modules[module])
		if err != nil {
			return err
		}
		if found == "" {
			return fmt.Errorf("%s has no license file", module)
		}
		add(module, found)
	}
	add("PDFium, embedded in github.com/klippa-app/go-pdfium", pdfium)
	return write(file, []byte(text.String()), 0o644)
}

// moduleLicenses returns the license files at the root of a module.
func moduleLicenses(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, entry := range entries {
		if entry.IsDir() || !licenseName.MatchString(entry.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		texts = append(texts, strings.TrimSpace(string(data)))
	}
	return strings.Join(texts, "\n\n"), nil
}
