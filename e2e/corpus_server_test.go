//go:build unix

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Limits of memory for reading, in MB.
const (
	mostServerMB = 200
	mostAllMB    = 400 // of the server and the processes that read documents for it
)

// corpusServer is a stdio server that handles concurrent requests.
type corpusServer struct {
	t   *testing.T
	cmd *exec.Cmd
	log string

	mu      sync.Mutex
	in      io.WriteCloser
	next    int
	waiting map[int]chan reply // nil after the server has ended
}

// reply is the answer to a request.
type reply struct {
	fault  string // the reason that there is no answer
	text   string
	images []picture
	failed bool
	took   time.Duration
}

// picture is an image as sent.
type picture struct{ mime, data string }

func startCorpus(t *testing.T, root string, args ...string) *corpusServer {
	t.Helper()
	dir := t.TempDir()
	s := &corpusServer{t: t, log: filepath.Join(dir, "log"), waiting: map[int]chan reply{}}
	s.cmd = exec.Command(binary(t), append([]string{"stdio", root, "--log-level", "debug", "--log-file", s.log}, args...)...)
	s.cmd.Env = append(os.Environ(), "MCP_TOOLSET_STATE_DIR="+filepath.Join(dir, "state"))
	s.cmd.Stderr = os.Stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.in.Close() })
	go s.listen(out)
	if got := s.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"corpus","version":"1"}}`); got.fault != "" {
		t.Fatal(got.fault)
	}
	return s
}

// listen passes each answer to the waiting caller.
func (s *corpusServer) listen(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var m struct {
			ID     int
			Method string
			Error  *struct{ Message string }
			Result struct {
				IsError bool
				Content []struct{ Type, Text, Data, MIMEType string }
			}
		}
		if err := json.Unmarshal(line, &m); err != nil || m.Method != "" {
			s.t.Errorf("the server wrote %.500q", line)
			continue
		}
		got := reply{failed: m.Result.IsError}
		if m.Error != nil {
			got.fault = m.Error.Message
		}
		var texts []string
		for _, block := range m.Result.Content {
			switch block.Type {
			case "text":
				texts = append(texts, block.Text)
			case "image":
				got.images = append(got.images, picture{block.MIMEType, block.Data})
			default:
				s.t.Errorf("the server sent content of type %q", block.Type)
			}
		}
		got.text = strings.Join(texts, "\n")
		s.mu.Lock()
		if waits, ok := s.waiting[m.ID]; ok {
			waits <- got
			delete(s.waiting, m.ID)
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, waits := range s.waiting {
		waits <- reply{fault: "the server is gone"}
	}
	s.waiting = nil
}

// send sends a request and returns the channel of its answer.
func (s *corpusServer) send(method, params string) <-chan reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := make(chan reply, 1)
	s.next++
	if s.waiting == nil {
		answer <- reply{fault: "the server is gone"}
		return answer
	}
	s.waiting[s.next] = answer
	if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.next, method, params); err != nil {
		delete(s.waiting, s.next)
		answer <- reply{fault: err.Error()}
	}
	return answer
}

func (s *corpusServer) request(method, params string) reply {
	sent := time.Now()
	select {
	case got := <-s.send(method, params):
		got.took = time.Since(sent)
		return got
	case <-time.After(readTime):
		return reply{fault: fmt.Sprintf("no answer within %v", readTime)}
	}
}

// call calls Read.
func (s *corpusServer) call(arguments string) reply {
	return s.request("tools/call", `{"name":"Read","arguments":`+arguments+`}`)
}

// stop stops the server, which must exit without an error.
func (s *corpusServer) stop() {
	s.t.Helper()
	if n := s.documents(); n != 0 {
		s.t.Errorf("%d documents are still being read", n)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	s.ended()
}

// ended waits for a stopped server to exit.
func (s *corpusServer) ended() {
	s.t.Helper()
	if err := wait(s.t, s.cmd); err != nil {
		s.t.Errorf("the server ended with %v", err)
	}
	s.eventually("nothing reads documents any more", func() bool { return s.documents() == 0 })
}

// eventually waits until a condition is true.
func (s *corpusServer) eventually(what string, is func() bool) {
	s.t.Helper()
	late := time.After(deadline)
	for tick := time.Tick(10 * time.Millisecond); !is(); {
		select {
		case <-tick:
		case <-late:
			s.t.Fatalf("it does not become true that %s", what)
		}
	}
}

var documentPeak = regexp.MustCompile(`msg="a document was read" kind=(\w+) .*\bpeak_mb=([0-9.]+)`)

// checkMemory checks the peak memory so far of the server and its processes.
func (s *corpusServer) checkMemory(when string) {
	s.t.Helper()
	server := s.peakMB()
	if server >= mostServerMB {
		s.t.Errorf("%s: the server held %.0f MB", when, server)
	}
	log, err := os.ReadFile(s.log)
	if err != nil {
		s.t.Fatal(err)
	}
	most := map[string]float64{}
	for _, found := range documentPeak.FindAllStringSubmatch(string(log), -1) {
		mb, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			s.t.Fatal(err)
		}
		most[found[1]] = max(most[found[1]], mb)
	}
	if len(most) != 3 {
		s.t.Errorf("%s: the log has documents of %d kinds, want 3", when, len(most))
	}
	for kind, mb := range most {
		if server+mb >= mostAllMB {
			s.t.Errorf("%s: the server held %.0f MB, a process for a %s %.0f MB", when, server, kind, mb)
		}
	}
	s.t.Logf("%s: the server held %.0f MB, processes %v", when, server, most)
}
