//! Repositories and files, brought into a workspace.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::time::Duration;

use atelier::backend::{self, WorkspaceFile};
use atelier::checkout;
use atelier::git::Git;
use atelier::node::ObjectId;
use atelier::resolve::RepoLocation;
use atelier::runner::attachment;
use atelier::runner::protocol::{
    Checkout, CheckoutRequest, Entry, Failure, Host, Kind, Login, Network, Outcome,
};

use super::git_server::{GitServer, Manner};
use super::house::{Answer, House, NONCE, step, steps};
use super::repo::Repo;

/// A repository that is served.
struct World {
    _folder: tempfile::TempDir,
    work: Repo,
    server: GitServer,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let served = folder.path().join("served");
        Repo::init(&served.join("web.git"), &["--bare"]);
        let work = Repo::init(&folder.path().join("work"), &[]);
        let server = GitServer::start(&served);
        work.git(&["remote", "add", "origin", "../served/web.git"]);
        Self {
            _folder: folder,
            work,
            server,
        }
    }

    fn commit(&self, file: &str, content: &str) -> String {
        let id = self.work.commit(file, content);
        self.work.git(&["push", "--quiet", "origin", "main"]);
        id
    }

    fn checkout(&self, commit: &str) -> Checkout {
        Checkout {
            path: "src/web".to_owned(),
            url: self.server.url("web.git"),
            reference: "refs/heads/main".to_owned(),
            commit: commit.to_owned(),
            depth: 1,
            submodules: true,
            lfs: true,
            only: None,
            taken: Vec::new(),
            credential: None,
            attachment: None,
        }
    }
}

fn request(checkouts: Vec<Checkout>) -> CheckoutRequest {
    CheckoutRequest {
        nonce: NONCE.to_owned(),
        checkouts,
        files: Vec::new(),
        folders: Vec::new(),
        network: Network::default(),
        limit: Duration::from_mins(1),
        attachments: 0,
    }
}

fn ask(house: &House, request: &CheckoutRequest, attachments: &[Vec<u8>]) -> Answer {
    house.ask("checkout", &[], request, attachments)
}

fn done(answer: &Answer) {
    let outcome = answer.outcome();
    assert!(matches!(outcome, Outcome::CheckedOut(_)), "{outcome:?}");
    assert_eq!(answer.code, 0);
}

#[test]
fn a_commit_and_files_are_put_into_an_empty_volume() {
    let house = House::new();
    let world = World::new();
    let commit = world.commit("a/b", "one");
    let mut request = request(vec![world.checkout(&commit)]);
    request.files.push(WorkspaceFile {
        path: ".config/tool".to_owned(),
        mode: 0o600,
        content: b"setting".to_vec(),
    });
    let copies = house.copies().display().to_string();
    let answer = house.ask("checkout", &["--copy-to", &copies], &request, &[]);
    done(&answer);
    let Kind::Request { nonce } = &answer.events[0].kind else {
        panic!("{:?}", answer.events[0]);
    };
    assert_eq!(nonce, NONCE);
    assert_eq!(house.in_volume(), ["ws"]);
    let mode = |path: &str| fs::metadata(house.workspace().join(path)).unwrap().mode() & 0o7777;
    assert_eq!(
        (
            mode(""),
            mode("src"),
            mode("src/web/a/b"),
            mode(".config/tool")
        ),
        (0o755, 0o755, 0o644, 0o600)
    );
    let owner = fs::metadata(house.volume()).unwrap().gid();
    let file = fs::metadata(house.workspace().join("src/web/a/b")).unwrap();
    assert_eq!(file.gid(), owner);
    let clone = Repo(house.workspace().join("src/web"));
    let status = clone.git(&[
        "-c",
        "safe.directory=*",
        "status",
        "--porcelain",
        "--branch",
    ]);
    assert_eq!(status, "## main...origin/main");
    let url = clone.git(&["-c", "safe.directory=*", "remote", "get-url", "origin"]);
    assert_eq!(url, world.server.url("web.git"));
    let copy = fs::metadata(house.copies().join("atelier-runner")).unwrap();
    assert_eq!(copy.permissions().mode() & 0o7777, 0o755);
    assert_eq!(
        copy.len(),
        fs::metadata(env!("CARGO_BIN_EXE_atelier-runner"))
            .unwrap()
            .len()
    );
}

#[test]
fn a_parents_workspace_is_brought_to_the_commit() {
    let house = House::new();
    let world = World::new();
    let first = world.commit("gone", "one");
    done(&ask(&house, &request(vec![world.checkout(&first)]), &[]));
    fs::write(house.workspace().join("src/web/built"), "kept").unwrap();
    fs::write(house.volume().join("manifest"), "of the parent").unwrap();
    fs::remove_file(world.work.0.join("gone")).unwrap();
    let second = world.commit("new", "two");
    done(&ask(&house, &request(vec![world.checkout(&second)]), &[]));
    let there = |name: &str| house.workspace().join("src/web").join(name).exists();
    assert_eq!(
        (there("gone"), there("new"), there("built")),
        (false, true, true)
    );
    assert_eq!(house.in_volume(), ["ws"]);
}

/// What its steps would have found in a clone of its snapshot they find in the copy.
#[test]
fn the_workspace_of_another_volume_is_copied_as_it_is() {
    let (parent, house) = (House::with_workspace(), House::new());
    let make = "mkdir -p d/e; echo one >d/f; ln d/f d/e/again; ln -s ../f d/e/link; ln -s nowhere broken; chmod 4710 d/f; chmod 700 d/e
        truncate -s 10M holes; echo end >>holes; touch -d 2001-02-03T04:05:06.789 d/f d; mkfifo pipe; python3 -c 'import os; os.setxattr(\"d/f\", \"user.note\", b\"kept\")'";
    let made = parent.steps(&steps(vec![step(make)]));
    let parent_s = parent.volume().display().to_string();
    done(&house.ask(
        "checkout",
        &["--parent", &parent_s],
        &request(Vec::new()),
        &[],
    ));
    let copied = house.steps(&steps(vec![step("true")]));
    assert_eq!(copied.baked().manifest, made.baked().manifest);
    assert!(copied.baked().bytes < 1 << 20, "{:?}", copied.baked());
}

#[test]
fn some_files_come_without_a_repository() {
    let house = House::new();
    let world = World::new();
    let commit = world.commit("package.json", "{}");
    let object = world.work.git(&["rev-parse", "HEAD:package.json"]);
    let entry = |path: &str, object: Option<String>| Entry {
        path: path.to_owned(),
        mode: "100644".to_owned(),
        object,
    };
    let mut asked = world.checkout(&commit);
    asked.only = Some(vec![
        entry("package.json", Some(object)),
        entry("src/stub", None),
    ]);
    done(&ask(&house, &request(vec![asked]), &[]));
    let web = house.workspace().join("src/web");
    assert_eq!(fs::read_to_string(web.join("package.json")).unwrap(), "{}");
    assert_eq!(fs::read_to_string(web.join("src/stub")).unwrap(), "");
    assert!(!web.join(".git").exists());
}

#[test]
fn what_only_the_caller_can_reach_is_attached() {
    let house = House::new();
    let world = World::new();
    let commit = world.work.commit("file", "not pushed");
    let folder = tempfile::tempdir().unwrap();
    let git = Git::new(folder.path(), std::env::vars_os()).unwrap();
    let local = backend::Checkout {
        path: "src/web".to_owned(),
        location: RepoLocation::Disk(world.work.0.clone()),
        url: "https://example.org/web".to_owned(),
        reference: "refs/heads/main".to_owned(),
        commit: commit.parse::<ObjectId>().unwrap(),
        depth: 1,
        submodules: true,
        lfs: true,
        only: None,
        taken: std::collections::BTreeSet::new(),
        credential: None,
    };
    let fetched = folder.path().join("0");
    block_on(checkout::fetch(
        &git,
        &local,
        &fetched,
        Duration::from_mins(1),
    ))
    .unwrap();
    let mut attached = Vec::new();
    attachment::pack(&fetched, &mut attached).unwrap();
    let mut asked = world.checkout(&commit);
    asked.url.clone_from(&local.url);
    asked.attachment = Some(0);
    let mut asked = request(vec![asked]);
    asked.attachments = 1;
    done(&ask(&house, &asked, &[attached]));
    let file = house.workspace().join("src/web/file");
    assert_eq!(fs::read_to_string(file).unwrap(), "not pushed");
    assert_eq!(world.server.requests().len(), 0);

    asked.attachments = 0;
    let text = format!("{:?}", ask(&house, &asked, &[]).failure());
    assert!(text.contains("an attachment is missing"), "{text}");
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

#[test]
fn a_login_opens_a_repository_and_is_seen_nowhere() {
    let house = House::new();
    let world = World::new();
    let commit = world.commit("file", "private");
    let token = "tok-3d8c2b6a";
    world.server.behave(Manner::Login {
        user: "bot".to_owned(),
        password: token.to_owned(),
    });
    let answer = ask(&house, &request(vec![world.checkout(&commit)]), &[]);
    let text = format!("{:?}", answer.failure());
    assert!(text.contains("asks for a login"), "{text}");
    let mut asked = world.checkout(&commit);
    asked.credential = Some(Login {
        user: Some("bot".to_owned()),
        token: token.to_owned(),
    });
    let answer = ask(&house, &request(vec![asked]), &[]);
    done(&answer);
    assert!(!answer.text.contains(token));
    let found = Command::new("grep")
        .args(["-ral", token])
        .arg(house.volume())
        .output();
    assert_eq!(String::from_utf8(found.unwrap().stdout).unwrap(), "");
}

#[test]
fn what_cannot_be_had_is_told() {
    let house = House::new();
    let world = World::new();
    world.commit("file", "one");
    let asked = world.checkout("0123456789012345678901234567890123456789");
    let answer = ask(&house, &request(vec![asked]), &[]);
    let Failure::Checkout { input, cause, .. } = answer.failure() else {
        panic!("{:?}", answer.failure());
    };
    assert_eq!(input, &world.server.url("web.git"));
    assert!(cause.contains("is gone"), "{cause}");
    let asked = world.checkout("nonsense");
    let text = format!("{:?}", ask(&house, &request(vec![asked]), &[]).failure());
    assert!(text.contains("wrong object id"), "{text}");
}

#[test]
fn a_workspace_that_leads_elsewhere_is_refused() {
    let house = House::with_workspace();
    let world = World::new();
    let commit = world.commit("file", "one");
    std::os::unix::fs::symlink(house.copies(), house.workspace().join("src")).unwrap();
    let text = format!(
        "{:?}",
        ask(&house, &request(vec![world.checkout(&commit)]), &[]).failure()
    );
    assert!(text.contains("through a symbolic link"), "{text}");
    assert!(!house.copies().join("web/file").exists());
}

/// `tests/cluster/git-server`, whose certificate a private authority has signed.
struct Https {
    folder: tempfile::TempDir,
    server: std::process::Child,
    host: String,
}

impl Https {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = "
            key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2'
            openssl req -x509 $key -subj /CN=ours -keyout ca.key -out ca.crt
            openssl req $key -subj /CN=git -keyout key -out csr
            echo subjectAltName=IP:127.0.0.1 >names
            openssl x509 -req -in csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out crt";
        let made = Command::new("sh")
            .args(["-euc", script])
            .current_dir(folder.path())
            .output();
        assert!(made.as_ref().unwrap().status.success(), "{made:?}");
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/git-server");
        let server = Command::new(program)
            .arg(folder.path())
            .args(["127.0.0.1", &port.to_string(), "crt", "key"])
            .current_dir(folder.path())
            .spawn();
        let https = Self {
            folder,
            server: server.unwrap(),
            host: format!("127.0.0.1:{port}"),
        };
        super::steps::wait_for(|| TcpStream::connect(&https.host).is_ok());
        https
    }
}

impl Drop for Https {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

#[test]
fn a_private_authority_is_trusted_where_it_is_named() {
    let house = House::new();
    let https = Https::start();
    let bare = Repo::init(&https.folder.path().join("web.git"), &["--bare"]);
    let work = Repo::init(&https.folder.path().join("work"), &[]);
    let commit = work.commit("file", "over https");
    work.git(&["push", "--quiet", &bare.0.display().to_string(), "main"]);
    let checkout = || Checkout {
        url: format!("https://{}/web.git", https.host),
        ..World::new().checkout(&commit)
    };
    let mut asked = request(vec![checkout()]);
    let text = format!("{:?}", ask(&house, &asked, &[]).failure());
    assert!(text.contains("certificate is not trusted"), "{text}");
    let authority = fs::read_to_string(https.folder.path().join("ca.crt")).unwrap();
    let host = Host {
        user: None,
        certificates: Some(authority.clone()),
    };
    asked.network.hosts.insert(https.host.clone(), host);
    done(&ask(&house, &asked, &[]));
    let file = house.workspace().join("src/web/file");
    assert_eq!(fs::read_to_string(file).unwrap(), "over https");
    // The authority vouches for no other server.
    let ours = asked.network.hosts.remove(&https.host).unwrap();
    let other = "git.example.org".to_owned();
    asked.network.hosts.insert(other, ours);
    let text = format!("{:?}", ask(&house, &asked, &[]).failure());
    assert!(text.contains("certificate is not trusted"), "{text}");
    asked.network.certificates = Some(authority);
    done(&ask(&house, &asked, &[]));
}

#[test]
fn submodules_come_along_and_are_verified() {
    let house = House::new();
    let world = World::new();
    let served = world.server.bare("lib");
    Repo::init(&served.0, &["--bare"]);
    let lib = Repo::init(&world.work.0.with_file_name("lib"), &[]);
    lib.commit("file", "of the library");
    lib.git(&["push", "--quiet", &served.0.display().to_string(), "main"]);
    served.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    let url = world.server.url("lib.git");
    world.commit("own", "one");
    world
        .work
        .git(&["submodule", "--quiet", "add", &url, "parts/lib"]);
    let commit = world.commit("other", "with a part");
    done(&ask(&house, &request(vec![world.checkout(&commit)]), &[]));
    let file = house.workspace().join("src/web/parts/lib/file");
    assert_eq!(fs::read_to_string(file).unwrap(), "of the library");

    let mut asked = steps(vec![step("true")]);
    asked.checkouts = vec!["src/web".to_owned()];
    let whole = house.steps(&asked);
    assert!(whole.baked().verified.contains(&"git fsck".to_owned()));
    asked.steps = vec![step("rm -rf src/web/.git/modules/parts/lib/objects/pack")];
    let text = format!("{:?}", house.steps(&asked).failure());
    assert!(
        text.contains("cannot verify the repository src/web"),
        "{text}"
    );
    // One that a step has removed is nobody's any more.
    asked.steps = vec![step("rm -r src/web/.git/modules")];
    house.steps(&asked).baked();
}
