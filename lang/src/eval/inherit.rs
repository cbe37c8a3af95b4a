//! A prebuild as a node: what it states, what its parent hands down, and the defaults.
//!
//! Handed down: the platform, `env`, `path` and `resources`. Never `secret` and `cache`.

use std::time::Duration;

use crate::decl::{self, Base as Declared, Prebuild};
use crate::graph::{Base, Graph, Node, NodeId, Resources};

const DEFAULTS: Resources = Resources {
    cpu: 2,
    memory: 4 << 30,
    disk: 20 << 30,
    timeout: Duration::from_hours(1),
};

/// `None` only if the prebuild has no base, which is an error that has been reported.
pub(super) fn node(
    prebuild: &Prebuild,
    parent: Option<NodeId>,
    graph: &Graph,
    platform: &str,
) -> Option<Node> {
    let above = parent.map(|parent| graph.node(parent));
    let (base, platform) = match (&prebuild.base, parent, above) {
        (
            Some(Declared::Image {
                image,
                platform: stated,
                ..
            }),
            ..,
        ) => {
            let platform = stated.as_deref().unwrap_or(platform);
            (Base::Image(image.clone()), platform.to_owned())
        }
        (_, Some(id), Some(above)) => (Base::Parent(id), above.platform.clone()),
        _ => return None,
    };
    let mut env = above.map(|above| above.env.clone()).unwrap_or_default();
    for variable in &prebuild.env {
        env.insert(variable.name.value.clone(), variable.value.value.clone());
    }
    let mut path: Vec<String> = prebuild
        .path
        .iter()
        .map(|folder| folder.value.clone())
        .collect();
    for folder in above.iter().flat_map(|above| &above.path) {
        if !path.contains(folder) {
            path.push(folder.clone());
        }
    }
    Some(Node {
        name: prebuild.name.clone(),
        base,
        platform,
        repos: prebuild.repos.clone(),
        files: prebuild.files.clone(),
        steps: prebuild.steps.clone(),
        env,
        path,
        secrets: prebuild.secrets.clone(),
        caches: prebuild
            .caches
            .iter()
            .map(|cache| cache.value.clone())
            .collect(),
        resources: resources(
            &prebuild.resources,
            above.map_or(&DEFAULTS, |a| &a.resources),
        ),
        about: prebuild.about.as_ref().map(|about| about.value.clone()),
        span: prebuild.span,
    })
}

fn resources(stated: &decl::Resources, above: &Resources) -> Resources {
    Resources {
        cpu: stated.cpu.as_ref().map_or(above.cpu, |cpu| cpu.value),
        memory: stated
            .memory
            .as_ref()
            .map_or(above.memory, |memory| memory.value),
        disk: stated.disk.as_ref().map_or(above.disk, |disk| disk.value),
        timeout: stated
            .timeout
            .as_ref()
            .map_or(above.timeout, |timeout| timeout.value),
    }
}
