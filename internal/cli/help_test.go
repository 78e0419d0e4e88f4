package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-toolset/tools"
	"mcp-toolset/tools/builtin"
)

// everyCommand calls do with each command that users see.
func everyCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			everyCommand(sub, do)
		}
	}
}

func runMain(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	h := host(t, map[string]string{})
	h.Home = t.TempDir()
	code = Main(args, h)
	return code, h.Out.(*bytes.Buffer).String(), h.Err.(*bytes.Buffer).String()
}

// Help fits into 100 columns, every flag is in a section, and every value has a name.
func TestHelp(t *testing.T) {
	everyCommand(newRoot(host(t, nil)), func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		_, out, stderr := runMain(t, append(slices.Clone(path), "--help")...)
		if stderr != "" || !strings.Contains(out, "Usage:\n  mcp-toolset") {
			t.Errorf("%v --help prints %q and on standard error %q", path, out, stderr)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth {
				t.Errorf("%v --help has a line of %d columns: %s", path, n, line)
			}
		}
		if _, help, _ := runMain(t, append([]string{"help"}, path...)...); help != out {
			t.Errorf("help %v differs from --help:\n%s\n%s", path, help, out)
		}
		ours := !slices.Contains([]string{"help", "version", "completion"}, strings.Join(append(path, "help")[:1], ""))
		if ours && !cmd.HasSubCommands() && cmd.Example == "" {
			t.Errorf("%v has no example", path)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			section := append(f.Annotations[sectionKey], "")[0]
			if !slices.Contains(sections, section) {
				t.Errorf("%v: --%s is in the section %q", path, f.Name, section)
			}
			if shown := strings.Contains(out+"\n", " --"+f.Name+" "); shown == f.Hidden {
				t.Errorf("%v --help: --%s is hidden: %v", path, f.Name, f.Hidden)
			}
			if f.Value.Type() != "bool" && strings.Count(f.Usage, "`") != 2 {
				t.Errorf("%v: --%s has no name for its value: %s", path, f.Name, f.Usage)
			}
		})
	})
}

// A command shows the flags that concern it and accepts all flags of a server.
func TestHelpSections(t *testing.T) {
	_, out, _ := runMain(t, "policy", "explain", "--help")
	if !strings.Contains(out, "\nSandbox:\n") || strings.Contains(out, "--foreground-limit") || !strings.Contains(out, "also accepts the other flags") {
		t.Errorf("policy explain --help:\n%s", out)
	}
	if code, _, stderr := runMain(t, "policy", "explain", "--foreground-limit", "5s", "Read"); code != exitOK {
		t.Errorf("policy explain --foreground-limit 5s: exit code %d: %s", code, stderr)
	}
	_, out, _ = runMain(t, "http", "--help")
	last := -1
	for _, title := range sections[1:] {
		at := strings.Index(out, "\n"+title+":\n")
		if at <= last {
			t.Errorf("http --help: the section %s is missing or out of order:\n%s", title, out)
		}
		last = at
	}
}

// --feature is hidden as long as no tool has a feature.
func TestHelpFeature(t *testing.T) {
	_, out, _ := runMain(t, "stdio", "--help")
	if has := len(tools.Features(builtin.List(builtin.Options{}))) > 0; has != strings.Contains(out, "--feature") {
		t.Errorf("tools have features: %v; stdio --help:\n%s", has, out)
	}
}

// Every wrong command line gets an error with the fact and the next step.
func TestUsageErrors(t *testing.T) {
	for _, tc := range []struct {
		args, want string
	}{
		{"stdio --max-concurrency abc", `--max-concurrency is "abc"; use a number`},
		{"stdio --max-concurrency 0", `--max-concurrency is 0; the least is 1`},
		{"stdio --max-concurrency 99999999999999999999", `--max-concurrency is "99999999999999999999"; use a number`},
		{"stdio --foreground-limit 5", `--foreground-limit is "5"; use a time such as 90s or 5m`},
		{"http --drain -1s", `--drain is -1s; it cannot be negative`},
		{"tools --wait soon", `--wait is "soon"; use a time such as 90s or 5m`},
		{"stdio --audit-sync sometimes", `--audit-sync is "sometimes"; use always, interval or never`},
		{"stdio --audit-keep 0", `--audit-keep is 0; the least is 1`},
		{"stdio --structured=maybe", `--structured is "maybe"; use true or false`},
		{"stdio --read-dedup=", `--read-dedup is ""; use on or off`},
		{"stdio --cascade none", `--cascade is "none"; use bash, all or off`},
		{"approvals --lift x", `--lift is "x"; use a number`},
		{"stdio --mode", `--mode needs a value`},
		{"tools foo", `tools takes no arguments; leave out "foo"`},
		{"upstream list foo", `upstream list takes no arguments; leave out "foo"`},
		{"completion bash x", `completion bash takes no arguments; leave out "x"`},
		{"completion tcsh", `unknown command "tcsh"; see mcp-toolset completion --help`},
		{"completion zhs", `unknown command "zhs"; did you mean zsh?`},
		{"help stido", `unknown command "stido"; did you mean stdio?`},
		{"help policy explian", `unknown command "explian"; did you mean explain?`},
		{"policy explain Bash ls", `the arguments are not JSON; quote them for the shell: '{"command":"ls"}'`},
		{"policy explain Read ls", `the arguments are not JSON; quote them for the shell: '{"file_path":"README.md"}'`},
		{"call Bash ls", `the arguments are not JSON; quote them for the shell: '{"command":"ls"}'`},
	} {
		code, stdout, stderr := runMain(t, strings.Fields(tc.args)...)
		if want := "mcp-toolset: " + tc.want + "\n"; code != exitUsage || stderr != want || stdout != "" {
			t.Errorf("%s: exit code %d, standard error %q, want %q; standard output %q", tc.args, code, stderr, want, stdout)
		}
	}
}

// The words of a choice are case-insensitive. A choice without a default may be empty.
func TestChoice(t *testing.T) {
	word := ""
	c := choice{&word, []string{"plan", "acceptEdits"}, true}
	for text, want := range map[string]string{"ACCEPTEDITS": "acceptEdits", "Plan": "plan", "": ""} {
		if err := c.Set(text); err != nil || word != want {
			t.Errorf("%q gives %q, %v", text, word, err)
		}
	}
}

// Without arguments the program shows what to do next.
func TestWelcome(t *testing.T) {
	if code, out, stderr := runMain(t); code != exitOK || out != welcome || stderr != "" {
		t.Errorf("exit code %d, %q, %q", code, out, stderr)
	}
}
