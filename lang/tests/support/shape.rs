//! A graph without its places, to compare what files mean.

use atelier_lang::graph::Graph;

pub(crate) fn shape(graph: &Graph) -> String {
    let shown = format!("{graph:?}");
    let mut pieces = shown.split("Span { file");
    let mut kept = pieces.next().unwrap_or("").to_owned();
    for piece in pieces {
        // A span ends with its own brace, behind the one of its file.
        kept.push_str(piece.split_once('}').map_or("", |(_, rest)| rest));
    }
    kept
}
