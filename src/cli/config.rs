//! The configuration as this run has it: read for every command that needs it, and printed by `config`.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde::Serialize;

use super::args::{BackendKind, ConfigArgs, StoreArgs};
use super::failure::Failure;
use super::{place, report, ui};
use crate::config::{Backend, Caller, Config, Origin, Registry, Server};
use crate::resolve::image;

/// The caller's file, and that of the project at `root`, below what the command line and the environment say.
pub(super) fn load(args: &StoreArgs, root: Option<&Path>) -> Result<Config, Failure> {
    let folders = etcetera::choose_base_strategy().ok();
    let caller = Caller {
        home: folders.as_ref().map(|f| f.home_dir().to_owned()),
        file: folders
            .as_ref()
            .map(|f| f.config_dir().join("atelier/config.kdl")),
        backend_flag: args.backend.map(|kind| match kind {
            BackendKind::Local => Backend::Local,
            BackendKind::Kubernetes => Backend::Kubernetes,
        }),
        store_flag: args.store.clone(),
        store_variable: std::env::var_os("ATELIER_STORE")
            .filter(|value| !value.is_empty())
            .map(PathBuf::from),
        store_default: folders.as_ref().map(|f| f.data_dir().join("atelier")),
    };
    Ok(Config::load(&caller, root)?)
}

/// Where the store is, as an absolute path.
pub(super) fn store(config: &Config) -> Result<PathBuf, Failure> {
    let Some(store) = &config.store else {
        return Err(Failure::usage(
            "there is no home folder",
            "place the store with --store DIR",
        ));
    };
    let path = std::path::absolute(&store.value)
        .map_err(|error| Failure::machine(&format!("cannot tell the current folder: {error}")))?;
    match path.to_str() {
        Some(_) => Ok(path),
        None => Err(Failure::usage(
            format!("the store's path {} is not UTF-8", path.display()),
            "place the store elsewhere with --store DIR",
        )),
    }
}

/// `config`: each value, and where it came from.
pub(super) fn config(args: &ConfigArgs) -> Result<u8, Failure> {
    let root = place::root_here()?;
    let config = load(&args.store, Some(&root))?;
    let rows = rows(&config)?;
    if args.json {
        let settings = rows.into_iter().map(|row| row.data(&config)).collect();
        ui::print_json(&Settings {
            schema: "atelier.config/1",
            settings,
        });
    } else {
        ui::print(&table(&rows, &config));
    }
    Ok(0)
}

/// One value of one setting.
struct Row {
    setting: &'static str,
    /// Of an alias.
    name: Option<String>,
    value: String,
    origin: Origin,
}

fn rows(config: &Config) -> Result<Vec<Row>, Failure> {
    let backend = config.backend.value.name();
    let mut rows = vec![Row::plain("backend", backend, config.backend.origin)];
    if let Some(setting) = &config.store {
        let path = store(config)?.display().to_string();
        rows.push(Row::plain("store", path, setting.origin));
    }
    rows.extend(config.aliases.iter().map(|(name, image)| Row {
        setting: "alias",
        name: Some(name.clone()),
        value: image::written(&image.value),
        origin: image.origin,
    }));
    rows.extend(
        config
            .registries
            .iter()
            .flat_map(|(name, registry)| of_registry(name, registry)),
    );
    rows.extend(
        config
            .servers
            .iter()
            .flat_map(|(name, server)| of_server(name, server)),
    );
    rows.extend(config.kubernetes.iter().map(|(name, said)| Row {
        setting: "kubernetes",
        name: Some((*name).to_owned()),
        value: said.value.join(" "),
        origin: said.origin,
    }));
    let paths = config.host_paths()?.into_iter().zip(&config.host);
    rows.extend(paths.map(|(path, written)| {
        let path = path.named.display().to_string();
        Row::plain("host path", path, Origin::File(written.span))
    }));
    Ok(rows)
}

/// A row for each thing that is said of a server of repositories.
fn of_server(name: &str, server: &Server) -> Vec<Row> {
    let Server { user, ca } = server;
    let row = |what: &str, value: String, origin| Row {
        setting: "git",
        name: Some(format!("{name} {what}")),
        value,
        origin,
    };
    let user = user
        .iter()
        .map(|it| row("user", it.value.clone(), it.origin));
    let ca = ca
        .iter()
        .map(|it| row("ca", it.value.display().to_string(), it.origin));
    user.chain(ca).collect()
}

/// A row for each thing that is said of a registry.
fn of_registry(name: &str, registry: &Registry) -> Vec<Row> {
    let Registry { mirror, ca, http } = registry;
    let row = |what: &str, value: String, origin| Row {
        setting: "registry",
        name: Some(format!("{name} {what}")),
        value,
        origin,
    };
    let mirror = mirror
        .iter()
        .map(|it| row("mirror", it.value.clone(), it.origin));
    let ca = ca
        .iter()
        .map(|it| row("ca", it.value.display().to_string(), it.origin));
    let http = http
        .iter()
        .map(|it| row("http", it.value.to_string(), it.origin));
    mirror.chain(ca).chain(http).collect()
}

impl Row {
    fn plain(setting: &'static str, value: impl Into<String>, origin: Origin) -> Self {
        Self {
            setting,
            name: None,
            value: value.into(),
            origin,
        }
    }

    fn data(self, config: &Config) -> Entry {
        let place = config.place(self.origin);
        Entry {
            setting: self.setting,
            name: self.name,
            value: self.value,
            from: match self.origin {
                Origin::Default => "default",
                Origin::File(_) => "file",
                Origin::Environment(_) => "environment",
                Origin::Flag(_) => "flag",
            },
            file: place.map(|(file, _)| file.to_owned()),
            line: place.map(|(_, line)| line),
        }
    }
}

fn table(rows: &[Row], config: &Config) -> String {
    let header = ["SETTING", "VALUE", "FROM"].map(str::to_owned).to_vec();
    let row = |row: &Row| {
        let setting = match &row.name {
            Some(name) => format!("{} {name}", row.setting),
            None => row.setting.to_owned(),
        };
        vec![setting, row.value.clone(), config.describe(row.origin)]
    };
    report::table(
        &[header]
            .into_iter()
            .chain(rows.iter().map(row))
            .collect::<Vec<_>>(),
    )
}

#[derive(Serialize)]
struct Settings {
    schema: &'static str,
    settings: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    setting: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    value: String,
    from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}
