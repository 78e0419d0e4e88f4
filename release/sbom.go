package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// The part of CycloneDX 1.6 that is written.
type (
	bom struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type    string `json:"type"`
		Ref     string `json:"bom-ref,omitempty"`
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
		URL     string `json:"purl,omitempty"`
		Hashes  []hash `json:"hashes,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
)

// sbom writes the modules that the Go toolchain recorded in a binary as CycloneDX JSON. Go has no
// version of the main module in a build by goreleaser.
func sbom(args []string) error {
	version, file := args[0], args[1]
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	return writeJSON(args[2], components(info, filepath.Base(file), version, hex.EncodeToString(sum[:])))
}

// components returns the list of a binary with a name, a version and a SHA-256.
func components(info *debug.BuildInfo, name, version, sum string) bom {
	out := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Components: []component{
		{Type: "library", Ref: "std", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"), URL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")},
	}}
	out.Metadata.Component = component{Type: "application", Name: name, Version: version, Hashes: []hash{{"SHA-256", sum}}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		url := "pkg:golang/" + m.Path + "@" + m.Version
		out.Components = append(out.Components, component{Type: "library", Ref: url, Name: m.Path, Version: m.Version, URL: url})
	}
	return out
}
