package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
)

const (
	// oftenExact and oftenSimilar are the numbers of approvals from which a rule is suggested: on
	// exactly the same call, and on calls with the same beginning or of the same tool.
	oftenExact   = 2
	oftenSimilar = 3
	// maxSuggested is the limit of rules, and maxSamples that of calls that each shows.
	maxSuggested = 20
	maxSamples   = 5
)

// Suggestions lists rules that would have allowed calls that the user approved often.
type Suggestions struct {
	Rules   []Suggestion `json:"rules"`
	Problem string       `json:"problem"` // why there are none; may be ""
}

// Suggestion is a rule with the calls that it would have allowed.
type Suggestion struct {
	Rule     string   `json:"rule"`
	Count    int      `json:"count"`
	Calls    []string `json:"calls"`
	Settings string   `json:"settings"` // JSON text to copy into a settings file
	File     string   `json:"file"`     // the settings file of the user; "" if it is not known
}

// candidate is a rule with the approved calls that it covers.
type candidate struct {
	rule     string
	similar  bool // it covers more than calls with the same input
	count    int
	calls    []string // different ones
	tool     string
	input    json.RawMessage // of one call
	distinct map[string]bool
}

func (l *Local) suggest(ctx context.Context, _ struct{}) (any, error) {
	out := Suggestions{Rules: []Suggestion{}}
	if l.Audit == nil {
		out.Problem = noAudit
		return out, nil
	}
	entries, err := l.agreed()
	if err != nil {
		out.Problem = plain.Line(err.Error())
	}
	found := map[string]*candidate{}
	for i := range entries {
		for _, r := range l.rulesFor(&entries[i]) {
			c := found[r.rule]
			if c == nil {
				c = &r
				c.distinct = map[string]bool{}
				found[r.rule] = c
			}
			c.count++
			input := entries[i].Input
			if text := cmp.Or(titleOf(input), plain.Cut(string(input), maxTitle)); !c.distinct[text] {
				c.distinct[text] = true
				if len(c.calls) < maxSamples {
					c.calls = append(c.calls, text)
				}
			}
		}
	}
	for _, c := range found {
		often := c.count >= oftenExact
		if c.similar {
			often = c.count >= oftenSimilar && len(c.distinct) > 1
		}
		if !often || l.holds(ctx, c) {
			continue
		}
		text, err := json.MarshalIndent(map[string]any{"permissions": map[string]any{"allow": []string{c.rule}}}, "", "  ")
		if err != nil {
			return nil, err
		}
		out.Rules = append(out.Rules, Suggestion{c.rule, c.count, c.calls, string(text), l.AddTo})
	}
	slices.SortFunc(out.Rules, func(a, b Suggestion) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Rule, b.Rule)) })
	out.Rules = out.Rules[:min(len(out.Rules), maxSuggested)]
	return out, nil
}

// holds reports whether a call of a candidate is allowed already, or whether a rule would not
// change that.
func (l *Local) holds(ctx context.Context, c *candidate) bool {
	if l.Explain == nil {
		return false
	}
	d := l.Explain(ctx, "", c.tool, c.input).Decision
	return d.Behavior == policy.Allow || d.Layer == policy.LayerRule || d.Layer == policy.LayerSandbox || d.Behavior == policy.Deny && d.Layer != policy.LayerApproval
}

// word matches words of commands that mean the same in a rule as in a command.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:+@-]*$`)

// risky lists programs for which only exact commands are suggested: they run other programs or
// texts, remove files, or change permissions.
var risky = []string{
	"sh", "bash", "zsh", "dash", "fish", "env", "sudo", "doas", "su", "ssh", "scp", "rsync", "xargs", "find", "eval", "exec", "python", "python3", "node", "deno", "bun", "perl", "ruby", "php",
	"rm", "rmdir", "mv", "dd", "chmod", "chown", "kill", "pkill", "killall", "curl", "wget", "docker", "podman", "kubectl", "powershell", "pwsh", "cmd", "nohup", "timeout", "watch", "time",
	"npx", "pnpx", "bunx", "uvx", "pipx", "awk", "sed", "nix", "systemctl", "crontab", "at",
}

// runs lists first arguments that make other programs, such as git, go, npm and uv, run any text
// or program.
var runs = []string{"run", "exec", "x", "dlx", "config", "install"}

// hostOf returns the host of a URL as rules write it, or "".
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || !word.MatchString(u.Hostname()) {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// rulesFor returns the rules that would have allowed a call.
func (l *Local) rulesFor(e *audit.Entry) (out []candidate) {
	var in struct {
		Command  string `json:"command"`
		FilePath string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		URL      string `json:"url"`
	}
	text := string(e.Input)
	if json.Unmarshal(e.Input, &in) != nil || strings.Contains(text, "[redacted]") || strings.Contains(text, "[cut: ") {
		return nil // the log has only a part of it
	}
	add := func(rule string, similar bool) {
		out = append(out, candidate{rule: rule, similar: similar, tool: e.Tool, input: e.Input})
	}
	path := cmp.Or(in.FilePath, in.Notebook)
	switch {
	case e.Tool == "Bash" || e.Tool == "PowerShell":
		command := strings.TrimSpace(in.Command)
		// A star is a pattern, and a rule covers one simple command each.
		if command == "" || strings.ContainsAny(command, "*\n;|&<>$`(){}") || !plain.Printable(command) || command != strings.Join(strings.Fields(command), " ") {
			return nil
		}
		add(e.Tool+"("+command+")", false)
		words := strings.Fields(command)
		if len(words) > 2 && !slices.Contains(risky, filepath.Base(words[0])) && !slices.Contains(runs, words[1]) && word.MatchString(words[0]) && word.MatchString(words[1]) {
			add(e.Tool+"("+words[0]+" "+words[1]+" *)", true)
		}
	case strings.HasPrefix(path, "/") && !strings.ContainsAny(path, "*?[]{}()\\!") && plain.Printable(path):
		access := policy.Edit.String()
		if e.Tool == "Read" {
			access = policy.Read.String()
		}
		add(access+"(/"+path+")", false)
	case e.Tool == "WebFetch" && in.URL != "":
		if host := hostOf(in.URL); host != "" {
			add("WebFetch(domain:"+host+")", false)
		}
	case strings.HasPrefix(e.Tool, policy.UpstreamMark):
		add(e.Tool, true)
	}
	return out
}
