# A bake of 80,000 entries: beside its steps by hand, its flush, its publishing, and what ten near copies cost.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

# durations NODE: seconds of the last bake's publishing, from its record.
published() {
    "$atelier" snapshots --json --store "$store" |
        node -e 'const { snapshots } = JSON.parse(require("fs").readFileSync(0));
            const one = snapshots.filter(s => s.node === process.argv[1]).pop();
            console.log(one.durations.publish * 1000)' "$1"
}

# The flush as the kernel saw it, and how long after it the record was there and flushed too.
flush_and_publish() {
    strace -f --seccomp-bpf -qqq -ttt -T -y -e trace=syncfs,fsync -o "$dir/trace" \
        "$atelier" build "$project/prebuild.kdl" --store "$store" --force web web >>"$log" 2>&1 </dev/null
    awk -v flush="$dir/samples/flush" -v publish="$dir/samples/publish" '
        / syncfs\(/ && !/resumed/ { from = $2 }
        /syncfs/ && /= 0 </ { took = $NF; gsub(/[<>]/, "", took); done = from + took; print took * 1000 >>flush }
        /fsync/ && /\/s>/ { last = $2 }
        / fsync\(/ && /\/s>/ && /= 0 </ { took = $NF; gsub(/[<>]/, "", took); last = $2 + took }
        END { if (last > done) print (last - done) * 1000 >>publish }' "$dir/trace"
}

megabytes() { awk '{ s += $1 } END { printf "%.1f", s / 1024 }'; }

near_copies() {
    local number before after names=()
    for number in $(seq 10); do names+=("near-$number"); done
    before=$(du -sk "$store/l" | cut -f1)
    quietly "$atelier" build "$project/prebuild.kdl" --store "$store" "${names[@]}"
    after=$(du -sk "$store/l" | cut -f1)
    add near "$(echo "$((after - before))" | megabytes)"
    # The same edits with nothing but overlays: what changed files and folders take.
    local hand=$dir/near lower=$dir/hand
    rm -rf "$hand" && mkdir "$hand"
    for number in $(seq 10); do
        mkdir "$hand/upper-$number" "$hand/work-$number" "$hand/merged"
        mount -t overlay -o "userxattr,volatile,lowerdir=$lower,upperdir=$hand/upper-$number,workdir=$hand/work-$number" overlay "$hand/merged"
        chown 1000:1000 "$hand/upper-$number"
        setpriv --reuid 1000 --regid 1000 --clear-groups env -i PATH="$PATH" HOME="$dir/hand" sh -euc "cd '$hand/merged/web'
            for n in 1 2 3 4 5; do echo '// edit $number' >> src/\$((n * 7 + $number)).js; done
            git -c user.name=a -c user.email=a@example.org commit -qam edit" >>"$log" 2>&1
        umount "$hand/merged" && rmdir "$hand/merged"
    done
    sync -f "$hand"
    add limit-near "$(du -sck "$hand"/upper-* | tail -1 | megabytes)"
    add naive-near "$(du -sk "$dir/hand/web" | awk '{ print $1 * 10 }' | megabytes)"
    rm -rf "$hand"
}

rows_bake() {
    need strace
    prepare_hand
    prepare_web
    peers
    volumes+=(--volume "$dir/hand/.npm:/home/dev/.npm:rw")
    wait_for_trash
    for ((i = 1; i <= bakes; i++)); do
        say "bake $i of $bakes"
        settle
        timed bake "$atelier" build "$project/prebuild.kdl" --store "$store" --force web web
        add bake-publish "$(published web)"
        wait_for_trash
        rm -rf "$dir/hand/web"
        settle
        timed_here by-hand by_hand
        timed_here limit-flush sync -f "$dir/hand"
        settle
        flush_and_publish
        wait_for_trash
    done
    for ((i = 1; i <= ${peer_bakes:-1}; i++)); do
        say "buildah bakes, $i"
        settle
        timed_here buildah-bake buildah_build web "$project" --no-cache
    done
    local container
    container=$(podman create --network none localhost/atelier-bench-web true)
    say "podman commits"
    timed podman-commit podman commit -q "$container" localhost/atelier-bench-commit
    quietly podman rm --force "$container"
    quietly podman rmi localhost/atelier-bench-commit
    rm -rf "$dir/publishing" && mkdir "$dir/publishing"
    quietly "$bin/publish" "$dir/samples/limit-publish" "$runs" "$dir/publishing"
    near_copies
    heading "a bake of 80,000 entries, ms"
    local limit flush
    limit=$(median by-hand) flush=$(median limit-flush)
    row "npm ci: the whole bake; limit: by hand" "$limit" \
        "$(awk -v h="$limit" -v f="$flush" 'BEGIN { printf "%.0f", h * 1.03 + f }')" buildah "$(median buildah-bake)" "$(median bake)"
    row "its flush; limit: one syncfs" "$flush" "$(awk -v f="$flush" 'BEGIN { printf "%.0f", f * 1.1 }')" "" "" "$(median flush)"
    row "publishing after the flush" "$(median limit-publish)" 20 "podman commit" "$(median podman-commit)" "$(median publish)"
    row "flush, manifest and record, as it says itself" "$flush" "" "" "" "$(median bake-publish)"
    heading "ten snapshots that differ a little, MB"
    row "limit: overlays by hand; peer: ten copies" "$(median limit-near)" 30 copies "$(median naive-near)" "$(median near)"
}
