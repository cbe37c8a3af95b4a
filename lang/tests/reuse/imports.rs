//! `import`: what other files are there for, and whose names, paths and prebuilds are meant.

use atelier_lang::graph::{Base, RepoSource};

use crate::{look, meaning};

const ORG: &str = r#"
    import "./images.kdl"
    let registry="ghcr.io/acme"
    param (version)node default="22"
    secret GIT_TOKEN
    template service {
        param (url)repo
        from prebuild=base
        env REGISTRY=(f)"{registry}" NODE=(f)"{node}"
        repo (f)"{repo}" auth=GIT_TOKEN
        file setup from="setup.sh"
    }
    prebuild base { from (f)"{images.debian}"; repo "./code"; run make; }
    prebuild unused { from prebuild=images.slim; }
    group both base unused"#;

const IMAGES: &str = r#"
    let debian="oci:./debian"
    prebuild slim { from (f)"{debian}"; env SLIM=1; }"#;

#[test]
fn imports() {
    let main = r#"
        import "../org/org.kdl"
        import "../org/images.kdl" as=pictures
        prebuild api { use org.service repo="./api"; }
        prebuild web { from prebuild=org.base; env A=(f)"{org.registry}"; }
        group default web org.both"#;
    let files = [
        ("app/prebuild.kdl", main),
        ("org/org.kdl", ORG),
        ("org/images.kdl", IMAGES),
    ];
    let (sources, outcome) = look(&files, &[]);
    assert!(outcome.diagnostics.is_empty(), "{:#?}", outcome.diagnostics);
    let graph = outcome.value.unwrap();
    let names = |ids: &[_]| -> Vec<String> {
        ids.iter()
            .map(|id| graph.node(*id).name.value.clone())
            .collect()
    };
    assert_eq!(
        names(&meaning::all(&graph)),
        ["org.base", "pictures.slim", "api", "org.unused", "web"]
    );
    assert_eq!(names(&graph.default), ["org.base", "org.unused", "web"]);
    assert_eq!(graph.groups.keys().collect::<Vec<_>>(), ["default"]);
    let base = graph.node(graph.find("org.base").unwrap());
    let Base::Image(image) = &base.base else {
        panic!("{base:?}");
    };
    // Relative to the file that is evaluated; they are written relative to the file where they stand.
    assert_eq!(image.value.to_string(), "oci:../org/./debian");
    assert_eq!(
        base.repos[0].source.value,
        RepoSource::Disk("../org/./code".to_owned())
    );
    let api = graph.node(graph.find("api").unwrap());
    assert_eq!(
        api.repos[0].source.value,
        RepoSource::Disk("./api".to_owned())
    );
    assert_eq!(
        format!("{:?}", api.files[0].content),
        "Local(VirtualPath(\"org/setup.sh\"))"
    );
    assert_eq!(
        sources.files().collect::<Vec<_>>(),
        ["app/prebuild.kdl", "org/org.kdl", "org/images.kdl"]
    );
    let via: Vec<_> = sources
        .trace(api.repos[0].span)
        .map(|e| e.what.as_str())
        .collect();
    assert_eq!(via, ["use org.service"]);
}

#[test]
fn the_order_of_imports_does_not_count() {
    let files = |imports: &str| {
        let main = format!(
            "{imports}prebuild a {{ from prebuild=x.base; }}\nprebuild b {{ from prebuild=y.slim; }}"
        );
        let files = [
            ("prebuild.kdl", main.as_str()),
            ("org.kdl", ORG),
            ("images.kdl", IMAGES),
        ];
        let (sources, outcome) = look(&files, &[]);
        let names: Vec<_> = sources.files().map(str::to_owned).collect();
        (meaning::meaning(&outcome.value.unwrap(), &sources), names)
    };
    let one = files("import \"./org.kdl\" as=x\nimport \"./images.kdl\" as=y\n");
    let other = files("import \"./images.kdl\" as=y\nimport \"./org.kdl\" as=x\n");
    assert_eq!(one, other);
}

#[test]
fn imports_are_not_transitive() {
    let main = "import \"./org.kdl\"\nprebuild a { from prebuild=org.images.slim; env A=(f)\"{images.debian}\"; }";
    let (_, outcome) = look(
        &[
            ("prebuild.kdl", main),
            ("org.kdl", ORG),
            ("images.kdl", IMAGES),
        ],
        &[],
    );
    let found: Vec<_> = outcome
        .diagnostics
        .iter()
        .map(|d| d.message.as_str())
        .collect();
    assert_eq!(
        found,
        ["no prebuild `org.images-slim`", "no import `images`"]
    );
}

#[test]
fn a_bare_file_can_be_imported() {
    let main = "import \"./tools.kdl\"\nprebuild a { from prebuild=tools.default; }";
    let files = [("prebuild.kdl", main), ("tools.kdl", "from host\nenv A=1")];
    let (_, outcome) = look(&files, &[]);
    assert!(outcome.value.unwrap().find("tools.default").is_some());
}

/// The folder that a parameter names, a base that it names, and a path that it names belong to who gives it.
#[test]
fn what_is_given_means_what_it_means_to_the_giver() {
    let lib = "template t { param base; param setup; from prebuild=(f)\"{base}\"; file x from=(f)\"{setup}\"; }\nprebuild own { from host; }";
    let main = "import \"../lib/lib.kdl\"\nprebuild own { from host; env MINE=1; }\nprebuild a { use lib.t base=own setup=\"x.sh\"; }\nprebuild b { use lib.t base=\"lib.own\" setup=\"y.sh\"; }";
    let (_, outcome) = look(&[("app/p.kdl", main), ("lib/lib.kdl", lib)], &[]);
    assert!(outcome.diagnostics.is_empty(), "{:#?}", outcome.diagnostics);
    let graph = outcome.value.unwrap();
    let a = graph.node(graph.find("a").unwrap());
    let b = graph.node(graph.find("b").unwrap());
    assert_eq!(a.env["MINE"], "1");
    assert!(b.env.is_empty());
    assert!(format!("{:?}", a.files[0].content).contains("app/x.sh"));
}
