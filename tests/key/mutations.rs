//! One leaf of any node changed, come or gone is one leaf in an explanation.

use std::collections::{BTreeMap, BTreeSet};

use atelier::explain::changes;
use atelier::key::key;
use atelier::key::tree::{Content, Tree, tree};
use atelier::node::{
    ContentKey, ImageDigest, Kind, ObjectFormat, ObjectId, ResolvedFile, ResolvedNode,
    ResolvedRepo, ResolvedStep, Shell, Source, TreeEntry, User,
};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::nodes::{any_node, base, manifests, only, wallet};

/// A node with one thing changed, and what of it: the first and the last part of the field's name.
type Mutated = (&'static str, String, ResolvedNode);

/// Every way of changing one thing of a node to what `seed` makes.
fn mutations(node: &ResolvedNode, seed: &str) -> Vec<Mutated> {
    let mut all = Mutations {
        node,
        seed,
        done: Vec::new(),
    };
    all.of_itself();
    let repos: Vec<&String> = node.repos.keys().collect();
    for path in repos {
        match &node.repos[path] {
            ResolvedRepo::Commit { .. } => all.of_commit(path),
            ResolvedRepo::Only { entries, .. } => {
                all.of_only(path);
                for entry in entries {
                    all.of_entry(path, entry);
                }
            }
        }
    }
    all.of_files();
    if !node.steps.is_empty() {
        all.of_variables();
    }
    all.of_steps();
    all.done
}

struct Mutations<'a> {
    node: &'a ResolvedNode,
    seed: &'a str,
    done: Vec<Mutated>,
}

/// Changes one field of a repository; the text and the id are new.
type Edit = fn(&mut ResolvedRepo, &str, ObjectId);

impl Mutations<'_> {
    fn add(&mut self, first: &'static str, last: &str, mutate: impl FnOnce(&mut ResolvedNode)) {
        let mut node = self.node.clone();
        mutate(&mut node);
        if node != *self.node {
            self.done.push((first, last.to_owned(), node));
        }
    }

    fn of_itself(&mut self) {
        let seed = self.seed.to_owned();
        self.add("kind", "kind", |node| {
            node.kind = match node.kind {
                Kind::Prebuild => Kind::Toolchain,
                Kind::Toolchain => Kind::Prebuild,
            }
        });
        self.add("provides", "provides", |node| node.provides.push_str(&seed));
        match &self.node.source {
            Source::Image { digest, platform } => {
                let (digest, platform) = (*digest, platform.clone() + &seed);
                self.add("from", "image digest", |node| {
                    let digest = ImageDigest(digest.0.map(|byte| !byte));
                    if let Source::Image { digest: other, .. } = &mut node.source {
                        *other = digest;
                    }
                });
                self.add("from", "platform", |node| {
                    node.source = Source::Image { digest, platform };
                });
                self.add("from", "from", |node| {
                    node.source = Source::Parent(ContentKey([1; 32]));
                });
            }
            Source::Parent(key) => {
                let key = ContentKey(key.0.map(|byte| !byte));
                self.add("from", "parent key", |node| {
                    node.source = Source::Parent(key);
                });
            }
        }
        for (mount, key) in self.node.needs.clone() {
            let other = ContentKey(key.0.map(|byte| !byte));
            self.add("needs", "key", |node| {
                _ = node.needs.insert(mount.clone(), other);
            });
            self.add("needs", &mount, |node| _ = node.needs.remove(&mount));
        }
        if !self.node.needs.contains_key(&seed) {
            self.add("needs", &seed, |node| {
                node.needs.insert(seed.clone(), ContentKey([2; 32]));
            });
        }
        if !self.node.repos.contains_key(&seed) {
            self.add("repo", &seed, |node| {
                drop(node.repos.insert(seed.clone(), wallet()));
            });
        }
    }

    fn of_commit(&mut self, at: &str) {
        let seed = self.seed.to_owned();
        self.add("repo", at, |node| drop(node.repos.remove(at)));
        let ResolvedRepo::Commit { commit, .. } = self.node.repos[at].clone() else {
            return;
        };
        let other = match commit {
            ObjectId::Sha1(bytes) => ObjectId::Sha1(bytes.map(|byte| !byte)),
            ObjectId::Sha256(bytes) => ObjectId::Sha256(bytes.map(|byte| !byte)),
        };
        // Another hash's id says that by its length.
        let longer = match commit {
            ObjectId::Sha1(_) => ObjectId::Sha256([3; 32]),
            ObjectId::Sha256(_) => ObjectId::Sha1([3; 20]),
        };
        let edits: [(&str, Edit); 5] = [
            ("url", |repo, seed, _| {
                if let ResolvedRepo::Commit { url, .. } = repo {
                    url.push_str(seed);
                }
            }),
            ("ref", |repo, seed, _| {
                if let ResolvedRepo::Commit { reference, .. } = repo {
                    reference.push_str(seed);
                }
            }),
            ("commit", |repo, _, id| {
                if let ResolvedRepo::Commit { commit, .. } = repo {
                    *commit = id;
                }
            }),
            ("depth", |repo, _, _| {
                if let ResolvedRepo::Commit { depth, .. } = repo {
                    *depth = !*depth;
                }
            }),
            ("submodules", flip_submodules),
        ];
        for (last, edit) in edits {
            for id in [other, longer] {
                self.add("repo", last, |node| {
                    edit(node.repos.get_mut(at).unwrap(), &seed, id);
                });
            }
        }
        self.add("repo", "lfs", |node| {
            flip_lfs(node.repos.get_mut(at).unwrap());
        });
    }

    fn of_only(&mut self, at: &str) {
        let id = ObjectId::Sha1([4; 20]);
        self.add("repo", at, |node| drop(node.repos.remove(at)));
        self.add("repo", "lfs", |node| {
            flip_lfs(node.repos.get_mut(at).unwrap());
        });
        self.add("repo", "submodules", |node| {
            flip_submodules(node.repos.get_mut(at).unwrap(), "", id);
        });
        self.add("repo", "hash", |node| {
            flip_format(node.repos.get_mut(at).unwrap());
        });
        self.add("repo", at, |node| {
            drop(node.repos.insert(at.to_owned(), wallet()));
        });
        let seed = self.seed.to_owned();
        let is_new = entries(&mut self.node.clone(), at)
            .iter()
            .all(|entry| entry.path != seed);
        let entry = TreeEntry {
            path: seed.clone(),
            mode: "100644".to_owned(),
            object: Some(id),
        };
        if is_new {
            self.add("repo", &seed, |node| _ = entries(node, at).insert(entry));
        }
    }

    fn of_entry(&mut self, at: &str, entry: &TreeEntry) {
        let replace = |node: &mut ResolvedNode, other: TreeEntry| {
            entries(node, at).remove(entry);
            entries(node, at).insert(other);
        };
        let mode = match entry.mode.as_str() {
            "100644" => "100755",
            _ => "100644",
        };
        let (mode, path) = (mode.to_owned(), entry.path.clone());
        let stub = TreeEntry {
            object: None,
            ..entry.clone()
        };
        let object = TreeEntry {
            object: Some(ObjectId::Sha1([5; 20])),
            ..entry.clone()
        };
        let entry = entry.clone();
        self.add("repo", "mode", |node| {
            replace(
                node,
                TreeEntry {
                    mode,
                    ..entry.clone()
                },
            );
        });
        self.add("repo", "object", |node| replace(node, stub));
        self.add("repo", "object", |node| replace(node, object));
        self.add("repo", &path, |node| _ = entries(node, at).remove(&entry));
    }

    fn of_files(&mut self) {
        let seed = self.seed.to_owned();
        let edit = |node: &mut ResolvedNode, path: &str, edit: &dyn Fn(&mut ResolvedFile)| {
            edit(node.files.get_mut(path).unwrap());
        };
        for path in self.node.files.keys().cloned().collect::<Vec<_>>() {
            self.add("file", "mode", |node| {
                edit(node, &path, &|file| file.mode.push('0'));
            });
            self.add("file", "content", |node| {
                edit(node, &path, &|file| file.content[31] ^= 1);
            });
            self.add("file", &path, |node| drop(node.files.remove(&path)));
        }
        if !self.node.files.contains_key(&seed) {
            let file = ResolvedFile {
                mode: "0644".to_owned(),
                content: [6; 32],
            };
            self.add("file", &seed, |node| {
                drop(node.files.insert(seed.clone(), file));
            });
        }
    }

    fn of_variables(&mut self) {
        let seed = self.seed.to_owned();
        for (name, value) in self.node.env.clone() {
            let other = value + &seed;
            self.add("env", "value", |node| {
                drop(node.env.insert(name.clone(), other));
            });
            self.add("env", &name, |node| drop(node.env.remove(&name)));
        }
        if !self.node.env.contains_key(&seed) {
            self.add("env", &seed, |node| {
                drop(node.env.insert(seed.clone(), String::new()));
            });
        }
        for index in 0..self.node.path.len() {
            self.add("path", "", |node| node.path[index].push_str(&seed));
            self.add("path", "", |node| drop(node.path.remove(index)));
        }
        for index in 0..=self.node.path.len() {
            self.add("path", "", |node| node.path.insert(index, seed.clone()));
        }
    }

    fn of_steps(&mut self) {
        let seed = self.seed.to_owned();
        for index in 0..self.node.steps.len() {
            self.add("step", "run", |node| {
                node.steps[index].command.push_str(&seed);
            });
            self.add("step", "in", |node| {
                node.steps[index].folder.push_str(&seed);
            });
            self.add("step", "as", |node| {
                let user = &mut node.steps[index].user;
                *user = if *user == User::Dev {
                    User::Root
                } else {
                    User::Dev
                };
            });
            self.add("step", "shell", |node| {
                let shell = &mut node.steps[index].shell;
                *shell = if *shell == Shell::Sh {
                    Shell::Bash
                } else {
                    Shell::Sh
                };
            });
            // Without a step, variables are in no key: they would go with the last one.
            if self.node.steps.len() > 1 {
                self.add("step", "", |node| drop(node.steps.remove(index)));
            }
        }
        let step = ResolvedStep {
            user: User::Dev,
            folder: String::new(),
            shell: Shell::Bash,
            command: seed,
        };
        for index in 0..=self.node.steps.len() {
            let step = step.clone();
            self.add("step", "", |node| node.steps.insert(index, step));
        }
    }
}

fn flip_submodules(repo: &mut ResolvedRepo, _: &str, _: ObjectId) {
    match repo {
        ResolvedRepo::Commit { submodules, .. } | ResolvedRepo::Only { submodules, .. } => {
            *submodules = !*submodules;
        }
    }
}

fn flip_format(repo: &mut ResolvedRepo) {
    if let ResolvedRepo::Only { format, .. } = repo {
        *format = match format {
            ObjectFormat::Sha1 => ObjectFormat::Sha256,
            ObjectFormat::Sha256 => ObjectFormat::Sha1,
        };
    }
}

fn flip_lfs(repo: &mut ResolvedRepo) {
    match repo {
        ResolvedRepo::Commit { lfs, .. } | ResolvedRepo::Only { lfs, .. } => *lfs = !*lfs,
    }
}

fn entries<'n>(
    node: &'n mut ResolvedNode,
    at: &str,
) -> &'n mut std::collections::BTreeSet<TreeEntry> {
    match node.repos.get_mut(at).unwrap() {
        ResolvedRepo::Only { entries, .. } => entries,
        ResolvedRepo::Commit { .. } => panic!("{at} is a commit"),
    }
}

proptest! {
    /// behaviours 2.1, 2.2
    #[test]
    fn one_thing_changed_is_one_leaf(node in any_node(), at in any::<Index>(), seed in "[a-c/ ]{1,3}") {
        let mutated = mutations(&node, &seed);
        let (first, last, other) = &mutated[at.index(mutated.len())];
        prop_assert_ne!(key(&node), key(other));
        for (old, new) in [(&node, other), (other, &node)] {
            let changes = changes(old, new);
            prop_assert_eq!(changes.len(), 1, "{:?}", changes);
            let change = &changes[0];
            let parts = change.field.parts();
            prop_assert_eq!(parts[0], *first);
            // The numbers of what is numbered are told by other tests.
            if !last.is_empty() {
                prop_assert_eq!(*parts.last().unwrap(), last.as_str());
            }
            prop_assert!(change.old.is_some() || change.new.is_some());
        }
    }
}

/// The leaves of some pieces, each by its name from the outside; but for those that say what an item is called, which
/// encoding it has, and how it was hashed: with another of these it is another item, or another leaf tells it.
fn leaves(within: &[String], pieces: &[Tree]) -> Vec<Vec<String>> {
    let of_piece = |piece: &Tree| {
        let name = [within, std::slice::from_ref(&piece.name)].concat();
        let is_told = match piece.name.as_str() {
            "scheme" | "name" | "path" | "mount" | "hash" => true,
            "kind" => !within.is_empty(),
            _ => false,
        };
        match &piece.content {
            Content::Pieces(pieces) => leaves(&name, pieces),
            Content::Text(_) if is_told => Vec::new(),
            Content::Text(_) => vec![name],
        }
    };
    pieces.iter().flat_map(of_piece).collect()
}

/// So the property above is about every field: one that is new is a leaf that nothing mutates.
#[test]
fn every_leaf_of_a_node_is_mutated() {
    let parent = Source::Parent(ContentKey([1; 32]));
    let needs = BTreeMap::from([("/opt/node".to_owned(), ContentKey([7; 32]))]);
    let nodes = [
        ResolvedNode {
            needs,
            provides: "/opt/app".to_owned(),
            ..base()
        },
        ResolvedNode {
            source: parent,
            ..only(manifests())
        },
    ];
    for node in nodes {
        let mutated = mutations(&node, "x");
        let changed = mutated.iter().flat_map(|(.., other)| changes(&node, other));
        let changed: BTreeSet<Vec<String>> = changed
            .map(|change| {
                change
                    .field
                    .parts()
                    .into_iter()
                    .map(str::to_owned)
                    .collect()
            })
            .collect();
        let leaves = leaves(&[], &tree(&node));
        assert!(leaves.len() > 20, "{leaves:?}");
        for leaf in leaves {
            assert!(changed.contains(&leaf), "nothing mutates {leaf:?}");
        }
    }
}
