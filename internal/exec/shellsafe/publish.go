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
	"arc": {"diff", "land"},
	// Pages, services, and stores of files.
	"vercel": {"deploy", "promote", "redeploy", "rollback", "alias set"}, "now": {"deploy"}, "surge": {"publish"}, "aws": {"s3api put-object", "s3 website", "lambda update-function-code", "lambda create-function", "cloudformation deploy", "cloudformation create-stack", "cloudformation update-stack", "deploy create-deployment", "ecs update-service", "amplify start-deployment", "sns publish", "ses send-email", "codecommit create-pull-request"},
	"sam": {"deploy", "sync"}, "cdk": {"deploy"}, "sls": {"deploy"}, "serverless": {"deploy"}, "eb": {"deploy", "create"}, "copilot": {"deploy", "svc deploy"}, "amplify": {"publish", "push"}, "sst": {"deploy"}, "pulumi": {"up"}, "railway": {"up"}, "supabase": {"functions deploy", "db push"}, "convex": {"deploy"}, "kamal": {"deploy", "redeploy", "setup"}, "heroku": {"container:push", "container:release", "pipelines:promote"}, "databricks": {"bundle deploy"}, "modal": {"deploy"}, "sf": {"project deploy"}, "clasp": {"push", "deploy"}, "shopify": {"theme push", "app deploy"},
	"mkdocs": {"gh-deploy"}, "mike": {"deploy"}, "hugo": {"deploy"}, "ng": {"deploy"}, "quarto": {"publish"}, "eas": {"submit", "update", "deploy"}, "expo": {"publish"}, "fastlane": {"deliver", "supply", "release"}, "snapcraft": {"upload", "push", "release"}, "dvc": {"push"}, "cog": {"push"}, "kaggle": {"datasets create", "datasets version", "kernels push", "competitions submit"}, "ipfs": {"name publish"}, "skopeo": {"copy", "sync"}, "crane": {"push", "copy"}, "buildah": {"push"}, "nerdctl": {"push"},
	// Messages, and ports of this machine.
	"jira": {"issue create", "issue comment add", "issue edit", "issue move"}, "toot": {"post"}, "ntfy": {"publish", "pub"}, "ngrok": {"http", "tcp", "tls", "start"}, "cloudflared": {"tunnel"}, "bore": {"local"}, "tailscale": {"funnel"}, "devtunnel": {"host"}, "code": {"tunnel"},
	"helm": {"push"}, "oras": {"push"}, "hf": {"upload", "repo create"}, "huggingface-cli": {"upload", "repo create"},
	"netlify": {"deploy"}, "wrangler": {"deploy", "publish", "pages deploy", "pages publish", "versions deploy", "r2 object put"}, "firebase": {"deploy", "hosting:channel:deploy", "hosting:clone"}, "fly": {"deploy", "launch"}, "flyctl": {"deploy", "launch"}, "gcloud": {"app deploy", "run deploy", "functions deploy", "builds submit"},
	"az": {"repos pr create", "repos pr update", "repos create", "webapp up", "webapp deploy", "functionapp deploy", "containerapp up", "storage blob upload", "storage blob upload-batch", "storage blob sync", "boards work-item create", "boards work-item update"},
}

// uploading lists, by program, the subcommands that copy files, and so publish if the last place
// is one of others.
var uploading = map[string][]string{
	"aws": {"s3 cp", "s3 mv", "s3 sync"}, "gsutil": {"cp", "mv", "rsync"}, "gcloud": {"storage cp", "storage mv", "storage rsync"}, "s3cmd": {"put", "sync", "cp", "mv"}, "s5cmd": {"cp", "mv", "sync"}, "rclone": {"copy", "copyto", "move", "moveto", "sync", "bisync"}, "azcopy": {"copy", "cp", "sync"}, "b2": {"sync", "upload-file", "upload"},
}

// publishers lists the programs that publish without a subcommand, with the subcommands that do
// something else.
var publishers = map[string]string{
	"vercel": vercelVerbs, "now": vercelVerbs, "surge": "login logout list token whoami teardown plus ssl encrypt domain help",
	"gh-pages": "", "ghp-import": "", "np": "", "release-it": "", "semantic-release": "", "pastebinit": "", "gist": "", "dput": "", "lt": "", "localtunnel": "", "sendmail": "", "msmtp": "", "swaks": "", "telegram-send": "",
}

const vercelVerbs = "alias bisect blob build cache certs curl dev dns domains env git help init inspect install integration link list ls login logout logs microfrontends open project projects pull redirects remove rm rolling-release switch target targets teams telemetry whoami"

// Publishes returns the program and subcommand if the command shows something to others, as in
// "git push", and "" if it is not known to. Scripts may do the same unseen.
func (c *Command) Publishes() string {
	trial := "--dry-run --help --version"
	switch c.Name {
	case "git":
		trial += " -n"
	case "aws":
		trial += " --dryrun"
	case "vercel":
		trial += " -h -v"
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
		if own, is := publishers[name]; is && (len(verbs) == 0 || !has(own, verbs[0])) && starts(publishing[name], verbs) == "" {
			return name
		}
		if sub := starts(publishing[name], verbs); sub != "" {
			return name + " " + sub
		}
		if sub := starts(uploading[name], verbs); sub != "" && upload(verbs) {
			return name + " " + sub
		}
	}
	return ""
}

// starts returns the member of subs with whose words a command begins, or "".
func starts(subs, words []string) string {
	for _, sub := range subs {
		if n := strings.Count(sub, " ") + 1; len(words) >= n && strings.Join(words[:n], " ") == sub {
			return sub
		}
	}
	return ""
}

// upload reports whether the last place that words name is on another machine. A word after a flag
// counts as its value.
func upload(words []string) (remote bool) {
	for i, w := range words {
		switch {
		case strings.HasPrefix(w, "-"):
		case strings.Contains(w, ":"):
			remote = true
		case i > 0 && !strings.HasPrefix(words[i-1], "-"):
			remote = false
		}
	}
	return remote
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
