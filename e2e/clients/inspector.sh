#!/usr/bin/env bash
# Drives the built binary with the inspector's command line, over both
# transports and both protocol eras.
# usage: inspector.sh BINARY
set -euo pipefail
binary=$(realpath "${1:?usage: inspector.sh BINARY}")
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

root=$work/root
mkdir "$root"
printf 'first line\nsecond line\n' >"$root/a.txt"
printf 'inspector-%s\n' "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" >"$work/token"
chmod 600 "$work/token"
mkdir -p "$HOME/.claude/skills/greet/scripts"
printf -- '---\nname: greet\ndescription: Greets someone.\nmetadata:\n  version: 1.10\n---\nGreet.\n' >"$HOME/.claude/skills/greet/SKILL.md"
echo 'echo hello' >"$HOME/.claude/skills/greet/scripts/greet.sh"

inspect() { # TARGET-AND-OPTIONS...
	bounded 300 "$clients/node_modules/.bin/mcp-inspector" --cli "$@" >"$work/out" 2>"$work/err"
}

# step NAME EXIT-CODE TEXT COMMAND... : TEXT must be in the output, including
# stderr, where the inspector reports its own errors.
step() {
	local name=$1 want=$2 text=$3 code=0
	shift 3
	"$@" || code=$?
	if [ "$code" != "$want" ]; then
		echo "exit code $code, not $want" >>"$work/err"
		fail "$name" "$work/out" "$work/err"
	elif ! cat "$work/out" "$work/err" | grep -F -e "$text" >/dev/null; then
		echo "output lacks: $text" >>"$work/err"
		fail "$name" "$work/out" "$work/err"
	else
		pass "$name"
	fi
}

# strict TARGET... : fails on warnings about schemas too, which the inspector
# accepts. It is not quiet, because it explains its findings on stderr.
strict() {
	inspect "$@" --method tools/list --strict --format json || return
	! grep -q '"schemaFindings"' "$work/out"
}

checks() { # NAME TARGET...
	local name=$1 era
	shift
	for era in legacy modern; do
		step "$name $era tools/list --strict" 0 '"Read"' strict "$@" --protocol-era "$era"
		# The tab of a numbered line is \t in JSON.
		step "$name $era Read" 0 '1\tfirst line' \
			inspect "$@" --protocol-era "$era" --method tools/call --tool-name Read \
			--tool-args-json "{\"file_path\":\"$root/a.txt\"}" --format json -q
		# 5 is the inspector's code for a result with isError.
		step "$name $era Read of a missing file" 5 "missing.txt" \
			inspect "$@" --protocol-era "$era" --method tools/call --tool-name Read \
			--tool-args-json "{\"file_path\":\"$root/missing.txt\"}" --format json -q
		step "$name $era prompts/list" 0 '"name":"greet"' \
			inspect "$@" --protocol-era "$era" --method prompts/list --format json -q
		step "$name $era prompts/get" 0 'Greet.' \
			inspect "$@" --protocol-era "$era" --method prompts/get --prompt-name greet --format json -q
		step "$name $era skills/list --verify" 0 'Verified 1 skill and 2 files: no conformance errors' \
			inspect "$@" --protocol-era "$era" --method skills/list --verify --format json
		step "$name $era skills/get --verify" 0 'Verified 1 skill and 2 files: no conformance errors' \
			inspect "$@" --protocol-era "$era" --method skills/get --uri skill://greet/SKILL.md --verify --format json
	done
}

checks stdio "$binary" stdio "$root"

serve "$binary" http --addr 127.0.0.1:0 --token-file "$work/token" "$root"
checks http "$url" --transport http --header "Authorization: Bearer $(cat "$work/token")"

# 3 is the inspector's code for a server that asks it to log in.
for era in legacy modern; do
	step "http $era without a token is refused" 3 auth_required \
		inspect "$url" --transport http --stored-auth-only --protocol-era "$era" \
		--method tools/list --format json -q
done

# The suite of the skills extension, which the fixture of conformance.sh does not serve.
conform() { # SCENARIO
	bounded 300 node "$clients/node_modules/conformance-modern/dist/index.js" server --url "$url" --scenario "$1" >"$work/out" 2>"$work/err"
}
serve "$binary" http --no-auth --addr 127.0.0.1:0 "$root"
for scenario in sep-2640-skills-enumeration sep-2640-skills-manifest; do
	step "$scenario" 0 ' 0 failed, 0 warnings' conform "$scenario"
done

[ "$failed" = 0 ]
