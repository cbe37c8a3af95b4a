# A build with nothing to do.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

rows_no_op() {
    prepare_web
    peers
    need nix-build=nix-bin || :
    mkdir -p "$dir/nix/home"
    cat >"$dir/nix/default.nix" <<'EOF'
derivation { name = "one"; system = builtins.currentSystem; builder = "/bin/sh"; args = [ "-c" "echo 1 > $out" ]; }
EOF
    local nix=("${nix_build[@]}" "$dir/nix/default.nix")
    quietly "${nix[@]}" || :
    quietly buildah_build example "$dir/context"
    for ((i = 0; i < runs; i++)); do
        timed process true
        timed no-op "$atelier" build "$project/prebuild.kdl" --store "$store" web
        timed nix "${nix[@]}" || :
        timed_here buildah buildah_build example "$dir/context"
    done
    heading "a build with all there, ms"
    row "no-op build; limit: a process" "$(median process)" 5 nix-build "$(median nix)" "$(median no-op)"
    row "" "$(median process)" 5 "buildah build" "$(median buildah)" "$(median no-op)"
}
