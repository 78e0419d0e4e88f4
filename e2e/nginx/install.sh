#!/usr/bin/env bash
# Unpacks Debian's nginx and prints the path of the program. Exits with 3 and a reason
# on a machine that cannot download it.
set -euo pipefail
# shellcheck disable=SC2016 # the command is expanded for each package
echo "$("$(dirname "${BASH_SOURCE[0]}")/../../.ci/deb-unpack" nginx 'dpkg -x "$deb" .' nginx)/usr/sbin/nginx"
