#!/usr/bin/env bash
# Installs the pinned packages outside the repository and prints the folder.
# usage: install.sh [FOLDER]
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec "$here/../../.ci/npm-install" "$here" oauth "$@"
