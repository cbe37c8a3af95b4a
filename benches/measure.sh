# Sourced: samples, medians and rows. A sample is a line of milliseconds in a file below $dir/samples.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

say() { echo "· $*" >&2; }

# quietly COMMAND…: what it prints goes to the log.
quietly() { "$@" >>"$log" 2>&1 </dev/null; }

# timed NAME COMMAND…: one sample of a program, from before it is started until it has ended.
timed() {
    local name=$1
    shift
    "$bin/repeat" "$dir/samples/$name" "$@" >>"$log" 2>&1 </dev/null
}

# timed_here NAME FUNCTION…: the same for what is no program; the shell's own share is a fraction of a millisecond.
timed_here() {
    local name=$1 from to
    shift
    from=$EPOCHREALTIME
    quietly "$@"
    to=$EPOCHREALTIME
    add "$name" "$(awk -v from="$from" -v to="$to" 'BEGIN { printf "%.2f", (to - from) * 1000 }')"
}

add() { echo "$2" >>"$dir/samples/$1"; }

# median NAME: of its samples; nothing if there are none.
median() {
    [ -s "$dir/samples/$1" ] || return 0
    sort -n "$dir/samples/$1" |
        awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

# Nothing of what was done before is left for the disk to do.
settle() { sync -f "$dir"; }

heading() {
    printf '\n%-46s %9s %9s  %-24s %9s %7s %7s\n' "$1" limit goal peer ours /limit /peer
}

# row TITLE LIMIT GOAL PEER_NAME PEER OURS: numbers may be missing. A goal is a number, or a word that says it.
row() {
    awk -v title="$1" -v limit="$2" -v goal="$3" -v name="$4" -v peer="$5" -v ours="$6" '
        function number(value) { return value == "" ? "-" : sprintf(value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value) }
        function ratio(of) { return of == "" || ours == "" || of + 0 == 0 ? "-" : sprintf("%.2f", ours / of) }
        BEGIN {
            late = goal + 0 > 0 && ours != "" && ours + 0 > goal + 0 ? " *" : ""
            beside = name == "" ? "-" : name " " number(peer)
            printf "%-46s %9s %9s  %-24s %9s %7s %7s%s\n", title, number(limit), goal, beside, number(ours), ratio(limit), ratio(peer), late
        }'
}

note() { printf '    %s\n' "$*"; }
