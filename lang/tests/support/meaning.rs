//! What a file means, as `eval --json` shows it, without places: two files that mean the same have the same.

use atelier_lang::graph::{Graph, NodeId};
use atelier_lang::schema;
use atelier_lang::source::Sources;
use serde_json::Value;

pub(crate) fn all(graph: &Graph) -> Vec<NodeId> {
    (0..graph.nodes.len()).map(NodeId).collect()
}

pub(crate) fn meaning(graph: &Graph, sources: &Sources) -> Value {
    let data = schema::data(graph, &all(graph), sources);
    let mut value = serde_json::to_value(data).unwrap_or_default();
    forget(&mut value);
    value["files"].take();
    value
}

/// Takes the places out, which depend on spelling.
fn forget(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("span");
            map.remove("via");
            map.values_mut().for_each(forget);
        }
        Value::Array(list) => list.iter_mut().for_each(forget),
        _ => {}
    }
}
