//! Logins from where other tools keep them: the files of docker and podman, and the programs that those name.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::fault::Sought;

mod file;
mod program;

use file::{Entry, File};

/// How a login shows itself.
#[derive(Clone)]
pub(super) enum Means {
    Password {
        user: String,
        password: SecretString,
    },
    /// For a server that hands out tokens.
    Identity(SecretString),
    /// For the registry itself.
    Token(SecretString),
}

#[derive(Clone)]
pub(super) struct Login {
    pub(super) means: Means,
    /// Where it was found, for people.
    pub(super) origin: String,
}

/// What a search has yielded.
pub(super) struct Looked {
    pub(super) login: Option<Login>,
    pub(super) troubles: Vec<String>,
}

/// Where to look. The caller's environment decides, and may hold secrets: nothing prints it.
pub(super) struct Logins {
    environment: Vec<(OsString, OsString)>,
}

/// A place with logins, nearest first.
enum Place {
    /// The text of a file, in a variable, as CI has it.
    Variable(&'static str),
    File(PathBuf),
}

impl Logins {
    pub(super) fn of(environment: Vec<(OsString, OsString)>) -> Self {
        Self { environment }
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut all = self.environment.iter();
        let (_, value) = all.find(|(known, _)| known == name)?;
        (!value.is_empty()).then_some(value)
    }

    fn folder(&self, variable: &str, at_home: &str) -> Option<PathBuf> {
        let named = self.variable(variable).map(PathBuf::from);
        let home = || Some(Path::new(self.variable("HOME")?).join(at_home));
        named.or_else(home)
    }

    /// A file that is named says that no other counts.
    fn places(&self) -> Vec<Place> {
        if let Some(file) = self.variable("REGISTRY_AUTH_FILE") {
            return vec![Place::File(file.into())];
        }
        let mut places = Vec::new();
        if self.variable(TEXT).is_some() {
            places.push(Place::Variable(TEXT));
        }
        let named = self.variable("DOCKER_CONFIG");
        let docker = self.folder("DOCKER_CONFIG", ".docker");
        let docker = docker.map(|folder| Place::File(folder.join("config.json")));
        let runtime = self.variable("XDG_RUNTIME_DIR").map(PathBuf::from);
        let podman = [runtime, self.folder("XDG_CONFIG_HOME", ".config")];
        let podman = podman
            .into_iter()
            .flatten()
            .map(|folder| Place::File(folder.join("containers/auth.json")));
        match named {
            Some(_) => places.extend(docker.into_iter().chain(podman)),
            None => places.extend(podman.chain(docker)),
        }
        places
    }

    /// Where a login for a registry is looked for.
    pub(super) fn sought(&self, registry: &str) -> Sought {
        let places = self.places();
        let files = places.iter().map(Place::to_string).collect();
        Sought {
            registry: registry.to_owned(),
            files,
            troubles: Vec::new(),
            podman: self.variable("REGISTRY_AUTH_FILE").is_some(),
        }
    }

    /// The nearest login for a repository, looked for as far from it as the whole registry.
    pub(super) async fn look(&self, registry: &str, repository: &str) -> Looked {
        let mut troubles = Vec::new();
        for place in self.places() {
            let file = match self.read(&place) {
                Ok(Some(file)) => file,
                Ok(None) => continue,
                Err(trouble) => {
                    troubles.push(format!("{place}: {trouble}"));
                    continue;
                }
            };
            let login = self.look_in(&file, &place, registry, repository, &mut troubles);
            if let Some(login) = Box::pin(login).await {
                let login = Some(login);
                return Looked { login, troubles };
            }
        }
        let login = None;
        Looked { login, troubles }
    }

    fn read(&self, place: &Place) -> Result<Option<File>, String> {
        let text = match place {
            Place::Variable(name) => match self.variable(name).and_then(OsStr::to_str) {
                Some(text) => text.as_bytes().to_vec(),
                None => return Ok(None),
            },
            Place::File(path) => match fs::read(path) {
                Ok(text) => text,
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error.to_string()),
            },
        };
        File::parse(&text).map(Some)
    }

    async fn look_in(
        &self,
        file: &File,
        place: &Place,
        registry: &str,
        repository: &str,
        troubles: &mut Vec<String>,
    ) -> Option<Login> {
        let found = file.entry(registry, repository);
        let written = match found.map(Entry::means) {
            Some(Ok(means)) => means,
            Some(Err(trouble)) => {
                troubles.push(format!("{place}: {trouble}"));
                None
            }
            None => None,
        };
        // What is written goes before the program for all the rest, not before the one for this registry.
        let store = file.store().filter(|_| found.is_none());
        for program in [file.helper(registry), store].into_iter().flatten() {
            let server = file.server(registry);
            match program::ask(program, &server, &self.environment).await {
                Ok(Some(means)) => {
                    let origin = format!("docker-credential-{program}");
                    return Some(Login { means, origin });
                }
                Ok(None) => {}
                Err(trouble) => troubles.push(format!("docker-credential-{program} {trouble}")),
            }
        }
        let origin = place.to_string();
        written.map(|means| Login { means, origin })
    }
}

/// As GitLab's runners have it.
const TEXT: &str = "DOCKER_AUTH_CONFIG";

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "${name}"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// What belongs to each registry or part of one.
type Named<T> = BTreeMap<String, T>;
