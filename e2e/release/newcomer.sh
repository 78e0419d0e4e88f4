#!/usr/bin/env bash
# A newcomer's minute: from an empty home folder to an answered call of a tool, with npx, with an
# npm install, and with the archive. Each is timed. DIST is the output of goreleaser and
# release/pack. The downloads come from this machine.
# usage: newcomer.sh DIST
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dist=$(realpath "$1")
work=$(mktemp -d)
registry_pid=
trap '[ -z "$registry_pid" ] || kill "$registry_pid"; rm -rf "$work"' EXIT

began() { start=$(date +%s%N); }
answered() { # WHAT
	local ms=$((($(date +%s%N) - start) / 1000000))
	echo "ok    $1: $ms ms"
	[ "$ms" -lt 60000 ] || { echo "over a minute"; exit 1; }
}

# fresh sets a home folder with nothing in it, and a project.
fresh() {
	home=$work/$1
	mkdir -p "$home/app"
	echo 'the first line' >"$home/app/a.txt"
	clean=(env -i "HOME=$home" "PATH=$PATH" LANG=C.UTF-8)
}

case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64) arch=arm64 ;;
esac

fresh archive
began
mkdir -p "$home/.local/bin"
tar -xzf "$(echo "$dist"/mcp-toolset_*_linux_"$arch".tar.gz)" -C "$home/.local/bin" mcp-toolset
"${clean[@]}" "$home/.local/bin/mcp-toolset" install cursor "$home/app" >"$work/install.txt"
# The command and arguments are those that the client reads in its file.
mapfile -t command < <("${clean[@]}" node -e '
	const s = JSON.parse(require("fs").readFileSync(process.argv[1])).mcpServers.toolset;
	console.log([s.command, ...s.args].join("\n"))' "$home/.cursor/mcp.json")
"${clean[@]}" "$here/session.sh" "$home/app" "${command[@]}"
answered "the archive, install and a call as Cursor starts it"

mkfifo "$work/url"
node "$here/registry.mjs" "$dist/packages/npm" >"$work/url" &
registry_pid=$!
read -r registry <"$work/url"

fresh npx
began
"${clean[@]}" "NPM_CONFIG_REGISTRY=$registry" "$here/session.sh" "$home/app" npx --yes mcp-toolset stdio "$home/app"
answered "npx and a call"

fresh npm
began
(cd "$home" && "${clean[@]}" "NPM_CONFIG_REGISTRY=$registry" npm install --ignore-scripts --silent mcp-toolset)
[ "$(find "$home/node_modules/" -maxdepth 2 -name 'mcp-toolset-*' | wc -l)" = 1 ] || { echo "npm installed other platforms too"; exit 1; }
"${clean[@]}" "$here/session.sh" "$home/app" "$home/node_modules/.bin/mcp-toolset" stdio "$home/app"
answered "npm install --ignore-scripts and a call"

fresh tarballs
(cd "$home" && "${clean[@]}" npm install --ignore-scripts --silent --offline "$dist"/packages/npm/mcp-toolset-[0-9]*.tgz "$dist"/packages/npm/*-mcp-toolset-linux-"$(node -p process.arch)"-*.tgz)
"${clean[@]}" "$here/session.sh" "$home/app" "$home/node_modules/.bin/mcp-toolset" stdio "$home/app"
echo "ok    npm install of the files, without a registry"

# The exit code and the missing package.
code=0
"${clean[@]}" "$home/node_modules/.bin/mcp-toolset" call Read '{"file_path":"/missing"}' >/dev/null 2>&1 || code=$?
[ "$code" = 1 ] || { echo "the launcher ends with $code, not 1"; exit 1; }
rm -r "$home"/node_modules/@*
code=0
said=$("${clean[@]}" "$home/node_modules/.bin/mcp-toolset" version 2>&1) || code=$?
[ "$code" = 1 ] && [[ $said == *'is not installed'* ]] || { echo "without its package, the launcher ends with $code: $said"; exit 1; }
echo "ok    the launcher passes on the exit code and names a missing package"
