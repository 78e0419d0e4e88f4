#!/usr/bin/env bash
# Builds the image with the file tools for two platforms from the output of goreleaser, and calls a
# tool of the one for this machine: under runc with a read-only root, without network, as user
# 65532. With BASE, an image of Debian that is here, it builds and drives the full image too.
# It needs root and buildah, umoci and runc; without them it is skipped with a message.
# usage: container.sh DIST
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dist=$(realpath "$1")
for program in buildah umoci runc; do
	command -v "$program" >/dev/null || { echo "skip  containers: there is no $program (apt-get install buildah umoci runc)"; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "skip  containers: they are built as root"; exit 0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A storage of its own, so that nothing of the machine's images is seen or left.
buildah() { command buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
for arch in amd64 arm64; do
	mkdir -p "$work/context/linux/$arch"
	cp "$dist"/mcp-toolset_linux_"$arch"_v*/mcp-toolset "$work/context/linux/$arch/"
done
case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64) arch=arm64 ;;
esac
mkdir "$work/app"
echo 'the first line' >"$work/app/a.txt"

# drive runs an image as a client would and calls a tool.
drive() { # IMAGE
	buildah push -q "$1" "oci:$work/oci:$1"
	umoci unpack --image "$work/oci:$1" "$work/$1" >/dev/null
	node -e '
		const fs = require("fs"), [file, app] = process.argv.slice(1), c = JSON.parse(fs.readFileSync(file));
		c.process.terminal = false;
		c.root.readonly = true;
		c.mounts = c.mounts.filter((m) => !["/etc/resolv.conf", "/sys", "/sys/fs/cgroup"].includes(m.destination));
		c.mounts.push({ destination: "/workspace", type: "bind", source: app, options: ["rbind", "rw"] });
		c.linux.namespaces = [...c.linux.namespaces.filter((n) => n.type !== "network"), { type: "network" }];
		fs.writeFileSync(file, JSON.stringify(c));
		if (c.process.user.uid !== 65532) throw new Error(`the user is ${c.process.user.uid}`);
	' "$work/$1/config.json" "$work/app"
	SESSION_LOG=$work/log "$here/session.sh" /workspace runc --root "$work/runc" run --bundle "$work/$1" "mcp-toolset-$$" || { cat "$work/log"; exit 1; }
	echo "ok    $1: a call in runc, read-only, without network, as user 65532"
}

for platform in amd64 arm64; do
	buildah bud -q --isolation chroot --platform "linux/$platform" -t "files-$platform" -f "$here/../../release/container/Containerfile" "$work/context" >/dev/null
	[ "$(buildah inspect --type image --format '{{.OCIv1.Architecture}}' "files-$platform")" = "$platform" ]
	echo "ok    files-$platform is built"
done
drive "files-$arch"

if [ -z "${BASE:-}" ]; then
	echo "skip  the full image: BASE names no image of Debian, such as oci-archive:FILE or docker://debian:trixie-slim"
	exit 0
fi
buildah pull -q "$BASE" >"$work/base"
buildah tag "$(cat "$work/base")" localhost/base
buildah bud -q --isolation chroot --pull-never --build-arg BASE=localhost/base --platform "linux/$arch" -t full -f "$here/../../release/container/Containerfile.debian" "$work/context" >/dev/null
drive full
