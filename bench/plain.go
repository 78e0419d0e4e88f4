// A search with nothing but the standard library, as one would write it first:
// every file is read, every line given to package regexp.

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// runPlain searches a tree. It knows no ignore rules.
func (c searchCase) runPlain(tree string) (ms float64, err error) {
	begin := time.Now()
	_, err = c.plain(tree)
	return millis(time.Since(begin)), err
}

// plain counts what the case asks for: files or lines.
func (c searchCase) plain(tree string) (hits int64, err error) {
	of := func(name string) int {
		if ok, _ := filepath.Match("*_test.go", filepath.Base(name)); ok {
			return 1
		}
		return 0
	}
	if pattern := c.args["pattern"].(string); c.rg[0] != "--files" {
		if c.args["-i"] == true {
			pattern = "(?i)" + pattern
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return 0, err
		}
		of = func(name string) int { return plainHits(name, re, c.args["output_mode"] == "files_with_matches") }
	}
	names := make(chan string, 1024)
	var sum atomic.Int64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for name := range names {
				sum.Add(int64(of(name)))
			}
		})
	}
	err = filepath.WalkDir(tree, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Type().IsRegular():
			names <- name
		}
		return nil
	})
	close(names)
	wait.Wait()
	return sum.Load(), err
}

// plainHits counts the lines of a text file that match; with one, it is 1 if
// any does.
func plainHits(name string, re *regexp.Regexp, one bool) (n int) {
	text, err := os.ReadFile(name)
	if err != nil || bytes.IndexByte(text[:min(len(text), 64<<10)], 0) >= 0 {
		return 0
	}
	if one {
		if re.Match(text) {
			n = 1
		}
		return n
	}
	for line := range bytes.Lines(text) {
		if re.Match(line) {
			n++
		}
	}
	return n
}
