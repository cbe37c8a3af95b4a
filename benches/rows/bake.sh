# A bake of 80,000 entries: beside its steps by hand, its flush, its publishing, and what ten near copies cost.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

# What the last bake of a node took from the start of its flush until it could be published, by its record.
gated() {
    node -e 'const fs = require("fs"), [, folder, node] = process.argv;
        for (const name of fs.readdirSync(folder)) {
            const { snapshot } = JSON.parse(fs.readFileSync(folder + "/" + name));
            if (snapshot.node === node) console.log(snapshot.durations.publish * 1000);
        }' "$store/s" "$1"
}

# How long it takes from then until the record is there, and flushed too. A bake under strace, which slows all the rest.
published() {
    quietly strace -f --seccomp-bpf -qqq -ttt -T -y -e trace=fsync -e signal=none -o "$dir/trace" \
        "$atelier" build "$project/prebuild.kdl" --store "$store" --force web web
    awk -v store="<$store/" 'index($0, store) {
            if (!from) from = $2
            took = $NF
            gsub(/[<>]/, "", took)
            to = $2 + took
        }
        END { print (to - from) * 1000 }' "$dir/trace"
}

megabytes() { awk '{ s += $1 } END { printf "%.1f", s / 1024 }'; }

near_copies() {
    local number before after names=()
    for number in $(seq 10); do names+=("near-$number"); done
    # What earlier bakes have replaced is no part of this.
    quietly "$atelier" up "$project/prebuild.kdl" --store "$store" web -- true
    wait_for_trash
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
        add gate "$(gated web)"
        wait_for_trash
        rm -rf "$dir/hand/web"
        settle
        timed_here by-hand by_hand
        timed_here limit-flush sync -f "$dir/hand"
    done
    say "a bake whose publishing is watched"
    add publish "$(published)"
    wait_for_trash
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
    row "its flush and manifest; limit: one syncfs" "$flush" "$(awk -v f="$flush" 'BEGIN { printf "%.0f", f * 1.1 }')" "" "" "$(median gate)"
    row "publishing after that" "$(median limit-publish)" 20 "podman commit" "$(median podman-commit)" "$(median publish)"
    heading "ten snapshots that differ a little, MB"
    row "limit: overlays by hand; peer: ten copies" "$(median limit-near)" 30 copies "$(median naive-near)" "$(median near)"
}
