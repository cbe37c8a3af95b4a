//! Sandboxes: booted, kept, called, ended.

use crate::cluster::{Machine, kubectl, whole};

const FILE: &str = "prebuild one { from dev-base; env COLOUR=blue; run \"echo KEY > f\"; }";

#[test]
fn a_command_has_its_world_and_its_exit_code() {
    let _cluster = whole();
    let machine = Machine::with(FILE);
    machine.good("build", &[]);
    let said = machine.run(
        "up",
        &[
            "--",
            "sh",
            "-c",
            "id -u; pwd; echo $COLOUR; umask; echo err >&2; exit 5",
        ],
    );
    assert_eq!(said.code, Some(5), "{}", said.err);
    assert_eq!(said.out, "1000\n/home/dev\nblue\n0022\n");
    assert!(said.err.contains("err"));
    assert_eq!(
        kubectl(&[
            "get",
            "pods",
            "-l",
            "atelier.dev/role=sandbox",
            "-o",
            "name"
        ])
        .matches(&machine.key("one")[..12])
        .count(),
        0
    );
}

#[test]
fn a_kept_one_keeps_what_is_written_even_without_its_pod() {
    let _cluster = whole();
    let machine = Machine::with(FILE);
    machine.good("build", &[]);
    let name = format!("Kept_{}", &machine.key("one")[..6]);
    machine.good("up", &["-d", "--name", &name]);
    machine.good("exec", &[&name, "--", "sh", "-c", "echo written > w"]);
    let taken = machine.run("up", &["-d", "--name", &name]);
    assert_eq!(taken.code, Some(2), "{}", taken.err);
    assert!(machine.other().good("ps", &[]).contains(&name));
    let pods = kubectl(&[
        "get",
        "pods",
        "-l",
        "atelier.dev/role=sandbox",
        "-o",
        "jsonpath={range .items[*]}{.metadata.name} {.metadata.annotations}{'\\n'}{end}",
    ]);
    let pod = pods
        .lines()
        .find(|line| line.contains(&machine.key("one")))
        .unwrap();
    kubectl(&["delete", "pod", "--now", pod.split(' ').next().unwrap()]);
    machine.good("up", &["-d", "--name", &name]);
    assert_eq!(
        machine.good("exec", &[&name, "--", "cat", "w"]),
        "written\n"
    );
    machine.good("rm", &[&name]);
    assert!(!machine.good("ps", &[]).contains(&name));
}

#[test]
fn twenty_are_booted_at_once() {
    let _cluster = whole();
    let machine = Machine::with(FILE);
    machine.good("build", &[]);
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let mut call = machine.command("up", &["--", "cat", "f"]);
            call.stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped());
            call.spawn().unwrap()
        })
        .collect();
    for call in calls {
        let output = call.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
