package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
)

// TestCallsOf lists what calls of a program are judged as. "" is a call that is refused, since a part of
// it is not understood.
func TestCallsOf(t *testing.T) {
	for call, want := range map[string]string{
		// Commands.
		`"kind":"execute","rawInput":{"command":"./x.sh"}`:                                                       `Bash ./x.sh`,
		`"kind":"execute","rawInput":{"command":["a","b c"],"cwd":"/src/x y","description":"d","timeout":3}`:     `Bash cd '/src/x y' && a 'b c'`,
		`"kind":"execute","rawInput":{"command":"git","args":["log","a b"]}`:                                     `Bash git log 'a b'`,
		`"kind":"execute","rawInput":{"command":"ls","env":{"LD_PRELOAD":"/x"}}`:                                 ``,
		`"kind":"execute","rawInput":{"command":"sh","stdin":"rm -rf /"}`:                                        ``,
		`"kind":"execute","rawInput":{"command":"ls","cmd":"rm x"}`:                                              ``,
		`"kind":"execute","rawInput":{"command":"ls","cwd":"/a","directory":"/b"}`:                               ``,
		`"kind":"execute","rawInput":{"command":"ls","cwd":"-"}`:                                                 ``,
		`"kind":"execute","rawInput":{"command":["ls",1]}`:                                                       ``,
		`"kind":"execute","rawInput":{"command":{"program":"rm"}}`:                                               ``,
		`"kind":"execute","rawInput":{"command":"ls","args":"-l; rm x"}`:                                         ``,
		`"kind":"execute","rawInput":["ls"]`:                                                                     ``,
		`"kind":"execute","rawInput":"ls"`:                                                                       ``,
		`"kind":"execute","rawInput":{"command":"ls"},"content":[{"type":"diff","path":"/etc/x","newText":"y"}]`: ``,
		`"kind":"execute"`: ``,
		// Reads and searches.
		`"kind":"read","rawInput":{"file_path":"a","offset":1,"limit":2}`:                             `Read a`,
		`"kind":"read","rawInput":{"paths":["a","/b"]},"locations":[{"path":"/c"}]`:                   `Read /b; Read /c; Read a`,
		`"kind":"read","rawInput":{"uri":"file:///src/a%20b"}`:                                        `Read /src/a b`,
		`"kind":"read","rawInput":{"uri":"file://host/src/a"}`:                                        ``,
		`"kind":"read","rawInput":{"uri":"https://x/a"}`:                                              ``,
		`"kind":"read","rawInput":{"path":"~/.ssh/id_rsa"}`:                                           ``,
		`"kind":"read","rawInput":{"path":"a\u0000b"}`:                                                ``,
		`"kind":"read","rawInput":{"path":"a","other_path":"/etc/shadow"}`:                            ``,
		`"kind":"read","rawInput":{"path":"a","options":{"file":"/etc/shadow"}}`:                      ``,
		`"kind":"read","rawInput":{"path":"a","more":["/etc/shadow"]}`:                                ``,
		`"kind":"read","rawInput":{"path":{"file":"a"}}`:                                              ``,
		`"kind":"read","rawInput":{"path":["a",{"file":"/etc/shadow"}]}`:                              ``,
		`"kind":"read","rawInput":{"path":""}`:                                                        ``,
		`"kind":"read","rawInput":{"path":"a"},"locations":[{"path":"vscode://x/a"}]`:                 ``,
		`"kind":"read","rawInput":{"path":"a"},"content":[{"type":"diff","path":"/b","newText":"y"}]`: ``,
		`"kind":"search","rawInput":{"pattern":"x"}`:                                                  `Bash grep -r -e x -- .`,
		`"kind":"search","rawInput":{"pattern":"x","path":"/src/a b"}`:                                `Bash grep -r -e x -- '/src/a b'`,
		`"kind":"search","rawInput":{"pattern":"/etc/*","path":"a"}`:                                  `Bash grep -r -e x -- /etc/ a`,
		`"kind":"search","rawInput":{"glob":"~/*"}`:                                                   ``,
		`"kind":"search","rawInput":{"pattern":"x","output":"/etc/x"}`:                                ``,
		// Changes.
		`"kind":"edit","rawInput":{"file_path":"a","content":"x"}`:                                                       `Write a=x`,
		`"kind":"edit","rawInput":{"notebook_path":"/etc/passwd"},"locations":[{"path":"/src/a"}]`:                       `Write /etc/passwd=; Write /src/a=`,
		`"kind":"edit","rawInput":{"file_path":"a","edits":[{"old_string":"x","new_string":"y","replace_all":true}]}`:    `Write a=`,
		`"kind":"edit","rawInput":{"file_path":"a","edits":[{"file_path":"/etc/x","old_string":"x"}]}`:                   `Write /etc/x=; Write a=`,
		`"kind":"edit","rawInput":{"file_path":"a","edits":{"/etc/x":true}}`:                                             ``,
		`"kind":"edit","rawInput":{"file_path":"a","edits":["/etc/x"]}`:                                                  ``,
		`"kind":"edit","rawInput":{"file_path":"a","/etc/x":true}`:                                                       ``,
		`"kind":"edit","rawInput":{"changes":{"/etc/x":{"type":"update","unified_diff":"d"}}}`:                           ``,
		`"kind":"edit","rawInput":{"file_path":"a","patch":"--- /etc/x\n+++ /etc/x\n"}`:                                  ``,
		`"kind":"edit","rawInput":{"file_path":"a","file_path2":"/etc/x"}`:                                               ``,
		`"kind":"edit","rawInput":{"file_path":7}`:                                                                       ``,
		`"kind":"edit","rawInput":{"file_path":"a"},"content":[{"type":"diff","path":"/b","oldText":"x","newText":"y"}]`: `Edit /b: x=y; Write a=`,
		`"kind":"edit","content":[{"type":"diff","path":"file:///b","newText":"y"}],"locations":[{"path":"/b"}]`:         `Write /b=y`,
		`"kind":"edit"`:                              ``,
		`"kind":"edit","rawInput":"/etc/x"`:          ``,
		`"kind":"delete","rawInput":{"path":"/src"}`: `Bash rm -r -- /src`,
		`"kind":"delete","rawInput":{"paths":["a","b c"],"recursive":true},"locations":[{"path":"/d"}]`:              `Bash rm -r -- /d a 'b c'`,
		`"kind":"delete","rawInput":{"path":"a"},"content":[{"type":"diff","path":"/b","oldText":"x","newText":""}]`: `Bash rm -r -- /b a`,
		`"kind":"delete","rawInput":{"path":"-rf"}`:                                                                  `Bash rm -r -- -rf`,
		`"kind":"delete","rawInput":{"path":"a","also":"/etc/x"}`:                                                    ``,
		`"kind":"delete","rawInput":{"items":[{"path":"/etc/x"}]}`:                                                   ``,
		`"kind":"delete"`: ``,
		`"kind":"move","rawInput":{"path":"a.txt","to":"/etc/x"}`:                                               `Bash mv -- a.txt /etc/x`,
		`"kind":"move","rawInput":{"source":"/z","destination":"/a"},"locations":[{"path":"/a"},{"path":"/z"}]`: `Bash mv -- /z /a`,
		`"kind":"move","rawInput":{"oldPath":"z","newPath":"a"}`:                                                `Bash mv -- z a`,
		`"kind":"move","rawInput":{"path":"a"}`:                                                                 ``,
		`"kind":"move","rawInput":{"path":"a","to":"b","backup":"/etc/x"}`:                                      ``,
		`"kind":"move","rawInput":{"path":"a","to":{"path":"/etc/x"}}`:                                          ``,
		`"kind":"move","locations":[{"path":"/a"},{"path":"/b"}]`:                                               `Bash mv -- /a /b`,
		// Others.
		`"kind":"fetch","rawInput":{"url":"http://x","prompt":"p"}`:                    `WebFetch http://x`,
		`"kind":"fetch","rawInput":{"urls":["http://x","http://y"]}`:                   `WebFetch http://x; WebFetch http://y`,
		`"kind":"fetch","rawInput":{"url":"http://x","method":"POST","body":"secret"}`: ``,
		`"kind":"fetch","rawInput":{"url":"http://x","output":"/etc/x"}`:               ``,
		`"kind":"fetch","rawInput":{"url":"http://x"},"locations":[{"path":"/etc/x"}]`: ``,
		`"kind":"other","rawInput":{"command":"ls"}`:                                   ``,
		`"kind":"think","rawInput":{"path":"a"}`:                                       ``,
		`"kind":"switch_mode","rawInput":{"mode":"yolo"}`:                              ``,
		`"rawInput":{"path":"a"}`:                                                      ``,
	} {
		var c acp.ToolCallUpdate
		if err := json.Unmarshal([]byte(`{"toolCallId":"1",`+call+`}`), &c); err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		var got []string
		for _, a := range callsOf(c) {
			in := a.input.(map[string]string)
			text := a.tool + " " + in["command"] + in["url"] + in["file_path"]
			switch a.tool {
			case "Write":
				text += "=" + in["content"]
			case "Edit":
				text += ": " + in["old_string"] + "=" + in["new_string"]
			}
			got = append(got, text)
		}
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", call, got, want)
		}
	}
}
