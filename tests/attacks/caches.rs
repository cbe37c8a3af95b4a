//! A cache hides what it is mounted over: never the workspace, a check-out, a file, or what is the kernel's.

use crate::project::Project;

/// Found in the file, with this in the message, before anything is made.
#[track_caller]
fn refused(statements: &str, code: i32, said: &str) {
    let project = Project::new(&format!("from dev-base\n{statements}\nrun \"touch made\""));
    project.git(&["remote", "add", "origin", "https://example.org/a/wallet"]);
    let ran = project.run(&["build"]).expect(code);
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert!(!project.store.join("caches/c").exists());
    assert_eq!(project.snapshots(), [] as [serde_json::Value; 0]);
}

#[test]
fn no_cache_hides_the_workspace() {
    refused(
        "cache c path=\"/home/dev\"",
        3,
        "`/home/dev` hides the workspace",
    );
    refused("cache c path=\"/home\"", 3, "`/home` hides the workspace");
    refused("cache c path=\"/\"", 3, "A0404");
    refused("cache c path=\".\"", 3, "A0404");
}

#[test]
fn no_cache_is_in_the_kernel_s_folders() {
    for path in ["/proc", "/dev", "/dev/shm", "/sys", "/proc/sys"] {
        refused(&format!("cache c path=\"{path}\""), 3, "is the kernel's");
    }
}

#[test]
fn no_cache_hides_a_check_out_or_a_file() {
    refused(
        "repo \".\" path=src\ncache c path=src",
        3,
        "hides the clone at `src`",
    );
    refused(
        "repo \".\" path=\"a/src\"\ncache c path=a",
        3,
        "hides the clone at `a/src`",
    );
    refused(
        "file \"a/b\" \"x\"\ncache c path=a",
        3,
        "hides the file at `a/b`",
    );
    refused(
        "file \"a/b\" \"x\"\ncache c path=\"a/b\"",
        3,
        "hides the file at `a/b`",
    );
    refused(
        "file a \"x\"\ncache c path=\"/home/dev/a\"",
        3,
        "`/home/dev/a` is absolute",
    );
}

/// The name of its folder is in its origin, and not in the file.
#[test]
fn no_cache_hides_a_check_out_that_its_origin_names() {
    refused(
        "repo \".\"\ncache c path=wallet",
        5,
        "the cache `c` would hide it",
    );
}

#[test]
fn a_cache_inside_a_check_out_is_kept_and_in_no_snapshot() {
    let project = Project::new(
        "from dev-base\nrepo \".\" path=src\ncache c path=\"src/target\"\nrun \"echo x >> target/x; wc -l < target/x; cat prebuild.kdl > seen\" in=src",
    );
    project.run(&["build"]).expect(0);
    let ran = project.run(&["build", "--force", "default"]).expect(0);
    assert!(ran.stderr.contains("default | 2\n"), "{}", ran.stderr);
    let script = "ls -A src/target; ls src";
    let ran = project.run(&["up", "--", "sh", "-c", script]).expect(0);
    assert_eq!(ran.stdout, "prebuild.kdl\nseen\ntarget\n");
}

const VALUE: &str = "canary-9bT4-value";

/// Bakes a target with the secret, and tells how that ended.
fn bake(project: &Project, target: &str) -> crate::project::Ran {
    let mut command = project.atelier(&["build", "--secret", "TOKEN=env:CANARY", target]);
    command.env("CANARY", VALUE);
    project.run_command(command)
}

/// behaviours 1.9
#[test]
fn no_secret_stays_in_a_cache_however_a_bake_ends() {
    let node = |name: &str, step: &str| {
        format!(
            "prebuild {name} {{ from dev-base; secret TOKEN; cache c path=c; run #\"{step}\"# timeout=\"2s\"; }}\n"
        )
    };
    let hidden = r#"mkdir -p "c/d-$TOKEN/e" c/plain; echo x > "c/d-$TOKEN/e/f"; touch c/a; ln -s "$TOKEN" c/l; python3 -c 'import os; [os.setxattr(path, "user.t", os.environ["TOKEN"].encode()) for path in ("c", "c/plain", "c/a")]'"#;
    let reader = r#"find c | sort; python3 -c 'import os; [print(os.listxattr(path)) for path in ("c", "c/plain")]'; cat c/*ed c/late 2>/dev/null || true"#;
    let project = Project::new(
        &[
            node("failed", "echo $TOKEN > c/failed; exit 1"),
            node("late", "echo $TOKEN > c/late; sleep 60"),
            node("hidden", hidden),
            node("hollow", "truncate -s 8T c/hollow; echo kept > c/kept"),
            format!("prebuild reader {{ from dev-base; cache c path=c; run #\"{reader}\"#; }}\n"),
        ]
        .concat(),
    );
    let failed = bake(&project, "failed").expect(1);
    let said = "removed from cache c: it held the value of secret TOKEN";
    assert!(failed.stderr.contains(said), "{}", failed.stderr);
    assert!(bake(&project, "late").expect(1).stderr.contains(said));
    let hidden = bake(&project, "hidden").expect(1);
    assert!(hidden.stderr.contains("cache c"), "{}", hidden.stderr);
    bake(&project, "hollow").expect(0);
    let ran = project.run(&["build", "reader"]).expect(0);
    let read = project.run(&["log", "reader"]).expect(0).stdout;
    // The log begins with the step itself, which has some of the names.
    let lines = read.lines().filter(|line| !line.contains("==>"));
    let read: String = lines.flat_map(|line| [line, "\n"]).collect();
    assert!(!read.contains(VALUE), "{read}");
    for left in ["c/failed", "c/late", "c/d-", "c/a\n", "c/l\n", "user.t"] {
        assert!(!read.contains(left), "{left}: {read}");
    }
    assert!(
        read.contains("c/plain\n") && read.contains("kept\n"),
        "{read}\n{}",
        ran.stderr
    );
}
