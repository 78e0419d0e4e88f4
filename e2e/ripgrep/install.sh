#!/usr/bin/env bash
# Installs the pinned ripgrep outside the repository and prints its path.
# usage: install.sh [FOLDER]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$("$here/../../.ci/npm-install" "$here" ripgrep "$@")
echo "$dir/node_modules/@vscode/ripgrep-linux-x64/bin/rg"
