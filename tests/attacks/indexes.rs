//! A repository that a parent left where a child checks one out: it tells which paths it tracked, and nothing else.

use crate::project::{Project, pairs};

const COMMIT: &str = "git init -q; printf 'good\\n' > b.txt; git add .; git -c user.name=A -c user.email=a@example.org commit -q -m x";

/// A parent with a repository at `src`, changed by `step`; a child that checks this project out there.
fn project(step: &str) -> Project {
    let file = format!(
        "prebuild base {{ from dev-base; run #\"mkdir src; cd src; {COMMIT}; {step}\"#; }}\nprebuild child {{ from prebuild=base; repo \".\" path=src; }}"
    );
    let project = Project::empty();
    project.write("prebuild.kdl", &file);
    project.write("b.txt", "good\n");
    project.commit("first");
    project
}

/// Every tracked path equals the commit, and git sees it so; `more` is what `script` prints then.
#[track_caller]
fn checked_out(step: &str, script: &str, more: &str) {
    let project = project(step);
    let ends = pairs(&[("base", "baked"), ("child", "baked")]);
    assert_eq!(project.build(&[]), ends);
    let script = format!(
        "cat src/b.txt; git -C src status --porcelain --untracked-files=no; git -C src ls-files -v; git -C src diff --stat; git -C src fsck; {script}"
    );
    let ran = project.run(&["up", "child", "--", "sh", "-ec", &script]);
    let expected = format!("good\nH b.txt\nH prebuild.kdl\n{more}");
    assert_eq!(ran.expect(0).stdout, expected);
}

#[test]
fn a_path_that_it_hides_is_checked_out() {
    for mark in ["skip-worktree", "assume-unchanged"] {
        let step = format!("git update-index --{mark} b.txt; echo EVIL > b.txt");
        checked_out(&step, "", "");
    }
    checked_out("git update-index --skip-worktree b.txt; rm b.txt", "", "");
}

#[test]
fn a_change_with_the_size_and_the_time_of_the_old_content_is_undone() {
    checked_out(
        "touch -r b.txt t; printf 'evil\\n' > b.txt; touch -r t b.txt; rm t",
        "",
        "",
    );
}

#[test]
fn an_index_that_cannot_be_read_is_no_hindrance() {
    checked_out("echo garbage > .git/index", "", "");
    checked_out("git update-index --split-index", "", "");
    checked_out(
        "git update-index --split-index; rm .git/sharedindex.*",
        "",
        "",
    );
    checked_out("rm .git/index; mkdir .git/index", "", "");
    checked_out(": > .git/index; touch .git/index.lock", "", "");
}

#[test]
fn a_git_folder_that_is_elsewhere_is_replaced_and_not_written_to() {
    let after = "test -d src/.git; test ! -L src/.git; git -C other log -1 --format=%s";
    let step = "mkdir ../other; mv .git ../other/.git";
    checked_out(&format!("{step}; ln -s ../other/.git .git"), after, "x\n");
    checked_out(
        &format!("{step}; echo 'gitdir: ../other/.git' > .git"),
        after,
        "x\n",
    );
}

#[test]
fn its_settings_run_nothing() {
    let program = "printf '#!/bin/sh\\ntouch /home/dev/ran\\ncat\\n' > ../p; chmod +x ../p";
    let settings = "git config core.fsmonitor ../p; git config core.hooksPath ..; cp ../p .git/hooks/post-checkout; git config filter.x.clean /home/dev/p; git config filter.x.smudge /home/dev/p; echo '* filter=x' > .git/info/attributes; rm -f ../ran";
    checked_out(&format!("{program}; {settings}"), "ls", "p\nsrc\n");
}

#[test]
fn what_it_tracked_and_the_commit_has_not_goes_away_and_the_rest_stays() {
    let step = "mkdir d; echo 1 > d/tracked; echo 2 > 'od d'; git add .; echo 3 > d/untracked";
    checked_out(
        step,
        "ls src src/d",
        "src:\nb.txt\nd\nprebuild.kdl\n\nsrc/d:\nuntracked\n",
    );
}

/// Tools that look at times would do everything again.
#[test]
fn a_file_that_is_right_keeps_its_time() {
    checked_out(
        "touch -d @1000000000 b.txt",
        "stat -c %Y src/b.txt",
        "1000000000\n",
    );
}
