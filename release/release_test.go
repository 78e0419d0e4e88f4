package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"mcp-toolset/internal/cli"
)

func TestSection(t *testing.T) {
	const log = "# Changelog\n\n## 0.3.0 (not released)\n\n- c\n\n## 0.2.0\n\nInstall:\n\n- b\n\n## 0.1.0\n\n- a\n"
	for _, tc := range []struct{ version, want, err string }{
		{"0.2.0", "Install:\n\n- b", ""},
		{"0.1.0", "- a", ""},
		{"0.3.0", "", "the section of 0.3.0 still says that it is not released"},
		{"0.2", "", "the changelog has no section ## 0.2"},
	} {
		got, err := section(log, tc.version)
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
			t.Errorf("%s: %q, %v", tc.version, got, err)
		}
	}
}

func TestManPage(t *testing.T) {
	cmd, _, err := cli.Root().Find([]string{"call"})
	if err != nil {
		t.Fatal(err)
	}
	page := string(manPage(cmd))
	for _, want := range []string{".TH MCP\\-TOOLSET\\-CALL 1 ", ".SH OPTIONS\n", ".TP\n.B \\-\\-json\nprint ", ".BR mcp\\-toolset (1)\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
	if got := paragraphs("a\n.b 'c'\n\nd:\n  e\\f"); got != "a\n\\&.b \\(aqc\\(aq\n.PP\n.nf\nd:\n  e\\ef\n.fi" {
		t.Errorf("%q", got)
	}
}

func TestComponents(t *testing.T) {
	got := components(&debug.BuildInfo{GoVersion: "go1.26.5", Deps: []*debug.Module{
		{Path: "a.example/b", Version: "v1.2.3"},
		{Path: "a.example/c", Version: "v1.0.0", Replace: &debug.Module{Path: "a.example/d", Version: "v1.1.0"}},
	}}, "x", "v1.0.0", "00")
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"bomFormat":"CycloneDX","specVersion":"1.6","version":1,` +
		`"metadata":{"component":{"type":"application","name":"x","version":"v1.0.0","hashes":[{"alg":"SHA-256","content":"00"}]}},"components":[` +
		`{"type":"library","bom-ref":"std","name":"std","version":"1.26.5","purl":"pkg:golang/std@1.26.5"},` +
		`{"type":"library","bom-ref":"pkg:golang/a.example/b@v1.2.3","name":"a.example/b","version":"v1.2.3","purl":"pkg:golang/a.example/b@v1.2.3"},` +
		`{"type":"library","bom-ref":"pkg:golang/a.example/d@v1.1.0","name":"a.example/d","version":"v1.1.0","purl":"pkg:golang/a.example/d@v1.1.0"}]}`
	if string(data) != want {
		t.Errorf("%s", data)
	}
}

// TestPackages makes the folders of packages from a small output of goreleaser.
func TestPackages(t *testing.T) {
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{
		"release/project.env": "# names\nOWNER=o\nREPOSITORY=r\nNPM_SCOPE=@s\nPUBLISHER=\"P Q\"\n", "LICENSE": "l", "README.md": "r", "release/out/LICENSES.txt": "ls", "dist/a/mcp-toolset": "linux", "dist/b/mcp-toolset.exe": "windows",
		"dist/metadata.json": `{"version":"1.2.3"}`,
		"dist/artifacts.json": `[{"type":"Binary","path":"dist/a/mcp-toolset","goos":"linux","goarch":"arm64"},
			{"type":"Binary","path":"dist/b/mcp-toolset.exe","goos":"windows","goarch":"amd64"},{"type":"Archive","path":"x"}]`,
	} {
		if err := write(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := packages([]string{"dist", "out"}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile("out/npm/mcp-toolset-win32-x64/bin/mcp-toolset.exe"); err != nil || string(data) != "windows" {
		t.Errorf("%q, %v", data, err)
	}
	var main struct {
		McpName, Author      string
		Version              string
		Scripts              map[string]string
		OptionalDependencies map[string]string
	}
	if err := readJSON("out/npm/mcp-toolset/package.json", &main); err != nil {
		t.Fatal(err)
	}
	if main.McpName != "io.github.o/mcp-toolset" || main.Author != "P Q" || main.Version != "1.2.3" || main.Scripts != nil || len(main.OptionalDependencies) != 2 || main.OptionalDependencies["@s/mcp-toolset-linux-arm64"] != "1.2.3" {
		t.Errorf("%+v", main)
	}
	var bundle struct {
		Server struct {
			Config struct {
				Command string
				Args    []string
			} `json:"mcp_config"`
		}
		Compatibility struct{ Platforms []string }
	}
	if err := readJSON("out/mcpb/mcp-toolset-1.2.3-win32-x64/manifest.json", &bundle); err != nil {
		t.Fatal(err)
	}
	if bundle.Server.Config.Command != "${__dirname}/server/mcp-toolset.exe" || bundle.Compatibility.Platforms[0] != "win32" {
		t.Errorf("%+v", bundle)
	}

	if err := server([]string{"out", "server.json"}); err == nil || !strings.Contains(err.Error(), "no bundle") {
		t.Errorf("without bundles: %v", err)
	}
	if err := write("out/mcpb/x.mcpb", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := server([]string{"out", "server.json"}); err != nil {
		t.Fatal(err)
	}
	var list struct {
		Name, Version, Description string
		Packages                   []struct{ RegistryType, Version, FileSha256 string }
	}
	if err := readJSON("server.json", &list); err != nil {
		t.Fatal(err)
	}
	if list.Name != main.McpName || list.Version != "1.2.3" || len(list.Description) > 100 || len(list.Packages) != 3 || list.Packages[2].FileSha256 != "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" {
		t.Errorf("%+v", list)
	}
}

func TestValid(t *testing.T) {
	schema := []byte(`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/A","definitions":{"A":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}}}`)
	for text, ok := range map[string]bool{`{"a":1}`: true, "a: 1\n": true, `{"a":"x"}`: false, `{}`: false} {
		if err := valid(schema, []byte(text)); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestTargets compares the systems whose licenses are listed with those that are built.
func TestTargets(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Builds []struct{ Goos, Goarch []string }
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	var built []string
	for _, system := range config.Builds[0].Goos {
		for _, machine := range config.Builds[0].Goarch {
			built = append(built, system+"/"+machine)
		}
	}
	if strings.Join(built, " ") != strings.Join(targets, " ") {
		t.Errorf(".goreleaser.yaml builds %q, and licenses are those of %q", built, targets)
	}
}

// TestLicenses lists the licenses of the modules of this commit.
func TestLicenses(t *testing.T) {
	if testing.Short() {
		t.Skip("lists packages for six systems")
	}
	file := filepath.Join(t.TempDir(), "LICENSES.txt")
	t.Chdir("..")
	if out, err := exec.Command("go", "mod", "download").CombinedOutput(); err != nil {
		t.Skipf("downloading modules: %v %s", err, out)
	}
	if err := licenses(file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Go standard library", "github.com/spf13/cobra v", "golang.org/x/sys v", "PDFium", "github.com/inconshreveable/mousetrap v"} {
		if !bytes.Contains(data, []byte("\n"+want)) {
			t.Errorf("there is no license of %s", want)
		}
	}
}
