//! What a parent left that git would obey: settings, attributes, repositories. A tracked file is the commit's all the same,
//! and no program of the parent's runs after the last step.

use crate::project::Project;

/// A project with a tracked `a.txt`, a parent that runs `step`, and a child with the repository in `src`.
fn project(step: &str, more: &str) -> Project {
    let project = Project::empty();
    let file = format!(
        "prebuild base {{ from dev-base; run #\"{step}\"#; }}\nprebuild child {{ from prebuild=base; repo \".\" path=src{more}; }}"
    );
    project.write("prebuild.kdl", &file);
    project.write("a.txt", "one\n$Id$\n");
    project.write("deep/er/b.txt", "two\n$Id$\n");
    project.commit("first");
    project
}

#[track_caller]
fn is_the_commit_s(project: &Project, script: &str) {
    project.run(&["build"]).expect(0);
    let script = format!("cat src/a.txt src/deep/er/b.txt; {script}");
    let ran = project.run(&["up", "child", "--", "sh", "-ec", &script]);
    assert_eq!(ran.expect(0).stdout, "one\n$Id$\ntwo\n$Id$\n");
}

const ATTRIBUTES: &str = "* text eol=crlf ident";

#[test]
fn attributes_in_the_home_folder_change_no_file() {
    let step = format!(
        "mkdir -p .config/git; echo '{ATTRIBUTES}' > .config/git/attributes; printf '[core]\\nattributesFile=/home/dev/.config/git/attributes\\n' > .gitconfig"
    );
    is_the_commit_s(&project(&step, ""), "test -s .config/git/attributes");
    let only = " { only \"a.txt\" \"deep/**\"; }";
    is_the_commit_s(&project(&step, only), "");
}

/// They stay where the parent left them, unless the commit has such a file.
#[test]
fn attributes_in_the_work_tree_change_no_file() {
    let step = format!(
        "mkdir -p src/deep/er elsewhere; echo '{ATTRIBUTES}' | tee src/.gitattributes > src/deep/er/.gitattributes; echo '{ATTRIBUTES}' > elsewhere/.gitattributes; ln -s ../elsewhere src/link"
    );
    let stays = "test -s src/.gitattributes; test -s src/deep/er/.gitattributes; test -s elsewhere/.gitattributes; test -z \"$(find . -name '*.atelier')\"";
    is_the_commit_s(&project(&step, ""), stays);
    let only = " { only \"a.txt\" \"deep/**\"; }";
    is_the_commit_s(&project(&step, only), stays);
    // What looks right through them is not.
    let step =
        "mkdir src; echo '* text' > src/.gitattributes; printf 'one\\r\\n$Id$\\r\\n' > src/a.txt";
    let repo = project(step, "");
    is_the_commit_s(&repo, "test -s src/.gitattributes");
    repo.write(".gitattributes", "*.txt -text\n");
    repo.commit("third");
    is_the_commit_s(&repo, "grep -q -- -text src/.gitattributes");
}

#[test]
fn a_repository_in_a_submodule_s_place_runs_nothing() {
    let step = "mkdir -p src/sub; cd src/sub; git init -q; git -c user.name=a -c user.email=a@a commit -q --allow-empty -m s --date=2020-01-01T00:00:00Z; git config core.fsmonitor 'echo TAMPERED > /home/dev/src/a.txt; echo ran > /home/dev/ran; false'";
    let project = project(
        &step.replace("git -c", "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z git -c"),
        " submodules=#false",
    );
    // The same commit, by the same hands.
    let nested = project.root.parent().unwrap().join("nested");
    let script = "git init -q .; GIT_COMMITTER_DATE=2020-01-01T00:00:00Z git -c user.name=a -c user.email=a@a commit -q --allow-empty -m s --date=2020-01-01T00:00:00Z; git rev-parse HEAD";
    std::fs::create_dir(&nested).unwrap();
    let mut command = project.command("sh");
    let made = command.args(["-ec", script]).current_dir(&nested).output();
    let commit = String::from_utf8(made.unwrap().stdout).unwrap();
    let entry = format!("160000,{},sub", commit.trim());
    project.write(
        ".gitmodules",
        "[submodule \"sub\"]\n\tpath = sub\n\turl = https://example.org/sub\n",
    );
    project.git(&["add", ".gitmodules"]);
    project.git(&["update-index", "--add", "--cacheinfo", &entry]);
    project.git(&["commit", "--quiet", "--message", "second"]);
    is_the_commit_s(&project, "test ! -e ran; test -d src/sub/.git");
}

fn verified(project: &Project) -> Vec<String> {
    let snapshots = project.run(&["snapshots", "--json"]).expect(0).json();
    let verified = snapshots["snapshots"][0]["verified"]
        .as_array()
        .unwrap()
        .clone();
    verified
        .iter()
        .map(|check| check.as_str().unwrap().to_owned())
        .collect()
}

/// "git fsck" is in a record only if all that was checked out is whole, and by itself.
#[test]
fn a_repository_that_a_step_has_taken_apart_is_not_verified() {
    let bake = |step: &str| {
        let project = Project::new(&format!(
            "from dev-base\nrepo \".\" path=src\nrun #\"{step}\"# in=src"
        ));
        let ran = project.run(&["build"]);
        (project, ran)
    };
    for (step, said) in [
        (
            "mv .git ../real; echo 'gitdir: /home/dev/real' > .git; rm -rf ../real/objects/*",
            ".git is no folder any more",
        ),
        (
            "mv .git ../real; ln -s ../real .git",
            ".git is no folder any more",
        ),
        (
            "mv .git/objects ../real; ln -s ../../real .git/objects",
            ".git/objects is no folder any more",
        ),
        (
            "rm -rf .git/objects/pack .git/objects/??; mkdir -p .git/objects/info; echo /run/atelier/git/0/objects > .git/objects/info/alternates",
            "it needs objects from elsewhere",
        ),
        (
            "mv .git/objects/pack/*.pack ../pack; git unpack-objects -q < ../pack; f=$(git rev-parse HEAD:prebuild.kdl | sed 's|^..|&/|'); chmod u+w .git/objects/$f; echo garbage > .git/objects/$f",
            "cannot verify the repository src",
        ),
    ] {
        let (project, ran) = bake(step);
        let ran = ran.expect(6);
        assert!(ran.stderr.contains(said), "{step}: {}", ran.stderr);
        assert_eq!(project.snapshots(), [] as [serde_json::Value; 0]);
    }
    let (project, ran) = bake("rm -rf .git");
    ran.expect(0);
    assert!(!verified(&project).contains(&"git fsck".to_owned()));
    let (project, ran) = bake("true");
    ran.expect(0);
    assert!(verified(&project).contains(&"git fsck".to_owned()));
}
