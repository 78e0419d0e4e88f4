#!/usr/bin/env bash
# Runs the tests of the console in Debian's Chromium, which is installed if it is missing:
# those of the page with a made-up server, and with BINARY the stories with the real one.
# CONSOLE_TIMES=strict fails also on slow pages, UPDATE_SCREENSHOTS=1 makes the pictures
# in docs/console. Without Chromium and apt it prints why it skips.
# usage: run.sh [BINARY]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${1:+$(realpath "$1")}

for path in "${CHROMIUM:-}" /usr/lib/chromium/chromium /usr/bin/chromium; do
	[ -z "$path" ] || [ ! -x "$path" ] || { CHROMIUM=$path; break; }
done
if [ -z "${CHROMIUM:-}" ]; then
	if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		echo "skipped: there is no chromium, and it cannot be installed" && exit 0
	fi
	apt-get update -qq >&2 && apt-get install -qqy --no-install-recommends chromium >&2
	CHROMIUM=/usr/bin/chromium
fi
CONSOLE_DIR=$("$here/install.sh")
export CHROMIUM CONSOLE_DIR
if [ -z "$binary" ]; then
	exec node "$here/page.mjs"
fi
# Both at once: each waits more than it works.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
node "$here/real.mjs" "$binary" >"$log" 2>&1 &
real=$!
failed=0
node "$here/page.mjs" || failed=1
wait "$real" || failed=1
cat "$log"
exit $failed
