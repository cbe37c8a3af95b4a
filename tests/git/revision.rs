//! Files of a repository as of a commit.

use std::os::unix::fs::symlink;

use atelier::git::{AtCommit, Problem};

use super::{World, problem};

#[tokio::test]
async fn a_revision_is_what_git_says_it_is() {
    let world = World::new();
    let find = async |revision: &str| {
        world
            .git
            .find_commit(&world.work.0, revision)
            .await
            .unwrap()
    };
    assert_eq!(find("HEAD").await, Some(world.id("main")));
    assert_eq!(find("main~1").await, Some(world.id("light")));
    // A tag that is an object of its own is peeled.
    assert_eq!(find("v1").await, Some(world.id("v1^{commit}")));
    let id = world.id("next").to_string();
    assert_eq!(find(&id[..8]).await, Some(world.id("next")));
    for nothing in [
        "HEAD~9",
        "none",
        "",
        "--all",
        "HEAD:a",
        "main next",
        "HEAD^{tree}",
    ] {
        assert_eq!(find(nothing).await, None, "{nothing}");
    }
    // Two commits whose ids begin alike.
    for number in ["1093", "6087"] {
        let who = "A <a@example.org> 0 +0000";
        let tree = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let text = format!("{tree}\nauthor {who}\ncommitter {who}\n\n{number}\n");
        std::fs::write(world.work.0.join("twin"), text).unwrap();
        world
            .work
            .git(&["hash-object", "-t", "commit", "-w", "twin"]);
    }
    assert!(find("31f1158").await.is_some());
    let found = world.git.find_commit(&world.work.0, "31f115").await;
    assert!(matches!(problem(found), Problem::Ambiguous(_)));
    let elsewhere = tempfile::tempdir().unwrap();
    let found = world.git.find_commit(elsewhere.path(), "HEAD").await;
    assert!(matches!(problem(found), Problem::NotARepository(_)));
}

#[tokio::test]
async fn a_commit_has_what_it_had_whatever_the_work_tree_has() {
    let world = World::with_format("sha256");
    let work = &world.work;
    std::fs::create_dir(work.0.join("folder")).unwrap();
    std::fs::write(work.0.join("folder/[a] *"), "odd name").unwrap();
    symlink("folder/x", work.0.join("link")).unwrap();
    symlink("../folder", work.0.join("folder/self")).unwrap();
    work.gitlink("module", &"2".repeat(64));
    work.commit("run", "text");
    let head = world.id("HEAD");
    std::fs::write(work.0.join("run"), "another text").unwrap();
    let read =
        async |path: &str, limit| world.git.read_at(&work.0, head, path, limit).await.unwrap();
    assert_eq!(read("run", 4).await, AtCommit::File(b"text".to_vec()));
    assert_eq!(read("run", 3).await, AtCommit::TooLarge(4));
    assert_eq!(
        read("folder/[a] *", 99).await,
        AtCommit::File(b"odd name".to_vec())
    );
    let link = |at: &str, to: &str| AtCommit::Link {
        at: at.to_owned(),
        to: to.as_bytes().to_vec(),
    };
    assert_eq!(read("link", 0).await, link("link", "folder/x"));
    assert_eq!(
        read("folder/self/a/b", 0).await,
        link("folder/self", "../folder")
    );
    for other in ["folder", "module", "module/a"] {
        assert_eq!(read(other, 99).await, AtCommit::Other, "{other}");
    }
    for nothing in ["none", "folder/none", "run/x", "fold", "r"] {
        assert_eq!(read(nothing, 99).await, AtCommit::Nothing, "{nothing}");
    }
    let first = world.id("v1^{commit}");
    assert_eq!(
        world.git.read_at(&work.0, first, "b", 9).await.unwrap(),
        AtCommit::Nothing
    );
    let unknown = "1".repeat(64).parse().unwrap();
    let none = problem(world.git.read_at(&work.0, unknown, "run", 9).await);
    assert!(matches!(none, Problem::Other(_)), "{none}");
}

#[tokio::test]
async fn a_file_in_lfs_is_its_content() {
    let world = World::new();
    let work = &world.work;
    let oid = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let pointer = |size: u32| {
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n")
    };
    std::fs::write(work.0.join("empty.bin"), pointer(0)).unwrap();
    work.commit("hello.bin", &pointer(5));
    let head = world.id("HEAD");
    let read = async |path: &str, limit| world.git.read_at(&work.0, head, path, limit).await;
    let missing = problem(read("hello.bin", 99).await);
    assert!(matches!(missing, Problem::LfsNotHere(_)), "{missing}");
    let object = work.0.join(".git/lfs/objects/2c/f2").join(oid);
    std::fs::create_dir_all(object.parent().unwrap()).unwrap();
    std::fs::write(&object, "hellx").unwrap();
    assert!(read("hello.bin", 99).await.is_err(), "what is damaged");
    std::fs::write(&object, "hello").unwrap();
    let hello = AtCommit::File(b"hello".to_vec());
    assert_eq!(read("hello.bin", 5).await.unwrap(), hello);
    assert_eq!(read("hello.bin", 4).await.unwrap(), AtCommit::TooLarge(5));
    assert_eq!(
        read("empty.bin", 0).await.unwrap(),
        AtCommit::File(Vec::new())
    );
}
