package shellsafe

import (
	"regexp"
	"slices"
	"strings"
)

// Commands that change nothing but do more than read files: they ask a server, or show the
// environment. They run as written, with the network and the variables of other commands.

// lookVerbs lists the subcommands of programs that only show something.
var lookVerbs = map[string]string{
	"gh":  "pr-list pr-view pr-status pr-diff pr-checks issue-list issue-view issue-status repo-view repo-list release-list release-view run-list run-view run-watch workflow-list workflow-view auth-status label-list gist-list search-code search-commits search-issues search-prs search-repos cache-list",
	"npm": "ls list ll la",
}

// lookFlags lists the flags of these subcommands, in the notation of spec.long with dashes. Left out
// are those that open a browser, show a token, or name another host.
var lookFlags = map[string]string{
	"gh":  "-R= --repo= --json= -q= --jq= -t= --template= -L= --limit= -s= --state= -a= --assignee= -A= --author= -l= --label= -S= --search= -B= --base= -H= --head= -m= --milestone= -d --draft --app= --mention= -c --comments --name-only --patch --color= --required --watch --fail-fast -i= --interval= -w= --workflow= -b= --branch= -u= --user= -e= --event= -c= --commit= --status= --log --log-failed -v --verbose --exit-status -j= --job= --attempt= -a --all --compact --visibility= --language= --source --fork --archived --topic= --exclude-drafts --exclude-pre-releases -O= --order= --sort= --owner= --created= --updated= --match= --filename= --extension= --review= --checks= --merged --closed= --involves= --key= --ref= --yaml",
	"npm": "--depth= -a --all --json --long -l -p --parseable --prod --production --dev --omit= --include= --link --package-lock-only -g --global --workspaces -w= --workspace=",
}

// apiFlags lists the flags of gh api with which it only reads.
const apiFlags = "--paginate --slurp -q= --jq= -t= --template= -H= --header= -i --include --cache= --silent --verbose -p= --preview="

// looks reports whether a command changes nothing although it may reach other hosts or show the
// environment. All its words must be literal.
func looks(args []arg) bool {
	if args[0].val == "curl" {
		args = slices.Clone(args)
		for i := range args { // if files have such names, they are addresses, too
			if a := &args[i]; a.glob && a.why == "" && localURL.MatchString(a.lead+"/") {
				args[i] = literal(a.val)
			}
		}
	}
	words, ok := literals(args)
	if !ok || strings.Contains(args[0].val, "/") {
		return false
	}
	switch name, rest := words[0], words[1:]; name {
	case "env":
		return len(rest) == 0
	case "printenv":
		_, ok := lookWords(rest, "")
		return ok
	case "man":
		return len(rest) > 0 && len(rest) < 3 && len(operands(rest)) == len(rest) && !strings.ContainsAny(strings.Join(rest, ""), "/.")
	case "curl":
		return asksLocally(rest, false)
	case "gh":
		if len(rest) > 1 && rest[0] == "api" {
			ops, ok := lookWords(rest[1:], apiFlags)
			return ok && len(ops) == 1 && ops[0] != "graphql" && !strings.Contains(ops[0], ":")
		}
		if len(rest) < 2 || !has(lookVerbs["gh"], rest[0]+"-"+rest[1]) {
			return false
		}
		_, ok := lookWords(rest[2:], lookFlags["gh"])
		return ok
	case "npm":
		if len(rest) == 0 || !has(lookVerbs["npm"], rest[0]) {
			return false
		}
		_, ok := lookWords(rest[1:], lookFlags["npm"])
		return ok
	}
	return false
}

// lookWords returns the operands of a command whose flags are all in a list. A flag that is listed
// both with and without a value may take the next word, which then must not be a flag.
func lookWords(words []string, flags string) (ops []string, ok bool) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") || w == "-" {
			ops = append(ops, w)
			continue
		}
		name, value, attached := strings.Cut(w, "=")
		takes := has(flags, name+"=")
		switch {
		case takes && attached:
		case takes && i+1 < len(words):
			i++
			value = words[i]
		case !attached && has(flags, name):
		default:
			return nil, false
		}
		if has("-q --jq", name) && jqProgram(value) != "" || has("-R --repo", name) && strings.Count(value, "/") > 1 || has("-H --header", name) && strings.HasPrefix(value, "@") {
			return nil, false
		}
	}
	return ops, true
}

// localURL matches addresses of servers on this machine.
var localURL = regexp.MustCompile(`^(https?://)?(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(:[0-9]{1,5})?([/?][^@\\\s]*)?$`)

// curlFlags lists the flags of curl that neither send a body, nor write or read a file, nor follow to
// another host.
const curlFlags = "-s --silent -S --show-error -f --fail --fail-with-body -i --include -I --head -v --verbose -k --insecure -g --globoff -4 --ipv4 -6 --ipv6 -N --no-buffer --compressed --http1.1 --http2 -m= --max-time= --connect-timeout= --retry= --retry-delay= --retry-max-time= --retry-connrefused --retry-all-errors -A= --user-agent= -H= --header= -X= --request= -w= --write-out= -o= --output= -u= --user= -b= --cookie= --url="

// sendFlags lists the flags of curl that send a body of its words.
const sendFlags = "-d= --data= --data-raw= --data-ascii= --data-binary= --data-urlencode= --json= -F= --form= --form-string="

// Local reports whether the command is a curl that only talks to servers on this machine, and sends
// no file.
func (c *Command) Local() bool {
	return (c.Allowable || c.Repeated) && c.Literal && len(c.Words) > 1 && c.Words[0] == "curl" && asksLocally(c.Words[1:], true)
}

// asksLocally reports whether curl only gets pages of servers on this machine or, with send, also
// sends its words there.
func asksLocally(words []string, send bool) bool {
	found, curlFlags := false, curlFlags
	if send {
		curlFlags += " " + sendFlags
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") {
			if !localURL.MatchString(w) {
				return false
			}
			found = true
			continue
		}
		// A cluster of letters without values, the last of which may take one.
		for len(w) > 2 && w[1] != '-' && has(curlFlags, w[:2]) {
			w = "-" + w[2:]
		}
		name, value, attached := strings.Cut(w, "=")
		if !strings.HasPrefix(name, "--") && attached {
			return false
		}
		if !has(curlFlags, name+"=") {
			if attached || !has(curlFlags, name) {
				return false
			}
			continue
		}
		if !attached {
			if i++; i >= len(words) {
				return false
			}
			value = words[i]
		}
		switch name {
		case "-X", "--request":
			if !send && !has("GET HEAD OPTIONS", value) {
				return false
			}
		case "-o", "--output":
			if value != "/dev/null" && value != "-" {
				return false
			}
		case "-w", "--write-out":
			if strings.HasPrefix(value, "@") || strings.Contains(value, "%output") || fieldWidth.MatchString(value) {
				return false
			}
		case "-b", "--cookie":
			if !strings.Contains(value, "=") {
				return false
			}
		case "-H", "--header", "-d", "--data", "--data-ascii", "--data-binary", "--json":
			if strings.HasPrefix(value, "@") {
				return false
			}
		case "-F", "--form", "--data-urlencode":
			if strings.ContainsAny(value, "@<") {
				return false
			}
		case "--url":
			if !localURL.MatchString(value) {
				return false
			}
			found = true
		}
	}
	return found
}
