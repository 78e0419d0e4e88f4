#!/usr/bin/env bash
# Signs in with the TypeScript client at a real identity provider and uses the server.
# usage: run.sh BINARY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CLIENTS_DIR=${CLIENTS_DIR:-$("$here/install.sh")} exec node --no-warnings "$here/flow.mjs" "$(realpath "$1")"
