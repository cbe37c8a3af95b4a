# The end of a sandbox with 500 processes.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

# shellcheck disable=SC2016 # the inner shell expands
crowd='for n in $(seq 500); do setsid sleep 4000 & done; echo ready; wait'

# felled NAME COMMAND…: starts it, waits for its crowd, and kills it.
felled() {
    local name=$1 pid
    shift
    : >"$dir/crowd"
    "$@" >"$dir/crowd" 2>>"$log" </dev/null &
    pid=$!
    until grep -q ready "$dir/crowd"; do sleep 0.02; done
    sleep 0.3
    quietly "$bin/fell" "$dir/samples/$name" "$pid" 500
    wait "$pid" || :
}

rows_kill() {
    start_project
    for ((i = 0; i < runs; i++)); do
        # The shell tells of each that it was killed.
        {
            felled limit-kill unshare --pid --fork --kill-child --mount-proc sh -c "$crowd"
            felled kill "$atelier" up "$dir/start/prebuild.kdl" --store "$store" -- sh -c "$crowd"
        } 2>>"$log"
    done
    heading "kill -9 with 500 processes inside, ms"
    row "until nothing is left; limit: unshare" "$(median limit-kill)" 100 "" "" "$(median kill)"
}
