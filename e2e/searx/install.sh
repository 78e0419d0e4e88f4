#!/usr/bin/env bash
# Unpacks Debian's Searx outside the repository and prints the folder. Nothing is
# installed on the machine. Exits with 3 and a reason where that is not possible.
# usage: install.sh [FOLDER]
set -euo pipefail
hash=$(sha256sum "${BASH_SOURCE[0]}" | cut -c1-16)
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/mcp-toolset-ci/searx-$hash}

cannot() { echo "no Searx: $*" >&2; exit 3; }

# The stamp is written last, so an interrupted install never counts as complete.
if [ "$(cat "$dir/.stamp" 2>/dev/null)" = "$hash" ]; then
	echo "$dir"
	exit 0
fi
if [ -n "$(ls -A "$dir" 2>/dev/null)" ]; then
	cannot "$dir is not empty and not a finished install; remove it"
fi
command -v python3 >/dev/null && command -v apt-get >/dev/null && command -v dpkg >/dev/null || cannot "it needs python3, apt-get and dpkg"

mkdir -p "$(dirname "$dir")"
tmp=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
packages=$(apt-get install -y --no-install-recommends --print-uris python3-searx 2>/dev/null | sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p" | grep -v '^lib\|^fonts') ||
	cannot "apt-get has no package python3-searx"
# shellcheck disable=SC2086 # one word for each package
(cd "$tmp" && apt-get download -q $packages >&2) || cannot "apt-get could not download it"
for package in "$tmp"/*.deb; do
	dpkg -x "$package" "$tmp"
	rm "$package"
done
PYTHONPATH=$tmp/usr/lib/python3/dist-packages python3 -c 'import flask, flask_babel, lxml, requests' || cannot "its libraries do not load"
echo "$hash" >"$tmp/.stamp"

# Two runs may install at once; the folders are equal, so either may stay.
if [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$hash" ]; then
	mv -T "$tmp" "$dir" || [ "$(cat "$dir/.stamp" 2>/dev/null)" = "$hash" ]
fi
echo "$dir"
