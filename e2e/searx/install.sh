#!/usr/bin/env bash
# Unpacks Debian's Searx and prints its folder. Exits with 3 and a reason on a machine
# that cannot download it.
set -euo pipefail
packages=$(apt-get install -y --no-install-recommends --print-uris python3-searx 2>/dev/null |
	sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p" | grep -v '^lib\|^fonts') || { echo "no searx: apt-get has no package python3-searx" >&2; exit 3; }
# shellcheck disable=SC2016,SC2086 # the command is expanded for each package; one word for each package
dir=$("$(dirname "${BASH_SOURCE[0]}")/../../.ci/deb-unpack" searx 'dpkg -x "$deb" .' $packages)
PYTHONPATH=$dir/usr/lib/python3/dist-packages python3 -c 'import flask, flask_babel, lxml, requests' ||
	{ echo "no searx: its libraries do not load" >&2; exit 3; }
echo "$dir"
