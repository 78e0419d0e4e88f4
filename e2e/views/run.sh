#!/usr/bin/env bash
# Shows the views of a binary in Chromium, in the test host or in the MCP Inspector. Skipped without
# Chromium.
# usage: run.sh BINARY [inspector]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [ -z "$CHROMIUM" ]; then
	echo "skipped: there is no Chromium"
	exit 0
fi
VIEWS_DIR=${VIEWS_DIR:-$("$here/../../.ci/npm-install" "$here" views)}
export CHROMIUM VIEWS_DIR
if [ "${2:-}" = inspector ]; then
	CLIENTS_DIR=${CLIENTS_DIR:-$("$here/../clients/install.sh")}
	export CLIENTS_DIR
	exec node "$here/inspector.mjs" "$1"
fi
exec node "$here/views.mjs" "$1"
