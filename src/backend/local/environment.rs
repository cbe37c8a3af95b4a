//! The variables that a process in a sandbox sees. Pure.

use std::collections::BTreeMap;

use secrecy::{ExposeSecret, SecretString};

use crate::backend::Environment;

/// Where programs are if an image does not say.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What image `host` adds to that.
const HOST_PATH: &str = "/usr/local/go/bin";

/// The caller's variables that say how to reach the network. They are not in the key.
pub(crate) const PROXIES: [&str; 8] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// What image `host` sets: PATH, with further folders of programs at its end.
pub(crate) fn of_host(further: &[String]) -> BTreeMap<String, String> {
    let folders = [PATH, HOST_PATH].map(str::to_owned).into_iter();
    let path: Vec<String> = folders.chain(further.iter().cloned()).collect();
    BTreeMap::from([("PATH".to_owned(), path.join(":"))])
}

/// Variables from the most general to the most particular; a later one replaces an earlier one.
pub(crate) fn variables(
    image: &BTreeMap<String, String>,
    proxies: &BTreeMap<String, String>,
    own: &Environment,
    extra: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let mut all = BTreeMap::from([("PATH".to_owned(), PATH.to_owned())]);
    all.extend(image.clone());
    let fixed = [
        ("HOME", "/home/dev"),
        ("USER", "dev"),
        ("LOGNAME", "dev"),
        ("SHELL", "/bin/bash"),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
    ];
    all.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
    all.extend(proxies.clone());
    all.extend(extra.clone());
    all.extend(own.variables.clone());
    let secrets = own.secrets.iter();
    all.extend(secrets.map(|(name, value)| (name.clone(), value.expose_secret().to_owned())));
    let folders = own.path.iter().map(|folder| match folder.starts_with('/') {
        true => folder.clone(),
        false => format!("/home/dev/{folder}"),
    });
    let path = folders
        .chain(all.get("PATH").cloned())
        .collect::<Vec<_>>()
        .join(":");
    all.insert("PATH".to_owned(), path);
    all.into_iter().collect()
}

/// Where a process starts: `path` is relative to the workspace, and may be empty.
pub(crate) fn folder(path: &str) -> String {
    format!("/home/dev/{path}").trim_end_matches('/').to_owned()
}

/// The proxy variables of this process.
pub(crate) fn proxies() -> BTreeMap<String, String> {
    let value = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    PROXIES.into_iter().filter_map(value).collect()
}

/// The passwords in variables that say how to reach the network, each with its variable's name, as they stand there and as
/// they are meant.
pub(crate) fn passwords<'a>(
    variables: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Vec<(String, SecretString)> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in variables {
        if !PROXIES.contains(&name.as_str()) {
            continue;
        }
        let address = value.split_once("://").map_or(&**value, |(_, rest)| rest);
        let login = address
            .split(['/', ','])
            .next()
            .and_then(|place| place.rsplit_once('@'));
        if let Some((_, password)) = login.and_then(|(login, _)| login.split_once(':')) {
            for password in [password.to_owned(), decoded(password)] {
                if !password.is_empty() {
                    found.entry(password).or_insert_with(|| name.clone());
                }
            }
        }
    }
    let found = found.into_iter();
    found
        .map(|(password, name)| (name, password.into()))
        .collect()
}

/// Without percent-encoding.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Added in steps only.
pub(crate) fn of_steps() -> BTreeMap<String, String> {
    BTreeMap::from(
        [("CI", "true"), ("ATELIER", "1")].map(|(name, value)| (name.to_owned(), value.to_owned())),
    )
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::passwords;

    #[test]
    fn passwords_of_proxies_are_found() {
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let all = [
            variable("HTTPS_PROXY", "http://me:p%40ss@proxy:8080/"),
            variable("http_proxy", "me:plain@proxy:1"),
            variable("ALL_PROXY", "http://me@proxy:1"),
            variable("NO_PROXY", "localhost,.local"),
            variable("OTHER", "http://me:other@host"),
        ];
        let found = passwords(all.iter().map(|(name, value)| (name, value)));
        let found: Vec<_> = found
            .iter()
            .map(|(name, value)| (&**name, value.expose_secret()))
            .collect();
        assert_eq!(
            found,
            [
                ("HTTPS_PROXY", "p%40ss"),
                ("HTTPS_PROXY", "p@ss"),
                ("http_proxy", "plain")
            ]
        );
    }
}
