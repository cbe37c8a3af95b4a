//! All inputs of a graph, pinned from the real world at once.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

use std::path::Path;

use atelier::git::{Credential, Git};
use atelier::resolve::live::Live;
use atelier::resolve::{
    ImageLocation, PinError, Pinned, Pins, RepoInput, RepoLocation, host, resolve_all,
};
use atelier_lang::graph::{
    Base, Content, File, Graph, ImageRef, Node, NodeId, Places, Reference, Repo as RepoNode,
    RepoSource, Resources,
};
use atelier_lang::source::VirtualPath;
use atelier_lang::span::{FileId, Span, Spanned};

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "support/git_server.rs"]
mod git_server;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "support/oci_layout.rs"]
mod oci_layout;
#[path = "support/repo.rs"]
mod repo;

use git_server::{GitServer, Manner};
use oci_layout::{OciLayout, on};
use repo::Repo;

fn span(start: u32) -> Span {
    Span::new(FileId(0), start, start + 1)
}

/// A node of `linux/amd64` with the inputs that a test gives it.
fn node(name: &str, image: ImageRef) -> Node {
    Node {
        name: Spanned::new(name.to_owned(), span(0)),
        base: Base::Image(Spanned::new(image, span(1))),
        platform: host::platform(),
        repos: Vec::new(),
        files: Vec::new(),
        steps: Vec::new(),
        env: std::collections::BTreeMap::default(),
        path: Vec::new(),
        secrets: Vec::new(),
        caches: Vec::new(),
        resources: Resources {
            cpu: 1,
            memory: 1,
            disk: 1,
            timeout: std::time::Duration::from_secs(1),
        },
        about: None,
        places: Places {
            base: span(1),
            env: std::collections::BTreeMap::default(),
            path: Vec::new(),
            platform: None,
        },
        span: span(0),
    }
}

fn repo(start: u32, source: RepoSource, reference: Option<Reference>) -> RepoNode {
    RepoNode {
        source: Spanned::new(source, span(start)),
        reference: reference.map(|reference| Spanned::new(reference, span(start))),
        path: None,
        auth: None,
        depth: 1,
        submodules: false,
        lfs: false,
        only: None,
        properties: std::collections::BTreeMap::default(),
        span: span(start),
    }
}

fn local(start: u32, path: &str) -> File {
    File {
        destination: Spanned::new("x".to_owned(), span(start)),
        mode: "0644".to_owned(),
        content: Content::Local(VirtualPath::new(path).unwrap()),
        span: span(start),
    }
}

fn live(root: &Path) -> Live {
    let state = root.join("state");
    let git = Git::new(&state, std::env::vars_os()).unwrap();
    Live::new(root.to_owned(), root.to_owned(), &state, git)
}

async fn resolve(nodes: Vec<Node>, live: &Live) -> Result<Pinned, Vec<(Span, PinError)>> {
    let needed: Vec<NodeId> = (0..nodes.len()).map(NodeId).collect();
    let graph = Graph {
        nodes,
        ..Graph::default()
    };
    resolve_all(&graph, &needed, live).await
}

/// A project folder with a repository that is served, another copy of it on disk, an image and a file.
struct Project {
    folder: tempfile::TempDir,
    server: GitServer,
    commit: String,
    image: String,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let work = Repo::init(&root.join("work"), &[]);
        let commit = work.commit("a", "one");
        Repo::init(&root.join("srv/web.git"), &["--bare"]);
        work.git(&["push", "--quiet", "../srv/web.git", "main", "main:next"]);
        let server = GitServer::start(&root.join("srv"));
        let layout = OciLayout::create(&root.join("image"));
        let image = layout.image(&host::platform(), &[b"layer"]);
        layout.set_top(std::slice::from_ref(&image));
        layout.archive(&root.join("image.tar"), "");
        std::fs::write(root.join("local"), "text").unwrap();
        Self {
            folder,
            server,
            commit,
            image: oci_layout::digest(&image),
        }
    }

    fn live(&self) -> Live {
        live(self.folder.path())
    }

    fn remote(&self) -> RepoSource {
        RepoSource::Url(self.server.url("web"))
    }
}

#[tokio::test]
async fn repositories_are_pinned_by_one_question_each() {
    let project = Project::new();
    let source = project.remote();
    let next = Some(Reference::Branch("next".to_owned()));
    let fixed = Some(Reference::Commit("7".repeat(40)));
    let disk = RepoSource::Disk("work".to_owned());
    let mut one = node("one", ImageRef::Host);
    one.repos = vec![
        repo(10, source.clone(), None),
        repo(11, source.clone(), next.clone()),
    ];
    let mut two = node("two", ImageRef::Host);
    two.repos = vec![
        repo(13, source.clone(), None),
        repo(14, source.clone(), fixed.clone()),
        repo(15, disk.clone(), None),
    ];
    let pinned = resolve(vec![one, two], &project.live()).await.unwrap();
    // One question in protocol 2 is two requests.
    assert_eq!(project.server.requests().len(), 2);
    let find = |reference: Option<Reference>| {
        pinned
            .repo(&RepoInput {
                source: source.clone(),
                reference,
            })
            .unwrap()
    };
    let main = find(None);
    assert_eq!(
        (main.reference.as_str(), &main.commit.to_string()),
        ("refs/heads/main", &project.commit)
    );
    assert_eq!(main.default_path.as_deref(), Some("web"));
    assert_eq!(main.location, RepoLocation::Url(project.server.url("web")));
    assert_eq!(find(next).reference, "refs/heads/next");
    assert_eq!(find(fixed).commit.to_string(), "7".repeat(40));
    let disk = pinned
        .repo(&RepoInput {
            source: disk,
            reference: None,
        })
        .unwrap();
    assert_eq!((disk.url.as_str(), disk.reference.as_str()), ("", ""));
    assert_eq!(
        (disk.commit.to_string(), disk.default_path.as_deref()),
        (project.commit, Some("work"))
    );
}

#[tokio::test]
async fn images_and_files_are_pinned() {
    let project = Project::new();
    let wanted = [
        ImageRef::Layout("image".to_owned()),
        ImageRef::Archive("./image.tar".to_owned()),
        ImageRef::Alias("dev-base".to_owned()),
    ];
    let mut nodes: Vec<Node> = wanted
        .iter()
        .map(|image| node("any", image.clone()))
        .collect();
    nodes[0].files = vec![local(12, "local")];
    let pinned = resolve(nodes, &project.live()).await.unwrap();
    for image in &wanted[..2] {
        let found = pinned.image(image, &host::platform()).unwrap();
        assert_eq!(found.digest.to_string(), project.image);
    }
    let base = pinned.image(&wanted[2], &host::platform()).unwrap();
    let ImageLocation::Host { hidden, .. } = &base.location else {
        panic!("not the host")
    };
    assert!(hidden.contains(&"/etc/shadow".into()) || !Path::new("/etc/shadow").exists());
    let file = pinned.file(&VirtualPath::new("local").unwrap()).unwrap();
    assert_eq!(file.hash, *blake3::hash(b"text").as_bytes());
    let mut foreign = node("foreign", ImageRef::Host);
    foreign.platform = "plan9/mips".to_owned();
    let errors = resolve(vec![foreign], &project.live()).await.unwrap_err();
    assert!(
        errors[0].1.cause.contains("plan9/mips"),
        "{}",
        errors[0].1.cause
    );
}

/// Whether an index says what it is for, or only the image itself, or the index says something else.
#[tokio::test]
async fn an_image_for_another_machine_is_refused_by_both_names() {
    let folder = tempfile::tempdir().unwrap();
    let layout = OciLayout::create(&folder.path().join("image"));
    let own = host::platform();
    let alone = layout.image("linux/vax", &[b"layer"]);
    let tops = [
        alone.clone(),
        on("linux/vax", alone.clone()),
        layout.index(&[on("linux/vax", alone.clone())]),
        on(&own, alone),
    ];
    for top in tops {
        layout.set_top(&[top]);
        let node = node("foreign", ImageRef::Layout("image".to_owned()));
        let errors = resolve(vec![node], &live(folder.path())).await.unwrap_err();
        let error = &errors[0].1;
        assert_eq!(
            error.cause,
            format!("it has no image for {own}, only for linux/vax")
        );
        assert!(error.help.contains("`platform=`"), "{}", error.help);
    }
}

#[tokio::test]
async fn all_failures_are_reported_in_the_order_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let server = GitServer::start(root);
    server.behave(Manner::Fail {
        status: 404,
        times: usize::MAX,
    });
    let mut one = node(
        "one",
        ImageRef::Registry("localhost:1/acme/dev:3".to_owned()),
    );
    one.repos = vec![
        repo(30, RepoSource::Disk("none".to_owned()), None),
        repo(
            20,
            RepoSource::Url(server.url("web")),
            Some(Reference::Tag("v1".to_owned())),
        ),
    ];
    let mut two = node("two", ImageRef::Alias("other".to_owned()));
    two.base = Base::Image(Spanned::new(ImageRef::Alias("other".to_owned()), span(45)));
    two.files = vec![local(50, "missing"), local(51, "missing")];
    let errors = resolve(vec![one, two], &live(root)).await.unwrap_err();
    let shown: Vec<_> = errors
        .iter()
        .map(|(span, error)| (span.start, error.input.clone()))
        .collect();
    let web = format!("{} (tag v1)", server.url("web"));
    let expected = [
        (1, "localhost:1/acme/dev:3"),
        (20, web.as_str()),
        (30, "none"),
        (45, "other"),
        (50, "missing"),
    ];
    assert_eq!(
        shown
            .iter()
            .map(|(start, input)| (*start, input.as_str()))
            .collect::<Vec<_>>(),
        expected
    );
    assert!(
        errors
            .iter()
            .all(|(_, error)| !error.cause.is_empty() && !error.help.is_empty())
    );
    assert!(errors[0].1.cause.contains("localhost:1 cannot be reached"));
    assert!(errors[3].1.help.contains("alias other"));
}

#[tokio::test]
async fn a_repository_on_disk_is_known_by_its_origin() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let work = Repo::init(root, &[]);
    work.commit("a", "one");
    let live = live(root);
    let input = |reference| RepoInput {
        source: RepoSource::Disk(".".to_owned()),
        reference,
    };
    let first = live.repo(&input(None)).await.unwrap();
    assert_eq!(first.default_path, None);
    work.git(&[
        "remote",
        "add",
        "origin",
        "https://me:canary@example.org/acme/web.git",
    ]);
    std::fs::write(root.join("a"), "changed").unwrap();
    std::fs::write(root.join(".gitignore"), "state\n").unwrap();
    let branch = live
        .repo(&input(Some(Reference::Branch("main".to_owned()))))
        .await
        .unwrap();
    assert_eq!(branch.reference, "refs/heads/main");
    let fresh = self::live(root).repo(&input(None)).await.unwrap();
    assert_eq!(fresh.url, "https://example.org/acme/web");
    assert_eq!(fresh.default_path.as_deref(), Some("web"));
    assert_eq!(
        fresh.notice.as_deref(),
        Some(". has 1 changed and 1 untracked files: only what is committed is baked")
    );
    assert!(!format!("{fresh:?}").contains("canary"));
    let error = live
        .repo(&input(Some(Reference::Branch("none".to_owned()))))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot resolve . (branch none): there is no refs/heads/none"
    );
}

#[tokio::test]
async fn a_private_repository_opens_with_its_credential() {
    let project = Project::new();
    let login = Manner::Login {
        user: "x-access-token".to_owned(),
        password: "tok".to_owned(),
    };
    project.server.behave(login);
    let source = project.remote();
    let input = RepoInput {
        source: source.clone(),
        reference: None,
    };
    let error = project.live().repo(&input).await.unwrap_err();
    assert!(error.help.contains("auth="), "{}", error.help);
    let credential = Credential::parse("tok").unwrap();
    project
        .live()
        .with_credential(source, credential)
        .repo(&input)
        .await
        .unwrap();
}
