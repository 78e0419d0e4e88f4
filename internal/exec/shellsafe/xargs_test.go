package shellsafe

import (
	"slices"
	"strings"
	"testing"
)

// TestBehindFlags checks that rules match the command that a wrapper runs, whatever
// flags with optional values come before it.
func TestBehindFlags(t *testing.T) {
	for _, s := range []string{
		"xargs --max-lines curl x", "xargs --replace curl x", "xargs --eof curl x", "xargs -i curl x", "xargs -l curl x", "xargs -e curl x", "xargs -in curl x", "xargs -iP curl x",
		"xargs -l5 curl x", "xargs -eEND curl x", "xargs -i% curl %", "xargs --replace=% curl %", "xargs -J % curl %", "xargs -R 1 curl x", "xargs -S 255 curl x", "xargs -0rI{} curl {}", "xargs --max-l curl x",
		"xargs --process-slot-var X curl x", "watch -d curl x", "watch --differences curl x", "watch -q 3 curl x", "env -P /bin curl x", "rlwrap -s 5 curl x", "rlwrap -a curl x", "torsocks -p 9050 curl x", "tini -p SIGTERM curl x", "fakeroot -s f curl x", "screen -L curl x",
	} {
		a := Analyse(s, ws)
		if a.ReadOnly || !slices.ContainsFunc(a.Commands, func(c Command) bool { return c.Name == "curl" }) {
			t.Errorf("%q: curl is not seen in %v", s, a.Commands)
		}
	}
}

// TestReplaced checks that no text of a command counts as known after the
// placeholder of xargs.
func TestReplaced(t *testing.T) {
	for s, sure := range map[string]string{
		"xargs git push": "git push ", "xargs -I% git % x": "git ", "xargs -tI % git % x": "git ", "xargs -0rI% git % x": "git ", "xargs --replace=% git % x": "git ", "xargs --rep=% git % x": "git ",
		"xargs -i git {} x": "git ", "xargs --replace git {} x": "git ", "xargs -J % git % x": "git ", "xargs -i% git % x": "git ", "xargs -I a -I % git % x": "git",
	} {
		a := Analyse(s, ws)
		at := slices.IndexFunc(a.Commands, func(c Command) bool { return strings.HasPrefix(c.Text, "git") })
		if at < 0 || a.Commands[at].Literal || a.Commands[at].KnownPrefix != sure {
			t.Errorf("%q: %+v, want %q to be sure", s, a.Commands, sure)
		}
	}
}
