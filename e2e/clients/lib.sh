# Sourced by the checks: finds the clients, starts servers, reports steps.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clients=$(realpath "${CLIENTS_DIR:-$("$here/install.sh")}")
PATH=$clients/node_modules/node/bin:$PATH

# All folders are temporary, including HOME: neither the clients nor the server may
# read the settings of the user who runs the checks, or leave files.
work=$(mktemp -d)
mkdir "$work/home"
export HOME=$work/home XDG_CONFIG_HOME=$work/home/.config NO_COLOR=1 NODE_DISABLE_COMPILE_CACHE=1
unset MCP_TOOLSET_TOKEN CLAUDE_PROJECT_DIR CLAUDE_CODE_SESSION_ID CLAUDE_CONFIG_DIR
# Some clients write to the current folder.
cd "$work"

running=
pids=()
cleanup() {
	local pid
	for pid in $running "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	for _ in $(seq 100); do
		[ -n "$(jobs -rp)" ] || break
		sleep 0.1
	done
	for pid in $running "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
	wait # a process that ends may still write into the folder
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

failed=0
pass() { echo "ok $1"; }
fail() { # NAME OUTPUT-FILE...
	local name=$1 file
	shift
	echo "FAIL $name"
	for file; do sed 's/^/    /' "$file"; done
	failed=$((failed + 1))
}

# bounded SECONDS COMMAND... : runs a command with a timeout, and kills it soon after.
# It runs in the background, since the shell's traps wait for foreground commands.
bounded() {
	local code=0
	timeout -k 5 "$@" &
	running=$!
	wait "$running" || code=$?
	running=
	return "$code"
}

# serve COMMAND... : starts a server in the background and sets $url to the
# address it reports on stderr.
url=
serve() {
	local log=$work/server.log pid
	: >"$log" # created here, since the server may start after the first check
	"$@" >/dev/null 2>"$log" &
	pid=$!
	pids+=("$pid")
	for _ in $(seq 600); do
		url=$(sed -n 's|.*listening on \(http://[^ ]*\).*|\1|p' "$log" | head -n 1)
		[ -z "$url" ] || return 0
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	fail "server starts" "$log"
	exit 1
}
