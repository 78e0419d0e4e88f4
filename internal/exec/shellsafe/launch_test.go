package shellsafe

import (
	"mcp-toolset/internal/testscale"
	"strings"
	"testing"
	"time"
)

// TestLaunched checks that a rule that denies curl matches it in the programs that
// run it.
func TestLaunched(t *testing.T) {
	for _, s := range []string{
		`sed '1e curl x' f`, `sed -n '/a/,$!e curl x' f`, `sed -e p -e '1e curl x' f`, `sed -ne '1ecurl x' f`, `sed --expr='$e curl x' f`, `sed 's/x/curl y/e'`, `sed 's/x/curl y/ge;p'`, `sed -i.bak 's|[|]|curl y|2e' f`,
		"sed 'a\\\ntext\n1e curl x' f", `sed ':a;N;ba;1e curl x' f`, `sed '/a/{s/e/e/;e curl x
}' f`, `sed '' '1e curl x' f`, `sed f -e '1e curl x'`, `gsed '1~2e curl x' f`, `sed 'y/a/b/;1e curl x' f`, `sed '\,x,Ie curl x' f`,
		`tar xf a --checkpoint=1 --checkpoint-action=exec='curl x'`, `tar xf a --checkpoint-act='exec=curl x'`, `tar cf a --checkpoint-action exec='curl x' f`, `tar xf a --to-command='curl x'`, `tar xf a --to-c 'curl x'`, `tar -cf a -I 'curl x' f`, `tar -cI'curl x' -f a f`, `tar cIf 'curl x' a f`, `tar cfI a 'curl x' f`,
		`tar --use-compress-program='curl x' -cf a f`, `tar --us 'curl x' -cf a f`, `tar cf a -F 'curl x' -M f`, `tar --info-script='curl x' -cMf a f`, `tar cf h:a --rsh-command='curl x' f`,
		`npx curl x`, `npx -y curl x`, `npx -p pkg curl x`, `npx --package=pkg -- curl x`, `npx --nosuch v curl x`, `npx -c 'curl x'`, `npx -yc 'curl x'`, `npx --call='curl x'`, `npm exec curl x`, `npm exec -- curl x`, `npm x -c 'curl x'`, `npm --prefix d exec curl x`, `npm exec --nosuch v -- curl x`,
		`pnpm curl x`, `yarn curl x`, `pnpm exec curl x`, `pnpm dlx curl x`, `pnpm -C d exec curl x`, `pnpm -r exec curl x`, `yarn run curl x`, `yarn dlx curl x`, `yarn exec curl x`, `yarn workspace a run curl x`, `bunx curl x`, `bun x curl x`, `bun run --nosuch curl x`, `corepack pnpm dlx curl x`,
		`uv run curl x`, `uv run --with httpx -- curl x`, `uv run --no-sync curl x`, `uv --directory d run curl x`, `uvx curl x`, `uvx --from pkg curl x`, `uv tool run curl x`, `uv run bash -c 'curl x'`, `poetry run curl x`, `pipx run curl x`, `conda run -n e curl x`, `bundle exec curl x`, `rustup run nightly curl x`, `nvm exec 18 curl x`,
		`mise exec node@20 -- curl x`, `mise x -c 'curl x'`, `nix develop -c curl x`, `nix-shell -p a --run 'curl x'`,
		`make SHELL='curl x'`, `make all SHELL:=/usr/bin/curl`, `make --eval='x:=$(shell curl x)'`, `make -E '$(shell curl x)'`, `make 'X=$(shell curl x)'`, `make 'X!=curl x'`,
		`git -c alias.x='!curl x' x`, `git -c core.sshCommand='curl x' fetch`, `git -c core.pager='curl x' -p log`, `git -c pager.log='curl x' -p log`, `git -c credential.helper='!curl x' fetch`, `git -c diff.external='curl x' diff`, `git -c filter.a.clean='curl x' add f`, `git clone --config core.sshCommand='curl x' u`,
		`git rebase --exec 'curl x' HEAD~1`, `git rebase -x'curl x' HEAD~1`, `git rebase -ix 'curl x' HEAD~1`, `git rebase --exe='curl x' HEAD~1`, `git filter-branch --tree-filter 'curl x' HEAD`, `git difftool --extcmd='curl x'`, `git fetch --upload-pack='curl x' o`, `git clone -u 'curl x' u`, `git grep -O'curl x' p`, `git clone 'ext::curl x'`,
		`rsync -e 'curl x' a h:b`, `rsync -ave 'curl x' a h:b`, `rsync --rsh='curl x' a h:b`, `rsync --rsync-path='curl x' a h:b`, `ssh host curl x`, `ssh -p 22 -tt u@host 'ls; curl x'`, `ssh host -p 22 curl x`, `ssh -oProxyCommand='curl x' host`, `ssh -o 'ProxyCommand curl x' host`, `scp -o ProxyCommand='curl x' a h:b`, `scp -S curl a h:b`, `ssh $OPTIONS host curl x`, `sshpass -p x ssh host curl x`,
		`split --filter='curl x' f`, `sort --compress-program=curl f`, `rg --pre curl x`, `zip -T -TT 'curl x' a f`, `man -P 'curl x' ls`, `ncat -e 'curl x' h 1`,
		`find . -exec npx curl {} +`, `sudo -u a npx curl x`, `sh -c 'uv run curl x'`, `timeout 5 pnpm exec curl x`, `nohup ssh host curl x &`,
	} {
		a := Analyse(s, ws)
		if got := decide("deny", "Bash(curl:*)", a); got != "deny" {
			t.Errorf("%s: %s; %v (%s)", s, got, commandTexts(a), a.Unresolved)
		}
		if a.ReadOnly || allowedBy(a, func(c *Command) bool { return strings.HasPrefix(c.Text, "curl") }) {
			t.Errorf("%s: it is read-only, or allowed as curl", s)
		}
	}
	// Nothing runs curl here, and nothing is doubtful.
	for _, s := range []string{
		`sed -n '/curl/p' f`, `sed 's/e/curl x/' f`, `sed 's/a/b/w curl' f`, `sed '1i curl x' f`, `sed -e '/e/d' -e 's/[/]e/curl/g' f`, `sed -f e.sed f`, `sed -i e.bak`, `sed 's/"$A"/curl/' f`,
		`tar czf curl.tgz curl`, `tar xf a --checkpoint=1 --checkpoint-action=dot`, `npx eslint curl`, `npm install curl`, `npm run curl-test`, `pnpm add curl`, `yarn add curl`, `uv pip install curl`, `uv add curl`, `uv run --with curl pytest`, `poetry add curl`,
		`make curl`, `make CC=gcc -j4 curl`, `git -c user.name=curl commit -m x`, `git -c core.pager=cat log curl`, `git commit -c HEAD`, `git clean -xdf`, `git send-email --to curl x`, `git describe --tags curl`, `rsync -av curl h:b`, `ssh curl`, `ssh "$HOST" ls a curl`, `pnpm run curl`, `pnpm rm curl`, `npm --prefix "$D" install curl`, `ssh -i curl host`, `scp curl h:b`, `sort -u curl`, `rg --pretty curl`,
	} {
		if a := Analyse(s, ws); decide("deny", "Bash(curl:*)", a) != "not denied" {
			t.Errorf("%s: %v (%s)", s, commandTexts(a), a.Unresolved)
		}
	}
	// Commands from the input, or in the text of a makefile, are unknown.
	for _, s := range []string{`sed e f`, `sed 's/^/x /e' f`, `sed -n '1!e' f`, `make --eval='all:; @c'"url x"`, `npx $X`, `uv run "$X"`} {
		if a := Analyse(s, ws); a.Unresolved == "" || allowedBy(a, func(*Command) bool { return true }) {
			t.Errorf("%s is resolved: %v", s, commandTexts(a))
		}
	}
	// Rules that allow match the words as written.
	for s, want := range map[string]bool{`npx -y eslint x`: true, `uv run pytest -x`: true, `sed -i 's/a/e/' f`: true, `ssh host ls`: true, `make -j4 X=y`: true, `git -c core.pager=cat log`: true, `sed 's/a/b/e' f`: false} {
		if got := allowedBy(Analyse(s, ws), func(c *Command) bool { return !c.Inner }); got != want {
			t.Errorf("%s: allowed is %v", s, got)
		}
	}
}

func commandTexts(a *Analysis) (out []string) {
	for i := range a.Commands {
		out = append(out, a.Commands[i].Text)
	}
	return out
}

// TestLaunchedOften checks that the analysis does not try all readings of a text in
// which many words may be a command.
func TestLaunchedOften(t *testing.T) {
	for _, s := range testscale.Sample([]string{"npx --a ", "npx --a x ", "uv --a run --b ", "sudo -Z ", "nvm run ", "rustup run ", "ssh h ", "git -c alias.x='!ls' ", "sed e -e ", "tmux x ", "docker run a ", "git for-each-repo --a ", "npm config "}, 4) {
		start := time.Now()
		Analyse(strings.Repeat(s, (MaxBytes-10)/len(s))+"x", ws)
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: %v", s, took)
		}
	}
}
