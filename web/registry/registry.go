// Package registry lists the hosts that package managers and build tools get packages from.
//
// Commands may reach these hosts without a question, so the list is short: a host that serves
// files of arbitrary users, such as a code forge or a storage service, is not on it. Whoever
// has an account can publish on some of them; SECURITY.md describes that.
package registry

import (
	"net/url"
	"slices"
	"strings"

	"mcp-toolset/web/site"
)

// Host is a host with the package manager that uses it, or the setting that names it.
type Host struct {
	Pattern site.Pattern
	Name    string // as in rules, without "domain:"
	For     string // for users
}

// known lists hosts by package manager. The names are those in the default configuration of
// the current versions of these programs, and those that they redirect to.
var known = [][2]string{
	{"Go", "proxy.golang.org sum.golang.org index.golang.org"},
	{"npm, yarn, pnpm, bun", "registry.npmjs.org registry.yarnpkg.com"},
	{"Node.js", "nodejs.org"},
	{"pip, uv, poetry", "pypi.org files.pythonhosted.org"},
	{"conda", "conda.anaconda.org repo.anaconda.com"},
	{"Rust", "index.crates.io static.crates.io crates.io static.rust-lang.org"},
	{"Ruby", "rubygems.org index.rubygems.org"},
	{"Maven, Gradle", "repo.maven.apache.org repo1.maven.org plugins.gradle.org plugins-artifacts.gradle.org services.gradle.org downloads.gradle.org maven.google.com"},
	{".NET", "api.nuget.org www.nuget.org"},
	{"PHP", "repo.packagist.org packagist.org"},
	{"Elixir, Erlang", "repo.hex.pm hex.pm builds.hex.pm"},
	{"Perl", "cpan.metacpan.org www.cpan.org fastapi.metacpan.org"},
	{"Haskell", "hackage.haskell.org hackage-origin.haskell.org"},
	{"OCaml", "opam.ocaml.org"},
	{"Dart", "pub.dev"},
	{"Deno, JSR", "jsr.io npm.jsr.io deno.land dl.deno.land"},
	{"R", "cran.r-project.org cloud.r-project.org"},
	{"Julia", "pkg.julialang.org"},
	{"Zig", "ziglang.org"},
	{"Nix", "cache.nixos.org"},
	{"Homebrew", "formulae.brew.sh"},
	{"Terraform", "registry.terraform.io releases.hashicorp.com"},
	{"Debian, Ubuntu", "deb.debian.org security.debian.org archive.ubuntu.com security.ubuntu.com ports.ubuntu.com"},
	{"Alpine", "dl-cdn.alpinelinux.org"},
	{"Playwright", "cdn.playwright.dev"},
}

// Known returns the hosts of common package managers.
func Known() (hosts []Host) {
	for _, k := range known {
		for name := range strings.FieldsSeq(k[1]) {
			hosts = append(hosts, host(name, k[0]))
		}
	}
	return hosts
}

// host returns the host of a name that is valid.
func host(name, why string) Host {
	p, err := site.ParsePattern("domain:" + name)
	if err != nil {
		panic(err)
	}
	return Host{p, name, why}
}

// fromURL returns the host of a registry's URL. ok is false if the text is not such a URL.
func fromURL(text, why string) (h Host, ok bool) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "sparse+")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return Host{}, false
	}
	u.User = nil
	s, err := site.Of(u)
	if err != nil {
		return Host{}, false
	}
	name := s.Host
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if port := u.Port(); port != "" {
		name += ":" + port
	}
	return host(name, why), true
}

// add appends the hosts of some URLs that the list does not have yet.
func add(hosts []Host, why string, urls ...string) []Host {
	for _, u := range urls {
		h, ok := fromURL(u, why)
		if ok && !slices.ContainsFunc(hosts, func(o Host) bool { return o.Name == h.Name }) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}
