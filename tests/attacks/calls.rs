//! System calls that a sandbox's processes have no use for fail, and kill nobody.

use crate::project::Project;

/// Prints what each call says: `EPERM` or `ENOSYS`. Numbers are those of x86-64.
const ASK: &str = r#"
import ctypes, errno, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
calls = {
    "mount": (165, 0, 0, 0, 0, 0), "unshare a user namespace": (272, 0x10000000),
    "clone a user namespace": (56, 0x10000000, 0, 0, 0, 0), "setns": (308, 0, 0), "add_key": (248, 0, 0, 0, 0, 0),
    "keyctl": (250, 0, 0, 0, 0), "bpf": (321, 0, 0, 0), "perf_event_open": (298, 0, 0, 0, 0, 0),
    "kexec_load": (246, 0, 0, 0, 0), "type into a terminal": (16, 0, 0x5412, b"x"), "syslog": (103, 3, 0, 0),
    "clone3": (435, 0, 0), "io_uring_setup": (425, 1, 0), "a call to come": (500,),
}
for name, call in calls.items():
    ctypes.set_errno(0)
    code = libc.syscall(*call)
    print(f"{name}: {errno.errorcode.get(ctypes.get_errno(), code)}")
thread = threading.Thread(target=lambda: print("a thread: runs"))
thread.start(); thread.join()
"#;

const SAID: &str = "mount: EPERM
unshare a user namespace: EPERM
clone a user namespace: EPERM
setns: EPERM
add_key: EPERM
keyctl: EPERM
bpf: EPERM
perf_event_open: EPERM
kexec_load: EPERM
type into a terminal: EPERM
syslog: EPERM
clone3: ENOSYS
io_uring_setup: ENOSYS
a call to come: ENOSYS
a thread: runs
";

#[cfg(target_arch = "x86_64")]
#[test]
fn what_concerns_the_machine_is_refused_and_what_is_new_is_unknown() {
    let project = Project::new(
        "from dev-base\nfile \"ask.py\" from=ask.py\nrun \"python3 ask.py > said\"\nrun \"python3 ask.py > said-to-root\" as=root",
    );
    project.write("ask.py", ASK);
    project.commit("a question");
    project.run(&["build"]).expect(0);
    let said = project.run(&["up", "--", "cat", "said"]).expect(0);
    assert_eq!(said.stdout, SAID);
    let said = project.run(&["up", "--", "cat", "said-to-root"]).expect(0);
    assert_eq!(said.stdout, SAID);
    let said = project.run(&["up", "--", "python3", "ask.py"]).expect(0);
    assert_eq!(said.stdout, SAID);
}
