package audit

import (
	"slices"
	"strings"
)

// The functions below recognize secrets by their names: NAME=value, "name":
// value, --name value, and the keys of JSON objects.

const (
	// longestKey is the length of the end of a name that is examined, in bytes.
	longestKey = 64
	// mostBlanks is the limit of blanks between a name, its sign and the value.
	// Aligned text has several.
	mostBlanks = 16

	header = "authorization"
)

var (
	// secretWords make a name secret at any position, and lastWords at the end.
	secretWords = []string{"authorization", "credential", "credentials", "passphrase", "passwd", "password", "secret", "secrets"}
	lastWords   = []string{"accesskey", "accesstoken", "apikey", "apitoken", "authtoken", "bearer", "cookie", "jwt", "privatekey", "secretkey", "token"}
	// lastParts make a name secret at the end of its last word, as in PGPASSWORD.
	lastParts = []string{"passwd", "password", "secret", "token"}
	// keyWords make a name secret directly before a final "key".
	keyWords = []string{"access", "account", "api", "auth", "client", "encryption", "master", "private", "secret", "shared", "signing", "storage"}
	// plainWords make a name harmless at the end: the value only describes a
	// secret.
	plainWords = []string{"count", "dir", "enabled", "env", "expires", "expiry", "field", "file", "folder", "format", "hint", "id", "index", "label",
		"len", "length", "limit", "manager", "max", "min", "name", "names", "path", "pattern", "policy", "prompt", "regex", "required", "rules",
		"size", "stdin", "store", "strength", "ttl", "type", "uri", "url"}
	// placeWords make a final "token" harmless: it is then a position in
	// something.
	placeWords = []string{"bos", "cancel", "continuation", "cursor", "eos", "next", "pad", "page", "progress", "special", "stop"}
	// openWords make a final "key" harmless in the name of a variable.
	openWords = []string{"foreign", "partition", "primary", "public", "sort"}
	// schemes are words that precede the secret in an Authorization header.
	schemes = []string{"basic", "bearer", "token", "apikey", "negotiate"}
)

// secretKey reports whether a name suggests that its value is secret.
func secretKey(name string) bool {
	var buf [longestKey]byte
	var list [longestKey]string
	words := list[:0]
	for w := range splitName(name[max(0, len(name)-longestKey):], buf[:0]) {
		words = append(words, w)
	}
	n := len(words)
	if n == 0 || slices.Contains(plainWords, words[n-1]) {
		return false
	}
	last, before := words[n-1], ""
	if n > 1 {
		before = words[n-2]
	}
	switch last {
	case "token":
		return !slices.Contains(placeWords, before)
	case "key":
		return slices.Contains(keyWords, before)
	case "pass", "pwd": // alone, they usually count tests or name a folder
		return before != ""
	}
	for _, end := range lastParts {
		if start, ok := strings.CutSuffix(last, end); ok && start != "" && !slices.Contains(placeWords, start) {
			return true
		}
	}
	return slices.Contains(lastWords, last) || slices.ContainsFunc(words, func(w string) bool { return slices.Contains(secretWords, w) })
}

// secretVariable reports whether the name of an environment variable ends in KEY and suggests
// that its value is secret, as that of DEPLOY_KEY does.
func secretVariable(name string) bool {
	start, ok := strings.CutSuffix(name, "KEY")
	start = strings.TrimRight(start, "_")
	return ok && start != "" && strings.ToUpper(name) == name &&
		!slices.ContainsFunc(openWords, func(w string) bool { return strings.HasSuffix(strings.ToLower(start), w) })
}

// splitName yields the words of a name in lower case, without digits: apiKey2
// yields api and key.
func splitName(name string, buf []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; i < len(name); i++ {
			c := name[i]
			upper := 'A' <= c && c <= 'Z'
			begins := upper && i > 0 && (!isUpper(name[i-1]) || i+1 < len(name) && 'a' <= name[i+1] && name[i+1] <= 'z')
			if len(buf) > 0 && (begins || !isLetter(c)) {
				if !yield(string(buf)) {
					return
				}
				buf = buf[:0]
			}
			if isLetter(c) {
				buf = append(buf, c|0x20)
			}
		}
		if len(buf) > 0 {
			yield(string(buf))
		}
	}
}

// findAssignments adds the values after = and : whose names suggest a secret.
func findAssignments(spans []span, s string) []span {
	for at := 0; at < len(s); at++ {
		if s[at] != '=' && s[at] != ':' {
			continue
		}
		name := nameBefore(s, at)
		from := at + 1
		for from < len(s) && strings.IndexByte("=:>", s[from]) >= 0 {
			from++ // :=, ==, =>
		}
		if name == "" || s[at:from] == "::" || s[at] == ':' && strings.HasPrefix(s[from:], "//") ||
			!secretKey(name) && (s[at] != '=' || !secretVariable(name)) {
			at = from - 1
			continue
		}
		v := valueAt(s, from)
		if strings.EqualFold(name[max(0, len(name)-len(header)):], header) {
			v = skipScheme(s, v)
		}
		if v.from < v.to && holdsSecret([]byte(s[v.from:v.to])) {
			spans = append(spans, v)
		}
		at = max(from, v.to) - 1
	}
	return spans
}

// nameBefore returns the name that ends before s[at], with or without quotes.
func nameBefore(s string, at int) string {
	end := at
	for end > 0 && at-end < mostBlanks && isBlank(s[end-1]) {
		end--
	}
	for end > 0 && at-end < mostBlanks && (isQuote(s[end-1]) || s[end-1] == '\\' || s[end-1] == ']') {
		end--
	}
	from := end
	for from > 0 && end-from < longestKey && isDotted(s[from-1]) {
		from--
	}
	return s[from:end]
}

// valueAt returns the value at s[from], after blanks and a quote. The value
// ends before a command substitution, because a log must show commands.
func valueAt(s string, from int) span {
	begin := from
	for from < len(s) && from-begin < mostBlanks && isBlank(s[from]) {
		from++
	}
	escaped := from+1 < len(s) && s[from] == '\\' && isQuote(s[from+1])
	if escaped {
		from++
	}
	var quote byte
	if from < len(s) && (s[from] == '"' || s[from] == '\'') {
		quote = s[from]
		from++
	}
	to := from
	for ; to < len(s) && s[to] != '\n'; to++ {
		c := s[to]
		if c == '`' || (c == '$' || c == '<' || c == '>') && to+1 < len(s) && s[to+1] == '(' {
			break
		}
		if quote != 0 {
			if c == quote || escaped && c == '\\' {
				break
			}
			if c == '\\' && to+1 < len(s) && s[to+1] != '\n' {
				to++
			}
			continue
		}
		if c <= ' ' || strings.IndexByte(`"'<>,;&|()}`, c) >= 0 {
			break
		}
	}
	return span{from, min(to, len(s))}
}

// skipScheme removes the word before the secret of an Authorization header.
// Without quotes, v is only that word, and the secret follows it.
func skipScheme(s string, v span) span {
	word, rest, more := strings.Cut(s[v.from:v.to], " ")
	switch {
	case !slices.Contains(schemes, strings.ToLower(word)):
		return v
	case more:
		return span{v.to - len(rest), v.to}
	}
	next := span{v.to, v.to}
	if v.to < len(s) && isBlank(s[v.to]) {
		if next = valueAt(s, v.to); isQuote(s[next.from-1]) {
			return span{v.to, v.to} // the closing quote of the header
		}
	}
	return next
}

// findFlags adds the values of --name value and -name value, and the password of -u user:password
// and --user user:password.
func findFlags(spans []span, s string) []span {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '-')
		if i < 0 {
			return spans
		}
		at += i
		apart := at == 0 || !isDotted(s[at-1])
		name := run(s[at:], isBase64URL)
		at += len(name)
		if apart && at < len(s) && (isBlank(s[at]) || s[at] == '=') && takesLogin(name) {
			v := valueAt(s, at+1)
			user, password, _ := strings.Cut(s[v.from:v.to], ":")
			ids := run(user, isDigit) == user && run(password, isDigit) == password // of a user and a group
			if password != "" && !ids && !strings.HasPrefix(password, "//") {
				spans = append(spans, span{v.to - len(password), v.to})
				at = v.to
			}
			continue
		}
		if !apart || at >= len(s) || !isBlank(s[at]) || !secretKey(name) {
			continue
		}
		if v := valueAt(s, at); v.from < v.to && s[v.from] != '-' {
			spans = append(spans, v)
			at = v.to
		}
	}
}

// takesLogin reports whether the value of a flag may be user:password: --user, --proxy-user, or
// -u alone or after other letters, as in -su.
func takesLogin(name string) bool {
	if strings.HasPrefix(name, "--") {
		return name == "--user" || name == "--proxy-user"
	}
	return strings.HasSuffix(name, "u") && len(name) <= 5
}
