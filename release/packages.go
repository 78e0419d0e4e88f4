package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	product = "mcp-toolset"
	about   = "The tools of a coding agent, as an MCP server: read, search, edit and run commands." // at most 100 characters
)

// launcher is the program of the npm package. It starts the binary of the package of the platform.
//
//go:embed npm/launcher.js
var launcher []byte

// project holds the names of release/project.env.
type project struct{ owner, repository, scope, publisher string }

// loadProject reads the names, one NAME=VALUE a line.
func loadProject() (project, error) {
	data, err := os.ReadFile("release/project.env")
	if err != nil {
		return project{}, err
	}
	values := map[string]string{}
	for line := range strings.SplitSeq(string(data), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			values[name] = strings.Trim(value, `"`)
		}
	}
	for _, name := range []string{"OWNER", "REPOSITORY", "NPM_SCOPE", "PUBLISHER"} {
		if values[name] == "" {
			return project{}, fmt.Errorf("release/project.env has no %s", name)
		}
	}
	return project{values["OWNER"], values["REPOSITORY"], values["NPM_SCOPE"], values["PUBLISHER"]}, nil
}

func (p project) home() string { return "https://github.com/" + p.owner + "/" + p.repository }

// mcpName is the name of the server in the registry, which looks for it in npm packages and images.
func (p project) mcpName() string { return "io.github." + p.owner + "/" + product }

// platform is one system of a release.
type platform struct {
	os, cpu string // as Node names them
	binary  string // the file that goreleaser built
}

func (p platform) name() string { return p.os + "-" + p.cpu }

func (p platform) program() string {
	if p.os == "win32" {
		return product + ".exe"
	}
	return product
}

// nodeNames maps Go's names to Node's, where they differ.
var nodeNames = map[string]string{"windows": "win32", "amd64": "x64"}

func node(name string) string {
	if n := nodeNames[name]; n != "" {
		return n
	}
	return name
}

// built returns the version and the binaries in the output folder of goreleaser.
func built(dist string) (version string, out []platform, err error) {
	var about struct {
		Version string
	}
	if err := readJSON(filepath.Join(dist, "metadata.json"), &about); err != nil {
		return "", nil, err
	}
	var artifacts []struct {
		Type, Path, Goos, Goarch string
	}
	if err := readJSON(filepath.Join(dist, "artifacts.json"), &artifacts); err != nil {
		return "", nil, err
	}
	for _, a := range artifacts {
		if a.Type == "Binary" {
			// The path is relative to the folder of the module, which holds dist.
			out = append(out, platform{node(a.Goos), node(a.Goarch), filepath.Join(filepath.Dir(filepath.Clean(dist)), a.Path)})
		}
	}
	if len(out) == 0 {
		return "", nil, fmt.Errorf("%s lists no binary", dist)
	}
	return about.Version, out, nil
}

func readJSON(file string, value any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, value)
}

// packages writes the folders of npm packages and MCPB bundles, from the output folder of
// goreleaser. It runs in the folder of the module.
func packages(args []string) error {
	p, err := loadProject()
	if err != nil {
		return err
	}
	version, platforms, err := built(args[0])
	if err != nil {
		return err
	}
	if err := npmMain(p, version, platforms, filepath.Join(args[1], "npm", product)); err != nil {
		return err
	}
	for _, on := range platforms {
		npm := filepath.Join(args[1], "npm", product+"-"+on.name())
		mcpb := filepath.Join(args[1], "mcpb", product+"-"+version+"-"+on.name())
		binary, err := os.ReadFile(on.binary)
		if err != nil {
			return err
		}
		for file, value := range map[string]any{
			filepath.Join(npm, "package.json"):   npmPlatform(p, version, on),
			filepath.Join(mcpb, "manifest.json"): manifest(p, version, on),
		} {
			if err := writeJSON(file, value); err != nil {
				return err
			}
		}
		for _, file := range []string{filepath.Join(npm, "bin", on.program()), filepath.Join(mcpb, "server", on.program())} {
			if err := write(file, binary, 0o755); err != nil {
				return err
			}
		}
		if err := texts(npm, mcpb); err != nil {
			return err
		}
	}
	return nil
}

// texts copies the licenses to folders.
func texts(dirs ...string) error {
	for _, file := range []string{"LICENSE", "release/out/LICENSES.txt"} {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			if err := write(filepath.Join(dir, filepath.Base(file)), data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// npmMain writes the package that users name. It has no binary and no script that runs at its
// installation: npm installs the one optional dependency that fits the platform.
func npmMain(p project, version string, platforms []platform, dir string) error {
	optional := map[string]string{}
	for _, on := range platforms {
		optional[p.scope+"/"+product+"-"+on.name()] = version
	}
	err := writeJSON(filepath.Join(dir, "package.json"), map[string]any{
		"name": product, "version": version, "description": about, "license": "MIT", "author": p.publisher,
		"homepage": p.home(), "repository": map[string]any{"type": "git", "url": "git+" + p.home() + ".git"},
		"mcpName": p.mcpName(), "bin": map[string]any{product: "bin/mcp-toolset.js"},
		"files": []string{"bin"}, "engines": map[string]any{"node": ">=18"}, "optionalDependencies": optional,
		"mcpToolset": map[string]any{"scope": p.scope},
	})
	if err != nil {
		return err
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	for file, data := range map[string][]byte{"bin/mcp-toolset.js": launcher, "README.md": readme, "LICENSE": license} {
		if err := write(filepath.Join(dir, file), data, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// npmPlatform returns the package.json of the package with the binary of a platform.
func npmPlatform(p project, version string, on platform) any {
	return map[string]any{
		"name": p.scope + "/" + product + "-" + on.name(), "version": version, "license": "MIT", "author": p.publisher,
		"description": "The binary of mcp-toolset for " + on.name() + ". Install mcp-toolset instead.",
		"homepage":    p.home(), "repository": map[string]any{"type": "git", "url": "git+" + p.home() + ".git"},
		"os": []string{on.os}, "cpu": []string{on.cpu}, "files": []string{"bin", "LICENSES.txt"}, "preferUnplugged": true,
	}
}

// manifest returns the manifest.json of the bundle of a platform.
func manifest(p project, version string, on platform) any {
	program := "server/" + on.program()
	return map[string]any{
		"manifest_version": "0.3", "name": product, "display_name": product, "version": version, "description": about,
		"author": map[string]any{"name": p.publisher}, "license": "MIT",
		"homepage": p.home(), "repository": map[string]any{"type": "git", "url": p.home()},
		"server": map[string]any{"type": "binary", "entry_point": program, "mcp_config": map[string]any{
			"command": "${__dirname}/" + program, "args": []string{"stdio", "${user_config.folders}"},
		}},
		"tools_generated": true,
		"compatibility":   map[string]any{"platforms": []string{on.os}},
		"user_config": map[string]any{"folders": map[string]any{
			"type": "directory", "title": "Folders", "description": "The folders that the tools may use. The first is the working directory.",
			"multiple": true, "required": true,
		}},
	}
}

// server writes server.json for the MCP registry: the npm package, the image, and each bundle in
// DIR/mcpb with its hash.
func server(args []string) error {
	p, err := loadProject()
	if err != nil {
		return err
	}
	var main struct{ Version string }
	if err := readJSON(filepath.Join(args[0], "npm", product, "package.json"), &main); err != nil {
		return err
	}
	version := main.Version
	stdio := map[string]any{"type": "stdio"}
	folder := map[string]any{"type": "positional", "valueHint": "folder", "description": "A folder that the tools may use; the first is the working directory.", "format": "filepath", "isRequired": true, "isRepeated": true}
	command := map[string]any{"type": "positional", "value": "stdio"}
	mount := map[string]any{"type": "named", "name": "--mount", "isRequired": true, "value": "type=bind,src={folder},dst=/workspace",
		"description": "Makes a folder the workspace.", "variables": map[string]any{"folder": map[string]any{"description": "The folder that the tools may use.", "format": "filepath", "isRequired": true}}}
	list := []any{
		map[string]any{"registryType": "npm", "registryBaseUrl": "https://registry.npmjs.org", "identifier": product, "version": version, "runtimeHint": "npx", "transport": stdio, "packageArguments": []any{command, folder}},
		map[string]any{"registryType": "oci", "identifier": "ghcr.io/" + p.owner + "/" + p.repository + ":" + version + "-debian", "runtimeHint": "docker", "transport": stdio, "runtimeArguments": []any{mount}},
	}
	bundles, err := filepath.Glob(filepath.Join(args[0], "mcpb", "*.mcpb"))
	if err != nil {
		return err
	}
	if len(bundles) == 0 {
		return fmt.Errorf("%s/mcpb has no bundle; run release/pack", args[0])
	}
	for _, bundle := range bundles {
		data, err := os.ReadFile(bundle)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		list = append(list, map[string]any{"registryType": "mcpb", "identifier": p.home() + "/releases/download/v" + version + "/" + filepath.Base(bundle), "fileSha256": hex.EncodeToString(sum[:]), "version": version, "transport": stdio})
	}
	return writeJSON(args[1], map[string]any{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":    p.mcpName(), "title": product, "description": strings.TrimSuffix(about, "."), "version": version,
		"repository": map[string]any{"url": p.home(), "source": "github"}, "packages": list,
	})
}
