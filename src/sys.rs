//! The few calls that Rust cannot check. `unsafe` lives here and nowhere else.
#![expect(
    unsafe_code,
    reason = "raw clone, inherited descriptors and code between fork and exec"
)]

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal, set_parent_process_death_signal};
use rustix::thread::UnshareFlags;
use tokio::io::unix::AsyncFd;

/// Which side of a fork this is.
pub(crate) enum Fork {
    Child,
    Parent(Pid),
}

/// Forks. Only for a process with one thread: the child may then go on as if nothing had happened.
pub(crate) fn fork() -> io::Result<Fork> {
    clone(0, None)
}

/// Forks; the child is the first process of a new PID namespace, in new namespaces of those other kinds, and born in the
/// control group of version 2 whose folder is given.
pub(crate) fn fork_into_namespaces(
    group: Option<BorrowedFd<'_>>,
    others: UnshareFlags,
) -> io::Result<Fork> {
    clone(libc::CLONE_NEWPID | others.bits().cast_signed(), group)
}

/// Forks into a control group alone.
pub(crate) fn fork_into_group(group: Option<BorrowedFd<'_>>) -> io::Result<Fork> {
    clone(0, group)
}

fn clone(flags: libc::c_int, group: Option<BorrowedFd<'_>>) -> io::Result<Fork> {
    debug_assert!(single_threaded(), "a fork with other threads running");
    let pid = match group {
        None => {
            // SAFETY: without CLONE_VM, and with null for every pointer, clone(2) is fork(2); no other thread exists
            // whose locks the child could inherit. The order of the null arguments differs by architecture and does not
            // matter.
            unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) }
        }
        Some(group) => {
            // The fields of `clone_args`, all of 64 bits: flags, pidfd, child_tid, parent_tid, exit_signal, stack,
            // stack_size, tls, set_tid, set_tid_size, cgroup.
            const INTO_CGROUP: u64 = 0x2_0000_0000;
            let mut arguments = [0_u64; 11];
            arguments[0] = u64::from(flags.cast_unsigned()) | INTO_CGROUP;
            arguments[4] = u64::from(libc::SIGCHLD.cast_unsigned());
            arguments[10] = u64::from(group.as_raw_fd().cast_unsigned());
            // SAFETY: as above; the kernel reads as many bytes as it is told.
            unsafe {
                libc::syscall(
                    libc::SYS_clone3,
                    arguments.as_ptr(),
                    size_of_val(&arguments),
                )
            }
        }
    };
    match i32::try_from(pid).ok().and_then(Pid::from_raw) {
        Some(pid) => Ok(Fork::Parent(pid)),
        None if pid == 0 => Ok(Fork::Child),
        None => Err(io::Error::last_os_error()),
    }
}

/// Gives this process a mount namespace of its own.
pub(crate) fn unshare_mounts() -> io::Result<()> {
    // SAFETY: CLONE_NEWNS changes no descriptor table that std relies on.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?)
}

/// Gives this process a user namespace of its own, in which it may do everything.
pub(crate) fn unshare_user() -> io::Result<()> {
    // SAFETY: as above.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }?)
}

/// Takes over a descriptor that the parent process left open for this one.
pub(crate) fn inherited(fd: RawFd) -> OwnedFd {
    // SAFETY: called once, by the launcher, for the descriptor that its parent made for it alone.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Runs `prepare` in the child between fork and exec.
pub(crate) fn before_exec(
    command: &mut Command,
    prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: what the callers run there makes system calls, and allocates only in processes that have one thread.
    unsafe { command.pre_exec(prepare) };
}

/// Has the kernel kill the child when the thread that starts it ends, however it ends.
pub(crate) fn die_with_parent(command: &mut Command) {
    before_exec(command, || {
        Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
    });
}

/// Keeps what the caller left open from every process that this one starts: a folder among it would lead out of any
/// sandbox. Called before anything else is opened.
pub(crate) fn keep_descriptors() -> io::Result<()> {
    // SAFETY: marks descriptors, and closes none.
    match unsafe {
        libc::close_range(
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC.cast_signed(),
        )
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Leaves the keys of the caller's login behind: a process possesses those of its session, whoever it is.
pub(crate) fn leave_keyring() {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: without a name, a new and empty keyring takes the old one's place. A kernel without keys has none to hide.
    unsafe {
        libc::syscall(
            libc::SYS_keyctl,
            JOIN_SESSION_KEYRING,
            std::ptr::null::<libc::c_char>(),
        )
    };
}

/// Whether the caller has this process ignore a signal.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks only; all zeros is a valid action, whether or not the call has written another.
    let action = unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// What becomes of children that have ended.
#[derive(Clone, Copy)]
pub(crate) enum Ended {
    /// They stay until somebody waits for them.
    Wait,
    /// Nobody asks: the kernel forgets them.
    Vanish,
}

/// Decides it for this process, and for those that it forks.
pub(crate) fn children_that_end(ended: Ended) {
    let action = match ended {
        Ended::Wait => libc::SIG_DFL,
        Ended::Vanish => libc::SIG_IGN,
    };
    // SAFETY: neither disposition runs any code.
    unsafe { libc::signal(libc::SIGCHLD, action) };
}

/// Closes every descriptor, also those that values still own.
///
/// Only for a process that uses none of them again, and never returns to what does.
pub(crate) fn close_everything() {
    // SAFETY: see above; the caller goes on to wait for its end.
    unsafe { libc::close_range(0, libc::c_uint::MAX, 0) };
}

/// Who connected to a socket, or who made the one that this is connected to listen.
pub(crate) struct Peer {
    /// `None` if it cannot be named in this PID namespace.
    pub pid: Option<Pid>,
    pub uid: u32,
}

/// The credentials of a socket's other side. The safe call cannot tell of a peer without a process id.
pub(crate) fn peer(socket: &impl AsFd) -> io::Result<Peer> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = libc::socklen_t::try_from(size_of::<libc::ucred>()).unwrap_or(0);
    // SAFETY: the kernel writes at most `length` bytes to a structure of that size, in which every number is valid.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    match asked {
        0 => Ok(Peer {
            pid: Pid::from_raw(peer.pid),
            uid: peer.uid,
        }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Brings the loopback device of this network namespace up, which gives it its addresses.
pub(crate) fn raise_loopback() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: all zeros is a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP).unwrap_or(1);
    // SAFETY: the request names a device and its flags, which is what this call reads.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once, without destructors: for the child of a fork.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit(2) has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Makes `terminal` the controlling terminal of this session.
pub(crate) fn take_terminal(terminal: RawFd) -> io::Result<()> {
    // SAFETY: the argument is a plain number.
    match unsafe { libc::ioctl(terminal, libc::TIOCSCTTY, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the runtime wait until `file` can be read.
pub(crate) fn watch(file: File) -> io::Result<AsyncFd<File>> {
    // SAFETY: a `File` owns its descriptor, and keeps it open and the same for as long as it lives.
    Ok(unsafe { AsyncFd::register(file) }?)
}

fn single_threaded() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}
