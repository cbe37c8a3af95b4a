//! What the command line gives by name: secrets, parameters, variables.

use std::collections::BTreeMap;

use atelier_lang::{Inputs, Limits};
use secrecy::SecretString;

use super::args::{EnvArgs, FileArgs, LimitsKind, SecretArgs};
use super::failure::Failure;
use crate::pin::Secrets;

/// Reads the values that `--secret` names.
pub(super) fn secrets(args: &SecretArgs) -> Result<Secrets, Failure> {
    let mut secrets = Secrets::new();
    for word in &args.secrets {
        // What stands there may be the value itself.
        let name = word.split('=').next().unwrap_or_default();
        let form = || {
            Failure::usage(
                format!("`--secret {name}=…` does not say where the value is"),
                "write --secret NAME=env:VARIABLE or NAME=file:PATH",
            )
        };
        let (name, source) = word.split_once('=').ok_or_else(form)?;
        let value = match source.split_once(':') {
            Some(("env", variable)) => std::env::var(variable).map_err(|_| {
                let text = format!("secret {name}: the variable {variable} is not set");
                Failure::usage(text, "set it, or name another one")
            })?,
            Some(("file", path)) => std::fs::read_to_string(path).map_err(|error| {
                Failure::usage(
                    format!("secret {name}: cannot read {path}: {error}"),
                    "name a file that you may read",
                )
            })?,
            _ => return Err(form()),
        };
        let value = value.trim_end_matches(['\n', '\r']);
        secrets.insert(name.to_owned(), SecretString::from(value));
    }
    Ok(secrets)
}

/// Reads what is given to an evaluation.
pub(super) fn to(inputs: Inputs, args: &FileArgs) -> Result<Inputs, Failure> {
    Ok(Inputs {
        params: params(args)?,
        limits: match args.limits {
            LimitsKind::Normal => Limits::NORMAL,
            LimitsKind::Large => Limits::LARGE,
        },
        ..inputs
    })
}

/// Reads `--param NAME=VALUE`.
fn params(args: &FileArgs) -> Result<BTreeMap<String, String>, Failure> {
    let mut params = BTreeMap::new();
    for word in &args.params {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::usage(
                format!("`--param {word}` is not understood"),
                "write --param NAME=VALUE",
            ));
        };
        if params.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(Failure::usage(
                format!("`--param {name}` is given twice"),
                "give it once",
            ));
        }
    }
    Ok(params)
}

/// Reads `--env NAME=VALUE`.
pub(super) fn variables(args: &EnvArgs) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |word: &String| match word.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::usage(
            format!("`--env {word}` is not understood"),
            "write --env NAME=VALUE",
        )),
    };
    args.env.iter().map(pair).collect()
}
