//! Repositories with submodules, checked out over what a parent has left.

use std::collections::BTreeSet;

use atelier::backend::{Backend, BakeRequest, Checkout};
use atelier::resolve::RepoLocation;
use tempfile::TempDir;

use crate::house::{House, OnDisk, boot, publish, sh};
use crate::repo::Repo;
use crate::requests::request;

/// `web` with `lib` at `vendor/lib`, which has `inner` at `deep/inner`; all checked out, as a developer has them.
struct Work {
    _folder: TempDir,
    web: Repo,
    lib: Repo,
    inner: Repo,
}

impl Work {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let init = |name: &str| {
            let repo = Repo::init(&folder.path().join(name), &[]);
            repo.commit(name, "one");
            repo
        };
        let (inner, lib, web) = (init("inner"), init("lib"), init("web"));
        let add = |repo: &Repo, of: &Repo, path: &str| {
            repo.git(&["submodule", "--quiet", "add", of.0.to_str().unwrap(), path]);
            repo.commit("with", path);
        };
        add(&lib, &inner, "deep/inner");
        lib.commit("kept", "kept");
        lib.commit("gone", "gone");
        add(&web, &lib, "vendor/lib");
        web.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);
        let lib = Repo(web.0.join("vendor/lib"));
        let inner = Repo(lib.0.join("deep/inner"));
        Self {
            _folder: folder,
            web,
            lib,
            inner,
        }
    }

    /// A bake of what is committed now.
    fn request(&self, name: &str, parent: Option<&BakeRequest>, commands: &[&str]) -> BakeRequest {
        let mut request = request(name, parent, commands);
        request.checkouts.push(Checkout {
            path: "web".to_owned(),
            location: RepoLocation::Disk(self.web.0.clone()),
            url: String::new(),
            reference: "refs/heads/main".to_owned(),
            commit: self.web.git(&["rev-parse", "HEAD"]).parse().unwrap(),
            depth: 1,
            submodules: true,
            lfs: true,
            only: None,
            taken: BTreeSet::new(),
            credential: None,
        });
        request
    }
}

async fn seen(house: &OnDisk, request: &BakeRequest, script: &str) -> String {
    publish(house.backend(), request).await;
    let sandbox = boot(house.backend(), request).await;
    let (ending, lines) = sh(house.backend(), &sandbox, script).await;
    house.backend().destroy(&sandbox).await.unwrap();
    assert!(ending.success(), "{lines:?}");
    lines.join("\n")
}

/// behaviours 1.22, 1.24
pub(crate) async fn submodules_are_completed_in_place(house: &OnDisk) {
    let work = Work::new();
    let run =
        "touch -d @1000000000 web/vendor/lib/kept; echo built > web/vendor/lib/deep/inner/out";
    let parent = work.request("one", None, &[run]);
    let look = "cd web; git status --porcelain; cd vendor/lib; ls; stat -c %Y kept; \
        cd deep/inner; git status --porcelain; ls; cat moved out";
    publish(house.backend(), &parent).await;
    work.inner.git(&["mv", "inner", "moved"]);
    work.inner.commit("moved", "two\n");
    work.lib.git(&["rm", "--quiet", "gone"]);
    work.lib.commit("lib", "two");
    work.web.commit("web", "two");
    let child = work.request("two", Some(&parent), &["true"]);
    let expected =
        " M vendor/lib\ndeep\nkept\nlib\nwith\n1000000000\n?? out\nmoved\nout\ntwo\nbuilt";
    assert_eq!(seen(house, &child, look).await, expected);
}

pub(crate) async fn submodules_that_are_not_wanted_any_more_go(house: &OnDisk) {
    let work = Work::new();
    let parent = work.request("one", None, &["true"]);
    publish(house.backend(), &parent).await;
    let mut child = work.request("none", Some(&parent), &["true"]);
    child.checkouts[0].submodules = false;
    let look = "cd web; git status --porcelain; git submodule status | cut -c1; ls -A vendor/lib; ls .git/modules 2>&1 | wc -l";
    assert_eq!(seen(house, &child, look).await, "-\n1");
    // Its folder is one of files now.
    work.web
        .git(&["rm", "--quiet", "-f", ".gitmodules", "vendor/lib"]);
    work.web.commit("vendor/lib/plain", "plain");
    let child = work.request("plain", Some(&parent), &["true"]);
    let look = "cd web; git status --porcelain; ls -A vendor/lib; ls .git/modules 2>&1 | wc -l";
    assert_eq!(seen(house, &child, look).await, "plain\n1");
}

/// CVE-2021-21300 and its kind: what a step has put in the way of a submodule.
pub(crate) async fn a_link_in_the_way_of_a_submodule_is_not_followed(house: &OnDisk) {
    let work = Work::new();
    let runs = [
        "mv web/vendor elsewhere; ln -s ../elsewhere web/vendor; echo mine > elsewhere/lib/lib",
        "mv web/vendor/lib elsewhere; ln -s ../../elsewhere web/vendor/lib; echo mine > elsewhere/lib",
    ];
    for (number, run) in runs.into_iter().enumerate() {
        let parent = work.request(&format!("parent {number}"), None, &[run]);
        publish(house.backend(), &parent).await;
        let child = work.request(&format!("child {number}"), Some(&parent), &["true"]);
        let look = "cat $(find elsewhere -name lib -type f); cat web/vendor/lib/lib; echo; git -C web status --porcelain; \
            find web -type l";
        assert_eq!(seen(house, &child, look).await, "mine\none", "{run}");
    }
}
