package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// hookScript is a hook as users write them for Claude Code. It reads the documented
// fields of tool_response and fails if one is missing.
const hookScript = `
import json, sys
call = json.load(sys.stdin)
tool, r = call["tool_name"], call["tool_response"]
def patch():
    return ["%d,%d %d,%d %s" % (h["oldStart"], h["oldLines"], h["newStart"], h["newLines"], "|".join(h["lines"])) for h in r["structuredPatch"]]
if tool == "Write":
    said = [r["type"], r["filePath"], r["content"], r["originalFile"], patch()]
elif tool == "Edit":
    said = [r["filePath"], r["oldString"], r["newString"], r["originalFile"], patch(), r["replaceAll"]]
elif tool == "Read":
    f = r["file"]
    said = [r["type"], f["filePath"], f["content"], f["numLines"], f["startLine"], f["totalLines"]]
else:
    said = [r["stdout"], r["stderr"], r["interrupted"], r["isImage"], "backgroundTaskId" in r, "persistedOutputPath" in r]
with open(sys.argv[1], "a") as out:
    out.write(json.dumps([tool] + said) + "\n")
`

// TestHookShape checks that a hook written for Claude Code finds the expected fields in
// tool_response.
func TestHookShape(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("the hook is written in Python: ", err)
	}
	base := newBase(t)
	put(t, base+"/hook.py", hookScript)
	put(t, base+"/root/old.txt", "one\ntwo\n")
	p := startPlace(t, placeOptions{base: base, settings: `{"permissions":{"allow":["Bash"]},"hooks":{"PostToolUse":[
		{"matcher":"Write|Edit|Read|Bash","hooks":[{"type":"command","command":"` + python + ` $BASE/hook.py $BASE/said"}]}]}}`})
	h := connect(t, p, false, nil)
	for _, c := range [][2]string{
		{"Write", `{"file_path":"new.txt","content":"a\n"}`},
		{"Read", `{"file_path":"old.txt"}`},
		{"Write", `{"file_path":"old.txt","content":"one\n2\n"}`},
		{"Edit", `{"file_path":"old.txt","old_string":"2","new_string":"3"}`},
		{"Bash", `{"command":"echo out; echo err >&2"}`},
		{"Bash", `{"command":"sleep 0.01","run_in_background":true}`},
		{"Bash", `{"command":"seq 20000 >&2"}`},
	} {
		if o := h.must(c[0], c[1]); strings.Contains(o.text, "The hook") {
			t.Errorf("%s: %s", c[0], o.text)
		}
	}
	got := lines(t, base+"/said")
	want := []string{
		`["Write", "create", "$ROOT/new.txt", "a\n", null, []]`,
		`["Read", "text", "$ROOT/old.txt", "one\ntwo", 2, 1, 2]`,
		`["Write", "update", "$ROOT/old.txt", "one\n2\n", "one\ntwo\n", ["1,2 1,2  one|-two|+2"]]`,
		`["Edit", "$ROOT/old.txt", "2", "3", "one\n2\n", ["1,2 1,2  one|-2|+3"], false]`,
		`["Bash", "out\nerr\n", "", false, false, false, false]`,
		`["Bash", "", "", false, false, true, false]`,
	}
	for i, line := range got {
		line = strings.ReplaceAll(line, p.root, "$ROOT")
		if i < len(want) && line != want[i] {
			t.Errorf("got  %s\nwant %s", line, want[i])
		}
	}
	if len(got) != 7 || !strings.HasSuffix(got[6], `20000\n", "", false, false, false, true]`) {
		t.Errorf("%d lines, the last is %.300s", len(got), got[max(0, len(got)-1)])
	}
}
