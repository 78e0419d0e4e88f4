package ignore

import (
	"strings"
	"testing"
)

func TestHints(t *testing.T) {
	for _, c := range []struct{ glob, want string }{
		{`["*.ts","*.tsx"]`, "a list in JSON"},
		{`[ "*.ts" ]`, "a list in JSON"},
		{`"src/*.ts"`, "quotes around"},
		{`'*.md'`, "quotes around"},
		{"`src/*.ts`", "quotes around"},
		{`^src/.*`, "regular expression"},
		{`.*\.ts$`, "regular expression"},
		{`\.go$`, "regular expression"},
		{`src/.*`, "regular expression"},
		{`*.ts|*.tsx`, "| separates nothing"},
		{`src/*.@(ts|tsx)`, "| separates nothing"},
		{`src/!(*.test).ts`, "a group"},
		{`*.+(ts)`, "a group"},
		{`src/?(index).ts`, "a group"},
		{`f{1..3}.txt`, "no range"},
		{`src\*.ts`, "folders are separated by /"},
		{`src\**\*.tsx`, "folders are separated by /"},

		{`app/(auth)/**`, ""},
		{`app/(.)photo/[id]/*`, ""},
		{`app/@modal/*`, ""},
		{`app/(tabs)/[user]+api.ts`, ""},
		{`app\/[id]/*`, ""},
		{`$HOME/*.go`, ""},
		{`routes/$id.tsx`, ""},
		{`it's/*`, ""},
		{`.*rc`, ""},
	} {
		got := Hints(c.glob)
		if c.want == "" && got != nil || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: %q, want %q", c.glob, got, c.want)
		}
	}
}
