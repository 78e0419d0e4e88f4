#!/usr/bin/env bash
# Builds a snapshot of a release from a clone of this commit and checks what a user would install:
# .goreleaser.yaml and server.json by their schemas, archives, packages of Debian and RPM, npm
# packages, MCPB bundles, images, and the way from nothing to an answered call. What needs a tool
# or a network that is not there is skipped with a message.
# usage: run.sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -z "${GORELEASER:-}" ]; then
	bin=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-toolset-ci/goreleaser-2.16.0
	GORELEASER=$bin/goreleaser
	if [ ! -x "$GORELEASER" ] && ! GOBIN=$bin go install github.com/goreleaser/goreleaser/v2@v2.16.0; then # takes minutes
		echo "skip  releases: goreleaser cannot be built"
		exit 0
	fi
fi
export GORELEASER

git clone -q "$here/../.." "$work/clone"
cd "$work/clone"
. release/project.env
git remote set-url origin "https://github.com/$OWNER/$REPOSITORY.git"

release/goreleaser check --quiet
# check accepts unknown values; the schema does not.
go build -o "$work/release" ./release
release/goreleaser jsonschema --output "$work/schema.json"
"$work/release" validate "$work/schema.json" .goreleaser.yaml
echo "ok    .goreleaser.yaml"

# Signing needs the identity of the workflow, and dockers_v2 needs Docker.
release/goreleaser release --snapshot --clean --skip=sign,docker ${RELEASE_PARALLEL:+-p "$RELEASE_PARALLEL"} >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for system in linux darwin windows; do
	for arch in amd64 arm64; do
		archive=$(echo dist/mcp-toolset_*_"${system}_$arch".*[pz])
		if [ "$system" = windows ]; then unzip -l "$archive"; else tar -tzf "$archive"; fi >"$work/list"
		for file in README.md LICENSE LICENSES.txt completions/mcp-toolset.zsh man/mcp-toolset-call.1; do
			grep -qE "(^| )$file\$" "$work/list" || { echo "$archive lacks $file"; exit 1; }
		done
		[ -s "$(echo dist/*_"${system}_$arch".cdx.json)" ]
	done
done
[ -s dist/homebrew/Casks/mcp-toolset.rb ] && [ -s dist/scoop/mcp-toolset.json ] && [ -n "$(find dist/winget -name '*.installer.yaml')" ]
(cd dist && sha256sum --quiet --check checksums.txt)
echo "ok    archives, with completions, man pages, licenses and lists of components"

case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64) arch=arm64 ;;
esac
commit=$(git rev-parse HEAD)
binary=$(echo dist/mcp-toolset_linux_"${arch}"_v*/mcp-toolset)
"$binary" version --json >"$work/version.json"
grep -q "\"commit\": \"$commit\"" "$work/version.json" && grep -q '"date": "20' "$work/version.json" || { cat "$work/version.json"; exit 1; }
echo "ok    version, commit and date"

# A root of its own keeps the packages of this machine as they are.
if command -v dpkg >/dev/null; then
	mkdir -p "$work/deb/var/lib/dpkg/info" "$work/deb/var/lib/dpkg/updates"
	touch "$work/deb/var/lib/dpkg/status"
	dpkg --root="$work/deb" --force-not-root --log=/dev/null -i dist/mcp-toolset_*_linux_"$arch".deb >/dev/null
	"$work/deb/usr/bin/mcp-toolset" version >/dev/null
	[ -e "$work/deb/usr/share/man/man1/mcp-toolset-call.1" ]
	dpkg --root="$work/deb" --force-not-root --log=/dev/null --purge mcp-toolset >/dev/null
	[ -z "$(find "$work/deb/usr" "$work/deb/etc" -name '*mcp-toolset*' 2>/dev/null)" ]
	echo "ok    the deb is installed and removed"
else
	echo "skip  deb: there is no dpkg"
fi
if command -v rpm >/dev/null; then
	# Debian's rpm warns that it is not the one to use here.
	rpm() { command rpm --root "$work/rpm" "$@" 2>"$work/rpm.log" || { cat "$work/rpm.log"; exit 1; }; }
	rpm --initdb
	rpm -i --nodeps dist/mcp-toolset_*_linux_"$arch".rpm
	"$work/rpm/usr/bin/mcp-toolset" version >/dev/null
	rpm -e mcp-toolset
	[ -z "$(find "$work/rpm/usr" -name '*mcp-toolset*' -type f)" ]
	echo "ok    the rpm is installed and removed"
else
	echo "skip  rpm: there is no rpm"
fi

command -v npm >/dev/null || { echo "skip  npm and MCPB: there is no npm"; exit 0; }
release/pack dist
node=$(node -p 'process.platform + "-" + process.arch')
(cd "$work" && unzip -q -d bundle "$work/clone"/dist/packages/mcpb/*-"$node".mcpb)
mkdir "$work/app"
echo 'the first line' >"$work/app/a.txt"
# The command is what the library of the bundles makes of the manifest, as Claude Desktop does.
mapfile -t command < <(cd "$(.ci/npm-install release/mcpb mcpb)" && node --input-type=module -e '
	import { readFileSync } from "node:fs";
	import { getMcpConfigForManifest } from "@anthropic-ai/mcpb";
	const [extensionPath, app] = process.argv.slice(1);
	const manifest = JSON.parse(readFileSync(`${extensionPath}/manifest.json`, "utf8"));
	const c = await getMcpConfigForManifest({ manifest, extensionPath, systemDirs: {}, userConfig: { folders: [app] }, pathSeparator: "/" });
	console.log([c.command, ...c.args].join("\n"));' "$work/bundle" "$work/app")
"$here/session.sh" "$work/app" "${command[@]}"
echo "ok    a call of the unpacked bundle"
"$here/newcomer.sh" dist
"$here/container.sh" dist
