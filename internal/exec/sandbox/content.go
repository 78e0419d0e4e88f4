package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostContent is the limit for settings files to be examined, in bytes.
const mostContent = 1 << 20

var (
	// Tokens with known prefixes, and private keys.
	knownTokens = lazy(`\b(gh[pousr]_|github_pat_|gl[a-z]+-|npm_|hf_|sk-|sk_live_|rk_live_|xox[abeprs]-|AKIA|ASIA|AIza|pypi-|dop_v1_|shpat_|dckr_pat_|NRAK-|SG\.|ya29\.|eyJ[\w-]+\.eyJ)[\w.-]{12,}|-----BEGIN [A-Z ]*PRIVATE KEY`)
	// A password in a URL, or a long user name in one, which is a token.
	inURL = lazy(`(?i)\b[a-z][a-z0-9+.-]*://([^\s/:@"'<>]*:[^\s/@"'<>]+|[^\s/:@"'<>]{20,})@`)
	// Headers with credentials, in any notation of settings files.
	inHeader = lazy(`(?i)\b(authorization|private-token|x-api-key|cookie)\b["']?\s*[:=]\s*["']?\S|\b(basic|bearer)\s+[\w+/=.-]{12,}`)
	// The name of a secret with its value, in the notations of settings files.
	assigned = lazy(`(?i)(?:^|[^a-z])(?:[\w./:-]*?(?:passwo?r?d|passphrase|secret|token|api_?-?key|access_?-?key(?:_?id)?|_auth|authident|smtppass|credentials?)|pass|pwd)["']?\s*(?:[:=]|=>|>>,)\s*["']?([^\s"']*)`)
	inXML    = lazy(`(?i)<(password|passphrase|token)\b[^>]*>\s*[^\s<$]|<(apikeys|packageSourceCredentials)>|(cleartext)?password["']?\s+value\s*=\s*["'][^"'$%]`)
	ofHost   = lazy(`(?m)^\s*BUNDLE_\w+__(COM|ORG|NET|IO|DEV|CO|AI|APP|LOCAL|INTERNAL|LAN|CORP)\b["']?:\s*["']?\w`)
	named    = lazy(`(?im)^\s*(set\s.*|setenv\s+)\w*(token|secret|password|api_?key)\w*\s+\S|^\s*(-u|--user|user|proxy-user)\b\s*=?\s*"?[\w.@-]+:\S`)
)

// hints lists lower-case texts. Every credential contains at least one, and
// searching for them is fast: most files contain none.
var hints = []string{
	"pass", "pwd", "secret", "token", "key", "auth", "credential", "cookie", "bearer", "basic", "user", "bundle_", "private",
	"gh", "gl", "npm_", "hf_", "sk-", "sk_", "rk_", "xox", "akia", "asia", "aiza", "pypi-", "dop_v1_", "pat_", "nrak-", "sg.", "ya29.", "eyj",
}

// credential reports whether the content of a settings file seems to include a
// credential. It examines only lines with a hint and the lines after them.
func credential(text string) bool {
	var b strings.Builder
	hinted := false
	for line := range strings.Lines(text) {
		low := strings.ToLower(line)
		found := strings.Contains(low, "@") || slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(low, h) })
		if found || hinted { // the value may be on the next line
			b.WriteString(line)
		}
		hinted = found || hinted && strings.TrimSpace(line) == ""
	}
	return holds(b.String())
}

// holds reports whether lines with hints include a credential.
func holds(text string) bool {
	if text == "" {
		return false
	}
	for _, look := range []func() bool{
		func() bool { return knownTokens().MatchString(text) },
		func() bool { return inHeader().MatchString(text) },
		func() bool { return inXML().MatchString(text) },
		func() bool { return ofHost().MatchString(text) },
		func() bool { return named().MatchString(text) },
	} {
		if look() {
			return true
		}
	}
	for _, url := range inURL().FindAllStringSubmatch(text, -1) {
		if _, password, ok := strings.Cut(url[1], ":"); !ok || !reference(password) {
			return true
		}
	}
	for _, value := range assigned().FindAllStringSubmatch(text, -1) {
		if !reference(value[1]) {
			return true
		}
	}
	return false
}

// reference reports whether the value of a setting is not itself a credential: it
// is empty, a switch, a path, or the name of a variable.
func reference(value string) bool {
	value = strings.Trim(value, `,;()[]{}`)
	switch strings.ToLower(value) {
	case "", "true", "false", "null", "none", "nil", "yes", "no", "on", "off", "never", "always", "prompt":
		return true
	}
	return strings.ContainsAny(value[:1], "$%<~/#*`") || strings.HasPrefix(value, "{{")
}

// withoutCredentials returns the content of a settings file without the lines that
// include credentials.
func withoutCredentials(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !credential(line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// GitSettings returns the user's git settings without the lines that include
// credentials, for use when Secret reports one of the files: git fails if it cannot
// read them. ok is false if git may read the files themselves.
func GitSettings(home string) (text string, ok bool) {
	for _, file := range []string{".config/git/config", ".gitconfig"} {
		path := filepath.Join(home, file)
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		ok = ok || holdsCredential(path)
		if err == nil && len(b) <= mostContent {
			text += withoutCredentials(string(b))
		}
	}
	if credential(text) { // over several lines
		text = ""
	}
	return text, ok
}

// holdsCredential reports whether a settings file includes a credential. It returns
// true for a file that cannot be examined.
func holdsCredential(path string) bool {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return !os.IsNotExist(err)
	case st.IsDir():
		return false
	case !st.Mode().IsRegular() || st.Size() > mostContent:
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostContent+1))
	return err != nil || len(b) > mostContent || credential(string(b))
}
