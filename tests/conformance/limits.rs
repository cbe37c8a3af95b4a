//! Steps that want more of the machine than they are given.

use std::fs;
use std::time::Duration;

use atelier::backend::{Backend, BakeError, BakeRequest, Cancel, Ending, StepEnding};
use rustix::process::geteuid;
use walkdir::WalkDir;

use crate::house::{
    Caller, House, OnDisk, assert_absent_and_bakeable, bake, boot, is_present, keep, publish, sh,
    wait_gone,
};
use crate::processes::{is_running, marker};
use crate::requests::request;

async fn ending_of(house: &OnDisk, request: &BakeRequest) -> StepEnding {
    match bake(house.backend(), request).await.unwrap_err() {
        BakeError::Step { ending, .. } => ending,
        error => panic!("{error}"),
    }
}

/// Who is not root has no control groups here; root has, or is told why not.
pub(crate) async fn what_is_not_limited_is_said_once(house: &OnDisk) {
    let mut said = Vec::new();
    for name in ["a", "b"] {
        let mut caller = Caller::new();
        let (request, cancel) = (request(name, None, &["true"]), Cancel::new());
        let baked = house.backend().bake(&request, &caller.sink, &cancel).await;
        baked.unwrap();
        said.extend(caller.events.notices());
    }
    said.retain(|text| text.contains("not limited: "));
    assert!(said.len() <= 1, "{said:?}");
    assert!(geteuid().is_root() || said.len() == 1, "{said:?}");
}

/// Each in a process of its own, and as the step's only one.
pub(crate) async fn a_memory_hog_is_ended_and_named(house: &OnDisk) {
    for hog in [
        "head -c 1G /dev/zero | tail -c 1G | wc -c",
        "exec perl -e '$x = \"x\" x (1 << 30)'",
    ] {
        let mut request = request("a", None, &[hog]);
        request.resources.memory = 256 << 20;
        let ending = ending_of(house, &request).await;
        assert_eq!(ending, StepEnding::OutOfMemory(256 << 20), "{hog}");
        assert_eq!(
            ending.to_string(),
            "ran out of memory: its limit is 256 MiB"
        );
        assert!(!is_present(house.backend(), request.key).await);
    }
    let killed = request("b", None, &["kill -KILL $$"]);
    assert_eq!(
        ending_of(house, &killed).await,
        StepEnding::Failed(Ending::Signalled(9))
    );
    assert_absent_and_bakeable(house.backend(), killed).await;
}

/// What it survived is not what a later step fails of.
pub(crate) async fn a_step_is_blamed_for_its_own_memory_alone(house: &OnDisk) {
    let steps = [
        "head -c 1G /dev/zero | tail -c 1G >/dev/null || true",
        "exit 3",
    ];
    let mut request = request("a", None, &steps);
    request.resources.memory = 256 << 20;
    assert_eq!(
        ending_of(house, &request).await,
        StepEnding::Failed(Ending::Exited(3))
    );
}

pub(crate) async fn a_hog_in_a_sandbox_is_ended_and_named(house: &OnDisk) {
    let backend = house.backend();
    let mut request = request("a", None, &["true"]);
    publish(backend, &request).await;
    request.resources.memory = 256 << 20;
    let sandbox = boot(backend, &request).await;
    let (ending, _) = sh(
        backend,
        &sandbox,
        "head -c 1G /dev/zero | tail -c 1G >/dev/null; exit 7",
    )
    .await;
    assert_eq!(ending, Ending::Exited(7));
    assert_eq!(
        backend.notices(),
        ["the sandbox ran out of memory: its limit is 256 MiB, which `resources memory=` raises"]
    );
    backend.destroy(&sandbox).await.unwrap();
}

/// Starts threads, which count as processes do, until it cannot; more than 5,000 prove enough.
const MANY: &str = r"python3 -c '
import _thread, os
wait, count = _thread.allocate_lock(), 0
wait.acquire()
_thread.stack_size(32768)
try:
    while count < 5000:
        _thread.start_new_thread(wait.acquire, ())
        count += 1
except RuntimeError: pass
print(count, flush=True)
os._exit(0)'";

pub(crate) async fn the_number_of_processes_is_limited(house: &OnDisk) {
    let mut request = request("a", None, &[MANY]);
    request.resources.memory = 4 << 30;
    let mut caller = Caller::new();
    let cancel = Cancel::new();
    let baked = house.backend().bake(&request, &caller.sink, &cancel).await;
    baked.unwrap();
    let count: u32 = caller.events.output()[0].parse().unwrap();
    assert!(count < 4096, "{count}");
}

/// The machine starts processes meanwhile, and has none of it afterwards.
pub(crate) async fn a_fork_bomb_is_contained(house: &OnDisk) {
    let marker = marker();
    let bomb = format!("perl -e 'fork while 1' {marker}");
    let mut request = request("a", None, &[&bomb]);
    request.steps[0].timeout = Duration::from_secs(3);
    request.resources.memory = 4 << 30;
    let mut started = 0;
    let (ending, ()) = tokio::join!(ending_of(house, &request), async {
        for _ in 0..20 {
            let status = tokio::process::Command::new("true").status().await;
            started += u32::from(status.is_ok_and(|status| status.success()));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    assert_ne!(ending, StepEnding::Failed(Ending::Exited(0)));
    assert_eq!(started, 20);
    assert!(!is_running(&marker));
    request.steps[0].timeout = Duration::from_secs(30);
    assert_absent_and_bakeable(house.backend(), request).await;
}

/// Two that calculate for two seconds, and how many hundredths of a second they had.
const BUSY: &str = r"python3 -c '
import os, time
for _ in range(2):
    if os.fork() == 0:
        end = time.monotonic() + 2
        while time.monotonic() < end: pass
        os._exit(0)
for _ in range(2): os.wait()
times = os.times()
print(int(100 * (times.children_user + times.children_system)), flush=True)'";

pub(crate) async fn processors_are_limited(house: &OnDisk) {
    let mut request = request("a", None, &[BUSY]);
    request.resources.cpu = 1;
    let mut caller = Caller::new();
    let cancel = Cancel::new();
    let baked = house.backend().bake(&request, &caller.sink, &cancel).await;
    baked.unwrap();
    let used: u32 = caller.events.output()[0].parse().unwrap();
    assert!(used < 250, "{used}");
}

/// The names of the control groups of a process that are ours.
fn groups_of(pid: u32) -> Vec<String> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let names = groups.lines().filter_map(|line| line.rsplit('/').next());
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with("atelier-"))
        .map(str::to_owned)
        .collect();
    names.dedup();
    names
}

fn is_there(group: &str) -> bool {
    let entries = WalkDir::new("/sys/fs/cgroup").into_iter().flatten();
    entries
        .filter(|entry| entry.file_type().is_dir())
        .any(|entry| entry.file_name() == group)
}

pub(crate) async fn a_crash_leaves_no_control_group(house: &OnDisk) {
    let (mut child, step, marker) = house.bake_for_ever();
    let groups = groups_of(step);
    assert!(!groups.is_empty());
    assert!(groups.iter().all(|group| is_there(group)));
    // Others hold theirs while they live, and a sweep leaves it to them.
    house.backend().sweep().await.unwrap();
    assert!(groups.iter().all(|group| is_there(group)));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_gone(&marker);
    house.backend().sweep().await.unwrap();
    assert!(!groups.iter().any(|group| is_there(group)));
}

pub(crate) async fn a_sandbox_leaves_no_control_group(house: &OnDisk) {
    let backend = house.backend();
    let look = "cat /proc/self/cgroup > groups";
    let request = request("a", None, &[look]);
    publish(backend, &request).await;
    let sandbox = boot(backend, &request).await;
    let (_, lines) = sh(backend, &sandbox, "cat groups /proc/self/cgroup").await;
    backend.destroy(&sandbox).await.unwrap();
    let names = lines.iter().filter_map(|line| line.rsplit('/').next());
    let mut ours = names.filter(|name| name.starts_with("atelier-")).peekable();
    assert!(ours.peek().is_some());
    assert!(!ours.any(is_there));
}

/// Who keeps it is not.
pub(crate) async fn a_kept_sandbox_is_limited_and_leaves_no_control_group(house: &OnDisk) {
    let backend = house.backend();
    let mut request = request("a", None, &["true"]);
    publish(backend, &request).await;
    request.resources.memory = 256 << 20;
    let sandbox = keep(backend, &request, None).await.unwrap();
    let groups = "cat /proc/self/cgroup";
    let (_, lines) = sh(backend, &sandbox, groups).await;
    let names = lines.iter().filter_map(|line| line.rsplit('/').next());
    let ours: Vec<&str> = names.filter(|name| name.starts_with("atelier-")).collect();
    assert!(!ours.is_empty());
    assert!(ours.iter().all(|name| is_there(name)));
    // A sweep takes the groups of nobody.
    backend.sweep().await.unwrap();
    let hog = "head -c 1G /dev/zero | tail -c 1G >/dev/null; exit 7";
    assert_eq!(sh(backend, &sandbox, hog).await.0, Ending::Exited(7));
    let (ending, lines) = sh(house.other(), &sandbox, groups).await;
    assert!(ending.success());
    assert!(
        ours.iter()
            .all(|name| lines.iter().any(|line| line.ends_with(name)))
    );
    backend.destroy(&sandbox).await.unwrap();
    assert!(!ours.iter().any(|name| is_there(name)));
}
