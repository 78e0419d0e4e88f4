#!/usr/bin/env bash
# Downloads HTML documentation from Debian and prints its folder, which has a folder
# per package. Exits with 3 and a reason on a machine that cannot download it.
set -euo pipefail
# Of the 32,000 pages of rust-doc, only those of the standard library are unpacked.
# shellcheck disable=SC2016 # the command is expanded for each package
"$(dirname "${BASH_SOURCE[0]}")/../../.ci/deb-unpack" docs '
	mkdir "$package"
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$package" --wildcards "$([ "$package" = rust-doc ] && echo "*/html/std/*.html" || echo "*.html")"
' python3.11-doc nodejs-doc postgresql-doc-15 sqlite3-doc git-doc cppreference-doc-en-html rust-doc
