#!/usr/bin/env bash
# Installs the pinned peer server outside the repository and prints the folder.
# usage: install.sh [FOLDER]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
hash=$(cat "$here/package.json" "$here/package-lock.json" | sha256sum | cut -c1-16)
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/mcp-toolset-ci/peer-$hash}

# The stamp is written last, so an interrupted install is never taken for one.
if [ "$(cat "$dir/.stamp" 2>/dev/null)" = "$hash" ]; then
	echo "$dir"
	exit 0
fi

# What is replaced below must be an earlier install, never somebody's files.
if [ -n "$(ls -A "$dir" 2>/dev/null)" ] && [ ! -f "$dir/.stamp" ]; then
	echo "install.sh: $dir is not empty and no install of mine" >&2
	exit 1
fi

mkdir -p "$(dirname "$dir")"
tmp=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$tmp/"

(cd "$tmp" && npm ci --no-audit --no-fund --loglevel=error >&2)
echo "$hash" >"$tmp/.stamp"

# Two runs may install at once; the folders are equal, so either may stay.
if [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$hash" ]; then
	rm -rf "$dir"
	mv -T "$tmp" "$dir" || [ "$(cat "$dir/.stamp" 2>/dev/null)" = "$hash" ]
fi
echo "$dir"
