package shellsafe

import "strings"

// publishing lists, by program, the subcommands that show something to others: in a
// repository of theirs, or on a page of one.
var publishing = map[string][]string{
	"git":    {"push", "send-email", "svn dcommit", "p4 submit", "lfs push", "subtree push"},
	"gh":     {"repo create", "repo fork", "repo edit", "repo rename", "repo archive", "repo sync", "repo deploy-key add", "pr create", "pr merge", "pr comment", "pr review", "pr close", "pr edit", "pr ready", "pr reopen", "issue create", "issue comment", "issue close", "issue edit", "issue reopen", "issue transfer", "issue delete", "release upload", "release edit", "gist create", "gist edit", "gist delete", "label create", "workflow run", "run rerun", "secret set", "variable set", "discussion create"},
	"glab":   {"mr create", "mr new", "mr merge", "mr accept", "mr note", "mr comment", "mr approve", "mr close", "mr update", "mr reopen", "issue create", "issue new", "issue note", "issue close", "issue update", "repo create", "repo fork", "release create", "release upload", "snippet create", "ci run", "variable set"},
	"hub":    {"push", "create", "fork", "pull-request", "merge", "issue create", "release create", "gist create"},
	"tea":    {"pr create", "pr merge", "pulls create", "pulls merge", "issues create", "comment", "releases create", "repos create"},
	"hg":     {"push", "email"},
	"svn":    {"commit", "ci", "import"},
	"jj":     {"git push"},
	"sl":     {"push", "pr submit"},
	"fossil": {"push", "sync"},
	"bzr":    {"push"}, "brz": {"push"}, "darcs": {"push"}, "pijul": {"push"},
	"arc":  {"diff", "land"},
	"helm": {"push"}, "oras": {"push"}, "hf": {"upload", "repo create"}, "huggingface-cli": {"upload", "repo create"},
	"vercel": {"deploy"}, "netlify": {"deploy"}, "wrangler": {"deploy", "publish", "pages deploy"}, "firebase": {"deploy"}, "fly": {"deploy"}, "flyctl": {"deploy"}, "gcloud": {"app deploy", "run deploy", "functions deploy"},
	"az": {"repos pr create", "repos pr update", "repos create"},
}

// Publishes returns the program and subcommand if the command shows something to others, as in
// "git push", and "" if it is not known to. Scripts may do the same unseen.
func (c *Command) Publishes() string {
	trial := "--dry-run --help"
	if c.Name == "git" {
		trial += " -n"
	}
	if len(c.Words) == 0 || hasHarmlessFlag(c.Words[1:], trial) {
		return ""
	}
	texts := []string{c.DenyText()}
	for _, f := range c.Forms {
		texts = append(texts, f.Text)
	}
	for _, text := range texts {
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		name, verbs := words[0], words[1:]
		if (name == "gh" || name == "glab") && len(verbs) > 0 && verbs[0] == "api" && sends(c.Words) {
			return name + " api"
		}
		for _, sub := range publishing[name] {
			if n := strings.Count(sub, " ") + 1; len(verbs) >= n && strings.Join(verbs[:n], " ") == sub {
				return name + " " + sub
			}
		}
	}
	return ""
}

// sends reports whether a call of an API changes something.
func sends(words []string) bool {
	method, fields := "", false
	for i, w := range words {
		flag, value, eq := strings.Cut(w, "=")
		switch {
		case flag == "-X" || flag == "--method":
			if method = value; !eq && i+1 < len(words) {
				method = words[i+1]
			}
		case strings.HasPrefix(w, "-X"):
			method = w[2:]
		case strings.HasPrefix(w, "-f"), strings.HasPrefix(w, "-F"), has("--field --raw-field --input", flag):
			fields = true
		}
	}
	return method == "" && fields || method != "" && !strings.EqualFold(method, "GET") && !strings.EqualFold(method, "HEAD")
}
