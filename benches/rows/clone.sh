# A snapshot's layers under a fresh one: the mount alone, by the depth of the chain.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

# chain DEPTH: a file with one long chain.
chain() {
    local number parent=dev-base
    for number in $(seq "$1"); do
        printf 'prebuild n%s { from %s; run "echo %s > f%s"; }\n' "$number" "$parent" "$number" "$number"
        parent="prebuild=n$number"
    done
}

# Ours: what the kernel takes for the mount of the workspace, and the whole of `up -- true` at that depth.
mount_of() {
    strace -f --seccomp-bpf -qqq -T -s 9999 -e trace=mount -o "$dir/trace" \
        "$atelier" up "$dir/chain/$1.kdl" --store "$store" "n$1" -- true
    awk -F'<' '/"overlay"/ && /lowerdir=l\// { sub(/>.*/, "", $NF); print $NF * 1000 }' "$dir/trace"
}

rows_clone() {
    need strace
    peers
    local depth goal
    mkdir -p "$dir/chain" "$dir/layers"
    for depth in $(seq 0 499); do mkdir -p "$dir/layers/$depth"; done
    say "a chain of 500 snapshots"
    for depth in 1 64 500; do
        chain "$depth" >"$dir/chain/$depth.kdl"
        quietly "$atelier" build "$dir/chain/$depth.kdl" --store "$store" "n$depth" || :
    done
    buildah_build example "$dir/context" >/dev/null 2>&1 || :
    heading "clone: the mount alone, ms"
    for depth in 1 64 500; do
        goal=$(case $depth in 1) echo 0.5 ;; 64) echo 1 ;; *) echo 5 ;; esac)
        rm -rf "$dir/work" && mkdir "$dir/work"
        quietly "$bin/overlay_depth" "$dir/samples/limit-mount-$depth" "$runs" "$depth" "$dir/layers" "$dir/work" || :
        for ((i = 0; i < runs; i++)); do
            mount_of "$depth" 2>>"$log" >>"$dir/samples/mount-$depth" || :
            [ "$depth" != 1 ] || timed podman-create podman create --network none localhost/atelier-bench-base true
        done
        row "depth $depth" "$(median "limit-mount-$depth")" "$goal" "podman create" "$(median podman-create)" "$(median "mount-$depth")"
    done
    quietly podman rm --all --force
    for depth in 1 64 500; do
        for ((i = 0; i < runs; i++)); do
            timed "up-$depth" "$atelier" up "$dir/chain/$depth.kdl" --store "$store" "n$depth" -- true || :
        done
        row "all of up -- true, depth $depth" "" "" "" "" "$(median "up-$depth")"
    done
    note "ours is told by strace, which adds to each call; a chain deeper than 64 is flattened"
}
