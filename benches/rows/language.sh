# The language alone: generated graphs, ten targets wide, each starting from one of the layer before; beside Nix and ninja,
# which are given the same nodes, edges, commands and variables. CPU time, not the time that passes.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

# graph NODES: as $dir/graph/NODES.kdl, .nix and .ninja.
graph() {
    awk -v nodes="$1" -v file="$dir/graph/$1" 'BEGIN {
        kdl = file ".kdl"; nix = file ".nix"; ninja = file ".ninja"
        print "let" >nix
        print "  make = name: parent: run: env: derivation ({ inherit name; system = \"x86_64-linux\"; builder = \"/bin/sh\";" >nix
        print "    args = [ \"-c\" run ]; } // env // (if parent == null then { } else { inherit parent; }));" >nix
        print "rule run\n  command = $env $run" >ninja
        for (i = 0; i < nodes; i++) {
            layer = int(i / 10); column = i % 10
            from = layer == 0 ? -1 : (layer - 1) * 10 + (column * 7 + layer) % 10
            run = "make -C part-" i " install PREFIX=/home/dev/part-" i
            printf "prebuild n%d {\n    from %s\n    env LAYER=%d COLUMN=%d\n    run \"%s\"\n}\n", i,
                from < 0 ? "host" : "prebuild=n" from, layer, column, run >kdl
            printf "  n%d = make \"n%d\" %s \"%s\" { LAYER = \"%d\"; COLUMN = \"%d\"; };\n", i, i,
                from < 0 ? "null" : "n" from, run, layer, column >nix
            printf "build n%d: run %s\n  run = %s\n  env = LAYER=%d COLUMN=%d\n", i, from < 0 ? "" : "n" from, run, layer, column >ninja
            all = all " n" i
        }
        print "in map (node: node.drvPath) [" all " ]" >nix
        print "build all: phony" all "\ndefault all" >ninja
    }'
}

# cpu NAME COMMAND…: one sample of the milliseconds that a program has kept processors busy.
cpu() {
    local name=$1 TIMEFORMAT='%U %S' took
    shift
    took=$( { time "$@" >>"$log" 2>&1 </dev/null; } 2>&1)
    add "$name" "$(awk '{ print ($1 + $2) * 1000 }' <<<"$took")"
}

# Of the samples of a profile, the share of the thread that only parses.
parsing() {
    quietly perf record -q -F 2000 -o "$dir/perf" "$atelier" lint --limits large "$dir/graph/$1.kdl"
    perf report -i "$dir/perf" --sort comm --stdio 2>>"$log" | awk '$2 == "kdl" { print $1 }'
}

rows_language() {
    local nodes
    need nix-instantiate=nix-bin ninja=ninja-build perf=linux-perf
    mkdir -p "$dir/graph"
    for nodes in 100 1000 10000; do
        graph "$nodes"
        for ((i = 1; i <= runs; i++)); do
            cpu "lint-$nodes" "$atelier" lint --limits large "$dir/graph/$nodes.kdl"
            cpu "nix-$nodes" nix-instantiate --eval --strict --readonly-mode "$dir/graph/$nodes.nix"
            cpu "ninja-$nodes" ninja -C "$dir/graph" -f "$nodes.ninja" -n
        done
    done
    heading "a generated graph, evaluated; CPU ms"
    for nodes in 100 1000 10000; do
        row "$nodes targets; goal: half of nix-instantiate; limit: ninja -n" "$(median "ninja-$nodes")" \
            "$(awk -v n="$(median "nix-$nodes")" 'BEGIN { printf "%.1f", n / 2 }')" nix-instantiate "$(median "nix-$nodes")" "$(median "lint-$nodes")"
    done
    row "10,000 over 1,000, times" "" 12 "nix-instantiate" \
        "$(awk -v a="$(median nix-10000)" -v b="$(median nix-1000)" 'BEGIN { print a / b }')" \
        "$(awk -v a="$(median lint-10000)" -v b="$(median lint-1000)" 'BEGIN { print a / b }')"
    note "of the 10,000, the KDL parser takes $(parsing 10000)"
}
