# What it takes to know that there is nothing to do: inputs far away, and none at all.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

far=$dir/far

# Twenty repositories behind a server that waits half a second before each answer; reading refs takes two. Sets `port` and
# `server`.
serve_far() {
    need python3
    local number
    rm -rf "$far"
    mkdir -p "$far/served" "$far/work" "$far/one" "$far/twenty" "$far/chain"
    git -C "$far/work" init -q
    git -C "$far/work" -c user.name=bench -c user.email=bench@example.org commit -qm first --allow-empty
    for number in $(seq 20); do git clone -q --bare "$far/work" "$far/served/$number.git"; done
    python3 benches/slow_git.py "$far/served" 0.5 "$far/port" >>"$log" 2>&1 &
    server=$!
    until [ -f "$far/port" ]; do sleep 0.05; done
    port=$(cat "$far/port")
}

# file_of COUNT: a file that takes in so many of them.
file_of() {
    local number
    echo 'from dev-base'
    for number in $(seq "$1"); do echo "repo \"http://127.0.0.1:$port/$number.git\""; done
}

# multiple FACTOR NUMBER
multiple() { awk -v factor="$1" -v of="$2" 'BEGIN { printf "%.0f", factor * of }'; }

# Ten prebuilds, each from the one before; the first takes in a repository, for the lock to have something.
chain() {
    local number
    printf 'prebuild n1 {\n    from dev-base\n    repo "http://127.0.0.1:%s/1.git"\n    run "echo 1 > f1"\n}\n' "$port"
    for number in $(seq 2 10); do
        printf 'prebuild n%s {\n    from prebuild=n%s\n    run "echo %s > f%s"\n}\n' \
            "$number" $((number - 1)) "$number" "$number"
    done
}

# The same for nix: ten derivations, each with the one before in its environment.
# shellcheck disable=SC2016 # nix expands
derivations() {
    local number
    echo 'let d = n: below: derivation { name = "n${n}"; inherit below; system = builtins.currentSystem;'
    echo '    builder = "/bin/sh"; args = [ "-c" "echo ${n} > $out" ]; };'
    echo '  n0 = "";'
    for number in $(seq 10); do echo "  n$number = d \"$number\" n$((number - 1));"; done
    echo 'in n10'
}

rows_resolve() {
    local server port
    serve_far
    file_of 1 >"$far/one/prebuild.kdl"
    file_of 20 >"$far/twenty/prebuild.kdl"
    for ((i = 0; i < runs; i++)); do
        timed ls-remote git ls-remote "http://127.0.0.1:$port/1.git"
        timed resolve-one "$atelier" plan "$far/one/prebuild.kdl" --store "$store"
        timed resolve-twenty "$atelier" plan "$far/twenty/prebuild.kdl" --store "$store"
    done
    heading "inputs far away, two answers each after 500 ms, ms"
    row "plan of 20 repositories; limit: git ls-remote" "$(median ls-remote)" "$(multiple 2 "$(median ls-remote)")" "plan of 1" \
        "$(median resolve-one)" "$(median resolve-twenty)"
    note "one after the other they would take $(multiple 20 "$(median resolve-one)") ms"

    chain >"$far/chain/prebuild.kdl"
    quietly "$atelier" update "$far/chain/prebuild.kdl" --store "$store"
    quietly "$atelier" build "$far/chain/prebuild.kdl" --store "$store"
    # With a lock and all of it cached, nobody is asked.
    kill "$server"
    wait "$server" 2>/dev/null || :
    peers
    need nix-build=nix-bin || :
    quietly buildah_build ten "$far/chain"
    mkdir -p "$dir/nix/home"
    derivations >"$dir/nix/ten.nix"
    quietly "${nix_build[@]}" "$dir/nix/ten.nix" || :
    for ((i = 0; i < runs; i++)); do
        timed process true
        timed check-ten "$atelier" check --locked "$far/chain/prebuild.kdl" --store "$store"
        timed_here buildah-ten buildah_build ten "$far/chain"
        timed nix-ten "${nix_build[@]}" --dry-run "$dir/nix/ten.nix" || :
    done
    heading "ten nodes with a lock, all cached, ms"
    row "check --locked; limit: a process" "$(median process)" "" "nix-build --dry-run" "$(median nix-ten)" "$(median check-ten)"
    row "" "$(median process)" "" "buildah build" "$(median buildah-ten)" "$(median check-ten)"
}
