#!/usr/bin/env bash
# Makes a Wine prefix that runs Windows builds of Go programs, outside the
# repository, and prints its path. Missing packages are installed with apt.
# Exits with 3 and a reason on a machine that does not support one.
# usage: install.sh [FOLDER]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
hash=$(cat "$here"/bcryptprimitives.c "$here"/install.sh | sha256sum | cut -c1-16)
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/mcp-toolset-ci/wine-$hash}

cannot() { echo "no Wine: $*" >&2; exit 3; }

[ "$(uname -sm)" = "Linux x86_64" ] || cannot "it is tried on Linux x86_64 only"
if ! command -v wine >/dev/null || ! command -v x86_64-w64-mingw32-gcc >/dev/null; then
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
		cannot "install wine and gcc-mingw-w64-x86-64-win32"
	{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends \
		wine wine64 gcc-mingw-w64-x86-64-win32; } >&2 || cannot "apt-get could not install it"
fi

# The stamp is written last, so an interrupted install never counts as complete.
if [ "$(cat "$dir/.stamp" 2>/dev/null)" = "$hash" ]; then
	echo "$dir"
	exit 0
fi
if [ -n "$(ls -A "$dir" 2>/dev/null)" ]; then
	cannot "$dir is not empty and not a finished install; remove it"
fi

mkdir -p "$(dirname "$dir")"
tmp=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export WINEPREFIX=$tmp WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
timeout 180 wine wineboot -i >/dev/null 2>&1 </dev/null || cannot "wineboot failed"
x86_64-w64-mingw32-gcc -shared -O2 -o "$tmp/drive_c/windows/system32/bcryptprimitives.dll" \
	"$here/bcryptprimitives.c" -ladvapi32 >&2
wineserver=$(command -v wineserver || command -v /usr/lib/wine/wineserver || command -v /usr/lib/wine/wineserver64 || true)
[ -z "$wineserver" ] || timeout 60 "$wineserver" -w || true
echo "$hash" >"$tmp/.stamp"

# Two runs may install at once; the prefixes are equal, so either may stay.
if [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$hash" ]; then
	mv -T "$tmp" "$dir" || [ "$(cat "$dir/.stamp" 2>/dev/null)" = "$hash" ]
fi
echo "$dir"
