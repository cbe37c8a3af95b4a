# What comes over the network to find the files of a large repository that `only` names: counted by a real web server.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

only=$dir/only

# 500 MB in 20,000 files that cannot be made smaller, in 400 folders, each with a manifest; and one lockfile.
make_large() {
    [ -d "$only/srv/large.git" ] && return
    say "a repository of 500 MB"
    local number folder
    rm -rf "$only"
    mkdir -p "$only/large" "$only/srv"
    for number in $(seq 400); do
        folder=$only/large/packages/p$number
        mkdir -p "$folder/src"
        printf '{ "name": "p%s", "dependencies": { "left-pad": "^1.%s.0" } }\n' "$number" "$number" >"$folder/package.json"
        head -c 1250000 /dev/urandom | (cd "$folder/src" && split -a 2 -b 25000 - asset-)
    done
    seq 20000 | sed 's/.*/"left-pad@&": "sha512-&"/' >"$only/large/package-lock.json"
    git -C "$only/large" init -q -b main
    git -C "$only/large" add .
    git -C "$only/large" -c user.name=bench -c user.email=bench@example.org commit -qm large
    git clone -q --bare "$only/large" "$only/srv/large.git"
    git -C "$only/srv/large.git" repack -adq
    git -C "$only/srv/large.git" config uploadpack.allowFilter true
    git -C "$only/srv/large.git" config uploadpack.allowAnySHA1InWant true
    rm -rf "$only/large"
}

# serve_large: starts apache on a free port, and sets `url` and `server`.
serve_large() {
    local port module
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    url=http://127.0.0.1:$port/large
    {
        for module in mpm_prefork authz_core alias env cgi; do
            echo "LoadModule ${module}_module /usr/lib/apache2/modules/mod_$module.so"
        done
        cat <<END
User www-data
Group www-data
ServerRoot "$only"
ServerName 127.0.0.1
DefaultRuntimeDir "$only"
PidFile "$only/pid"
ErrorLog "$only/error.log"
CustomLog "$only/access.log" "%O"
Mutex posixsem
Listen 127.0.0.1:$port
SetEnv GIT_PROJECT_ROOT "$only/srv"
SetEnv GIT_HTTP_EXPORT_ALL 1
SetEnv GIT_CONFIG_COUNT 1
SetEnv GIT_CONFIG_KEY_0 safe.directory
SetEnv GIT_CONFIG_VALUE_0 *
ScriptAlias / "$(git --exec-path)/git-http-backend/"
<Directory "/">
    Require all granted
</Directory>
END
    } >"$only/apache.conf"
    # It ends with its whole group.
    setsid setpriv --pdeathsig TERM apache2 -D FOREGROUND -f "$only/apache.conf" >>"$log" 2>&1 &
    server=$!
    until git ls-remote "$url" >/dev/null 2>&1; do
        kill -0 "$server"
        sleep 0.1
    done
}

# sent NAME COMMAND…: what the server sends meanwhile, with its headers, in kB.
sent() {
    local name=$1
    shift
    : >"$only/access.log"
    quietly "$@"
    # A request is noted when it has ended, which may be a moment later.
    sleep 0.2
    add "$name" "$(awk '{ sum += $1 } END { printf "%.1f", sum / 1000 }' "$only/access.log")"
}

plan_large() { "$atelier" plan "$only/prebuild.kdl" --store "$only/store"; }

rows_only() {
    need apache2 python3
    make_large
    local url server
    serve_large
    cat >"$only/prebuild.kdl" <<END
from dev-base
repo "$url" {
    only package-lock.json "**/package.json"
    run "true"
}
END
    rm -rf "$only/store" "$only/least" "$only/clone"
    sent only-first plan_large
    sent only-second plan_large
    sent only-bake "$atelier" build "$only/prebuild.kdl" --store "$only/store"
    sent only-least git clone -q --bare --depth 1 --filter=blob:none "$url" "$only/least"
    sent only-clone git clone -q --depth 1 "$url" "$only/clone"
    kill "$server"
    wait "$server" || :
    rm -rf "$only/least" "$only/clone"
    heading "only, of a repository of 500 MB: kB that its server sends"
    row "the first plan; limit: the trees" "$(median only-least)" 5000 "git clone --depth 1" "$(median only-clone)" "$(median only-first)"
    row "a plan after that" "" "" "" "" "$(median only-second)"
    row "its bake: the files themselves" "" "" "" "" "$(median only-bake)"
}
