# Each recipe is a script that also runs without just.

_list:
    @"{{just_executable()}}" --list

# everything CI checks
check:
    ./check

# cargo test
test *ARGS:
    cargo test --workspace {{ARGS}}

# bake examples/node and run its tests in a sandbox
try:
    ./try

# half an hour of arbitrary bytes: evaluate, format or key
fuzz TARGET *OPTIONS:
    fuzz/run {{TARGET}} {{OPTIONS}}

# three ratios: the bake by hand, buildah's no-op, podman's start
bench:
    benches/run

# the book, served and rebuilt as it changes
book:
    mdbook serve book --open

# accept what the golden tests now print
bless:
    INSTA_UPDATE=always cargo test --workspace
