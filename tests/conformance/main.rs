//! The laws that every backend keeps, as one suite that runs on each of them, and on the embedded one in each way that
//! its user may have: as root, with a range of ids, with one id, and without a sandbox. Root runs the others' as those
//! users, and those without a sandbox where /home is another one.
//!
//! A program of its own, since it is also the launcher of the sandboxes that it makes: everything runs on the main
//! thread, one law after the other, but in a cluster.
#![cfg(test)]

use std::process::ExitCode;

use atelier::backend::local::launcher;
use libtest_mimic::{Arguments, Trial};

mod baking;
mod booting;
mod checkouts;
mod cluster;
mod direct;
mod escape;
mod exactness;
mod gate;
mod house;
mod images;
mod keeping;
mod kept;
mod limits;
mod restore;
mod sharing;

#[path = "../support/homes.rs"]
mod homes;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/oci_layout.rs"]
mod oci_layout;
#[path = "../support/processes.rs"]
mod processes;
#[path = "../support/programs.rs"]
mod programs;
#[path = "../support/repo.rs"]
mod repo;
#[path = "../support/requests.rs"]
mod requests;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/rootfs.rs"]
mod rootfs;
#[path = "../support/users.rs"]
mod users;

use cluster::InCluster;
use house::{InMemory, OnDisk};
use users::User;

/// Each law, on each backend.
macro_rules! laws {
    ($($topic:ident: $($law:ident)*;)*) => {
        [$($(
            trial(concat!("memory::", stringify!($law)), async || {
                $topic::$law(&InMemory::new()).await;
            }),
            trial(concat!("cluster::", stringify!($law)), async || {
                $topic::$law(&InCluster::new()).await;
            }),
        )*)*]
        .into_iter()
        .chain(local! { $($topic: $($law)*;)* })
    };
}

/// On the embedded one, in whatever way this user has.
macro_rules! own {
    ($($topic:ident: $($law:ident)*;)*) => {
        [$($(
            trial(concat!("local::", stringify!($law)), async || {
                $topic::$law(&OnDisk::new()).await;
            }),
        )*)*]
        .into_iter()
    };
}

/// On the embedded one, in every way.
macro_rules! local {
    ($($topic:ident: $($law:ident)*;)*) => {
        own! { $($topic: $($law)*;)* }
        .chain(as_user(User::Range, "range", &[$($(stringify!($law),)*)*]))
        .chain(as_user(User::Alone, "alone", &[$($(stringify!($law),)*)*]))
    };
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    match words
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        [_, first, ..] if *first == launcher::ARGUMENT => return launcher::main(&words[2..]),
        [_, house::CRASH, store, marker] => return run(house::bake_for_ever(store, marker)),
        _ => {}
    }
    let in_cluster = std::env::var_os(cluster::CLUSTER).is_some();
    let mut arguments = Arguments::from_args();
    if !in_cluster {
        // On the main thread: a sandbox's launcher watches the thread that started it.
        arguments.test_threads = Some(1);
    }
    let mut trials = laws_of_all();
    trials.extend(local_laws());
    match direct::is_meant() {
        true => trials.extend(without_sandbox()),
        false => trials.extend(direct::trials()),
    }
    trials.retain(|trial| trial.name().starts_with("cluster::") == in_cluster);
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// What every backend has to keep.
fn laws_of_all() -> Vec<Trial> {
    laws! {
        baking:
            a_key_is_absent_until_it_is_published
            a_failing_step_leaves_nothing
            a_step_out_of_time_leaves_nothing
            a_bake_out_of_time_leaves_nothing
            a_cancelled_bake_leaves_nothing
            a_bake_that_is_dropped_leaves_nothing
            what_is_there_is_found
            force_replaces_and_leaves_children_whole
            a_forced_bake_that_fails_leaves_the_old_snapshot
            lost_data_is_a_miss_and_heals;
        sharing:
            two_bakes_of_a_key_are_one
            a_follower_sees_all_that_its_leader_printed
            a_cancelled_leader_is_taken_over_from
            a_cancelled_follower_leaves_its_leader_alone
            two_keys_bake_side_by_side;
        booting:
            files_are_there_before_the_first_step
            a_child_sees_its_parent_s_files
            what_a_child_deletes_stays_deleted
            two_sandboxes_do_not_see_each_other_s_writes
            a_sandbox_keeps_its_writes_until_it_is_destroyed
            a_command_s_status_is_told
            what_is_not_there_cannot_be_booted
            destroying_twice_is_destroying_once;
        kept:
            a_kept_sandbox_is_there_for_everybody
            a_name_in_use_is_refused
            what_is_no_name_is_refused
            names_are_made_up
            commands_run_side_by_side
            what_is_started_is_left_to_itself
            a_sandbox_that_ends_with_its_caller_starts_nothing
            a_kept_sandbox_holds_its_snapshot
            a_sweep_takes_no_kept_sandbox
            an_ended_sandbox_starts_again_on_its_writes
            an_ended_sandbox_keeps_its_name_from_other_snapshots;
        keeping:
            snapshots_are_listed_oldest_first
            keys_are_looked_up_in_the_order_asked
            a_removed_snapshot_is_gone_and_its_children_are_whole
            a_sweep_keeps_what_is_used
            a_sweep_removes_what_a_crash_left;
    }
    .collect()
}

/// What only real files, processes and limits can show.
fn local_laws() -> impl Iterator<Item = Trial> {
    let laws = local! {
        exactness:
            a_snapshot_restores_exactly
            what_a_step_leaves_running_is_ended
            clones_are_distinct_machines;
        restore:
            one_snapshot_restores_exactly
            a_chain_of_five_restores_exactly
            a_chain_of_seventy_restores_exactly;
        checkouts:
            submodules_are_completed_in_place
            submodules_that_are_not_wanted_any_more_go
            a_link_in_the_way_of_a_submodule_is_not_followed;
        escape:
            a_hostile_step_gets_nowhere
            a_daemon_does_not_outlive_its_step;
        gate:
            a_secret_in_the_workspace_is_not_published
            what_is_written_outside_is_told
            temporary_files_are_not_outside
            a_damaged_snapshot_is_found_and_taken_out
            a_long_chain_is_kept_shallow;
        images:
            an_image_s_layers_are_one_root
            an_image_for_another_machine_is_refused;
        limits:
            what_is_not_limited_is_said_once;
    };
    // Who is not root can be lent control groups, and the users of these tests are not.
    laws.chain(own! {
        images:
            a_layer_is_unpacked_once;
        limits:
            a_memory_hog_is_ended_and_named
            a_step_is_blamed_for_its_own_memory_alone
            a_hog_in_a_sandbox_is_ended_and_named
            the_number_of_processes_is_limited
            a_fork_bomb_is_contained
            processors_are_limited
            a_crash_leaves_no_control_group
            a_sandbox_leaves_no_control_group
            a_kept_sandbox_is_limited_and_leaves_no_control_group;
    })
}

/// What only the embedded backend without a sandbox has to keep.
fn without_sandbox() -> Vec<Trial> {
    macro_rules! laws {
        ($($law:ident)*) => {
            vec![$(trial(concat!("local::", stringify!($law)), async || {
                direct::$law(&OnDisk::new()).await;
            })),*]
        };
    }
    laws! {
        a_stranger_s_files_are_not_touched
        the_folder_is_given_back_as_it_was
        a_second_one_is_refused
        survivors_are_ended_by_the_next
        a_cache_is_kept_and_is_in_no_snapshot
        a_root_step_is_the_machine_s_root
        what_needs_a_sandbox_is_refused
        it_serves_itself_alone_unless_it_is_accepted
    }
}

/// The embedded backend's laws, each in a process of its own that belongs to `user`.
fn as_user(user: User, way: &str, laws: &[&'static str]) -> Vec<Trial> {
    if !rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    let of = |&law: &&'static str| {
        Trial::test(format!("{way}::{law}"), move || {
            let home = user.folder();
            let program = users::reachable(&std::env::current_exe()?, home.path());
            let output = user
                .command(&program, home.path())
                .args(["--exact", &format!("local::{law}")])
                .output()?;
            match output.status.success() {
                true => Ok(()),
                false => Err(String::from_utf8_lossy(&output.stdout).into_owned().into()),
            }
        })
    };
    laws.iter().map(of).collect()
}

fn trial(name: &str, law: impl AsyncFnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        run(law());
        Ok(())
    })
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let result = runtime.block_on(future);
    runtime.shutdown_background();
    result
}
