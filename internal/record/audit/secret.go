package audit

import "strings"

// The functions below recognize secrets by their form. Each takes time
// proportional to the text: no byte is examined twice for one form.

// secrets adds the parts of s that seem to be secrets, in no order.
func secrets(spans []span, s string) []span {
	spans = findTokens(spans, s)
	spans = findKeys(spans, s)
	spans = findLogins(spans, s)
	spans = findFlags(spans, s)
	spans = findBearers(spans, s)
	return findAssignments(spans, s)
}

// token describes a kind of secret with a typical prefix.
type token struct {
	prefix string
	least  int                    // minimum number of bytes after the prefix
	is     func(c byte) bool      // reports whether a byte may follow the prefix
	proof  func(rest string) bool // an additional test of the bytes after the prefix; may be nil
}

var tokens = []token{
	{"AKIA", 16, isUpper, nil}, // AWS
	{"ASIA", 16, isUpper, nil},
	{"ghp_", 20, isWord, nil}, // GitHub
	{"gho_", 20, isWord, nil},
	{"ghu_", 20, isWord, nil},
	{"ghs_", 20, isWord, nil},
	{"ghr_", 20, isWord, nil},
	{"github_pat_", 20, isWord, nil},
	{"glpat-", 20, isBase64URL, nil}, // GitLab
	{"xoxa-", 10, isBase64URL, nil},  // Slack
	{"xoxb-", 10, isBase64URL, nil},
	{"xoxe-", 10, isBase64URL, nil},
	{"xoxe.", 10, isDotted, nil},
	{"xoxo-", 10, isBase64URL, nil},
	{"xoxp-", 10, isBase64URL, nil},
	{"xoxr-", 10, isBase64URL, nil},
	{"xoxs-", 10, isBase64URL, nil},
	{"xapp-", 10, isBase64URL, nil},
	{"sk-", 20, isBase64URL, isRandom}, // OpenAI, Anthropic and others with the same form
	{"sk_live_", 16, isWord, nil},      // Stripe
	{"sk_test_", 16, isWord, nil},
	{"rk_live_", 16, isWord, nil},
	{"AIza", 30, isBase64URL, nil}, // Google
	{"ya29.", 20, isBase64URL, nil},
	{"npm_", 30, isWord, nil},
	{"hf_", 30, isWord, nil}, // Hugging Face
	{"pypi-AgEI", 30, isBase64URL, nil},
	{"SG.", 40, isDotted, nil}, // SendGrid
	{"eyJ", 20, isDotted, isJWT},
}

// findTokens adds tokens that start at the beginning of a word.
func findTokens(spans []span, s string) []span {
	for at := 0; at < len(s); at++ {
		if at > 0 && isWord(s[at-1]) || !beginsToken(s[at]) {
			continue
		}
		for i := range tokens {
			t := &tokens[i]
			if t.prefix[0] != s[at] || !strings.HasPrefix(s[at:], t.prefix) {
				continue
			}
			rest := run(s[at+len(t.prefix):], t.is)
			end := at + len(t.prefix) + len(rest)
			if len(rest) >= t.least && (t.proof == nil || t.proof(rest)) {
				spans = append(spans, span{at, end})
			}
			at = end - 1
			break
		}
	}
	return spans
}

// beginsToken reports whether a token may start with c. It is a prefilter for
// the list.
func beginsToken(c byte) bool {
	switch c {
	case 'A', 'S', 'e', 'g', 'h', 'n', 'p', 'r', 's', 'x', 'y':
		return true
	}
	return false
}

// run returns the longest prefix of s whose bytes all satisfy is.
func run(s string, is func(c byte) bool) string {
	n := 0
	for n < len(s) && is(s[n]) {
		n++
	}
	return s[:n]
}

func isUpper(c byte) bool     { return 'A' <= c && c <= 'Z' || isDigit(c) }
func isDigit(c byte) bool     { return '0' <= c && c <= '9' }
func isLetter(c byte) bool    { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isWord(c byte) bool      { return isLetter(c) || isDigit(c) || c == '_' }
func isBase64URL(c byte) bool { return isWord(c) || c == '-' }
func isDotted(c byte) bool    { return isBase64URL(c) || c == '.' }
func isBearer(c byte) bool    { return isDotted(c) || c == '~' || c == '+' || c == '/' || c == '=' }
func isBlank(c byte) bool     { return c == ' ' || c == '\t' }
func isQuote(c byte) bool     { return c == '"' || c == '\'' || c == '`' }

// isRandom distinguishes a key from words joined by dashes: it has a digit, and
// a capital letter or 16 characters without a dash or underscore.
func isRandom(s string) bool {
	digit, capital, longest, length := false, false, 0, 0
	for i := range len(s) {
		c := s[i]
		digit = digit || isDigit(c)
		capital = capital || 'A' <= c && c <= 'Z'
		if length++; c == '-' || c == '_' {
			length = 0
		}
		longest = max(longest, length)
	}
	return digit && (capital || longest >= 16)
}

// isJWT distinguishes a signed token from the base64 of other JSON: it has a
// second part.
func isJWT(rest string) bool {
	head, body, ok := strings.Cut(rest, ".")
	return ok && len(head) >= 8 && len(run(body, isBase64URL)) >= 8
}

// findKeys adds private keys in PEM format. A key without an end extends to the
// end of the text.
func findKeys(spans []span, s string) []span {
	const begin, end, dashes, longest = "-----BEGIN ", "-----END ", "-----", 64
	for at := 0; ; {
		i := strings.Index(s[at:], begin)
		if i < 0 {
			return spans
		}
		from := at + i
		at = from + len(begin)
		title, _, ok := strings.Cut(s[at:min(len(s), at+longest)], dashes)
		if !ok || !strings.Contains(title, "PRIVATE KEY") {
			continue
		}
		i = strings.Index(s[at:], end)
		if i < 0 {
			return append(spans, span{from, len(s)})
		}
		at += i + len(end)
		if i = strings.Index(s[at:min(len(s), at+longest)], dashes); i >= 0 {
			at += i + len(dashes)
		}
		spans = append(spans, span{from, at})
	}
}

// findLogins adds the password of scheme://user:password@host. The password may
// contain a slash, ? or #, unless the text before that looks like host:port.
func findLogins(spans []span, s string) []span {
	for at := 0; ; {
		i := strings.Index(s[at:], "://")
		if i < 0 {
			return spans
		}
		at += i + len("://")
		rest := address(s[at:])
		login := rest
		if colon, slash := strings.IndexByte(rest, ':'), strings.IndexAny(rest, "/?#"); slash >= 0 &&
			(colon < 0 || colon > slash || len(run(rest[colon+1:], isDigit)) == slash-colon-1) {
			login = rest[:slash]
		}
		user := strings.IndexByte(login, ':')
		if host := strings.LastIndexByte(login, '@'); user >= 0 && user+1 < host {
			spans = append(spans, span{at + user + 1, at + host})
		}
		at += len(rest)
	}
}

// address returns the longest prefix of s that may belong to a URL. It ends
// before the next URL, and before a command substitution.
func address(s string) string {
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ' || isQuote(c) || c == '<' || c == '>':
			return s[:i]
		case c == '$' && strings.HasPrefix(s[i:], "$("), c == ':' && strings.HasPrefix(s[i:], "://"):
			return s[:i]
		}
	}
	return s
}

// findBearers adds the text after the word Bearer.
func findBearers(spans []span, s string) []span {
	const least = 16
	for at := 0; ; {
		i := strings.Index(s[at:], "earer ")
		if i < 0 {
			return spans
		}
		at += i
		known := at > 0 && s[at-1]|0x20 == 'b' && (at == 1 || !isWord(s[at-2]))
		at += len("earer ")
		rest := run(s[at:], isBearer)
		if known && len(rest) >= least {
			spans = append(spans, span{at, at + len(rest)})
		}
		at += len(rest)
	}
}
