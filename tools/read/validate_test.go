package read

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// refusal returns the error of a call that is refused before any file is accessed.
func refusal(t *testing.T, args string) string {
	t.Helper()
	call, err := New(Options{}).Parse([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	env := &tools.Env{} // no files, no session: nothing but words
	if _, err := call.Prepare(env); err != nil {
		return err.Error()
	}
	return ""
}

func TestValidate(t *testing.T) {
	const onePage = ` Use one page such as "3", or a range such as "1-5".`
	for args, want := range map[string]string{
		`"file_path":"/f"`:                                "",
		`"file_path":"/f","pages":"3"`:                    "",
		`"file_path":"/f","pages":" 1 - 20 "`:             "",
		`"file_path":"/f","pages":""`:                     "",
		`"file_path":"/f","pages":"abc"`:                  `pages is "abc", which is neither a page nor a range.` + onePage,
		`"file_path":"/f","pages":"3-"`:                   `pages is "3-", which is neither a page nor a range.` + onePage,
		`"file_path":"/f","pages":"-3"`:                   `pages is "-3", which is neither a page nor a range.` + onePage,
		`"file_path":"/f","pages":"1,3"`:                  `pages is "1,3", which is neither a page nor a range.` + onePage,
		`"file_path":"/f","pages":"99999999999999999999"`: `pages is "99999999999999999999", which is neither a page nor a range.` + onePage,
		`"file_path":"/f","pages":"0"`:                    `pages is "0", and pages count from 1.` + onePage,
		`"file_path":"/f","pages":"0-3"`:                  `pages is "0-3", and pages count from 1.` + onePage,
		`"file_path":"/f","pages":"5-3"`:                  `pages is "5-3", which ends before it begins. Use "3-5".`,
		`"file_path":"/f","pages":"200000-3"`:             `pages is "200000-3", which ends before it begins. Use "3-22".`,
		`"file_path":"/f","pages":"5-0"`:                  `pages is "5-0", which ends before it begins. Use "1-5".`,
		`"file_path":"/f","pages":"11-31"`:                `pages is "11-31", and a call reads 20 pages at most. Use "11-30", then go on from there.`,
		`"file_path":"\\\\server\\share\\f"`:              `\\server\share\f is a network path of Windows, and this machine is not one. Use the path at which the share is mounted here.`,
		`"file_path":"\\\\server\\f","pages":"x"`:         `pages is "x", which is neither a page nor a range.` + onePage,
		`"file_path":"/dev/zero"`:                         "/dev/zero is a device or belongs to a running process. Use the path of a file.",
		`"file_path":"/dev/../dev/./zero"`:                "/dev/zero is a device or belongs to a running process. Use the path of a file.",
		`"file_path":"/proc/self/fd/0","pages":"0"`:       `pages is "0", and pages count from 1.` + onePage,
	} {
		if runtime.GOOS == "windows" && strings.Contains(args, `\\\\`) {
			continue // a path like any other there
		}
		if got := refusal(t, "{"+args+"}"); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

func TestDevices(t *testing.T) {
	for path, want := range map[string]bool{
		"/dev/random": true, "/dev/urandom": true, "/dev/stdin": true, "/dev/tty": true, "/dev/ttyS0": true, "/dev/fd/0": true,
		"/proc/self/fd/1": true, "/proc/1/fd/1": true, "/proc/self/mem": true, "/proc/12/mem": true, "/proc/self/task/1/mem": true,
		"/proc/thread-self/fd/0": true, "/proc/kmsg": true,
		"/dev/shm/file": false, "/proc/self/status": false, "/proc/meminfo": false, "/home/dev/zero": false, "/proc/self/fdinfo": false,
		"/w/dev/stdin": false, "/dev/zero.txt": false,
	} {
		if got := refusal(t, fmt.Sprintf(`{"file_path":%q}`, path)) != ""; got != want {
			t.Errorf("%s is refused by its name: %v", path, got)
		}
	}
}

// FuzzPages checks that any value of pages gives a valid range or an error.
func FuzzPages(f *testing.F) {
	for _, s := range []string{"", "3", "1-5", "5-3", "0", "abc", "1-", "-", "007", "+1", "1-99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		first, last, err := pages(s)
		switch {
		case err != nil && (first != 0 || last != 0):
			t.Errorf("%q: pages %d to %d and an error", s, first, last)
		case err != nil || s == "" && first == 0 && last == 0:
		case first < 1 || last < first || last-first >= 20:
			t.Errorf("%q is pages %d to %d", s, first, last)
		}
	})
}

func TestPagesOfText(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	_, err := w.Call(t.Context(), New(Options{}), `{"file_path":"/nowhere/f","pages":"x"}`)
	if err == nil || !strings.HasPrefix(err.Error(), `pages is "x"`) {
		t.Errorf("pages of a file that is nowhere: %v", err)
	}
}
