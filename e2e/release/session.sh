#!/usr/bin/env bash
# Reads a.txt of FOLDER through an MCP server over stdio. If the answer lacks the line of that file,
# it prints the answer and fails. SESSION_LOG gets the standard error of the server.
# usage: session.sh FOLDER COMMAND...
set -euo pipefail
folder=$1
shift
answer=$(
	{
		printf '%s\n' \
			'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"release-check","version":"1"}}}' \
			'{"jsonrpc":"2.0","method":"notifications/initialized"}' \
			"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"Read\",\"arguments\":{\"file_path\":\"$folder/a.txt\"}}}"
	} | timeout 120 "$@" 2>"${SESSION_LOG:-/dev/null}" | grep '"id":2'
) || true
[[ $answer == *'the first line'* ]] || { echo "no answer with the line: $answer"; exit 1; }
