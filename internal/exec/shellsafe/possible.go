package shellsafe

import (
	"maps"
	"strings"
)

// maxPossible is the number of words of a program that are tried as the name of a command.
const maxPossible = 16

// inert lists programs that are on no other table and run no command that their words
// name, or only code of an interpreter.
const inert = "eval trap jobs bind alias unalias export declare local typeset readonly unset set shopt type hash help enable complete compgen compopt history disown wait fg bg read mapfile readarray getopts let return exit break continue shift ulimit umask times caller logout suspend source . " +
	"python python2 python3 pypy node deno ruby perl php lua java javac kotlinc scala ghc rustc swift groovy gofmt goimports golangci-lint staticcheck jest vitest mocha ava tap pytest py.test phpunit rspec eslint prettier tsc tsx ts-node ruff black mypy flake8 isort pylint pyright rubocop clang-format clang-tidy shellcheck shfmt hadolint yamllint markdownlint cspell protoc buf webpack vite rollup esbuild parcel babel next nuxt ng playwright cypress storybook hugo jekyll mkdocs sphinx-build pandoc convert magick ffmpeg ffprobe yq xmllint code subl open xdg-open xclip say notify-send logger " +
	"service loginctl useradd usermod userdel groupadd gpasswd passwd adduser deluser addgroup getent brew dnf yum apk pacman zypper snap port choco scoop winget nix-env nix-store emerge gem cpan luarocks dpkg dpkg-query update-alternatives ldconfig tldr"

// isKnown reports whether a table says which of a program's words are commands, or that
// none is.
func isKnown(name string) bool {
	_, isWrapper := wrappers[name]
	_, isRunner := runners[name]
	_, isLauncher := launchers[name]
	_, isGlobal := globals[name]
	_, isEscape := escapes[name]
	_, isFile := fileCommands[name]
	_, uses := networkPrograms[name]
	_, destroys := destructiveCommands[name]
	return isWrapper || isRunner || isLauncher || isGlobal || isEscape || isFile || uses || destroys ||
		table[name] != nil || versions[name] != "" || has(shells, name) || has(inert, name)
}

// possible returns the commands that a program on no table runs if it is a wrapper: those
// that begin with one of its words, and the texts for a shell among them. Of a known wrapper,
// only values of flags that are on no table are tried.
func (w *walker) possible(args []arg, c context) (texts []string) {
	args = canonical(args)
	if c.guess || len(args) < 2 {
		return nil
	}
	name := base(args[0].val)
	x, wraps := wrappers[name]
	if isKnown(name) && !wraps {
		return nil
	}
	if w.formBytes > maxFormBytes {
		w.setIncomplete("it has too many words")
		return nil
	}
	analysis, walker := *w.a, *w
	w.vars = maps.Clone(w.vars)
	c.guess = true
	at := len(w.a.Commands)
	for i := 1; i < len(args) && i <= maxPossible; i++ {
		text := args[i].text
		flag, value, ok := strings.Cut(text, "=")
		if ok = ok && strings.HasPrefix(text, "-"); ok {
			text = value
		}
		switch {
		case wraps && (!ok || has(x.vals, flag) || has(x.opt, flag)): // unwrap knows what it is
		case !args[i].lit || strings.HasPrefix(text, "-"):
		case strings.ContainsAny(text, " \t\n;&|"):
			w.reparse(text, true, c)
		case text == args[i].text:
			w.inner(args[i:], c)
		default:
			w.inner([]arg{literal(text)}, c)
		}
	}
	for i := at; i < len(w.a.Commands); i++ {
		cmd := &w.a.Commands[i]
		texts = append(texts, cmd.DenyText())
		for _, f := range cmd.Forms {
			texts = append(texts, f.Text)
		}
	}
	*w, *w.a = walker, analysis
	for _, text := range texts {
		w.formBytes += len(text)
	}
	return texts
}
