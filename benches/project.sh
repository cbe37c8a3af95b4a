# Sourced: the workspace that most rows are about: a web project of 74,000 files in node_modules, and 400 sources.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

project=$dir/project

make_project() {
    [ -d "$project/.git" ] && return
    say "the project"
    mkdir -p "$project/src"
    cp benches/node-project/package*.json "$project"
    local number
    for number in $(seq 400); do
        seq "$number" $((number + 200)) | sed 's/^/export const line = /' >"$project/src/$number.js"
    done
    cat >"$project/prebuild.kdl" <<'EOF'
prebuild web {
    from dev-base
    repo "." path=web
    cache npm path=".npm"
    run "npm ci --ignore-scripts --prefer-offline --no-audit --no-fund" in=web
}
EOF
    # Ten snapshots that differ a little: five sources each, and a commit.
    for number in $(seq 10); do
        cat >>"$project/prebuild.kdl" <<EOF
prebuild near-$number {
    from prebuild=web
    run "for n in 1 2 3 4 5; do echo '// edit $number' >> src/\$((n * 7 + $number)).js; done; git -c user.name=a -c user.email=a@example.org commit -qam edit" in=web
}
EOF
    done
    printf 'node_modules\n' >"$project/.gitignore"
    git -C "$project" init -q
    git -C "$project" add .
    git -C "$project" -c user.name=bench -c user.email=bench@example.org commit -qm project
    # By hand it is cloned from there, as uid 1000: git refuses to read another user's repository.
    rm -rf "$dir/origin.git" "$dir/hand"
    git clone -q --bare "$project" "$dir/origin.git"
    chown -R 1000:1000 "$dir/origin.git"
}

# What a bake of `web` does, by hand: as uid 1000, with a cache and an environment like a bake's.
# shellcheck disable=SC2016 # the inner shell expands
by_hand() {
    setpriv --reuid 1000 --regid 1000 --clear-groups env -i \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        HOME="$dir/hand" LANG=C.UTF-8 TZ=UTC CI=true \
        bash -euo pipefail -c '
            git clone -q --depth 1 "file://$1" "$HOME/web"
            cd "$HOME/web"
            npm ci --ignore-scripts --prefer-offline --no-audit --no-fund' by_hand "$dir/origin.git"
}

prepare_hand() {
    make_project
    install -d -o 1000 -g 1000 "$dir/hand"
    if ! [ -d "$dir/hand/.npm" ]; then
        say "the steps by hand, which fills npm's cache"
        quietly by_hand
    fi
    rm -rf "$dir/hand/web"
}

bake_web() { "$atelier" build "$project/prebuild.kdl" --store "$store" web "$@"; }

prepare_web() {
    make_project
    [ -d "$store/caches/npm" ] || say "a bake, which fills npm's cache"
    quietly bake_web
}

# What was replaced is deleted in the background: that is no part of what comes next.
wait_for_trash() {
    while [ -n "$(ls -A "$store/trash" 2>/dev/null)" ]; do
        quietly bake_web
        sleep 0.2
    done
}
