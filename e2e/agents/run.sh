#!/usr/bin/env bash
# Drives real agent clients with a scripted model, in a network namespace of its own.
# usage: run.sh [BINARY [PATTERN [-update]]]   PATTERN: of tests, as for `go test -run`
# With -update, what the clients showed is stored, and written to docs/clients.md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
alone=(unshare --net)
[ "$(id -u)" = 0 ] || alone=(unshare --map-root-user --net)
"${alone[@]}" true || { echo "skipped: the system does not allow a network namespace here"; exit 0; }
[ -z "${1:-}" ] || AGENTS_BINARY=$(realpath "$1") && export AGENTS_BINARY
AGENTS_DIR=$("$here/install.sh")
export AGENTS_DIR
for program in tmux ip; do
	command -v $program >/dev/null || { apt-get update -qq && apt-get install -qqy --no-install-recommends tmux iproute2; } >&2
done
test=$(mktemp -d)
trap 'rm -rf "$test"' EXIT
cd "$here"
go test -c -o "$test/agents.test" .
"${alone[@]}" sh -c 'ip link set lo up && exec "$@"' sh "$test/agents.test" -test.v -test.timeout 60m -test.parallel 8 -test.run "${2:-.}" "${@:3}"
