//! A file with logins: docker's config.json, and podman's auth.json, which is the same.

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{GeneralPurposeConfig, STANDARD};
use secrecy::SecretString;
use serde::Deserialize;

use super::super::reference::canonical;
use super::{Means, Named};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct File {
    #[serde(default)]
    auths: Named<Entry>,
    #[serde(default)]
    cred_helpers: Named<String>,
    #[serde(default)]
    creds_store: String,
}

/// One login. Without anything in it, it says that a program knows it.
#[derive(Default, Deserialize)]
pub(super) struct Entry {
    #[serde(default)]
    auth: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    identitytoken: String,
    #[serde(default)]
    registrytoken: String,
}

/// The name that docker gives to the registry that was there first.
const FIRST: &str = "https://index.docker.io/v1/";

impl File {
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        // Not the parser's own words, which may show a value.
        serde_json::from_slice(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("it is not JSON of this kind (line {line}, column {column})")
        })
    }

    /// The program that keeps the logins of one registry.
    pub(super) fn helper(&self, registry: &str) -> Option<&str> {
        let mut all = self.cred_helpers.iter();
        let (_, name) = all.find(|(key, _)| scope(key) == registry)?;
        Some(name.as_str()).filter(|name| !name.is_empty())
    }

    /// The program that keeps all others.
    pub(super) fn store(&self) -> Option<&str> {
        Some(self.creds_store.as_str()).filter(|name| !name.is_empty())
    }

    /// What programs call the registry: as the file does, if it does.
    pub(super) fn server(&self, registry: &str) -> String {
        let mut keys = self.auths.keys().chain(self.cred_helpers.keys());
        let named = keys.find(|key| scope(key) == registry);
        match (named, registry) {
            (Some(key), _) => key.clone(),
            (None, "docker.io") => FIRST.to_owned(),
            (None, other) => other.to_owned(),
        }
    }

    /// The entry that is nearest to a repository, of those that say anything.
    pub(super) fn entry(&self, registry: &str, repository: &str) -> Option<&Entry> {
        let whole = format!("{registry}/{repository}");
        let of_whole = |key: &str| {
            let scope = scope(key);
            let rest = whole.strip_prefix(&scope)?;
            (rest.is_empty() || rest.starts_with('/')).then_some(scope.len())
        };
        let fitting = self.auths.iter().filter(|(_, entry)| !entry.is_empty());
        let fitting = fitting.filter_map(|(key, entry)| Some((of_whole(key)?, entry)));
        fitting
            .max_by_key(|(length, _)| *length)
            .map(|(_, entry)| entry)
    }
}

/// The registry, and maybe a path in it, that a key means. One with a scheme means a whole registry, whatever follows.
fn scope(key: &str) -> String {
    let (has_scheme, rest) = match key.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, key),
    };
    let rest = rest.trim_end_matches('/');
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = canonical(host);
    match path {
        "" | "v1" | "v2" => host,
        _ if has_scheme => host,
        path => format!("{host}/{path}"),
    }
}

impl Entry {
    fn is_empty(&self) -> bool {
        let all = [
            &self.auth,
            &self.username,
            &self.identitytoken,
            &self.registrytoken,
        ];
        all.into_iter().all(String::is_empty)
    }

    /// `None` without any; an error for what cannot be read.
    pub(super) fn means(&self) -> Result<Option<Means>, &'static str> {
        if !self.registrytoken.is_empty() {
            return Ok(Some(Means::Token(self.registrytoken.as_str().into())));
        }
        if !self.identitytoken.is_empty() {
            return Ok(Some(Means::Identity(self.identitytoken.as_str().into())));
        }
        if !self.auth.is_empty() {
            return pair(&self.auth)
                .map(Some)
                .ok_or("an `auth` is not user:password in base64");
        }
        Ok((!self.username.is_empty()).then(|| Means::Password {
            user: self.username.clone(),
            password: self.password.as_str().into(),
        }))
    }
}

fn pair(encoded: &str) -> Option<Means> {
    // Some tools leave the padding out.
    let lenient =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&base64::alphabet::STANDARD, lenient);
    let text = STANDARD
        .decode(encoded)
        .or_else(|_| engine.decode(encoded))
        .ok()?;
    let text = String::from_utf8(text).ok()?;
    let (user, password) = text.split_once(':')?;
    // Docker fills up with zeros.
    let password = password.trim_end_matches('\0');
    Some(Means::Password {
        user: user.to_owned(),
        password: SecretString::from(password),
    })
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::{File, Means, scope};

    fn user(file: &str, registry: &str, repository: &str) -> Option<String> {
        let file = File::parse(file.as_bytes()).unwrap();
        match file.entry(registry, repository)?.means().unwrap()? {
            Means::Password { user, password } => {
                Some(format!("{user} {}", password.expose_secret()))
            }
            Means::Identity(token) => Some(format!("identity {}", token.expose_secret())),
            Means::Token(token) => Some(format!("token {}", token.expose_secret())),
        }
    }

    #[test]
    fn keys_are_hosts_urls_and_paths() {
        for (key, expected) in [
            ("ghcr.io", "ghcr.io"),
            ("https://ghcr.io", "ghcr.io"),
            ("https://ghcr.io/v1/", "ghcr.io"),
            ("https://ghcr.io/some/path", "ghcr.io"),
            ("GHCR.io/", "ghcr.io"),
            ("ghcr.io/acme", "ghcr.io/acme"),
            ("https://index.docker.io/v1/", "docker.io"),
            ("docker.io/library", "docker.io/library"),
            ("localhost:5000", "localhost:5000"),
        ] {
            assert_eq!(scope(key), expected, "{key}");
        }
    }

    #[test]
    fn the_nearest_entry_counts() {
        let file = r#"{ "auths": {
            "ghcr.io": { "auth": "YTox" },
            "ghcr.io/acme": { "auth": "YjoyOjM=" },
            "ghcr.io/acme/deep": { "username": "c", "password": "3" },
            "ghcr.io/empty": {},
            "https://index.docker.io/v1/": { "auth": "ZDo0AAA=" },
            "a.dev": { "identitytoken": "i", "auth": "YTox" },
            "b.dev": { "registrytoken": "r" }
        }, "HttpHeaders": { "x": "y" } }"#;
        for (registry, repository, expected) in [
            ("ghcr.io", "other", Some("a 1")),
            ("ghcr.io", "acme/dev", Some("b 2:3")),
            ("ghcr.io", "acmeish/dev", Some("a 1")),
            ("ghcr.io", "acme/deep/er", Some("c 3")),
            ("ghcr.io", "empty/dev", Some("a 1")),
            ("docker.io", "library/debian", Some("d 4")),
            ("a.dev", "x", Some("identity i")),
            ("b.dev", "x", Some("token r")),
            ("c.dev", "x", None),
        ] {
            let found = user(file, registry, repository);
            assert_eq!(found.as_deref(), expected, "{registry}/{repository}");
        }
    }

    #[test]
    fn padding_may_be_missing_and_rubbish_is_told_without_showing_it() {
        let file =
            r#"{ "auths": { "a.dev": { "auth": "YWI6MQ" }, "b.dev": { "auth": "c2VjcmV0" } } }"#;
        assert_eq!(user(file, "a.dev", "x").as_deref(), Some("ab 1"));
        let parsed = File::parse(file.as_bytes()).unwrap();
        let trouble = parsed.entry("b.dev", "x").unwrap().means().err().unwrap();
        assert!(!trouble.contains("c2Vj"));
        let trouble = File::parse(br#"{"auths": "s3cret"}"#).err().unwrap();
        assert_eq!(trouble, "it is not JSON of this kind (line 1, column 18)");
    }

    #[test]
    fn programs_are_asked_by_the_name_that_the_file_has() {
        let file = r#"{ "auths": { "https://index.docker.io/v1/": {}, "https://a.dev": {} },
            "credHelpers": { "gcr.io": "gcloud", "public.ecr.aws": "" }, "credsStore": "desktop" }"#;
        let file = File::parse(file.as_bytes()).unwrap();
        assert_eq!(file.helper("gcr.io"), Some("gcloud"));
        assert_eq!(file.helper("public.ecr.aws"), None);
        assert_eq!(file.store(), Some("desktop"));
        assert_eq!(file.server("docker.io"), "https://index.docker.io/v1/");
        assert_eq!(file.server("a.dev"), "https://a.dev");
        assert_eq!(file.server("b.dev"), "b.dev");
        assert!(file.entry("docker.io", "library/debian").is_none());
    }
}
