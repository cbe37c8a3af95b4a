# A cluster as the backend, on the one of tests/cluster: beside the bare objects by hand.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by run

# in_cluster COMMAND…: within the cluster's namespaces.
in_cluster() { tests/cluster/enter "$@"; }

# What all objects by hand have in common: as `restricted` wants it, in dev-base.
by_hand() {
    local name=$1 claim=$2 command=$3
    cat <<Y
apiVersion: v1
kind: Pod
metadata: {name: $name, namespace: atelier}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  securityContext: {runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true, fsGroup: 1000, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: main
      image: $dev_base
      command: [sh, -c, "$command"]
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
      volumeMounts: [{name: v, mountPath: /home/dev}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: $claim}}]
Y
}

claim() {
    printf 'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: %s, namespace: atelier}\nspec:\n' "$1"
    printf '  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n'
    [ -z "${2:-}" ] || printf '  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: %s}\n' "$2"
}

# A claim, a pod that writes a file, a snapshot that is ready.
bake_by_hand() {
    { claim hand && echo --- && by_hand hand hand "echo x > f"; } | in_cluster kubectl apply -f -
    in_cluster kubectl -n atelier wait --for=jsonpath='{.status.phase}'=Succeeded pod/hand --timeout=60s
    printf 'apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: hand, namespace: atelier}\nspec: {source: {persistentVolumeClaimName: hand}}\n' |
        in_cluster kubectl apply -f -
    in_cluster kubectl -n atelier wait --for=jsonpath='{.status.readyToUse}'=true volumesnapshot/hand --timeout=60s
}

# A claim from the snapshot, a pod, a command in it.
boot_by_hand() {
    { claim again hand && echo --- && by_hand again again "sleep 600"; } | in_cluster kubectl apply -f -
    in_cluster kubectl -n atelier wait --for=condition=Ready pod/again --timeout=60s
    in_cluster kubectl -n atelier exec again -- true
}

forget_by_hand() {
    in_cluster kubectl -n atelier delete --ignore-not-found --now pod/hand pod/again
    in_cluster kubectl -n atelier delete --ignore-not-found pvc/hand pvc/again
}

# How many requests the API server has answered.
requests() {
    in_cluster kubectl get --raw /metrics | awk '/^apiserver_request_total/ && !/(watch|WATCH)/ { s += $NF } END { print s }'
}

rows_kubernetes() {
    say "the cluster"
    # A release, as people run it.
    RUSTFLAGS="-C target-feature=+crt-static" quietly cargo build --release --locked --bin atelier-runner \
        --target "$(rustc -vV | sed -n 's/^host: //p')"
    ATELIER_RUNNER=${CARGO_TARGET_DIR:-$PWD/target}/$(rustc -vV | sed -n 's/^host: //p')/release/atelier-runner
    export ATELIER_RUNNER
    quietly tests/cluster/down
    quietly tests/cluster/up
    local run=${ATELIER_CLUSTER:-${XDG_CACHE_HOME:-$HOME/.cache}/atelier-test-cluster}/run i file=$dir/cluster.kdl own
    dev_base=$(grep -o '^127.0.0.1:5000/dev-base@.*' "$run/log/images")
    own="$run/config/atelier/config.kdl"
    for ((i = 0; i <= bakes; i++)); do
        say "bake $i of $bakes"
        quietly in_cluster kubectl -n atelier delete --ignore-not-found volumesnapshot/hand
        timed_here k-hand bake_by_hand
        timed_here k-restore boot_by_hand
        quietly forget_by_hand
        printf 'prebuild one { from dev-base; run "echo %s > f"; }\n' "$i-$RANDOM" >"$file"
        sed -i '/verify/d' "$own" && sed -i 's/^}/    verify #false\n}/' "$own"
        timed_here k-bake in_cluster "$atelier" build "$file" --store "$store-k" --backend kubernetes
        sed -i '/verify/d' "$own"
        timed_here k-verified in_cluster "$atelier" build "$file" --store "$store-k" --backend kubernetes --force one
        timed_here k-boot in_cluster "$atelier" up "$file" --store "$store-k" --backend kubernetes -- true
        timed_here k-no-op in_cluster "$atelier" build "$file" --store "$store-k" --backend kubernetes
    done
    # The first one has pulled the images.
    for i in "$dir"/samples/k-*; do sed -i 1d "$i"; done
    local before after quiet
    before=$(requests) && sleep 2 && after=$(requests) && quiet=$((after - before))
    before=$(requests)
    quietly in_cluster "$atelier" build "$file" --store "$store-k" --backend kubernetes
    sleep 1
    after=$(requests)
    quietly tests/cluster/down
    heading "a cluster, ms"
    local hand restore
    hand=$(median k-hand) restore=$(median k-restore)
    row "bake of nothing; limit: claim, pod, snapshot" "$hand" "$(awk -v h="$hand" 'BEGIN { print h + 1500 }')" "" "" "$(median k-bake)"
    row "the same, verified on a clone" "$hand" "$(awk -v h="$hand" 'BEGIN { print h + 3000 }')" "" "" "$(median k-verified)"
    row "boot to the first command; limit: by hand" "$restore" "$(awk -v h="$restore" 'BEGIN { print h * 1.2 }')" "" "" "$(median k-boot)"
    row "no-op build; limit: a bake" "$(median k-bake)" "$(awk -v b="$(median k-bake)" 'BEGIN { print b / 10 }')" "" "" "$(median k-no-op)"
    note "API requests of a no-op build: about $((after - before)), of which the cluster's own in that time about $quiet (goal: 10)"
}
