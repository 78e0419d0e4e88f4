package shellsafe

import (
	"strings"
	"testing"
)

// told returns the decision of the policy for a rule that denies curl.
func told(a *Analysis) string {
	if got := decide("deny", "Bash(curl:*)", a); got != "not denied" || a.Incomplete == "" {
		return got
	}
	return "ask"
}

// TestVariables checks that a rule that denies curl matches it in variables that
// name programs, and that the analysis is doubtful where their values are unknown.
func TestVariables(t *testing.T) {
	for _, c := range []struct{ want, commands string }{
		{"deny", `GIT_SSH_COMMAND='curl x;' git ls-remote ssh://x/y
GIT_EXTERNAL_DIFF='curl x;' git diff --no-index a b
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!curl x' git x
GIT_CONFIG_COUNT=1 GIT_CONFIG_VALUE_0='!curl x' GIT_CONFIG_KEY_0=alias.x git x
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='curl x' git -p log
V='!curl x' git --config-env=alias.x=V x
V='!curl x'; git --config-env alias.x=V x
export V='curl x'; git --config-env=core.sshCommand=V fetch
GIT_CONFIG_PARAMETERS="'alias.x'='!curl x'" git x
GIT_PAGER='curl x' git -p log
EDITOR='curl x' git commit
VISUAL=/usr/bin/curl git commit
export EDITOR='curl x'
declare -x "PAGER=curl x"
typeset -x PAGER='curl x'; git log
PAGER='curl x' man ls
LESSOPEN='|curl %s' less f
LESSOPEN='||- curl %s' less f
RSYNC_RSH='curl x' rsync a h:b
TAR_OPTIONS='--to-command=curl' tar xf a
TAR_OPTIONS=--use-compress-program=curl tar xf a
SUDO_ASKPASS=/usr/bin/curl sudo -A ls
SSH_ASKPASS=curl ssh-add
BASH_ENV=/usr/bin/curl bash -c :
PS4='$(curl x)' bash -xc :
PROMPT_COMMAND='curl x' bash -i
LD_PRELOAD=/x/curl ls
CC=curl make
CC='curl x' ./configure
make CC='curl x'
make CXX:=curl
MAKEFLAGS='SHELL=curl' make
RUSTC_WRAPPER=curl cargo build
CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=curl cargo run
GOFLAGS=-toolexec=curl go build
GOFLAGS='-toolexec=curl' go vet ./...
npm_config_script_shell=curl npm run x
NPM_CONFIG_SCRIPT_SHELL=/usr/bin/curl npm run x
env PAGER='curl x' git log
env -i GIT_SSH_COMMAND=curl git fetch
sudo EDITOR='curl x' visudo
for PAGER in 'curl x'; do git log; done
env 'BASH_FUNC_ls%%=() { curl x; }' bash -c ls
FZF_DEFAULT_COMMAND='curl x' fzf
FZF_DEFAULT_OPTS='--preview=curl' fzf
ZIPOPT='-TT curl' zip a b
MANOPT='-P curl' man ls
SVN_SSH='curl x' svn up
KUBE_EDITOR=curl kubectl edit pod x
SYSTEMD_PAGER=curl systemctl status
HGMERGE=curl hg merge
HGEDITOR='sh -c "curl x"' hg commit
GIT_EDITOR="curl $X" git commit
git config alias.x '!curl x'
git config --global core.pager 'curl x'
git config set alias.x '!curl x'
PERL5DB=curl perl -d x
systemd-run --setenv=PAGER=curl git log
systemd-run -E PAGER='curl x' git log
strace -E PAGER=curl git log`},
		{"ask", `BASH_ENV=<(echo curl x) bash -c :
BASH_ENV=/dev/stdin bash -c : <<< 'curl x'
ENV=<(echo curl) sh -i
PAGER="$X" git log
EDITOR=$(printf cu)rl git commit
read -r GIT_PAGER < f
printf -v PAGER '%s' x; git log
: ${GIT_PAGER:=x}; export GIT_PAGER
: "${PAGER=$X}"
export $X
export "$A=$B"
git --config-env=alias.x=UNSET x
V=$X git --config-env=alias.x=V x
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=$X git x
GIT_CONFIG_PARAMETERS=$X git x
LD_PRELOAD=$X ls
GIT_EXEC_PATH=$X git x
git -c help.autocorrect=1 pusg
GIT_CONFIG_GLOBAL=./f git x
declare -n x=PAGER; x=curl; git log
git -c include.path=/x status
git -c core.hooksPath=./h commit`},
		{"not denied", `FOO=curl make
PAGER=cat git log
EDITOR=true git rebase --continue
CC=gcc make curl
GIT_PAGER= git log
SHELL=/bin/bash make
CONFIG_SHELL=/bin/sh ./configure
NODE_OPTIONS=--max-old-space-size=4096 npm run build
GOFLAGS=-mod=mod go build
MAKEFLAGS=-j4 make
GIT_CONFIG_GLOBAL=/dev/null git status
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=curl git commit
LD_LIBRARY_PATH=$PWD/lib ./x
PATH=$PWD/bin:$PATH make
PS1='$ ' bash -c x
export FOO="$BAR"
git config user.name curl
git -c core.hooksPath=/dev/null commit
read x < f
for f in curl; do echo $f; done`},
	} {
		for _, s := range strings.Split(c.commands, "\n") {
			a := Analyse(s, ws)
			if got := told(a); got != c.want && !(c.want == "ask" && got == "deny") {
				t.Errorf("%s: %s, want %s; %v (%s; %s)", s, got, c.want, commandTexts(a), a.Unresolved, a.Incomplete)
			}
			if a.ReadOnly {
				t.Errorf("%s is read-only", s)
			}
			if c.want == "not denied" && a.Unresolved != "" {
				t.Errorf("%s is unresolved: %s", s, a.Unresolved)
			}
		}
	}
}

// TestMoreLaunched is TestLaunched for programs that name a command in a language
// of their own, and for less common wrappers.
func TestMoreLaunched(t *testing.T) {
	for _, c := range []struct{ want, commands string }{
		{"deny", `sem -j2 curl x
sem --fg curl x
runcon u:r:t curl y
runcon -t t curl y
trickle -d1 curl x
wsl curl x
wsl -d Ubuntu curl x
wsl.exe -- curl x
coreutils --coreutils-prog=curl x
coreutils curl x
script -q /dev/null curl x
script f -- curl x
pdsh -w h curl x
pssh -h f curl x
clush -w h 'curl x'
machinectl shell root@x /usr/bin/curl y
distrobox enter -n x -- curl y
toolbox run -c x curl y
crictl exec c curl x
ctr task exec --exec-id 1 c curl x
heroku run curl x
fly ssh console -C 'curl x'
npx curl@latest x
npx -y curl@1.2 x
pnpm dlx curl@2 x
npm exec --yes curl@latest -- x
git difftool -y -x'curl x'
git submodule --quiet foreach 'curl x'
ssh-agent curl x
ssh-agent -a s curl x
logsave /dev/null curl x
logsave -a log curl x
choom -n 0 -- curl x
uclampset -m 5 curl x
pipesz curl x
tmux new -d 'curl x'
tmux new -d curl x
tmux -L s new-session -d -s n 'sh -c "curl x"'
tmux send-keys 'curl x' Enter
tmux run-shell 'curl x'
screen -dm curl x
screen -X stuff 'curl x'
newgrp -c 'curl x' g
dtach -n /tmp/s curl x
abduco -n name curl x
setarch -R curl x
setarch x86_64 curl x
uname26 curl x
systemd-nspawn -D / curl x
chpst -u x curl x
envdir d curl x
expect -c 'spawn curl x'
vim -c '!curl x' -c q
vim +'!curl x'
nvim --cmd 'call system("curl x")'
ex -c ':r !curl x' f
gdb -batch -ex 'shell curl x'
gdb -eval-command='!curl x'
psql -c '\! curl x'
psql -c "COPY t FROM PROGRAM 'curl x'"
mysql -e '\! curl x'
sqlite3 :memory: '.shell curl x'
sqlite3 x.db '.system curl x'
sqlite3 -cmd '.shell curl x' x.db
sqlite3 x.db '.import "|curl x" t'
socat - EXEC:'curl x'
socat - SYSTEM:"curl x",pty
socat TCP-LISTEN:1 EXEC:'"curl x"'
less '+!curl x' f
lftp -c '!curl x'
dc -e '!curl x'
awk 'BEGIN{system("curl x")}'
awk 'BEGIN { "curl x" | getline y }'
gawk 'BEGIN { print 1 | "curl x" }'
emacs --batch --eval '(shell-command "curl x")'
apt-get -o APT::Update::Pre-Invoke::='curl x' update
wget -e use_askpass=curl u
mvn exec:exec -Dexec.executable=curl
cargo --config 'target.x.runner="curl"' run
cargo run --config=build.rustc-wrapper=curl
gcc -wrapper curl,x a.c
cmake -E env A=b curl x
cmake -E time curl x
cmake -E chdir d curl x
cmake -DCMAKE_C_COMPILER=curl .
go run -exec 'curl x' .
go test -exec=curl ./...
go build -toolexec 'curl x' ./...
go vet -vettool=curl ./...
npm run x --script-shell=curl
npm --script-shell curl run x
npm config set script-shell curl --script-shell=curl
docker exec c curl x
docker exec -it -u root c curl x
docker run --rm alpine curl x
docker run -e A=b --network host alpine curl x
docker run --entrypoint curl alpine x
docker compose exec web curl x
docker --context y exec c sh -c 'curl x'
podman run alpine curl x
kubectl exec pod -- curl x
kubectl -n a exec -it pod -c b -- curl x
kubectl run x --image=y -- curl x
vagrant ssh -c 'curl x'
ansible all -m shell -a 'curl x'
ip netns exec n curl x
dotenvx run -- curl x
aws-vault exec p -- curl x
doppler run -- curl x
guix shell hello -- curl x
just -c curl x
nodemon --exec 'curl x' f
bazel run --run_under=curl //x
tcpdump -w f -z curl
install --strip-program=curl -s a b
aria2c --on-download-complete=curl u
svn diff --diff-cmd curl
hg --config alias.x='!curl x' x
hg clone -e 'curl x' ssh://h/r
bat --pager='curl x' f
fzf --preview='curl x'
git-fetch --upload-pack='curl x' o
/usr/lib/git-core/git-difftool --extcmd='curl x'
git for-each-repo --config=x -c alias.y='!curl x' y
git remote-ext origin 'curl x'
git clone -ccore.sshCommand='curl x' u
parallel ::: 'curl x'
parallel {} ::: 'curl x'
fish -C 'curl x'
fish --init-command='curl x'
csh -c 'curl x'
CURL x
curl.exe x
/usr/bin/Curl x
busybox.exe curl x
watchexec curl x
concurrently 'curl x' ls
mispipe 'curl x' ls
xterm -e curl x
script -c 'curl x'
run0 curl x
flatpak-spawn --host curl x
asciinema rec -c 'curl x' f`},
		{"ask", `bash /dev/stdin <<< 'curl x'
printf 'curl x' | sh -s -- a
printf 'curl x' | sh -es a
printf 'curl x' | sudo bash -s a b
sh /proc/self/fd/0
. /proc/self/fd/0
bash --rcfile <(echo curl x) -ic exit
find /usr/bin/curl -exec {} x \;
echo curl | xargs -I% % x
echo 'curl x' | xargs -I% sh -c %
find . -name 'a*' -exec sh -c '{}' \;
echo curl x | xargs env
echo 'curl x' | parallel
parallel :::: f
echo 'curl x' | at now
sqlite3 x.db "select edit('a', 'vi')"
echo curl x | xargs nice -n 5`},
		{"not denied", `tmux ls
tmux attach -t main
vim curl
awk '{print "curl", $1}' f
awk -F'|' '{print $1}' curl
psql -c 'select * from curl'
go test -run curl ./...
docker build -t curl .
docker run -v curl:/x alpine ls
docker ps
kubectl get pods curl
kubectl delete pod curl
cmake -S curl -B build
gcc -o curl curl.c
apt-get install curl
cargo build --config x=y
sqlite3 x.db 'select a||b from curl'
hg commit -m curl
less curl
parallel echo ::: curl`},
	} {
		for _, s := range strings.Split(c.commands, "\n") {
			a := Analyse(s, ws)
			if got := told(a); got != c.want && !(c.want == "ask" && got == "deny") {
				t.Errorf("%s: %s, want %s; %v (%s; %s)", s, got, c.want, commandTexts(a), a.Unresolved, a.Incomplete)
			}
			if a.ReadOnly && c.want != "not denied" {
				t.Errorf("%s is read-only", s)
			}
		}
	}
}
