package command

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

// passed lists the environment variables that commands inherit: user, locale, folders
// and the configuration of toolchains. * matches any text. The setting env.pass adds to
// it.
var passed = []string{
	"HOME", "USER", "LOGNAME", "PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "SHELL", "CI",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy",
	"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
	"GIT_AUTHOR_*", "GIT_COMMITTER_*", "EMAIL",
	"CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "PKG_CONFIG_PATH", "CMAKE_*", "CCACHE_DIR",
	"LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "MANPATH", "INFOPATH",
	"GO111MODULE", "GO386", "GOAMD64", "GOARCH", "GOARM*", "GOBIN", "GOCACHE*", "GOCOVERDIR", "GODEBUG", "GOENV", "GOEXPERIMENT", "GOFIPS*", "GOFLAGS", "GOGC",
	"GOINSECURE", "GOMAXPROCS", "GOMEMLIMIT", "GOMIPS*", "GOMODCACHE", "GONOPROXY", "GONOSUM*", "GOOS", "GOPATH", "GOPPC64", "GOPRIVATE", "GOPROXY", "GORACE",
	"GORISCV64", "GOROOT", "GOSUMDB", "GOTELEMETRY*", "GOTMPDIR", "GOTOOLCHAIN", "GOTRACEBACK", "GOVCS", "GOWASM", "GOWORK", "CGO_*", "CARGO_*", "RUST*", "NODE_*", "NPM_CONFIG_*", "npm_config_*", "NVM_*", "FNM_*", "VOLTA_*", "PNPM_HOME", "YARN_*", "BUN_*", "DENO_*", "COREPACK_*",
	"PYTHON*", "PIP_*", "UV_*", "VIRTUAL_ENV", "CONDA_*", "PYENV_*", "POETRY_*", "PIPENV_*",
	"JAVA_HOME", "JDK_HOME", "JAVA_TOOL_OPTIONS", "MAVEN_*", "M2_HOME", "GRADLE_*", "SBT_*", "KOTLIN_*", "ANDROID_*", "SDKMAN_*",
	"DOTNET_*", "NUGET_*", "RUBY*", "GEM_*", "BUNDLE_*", "RBENV_*", "COMPOSER_*", "PHP_*", "PERL5LIB", "MIX_*", "HEX_*", "ERL_*", "STACK_*", "CABAL_*", "GHCUP_*",
	"NIX_*", "GUIX_*", "HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY", "ASDF_*", "MISE_*", "BAZEL*", "CONAN_*", "PUB_CACHE", "FLUTTER_*", "ZIG_*",
	"SOURCE_DATE_EPOCH", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID",
}

// passedOnWindows lists further variables that commands inherit on Windows. Without
// most of them programs do not start or do not find their files.
var passedOnWindows = []string{
	"SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "OS", "PSModulePath", "NUMBER_OF_PROCESSORS", "PROCESSOR_*",
	"USERPROFILE", "USERNAME", "USERDOMAIN*", "HOMEDRIVE", "HOMEPATH", "COMPUTERNAME", "SESSIONNAME", "PUBLIC",
	"APPDATA", "LOCALAPPDATA", "ProgramData", "ALLUSERSPROFILE", "ProgramFiles", "ProgramFiles(x86)", "ProgramW6432", "CommonProgram*", "DriverData",
	"ChocolateyInstall", "SCOOP*", "MSYS*", "MSYSTEM", "VSINSTALLDIR", "VCINSTALLDIR", "WindowsSdkDir", "INCLUDE", "LIB", "LIBPATH",
}

// secretWords lists words that exclude a variable although passed lists it: NPM_TOKEN,
// CARGO_REGISTRY_TOKEN, UV_PUBLISH_PASSWORD. Words of more than four letters also match
// at the end of a longer word. All match in the plural, too.
var secretWords = []string{
	"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY",
	"AUTH", "OAUTH", "PAT", "KEY", "PASS", "PWD", "CRED", "OTP", "JWT",
}

// secretNames lists variables that hold secrets although no word in their names shows
// it: passwords of Bundler's hosts, and Nix settings with access tokens.
var secretNames = []string{"BUNDLE_*__*", "NIX_CONFIG"}

// never lists the server's own secrets and variables that make a shell run something.
// Commands never inherit them.
var never = []string{"MCP_TOOLSET_*", "BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS", "PS4", "LD_PRELOAD", "LD_AUDIT", "DYLD_*", "PROMPT_COMMAND"}

// Marker is the variable that shows a program that it runs as a command of a tool, for
// a model rather than a user. A command can unset it.
const Marker = "MCP_TOOLSET_COMMAND"

// fixed lists the variables that every command gets: they mark it as a command of a
// tool and switch off prompts, pagers and colours.
var fixed = []string{
	Marker + "=1",
	"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat", "GH_PAGER=cat", "AWS_PAGER=", "BAT_PAGER=cat",
	"GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "DEBIAN_FRONTEND=noninteractive",
}

// variable returns the value of a variable as commands inherit it, or "".
func (c *Commands) variable(name string) string {
	for _, v := range slices.Backward(c.config.Environ) {
		if n, value, ok := strings.Cut(v, "="); ok && sameVariable(n, name) && c.passes(n) {
			return value
		}
	}
	return ""
}

// passes reports whether commands inherit the server's variable of this name.
func (c *Commands) passes(name string) bool {
	switch {
	case name == "" || named(never, name) || named(c.config.Scrub, name):
		return false
	case named(c.config.Pass, name):
		return true
	}
	return (named(passed, name) || onWindows && named(passedOnWindows, name)) && !secret(name)
}

// sameVariable reports whether two names denote the same variable. On Windows it
// ignores case.
func sameVariable(a, b string) bool { return a == b || onWindows && strings.EqualFold(a, b) }

// PassesSecrets reports whether commands inherit a variable whose name shows that it
// holds a secret. Only the setting env.pass causes that.
func (c *Commands) PassesSecrets() bool {
	return len(c.inherited(func(name string) bool { return c.passes(name) && secret(name) })) > 0
}

func named(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// matches reports whether a name matches a pattern. In a pattern, * matches any text
// and every other character itself.
func matches(pattern, name string) bool {
	if onWindows {
		pattern, name = strings.ToUpper(pattern), strings.ToUpper(name)
	}
	head, tail, wild := strings.Cut(pattern, "*")
	if !wild || tail == "" {
		return name == pattern || wild && strings.HasPrefix(name, head)
	}
	rest, ok := strings.CutPrefix(name, head)
	if !ok {
		return false
	}
	parts := strings.Split(tail, "*")
	last := len(parts) - 1
	for _, part := range parts[:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}

// secret reports whether the name of a variable shows that its value is a secret.
func secret(name string) bool {
	if named(secretNames, name) {
		return true
	}
	name = "_" + strings.ToUpper(name) + "_"
	return slices.ContainsFunc(secretWords, func(w string) bool {
		return slices.ContainsFunc([]string{w + "_", w + "S_"}, func(w string) bool {
			return strings.Contains(name, "_"+w) || len(w) > len("AUTH_") && strings.Contains(name, w)
		})
	})
}

// environment returns the environment of a command with the temporary folder temp.
// Variables that are set for every command take precedence over inherited ones.
func (c *Commands) environment(dir, temp string) []string {
	env := c.inherited(c.passes)
	slices.Sort(env)
	if onWindows {
		env = append(c.add(env, "HOME", c.config.Home), fixed...)
		return lastOfEach(append(env, "TMPDIR="+filepath.ToSlash(temp), "TEMP="+temp, "TMP="+temp))
	}
	env = c.add(env, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	env = c.add(env, "HOME", c.config.Home)
	if c.variable("USER") == "" {
		if u, err := user.Current(); err == nil {
			env = append(env, "USER="+u.Username)
		}
	}
	env = append(env, fixed...)
	// Chromium and Chrome make their profile in ~/.config otherwise, also without a window.
	return lastOfEach(append(env, "SHELL="+c.shell, "PWD="+dir, "TMPDIR="+temp, "CHROME_CONFIG_HOME="+temp))
}

// tempVariables returns an environment that leads the programs to temp that do not follow TMPDIR:
// the here-documents of zsh, and Java. A folder that JAVA_TOOL_OPTIONS names takes precedence.
func tempVariables(env []string, temp string) []string {
	java := "-Djava.io.tmpdir='" + temp + "'"
	for _, v := range env {
		if more, ok := strings.CutPrefix(v, "JAVA_TOOL_OPTIONS="); ok && more != "" {
			java += " " + more
		}
	}
	return lastOfEach(append(env, "TMPPREFIX="+temp+"/zsh", "JAVA_TOOL_OPTIONS="+java))
}

// inherited returns the variables of the server's environment whose names are wanted,
// each once.
func (c *Commands) inherited(wanted func(name string) bool) []string {
	var env []string
	for _, v := range lastOfEach(c.config.Environ) {
		if name, _, ok := strings.Cut(v, "="); ok && wanted(name) {
			env = append(env, v)
		}
	}
	return env
}

// lastOfEach returns env with only the last value of each variable, since programs do
// not agree on which of several values counts.
func lastOfEach(env []string) []string {
	var out []string
	has := map[string]bool{}
	for _, v := range slices.Backward(env) {
		name, _, _ := strings.Cut(v, "=")
		if onWindows {
			name = strings.ToUpper(name)
		}
		if !has[name] {
			out = append(out, v)
		}
		has[name] = true
	}
	slices.Reverse(out)
	return out
}

func (c *Commands) add(env []string, name, value string) []string {
	if c.variable(name) != "" || value == "" {
		return env
	}
	return append(env, name+"="+value)
}

// clean returns the environment of a command that the analysis found to only read: only
// variables that cannot make the analysis wrong, and more.
func (c *Commands) clean(dir, temp string, more []string) []string {
	env := c.inherited(func(name string) bool { return named(cleanNames, name) && c.passes(name) })
	env = append(env, fixed...)
	env = append(env, "PATH="+strings.Join(c.path.folders, ":"), "HOME="+c.config.Home, "PWD="+dir, "TMPDIR="+temp)
	return lastOfEach(append(env, more...))
}

var cleanNames = []string{"LANG", "LANGUAGE", "LC_*", "TZ", "USER", "LOGNAME"}

// trustedPath holds the folders of PATH in which no command can place a program, and
// whose programs are the ones their names suggest.
type trustedPath struct {
	folders  []string
	all      []string
	writable []string // paths that commands can change, also with links resolved
}

func newTrustedPath(c *Commands) trustedPath {
	t := trustedPath{all: c.programs()}
	if len(t.all) == 0 {
		t.all = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
	}
	t.writable = slices.Concat(c.config.Roots, c.config.AllowWrite)
	if c.config.Worktrees != "" {
		t.writable = append(t.writable, c.config.Worktrees)
	}
	for _, cache := range c.Caches() {
		t.writable = append(t.writable, cache.Path)
	}
	for _, w := range t.writable {
		t.writable = append(t.writable, resolved(w))
	}
	for _, folder := range t.all {
		target, err := filepath.EvalSymlinks(folder)
		if err != nil || t.mayChange(folder) || t.mayChange(target) || chooses(folder) || chooses(target) {
			continue
		}
		if info, err := os.Stat(target); err == nil && info.Mode().Perm()&0o022 == 0 {
			t.folders = append(t.folders, folder)
		}
	}
	return t
}

// chooses reports whether a folder holds shims for other programs. pyenv, rbenv, asdf,
// mise, Volta and others run the program that a file in the working directory names,
// which may be the repository's own.
func chooses(folder string) bool {
	folder = filepath.ToSlash(filepath.Clean(folder))
	return strings.EqualFold(filepath.Base(folder), "shims") || strings.HasSuffix(folder, "/.volta/bin")
}

// mayChange reports whether a command can change path: path is in a writable folder, or
// holds one.
func (t trustedPath) mayChange(path string) bool {
	return slices.ContainsFunc(t.writable, func(w string) bool { return inside(path, w) || inside(w, path) })
}

// Trusted reports whether a program that a command names is one that no command can
// have placed or changed and that does not choose another program. It also returns the
// path of the program. A name without a slash is searched for as the shell does. A link
// is trusted only if its target is in no folder that commands may write to.
//
// On Windows nothing is trusted: the file for a name depends on the shell, and the
// right to change it on access control lists, which are not read.
func (c *Commands) Trusted(name string) (path string, ok bool) {
	if onWindows {
		return "", false
	}
	trusted := func(file string) bool {
		target, err := filepath.EvalSymlinks(file)
		return slices.Contains(c.path.folders, filepath.Dir(file)) && (err != nil || !c.path.mayChange(target))
	}
	if strings.Contains(name, "/") {
		// Cleaning a/link/../b gives another file than the kernel finds.
		return name, filepath.IsAbs(name) && filepath.Clean(name) == name && trusted(name)
	}
	for _, folder := range c.path.all {
		file := filepath.Join(folder, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return file, trusted(file)
		}
	}
	return "", true // the shell does not find it either
}
