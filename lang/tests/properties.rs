//! What holds for every file.

#![expect(
    clippy::disallowed_methods,
    reason = "the language is pure, its tests have a clock"
)]

#[path = "support/meaning.rs"]
mod meaning;
#[path = "support/shape.rs"]
mod shape;
mod support;

use std::time::{Duration, Instant};

use atelier_lang::source::Sources;
use proptest::prelude::*;
use shape::shape;
use support::evaluate_bytes;

/// Prebuilds `n0…`, each starting from an earlier one or an image, and groups of them.
fn declarations() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(
        (any::<prop::sample::Index>(), any::<bool>(), 0..4_usize),
        1..10,
    )
    .prop_map(|choices| {
        let mut declared: Vec<String> = Vec::new();
        for (index, (parent, is_child, kind)) in choices.iter().enumerate() {
            let base = if *is_child && index > 0 {
                format!("prebuild=n{}", parent.index(index))
            } else {
                "host".to_owned()
            };
            let body = [
                "about x",
                "env A=1 B=x",
                "run \"make\"; run \"test\" in=a",
                "path bin; resources cpu=3",
            ];
            declared.push(format!(
                "prebuild n{index} {{ from {base}; {}; env N{index}=1; }}",
                body[*kind]
            ));
        }
        declared.push("group all n0 few".to_owned());
        declared.push("group few n0".to_owned());
        declared
    })
}

/// A file of everything, to be damaged.
const WHOLE: &str = r##"atelier 1
secret T
prebuild base { from "ghcr.io/acme/dev:3" platform="linux/arm64"; env A=1 }
prebuild a { // comment
    from prebuild=base
    about "caf\u{e9} é ☕"
    repo "github.com/frak-id/wallet" branch=main auth=T { run "bun install"; }
    repo "." { run #"grep "\d" x"# }
    file .npmrc "save-exact=true" mode="0600"
    file x from="./x.sh"
    run """
        set -x
        echo ${HOME}
        """ in=wallet timeout="5m" retry=2
    cache bun path=".bun"
    resources cpu=4 memory="8GiB"
    /-run "gone" /* block /* nested */ */
}
group default a
let version=22 image=(f)"debian:{version}"
param channel stable nightly default=stable
template tool { param (words)command; param name default=(f)"x-{version}"; run (f)"{command} {name}"; }
prebuild cells {
    from (f)"{image}"
    matrix { os debian alpine; mode fast; skip os=alpine mode=fast; }
    use tool make all name=(f)"{os}"
    env A=(f)"{channel}{{}}{mode}"
}
x-other { anything 1.5 #null; }
"##;

/// No panic, no endless work, spans that fit, findings in order, and a graph exactly if there is no error.
fn check(bytes: &[u8]) {
    let started = Instant::now();
    let (sources, outcome) = evaluate_bytes(bytes);
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    let has_error = outcome
        .diagnostics
        .iter()
        .any(atelier_lang::diag::Diagnostic::is_error);
    assert_eq!(outcome.value.is_none(), has_error);
    let starts: Vec<_> = outcome
        .diagnostics
        .iter()
        .map(|d| d.labels[0].span.start)
        .collect();
    assert!(starts.is_sorted(), "in source order");
    for diagnostic in &outcome.diagnostics {
        for label in &diagnostic.labels {
            let (start, end) = (label.span.start as usize, label.span.end as usize);
            let text = sources.text(label.span.file);
            assert!(
                start <= end && text.get(start..end).is_some(),
                "{diagnostic:?}"
            );
        }
        let _rendered = format!("{:?}", atelier_lang::render::render(diagnostic, &sources));
    }
}

/// Declarations with reuse: constants, templates that use earlier ones, prebuilds with a matrix or without.
fn reuse() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize), 1..8).prop_map(|choices| {
        let mut declared = vec![
            "let registry=\"ghcr.io/acme\" image=(f)\"{registry}/node\"".to_owned(),
            "param (version)node default=(f)\"{major}.1\"".to_owned(),
            "let major=22".to_owned(),
            "template t0 { param (words)command default=make; run (f)\"{command} {node}\"; }".to_owned(),
            "prebuild p0 { from (f)\"{image}:{node}\"; use t0; }".to_owned(),
        ];
        for (index, (earlier, kind)) in choices.iter().enumerate() {
            let (number, earlier) = (index + 1, earlier.index(index + 1));
            declared.push(format!(
                "template t{number} {{ param os default=debian; use t{earlier}; env OS{number}=(f)\"{{os}}\"; }}"
            ));
            let body = match kind {
                0 => format!("from prebuild=p{earlier}; use t{number}"),
                1 => format!("from host; use t{number} os=alpine; about (f)\"{{image}}\""),
                2 => format!("from host; matrix {{ a 1 2; b x; skip a=1; }}; use t{number} os=(f)\"{{a}}\"; env B=(f)\"{{b}}\""),
                _ => format!("from host; repo \"github.com/a/b\" {{ layer {{ only x; use t{earlier_of}; }}; use t0 ninja; }}", earlier_of = 0),
            };
            // A prebuild with a matrix is a group, which nothing can start from.
            let name = if *kind == 2 { format!("m{number}") } else { format!("p{number}") };
            declared.push(format!("prebuild {name} {{ {body}; }}"));
            if *kind == 2 {
                declared.push(format!("prebuild p{number} {{ from prebuild=m{number}-2-x; }}"));
            }
        }
        let uses = (0..=choices.len()).map(|index| format!("use t{index}")).collect::<Vec<_>>();
        declared.push(format!("prebuild all {{ from host; {}; }}", uses[uses.len() - 1]));
        declared.push("allow unused".to_owned());
        declared
    })
}

/// The same in another order, spelled otherwise.
fn respelled(declared: &[String], seed: u64) -> String {
    let mut declared = declared.to_vec();
    let mut state = seed | 1;
    let mut random = move |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).unwrap_or(0) % bound
    };
    for at in (1..declared.len()).rev() {
        declared.swap(at, random(at + 1));
    }
    let newline = ["\n", "\r\n", "\r", "\u{2028}"][random(4)];
    let mut text = String::new();
    for node in declared {
        let node = match random(4) {
            0 => node.replace("; ", newline),
            1 => node
                .replace("{ ", "{ /* {x} */ ")
                .replace("prebuild ", "prebuild   "),
            2 => node.replace("(f)\"", "(f)#\"").replace("}\"", "}\"#"),
            _ => node,
        };
        // What `replace` could not make raw is left as it was.
        let is_paired = node.matches("(f)#\"").count() == node.matches("}\"#").count();
        let node = if is_paired {
            node
        } else {
            node.replace("(f)#\"", "(f)\"").replace("}\"#", "}\"")
        };
        text.push_str(&node);
        text.push_str(newline);
        if random(3) == 0 {
            text.push_str("// a comment {node}");
            text.push_str(newline);
        }
    }
    text
}

fn json(text: &str) -> (String, Vec<String>) {
    let (sources, outcome) = evaluate_bytes(text.as_bytes());
    let found = outcome
        .diagnostics
        .iter()
        .map(|d| format!("{}: {}", d.code, d.message))
        .collect();
    let meaning = outcome
        .value
        .map(|graph| meaning::meaning(&graph, &sources));
    (format!("{meaning:#?}"), found)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// `eval --json` is the same but for the places.
    #[test]
    fn order_and_spelling_of_reuse_are_irrelevant(declared in reuse(), seed in any::<u64>()) {
        let (plain, found) = json(&declared.join("\n"));
        prop_assert_eq!(found, Vec::<String>::new());
        let other = respelled(&declared, seed);
        let (respelled, found) = json(&other);
        prop_assert_eq!(found, Vec::<String>::new(), "{}", other);
        prop_assert_eq!(respelled, plain);
    }

    /// `fmt` changes no meaning, and what it leaves it leaves again.
    #[test]
    fn a_format_means_the_same(declared in reuse(), seed in any::<u64>()) {
        let format = |text: &str| {
            let read = Ok(text.as_bytes().to_vec());
            atelier_lang::format::format("x", read, 1 << 20, &mut Sources::default()).unwrap()
        };
        let text = respelled(&declared, seed);
        let formatted = format(&text);
        prop_assert_eq!(json(&formatted), json(&text), "{}", formatted);
        prop_assert_eq!(format(&formatted), formatted.clone());
    }

    /// What `eval` prints means what the file means, and is what it is printed as again.
    #[test]
    fn an_expansion_means_the_same(declared in reuse()) {
        let print = |text: &str| {
            let (sources, outcome) = evaluate_bytes(text.as_bytes());
            let graph = outcome.value.unwrap();
            let data = atelier_lang::schema::data(&graph, &meaning::all(&graph), &sources);
            atelier_lang::expansion::text(&data)
        };
        let text = declared.join("\n");
        let printed = print(&text);
        prop_assert_eq!(json(&printed), json(&text), "{}", printed);
        prop_assert_eq!(print(&printed), printed.clone());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn order_of_declarations_is_irrelevant(declared in declarations(), seed in any::<u64>()) {
        let mut shuffled = declared.clone();
        let mut state = seed | 1;
        for at in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            shuffled.swap(at, usize::try_from(state >> 33).unwrap() % (at + 1));
        }
        let left = evaluate_bytes(declared.join("\n").as_bytes()).1;
        let right = evaluate_bytes(shuffled.join("\n").as_bytes()).1;
        prop_assert!(left.diagnostics.is_empty(), "{:?}", left.diagnostics);
        prop_assert_eq!(shape(&left.value.unwrap()), shape(&right.value.unwrap()));
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes);
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        check(text.as_bytes());
    }

    #[test]
    fn any_soup(text in "[a-z0-9 \n\t{}()\\[\\]=;:/*\\\\\"'#$~.,é\u{200b}-]{0,120}") {
        check(text.as_bytes());
    }

    #[test]
    fn any_pieces(pieces in prop::collection::vec(prop::sample::select(vec![
        "from", " host", " ", "\n", "prebuild", " a", " {", "{", "}", ";", "run", " \"x\"", "\"", "\"\"\"", "\n\"\"\"",
        "#\"", "\"#", "/-", "/*", "*/", "//", "=", "in", " in=a/b", "(f)", "(", ")", "\\", "\\\n", "repo",
        " https://x.y/z", " github.com/a/b", " \"github.com/a/b\"", "'", " 1.5", " #true", " true", "group g a", "é",
        "env A=1", "\r\n", "-", " - ", ":", "[", "r\"", "\\u{0}", "\\d", "\t", "    ", "x-y", "layer", "${x}",
        "let a=1", "(f)\"{a}\"", "(f)\"{b.c}\"", "template t {", "use t", " p=1", "param p", "matrix {", " os x y", "skip os=x", "cell os=x",
        "import \"./a.kdl\"", "{a}", "(int)",
    ]), 0..40)) {
        check(pieces.concat().as_bytes());
    }

    #[test]
    fn a_damaged_file(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, any::<prop::sample::Index>()), 1..6),
    ) {
        let mut text: Vec<char> = WHOLE.chars().collect();
        for (place, kind, other) in edits {
            let at = place.index(text.len());
            match kind {
                0 => drop(text.remove(at)),
                1 => text.insert(at, text[other.index(text.len())]),
                2 => text.swap(at, at.saturating_sub(1)),
                _ => {
                    let end = (at + 1 + other.index(12)).min(text.len());
                    text.drain(at..end);
                }
            }
        }
        check(text.into_iter().collect::<String>().as_bytes());
    }
}

#[test]
fn the_whole_file_is_valid() {
    let (_, outcome) = evaluate_bytes(WHOLE.as_bytes());
    assert!(outcome.diagnostics.is_empty(), "{:#?}", outcome.diagnostics);
}
