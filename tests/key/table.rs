//! The table of what must and must not change a key, row by row: from the text of a file where a file can say it, else on
//! resolved nodes. What differs between machines (row 11) is also tested on the command line.

use std::collections::BTreeMap;

use atelier::key::key;
use atelier::node::{ContentKey, ResolvedNode, ResolvedRepo};

use crate::nodes::{base, entry, manifests, only};
use crate::pinning::Outside;

const FILE: &str = r#"
from base
repo "github.com/frak-id/wallet" {
    run "bun install"
    run "bun run codegen"
}
file .npmrc "registry=https://npm.acme.dev/\n"
env CI="1" MIX_ENV=test
path ".local/bin" bin
"#;

fn outside() -> Outside {
    Outside::default()
}

/// `FILE` with one text in the place of another.
fn with(old: &str, new: &str) -> String {
    assert!(FILE.contains(old), "{old}");
    FILE.replace(old, new)
}

/// All spellings have one key.
fn same<T: AsRef<str>>(files: impl IntoIterator<Item = T>) {
    let keys: Vec<_> = files
        .into_iter()
        .map(|file| (outside().key(file.as_ref()), file))
        .collect();
    for (key, file) in &keys {
        assert_eq!(*key, keys[0].0, "{}", file.as_ref());
    }
}

/// Each file has a key of its own.
fn all_new<T: AsRef<str>>(files: impl IntoIterator<Item = T>) {
    let mut seen: Vec<ContentKey> = Vec::new();
    for file in files {
        let key = outside().key(file.as_ref());
        assert!(!seen.contains(&key), "{}", file.as_ref());
        seen.push(key);
    }
}

#[test]
fn row_01_env_of_the_caller_and_variables_without_a_step() {
    let extra = BTreeMap::from([("K".to_owned(), "V".to_owned())]);
    outside().with(FILE, |nodes| {
        let request = nodes[0].bake_request(None, &BTreeMap::new(), &extra, false);
        assert_eq!(request.key, outside().key(FILE));
        assert_eq!(request.environment.variables["K"], "V");
    });
    same([
        "from base",
        "from base\nenv A=1",
        "from base\npath bin",
        "from base\nenv A=2\npath x y",
    ]);
}

#[test]
fn row_02_secrets_and_auth() {
    let declared = format!("{FILE}\nsecret TOKEN OTHER");
    let auth = with("/wallet\"", "/wallet\" auth=TOKEN");
    let used = format!("{auth}\nsecret TOKEN");
    let other = used.replace("TOKEN", "OTHER");
    same([FILE, &declared, &used, &other]);
}

#[test]
fn row_03_names_and_limits() {
    let named = |name: &str| format!("prebuild {name} {{\n{FILE}\n}}");
    same([
        FILE.to_owned(),
        named("a"),
        named("b"),
        format!("{FILE}\nabout \"words\""),
        format!("{FILE}\nresources cpu=7 memory=\"1GiB\" disk=\"1GiB\" timeout=\"1m\""),
        format!("{FILE}\ncache npm path=\".npm\""),
        with("\"bun install\"", "\"bun install\" timeout=\"1m\""),
        with("\"bun install\"", "\"bun install\" retry=3"),
    ]);
}

#[test]
fn row_04_comments_and_order_of_what_has_none() {
    let two = "from base\nrepo \"github.com/a/b\"\nrepo \"github.com/a/c\" branch=next depth=2\nfile x 1\nfile y 2\nenv A=1 B=2\nrun z";
    let other = "// said\nrun z; env B=2 A=1;\nfile y 2 /* aside */\nfile x 1\nrepo \"github.com/a/c\" depth=2 branch=next\nrepo \"github.com/a/b\"\nfrom base\n";
    let split = two.replace("env A=1 B=2", "env A=1\nenv B=2");
    same([two, other, &split]);
}

#[test]
fn row_05_spellings_of_a_url() {
    let spellings = [
        "git@github.com:frak-id/wallet.git",
        "ssh://git@github.com/frak-id/wallet",
        "ssh://git@github.com:22/frak-id/wallet.git",
        "https://github.com/frak-id/wallet",
        "https://GitHub.com:443/frak-id/wallet.git/",
        "github.com/frak-id/wallet/",
    ];
    same(
        [FILE.to_owned()]
            .into_iter()
            .chain(spellings.map(|url| with("github.com/frak-id/wallet", url))),
    );
}

#[test]
fn row_06_the_default_branch_and_the_default_path() {
    same([
        FILE.to_owned(),
        with("/wallet\"", "/wallet\" branch=main"),
        with("/wallet\"", "/wallet\" path=wallet"),
        with("/wallet\"", "/wallet\" depth=1"),
    ]);
}

#[test]
fn row_07_a_file_inline_or_from_the_disk() {
    let mut outside = outside();
    outside
        .files
        .insert("npmrc", "registry=https://npm.acme.dev/\n");
    let local = with("\"registry=https://npm.acme.dev/\\n\"", "from=npmrc");
    let inline = outside.key(FILE);
    assert_eq!(outside.key(&local), inline);
    assert_eq!(
        outside.key(&local.replace("from=npmrc", "from=npmrc mode=\"0644\"")),
        inline
    );
}

/// The bare form is one prebuild.
#[test]
fn row_08_the_form_of_a_target() {
    same([
        FILE.to_owned(),
        format!("prebuild default {{\n{FILE}\n}}\ngroup all default"),
    ]);
}

#[test]
fn row_08_a_template_expanded_by_hand() {
    let with_values = FILE
        .replace("\"github.com/frak-id/wallet\"", "(f)\"{url}\"")
        .replace("\"bun install\"", "(f)\"{install}\"")
        .replace("MIX_ENV=test", "MIX_ENV=(f)\"{mix}\"");
    let template = format!(
        "template all {{ param url; param (words)install; {with_values} }}\nlet mix=test\n"
    );
    let params = with_values.replace("{install}", "bun install");
    same([
        FILE.to_owned(),
        format!("{template}use all bun install url=\"git@github.com:frak-id/wallet.git\""),
        format!(
            "{template}template outer {{ param url; use all bun install url=(f)\"{{url}}\"; }}\nuse outer url=\"github.com/frak-id/wallet\""
        ),
        format!("let url=\"github.com/frak-id/wallet\" mix=test\n{params}"),
        format!(
            "param url default=\"github.com/frak-id/wallet\"\nparam mix production test default=test\n{params}"
        ),
    ]);
}

#[test]
fn row_08_a_cell_and_a_layer_expanded_by_hand() {
    let cell = FILE.replace("\"bun run codegen\"", "(f)\"{tool} run codegen\"");
    same([
        FILE.to_owned(),
        format!("prebuild a {{ matrix {{ tool bun }}\n{cell} }}"),
        format!("prebuild a {{ matrix {{ cell tool=bun }}\n{cell} }}"),
    ]);
    let outside = Outside {
        tree: vec![("a", "100644", 'c')],
        ..outside()
    };
    let layered = r#"prebuild web { from base; path bin; repo "github.com/a/b" { layer { only a; run "1"; }; run "2"; }; }"#;
    let by_hand = r#"
        prebuild web-deps { from base; path bin; repo "github.com/a/b" { only a; run "1"; }; }
        prebuild web { from prebuild=web-deps; repo "github.com/a/b" { run "2"; }; }"#;
    assert_eq!(outside.keys(layered), outside.keys(by_hand));
}

/// What `eval` prints is the file without reuse.
#[test]
fn row_08_what_eval_prints() {
    let file = format!(
        "template t {{ {FILE} }}\nprebuild a {{ use t; matrix {{ os x y }}; file os (f)\"{{os}}\"; }}\nprebuild b {{ from prebuild=a-x; env B=1; run z; }}"
    );
    let (sources, graph) = outside().evaluate(&file);
    let all: Vec<_> = (0..graph.nodes.len())
        .map(atelier_lang::graph::NodeId)
        .collect();
    let printed =
        atelier_lang::expansion::text(&atelier_lang::schema::data(&graph, &all, &sources));
    assert_eq!(outside().keys(&printed), outside().keys(&file), "{printed}");
}

#[test]
fn row_09_another_name_of_the_same_digest() {
    same([FILE.to_owned(), with("from base", "from base-again")]);
}

#[test]
fn row_10_spellings_of_the_same_data() {
    let flat = FILE
        .replace("wallet\" {", "wallet\"")
        .replace("\n}\n", "\n");
    let steps = flat
        .replace("codegen\"", "codegen\" in=wallet")
        .replace("install\"", "install\" in=wallet");
    same([
        FILE.to_owned(),
        FILE.replace('\n', "\r\n"),
        with("\"bun install\"", "#\"bun install\"#"),
        with(
            "\"bun install\"",
            "\"\"\"\n        bun install\n        \"\"\"",
        ),
        with("\"bun install\"", "\"bun\\u{20}install\""),
        with("MIX_ENV=test", "MIX_ENV=\"test\""),
        with("from base", "\"from\" \"base\""),
        steps,
    ]);
}

/// behaviours 1.5
#[test]
fn row_11_the_place_of_a_checkout() {
    let file = "from base\nrepo \".\" path=src\nrepo \"../lib\" path=lib\nrun x";
    let here = outside().key(file);
    let elsewhere = Outside {
        checkout: "/srv/ci/17",
        ..outside()
    };
    assert_eq!(elsewhere.key(file), here);
}

#[test]
fn row_12_a_commit_that_touches_no_matched_path() {
    // What `only` leaves of a repository has no commit, branch or URL to begin with.
    assert!(matches!(
        only(manifests()).repos["wallet"],
        ResolvedRepo::Only { .. }
    ));
    let [package, lock] = manifests();
    assert_eq!(key(&only([lock, package])), key(&only(manifests())));
}

/// behaviours 1, near misses: another processor is another key.
#[test]
fn row_13_the_image_and_the_platform() {
    all_new([
        FILE.to_owned(),
        with("from base", "from other"),
        with("from base", "from base platform=\"linux/arm64\""),
    ]);
    let arm = Outside {
        platform: "linux/arm64",
        ..outside()
    };
    assert_ne!(arm.key(FILE), outside().key(FILE));
}

#[test]
fn row_14_a_head_that_moves() {
    let mut moved = outside();
    moved.branches.insert("main", 'c');
    assert_ne!(moved.key(FILE), outside().key(FILE));
}

#[test]
fn row_15_what_of_a_repository_is_cloned_where() {
    all_new([
        FILE.to_owned(),
        with("frak-id/wallet", "Frak-ID/wallet"),
        with("/wallet\"", "/wallet\" path=app"),
        with("/wallet\"", "/wallet\" branch=twin"),
        with("/wallet\"", "/wallet\" depth=2"),
        with("/wallet\"", "/wallet\" depth=0"),
        with("/wallet\"", "/wallet\" submodules=#false"),
        with("/wallet\"", "/wallet\" lfs=#false"),
    ]);
}

#[test]
fn row_16_the_steps_and_where_one_ends() {
    let steps = |steps: &str| format!("from base\n{steps}");
    all_new([
        steps("run a\nrun b"),
        steps("run b\nrun a"),
        steps("run ab"),
        steps("run \"a b\""),
        steps("run \"a \"\nrun b"),
        steps("run a\nrun \" b\""),
        steps("run a\nrun \"b \""),
        steps("run a\nrun \"b\\n\""),
        steps("run a\nrun b\nrun b"),
    ]);
}

#[test]
fn row_17_where_a_step_runs() {
    let step =
        |options: &str| format!("from base\nrepo \"github.com/frak-id/wallet\"\nrun x {options}");
    all_new([step(""), step("in=wallet"), step("in=\"wallet/app\"")]);
}

#[test]
fn row_17_how_a_step_runs_and_what_it_sees() {
    all_new([
        FILE.to_owned(),
        with("\"bun install\"", "\"bun install\" as=root"),
        with("\"bun install\"", "\"bun install\" shell=sh"),
        with("MIX_ENV=test", "MIX_ENV=prod"),
        with("MIX_ENV=test", "MIX_ENVS=test"),
        with("env CI=\"1\" MIX_ENV=test", "env CI=\"1\""),
        with("path \".local/bin\" bin", "path bin \".local/bin\""),
        with("path \".local/bin\" bin", "path \".local/bin\""),
    ]);
}

#[test]
fn row_18_a_file_s_bytes_mode_and_path() {
    all_new([
        FILE.to_owned(),
        with("acme.dev/\\n", "acme.dev/"),
        with("acme.dev/\\n", "acme.dev/\\r\\n"),
        with("npm.acme", "npn.acme"),
        with("file .npmrc", "file \"wallet/.npmrc\"").replace("wallet/.npmrc", "home/.npmrc"),
        with("\\n\"\nenv", "\\n\" mode=\"0600\"\nenv"),
    ]);
}

#[test]
fn row_19_a_toolchain() {
    let needs = |mount: &str, key: u8| ResolvedNode {
        needs: BTreeMap::from([(mount.to_owned(), ContentKey([key; 32]))]),
        ..base()
    };
    let mut keys = vec![
        key(&base()),
        key(&needs("/opt/node", 1)),
        key(&needs("/opt/node", 2)),
        key(&needs("/opt/n", 1)),
    ];
    keys.dedup();
    assert_eq!(keys.len(), 4);
}

/// behaviours 1.8
#[test]
fn row_20_a_grandparent_s_head_moves() {
    let file = "prebuild a { from base; repo \"github.com/x/y\"; }\nprebuild b { from prebuild=a; run x; }\nprebuild c { from prebuild=b; run y; }\nprebuild other { from base; run y; }";
    let mut moved = outside();
    moved.branches.insert("main", 'c');
    let (old, new) = (outside().keys(file), moved.keys(file));
    for name in ["a", "b", "c"] {
        assert_ne!(old[name], new[name], "{name}");
    }
    assert_eq!(old["other"], new["other"]);
}

#[test]
fn row_21_what_only_matches() {
    let [package, lock] = manifests();
    let stub = entry("src/main.rs", "100644", None);
    let keys = [
        only([package.clone(), lock.clone()]),
        only([package.clone(), entry("bun.lock", "100644", Some('c'))]),
        only([package.clone(), entry("bun.lock", "100755", Some('b'))]),
        only([
            package.clone(),
            lock.clone(),
            entry("patches/a", "100644", Some('d')),
        ]),
        only([package.clone(), lock.clone(), stub]),
        only([
            package.clone(),
            lock.clone(),
            entry("src/lib.rs", "100644", None),
        ]),
        only([package, lock, entry("src/main.rs", "100755", None)]),
    ];
    for (index, node) in keys.iter().enumerate() {
        assert!(
            keys[..index].iter().all(|other| key(other) != key(node)),
            "{index}"
        );
    }
}

#[test]
fn row_22_a_stub_has_no_content_in_its_key() {
    let stub = entry("src/main.rs", "100644", None);
    assert_eq!(
        stub.object, None,
        "so there is no content that could differ"
    );
}

/// behaviours 2.7: a variable that is not set, empty, or set to a value. (Parameters are tested on the command line.)
#[test]
fn unset_empty_and_set_are_three_keys() {
    let set = "from base\nrun x\nenv A=1";
    all_new([
        set.to_owned(),
        set.replace("env A=1", ""),
        set.replace("A=1", "A=\"\""),
    ]);
}
