//! What holds for every file.

#![expect(
    clippy::disallowed_methods,
    reason = "the language is pure, its tests have a clock"
)]

#[path = "support/shape.rs"]
mod shape;
mod support;

use std::time::{Duration, Instant};

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
