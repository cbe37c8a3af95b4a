//! `plan`, `check` and `build` agree on every graph and every store.

use std::fmt::Write as _;
use std::fs;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::project::Project;

/// What happens to a node between two builds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Kept,
    /// Its record is removed.
    Evicted,
    /// Its data is removed, and the record stays.
    Lost,
    /// Its step is another one.
    Edited,
}

/// Each node's parent, and its fate.
fn any_case() -> impl Strategy<Value = Vec<(Option<usize>, Fate)>> {
    let fate = prop_oneof![
        3 => Just(Fate::Kept),
        1 => Just(Fate::Evicted),
        1 => Just(Fate::Lost),
        1 => Just(Fate::Edited),
    ];
    vec((any::<Index>(), 0..4_u8, fate), 2..6).prop_map(|nodes| {
        let node = |(index, (parent, root, fate)): (usize, &(Index, u8, Fate))| {
            let parent = (index > 0 && *root > 0).then(|| parent.index(index));
            (parent, *fate)
        };
        nodes.iter().enumerate().map(node).collect()
    })
}

fn file(case: &[(Option<usize>, Fate)], is_edited: bool) -> String {
    let mut text = String::new();
    for (node, (parent, fate)) in case.iter().enumerate() {
        let from = parent.map_or("dev-base".to_owned(), |parent| {
            format!("prebuild=n{parent}")
        });
        let turn = u8::from(is_edited && *fate == Fate::Edited);
        writeln!(
            text,
            "prebuild n{node} {{ from {from}; run \"echo {node} {turn} > n{node}\"; }}"
        )
        .unwrap();
    }
    let names: Vec<String> = (0..case.len()).map(|node| format!("n{node}")).collect();
    writeln!(text, "group default {}", names.join(" ")).unwrap();
    text
}

/// Takes the snapshots of the case away, as far as the case wants it.
fn spoil(project: &Project, case: &[(Option<usize>, Fate)]) {
    for snapshot in project.snapshots() {
        let node: usize = snapshot["node"].as_str().unwrap()[1..].parse().unwrap();
        let record = project
            .store
            .join(format!("s/{}.json", snapshot["key"].as_str().unwrap()));
        match case[node].1 {
            Fate::Kept | Fate::Edited => {}
            Fate::Evicted => fs::remove_file(record).unwrap(),
            Fate::Lost => {
                let text = fs::read_to_string(record).unwrap();
                let json: serde_json::Value = serde_json::from_str(&text).unwrap();
                let layer = json["layers"].as_array().unwrap().last().unwrap();
                fs::remove_dir_all(project.store.join(layer["name"].as_str().unwrap())).unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 16, ..ProptestConfig::default() })]

    /// behaviours 1.6, 2.3: what `plan` and `check` call a hit is what `build` reuses.
    #[test]
    fn plan_check_and_build_agree(case in any_case()) {
        let project = Project::new(&file(&case, false));
        project.run(&["build"]).expect(0);
        spoil(&project, &case);
        project.write("prebuild.kdl", &file(&case, true));
        let plan = project.run(&["plan", "--json"]).expect(0);
        let misses = plan.column("action").iter().filter(|(_, action)| action == "bake").count();
        let check = project.run(&["check", "--json"]).expect(if misses > 0 { 10 } else { 0 });
        prop_assert_eq!(&check.stdout, &plan.stdout);
        let cached_only = project.run(&["build", "--cached-only"]);
        prop_assert_eq!(cached_only.code(), if misses > 0 { 10 } else { 0 });
        let results = project.build(&[]);
        for ((name, action), (built, result)) in plan.column("action").iter().zip(&results) {
            prop_assert_eq!(name, built);
            let expected = if action == "reuse" { "reused" } else { "baked" };
            prop_assert_eq!(result, expected, "{}", name);
        }
        let all_reused = project.build(&[]).iter().all(|(_, result)| result == "reused");
        prop_assert!(all_reused);
        project.run(&["check"]).expect(0);
    }
}
