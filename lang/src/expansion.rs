//! A graph as a file: what is left of one when every template, matrix, import and layer is expanded and every default
//! that a parent hands down is stated. It means the same, and has the same keys.

mod names;
mod page;

use std::collections::{BTreeMap, BTreeSet};

use crate::decl;
use crate::eval::inherit;
use crate::schema::{BaseData, FileData, GraphData, RepoData, ResourcesData, StepData, TargetData};
use crate::secret;
use crate::spelling::quoted;
use names::Names;
use page::{Page, property, word};

/// What is not worth saying.
const DEFAULTS: ResourcesData = ResourcesData {
    cpu: inherit::DEFAULTS.cpu,
    disk: inherit::DEFAULTS.disk,
    memory: inherit::DEFAULTS.memory,
    timeout: inherit::DEFAULTS.timeout.as_secs(),
};
const STEP_TIMEOUT: u64 = decl::STEP_TIMEOUT.as_secs();

/// The whole file. Where inputs are pinned, a comment before a target names its snapshot and key.
pub fn text(graph: &GraphData) -> String {
    let mut page = Page::default();
    let names = Names::of(graph);
    let exposed = |target: &TargetData, name: &String| target.secrets.contains(name);
    let auth = graph.targets.iter().flat_map(|target| {
        let named = target.repos.iter().filter_map(|repo| repo.auth.as_ref());
        named.filter(|name| !exposed(target, name))
    });
    let secrets: BTreeSet<&String> = auth.collect();
    for secret in secrets {
        page.line(&["secret", secret]);
    }
    let mut resources: BTreeMap<&str, &ResourcesData> = BTreeMap::new();
    for target in &graph.targets {
        page.blank();
        if let Some(pins) = &target.pins {
            page.line(&["//", &pins.snapshot, &pins.key]);
        }
        let parent = match &target.from {
            BaseData::Prebuild(parent) => resources.get(parent.as_str()).copied(),
            BaseData::Image { .. } => None,
        };
        page.target(target, parent.unwrap_or(&DEFAULTS), &names);
        resources.insert(&target.name, &target.resources);
    }
    if !graph.groups.is_empty() {
        page.blank();
    }
    let groups = graph.groups.iter();
    let mut groups: Vec<(&str, &Vec<String>)> = groups
        .map(|(name, members)| (names.get(name), members))
        .collect();
    groups.sort();
    for (name, members) in groups {
        let members = members.iter().map(|member| names.get(member));
        let line = ["group", name].into_iter().chain(members);
        page.line(&line.collect::<Vec<&str>>());
    }
    if secret::first(&page.text).is_some() {
        // It was allowed where it came from.
        page.text.insert_str(0, "allow secret-literal\n\n");
    }
    page.text
}

fn size(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units
        .iter()
        .find(|(shift, _)| bytes.is_multiple_of(1 << shift));
    unit.map_or_else(
        || bytes.to_string(),
        |(shift, unit)| format!("{}{unit}", bytes >> shift),
    )
}

fn duration(seconds: u64) -> String {
    match seconds {
        whole if whole.is_multiple_of(3600) => format!("{}h", whole / 3600),
        whole if whole.is_multiple_of(60) => format!("{}m", whole / 60),
        seconds => format!("{seconds}s"),
    }
}

impl Page {
    fn target(&mut self, target: &TargetData, handed_down: &ResourcesData, names: &Names) {
        self.open(&["prebuild".to_owned(), names.get(&target.name).to_owned()]);
        self.line(&from(&target.from, names));
        if let Some(about) = &target.about {
            self.line(&["about", &self.value(about)]);
        }
        for (name, value) in &target.env {
            self.line(&["env", &format!("{name}={}", self.value(value))]);
        }
        if !target.path.is_empty() {
            let folders = target.path.iter().map(|folder| word(folder));
            self.line(
                &["path".to_owned()]
                    .into_iter()
                    .chain(folders)
                    .collect::<Vec<_>>(),
            );
        }
        if !target.secrets.is_empty() {
            let line = std::iter::once("secret").chain(target.secrets.iter().map(String::as_str));
            self.line(&line.collect::<Vec<_>>());
        }
        for cache in &target.caches {
            self.line(&["cache", &word(&cache.name), &property("path", &cache.path)]);
        }
        if handed_down != &target.resources {
            self.resources(&target.resources);
        }
        for file in &target.files {
            self.file(file);
        }
        self.repos_and_steps(target);
        self.close();
    }

    fn resources(&mut self, resources: &ResourcesData) {
        self.line(&[
            "resources".to_owned(),
            format!("cpu={}", resources.cpu),
            property("memory", &size(resources.memory)),
            property("disk", &size(resources.disk)),
            property("timeout", &duration(resources.timeout)),
        ]);
    }

    fn file(&mut self, file: &FileData) {
        let content = match (&file.from, &file.text) {
            (Some(from), _) => property("from", from),
            (None, text) => self.value(text.as_deref().unwrap_or_default()),
        };
        self.line(&[
            "file",
            &word(&file.path),
            &content,
            &property("mode", &file.mode),
        ]);
    }

    /// A repository whose folder only its origin tells has its steps in its block.
    fn repos_and_steps(&mut self, target: &TargetData) {
        let has_steps = |index: usize| target.steps.iter().any(|step| step.repo == Some(index));
        for (index, repo) in target.repos.iter().enumerate() {
            if !has_steps(index) {
                self.repo(repo, &[]);
            }
        }
        let mut at = 0;
        while let Some(step) = target.steps.get(at) {
            let Some(repo) = step.repo.and_then(|index| target.repos.get(index)) else {
                self.step(step);
                at += 1;
                continue;
            };
            let block = target.steps[at..]
                .iter()
                .take_while(|other| other.repo == step.repo);
            let block: Vec<&StepData> = block.collect();
            self.repo(repo, &block);
            at += block.len();
        }
    }

    fn repo(&mut self, repo: &RepoData, steps: &[&StepData]) {
        let mut words = vec!["repo".to_owned(), quoted(&repo.url)];
        let stated = [
            ("branch", &repo.branch),
            ("tag", &repo.tag),
            ("commit", &repo.commit),
            ("path", &repo.path),
            ("auth", &repo.auth),
        ];
        let stated = stated
            .iter()
            .filter_map(|(key, value)| Some(property(key, value.as_ref()?)));
        words.extend(stated);
        if repo.depth != 1 {
            words.push(format!("depth={}", repo.depth));
        }
        for (key, is_on) in [("submodules", repo.submodules), ("lfs", repo.lfs)] {
            if !is_on {
                words.push(format!("{key}=#false"));
            }
        }
        if repo.only.is_none() && steps.is_empty() {
            self.line(&words);
            return;
        }
        self.open(&words);
        if let Some(only) = &repo.only {
            for (name, patterns) in [("only", &only.files), ("stub", &only.stubs)] {
                if !patterns.is_empty() {
                    let patterns = patterns.iter().map(|pattern| word(pattern));
                    let line = std::iter::once(name.to_owned()).chain(patterns);
                    self.line(&line.collect::<Vec<_>>());
                }
            }
        }
        for step in steps {
            self.step(step);
        }
        self.close();
    }

    fn step(&mut self, step: &StepData) {
        let mut words = vec!["run".to_owned(), self.value(&step.run)];
        if let Some(folder) = step.folder.as_deref().filter(|folder| !folder.is_empty()) {
            words.push(property("in", folder));
        }
        if step.user != "dev" {
            words.push(property("as", step.user));
        }
        if step.shell != "bash" {
            words.push(property("shell", step.shell));
        }
        if step.timeout != STEP_TIMEOUT {
            words.push(property("timeout", &duration(step.timeout)));
        }
        if step.retry > 0 {
            words.push(format!("retry={}", step.retry));
        }
        self.line(&words);
    }
}

fn from(base: &BaseData, names: &Names) -> Vec<String> {
    let mut words = vec!["from".to_owned()];
    match base {
        BaseData::Prebuild(name) => words.push(property("prebuild", names.get(name))),
        BaseData::Image { name, platform } => {
            words.push(word(name));
            words.extend(
                platform
                    .iter()
                    .map(|platform| property("platform", platform)),
            );
        }
    }
    words
}
