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

# the tests of Kubernetes that `check` has a few of: a hundred builds with cancels and kills, every fault in every phase
soak:
    tests/cluster/up
    ATELIER_SOAK=100 ATELIER_FAULTS=all tests/cluster/enter cargo test --test kubernetes -- --test-threads 1 soak faults pauses
    tests/cluster/down

# the book, served and rebuilt as it changes
book:
    mdbook serve book --open

# accept what the golden tests now print
bless:
    INSTA_UPDATE=always cargo test --workspace
