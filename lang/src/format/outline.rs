//! A tree as a text that is equal exactly if the trees are, wherever their parts stand.

use std::fmt::Write as _;

use crate::tree::{Node, Value};

pub(super) fn node(node: &Node, out: &mut String) {
    let annotation = node.annotation.as_ref().map(|a| &a.value);
    let _ = write!(out, "{annotation:?} {:?}", node.name.value);
    for argument in &node.arguments {
        value(argument, out);
    }
    for property in &node.properties {
        let _ = write!(out, " {:?}", property.key.value);
        value(&property.value, out);
    }
    if let Some(children) = &node.children {
        out.push('{');
        for child in children {
            self::node(child, out);
        }
        out.push('}');
    }
    out.push('\n');
}

fn value(value: &Value, out: &mut String) {
    let annotation = value.annotation.as_ref().map(|a| &a.value);
    let _ = write!(out, " {annotation:?} {:?}", value.data);
}
