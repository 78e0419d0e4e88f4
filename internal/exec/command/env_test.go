package command

import (
	"slices"
	"strings"
	"testing"
)

func withEnviron(environ []string, scrub, pass []string) *Commands {
	c := &Commands{shell: "/bin/bash", config: Config{Environ: environ, Scrub: scrub, Pass: pass, Home: "/home/u"}}
	c.path.folders = []string{"/usr/bin"}
	return c
}

// values returns the values of a variable in an environment.
func values(env []string, name string) []string {
	var out []string
	for _, v := range env {
		if n, value, _ := strings.Cut(v, "="); n == name {
			out = append(out, value)
		}
	}
	return out
}

func TestPasses(t *testing.T) {
	for _, tc := range []struct {
		name        string
		scrub, pass []string
		want        bool
	}{
		{name: "PATH", want: true},
		{name: "LC_ALL", want: true},
		{name: "GOFLAGS", want: true},
		{name: "GIT_AUTHOR_NAME", want: true},
		{name: "NODE_OPTIONS", want: true},
		{name: "PIP_INDEX_URL", want: true},
		{name: "https_proxy", want: true},
		{name: "CLAUDE_CODE_SESSION_ID", want: true},
		{name: ""},
		{name: "AWS_PROFILE"},
		{name: "DATABASE_URL"},
		{name: "GITHUB_TOKEN"},
		{name: "OPENAI_API_KEY"},
		{name: "ANTHROPIC_API_KEY"},
		// passed lists their prefixes, but they hold secrets.
		{name: "NPM_TOKEN"},
		{name: "NPM_CONFIG__AUTH"},
		{name: "npm_config_//registry.npmjs.org/:_authToken"},
		{name: "npm_config__password"},
		{name: "NODE_AUTH_TOKEN"},
		{name: "CARGO_REGISTRY_TOKEN"},
		{name: "UV_PUBLISH_PASSWORD"},
		{name: "POETRY_HTTP_BASIC_MINE_PASSWORD"},
		{name: "DENO_AUTH_TOKENS"},
		{name: "GEM_HOST_API_KEY"},
		{name: "HEX_REPOS_KEY"},
		{name: "SBT_CREDENTIALS"},
		{name: "GOOGLE_CREDENTIALS"},
		{name: "GOOGLE_APPLICATION_CREDENTIALS"},
		{name: "GODADDY_KEY"},
		{name: "BUNDLE_GEMS__CONTRIBSYS__COM"},
		{name: "BUNDLE_PATH", want: true},
		{name: "MAVEN_GPG_PASSPHRASE"},
		{name: "ANDROID_KEYSTORE_PASS"},
		{name: "NIX_CONFIG"},
		{name: "NIX_PATH", want: true},
		// env.pass adds variables, and Scrub takes precedence over it.
		{name: "NPM_TOKEN", pass: []string{"NPM_TOKEN"}, want: true},
		{name: "DATABASE_URL", pass: []string{"DATABASE_*"}, want: true},
		{name: "DATABASE_URL", pass: []string{"*_URL"}, want: true},
		{name: "DATABASE_URL", pass: []string{"database_url"}},
		{name: "NPM_TOKEN", pass: []string{"NPM_TOKEN"}, scrub: []string{"*TOKEN"}},
		{name: "PATH", scrub: []string{"P*H"}},
		{name: "npm_config_//a/:x", pass: []string{"npm_*"}, scrub: []string{"npm_config_*"}},
		{name: "A[", pass: []string{"*"}, scrub: []string{"A["}},
		// No setting passes these on.
		{name: "MCP_TOOLSET_TOKEN", pass: []string{"*"}},
		{name: "MCP_TOOLSET_a/b", pass: []string{"*"}},
		{name: "MCP_TOOLSET_TRY", pass: []string{"MCP_TOOLSET_TRY"}},
		{name: "BASH_ENV", pass: []string{"*"}},
		{name: "ENV", pass: []string{"ENV"}},
		{name: "BASH_FUNC_ls%%", pass: []string{"*"}},
		{name: "BASH_FUNC_a/b%%", pass: []string{"*"}},
		{name: "LD_PRELOAD", pass: []string{"*"}},
		{name: "DYLD_INSERT_LIBRARIES", pass: []string{"*"}},
		{name: "SHELLOPTS", pass: []string{"*"}},
		{name: "PS4", pass: []string{"*"}},
	} {
		c := withEnviron(nil, tc.scrub, tc.pass)
		if got := c.passes(tc.name); got != tc.want {
			t.Errorf("%s with scrub %v pass %v: %v, want %v", tc.name, tc.scrub, tc.pass, got, tc.want)
		}
	}
}

// TestPassesSecrets checks that only env.pass lets commands inherit variables that look
// like secrets.
func TestPassesSecrets(t *testing.T) {
	environ := []string{"PATH=/bin", "GITHUB_TOKEN=x", "NPM_TOKEN=x", "AWS_PROFILE=x"}
	for _, tc := range []struct {
		scrub, pass []string
		want        bool
	}{
		{nil, nil, false}, {nil, []string{"AWS_*"}, false}, {nil, []string{"OTHER_TOKEN"}, false},
		{nil, []string{"GITHUB_*"}, true}, {nil, []string{"*"}, true}, {[]string{"GITHUB_*"}, []string{"GITHUB_TOKEN"}, false},
	} {
		c := &Commands{config: Config{Environ: environ, Scrub: tc.scrub, Pass: tc.pass}}
		if got := c.PassesSecrets(); got != tc.want {
			t.Errorf("scrub %q, pass %q: %t", tc.scrub, tc.pass, got)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "A", false}, {"*", "", true}, {"*", "a/b", true}, {"A*A", "A", false}, {"A*A", "AA", true},
		{"A**B", "A_B", true}, {"*A*B*", "xBxAx", false}, {"*A*B*", "xAxBx", true}, {"*AB*AB", "AB", false},
		{"A?", "AB", false}, {`A\*`, `A\x`, true},
	} {
		if got := matches(tc.pattern, tc.name); got != tc.want {
			t.Errorf("%q on %q: %v", tc.pattern, tc.name, got)
		}
	}
}

func TestEnvironment(t *testing.T) {
	c := withEnviron([]string{
		"PATH=/old", "PATH=/a:/b", "HOME=/h", "SHELL=/bin/zsh", "TERM=xterm", "PAGER=less", "PWD=/p", "TMPDIR=/t", "TZ=UTC",
		"MCP_TOOLSET_TOKEN=secret", "MCP_TOOLSET_COMMAND=", "BASH_ENV=/evil", "NPM_TOKEN=secret", "nonsense", "=x", "USER=u",
	}, nil, []string{"TERM", "PAGER", "PWD", "TMPDIR"})
	env := c.environment("/dir", "/temp")
	for name, want := range map[string]string{
		"PATH": "/a:/b", "HOME": "/h", "SHELL": "/bin/bash", "TERM": "dumb", "PAGER": "cat", "PWD": "/dir", "TMPDIR": "/temp", "TZ": "UTC",
		"GIT_TERMINAL_PROMPT": "0", "USER": "u", "MCP_TOOLSET_COMMAND": "1",
	} {
		if got := values(env, name); !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q once", name, got, want)
		}
	}
	if text := strings.Join(env, "\n"); strings.Contains(text, "secret") || strings.Contains(text, "evil") || strings.Contains(text, "nonsense") {
		t.Errorf("the environment is\n%s", text)
	}
	// Absent or empty variables are set once.
	env = withEnviron([]string{"PATH=", "USER="}, nil, nil).environment("/dir", "/temp")
	if path := values(env, "PATH"); len(path) != 1 || !strings.Contains(path[0], "/usr/bin") {
		t.Errorf("PATH is %q", path)
	}
	if home := values(env, "HOME"); !slices.Equal(home, []string{"/home/u"}) {
		t.Errorf("HOME is %q", home)
	}
	if user := values(env, "USER"); len(user) != 1 || user[0] == "" {
		t.Errorf("USER is %q", user)
	}
}

// TestClean checks that a command that was judged to only read inherits no variable
// that the analysis did not consider.
func TestClean(t *testing.T) {
	c := withEnviron([]string{
		"LANG=C", "LANG=de", "LC_ALL=C", "TZ=UTC", "PATH=/evil", "HOME=/evil", "GIT_AUTHOR_NAME=a", "NODE_OPTIONS=--require=/evil",
		"RIPGREP_CONFIG_PATH=/evil", "LC_SECRET=x", "GOFLAGS=-toolexec=/evil",
	}, []string{"TZ"}, []string{"*"})
	env := c.clean("/dir", "/temp", []string{"GIT_CONFIG_COUNT=1", "HOME=/other"})
	for name, want := range map[string][]string{
		"LANG": {"de"}, "LC_ALL": {"C"}, "TZ": nil, "PATH": {"/usr/bin"}, "HOME": {"/other"}, "GIT_AUTHOR_NAME": nil, "NODE_OPTIONS": nil,
		"RIPGREP_CONFIG_PATH": nil, "GOFLAGS": nil, "GIT_CONFIG_COUNT": {"1"}, "PWD": {"/dir"}, "TMPDIR": {"/temp"}, "MCP_TOOLSET_COMMAND": {"1"},
	} {
		if got := values(env, name); !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestTempVariables checks the variables for programs that do not follow TMPDIR.
func TestTempVariables(t *testing.T) {
	for given, want := range map[string]string{
		"A=1":                    "-Djava.io.tmpdir='/t t'",
		"JAVA_TOOL_OPTIONS=":     "-Djava.io.tmpdir='/t t'",
		"JAVA_TOOL_OPTIONS=-Xa ": "-Djava.io.tmpdir='/t t' -Xa ",
		"TMPPREFIX=/tmp/zsh":     "-Djava.io.tmpdir='/t t'",
	} {
		env := tempVariables([]string{given}, "/t t")
		if got := values(env, "JAVA_TOOL_OPTIONS"); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: JAVA_TOOL_OPTIONS is %q", given, got)
		}
		if got := values(env, "TMPPREFIX"); !slices.Equal(got, []string{"/t t/zsh"}) {
			t.Errorf("%s: TMPPREFIX is %q", given, got)
		}
	}
}
