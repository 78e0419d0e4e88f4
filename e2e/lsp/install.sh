#!/usr/bin/env bash
# Installs the pinned language servers outside of this repository, once, and prints where:
# bin/gopls, and the others in node_modules/.bin.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$("$here/../../.ci/npm-install" "$here" lsp)
[ -x "$dir/bin/gopls" ] || GOFLAGS='' GOBIN="$dir/bin" go install golang.org/x/tools/gopls@v0.23.0 >&2
echo "$dir"
