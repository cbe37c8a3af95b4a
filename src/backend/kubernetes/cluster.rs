//! The API server of a cluster: every call has a limit, and reads are tried again for a while.

use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, PersistentVolumeClaim, Pod};
use kube::api::{Api, ListParams, ObjectList, PostParams};
use kube::config::KubeConfigOptions;
use kube::{Client, Config};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};

use super::failure::{Trouble, of_api, of_configuration, silent};
use super::names::NONCE;
use super::settings::Settings;
use super::volume_snapshot::VolumeSnapshot;
use crate::backend::{BackendError, Class};

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(30);

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// For whom somebody waits who has only asked.
pub(super) const BRIEF: Duration = Duration::from_secs(6);

/// For whom work waits that would be lost: a control plane may be replaced meanwhile.
pub(super) const PATIENT: Duration = Duration::from_secs(90);

/// The most that a page of a list holds.
const PAGE: u32 = 500;

pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) namespace: String,
}

/// What an object is made of here: a kind with a namespace.
pub(super) trait Kind:
    kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + std::fmt::Debug
    + DeserializeOwned
    + Serialize
{
}

impl Kind for Pod {}
impl Kind for PersistentVolumeClaim {}
impl Kind for Lease {}
impl Kind for ConfigMap {}
impl Kind for Event {}
impl Kind for VolumeSnapshot {}

impl Cluster {
    /// Reads who to talk to; nothing is asked yet.
    pub(super) async fn open(settings: &Settings) -> Result<Self, BackendError> {
        // Somebody may have done so already, which is as good.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let config = match &settings.context {
            Some(context) => {
                let options = KubeConfigOptions {
                    context: Some(context.clone()),
                    ..KubeConfigOptions::default()
                };
                let config = Config::from_kubeconfig(&options).await;
                config.map_err(|error| of_configuration(&error.to_string()))
            }
            None => {
                let config = Config::infer().await;
                config.map_err(|error| of_configuration(&error.to_string()))
            }
        };
        let mut config = config?;
        if is_reached_directly(config.cluster_url.host().unwrap_or_default()) {
            config.proxy_url = None;
        }
        // What is not repeatable would be repeated, too.
        config.default_retry = false;
        config.connect_timeout = Some(CONNECT);
        let namespace = settings.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| config.default_namespace.clone());
        let client =
            Client::try_from(config).map_err(|error| of_configuration(&error.to_string()))?;
        Ok(Self { client, namespace })
    }

    pub(super) fn all<K: Kind>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Asks until there is an answer, or `patience` is at its end. Whatever is asked changes nothing.
    pub(super) async fn read<T>(
        &self,
        what: &str,
        patience: Duration,
        ask: impl AsyncFn() -> kube::Result<T>,
    ) -> Result<T, BackendError> {
        let began = Instant::now();
        let mut pause = Duration::from_millis(100);
        loop {
            let trouble = match timeout(ANSWER, Box::pin(ask())).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => of_api(what, &error).into_error(what),
                Err(_) => silent(what),
            };
            if trouble.class != Class::Transient || began.elapsed() + pause > patience {
                return Err(trouble);
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    /// Does something once. [`Trouble::Unknown`] says that it may have been done.
    pub(super) async fn write<T>(
        &self,
        what: &str,
        work: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Trouble> {
        match timeout(ANSWER, Box::pin(work)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(of_api(what, &error)),
            Err(_) => Err(Trouble::Unknown(silent(what))),
        }
    }

    /// The object of this name, if there is one.
    pub(super) async fn get<K: Kind>(
        &self,
        name: &str,
        patience: Duration,
    ) -> Result<Option<K>, BackendError> {
        let all = self.all::<K>();
        let what = format!("read {} {name}", kind::<K>());
        self.read(&what, patience, async || all.get_opt(name).await)
            .await
    }

    /// Makes an object that carries a nonce. One of this name that somebody else made is [`Trouble::Conflict`]; one that this
    /// call made, without hearing so, is as good as an answer.
    pub(super) async fn create<K: Kind>(&self, object: &K) -> Result<K, Trouble> {
        let name = object.meta().name.clone().unwrap_or_default();
        let what = format!("create {} {name}", kind::<K>());
        let all = self.all::<K>();
        let began = Instant::now();
        loop {
            let post = PostParams::default();
            match self.write(&what, all.create(&post, object)).await {
                Ok(made) => return Ok(made),
                Err(Trouble::Unknown(error)) if began.elapsed() > PATIENT => {
                    return Err(Trouble::Failed(error));
                }
                Err(Trouble::Unknown(_)) => sleep(Duration::from_millis(300)).await,
                Err(Trouble::Conflict) => {
                    let there = self.get::<K>(&name, PATIENT).await;
                    return match there.map_err(Trouble::Failed)? {
                        Some(there) if nonce(&there) == nonce(object) => Ok(there),
                        _ => Err(Trouble::Conflict),
                    };
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Deletes an object, if it is there and is the one that is meant.
    pub(super) async fn delete<K: Kind>(
        &self,
        name: &str,
        parameters: &kube::api::DeleteParams,
    ) -> Result<bool, Trouble> {
        let all = self.all::<K>();
        let what = format!("delete {} {name}", kind::<K>());
        let began = Instant::now();
        let mut asked_before = false;
        loop {
            match self.write(&what, all.delete(name, parameters)).await {
                Ok(_) => return Ok(true),
                // Nobody said whether it was deleted before: it was there, for all that is known.
                Err(Trouble::Missing) => return Ok(asked_before),
                // To delete what is deleted does no harm.
                Err(Trouble::Unknown(_)) if began.elapsed() < PATIENT => {
                    asked_before = true;
                    sleep(Duration::from_millis(300)).await;
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Goes through all objects that `labels` select, page by page, so that no more than one page is held.
    pub(super) async fn each<K: Kind>(
        &self,
        labels: &str,
        patience: Duration,
        mut take: impl FnMut(K),
    ) -> Result<(), BackendError> {
        let all = self.all::<K>();
        let what = format!("list {}s", kind::<K>());
        let mut next: Option<String> = None;
        loop {
            let mut page = ListParams::default().labels(labels).limit(PAGE);
            page.continue_token = next;
            let ask = async || or_later(all.list(&page).await);
            let told: Page<K> = self.read(&what, patience, ask).await?;
            next = match told {
                Page::Items(list) => {
                    list.items.into_iter().for_each(&mut take);
                    list.metadata.continue_.filter(|next| !next.is_empty())
                }
                Page::Later(next) => Some(next),
            };
            if next.is_none() {
                return Ok(());
            }
        }
    }

    /// The same, as one list.
    pub(super) async fn list<K: Kind>(
        &self,
        labels: &str,
        patience: Duration,
    ) -> Result<Vec<K>, BackendError> {
        let mut all = Vec::new();
        self.each(labels, patience, |object| all.push(object))
            .await?;
        Ok(all)
    }

    /// Changes an object by a JSON patch, whose tests guard it.
    pub(super) async fn patch<K: Kind>(
        &self,
        name: &str,
        operations: &serde_json::Value,
    ) -> Result<K, Trouble> {
        let what = format!("change {} {name}", kind::<K>());
        let path = format!("{}/{name}", K::url_path(&(), Some(&self.namespace)));
        let request = http::Request::patch(path)
            .header("Content-Type", "application/json-patch+json")
            .header("Accept", "application/json")
            .body(operations.to_string().into_bytes());
        let request = request
            .map_err(|error| Trouble::Failed(BackendError::new(Class::Bug, error.to_string())))?;
        self.write(&what, self.client.request::<K>(request)).await
    }
}

/// What a list has next.
enum Page<K: Clone> {
    Items(ObjectList<K>),
    /// The state of things that it was begun with is forgotten; from here it goes on with what there is now.
    Later(String),
}

fn or_later<K: Clone>(told: kube::Result<ObjectList<K>>) -> kube::Result<Page<K>> {
    match told {
        Err(kube::Error::Api(status)) if status.code == 410 => {
            let metadata = status.metadata.as_ref();
            match metadata.and_then(|metadata| metadata.continue_.clone()) {
                Some(next) => Ok(Page::Later(next)),
                None => Err(kube::Error::Api(status)),
            }
        }
        told => told.map(Page::Items),
    }
}

/// The client takes `HTTPS_PROXY` for every cluster, whatever `NO_PROXY` says.
fn is_reached_directly(host: &str) -> bool {
    let named = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let excluded = named("NO_PROXY").or_else(|| named("no_proxy"));
    is_excluded(host, &excluded.unwrap_or_default())
}

fn is_excluded(host: &str, excluded: &str) -> bool {
    excluded.split(',').map(str::trim).any(|name| {
        let name = name.trim_start_matches('.');
        let below = host
            .strip_suffix(name)
            .is_some_and(|rest| rest.ends_with('.'));
        name == "*" || host == name || !name.is_empty() && below
    })
}

/// What people call a kind of objects.
pub(super) fn kind<K: Kind>() -> &'static str {
    match &*K::plural(&()) {
        "pods" => "pod",
        "persistentvolumeclaims" => "claim",
        "leases" => "lease",
        "configmaps" => "config map",
        "volumesnapshots" => "snapshot",
        _ => "object",
    }
}

pub(super) fn nonce<K: Kind>(object: &K) -> Option<&str> {
    let annotations = object.meta().annotations.as_ref()?;
    annotations.get(NONCE).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::is_excluded;

    #[test]
    fn hosts_are_excluded_by_name_and_by_domain() {
        let excluded = "localhost, 10.0.0.1,.acme.dev";
        assert!(is_excluded("10.0.0.1", excluded));
        assert!(is_excluded("k8s.acme.dev", excluded));
        assert!(!is_excluded("notacme.dev", excluded));
        assert!(!is_excluded("10.0.0.10", excluded));
        assert!(!is_excluded("any", ""));
        assert!(is_excluded("any", "*"));
    }
}
