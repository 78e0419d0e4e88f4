// The two servers: how each is built or installed, started, and asked to read.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const peerPackage = "@modelcontextprotocol/server-filesystem"

// side is one server and what was measured of it. Entries with the same index
// on both sides were measured one right after the other.
type side struct {
	name   string
	argv   []string
	read   json.RawMessage // params of the tools/call that reads the sample
	marker []byte          // what an answer to it must hold
	absent string          // why it was not measured

	start, rssStart       []float64 // ms and MB, one per start
	stopped               []float64 // ms from SIGTERM to the end, one per start
	reads                 []float64 // ms, one per read
	blockMedian, blockP95 []float64 // ms, one per block of reads
	perSecond, rssLoad    []float64 // and MB, one per block with reads in flight
}

// sampleSize is the size of the file that is read, in bytes.
const sampleSize = 10_000

// sample is the file that is read.
type sample struct {
	dir, path string
	lastLine  string
}

// makeSample writes a file that looks like source text: about 45 characters a
// line, and quotes, which JSON has to escape.
func makeSample(tmp string) (sample, error) {
	tmp, err := filepath.EvalSymlinks(tmp) // a root must be a real path for the peer
	if err != nil {
		return sample{}, err
	}
	s := sample{dir: filepath.Join(tmp, "workspace")}
	s.path = filepath.Join(s.dir, "sample.go")
	var b bytes.Buffer
	for i := 1; b.Len() < sampleSize; i++ {
		fmt.Fprintf(&b, "\tfmt.Println(\"line\", %d, x[%d] <= y) // why\n", i, i%7)
	}
	s.lastLine = "// the end of the sample"
	b.Truncate(sampleSize - len(s.lastLine) - 2)
	b.WriteString("\n" + s.lastLine + "\n")
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return s, err
	}
	return s, os.WriteFile(s.path, b.Bytes(), 0o600)
}

func newSide(name string, argv []string, tool, property string, s sample) *side {
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": map[string]string{property: s.path}})
	if err != nil {
		panic(err) // strings only
	}
	return &side{name: name, argv: argv, read: params, marker: []byte(s.lastLine)}
}

// moduleDir returns the folder of the product's module, which is the parent of
// this one's.
func moduleDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	mod := strings.TrimSpace(string(out))
	if err != nil || mod == "" || mod == os.DevNull {
		return "", errors.Join(errors.New("finding the module: run this in the folder bench of the repository"), err)
	}
	return filepath.Dir(filepath.Dir(mod)), nil
}

// product builds the server from the working tree.
func product(ctx context.Context, tmp string, s sample) (*side, error) {
	dir, err := moduleDir(ctx)
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(tmp, "mcp-toolset")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building: %w\n%s", err, out)
	}
	return newSide("mcp-toolset", []string{bin, "stdio", "--read-dedup=off", s.dir}, "Read", "file_path", s), nil
}

// installTime is how long installing the peer may take.
const installTime = 5 * time.Minute

// peer installs the reference server; the side is never nil.
func peer(ctx context.Context, s sample) (*side, error) {
	p := newSide("server-filesystem", nil, "read_text_file", "path", s)
	node, dir, err := peerFolder(ctx)
	if err != nil {
		return p, err
	}
	p.argv = []string{node, filepath.Join(dir, "node_modules", filepath.FromSlash(peerPackage), "dist", "index.js"), s.dir}
	return p, nil
}

// peerFolder installs the packages of bench/peer, if they are not, and returns node and
// their folder.
func peerFolder(ctx context.Context) (node, folder string, err error) {
	if node, err = exec.LookPath("node"); err != nil {
		return "", "", errors.New("node is not installed")
	}
	dir, err := moduleDir(ctx)
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	var problem bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(dir, "bench", "peer", "install.sh"))
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		// Only now: an install from an earlier run works without npm.
		if _, missing := exec.LookPath("npm"); missing != nil {
			return "", "", errors.New("npm is not installed")
		}
		return "", "", fmt.Errorf("bench/peer/install.sh: %w: %s", err, lastLine(problem.String()))
	}
	return node, strings.TrimSpace(string(out)), nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
