//! One object as it changes, across broken connections.

use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_util::stream::{Stream, StreamExt};
use kube::api::{WatchEvent, WatchParams};
use tokio::time::{sleep, timeout};

use super::cluster::{Cluster, Kind, PATIENT, kind};
use crate::backend::BackendError;

/// A connection that says nothing for so long is looked at anew.
const SILENCE: Duration = Duration::from_secs(20);

type Changes<K> = Pin<Box<dyn Stream<Item = kube::Result<WatchEvent<K>>>>>;

type News<'a, K> = Pin<Box<dyn Stream<Item = Result<Option<K>, BackendError>> + 'a>>;

pub(super) struct Watch<'a, K> {
    news: News<'a, K>,
}

impl<'a, K: Kind + 'static> Watch<'a, K> {
    pub(super) fn of(cluster: &'a Cluster, name: impl Into<String>) -> Self {
        let state = State {
            cluster,
            name: name.into(),
            changes: None,
            version: None,
        };
        let news = futures_util::stream::unfold(state, async |mut state| {
            Some((state.next().await, state))
        });
        Self {
            news: news.boxed_local(),
        }
    }

    /// The object as it is at first, and then after each change; `None` where it is not there. What is given up half-way goes on
    /// when it is called again.
    pub(super) async fn next(&mut self) -> Result<Option<K>, BackendError> {
        self.news.next().await.unwrap_or(Ok(None))
    }
}

struct State<'a, K> {
    cluster: &'a Cluster,
    name: String,
    changes: Option<Changes<K>>,
    /// Of what was told last.
    version: Option<String>,
}

impl<K: Kind + 'static> State<'_, K> {
    async fn next(&mut self) -> Result<Option<K>, BackendError> {
        loop {
            let Some(changes) = &mut self.changes else {
                if let Some(news) = Box::pin(self.look()).await? {
                    return Ok(news);
                }
                continue;
            };
            match timeout(SILENCE, changes.next()).await {
                Ok(Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)))) => {
                    let version = object.meta().resource_version.clone();
                    if version != self.version {
                        self.version = version;
                        return Ok(Some(object));
                    }
                }
                Ok(Some(Ok(WatchEvent::Deleted(_)))) => {
                    self.changes = None;
                    self.version = Some(String::new());
                    return Ok(None);
                }
                Ok(Some(Ok(WatchEvent::Bookmark(_)))) => {}
                Ok(Some(Ok(WatchEvent::Error(_)) | Err(_)) | None) => {
                    self.changes = None;
                    sleep(Duration::from_millis(50)).await;
                }
                Err(_) => self.changes = None,
            }
        }
    }

    /// Reads the object and begins to watch from there; returns it if it is not what was told last.
    async fn look(&mut self) -> Result<Option<Option<K>>, BackendError> {
        let began = Instant::now();
        let all = self.cluster.all::<K>();
        let object = self.cluster.get::<K>(&self.name, PATIENT).await?;
        let version = object
            .as_ref()
            .and_then(|object| object.meta().resource_version.clone());
        let from = version.clone().unwrap_or_else(|| "0".to_owned());
        let parameters = WatchParams::default()
            .fields(&format!("metadata.name={}", self.name))
            .timeout(290);
        let what = format!("watch {} {}", kind::<K>(), self.name);
        let left = PATIENT.saturating_sub(began.elapsed());
        // The list of what is not there has no version to begin with: it is asked for again.
        if object.is_some() {
            let changes = self
                .cluster
                .read(&what, left, async || {
                    Ok(all.watch(&parameters, &from).await?.boxed_local())
                })
                .await?;
            self.changes = Some(changes);
        } else {
            sleep(Duration::from_millis(100)).await;
        }
        let version = version.or(Some(String::new()));
        if version == self.version {
            return Ok(None);
        }
        self.version = version;
        Ok(Some(object))
    }
}
