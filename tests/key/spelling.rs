//! The order of what has none, and how a file is written, are in no key.

use atelier_lang::format::format;
use atelier_lang::source::Sources;
use proptest::prelude::*;

use crate::pinning::Outside;

/// Statements of the top level, in no order.
const TOP: &[&str] = &[
    "let major=22 registry=base",
    "param (version)node default=(f)\"{major}.1\"",
    "template tool { param name; param (words)command default=make; env NODE=(f)\"{name}\"; run (f)\"{command} {name}\"; }",
    "group all web-22-1 lib",
    "allow unused",
    "prebuild lib { from base; run \"cc\"; }",
];

/// Those of prebuilds: the first ones in no order, the others in theirs.
const BODIES: &[(&str, &[&str], &[&str])] = &[
    (
        "tools",
        &[
            "from (f)\"{registry}\"",
            "env A=1 B=(f)\"{node}\"",
            "about \"said\"",
            "file x \"1\\n2\" mode=\"0600\"",
            "file z text",
            "cache c path=\".c\"",
            "repo \"github.com/x/y\" depth=2 branch=next",
        ],
        &[
            "path bin \"/opt/bin\"",
            "use tool name=1",
            "run \"two\" as=root shell=sh",
        ],
    ),
    (
        "web",
        &[
            "from prebuild=tools",
            "matrix { node2 \"22.1\" 24; }",
            "resources cpu=3 memory=\"1GiB\"",
            "secret T",
            "env C=(f)\"{node2}\"",
        ],
        &[
            "repo \"github.com/x/z\" { layer { only a; run \"deps\"; }; run \"own\"; }",
            "use tool ninja all name=2",
        ],
    ),
];

/// The same file, otherwise: `random` says how.
fn written(mut random: impl FnMut(usize) -> usize) -> String {
    let mut top: Vec<String> = TOP.iter().map(|node| (*node).to_owned()).collect();
    for (name, any_order, in_order) in BODIES {
        let mut body: Vec<&str> = Vec::new();
        for statement in *any_order {
            body.insert(random(body.len() + 1), statement);
        }
        let mut at = 0;
        for statement in *in_order {
            at += random(body.len() - at + 1);
            body.insert(at, statement);
            at += 1;
        }
        let between = ["; ", ";\n", "\n\n    ", " // said {node}\n", " /* ; */ ; "];
        let mut text = format!("prebuild {name} {{\n");
        for statement in body {
            text += statement;
            text += between[random(between.len())];
        }
        top.push(text + "\n}");
    }
    let mut file = String::new();
    while !top.is_empty() {
        file += &top.swap_remove(random(top.len()));
        file += ["\n", "\n\n// aside\n", "\n\n\n"][random(3)];
    }
    match random(3) {
        0 => {
            let formatted = format("x", Ok(file.into_bytes()), 1 << 20, &mut Sources::default());
            formatted.unwrap()
        }
        1 => file.replace('\n', ["\r\n", "\r", "\u{85}", "\u{2028}"][random(4)]),
        _ => file,
    }
}

proptest! {
    #[test]
    fn keys_depend_on_no_order_and_no_spelling(choices in prop::collection::vec(any::<prop::sample::Index>(), 64)) {
        let outside = Outside {
            tree: vec![("a", "100644", 'c')],
            ..Outside::default()
        };
        let plain = written(|_| 0);
        let mut choices = choices.iter();
        let other = written(|bound| choices.next().map_or(0, |choice| choice.index(bound)));
        let keys = outside.keys(&plain);
        prop_assert_eq!(keys.len(), 6);
        prop_assert_eq!(outside.keys(&other), keys, "{}", other);
    }
}
