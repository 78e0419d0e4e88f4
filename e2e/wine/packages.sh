#!/usr/bin/env bash
# Builds the tests of packages for Windows and runs them in Wine, those whose names
# match REGEXP. Fails if a test fails that is not in known.txt, or if one of those
# passes. A test that fails only because Wine cannot remove its folder has passed.
# With "update", known.txt is corrected instead: its lines for the packages that
# pass go, and new ones are added at its end, below no reason.
# usage: WINE_PREFIX=... packages.sh [update] PACKAGE[:REGEXP]...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
known=e2e/wine/known.txt
update=
if [ "${1:-}" = update ]; then
	update=1
	shift
fi
export WINEPREFIX=$WINE_PREFIX WINEDEBUG=-all
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT

# failed prints the top-level tests that failed for another reason than the
# folder, one a line, from the output of -test.v.
failed() {
	awk -v pkg="$1" '
		function ends(line) { sub(/^--- FAIL: /, "", line); sub(/[ \/].*/, "", line); return line }
		/^=== (RUN|CONT|NAME) / { name = $3; sub(/\/.*/, "", name); next }
		/TempDir RemoveAll cleanup/ { next }
		/^ *--- (PASS|SKIP|FAIL)/ || /^=== PAUSE/ { if ($0 ~ /^--- FAIL: /) { t = ends($0); down[t] = 1; if (!(t in words)) words[t] = 0 } next }
		/^panic: / || /^fatal error: / { down["panic"] = 1; words["panic"] = 1 }
		/^    / { words[name]++ }
		END { for (t in down) if (words[t] > 0) print pkg " " t }' | sort
}

names=()
for arg in "$@"; do
	pkg=${arg%%:*} run=
	[ "$pkg" = "$arg" ] || run=${arg#*:}
	names+=("$pkg")
	exe=$bin/$(tr / _ <<<"$pkg").exe
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go test -c -o "$exe" "./$pkg"
	log=$bin/log
	(cd "$pkg" && timeout 300 wine "$exe" -test.v -test.short -test.timeout 280s -test.run "$run" >"$log" 2>&1 </dev/null) || true
	if ! grep -qE '^(PASS|FAIL)' <(tr -d '\r' <"$log"); then
		tail -n 20 "$log"
		echo "$pkg: the tests came to no end"
	fi
	echo "$pkg: $(tr -d '\r' <"$log" | grep -cE '^--- (PASS|FAIL)') tests ran"
	tr -d '\r' <"$log" | failed "$pkg" >>"$bin/failed"
done
sort -u -o "$bin/failed" "$bin/failed"
for pkg in "${names[@]}"; do grep "^$pkg " "$known" || true; done | sort -u >"$bin/known"
if [ -n "$update" ]; then
	comm -23 "$bin/known" "$bin/failed" >"$bin/gone"
	{ grep -vxFf "$bin/gone" "$known" || true; comm -13 "$bin/known" "$bin/failed"; } >"$bin/new"
	cp "$bin/new" "$known"
	exit
fi
if ! diff "$bin/known" "$bin/failed"; then
	echo "lines with > fail in Wine and did not before, those with < pass now: see $known"
	exit 1
fi
