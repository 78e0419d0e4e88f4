package shellsafe

import (
	"os/exec"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// TestNormalize compares joined texts with what they should be, and checks that their
// commands are known.
func TestNormalize(t *testing.T) {
	for text, want := range map[string]string{
		"echo a \\\n  b":                                        "echo a   b",
		"go test \\\n ./...":                                    "go test  ./...",
		"mkdir -p a && \\\n touch a/b":                          "mkdir -p a &&  touch a/b",
		"ec\\\nho a":                                            "echo a",
		"echo a &\\\n& echo b":                                  "echo a && echo b",
		"echo \"a \\\n b\"":                                     "echo \"a  b\"",
		"echo 'a \\\n b'":                                       "echo 'a \\\n b'",
		"echo 'a \\\n b' \\\n c":                                "echo 'a \\\n b'  c",
		"echo a\\\\\nb":                                         "echo a\\\\\nb",
		"echo a\\\\\\\nb":                                       "echo a\\\\b",
		"# comment \\\necho a":                                  "# comment \necho a",
		"echo a # it's \\\necho b \\\n c":                       "echo a # it's \necho b  c",
		"echo a#b \\\n c":                                       "echo a#b  c",
		"cat <<'EOF'\nRUN a && \\\n b\nEOF\necho \\\n x":        "cat <<'EOF'\nRUN a && \\\n b\nEOF\necho  x",
		"cat <<EOF\nRUN a && \\\n b\nEOF\necho \\\n x":          "cat <<EOF\nRUN a &&  b\nEOF\necho  x",
		"cat <<EOF\na\\\\\nEOF":                                 "cat <<EOF\na\\\\\nEOF",
		"cat <<-'EOF'\n\ta \\\n\tEOF\nls \\\n -l":               "cat <<-'EOF'\n\ta \\\n\tEOF\nls  -l",
		"cat <<A <<'B'\na\\\nb\nA\nc\\\nd\nB\n":                 "cat <<A <<'B'\nab\nA\nc\\\nd\nB\n",
		"echo $((1 \\\n + 2)) $((1<<2)) \\\n":                   "echo $((1  + 2)) $((1<<2)) ",
		"git commit -m \"$(cat <<'EOF'\na \\\nb\nEOF\n)\"":      "git commit -m \"$(cat <<'EOF'\na \\\nb\nEOF\n)\"",
		"docker run \\\n -e 'A=1' \\\n -v \"$PWD:/w\" \\\n img": "docker run  -e 'A=1'  -v \"$PWD:/w\"  img",
		"cd a\r\nls\r\n":                                        "cd a\nls\n",
		"cat <<'EOF'\r\na\r\nEOF\r\n":                           "cat <<'EOF'\na\nEOF\n",
		"cd a\r\nls\r":                                          "cd a\nls",
		"ls \\\r\n -l":                                          "ls  -l",
	} {
		got := Normalize(text)
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if a := Analyse(got, Options{Dir: "/ws"}); a.Unresolved != "" {
			t.Errorf("%q is not known: %s", text, a.Unresolved)
		}
	}
	for _, text := range []string{
		"echo $'a \\\n b'", "echo `echo a \\\n b`", "echo a\r", "a\rb\r\n", "ls\n\r\n", "echo \"${x:-'}\" \\\n b", "cat <<E$x\na \\\n\nE$x",
		"echo 'a \\\n", "echo $((a['x'] \\\n))",
	} {
		if got := Normalize(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if a := Analyse(text, Options{Dir: "/ws"}); a.Unresolved == "" {
			t.Errorf("%q counts as known", text)
		}
	}
}

// TestNormalizeBash runs each of many forms in bash as written and joined.
func TestNormalizeBash(t *testing.T) {
	bash := needBash(t)
	dir := t.TempDir()
	words := []string{"a", "'b c'", "\"d e\"", "'f\\\ng'", "\"h\\\ni\"", "j\\\nk", "\\$", "l#m", "\"$((1 \\\n+ 2))\"", "$(echo n \\\n o)", "\"$(echo 'p \\\n q')\"", "${x:-r\\\ns}", "\"${x:-t}\"", "\\\\"}
	forms := []string{
		"printf '<%s>' W \\\n W\n", "printf '<%s>' W && \\\n printf '[%s]' W", "printf '<%s>' W | \\\n cat", "# W \\\nprintf '<%s>' W",
		"printf '<%s>' W # W \\\nprintf '[%s]' W", "if true; then \\\n printf '<%s>' W; \\\nfi", "cat <<EOF\nW \\\n W\nEOF\nprintf '<%s>' \\\n W",
		"cat <<'EOF'\nW \\\n W\nEOF\nprintf '<%s>' \\\n W", "x=W; printf '<%s>' \"$x\" \\\n W", "for i in W \\\n W; do printf '<%s>' \"$i\"; done",
		"printf '<%s>' \"$(printf '(%s)' W \\\n W)\"", "{ printf '<%s>' W; } 2>&1 \\\n | cat", "(printf '<%s>' W; \\\n printf '[%s]' W)", "case W in \\\n a) printf A;; *) printf '<%s>' W;; esac",
		"[[ -n W && \\\n -n W ]] && printf '<%s>' W", "cat <<<W \\\n", "bash -c \"printf '<%s>' 1 \\\n 2\" \\\n W", "cat > /dev/null <<EOF && \\\n printf '<%s>' W\nW\nEOF",
	}
	tried := 0
	var texts []string
	for _, form := range forms {
		for _, w := range words {
			texts = append(texts, strings.ReplaceAll(form, "W", w))
		}
	}
	for _, text := range testscale.Sample(texts, 210) {
		joined := Normalize(text)
		if joined == text {
			continue
		}
		tried++
		run := func(text string) string {
			cmd := exec.Command(bash, "-c", text)
			cmd.Dir = dir
			out, err := cmd.Output() // messages name line numbers
			return string(out) + " " + exitText(err)
		}
		if got, want := run(joined), run(text); got != want {
			t.Errorf("%q prints %q, joined as %q it prints %q", text, want, joined, got)
		}
	}
	if tried < 150 {
		t.Errorf("only %d forms were joined", tried)
	}
	t.Logf("%d forms", tried)
}

func exitText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestLongDocument checks that the body of a quoted here-document does not count for the
// limit of a text.
func TestLongDocument(t *testing.T) {
	body := strings.Repeat("if ((([[{ x\n", 8000)
	for text, known := range map[string]bool{
		"cat > f <<'EOF'\n" + body + "EOF\n":    true,
		"cat > f <<EOF\n" + body + "EOF\n":      false,
		"cat > f <<'EOF'\n" + body:              false,
		"cat > f <<'EOF'\na\nEOF\necho " + body: false,
	} {
		if a := Analyse(text, Options{Dir: "/ws"}); (a.Unresolved == "") != known {
			t.Errorf("%.30q...: %q", text, a.Unresolved)
		}
	}
}
