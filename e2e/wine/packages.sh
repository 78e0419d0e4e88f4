#!/usr/bin/env bash
# Builds the tests of packages for Windows and runs them in Wine, those whose names
# match REGEXP. Fails if a test fails that is not in known.txt, or if a test in known.txt
# passes. With "update" it corrects known.txt instead: it removes the packages' tests that
# pass, and appends new failures without a reason.
# usage: WINE_PREFIX=... packages.sh [update] PACKAGE[:REGEXP]...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
known=e2e/wine/known.txt
update=
if [ "${1:-}" = update ]; then
	update=1
	shift
fi
export WINEPREFIX=$WINE_PREFIX WINEDEBUG=-all LC_ALL=C.UTF-8
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT

# Wine 8 returns "not implemented" (0xC0000002) for the call with which Go removes files.
# Go must then fall back to the older call, as it does on old versions of Windows.
overlay=$WINE_PREFIX/overlay
mkdir -p "$overlay"
source=$(go env GOROOT)/src/internal/syscall/windows/at_windows.go
sed 's/^\tcase STATUS_INVALID_INFO_CLASS,/& NTStatus(0xC0000002),/' "$source" >"$overlay/at_windows.go"
if cmp -s "$source" "$overlay/at_windows.go"; then
	echo "$source is not as it was: see the overlay in e2e/wine/packages.sh" >&2
	exit 1
fi
printf '{"Replace": {"%s": "%s"}}\n' "$source" "$overlay/at_windows.go" >"$overlay/overlay.json"

# failed prints the top-level tests that failed, one a line, from the output of -test.v.
failed() {
	awk -v pkg="$1" '
		/^--- FAIL: / { sub(/^--- FAIL: /, ""); sub(/[ \/].*/, ""); print pkg " " $0 }
		/^panic: / || /^fatal error: / { print pkg " panic" }' | sort -u
}

names=()
for arg in "$@"; do
	pkg=${arg%%:*} run=
	[ "$pkg" = "$arg" ] || run=${arg#*:}
	names+=("$pkg")
	exe=$bin/$(tr / _ <<<"$pkg").exe
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go test -c -overlay "$overlay/overlay.json" -o "$exe" "./$pkg"
	log=$bin/log
	(cd "$pkg" && timeout 300 wine "$exe" -test.v -test.short -test.timeout 280s -test.run "$run" >"$log" 2>&1 </dev/null) || true
	tr -d '\r' <"$log" >"$log.txt"
	ran=$(grep -cE '^--- (PASS|FAIL)' "$log.txt" || true)
	echo "$pkg: $ran tests ran"
	if [ "$ran" = 0 ] || ! grep -qE '^(PASS|FAIL)$' "$log.txt"; then
		tail -n 20 "$log.txt"
		echo "$pkg unfinished" >>"$bin/failed"
	fi
	failed "$pkg" <"$log.txt" >>"$bin/failed"
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
