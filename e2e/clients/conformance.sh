#!/usr/bin/env bash
# Runs the protocol's conformance suites against the fixture server
# (e2e/conformance): the released suite, and every scenario of the coming one at
# each protocol version we serve. It runs whole suites, to notice a scenario that
# starts to pass; expected-failures.yml lists the checks that must fail.
# usage: conformance.sh FIXTURE_BINARY
set -euo pipefail
binary=$(realpath "${1:?usage: conformance.sh FIXTURE_BINARY}")
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export TMPDIR=$work

list=$here/expected-failures.yml
suites=0 passed=0 expected=0
: >"$work/met"
# The released suite can exclude only whole scenarios.
sed 's/^\( *- [^:]*\):.*/\1/' "$list" | awk '!seen[$0]++' >"$work/scenarios.yml"

# stop ends the server and checks its exit code, which reveals a crash or, in a
# binary built with the race detector, a data race.
stop() { # SUITE
	local pid=${pids[-1]} code=0
	unset 'pids[-1]'
	kill "$pid" 2>/dev/null || true
	for _ in $(seq 100); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	kill -9 "$pid" 2>/dev/null || true
	wait "$pid" || code=$?
	[ "$code" = 0 ] || {
		echo "the server ended with exit code $code" >"$work/why"
		fail "$1: server stops" "$work/why" "$work/server.log"
	}
}

# suite NAME PACKAGE LIST OPTIONS... : runs each suite on a new server, so that
# sessions and subscriptions of one cannot affect the next.
suite() {
	local name=$1 package=$2 failures=$3 code=0 n m
	shift 3
	suites=$((suites + 1))
	serve "$binary" --addr 127.0.0.1:0
	bounded 120 node "$clients/node_modules/$package/dist/index.js" server \
		--url "$url" --suite all --expected-failures "$failures" \
		--output-dir "$work/results" "$@" >"$work/out" 2>&1 || code=$?
	if ! node "$here/results.mjs" "$work/out" "$work/results" >"$work/why"; then
		{ echo "the suite did not finish (exit code $code):" && tail -n 40 "$work/out"; } >"$work/why"
		fail "$name" "$work/why" "$work/server.log"
	elif [ "$code" != 0 ]; then
		grep -v '^expected failure: ' "$work/why" >"$work/new"
		fail "$name" "$work/new" "$work/server.log"
	else
		n=$(sed -n 's/ checks passed$//p' "$work/why")
		m=$(grep -c '^expected failure: ' "$work/why" || true)
		passed=$((passed + n)) expected=$((expected + m))
		pass "$name: $n checks passed, $m failures expected"
	fi
	sed -n 's/^expected failure: //p' "$work/why" >>"$work/met"
	rm -rf "$work/results"
	stop "$name"
}

suite "released suite" @modelcontextprotocol/conformance "$work/scenarios.yml"
for version in 2025-03-26 2025-06-18 2025-11-25 2026-07-28; do
	suite "coming suite at $version" conformance-modern "$list" --spec-version "$version" --timeout 10000
done

# A suite calls an entry stale when the check passes, not when the check no longer
# exists. After a failed suite, the checks it would have reached are unknown.
if [ "$failed" = 0 ]; then
	sed -n 's/^ *- //p' "$list" | sort >"$work/entries"
	sort -u "$work/met" | comm -23 "$work/entries" - >"$work/unmet"
	[ ! -s "$work/unmet" ] || fail "expected failures that no suite met, to be taken out of the list" "$work/unmet"
fi

echo "conformance: $suites suites, $passed checks passed, $expected failures expected, $failed problems"
[ "$failed" = 0 ]
