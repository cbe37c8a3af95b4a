//! What the targets of a graph are called in one file: those of other files have a dot in their names, and cells and layers
//! names that are longer than what may be written.

use std::collections::{BTreeMap, BTreeSet};

use crate::schema::GraphData;
use crate::value;

/// A name has so many characters.
const LENGTH: usize = 40;

pub(super) struct Names<'a>(BTreeMap<&'a str, String>);

impl<'a> Names<'a> {
    /// Names that can be written stay.
    pub(super) fn of(graph: &'a GraphData) -> Self {
        let targets = graph.targets.iter().map(|target| target.name.as_str());
        let all = targets.chain(graph.groups.keys().map(String::as_str));
        let (plain, odd): (Vec<&str>, Vec<&str>) = all.partition(|name| value::is_name(name));
        let mut taken: BTreeSet<String> = plain.iter().map(|name| (*name).to_owned()).collect();
        let mut names: BTreeMap<&str, String> = plain
            .into_iter()
            .map(|name| (name, name.to_owned()))
            .collect();
        for name in odd {
            let spelled = name.replace('.', "-");
            let numbered = (1..).map(|number| match number {
                1 => cut(&spelled, ""),
                number => cut(&spelled, &format!("-{number}")),
            });
            let mut free = numbered.filter(|name| !taken.contains(name));
            let free = free.next().unwrap_or_default();
            taken.insert(free.clone());
            names.insert(name, free);
        }
        Self(names)
    }

    pub(super) fn get<'s>(&'s self, name: &'s str) -> &'s str {
        self.0.get(name).map_or(name, String::as_str)
    }
}

fn cut(name: &str, end: &str) -> String {
    let room = LENGTH - end.len();
    let start = name.get(..room).unwrap_or(name).trim_end_matches('-');
    format!("{start}{end}")
}
