# Sourced by the scripts: what they need of the machine, and the program they run.
# shellcheck shell=bash

# Where Debian keeps some of it is not in everybody's PATH.
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:/usr/sbin:/sbin

# need PROGRAM[=PACKAGE]…: installs what is missing, or says what to install.
need() {
    local want missing=()
    for want in "$@"; do
        command -v "${want%%=*}" >/dev/null || missing+=("${want#*=}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "please install: ${missing[*]}" >&2
        return 1
    fi
    echo "installing ${missing[*]}" >&2
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >&2
}

need_rust() {
    command -v cargo >/dev/null && return
    echo "please install Rust, 1.95 or newer, with rustfmt and clippy: https://rustup.rs" >&2
    return 1
}

need_go() {
    PATH=$PATH:/usr/local/go/bin
    command -v go >/dev/null && return
    echo "please install Go, 1.26 or newer: https://go.dev/dl" >&2
    return 1
}

# For the reference of the key encoding, and to parse YAML: a Python of its own, outside the tree.
need_python() {
    local home=${XDG_CACHE_HOME:-$HOME/.cache}/atelier/python
    if "$home/bin/python3" -c 'import blake3, yaml' 2>/dev/null; then return; fi
    python3 -c 'import ensurepip' 2>/dev/null || need python3-venv
    python3 -m venv --clear "$home"
    "$home/bin/pip" install --quiet blake3 pyyaml
}

# build_atelier: compiles the program and sets `atelier` to its path.
build_atelier() {
    need git cc=build-essential
    need_rust
    cargo build --release --locked
    # shellcheck disable=SC2034 # for the caller
    atelier=${CARGO_TARGET_DIR:-$PWD/target}/release/atelier
}
