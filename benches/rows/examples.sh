# Three ratios over peers that do the same work, with the project of examples/node.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

example=examples/node/prebuild.kdl

# shellcheck disable=SC2016 # the inner shell expands
example_by_hand() {
    setpriv --reuid 1000 --regid 1000 --clear-groups env -i \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        HOME="$dir/example" LANG=C.UTF-8 TZ=UTC CI=true \
        bash -euo pipefail -c '
            git clone -q --depth 1 "file://$1" "$HOME/src"
            cd "$HOME/src/examples/node"
            npm ci --ignore-scripts
            npm run build' by_hand "$dir/this.git"
}

rows_examples() {
    peers
    rm -rf "$dir/this.git" "$dir/example/src"
    git clone -q --bare . "$dir/this.git"
    install -d -o 1000 -g 1000 "$dir/example"
    chown -R 1000:1000 "$dir/this.git"
    say "examples/node: with buildah, with atelier, by hand"
    quietly buildah_build example "$dir/context"
    quietly "$atelier" build "$example" --store "$store"
    quietly example_by_hand
    for ((i = 1; i <= bakes; i++)); do
        settle
        timed example-bake "$atelier" build "$example" --store "$store" --force default
        rm -rf "$dir/example/src"
        settle
        timed_here example-by-hand example_by_hand
        timed_here example-flush sync -f "$dir/example"
    done
    wait_for_trash
    for ((i = 1; i <= runs; i++)); do
        timed example-no-op "$atelier" build "$example" --store "$store"
        timed_here example-buildah buildah_build example "$dir/context"
        timed example-start "$atelier" up "$example" --store "$store" -- true
        timed example-podman podman run --rm --network none localhost/atelier-bench-example true
    done
    heading "examples/node, ms"
    local hand flush
    hand=$(median example-by-hand) flush=$(median example-flush)
    row "bake / by hand" "" "$(awk -v h="$hand" -v f="$flush" 'BEGIN { printf "%.0f", h * 1.05 + f }')" "by hand" "$hand" "$(median example-bake)"
    row "no-op build / buildah build" "" "" "buildah build" "$(median example-buildah)" "$(median example-no-op)"
    row "up -- true / podman run" "" "" "podman run" "$(median example-podman)" "$(median example-start)"
}
