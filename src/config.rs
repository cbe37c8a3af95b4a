//! The configuration: the caller's own file, then the project's; what a flag, a variable or nobody says; and for each
//! value where it came from.
//!
//! It knows no environment and no command: `Caller` brings what those say.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use atelier_lang::diag::{self, Diagnostic};
use atelier_lang::document::{self, LIMIT};
use atelier_lang::graph::ImageRef;
use atelier_lang::source::{ReadError, Sources, VirtualPath, World};
use atelier_lang::span::{Span, Spanned};

use crate::git;
use crate::registry::Settings;
use crate::resolve::host::HostPath;
use crate::resolve::live::DEFAULT_ALIAS;
use crate::world::Disk;

pub mod code;
mod faults;
mod host;
mod kubernetes;
mod private;
mod registry;
mod server;
mod statements;

use statements::{Owner, Statements};

/// The project's file, from the git root.
pub const PROJECT_FILE: &str = ".atelier/config.kdl";

/// What the caller's environment and command line say.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    pub home: Option<PathBuf>,
    /// The caller's own file, whether it is there or not.
    pub file: Option<PathBuf>,
    pub backend_flag: Option<Backend>,
    pub store_flag: Option<PathBuf>,
    pub store_variable: Option<PathBuf>,
    /// Where the store is if nothing says so.
    pub store_default: Option<PathBuf>,
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    pub value: T,
    pub origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// A place in one of the files.
    File(Span),
    /// The name of a variable.
    Environment(&'static str),
    Flag(&'static str),
}

/// Where snapshots are baked and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Local,
    Kubernetes,
}

impl Backend {
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Kubernetes => "kubernetes",
        }
    }
}

/// Every setting, decided.
#[derive(Debug)]
pub struct Config {
    pub backend: Setting<Backend>,
    /// `None` without a home to put it in.
    pub store: Option<Setting<PathBuf>>,
    pub aliases: BTreeMap<String, Setting<ImageRef>>,
    /// What image `host` shows beside the system, as written.
    pub host: Vec<Spanned<String>>,
    /// By their names.
    pub registries: BTreeMap<String, Registry>,
    /// Servers of repositories, by host.
    pub servers: BTreeMap<String, Server>,
    /// Of `kubernetes { … }`, by their names.
    pub kubernetes: BTreeMap<&'static str, Setting<Vec<String>>>,
    /// The caller's home.
    home: Option<PathBuf>,
    /// The files that were read.
    pub sources: Sources,
}

/// How a registry is reached, as far as anything says so.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    pub mirror: Option<Setting<String>>,
    pub ca: Option<Setting<PathBuf>>,
    pub http: Option<Setting<bool>>,
}

/// How a server of repositories is reached, as far as anything says so.
#[derive(Clone, Debug, Default)]
pub struct Server {
    pub user: Option<Setting<String>>,
    pub ca: Option<Setting<PathBuf>>,
}

/// What is wrong with a configuration, in the order of its files.
#[derive(Debug)]
pub struct Faults {
    pub sources: Sources,
    pub diagnostics: Vec<Diagnostic>,
}

impl Config {
    /// Reads the caller's file and that of the project at `root`. Neither needs to be there, and then it costs two
    /// questions to the file system.
    pub fn load(caller: &Caller, root: Option<&Path>) -> Result<Self, Faults> {
        let mut config = Self::without_files(caller);
        let mut found = Vec::new();
        if let Some(file) = caller.file.as_deref().filter(|file| is_there(file)) {
            let owner = Owner::User {
                home: caller.home.as_deref(),
                folder: file.parent().unwrap_or(Path::new("/")),
            };
            config.read(file, read_user_file(file), owner, &mut found);
        }
        let project = root.map(|root| (root, root.join(PROJECT_FILE)));
        if let Some((root, file)) = project.filter(|(_, file)| is_there(file)) {
            config.read(
                &file,
                read_project_file(root),
                Owner::Project { root },
                &mut found,
            );
        }
        // A flag is nearer than a variable, and both are nearer than a file.
        let variable = caller.store_variable.clone();
        let flag = caller.store_flag.clone();
        let named = variable.map(|path| (path, Origin::Environment("ATELIER_STORE")));
        if let Some((value, origin)) = flag.map(|path| (path, Origin::Flag("--store"))).or(named) {
            config.store = Some(Setting { value, origin });
        }
        if let Some(value) = caller.backend_flag {
            let origin = Origin::Flag("--backend");
            config.backend = Setting { value, origin };
        }
        if found.is_empty() {
            return Ok(config);
        }
        Err(Faults {
            diagnostics: diag::presentable(found, &config.sources),
            sources: config.sources,
        })
    }

    fn without_files(caller: &Caller) -> Self {
        let (name, image) = DEFAULT_ALIAS;
        let by_default = |value| Setting {
            value,
            origin: Origin::Default,
        };
        Self {
            backend: Setting {
                value: Backend::Local,
                origin: Origin::Default,
            },
            store: caller.store_default.clone().map(by_default),
            aliases: BTreeMap::from([(
                name.to_owned(),
                Setting {
                    value: image,
                    origin: Origin::Default,
                },
            )]),
            host: Vec::new(),
            registries: BTreeMap::new(),
            servers: BTreeMap::new(),
            kubernetes: BTreeMap::new(),
            home: caller.home.clone(),
            sources: Sources::default(),
        }
    }

    /// Puts what one file says in the place of what was said before.
    fn read(
        &mut self,
        file: &Path,
        read: Result<Vec<u8>, ReadError>,
        owner: Owner<'_>,
        found: &mut Vec<Diagnostic>,
    ) {
        let name = file.display().to_string();
        let document = document::parse(&name, read, &mut self.sources);
        found.extend(document.diagnostics);
        let said = Statements::read(&document.nodes, owner, found);
        if let Some(store) = said.store {
            self.store = Some(of_file(store));
        }
        if let Some(backend) = said.backend {
            self.backend = of_file(backend);
        }
        self.host.extend(said.host);
        let cluster = said.kubernetes.into_iter();
        self.kubernetes
            .extend(cluster.map(|(name, said)| (name, of_file(said))));
        for (name, said) in said.registries {
            let registry = self.registries.entry(name).or_default();
            // Each for itself: one file may name the mirror, and the other the CA.
            replace(&mut registry.mirror, said.mirror);
            replace(&mut registry.ca, said.ca);
            replace(&mut registry.http, said.http);
        }
        for (host, said) in said.servers {
            let server = self.servers.entry(host).or_default();
            replace(&mut server.user, said.user);
            replace(&mut server.ca, said.ca);
        }
        let aliases = said.aliases.into_iter();
        self.aliases
            .extend(aliases.map(|(name, image)| (name, of_file(image))));
    }

    /// What image `host` shows beside the system, each path looked at: it is there, and shows nothing that is private.
    pub fn host_paths(&self) -> Result<Vec<HostPath>, Faults> {
        let store = self.store.as_ref().map(|store| store.value.as_path());
        let (paths, found) = host::paths(&self.host, self.home.as_deref(), store);
        if found.is_empty() {
            return Ok(paths);
        }
        Err(Faults {
            diagnostics: diag::presentable(found, &self.sources),
            sources: self.sources.clone(),
        })
    }

    /// What is said of servers of repositories, for git.
    pub fn git_hosts(&self) -> BTreeMap<String, git::Host> {
        let host = |server: &Server| git::Host {
            user: server.user.as_ref().map(|said| said.value.clone()),
            ca: server.ca.as_ref().map(|said| said.value.clone()),
        };
        let all = self.servers.iter();
        all.map(|(name, server)| (name.clone(), host(server)))
            .collect()
    }

    /// What is said of registries, for who asks them.
    pub fn registry_settings(&self) -> BTreeMap<String, Settings> {
        let settings = |registry: &Registry| Settings {
            mirror: registry.mirror.as_ref().map(|said| said.value.clone()),
            ca: registry.ca.as_ref().map(|said| said.value.clone()),
            http: registry.http.as_ref().map(|said| said.value),
        };
        let all = self.registries.iter();
        all.map(|(name, registry)| (name.clone(), settings(registry)))
            .collect()
    }

    /// Whether a node that starts from `image` starts from the machine itself.
    pub fn is_host(&self, image: &ImageRef) -> bool {
        let image = match image {
            ImageRef::Alias(name) => self.aliases.get(name).map(|alias| &alias.value),
            other => Some(other),
        };
        image == Some(&ImageRef::Host)
    }

    /// The file and line of an origin in a file.
    pub fn place(&self, origin: Origin) -> Option<(&str, usize)> {
        match origin {
            Origin::File(span) => Some((self.sources.name(span.file), self.sources.line(span))),
            Origin::Default | Origin::Environment(_) | Origin::Flag(_) => None,
        }
    }

    /// The origin in words.
    pub fn describe(&self, origin: Origin) -> String {
        match (origin, self.place(origin)) {
            (_, Some((file, line))) => format!("{file}:{line}"),
            (Origin::Environment(name) | Origin::Flag(name), None) => name.to_owned(),
            (Origin::Default | Origin::File(_), None) => "default".to_owned(),
        }
    }
}

fn replace<T>(setting: &mut Option<Setting<T>>, said: Option<Spanned<T>>) {
    if let Some(said) = said {
        *setting = Some(of_file(said));
    }
}

fn of_file<T>(said: Spanned<T>) -> Setting<T> {
    Setting {
        origin: Origin::File(said.span),
        value: said.value,
    }
}

/// What is there and cannot be read is an error, and told when it is read. A home that the caller may not enter, as that of
/// the user before a `su`, has no configuration for them.
fn is_there(file: &Path) -> bool {
    match fs::metadata(file) {
        Ok(_) => true,
        Err(error) => !matches!(
            error.kind(),
            io::ErrorKind::NotFound
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::PermissionDenied
        ),
    }
}

/// The caller's own file may be a symbolic link, as those who keep their settings in a repository have it.
fn read_user_file(file: &Path) -> Result<Vec<u8>, ReadError> {
    let failed = |error: io::Error| ReadError::Failed(error.to_string());
    let metadata = fs::metadata(file).map_err(failed)?;
    if !metadata.is_file() {
        return Err(ReadError::Refused("it is not a regular file".to_owned()));
    }
    let size = metadata.len();
    if size > LIMIT {
        return Err(ReadError::TooLarge { size });
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(file).map_err(failed)?;
    file.take(LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

/// The project's lies in the project, wherever links lead.
fn read_project_file(root: &Path) -> Result<Vec<u8>, ReadError> {
    match VirtualPath::new(PROJECT_FILE) {
        Some(path) => Disk::new(root).read(&path, LIMIT),
        None => Err(ReadError::Refused("it is not in the project".to_owned())),
    }
}
