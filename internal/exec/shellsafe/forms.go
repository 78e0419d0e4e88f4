package shellsafe

import (
	"slices"
	"strings"
)

// The functions of this file find the subcommand of a command among its flags, for
// rules that deny and ask: "git push" in "git -C dir push".

// Form is another spelling of a command. Rules that deny or ask match it; rules
// that allow do not.
type Form struct {
	Text        string
	KnownPrefix string // as Command.KnownPrefix
}

const (
	maxForms     = 64      // of one command
	maxFormBytes = 1 << 20 // of all commands of a text
	formLevels   = 3       // words of a subcommand before which flags are skipped
)

// global lists the flags of a program that may come before its subcommand. For
// other flags, both readings are tried: the next word is the flag's value, or it is
// not.
type global struct {
	vals  string // flags that take the next word
	plain string // flags that do not
}

var globals = map[string]global{
	"git": {
		vals:  "-C -c --git-dir --work-tree --namespace --config-env --super-prefix --attr-source",
		plain: "-p --paginate -P --no-pager --bare --no-replace-objects --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-lazy-fetch --no-advice",
	},
	"docker":    {vals: "-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey", plain: "-D --debug --tls --tlsverify"},
	"podman":    {vals: "--url --connection -c --identity --log-level --root --runroot --storage-driver --storage-opt --cgroup-manager --module", plain: "-r --remote --syslog"},
	"kubectl":   {vals: "-n --namespace --context --cluster --user --kubeconfig -s --server --token --as --as-group --cache-dir --certificate-authority --client-key --client-certificate --request-timeout -v", plain: "--insecure-skip-tls-verify --match-server-version"},
	"helm":      {vals: "-n --namespace --kube-context --kubeconfig --kube-apiserver --kube-token --registry-config --repository-config --repository-cache", plain: "--debug"},
	"cargo":     {vals: "-C -Z --config --color --manifest-path", plain: "-v -vv --verbose -q --quiet --locked --offline --frozen"},
	"go":        {vals: "-C"},
	"pip":       {vals: "--python --log --proxy --retries --timeout --cache-dir --cert --client-cert --trusted-host", plain: "-v -vv -q -qq --verbose --quiet --isolated --no-input --no-cache-dir --no-color --disable-pip-version-check --require-virtualenv --debug"},
	"make":      {vals: "-C --directory -f --file --makefile -I --include-dir -o --old-file -W --what-if --eval", plain: "-B -k -n -s -i -e -r -R -w --always-make --keep-going --silent --quiet --dry-run --no-print-directory"},
	"terraform": {plain: "-help -version"},
	"aws":       {vals: "--profile --region --output --endpoint-url --query --color --ca-bundle --cli-read-timeout --cli-connect-timeout", plain: "--debug --no-verify-ssl --no-paginate --no-sign-request --no-cli-pager"},
	"gcloud":    {vals: "--account --project --configuration --format --verbosity --billing-project --impersonate-service-account --flags-file", plain: "-q --quiet"},
	"az":        {vals: "-o --output --query --subscription", plain: "--debug --verbose --only-show-errors"},
	"systemctl": {vals: "-H --host -M --machine -t --type -p --property -n --lines -o --output -s --signal", plain: "--user --system --no-pager --no-block --now -q --quiet -f --force -l --full"},
	"apt-get":   {vals: "-o --option -c --config-file -t --target-release", plain: "-y --yes -q -qq --quiet -f --no-install-recommends -s --simulate -d --download-only"},
	"apt":       {vals: "-o --option -c --config-file -t --target-release", plain: "-y --yes -q -qq --quiet"},
	"gh":        {vals: "-R --repo --hostname"},
	"svn":       {vals: "--username --password --config-dir --config-option", plain: "-q --quiet --non-interactive --no-auth-cache --trust-server-cert"},
	"hg":        {vals: "-R --repository --cwd --config --encoding --color --pager", plain: "-y -q -v --noninteractive --quiet --verbose --debug --traceback --profile"},
	"bundle":    {vals: "--gemfile"},
	"gradle":    {vals: "-p --project-dir -b --build-file -c --settings-file -I --init-script -g --gradle-user-home -x --exclude-task --console", plain: "-q -i -d -s -S --quiet --info --debug --stacktrace --offline --daemon --no-daemon --parallel"},
	"mvn":       {vals: "-f --file -s --settings -P --activate-profiles -pl --projects -T --threads -l --log-file", plain: "-q -B -U -o -e -X --quiet --batch-mode --offline"},
}

// synonyms lists, by program, sets of subcommands with the same meaning.
var synonyms = map[string][][]string{
	"npm": {
		oneOf("install|i|in|ins|inst|insta|instal|isnt|isnta|isntal|isntall|add"), oneOf("uninstall|unlink|remove|rm|r|un"), oneOf("run|run-script|rum|urn"),
		oneOf("test|tst|t"), oneOf("exec|x"), oneOf("ci|clean-install|ic|install-clean|isntall-clean"), oneOf("publish|pub|publ|publi|publis"), oneOf("unpublish|unp|unpu|unpub"), oneOf("update|up|upgrade|udpate"), oneOf("dist-tag|dist-tags"), oneOf("login|adduser|add-user"), oneOf("config|c"), oneOf("access|ac"), oneOf("owner|author"), oneOf("deprecate|dep|depr"),
	},
	"pnpm":   {oneOf("install|i"), oneOf("remove|rm|uninstall|un"), oneOf("run|run-script"), oneOf("test|t|tst"), oneOf("update|up|upgrade")},
	"cargo":  {oneOf("build|b"), oneOf("check|c"), oneOf("run|r"), oneOf("test|t"), oneOf("doc|d"), oneOf("remove|rm")},
	"git":    {oneOf("add|stage"), oneOf("push|send-pack|http-push")},
	"docker": containers, "podman": containers, "nerdctl": containers,
	"helm": {oneOf("uninstall|delete|del|un")},
	"hg":   {oneOf("push|pus"), oneOf("commit|ci|com"), oneOf("update|up|checkout|co"), oneOf("strip|debugstrip")},
	"svn":  {oneOf("commit|ci"), oneOf("checkout|co"), oneOf("delete|del|remove|rm"), oneOf("update|up"), oneOf("switch|sw"), oneOf("move|mv|rename|ren")},
	"gh":   {oneOf("pr create|pr new"), oneOf("issue create|issue new"), oneOf("release create|release new"), oneOf("repo create|repo new")},
	"apt":  {oneOf("remove|autoremove"), oneOf("install|reinstall")},
}

var containers = [][]string{
	oneOf("ps|container ls|container list|container ps"), oneOf("images|image ls|image list"), oneOf("rmi|image rm|image remove"), oneOf("rm|container rm|container remove"),
	oneOf("build|image build|builder build|buildx build|buildx b"), oneOf("pull|image pull"), oneOf("push|image push"), oneOf("tag|image tag"), oneOf("save|image save"), oneOf("load|image load"), oneOf("import|image import"), oneOf("history|image history"),
	oneOf("run|container run"), oneOf("exec|container exec"), oneOf("create|container create"), oneOf("start|container start"), oneOf("stop|container stop"), oneOf("restart|container restart"), oneOf("kill|container kill"),
	oneOf("attach|container attach"), oneOf("commit|container commit"), oneOf("cp|container cp"), oneOf("diff|container diff"), oneOf("export|container export"), oneOf("logs|container logs"), oneOf("pause|container pause"), oneOf("unpause|container unpause"),
	oneOf("port|container port"), oneOf("rename|container rename"), oneOf("stats|container stats"), oneOf("top|container top"), oneOf("update|container update"), oneOf("wait|container wait"), oneOf("login|registry login"), oneOf("info|system info"), oneOf("events|system events"),
}

// oneOf splits a list of synonyms.
func oneOf(s string) []string { return strings.Split(s, "|") }

// canonical returns the words of a command with the usual name of its program: git
// push for /usr/lib/git-core/git-push, pip for pip3.
func canonical(args []arg) []arg {
	if len(args) == 0 || !args[0].lit {
		return args
	}
	given := base(args[0].val)
	name := strings.TrimSuffix(strings.ToLower(given), ".exe")
	if at := strings.IndexByte(name, '@'); at > 0 {
		name = name[:at] // npx npm@latest
	}
	verb, isGit := strings.CutPrefix(name, "git-")
	version, isPip := strings.CutPrefix(name, "pip")
	switch {
	case isGit && verb != "":
		return append([]arg{literal("git"), literal(verb)}, args[1:]...)
	case name == "docker-compose" || name == "podman-compose":
		return append([]arg{literal(strings.TrimSuffix(name, "-compose")), literal("compose")}, args[1:]...)
	case isPip && strings.Trim(version, "0123456789.") == "":
		name = "pip"
	case name == "yarnpkg":
		name = "yarn"
	case name == given:
		return args
	}
	return append([]arg{literal(name)}, args[1:]...)
}

// forms returns the other spellings of a command.
func (w *walker) forms(args []arg) []Form {
	if len(args) == 0 || !args[0].lit || args[0].val == "" {
		return nil
	}
	f := formsOf{w: w}
	plain := canonical(args)
	if base(args[0].val) != plain[0].val {
		f.add(plain)
	}
	f.subcommands(plain)
	if has(targetPrograms, plain[0].val) {
		f.targets(plain)
	}
	if words := afterGlobals(texts(plain[1:])); plain[0].val == "git" && len(words) > 0 && !strings.ContainsAny(words[0], unknown) && !has(gitNoContents, words[0]) && !has(gitOthers, words[0]) {
		f.any(plain[:1]) // may be an alias in the settings
	}
	if module := pythonModule(plain); module != nil {
		module = canonical(module)
		f.add(module)
		f.subcommands(module)
	}
	return f.list
}

// targetPrograms lists the programs that take several targets in any order.
const targetPrograms = "make gmake bmake ninja gradle gradlew mvn mvnw ant rake just task sbt invoke inv mage buck buck2 tup"

// targets adds the forms in which each of the later operands is the first one.
func (f *formsOf) targets(args []arg) {
	vals := globals[args[0].val].vals
	for i := 1; i < len(args); i++ {
		switch a := &args[i]; {
		case a.lit && has(vals, a.val):
			i++
		case a.lit && (strings.HasPrefix(a.val, "-") || strings.Contains(a.val, "=")):
		case i > 1:
			f.add(slices.Concat(args[:1], args[i:]))
		}
	}
}

// texts returns the texts of the words.
func texts(args []arg) []string {
	out := make([]string, len(args))
	for i := range args {
		out[i] = args[i].text
	}
	return out
}

// pythonModule returns the words after -m of a Python command, or nil without -m.
func pythonModule(args []arg) []arg {
	name := base(args[0].val)
	if strings.Trim(strings.TrimPrefix(strings.TrimPrefix(name, "python"), "pypy"), "0123456789.") != "" && name != "py" || len(args) < 2 {
		return nil
	}
	for i := 1; i < len(args); i++ {
		v := args[i].lead
		at := strings.IndexByte(v, 'm')
		switch {
		case has("-W -X", v):
			i++
		case len(v) < 2 || v[0] != '-' || v[1] == '-' || strings.Contains(v, "c"):
			return nil
		case at == len(v)-1:
			return args[i+1:]
		case at > 0:
			return append([]arg{literal(v[at+1:])}, args[i+1:]...)
		}
	}
	return nil
}

// formsOf collects the forms of one command.
type formsOf struct {
	w    *walker
	list []Form
}

// add adds a form and its synonyms.
func (f *formsOf) add(args []arg) {
	if len(args) == 0 {
		return
	}
	f.one(args)
	f.others(args)
}

func (f *formsOf) one(args []arg) {
	if len(f.list) >= maxForms || f.w.formBytes > maxFormBytes {
		f.any(args[:1])
		return
	}
	text, sure, lit := joined(args)
	if args[0].lit { // rules name the program without its folder
		cut := len(args[0].text) - len(base(args[0].text))
		text, sure = text[cut:], sure[min(cut, len(sure)):]
	}
	if lit {
		sure = ""
	}
	f.w.formBytes += len(text)
	f.list = append(f.list, Form{text, sure})
}

// any records that the command may be anything that begins with these words.
func (f *formsOf) any(head []arg) {
	text, _, _ := joined(head)
	form := Form{text + " ...", text + " "}
	if !slices.Contains(f.list, form) {
		f.list = append(f.list, form)
	}
}

// others adds the forms with synonyms of the first words.
func (f *formsOf) others(args []arg) {
	name := args[0].val
	for _, class := range synonyms[name] {
		for _, s := range class {
			n := len(strings.Fields(s))
			if len(args) <= n || !begins(args[1:], s) {
				continue
			}
			for _, t := range class {
				if t != s {
					f.one(slices.Concat(args[:1], literalWords(t), args[n+1:]))
				}
			}
			return
		}
	}
	l := launchers[name]
	if name != "yarn" && name != "pnpm" && name != "bun" || len(args) < 2 {
		return
	}
	switch { // yarn build is yarn run build
	case args[1].lit && args[1].val == "run" && len(args) > 2:
		f.one(slices.Concat(args[:1], args[2:]))
	case !has(l.own, args[1].val) && args[1].lit && !strings.HasPrefix(args[1].val, "-"):
		f.one(slices.Concat(args[:1], literalWords("run"), args[1:]))
	}
}

func literalWords(s string) (out []arg) {
	for f := range strings.FieldsSeq(s) {
		out = append(out, literal(f))
	}
	return out
}

func begins(args []arg, words string) bool {
	for i, f := range strings.Fields(words) {
		if i >= len(args) || !args[i].lit || args[i].val != f {
			return false
		}
	}
	return true
}

// subcommands adds the forms without the flags before the first words.
func (f *formsOf) subcommands(args []arg) {
	f.others(args)
	g, known := globals[args[0].val]
	if l, ok := launchers[args[0].val]; ok && !known {
		g.vals = l.vals
	}
	type node struct{ head, rest []arg }
	nodes := []node{{args[:1:1], args[1:]}}
	for level := range formLevels {
		var next []node
		for _, n := range nodes {
			if level > 0 {
				g = global{}
			}
			starts := operandsAt(n.rest, &g, args[0].val == "cargo")
			for _, at := range starts {
				if at > 0 {
					if len(f.list) >= maxForms || f.w.formBytes > maxFormBytes {
						f.any(n.head)
						break
					}
					f.add(slices.Concat(n.head, n.rest[at:]))
				}
				next = append(next, node{append(n.head[:len(n.head):len(n.head)], n.rest[at]), n.rest[at+1:]})
			}
		}
		nodes = next
	}
}

// operandsAt returns the possible indexes of the first operand.
func operandsAt(args []arg, g *global, plus bool) (at []int) {
	reached := make([]bool, len(args)+2)
	reached[0] = true
	for i := range args {
		a := &args[i]
		switch {
		case !reached[i]:
		case plus && strings.HasPrefix(a.lead, "+"):
			reached[i+1] = true
		case !strings.HasPrefix(a.lead, "-") || a.val == "-":
			at = append(at, i)
			if len(at) > maxForms {
				return at
			}
		case a.lit && a.val == "--":
			if i+1 < len(args) {
				at = append(at, i+1)
			}
		case strings.Contains(a.lead, "="), a.lit && has(g.plain, a.val):
			reached[i+1] = true
		case a.lit && has(g.vals, a.val):
			reached[i+2] = true
		default:
			reached[i+1], reached[i+2] = true, true
		}
	}
	return at
}
