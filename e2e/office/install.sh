#!/usr/bin/env bash
# Makes office files with libraries of npm and with LibreOffice, and beside each its text
# as LibreOffice exports it, in a folder outside of this repository, once. Prints the folder.
# It also installs pdftotext. Exits with 3 and a reason on a machine without LibreOffice and pdftotext that cannot
# install them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
hash=$(cat "$here"/* | sha256sum | cut -c1-16)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-toolset-ci/office-$hash
if [ -f "$dir/.stamp" ]; then
	echo "$dir"
	exit 0
fi
if ! command -v soffice >/dev/null || ! command -v pdftotext >/dev/null; then
	[ "$(id -u)" = 0 ] || { echo "no office files: soffice or pdftotext is missing" >&2; exit 3; }
	apt-get update -q >&2
	DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends libreoffice-writer libreoffice-calc libreoffice-impress poppler-utils >&2
fi
modules=$("$here/../../.ci/npm-install" "$here" office)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp "$here/make.mjs" "$modules/make.mjs"
files=$tmp/files
node "$modules/make.mjs" "$files" >&2

office() { # FORMAT FILE...
	local format=$1
	shift
	soffice "-env:UserInstallation=file://$tmp/profile" --headless --convert-to "$format" --outdir "$files" "$@" >/dev/null 2>&1
}
cd "$files"
office docx --infilter="HTML (StarWriter)" lo-text-*.html
office odt --infilter="HTML (StarWriter)" lo-text-*.html
office xlsx --infilter="CSV:44,34,76" lo-sheet-*.csv
office ods --infilter="CSV:44,34,76" lo-sheet-*.csv
rm ./*.html ./*.csv
office odp npm-pptx-*.pptx

# The texts. LibreOffice exports no text of slides, so they go through PDF. A workbook
# becomes a file for each sheet.
mkdir text
expected() { # EXTENSION FORMAT
	local one=$tmp/$1
	soffice "-env:UserInstallation=file://$tmp/profile" --headless --convert-to "$2" --outdir "$one" ./*."$1" >/dev/null 2>&1
	for f in *."$1"; do
		if [ "$2" = pdf ]; then
			pdftotext "$one/${f%.*}.pdf" "text/$f.txt"
		else
			cat "$one/${f%.*}"[.-]* >"text/$f.txt"
		fi
	done
}
for e in docx odt; do expected $e "txt:Text (encoded):UTF8"; done
for e in xlsx ods; do expected $e 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true,false,false,-1'; done
for e in pptx odp; do expected $e pdf; done
mkdir -p "$(dirname "$dir")"
rm -rf "$dir"
cp -r "$files" "$dir"
touch "$dir/.stamp"
echo "$dir"
