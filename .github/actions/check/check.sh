#!/usr/bin/env bash
# Asks atelier whether everything is cached, and puts the answer into the step's outputs. The inputs of the action are in
# CHECK_* variables: in the text of a script, they could be part of it.
set -euo pipefail

atelier=${CHECK_PROGRAM:-}
if [ -z "$atelier" ]; then
    # Nothing is published yet. The runner has the whole repository at the ref that `uses:` names.
    cargo install --quiet --locked --path "$GITHUB_ACTION_PATH/../../.." --root "$RUNNER_TEMP/atelier"
    atelier=$RUNNER_TEMP/atelier/bin/atelier
fi

words=()
if [ -n "${CHECK_FILE:-}" ]; then
    case $CHECK_FILE in
    */*) words+=("$CHECK_FILE") ;;
    *) words+=("./$CHECK_FILE") ;;
    esac
fi
read -ra targets <<<"${CHECK_TARGETS:-}"
read -ra options <<<"${CHECK_OPTIONS:-}"

status=0
"$atelier" check --format github "${options[@]}" -- "${words[@]}" "${targets[@]}" || status=$?
case $status in
0) cached=true ;;
10) cached=false ;;
*) exit "$status" ;;
esac
echo "cached=$cached" >>"$GITHUB_OUTPUT"
if [ "$cached" = false ] && [ "${CHECK_FAIL:-}" = true ]; then
    exit "$status"
fi
