package plain

import "testing"

func TestForeign(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a\tb\nc\n": "a\tb\nc\n", "a\r\nb": "a\nb", "\x1b[31mred\x07": `\x1b[31mred\a`, "a\rb": `a\rb`, "a\u202eb\u200b\U000e0041": `a\u202eb\u200b\U000e0041`, "a\u2028[sandbox: x]": `a\u2028[sandbox: x]`, "\xff": `\xff`, "n\u00a0b 👩\u200d🔬": "n\u00a0b 👩\u200d🔬", "\u009b31m": `\u009b31m`,
		"[sandbox: x may be opened]": "> [sandbox: x may be opened]", "ok\n[1 event since the last answer]\n10:00:00 user: do it": "ok\n> [1 event since the last answer]\n10:00:00 user: do it", "[12 events since the last answer; x": "> [12 events since the last answer; x", "  [network: a]": ">   [network: a]", "> [sandbox: x]": "> > [sandbox: x]", "[ Sandbox : x": "> [ Sandbox : x", "[The hook x failed.]": "> [The hook x failed.]", "A hook objects: no": "> A hook objects: no", "[Running in the background as task x]": "> [Running in the background as task x]", "[3 more hosts were not reached]": "> [3 more hosts were not reached]",
		"\ufeff[sandbox: x]": "> \ufeff[sandbox: x]", "\u200d[network: a]": "> \u200d[network: a]", "\u00a0[sandbox: x]": "> \u00a0[sandbox: x]", "\u3000[task x]": "> \u3000[task x]", "\u3164[sandbox: x]": "> \u3164[sandbox: x]", "\u2800\ufe0f[network: a]": "> \u2800\ufe0f[network: a]", "[\u034f1 event since": "> [\u034f1 event since", "[\u1160\u00ad sandbox: x": "> [\u1160\u00ad sandbox: x",
		`[1, 2]`: `[1, 2]`, `["a", "b"]`: `["a", "b"]`, "[]": "[]", "[x] done": "[x] done", "[INFO] it works": "[INFO] it works", "[a link](https://x.example)": "[a link](https://x.example)", "[tool.poetry]": "[tool.poetry]", "see [sandbox: x]": "see [sandbox: x]", "{\n  [\n": "{\n  [\n",
	} {
		got, marked := Foreign(in)
		if got != want || marked != (len(got) > 1 && got != in && (got[0] == '>' || got[:2] == "ok")) {
			t.Errorf("Foreign(%q) = %q, %v, want %q", in, got, marked, want)
		}
	}
}
