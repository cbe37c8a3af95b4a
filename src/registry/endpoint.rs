//! One server that has a registry's images: the registry itself, or a mirror of it. Requests, and when they are repeated.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, RANGE, RETRY_AFTER};
use reqwest::{Client, Method, Response, StatusCode};

use super::access::Access;
use super::fault::{Fault, Sought};
use super::login::Logins;
use super::reference::{address, is_loopback};
use super::settings::Settings;
use super::transport::{client, of_transport};
use crate::oci::Digest;

/// How much time a server gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) connect: Duration,
    /// Until it begins to answer.
    pub(super) answer: Duration,
    /// Between two parts of an answer.
    pub(super) silence: Duration,
    /// How often a request that failed is repeated.
    pub(super) repeats: u32,
    /// What all waiting before repeats may take.
    pub(super) wait: Duration,
}

/// For a registry, which nobody else stands in for.
const REGISTRY: Patience = Patience {
    connect: Duration::from_secs(10),
    answer: Duration::from_secs(30),
    silence: Duration::from_secs(30),
    repeats: 4,
    wait: Duration::from_secs(30),
};

/// For a mirror: it is there to save time.
const MIRROR: Patience = Patience {
    connect: Duration::from_secs(2),
    answer: Duration::from_secs(4),
    silence: Duration::from_secs(10),
    repeats: 0,
    wait: Duration::ZERO,
};

pub(super) struct Endpoint {
    /// As it is called in messages and in files with logins.
    pub(super) name: String,
    /// Such as `https://ghcr.io`.
    base: String,
    /// Where a mirror has the repositories, with a slash at the end; else empty.
    prefix: String,
    pub(super) patience: Patience,
    pub(super) client: Client,
    /// What opens each repository, as far as that was needed.
    pub(super) access: tokio::sync::Mutex<BTreeMap<String, Rc<Access>>>,
}

/// What is asked of a repository.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) method: Method,
    /// Without a mirror's prefix.
    pub(super) repository: String,
    /// Below the repository: `manifests/latest`, `blobs/sha256:…`.
    pub(super) path: String,
    pub(super) accept: String,
    /// From which byte on.
    pub(super) from: u64,
}

impl Ask {
    pub(super) fn blob(repository: &str, digest: &Digest) -> Self {
        Self {
            method: Method::GET,
            repository: repository.to_owned(),
            path: format!("blobs/{digest}"),
            accept: "*/*".to_owned(),
            from: 0,
        }
    }
}

impl Endpoint {
    pub(super) fn registry(name: &str, settings: &Settings) -> Result<Self, Fault> {
        Self::new(name, address(name), String::new(), settings, REGISTRY)
    }

    /// `place` is a host, and maybe a path; `settings` are those of that host.
    pub(super) fn mirror(place: &str, settings: &Settings) -> Result<Self, Fault> {
        let (host, path) = place.split_once('/').unwrap_or((place, ""));
        let path = path.trim_matches('/');
        let prefix = match path.is_empty() {
            true => String::new(),
            false => format!("{path}/"),
        };
        Self::new(host, host, prefix, settings, MIRROR)
    }

    fn new(
        name: &str,
        address: &str,
        prefix: String,
        settings: &Settings,
        patience: Patience,
    ) -> Result<Self, Fault> {
        let is_here = is_loopback(address);
        let is_plain = settings.http.unwrap_or(is_here && settings.ca.is_none());
        let scheme = if is_plain { "http" } else { "https" };
        Ok(Self {
            name: name.to_owned(),
            base: format!("{scheme}://{address}"),
            prefix,
            patience,
            client: client(settings, patience, is_plain, is_here)?,
            access: tokio::sync::Mutex::default(),
        })
    }

    /// The repository's name as this server has it.
    pub(super) fn repository(&self, ask: &Ask) -> String {
        format!("{}{}", self.prefix, ask.repository)
    }

    /// Asks until there is an answer or no hope for one. An answer is one with a body of what was asked for.
    pub(super) async fn ask(&self, logins: &Logins, ask: &Ask) -> Result<Response, Fault> {
        let mut repeats = 0;
        let mut waited = Duration::ZERO;
        loop {
            let fault = match Box::pin(self.attempt(logins, ask)).await {
                Ok(response) => return Ok(response),
                Err(fault) => fault,
            };
            let wait = fault.retry_after().unwrap_or(back_off(repeats));
            waited += wait;
            let is_hopeless = !fault.is_passing()
                || repeats >= self.patience.repeats
                || waited > self.patience.wait;
            if is_hopeless {
                return Err(fault);
            }
            repeats += 1;
            tokio::time::sleep(wait).await;
        }
    }

    /// One request, and the same again once a login was found that it wants.
    async fn attempt(&self, logins: &Logins, ask: &Ask) -> Result<Response, Fault> {
        let access = self.access(&self.repository(ask)).await;
        let (pass, generation) = access.pass().await;
        let response = self.send(ask, pass).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return check(response, || access.sought(logins, &self.name));
        }
        let headers = response.headers().clone();
        drop(response);
        access.renew(self, logins, &headers, generation).await?;
        let (pass, _) = access.pass().await;
        let response = self.send(ask, pass).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            return Err(access.refused(logins, &self.name).await);
        }
        check(response, || access.sought(logins, &self.name))
    }

    async fn access(&self, repository: &str) -> Rc<Access> {
        let mut all = self.access.lock().await;
        let access = all
            .entry(repository.to_owned())
            .or_insert_with(|| Rc::new(Access::to(repository)));
        Rc::clone(access)
    }

    async fn send(
        &self,
        ask: &Ask,
        pass: Option<reqwest::header::HeaderValue>,
    ) -> Result<Response, Fault> {
        let url = format!("{}/v2/{}/{}", self.base, self.repository(ask), ask.path);
        let mut request = self
            .client
            .request(ask.method.clone(), url)
            .header(ACCEPT, &ask.accept);
        if let Some(pass) = pass {
            request = request.header(AUTHORIZATION, pass);
        }
        if ask.from > 0 {
            request = request.header(RANGE, format!("bytes={}-", ask.from));
        }
        self.wait_for(request).await
    }

    /// Sends a request, to whom it may be.
    pub(super) async fn wait_for(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<Response, Fault> {
        let answer = Box::pin(tokio::time::timeout(self.patience.answer, request.send()));
        match answer.await {
            Ok(sent) => sent.map_err(|error| of_transport(&error, self.patience)),
            Err(_) => Err(Fault::TimedOut(self.patience.answer)),
        }
    }
}

fn check(response: Response, sought: impl FnOnce() -> Sought) -> Result<Response, Fault> {
    let status = response.status();
    let code = status.as_u16();
    Err(match code {
        200 | 206 => return Ok(response),
        403 => Fault::Denied(sought().into()),
        404 => Fault::NotFound,
        429 => Fault::RateLimited(retry_after(response.headers())),
        500..600 => Fault::ServerFailed {
            status: code,
            retry_after: retry_after(response.headers()),
        },
        _ => Fault::Refused(code),
    })
}

/// Seconds, or a date.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    crate::retry_after::parse(headers.get(RETRY_AFTER)?.to_str().ok()?)
}

/// How long to wait before the next try: a little longer each time, and not all at the same moment.
pub(super) fn back_off(tries: u32) -> Duration {
    let step = Duration::from_millis(250) * 2_u32.pow(tries.min(5));
    let mut noise = [0];
    rustix::rand::getrandom(&mut noise, rustix::rand::GetRandomFlags::empty()).ok();
    step + step * u32::from(noise[0]) / 1024
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::back_off;

    #[test]
    fn each_wait_is_longer() {
        assert!(back_off(0) < Duration::from_millis(400));
        assert!(back_off(3) >= Duration::from_secs(2));
        assert!(back_off(100) < Duration::from_secs(11));
    }
}
