//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcp-toolset/internal/testscale"
)

const (
	// leastSamples is the least number of reads in the corpus.
	leastSamples = 220
	// readTime is the timeout of one read: that of Read's own processes and a margin.
	readTime = 40 * time.Second
	// atOnce is the number of concurrent reads in the second round.
	atOnce = 10
)

// corpus is a folder of files of every kind, whole and broken, with the expected answer
// to a read of each.
type corpus struct {
	t       *testing.T
	root    string
	samples []*sample
	lost    atomic.Bool // whether a read got no answer; the others are then skipped
}

// sample is one read.
type sample struct {
	path     string // of the file, as in the call
	more     string // further arguments of the call, as JSON with a leading comma
	want     string // regular expression that matches the whole text of the answer
	failed   bool   // whether the answer must be an error
	pictures int    // number of pictures in the answer; -1: any number
}

func newCorpus(t *testing.T) *corpus {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &corpus{t: t, root: root}
}

// write creates a file and its folder.
func (c *corpus) write(name string, data string) {
	c.t.Helper()
	path := filepath.Join(c.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// read adds a read of an existing file; want matches its text.
func (c *corpus) read(path, want string) *sample {
	s := &sample{path: path, want: want}
	c.samples = append(c.samples, s)
	return s
}

// refuse adds a read of an existing file that fails with a fact about the file, which the
// error names by its path.
func (c *corpus) refuse(path, fact string) *sample {
	s := c.read(path, `Read: failed: `+regexp.QuoteMeta("$ROOT/"+path)+` `+fact)
	s.failed = true
	return s
}

// shows creates a file and adds a read of it.
func (c *corpus) shows(name, data, want string) *sample {
	c.write(name, data)
	return c.read(name, want)
}

// refuses creates a file and adds a read of it that fails.
func (c *corpus) refuses(name, data, fact string) *sample {
	c.write(name, data)
	return c.refuse(name, fact)
}

// with adds arguments to a read.
func (x *sample) with(format string, args ...any) *sample {
	x.more += "," + fmt.Sprintf(format, args...)
	return x
}

// wants replaces the expected answer of a read.
func (x *sample) wants(want string) *sample {
	x.want = want
	return x
}

// numbered returns a regular expression for lines as Read shows them.
func numbered(lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "\n%d\t%s", i+1, line)
	}
	return regexp.QuoteMeta(b.String()[1:])
}

// TestCorpus reads every file of the corpus, first one by one and then concurrently. It
// checks that each answer is correct and clear, that nothing hangs, and that no file ends
// the server or exceeds its memory limits.
func TestCorpus(t *testing.T) {
	testscale.NeedFull(t)
	c := newCorpus(t)
	for _, add := range []func(*corpus){
		addTexts, addEncodings, addSizes, addNames, addSpecial, addBinaries,
		addPictures, addBadPictures, addRealPictures, addNotebooks, addPDFs, addRealPDFs,
	} {
		add(c)
	}
	if len(c.samples) < leastSamples {
		t.Errorf("%d samples, of which there must be %d", len(c.samples), leastSamples)
	}
	s := startCorpus(t, c.root, "--read-dedup", "off")
	before := s.descriptors()
	for _, x := range c.samples {
		if c.check(x, s.call(x.arguments())); c.lost.Load() {
			return
		}
	}
	s.checkMemory("one by one")
	c.checkParts(s)
	stop := s.watchMemory()
	c.together(s)
	stop()
	s.checkMemory("together")
	if after := s.descriptors(); after > before+3 {
		t.Errorf("%d open files, %d before", after, before)
	}
	if got := s.request("ping", "{}"); got.fault != "" {
		t.Errorf("a ping at the end: %s", got.fault)
	}
	s.stop()
}

// together reads the samples again, many at a time; of the quick corpus, a third.
func (c *corpus) together(s *corpusServer) {
	queue := make(chan *sample)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for x := range queue {
				if !c.lost.Load() {
					c.check(x, s.call(x.arguments()))
				}
			}
		})
	}
	for _, x := range c.samples {
		queue <- x
	}
	close(queue)
	all.Wait()
}

// arguments returns the arguments of the call.
func (x *sample) arguments() string {
	path, err := json.Marshal(x.path)
	if err != nil {
		panic(err) // strings only
	}
	return `{"file_path":` + string(path) + x.more + `}`
}
