//! Which system calls a sandbox's processes may make. What concerns the machine fails with EPERM; what is newer than this
//! page, and what has an older form that can be looked into, fails with ENOSYS, and the C library falls back.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};

/// The machine's kernel, clock, devices, keys and mounts are nobody's business in a sandbox.
const FORBIDDEN: [i64; 39] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// What is to be asked for in an older way, whose arguments a filter can see, or not at all.
const UNKNOWN: [i64; 4] = [
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// The last call that was known when this was written (mseal, Linux 6.10; numbers are the same on all architectures from
/// 424 on), and how many later ones are foreseen.
const LAST_KNOWN: i64 = 462;
const FORESEEN: i64 = 128;

/// New namespaces of any kind, in the first argument of clone(2) and unshare(2).
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// The same calls by the numbers of x86-64's 32-bit twin, which some kernels have too.
const X32: i64 = 0x4000_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The filters, to be applied one after the other; all of them count.
pub(super) fn filters() -> io::Result<[BpfProgram; 2]> {
    let build = || Ok::<_, BackendError>([forbid()?, do_not_know()?]);
    build().map_err(io::Error::other)
}

fn forbid() -> Result<BpfProgram, BackendError> {
    let mut rules: Rules = FORBIDDEN
        .into_iter()
        .map(|call| (call, Vec::new()))
        .collect();
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        let any_of = NAMESPACES.into_iter().map(|flag| {
            let flag = u64::from(flag.cast_unsigned());
            when(
                0,
                SeccompCmpArgLen::Qword,
                SeccompCmpOp::MaskedEq(flag),
                flag,
            )
        });
        rules.insert(call, any_of.collect::<Result<_, _>>()?);
    }
    // Typing into the caller's terminal.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX]
        .into_iter()
        .map(|request| when(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    filter(rules, libc::EPERM)
}

fn do_not_know() -> Result<BpfProgram, BackendError> {
    let later = LAST_KNOWN + 1..=LAST_KNOWN + FORESEEN;
    let rules = UNKNOWN
        .into_iter()
        .chain(later)
        .map(|call| (call, Vec::new()));
    filter(rules.collect(), libc::ENOSYS)
}

fn when(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(
        argument, length, operator, value,
    )?])
}

fn filter(mut rules: Rules, errno: i32) -> Result<BpfProgram, BackendError> {
    if cfg!(target_arch = "x86_64") {
        let twins: Rules = rules
            .iter()
            .map(|(call, rules)| (call | X32, rules.clone()))
            .collect();
        rules.extend(twins);
    }
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
}
