//! Many inputs take as long as the slowest of them, and not as long as all of them one after the other.

use std::fmt::Write as _;

use crate::Bench;
use crate::front::{Front, Gate, Manner};
use crate::git_server::GitServer;
use crate::project::Project;
use crate::registry::Registry;
use crate::repo::Repo;

/// Of images, and of repositories.
const EACH: usize = 10;

/// Servers that answer nobody until all have asked: one request after the other, or some at a time, would wait in vain.
#[test]
fn twenty_inputs_are_asked_for_at_the_same_time() {
    let (registry, bench, project) = (Registry::open(), Bench::new(), Project::empty());
    let (images, gate) = (Front::of(registry.port), Gate::of(2 * EACH));
    let folder = project.root.parent().unwrap();
    let work = Repo::init(&folder.join("work"), &[]);
    work.commit("a", "one");
    let server = GitServer::start(&folder.join("served"));
    let repos = Front::of(server.port);
    let image = bench.image(&[]);
    let mut file = String::new();
    for number in 0..EACH {
        registry.push(&bench.layout, &image, "dev", &number.to_string());
        let bare = folder.join(format!("served/web{number}.git"));
        work.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
        let (image, port) = (images.image(&format!("dev:{number}")), repos.port);
        writeln!(
            file,
            "prebuild p{number} {{ from \"{image}\"; repo \"http://127.0.0.1:{port}/web{number}\"; }}"
        )
        .unwrap();
    }
    project.write("prebuild.kdl", &file);
    images.meet("/manifests/", EACH, Manner::Gather(gate.clone()));
    repos.meet("/info/refs", EACH, Manner::Gather(gate.clone()));
    let ran = project.run(&["plan", "--json"]);
    assert_eq!(gate.most(), 2 * EACH, "{}", ran.stderr);
    assert_eq!(ran.expect(0).column("key").len(), EACH);
}
