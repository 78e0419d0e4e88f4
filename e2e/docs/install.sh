#!/usr/bin/env bash
# Downloads HTML documentation from Debian, outside the repository, and prints its
# folder, which has a folder per package. Nothing is installed. Exits with 3 and a
# reason on a machine that cannot download it.
# usage: install.sh [FOLDER]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
hash=$(sha256sum <"$here/install.sh" | cut -c1-16)
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/mcp-toolset-ci/docs-$hash}
packages="python3.11-doc nodejs-doc postgresql-doc-15 sqlite3-doc git-doc cppreference-doc-en-html rust-doc"

cannot() { echo "no documentation: $*" >&2; exit 3; }

# The stamp is written last, so an interrupted download never counts as complete.
if [ "$(cat "$dir/.stamp" 2>/dev/null)" = "$hash" ]; then
	echo "$dir"
	exit 0
fi
if [ -n "$(ls -A "$dir" 2>/dev/null)" ]; then
	cannot "$dir is not empty and not a finished download; remove it"
fi
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || cannot "it needs apt-get and dpkg-deb"

mkdir -p "$(dirname "$dir")"
tmp=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
if ! (cd "$tmp" && apt-get download -q $packages >&2); then
	[ "$(id -u)" = 0 ] && apt-get update -q >&2 || cannot "apt-get does not know the packages"
	(cd "$tmp" && apt-get download -q $packages >&2) || cannot "apt-get could not download them"
fi
for deb in "$tmp"/*.deb; do
	package=$(basename "${deb%%_*}")
	pages='*.html'
	[ "$package" = rust-doc ] && pages='*/html/std/*.html' # of 32,000
	mkdir "$tmp/$package"
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$tmp/$package" --wildcards "$pages"
	rm "$deb"
done
echo "$hash" >"$tmp/.stamp"

# Two runs may download at once; the folders are equal, so either may stay.
if [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$hash" ]; then
	mv -T "$tmp" "$dir" || [ "$(cat "$dir/.stamp" 2>/dev/null)" = "$hash" ]
fi
echo "$dir"
