//! A prebuild as a node: what it states, what its parent hands down, and the defaults.
//!
//! Handed down: the platform, `env`, `path` and `resources`. Never `secret` and `cache`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::decl::{self, Base as Declared, Prebuild};
use crate::graph::{Base, Graph, Node, NodeId, Places, Resources};
use crate::span::Span;

pub(crate) const DEFAULTS: Resources = Resources {
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
    let (base, platform, stated) = match (&prebuild.base, parent, above) {
        (
            Some(Declared::Image {
                image,
                platform: stated,
                ..
            }),
            ..,
        ) => {
            let platform = stated.as_ref().map_or(platform, |stated| &stated.value);
            let place = stated.as_ref().map(|stated| stated.span);
            (Base::Image(image.clone()), platform.to_owned(), place)
        }
        (_, Some(id), Some(above)) => {
            let stated = above.places.platform;
            (Base::Parent(id), above.platform.clone(), stated)
        }
        _ => return None,
    };
    let at = prebuild.base.as_ref().map_or(prebuild.span, Declared::at);
    let (env, env_places) = env(prebuild, above);
    let (path, path_places) = path(prebuild, above);
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
        places: Places {
            base: at,
            env: env_places,
            path: path_places,
            platform: stated,
        },
        span: prebuild.span,
    })
}

/// The effective variables, and where each is stated.
fn env(
    prebuild: &Prebuild,
    above: Option<&Node>,
) -> (BTreeMap<String, String>, BTreeMap<String, Span>) {
    let (mut env, mut places) = above
        .map(|above| (above.env.clone(), above.places.env.clone()))
        .unwrap_or_default();
    for variable in &prebuild.env {
        env.insert(variable.name.value.clone(), variable.value.value.clone());
        places.insert(variable.name.value.clone(), variable.at);
    }
    (env, places)
}

/// The effective folders before PATH, and where each is stated.
fn path(prebuild: &Prebuild, above: Option<&Node>) -> (Vec<String>, Vec<Span>) {
    let mut path = Vec::new();
    let mut places = Vec::new();
    let own = prebuild
        .path
        .iter()
        .map(|folder| (&folder.value, folder.span));
    let inherited = above
        .into_iter()
        .flat_map(|above| above.path.iter().zip(above.places.path.iter().copied()));
    for (folder, place) in own.chain(inherited) {
        if !path.contains(folder) {
            path.push(folder.clone());
            places.push(place);
        }
    }
    (path, places)
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
