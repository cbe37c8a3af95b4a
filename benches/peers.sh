# Sourced: the peers, on a Debian of their own, without a registry. Each is prepared when it is first needed.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

export CONTAINERS_STORAGE_CONF=$dir/storage.conf CONTAINERS_CONF=$dir/containers.conf

configure_containers() {
    cat >"$CONTAINERS_STORAGE_CONF" <<EOF
[storage]
driver = "overlay"
graphroot = "$dir/images"
runroot = "$dir/containers"
EOF
    # runc and explicit limits, so that it also runs without CAP_SYS_RESOURCE and on hybrid control groups.
    cat >"$CONTAINERS_CONF" <<'EOF'
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
EOF
}

# A Debian as a folder, for what starts processes in one, and as an image.
peers() {
    need buildah podman runc mmdebstrap
    configure_containers
    local container suite
    if ! [ -d "$dir/rootfs/home/dev" ]; then
        say "a Debian for the peers"
        suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
        rm -rf "$dir/rootfs"
        quietly mmdebstrap --quiet --variant=minbase --include=ca-certificates,git,nodejs,npm "$suite" "$dir/rootfs"
        mkdir -p "$dir/rootfs/home/dev"
        chown 1000:1000 "$dir/rootfs/home/dev"
    fi
    if ! quietly buildah inspect --type image localhost/atelier-bench-base; then
        container=$(buildah from scratch)
        quietly buildah add -q "$container" "$dir/rootfs" /
        quietly buildah commit -q --rm "$container" localhost/atelier-bench-base
    fi
}

# The machine's CA bundle, in case it knows one that Debian does not, and npm's downloads.
volumes=() ca=/etc/ssl/certs/ca-certificates.crt
[ ! -f $ca ] || volumes=(--volume "$ca:$ca:ro" --env "NODE_EXTRA_CA_CERTS=$ca")

# buildah_build NAME CONTEXT FLAG…: the Dockerfile of that name.
buildah_build() {
    local name=$1 context=$2
    shift 2
    buildah build -q --layers --isolation chroot "${volumes[@]}" "$@" \
        --tag "localhost/atelier-bench-$name" --file "benches/$name.Dockerfile" "$context"
}

# nix-build with a store of its own, to be given a file.
# shellcheck disable=SC2034 # for the rows
nix_build=(env "NIX_STORE_DIR=$dir/nix/store" "NIX_STATE_DIR=$dir/nix/var" "NIX_LOG_DIR=$dir/nix/log"
    "NIX_CONF_DIR=$dir/nix/etc" "HOME=$dir/nix/home"
    nix-build --no-out-link --option sandbox false --option build-users-group "")

# crun refuses control groups of two versions: it gets a mount namespace without the second.
in_one_version() { unshare --mount sh -c 'umount /sys/fs/cgroup/unified 2>/dev/null; exec "$@"' sh "$@"; }

bundle() {
    [ -f "$dir/bundle/config.json" ] && return
    mkdir -p "$dir/bundle"
    (cd "$dir/bundle" && crun spec)
    sed -i -e 's/"terminal": true/"terminal": false/' -e 's/"sh"/"true"/' \
        -e "s|\"path\": \"rootfs\"|\"path\": \"$dir/rootfs\"|" -e '/"rlimits"/,/\]/d' "$dir/bundle/config.json"
}
