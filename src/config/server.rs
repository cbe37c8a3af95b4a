//! `git HOST …`: how one server of repositories is reached.

use std::path::PathBuf;

use atelier_lang::code as lang;
use atelier_lang::diag::Diagnostic;
use atelier_lang::span::Spanned;
use atelier_lang::spelling::visible;
use atelier_lang::tree::{Node, Property};
use atelier_lang::url::normal_form;

use super::faults::{form, twice};
use super::registry::replace;
use super::statements::{Reader, text};

impl Reader<'_> {
    pub(super) fn git(&mut self, node: &Node) {
        let Some(host) = self.named(node) else {
            return;
        };
        let Some(name) = server(&host) else {
            self.found.push(no_server(&host));
            return;
        };
        let mut said = self.said.servers.remove(&name).unwrap_or_default();
        for property in &node.properties {
            let key = property.key.as_str();
            let first = match key {
                "user" => self
                    .user(property)
                    .map(|user| replace(&mut said.user, user)),
                // In a project too: who writes the file that names repositories also says where tokens go.
                "ca" => self.authority(property).map(|ca| replace(&mut said.ca, ca)),
                _ => {
                    self.found.push(no_such(&property.key));
                    continue;
                }
            };
            if let Some(Some(first)) = first {
                let what = format!("git {name} {key}");
                self.found.push(twice(property.span(), &what, first));
            }
        }
        self.said.servers.insert(name, said);
    }

    fn user(&mut self, property: &Property) -> Option<Spanned<String>> {
        let user = text(&property.value)?;
        if user.is_empty() || user.contains(|c: char| c == ':' || c.is_control()) {
            let message = format!("`{}` is no user", visible(&user));
            let fault = Diagnostic::error(lang::BAD_VALUE, user.span, message, "not a name");
            let help =
                "the name that the server wants beside a token; the token is given with --secret";
            self.found.push(fault.help(help));
            return None;
        }
        Some(Spanned::new(user.value, property.span()))
    }

    fn authority(&mut self, property: &Property) -> Option<Spanned<PathBuf>> {
        let path = text(&property.value)?;
        match self.place(&path) {
            Ok(place) => Some(Spanned::new(place.into(), property.span())),
            Err(fault) => {
                self.found.push(fault);
                None
            }
        }
    }
}

/// The host, and the port if it is another one, as in the URLs of repositories.
fn server(written: &str) -> Option<String> {
    if written.contains(['/', '@', '?', '#']) {
        return None;
    }
    let https = normal_form(&format!("https://{written}/x"));
    let url = https.or_else(|| normal_form(&format!("http://{written}/x")))?;
    let (_, rest) = url.split_once("://")?;
    rest.strip_suffix("/x").map(str::to_owned)
}

fn no_such(key: &Spanned<String>) -> Diagnostic {
    let message = format!("`git` has no `{}`", visible(key));
    Diagnostic::error(lang::UNKNOWN_PROPERTY, key.span, message, "unknown")
        .help(format!("written: {}", form("git")))
}

fn no_server(host: &Spanned<String>) -> Diagnostic {
    let message = format!("`{}` is no host", visible(host));
    Diagnostic::error(lang::BAD_VALUE, host.span, message, "not a host")
        .help("a host, with its port if that is not 443, as in the URLs of its repositories: git.acme.dev:8443")
}

#[cfg(test)]
mod tests {
    use super::server;

    #[test]
    fn a_server_is_named_as_in_urls() {
        for (written, expected) in [
            ("git.acme.dev", Some("git.acme.dev")),
            ("Git.Acme.dev:443", Some("git.acme.dev")),
            ("git.acme.dev:8443", Some("git.acme.dev:8443")),
            ("127.0.0.1:3000", Some("127.0.0.1:3000")),
            ("localhost:3000", Some("localhost:3000")),
            ("https://git.acme.dev", None),
            ("git.acme.dev/team", None),
            ("me@git.acme.dev", None),
            ("acme", None),
            ("", None),
        ] {
            assert_eq!(server(written).as_deref(), expected, "{written}");
        }
    }
}
