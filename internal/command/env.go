package command

import (
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// passed are the variables that commands get, * standing for any characters:
// who and where one is, and how toolchains are set up. Whatever else the server
// has in its environment is nobody's business unless the settings pass it on.
var passed = []string{
	"HOME", "USER", "LOGNAME", "PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "SHELL", "CI", "EDITOR_*",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy",
	"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
	"GIT_AUTHOR_*", "GIT_COMMITTER_*", "EMAIL",
	"CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "PKG_CONFIG_PATH", "CMAKE_*", "CCACHE_DIR",
	"LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "MANPATH", "INFOPATH",
	"GO*", "CGO_*", "CARGO_*", "RUST*", "NODE_*", "NPM_CONFIG_*", "npm_config_*", "NVM_*", "FNM_*", "VOLTA_*", "PNPM_HOME", "YARN_*", "BUN_*", "DENO_*", "COREPACK_*",
	"PYTHON*", "PIP_*", "UV_*", "VIRTUAL_ENV", "CONDA_*", "PYENV_*", "POETRY_*", "PIPENV_*",
	"JAVA_HOME", "JDK_HOME", "JAVA_TOOL_OPTIONS", "MAVEN_*", "M2_HOME", "GRADLE_*", "SBT_*", "KOTLIN_*", "ANDROID_*", "SDKMAN_*",
	"DOTNET_*", "NUGET_*", "RUBY*", "GEM_*", "BUNDLE_*", "RBENV_*", "COMPOSER_*", "PHP_*", "PERL5LIB", "MIX_*", "HEX_*", "ERL_*", "STACK_*", "CABAL_*", "GHCUP_*",
	"NIX_*", "GUIX_*", "HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY", "ASDF_*", "MISE_*", "BAZEL*", "CONAN_*", "PUB_CACHE", "FLUTTER_*", "ZIG_*",
	"SOURCE_DATE_EPOCH", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID",
}

// secretWords mark a variable that is not passed on though its name is on the
// list: NPM_TOKEN, CARGO_REGISTRY_TOKEN, UV_PUBLISH_PASSWORD.
var secretWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTH", "PAT"}

// never are the server's own secrets, and variables that make a shell run
// something. Nothing passes them on.
var never = []string{"MCP_TOOLSET_*", "BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS", "PS4", "LD_PRELOAD", "LD_AUDIT", "PROMPT_COMMAND"}

// fixed are what every command is told: nobody types, nobody pages, nobody sees
// colours.
var fixed = []string{
	"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat", "GH_PAGER=cat", "AWS_PAGER=", "BAT_PAGER=cat",
	"GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false", "DEBIAN_FRONTEND=noninteractive",
}

// variable is a variable as commands have it, "" if they have not.
func (c *Commands) variable(name string) string {
	for _, v := range slices.Backward(c.config.Environ) {
		if n, value, ok := strings.Cut(v, "="); ok && n == name && c.passes(n) {
			return value
		}
	}
	return ""
}

// passes reports whether commands get a variable of the server's.
func (c *Commands) passes(name string) bool {
	switch {
	case name == "" || named(never, name) || named(c.config.Scrub, name):
		return false
	case named(c.config.Pass, name):
		return true
	}
	return named(passed, name) && !secret(name)
}

func named(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return err == nil && ok
	})
}

// secret reports whether a word of a name says that its value is one.
func secret(name string) bool {
	name = "_" + strings.ToUpper(name) + "_"
	return slices.ContainsFunc(secretWords, func(w string) bool {
		return strings.Contains(name, "_"+w+"_") || strings.Contains(name, w+"_") && len(w) > 4
	})
}

// environment is that of a command whose folder for temporary files is temp.
func (c *Commands) environment(dir, temp string) []string {
	var env []string
	has := map[string]bool{}
	for _, v := range slices.Backward(c.config.Environ) {
		name, _, ok := strings.Cut(v, "=")
		if ok && !has[name] && c.passes(name) {
			env = append(env, v)
		}
		has[name] = true
	}
	slices.Sort(env)
	env = c.add(env, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	env = c.add(env, "HOME", c.config.Home)
	if c.variable("USER") == "" {
		if u, err := user.Current(); err == nil {
			env = append(env, "USER="+u.Username)
		}
	}
	env = append(env, fixed...)
	return append(env, "SHELL="+c.shell, "PWD="+dir, "TMPDIR="+temp)
}

func (c *Commands) add(env []string, name, value string) []string {
	if c.variable(name) != "" || value == "" {
		return env
	}
	return append(env, name+"="+value)
}

// clean is the environment of a command that was judged to only read: what the
// judgement does not depend on.
func (c *Commands) clean(dir, temp string, more []string) []string {
	env := append([]string{}, fixed...)
	for _, v := range c.config.Environ {
		name, _, ok := strings.Cut(v, "=")
		if ok && (name == "LANG" || name == "LANGUAGE" || name == "TZ" || name == "USER" || name == "LOGNAME" || strings.HasPrefix(name, "LC_")) && c.passes(name) {
			env = append(env, v)
		}
	}
	env = append(env, "PATH="+strings.Join(c.path.folders, ":"), "HOME="+c.config.Home, "PWD="+dir, "TMPDIR="+temp)
	return append(env, more...)
}

// trustedPath is the folders of PATH that no command can put a program into.
type trustedPath struct {
	folders []string
	all     []string
}

func newTrustedPath(c *Commands) trustedPath {
	t := trustedPath{all: c.programs()}
	if len(t.all) == 0 {
		t.all = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
	}
	writable := slices.Concat(c.config.Roots, c.config.AllowWrite)
	for _, cache := range c.Caches() {
		writable = append(writable, cache.Path)
	}
	for _, folder := range t.all {
		real, err := filepath.EvalSymlinks(folder)
		if err != nil || slices.ContainsFunc(writable, func(w string) bool { return inside(real, w) || inside(folder, w) }) {
			continue
		}
		if info, err := os.Stat(real); err == nil && info.Mode().Perm()&0o022 == 0 {
			t.folders = append(t.folders, folder)
		}
	}
	return t
}

// Trusted says whether a program that a command names is one that no command
// can have put there, and its path. A name without a slash is looked for as
// the shell would. Links are not followed for the place, only to see that the
// program is there.
func (c *Commands) Trusted(name string) (path string, ok bool) {
	if strings.Contains(name, "/") {
		ok := filepath.IsAbs(name) && slices.Contains(c.path.folders, filepath.Dir(filepath.Clean(name)))
		return name, ok
	}
	for _, folder := range c.path.all {
		file := filepath.Join(folder, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return file, slices.Contains(c.path.folders, folder)
		}
	}
	return "", true // it will not be found either
}
