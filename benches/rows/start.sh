# Starting: from the command to the first instruction in a sandbox, and the whole of `up -- true`.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

start_project() {
    mkdir -p "$dir/start"
    cp "$bin/stamp" "$dir/start/stamp"
    printf 'from dev-base\nfile stamp from=stamp mode="0755"\n' >"$dir/start/prebuild.kdl"
    chmod -R a+rX "$dir/start"
}

# limits_of NAME TIMES COMMAND…: the launch program, run by that command, in folders that the user of it owns.
limits_of() {
    local name=$1 owner=$2 mode=$3
    shift 3
    rm -rf "$dir/launch" && install -d -o "$owner" "$dir/launch" "$dir/launch/work"
    quietly "$@" "$bin/launch" "$dir/launch/samples" "$dir/launch/work" "$runs" "$dir/rootfs" ${mode:+"$mode"} || return 0
    for half in ready total; do cat "$dir/launch/samples.$half" >>"$dir/samples/limit-$name-$half"; done
    rm -rf "$dir/launch"
}

as_bencher() { setpriv --reuid atelier-bench --regid atelier-bench --init-groups env HOME="$dir/bencher" "$@"; }

# As a user who exists for this only: with a range of subordinate ids, or with none.
rows_start_as() {
    local name=$1 goal=$2 range=$3
    userdel atelier-bench 2>/dev/null || :
    sed -i '/^atelier-bench:/d' /etc/subuid /etc/subgid 2>/dev/null || :
    useradd --no-create-home --shell /bin/sh atelier-bench
    sed -i '/^atelier-bench:/d' /etc/subuid /etc/subgid 2>/dev/null || :
    [ "$range" = "" ] || echo "atelier-bench:$range" | tee -a /etc/subuid /etc/subgid >/dev/null
    rm -rf "$dir/bencher" && install -d -o atelier-bench "$dir/bencher" "$dir/bencher/store"
    cp "$atelier" "$dir/start/atelier"
    local up=("$dir/start/atelier" up "$dir/start/prebuild.kdl" --store "$dir/bencher/store/s" -- true)
    limits_of "$name" atelier-bench user as_bencher
    if quietly as_bencher "${up[@]}"; then
        for ((i = 0; i < runs; i++)); do
            as_bencher "$bin/repeat" "$dir/bencher/samples" "${up[@]}" >>"$log" 2>&1
            quietly as_bencher "$bin/repeat" "$dir/bencher/bwrap" bwrap --unshare-all --ro-bind "$dir/rootfs" / \
                --proc /proc --dev /dev --tmpfs /tmp --die-with-parent true || :
        done
        for half in samples bwrap; do cat "$dir/bencher/$half" >>"$dir/samples/$name-$half" 2>/dev/null || :; done
    fi
    row "up -- true, as a $name" "$(median "limit-$name-total")" "$goal" bwrap "$(median "$name-bwrap")" "$(median "$name-samples")"
    userdel atelier-bench
    sed -i '/^atelier-bench:/d' /etc/subuid /etc/subgid 2>/dev/null || :
    rm -rf "$dir/bencher"
}

rows_start() {
    need bwrap=bubblewrap crun
    peers
    start_project
    bundle
    local up=("$atelier" up "$dir/start/prebuild.kdl" --store "$store" --)
    local bwrap=(bwrap --unshare-all --bind "$dir/rootfs" / --proc /proc --dev /dev --tmpfs /tmp --die-with-parent true)
    quietly "${up[@]}" true
    limits_of root root ""
    for ((i = 0; i < runs; i++)); do
        "$bin/repeat" -s "$dir/samples/exec" "${up[@]}" ./stamp >>"$log" 2>&1
        timed up "${up[@]}" true
        timed bwrap "${bwrap[@]}" || :
        quietly in_one_version "$bin/repeat" "$dir/samples/crun" crun run --bundle "$dir/bundle" "atelier-bench-$i" || :
        timed podman-run podman run --rm --network none localhost/atelier-bench-base true
    done
    heading "start, ms"
    row "from the command to the first instruction" "$(median limit-root-ready)" 4 "" "" "$(median exec)"
    row "up -- true, as root" "$(median limit-root-total)" 8 bwrap "$(median bwrap)" "$(median up)"
    row "" "$(median limit-root-total)" 8 crun "$(median crun)" "$(median up)"
    row "" "$(median limit-root-total)" 8 "podman run" "$(median podman-run)" "$(median up)"
    rows_start_as "user with one id" 10 ""
    rows_start_as "user with a range" 15 "$((0x70000000)):65536"
}
