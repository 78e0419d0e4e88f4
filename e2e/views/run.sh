#!/usr/bin/env bash
# Shows the views of a binary in Chromium. Skipped without Chromium.
# usage: run.sh BINARY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [ -z "$CHROMIUM" ]; then
	echo "skipped: there is no Chromium"
	exit 0
fi
VIEWS_DIR=${VIEWS_DIR:-$("$here/../../.ci/npm-install" "$here" views)}
export CHROMIUM VIEWS_DIR
exec node "$here/views.mjs" "$1"
