//! The kernel keeps keys of the caller's login; they are nobody else's.

use crate::project::Project;
use crate::wrapped::started_by;

/// The calls, on the two kinds of machine that have numbers for them here.
const CALLS: &str = "import ctypes, os, platform, sys
add_key, keyctl = {'x86_64': (248, 250), 'aarch64': (217, 219)}[platform.machine()]
call = ctypes.CDLL(None).syscall
find = lambda: call(keyctl, 10, -3, b'user', b'canary', 0)
";

/// Begins a login with a key, and becomes the command.
const LOGIN: &str = "call(keyctl, 1, None)
call(add_key, b'user', b'canary', b'secret', 6, -3)
os.execvp(sys.argv[1], sys.argv[1:])";

const SEARCH: &str = "sys.exit('the key is there' if find() >= 0 else 0)";

#[test]
fn no_step_and_no_sandbox_finds_a_key_of_the_caller_s_login() {
    let project = Project::empty();
    project.write("search.py", &format!("{CALLS}{SEARCH}"));
    let step = "run \"python3 search.py\"";
    let file = format!("from dev-base\nfile search.py from=search.py\n{step}\n{step} as=root");
    project.write("prebuild.kdl", &file);
    let login = format!("{CALLS}{LOGIN}");
    for words in [&["build"][..], &["up", "--", "python3", "search.py"]] {
        let command = started_by(&["python3", "-c", &login], &project.atelier(words));
        project.run_command(command).expect(0);
    }
}
