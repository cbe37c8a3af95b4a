//! What opens one repository on one server: nothing, a password, or a token that another server hands out for it.

use std::cell::RefCell;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_auth::parser::ChallengeParser;
use reqwest::Response;
use reqwest::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::document::read_small;
use super::endpoint::{Endpoint, retry_after};
use super::fault::{Fault, Sought};
use super::login::{Login, Logins, Means};

/// Tokens and what comes with them.
const TOKEN_LIMIT: usize = 1 << 20;

/// Who this is to servers that hand out tokens for an identity.
const CLIENT: &str = "atelier";

pub(super) struct Access {
    /// As the server has it.
    repository: String,
    state: tokio::sync::Mutex<State>,
    /// What went wrong in looking for a login.
    troubles: RefCell<Vec<String>>,
}

#[derive(Default)]
struct State {
    has_looked: bool,
    login: Option<Login>,
    /// What requests carry. Marked as sensitive: nothing prints it, and no redirect takes it elsewhere.
    pass: Option<HeaderValue>,
    /// Counts passes: whoever was refused with an older one tries again with the one that is there.
    generation: u64,
}

/// What a server wants to see.
#[derive(Debug, PartialEq, Eq)]
enum Challenge {
    Basic,
    Bearer {
        realm: String,
        service: Option<String>,
        scope: Option<String>,
    },
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Access {
    pub(super) fn to(repository: &str) -> Self {
        Self {
            repository: repository.to_owned(),
            state: tokio::sync::Mutex::default(),
            troubles: RefCell::default(),
        }
    }

    pub(super) async fn pass(&self) -> (Option<HeaderValue>, u64) {
        let state = self.state.lock().await;
        (state.pass.clone(), state.generation)
    }

    /// Gets what the server asked for in `headers`, of one who had come with the pass of `generation`.
    pub(super) async fn renew(
        &self,
        endpoint: &Endpoint,
        logins: &Logins,
        headers: &HeaderMap,
        generation: u64,
    ) -> Result<(), Fault> {
        let mut state = self.state.lock().await;
        if state.generation != generation {
            return Ok(());
        }
        if !state.has_looked {
            let looked = logins.look(&endpoint.name, &self.repository).await;
            *self.troubles.borrow_mut() = looked.troubles;
            state.login = looked.login;
            state.has_looked = true;
        }
        let login = state.login.as_ref();
        let sought = || self.sought(logins, &endpoint.name);
        let pass = match (challenge(headers), login.map(|login| &login.means)) {
            (None, _) => {
                let what = "it wants a login of a kind that is not known here";
                return Err(Fault::Garbled(what.to_owned()));
            }
            (Some(_), Some(Means::Token(token))) => bearer(token.expose_secret()),
            (Some(Challenge::Basic), Some(Means::Password { user, password })) => {
                basic(user, password)
            }
            // An identity is for servers that hand out tokens.
            (Some(Challenge::Basic), _) => return Err(Fault::LoginNeeded(sought().into())),
            (
                Some(Challenge::Bearer {
                    realm,
                    service,
                    scope,
                }),
                _,
            ) => {
                let scope = scope.unwrap_or_else(|| format!("repository:{}:pull", self.repository));
                let service = service.unwrap_or_default();
                let response = self
                    .ask_for_token(endpoint, &realm, &service, &scope, login)
                    .await?;
                token(response, login, sought, endpoint).await?
            }
        };
        state.pass = Some(pass?);
        state.generation += 1;
        Ok(())
    }

    async fn ask_for_token(
        &self,
        endpoint: &Endpoint,
        realm: &str,
        service: &str,
        scope: &str,
        login: Option<&Login>,
    ) -> Result<Response, Fault> {
        let client = &endpoint.client;
        let request = match login.map(|login| &login.means) {
            Some(Means::Identity(identity)) => client.post(realm).form(&[
                ("grant_type", "refresh_token"),
                ("service", service),
                ("scope", scope),
                ("client_id", CLIENT),
                ("refresh_token", identity.expose_secret()),
            ]),
            means => {
                let request = client
                    .get(realm)
                    .query(&[("service", service), ("scope", scope)]);
                match means {
                    Some(Means::Password { user, password }) => {
                        request.header(reqwest::header::AUTHORIZATION, basic(user, password)?)
                    }
                    _ => request,
                }
            }
        };
        endpoint.wait_for(request).await
    }

    /// Why a pass that was just made does not open the repository.
    pub(super) async fn refused(&self, logins: &Logins, registry: &str) -> Fault {
        let state = self.state.lock().await;
        let sought = self.sought(logins, registry);
        refusal(state.login.as_ref(), sought)
    }

    pub(super) fn sought(&self, logins: &Logins, registry: &str) -> Sought {
        Sought {
            troubles: self.troubles.borrow().clone(),
            ..logins.sought(registry)
        }
    }
}

fn refusal(login: Option<&Login>, sought: Sought) -> Fault {
    match login {
        Some(login) => Fault::LoginRefused {
            login: login.origin.clone(),
            sought: sought.into(),
        },
        None => Fault::LoginNeeded(sought.into()),
    }
}

async fn token(
    response: Response,
    login: Option<&Login>,
    sought: impl FnOnce() -> Sought,
    endpoint: &Endpoint,
) -> Result<Result<HeaderValue, Fault>, Fault> {
    match response.status().as_u16() {
        200 => {}
        400 | 401 | 403 => return Err(refusal(login, sought())),
        429 => return Err(Fault::RateLimited(retry_after(response.headers()))),
        status @ 500..600 => {
            return Err(Fault::ServerFailed {
                status,
                retry_after: retry_after(response.headers()),
            });
        }
        status => {
            let what = format!("the server that hands out its tokens answered HTTP {status}");
            return Err(Fault::Garbled(what));
        }
    }
    let body = read_small(response, TOKEN_LIMIT, endpoint.patience).await?;
    // What is wrong with it is not told: the message would show it.
    let token = serde_json::from_slice::<Token>(&body)
        .ok()
        .and_then(|answer| answer.token.or(answer.access_token))
        .filter(|token| !token.is_empty());
    match token {
        Some(token) => Ok(bearer(&token)),
        None => Err(Fault::Garbled(
            "the server that hands out its tokens sent none".to_owned(),
        )),
    }
}

fn basic(user: &str, password: &SecretString) -> Result<HeaderValue, Fault> {
    let pair = format!("{user}:{}", password.expose_secret());
    sensitive(&format!("Basic {}", STANDARD.encode(pair)))
}

fn bearer(token: &str) -> Result<HeaderValue, Fault> {
    sensitive(&format!("Bearer {token}"))
}

fn sensitive(text: &str) -> Result<HeaderValue, Fault> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Fault::Garbled("a token has characters that no header can".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// What can be done of what the server offers; a token rather than a password.
fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    let mut found = None;
    for header in headers.get_all(WWW_AUTHENTICATE) {
        let text = header.to_str().unwrap_or_default();
        for offer in ChallengeParser::new(text).map_while(Result::ok) {
            let parameter = |name: &str| {
                let mut all = offer.params.iter();
                let (_, value) = all.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
                Some(value.to_unescaped()).filter(|value| !value.is_empty())
            };
            if offer.scheme.eq_ignore_ascii_case("bearer") {
                return Some(Challenge::Bearer {
                    realm: parameter("realm")?,
                    service: parameter("service"),
                    scope: parameter("scope"),
                });
            }
            if offer.scheme.eq_ignore_ascii_case("basic") {
                found = Some(Challenge::Basic);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Challenge, basic, challenge};

    fn of(headers: &[&str]) -> Option<Challenge> {
        let mut map = reqwest::header::HeaderMap::new();
        for header in headers {
            map.append("www-authenticate", header.parse().unwrap());
        }
        challenge(&map)
    }

    #[test]
    fn what_servers_ask_for() {
        let bearer = |service: Option<&str>, scope: Option<&str>| {
            Some(Challenge::Bearer {
                realm: "https://auth.docker.io/token".to_owned(),
                service: service.map(str::to_owned),
                scope: scope.map(str::to_owned),
            })
        };
        let realm = "Bearer realm=\"https://auth.docker.io/token\"";
        let whole = format!("{realm},service=\"registry.docker.io\",scope=\"repository:a/b:pull\"");
        assert_eq!(
            of(&[&whole]),
            bearer(Some("registry.docker.io"), Some("repository:a/b:pull"))
        );
        assert_eq!(of(&[realm]), bearer(None, None));
        assert_eq!(of(&["basic realm=\"x\""]), Some(Challenge::Basic));
        assert_eq!(of(&["Basic realm=\"x\"", realm]), bearer(None, None));
        assert_eq!(of(&["Negotiate"]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_pass_is_not_shown() {
        let pass = basic("me", &"secret".into()).unwrap();
        assert_eq!(pass, "Basic bWU6c2VjcmV0");
        assert!(!format!("{pass:?}").contains("bWU6"));
    }
}
