//! A root step is root in its sandbox, and changes nothing of the machine.

use std::fmt::Write as _;

use crate::project::Project;

/// Root steps, each of which must fail.
#[track_caller]
fn all_refused(commands: &[&str]) {
    let mut file = "from dev-base".to_owned();
    for command in commands {
        let step = format!("if {{ {command}; }}; then echo changed the machine; exit 1; fi");
        write!(file, "\nrun #\"{step}\"# as=root").unwrap();
    }
    Project::new(&file).run(&["build"]).expect(0);
}

/// Everything is written as it is already: where this fails, nothing is broken.
#[test]
fn settings_of_the_machine_cannot_be_written() {
    all_refused(&[
        "v=$(cat /proc/sys/kernel/core_pattern); echo \"$v\" > /proc/sys/kernel/core_pattern",
        "v=$(cat /proc/sys/vm/swappiness); echo \"$v\" > /proc/sys/vm/swappiness",
        "[ -e /proc/sysrq-trigger ] && : > /proc/sysrq-trigger",
        "[ -e /proc/irq/default_smp_affinity ] && v=$(cat /proc/irq/default_smp_affinity) && echo \"$v\" > /proc/irq/default_smp_affinity",
        "mount -o remount,bind,rw /proc/sys",
        "umount /proc/sys",
    ]);
}

#[test]
fn the_kernel_s_memory_and_tables_cannot_be_read() {
    all_refused(&[
        "[ -e /proc/kcore ] && [ \"$(head -c 1 /proc/kcore | wc -c)\" = 1 ]",
        "[ -f /proc/kcore ]",
        "[ -f /proc/keys ]",
        "[ -f /proc/timer_list ]",
    ]);
}

#[test]
fn devices_of_the_machine_keep_their_modes_owners_and_times() {
    all_refused(&[
        "chmod 0666 /dev/full",
        "chown 0:0 /dev/full",
        "touch /dev/full",
        "chmod 0666 /dev/null",
        "rm /dev/null",
    ]);
}

#[test]
fn devices_are_written_to_and_read_from_all_the_same() {
    let file = r##"from dev-base
run "echo x > /dev/null; head -c 9 /dev/zero | wc -c; head -c 9 /dev/urandom | wc -c"
run "echo x > /dev/null; head -c 9 /dev/zero | wc -c; head -c 9 /dev/urandom | wc -c" as=root
run #"[ "$(echo x 2>&1 > /dev/full | grep -c "No space left")" = 1 ]"#"##;
    Project::new(file).run(&["build"]).expect(0);
}
