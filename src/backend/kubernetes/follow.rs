//! The events that a runner prints, in order and each once, across broken connections and rotated logs.

use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_util::io::AsyncBufReadExt;
use futures_util::stream::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use tokio::time::{sleep, timeout};

use super::cluster::{Cluster, PATIENT};
use super::pod::{Container, state};
use crate::backend::BackendError;
use crate::backend::kubernetes::failure::{Trouble, of_api};
use crate::runner::protocol::{Event, Kind};

/// Before a container runs, or after a connection broke.
const AGAIN: Duration = Duration::from_millis(150);

/// A connection that says nothing for so long is made anew: it may have died without a word.
const SILENCE: Duration = Duration::from_secs(45);

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);

type Lines = Pin<Box<dyn Stream<Item = std::io::Result<String>>>>;

/// What a container's log says next.
#[derive(Debug)]
pub(super) enum Said {
    Event(Kind),
    /// So many events were rotated away before they could be read.
    Gap(u64),
    /// It may not be read; nothing more comes.
    Refused(BackendError),
}

/// The log of one container.
pub(super) struct Log<'a> {
    cluster: &'a Cluster,
    pod: String,
    container: Container,
    lines: Option<Lines>,
    /// Of the event that was told last.
    seq: u64,
    /// When the line was written that was read last, and is read again.
    since: Option<String>,
    /// The event after a gap.
    held: Option<Event>,
    /// The pod was there: when it is not any more, it is gone.
    is_seen: bool,
    refused: Option<BackendError>,
    is_done: bool,
}

impl<'a> Log<'a> {
    pub(super) fn of(cluster: &'a Cluster, pod: impl Into<String>, container: Container) -> Self {
        Self {
            cluster,
            pod: pod.into(),
            container,
            lines: None,
            seq: 0,
            since: None,
            held: None,
            is_seen: false,
            refused: None,
            is_done: false,
        }
    }

    /// What it says, as a stream: an item that is given up half-way comes later.
    pub(super) fn stream(self) -> impl Stream<Item = Said> + 'a {
        futures_util::stream::unfold(self, async |mut log| Some((log.next().await?, log)))
    }

    /// `None` when there is no more to come: after the result, or when the container has ended without one, or is gone.
    async fn next(&mut self) -> Option<Said> {
        if let Some(event) = self.held.take() {
            return Some(self.tell(event));
        }
        while !self.is_done {
            let Some(lines) = &mut self.lines else {
                self.connect().await;
                continue;
            };
            let line = match timeout(SILENCE, lines.next()).await {
                Ok(Some(Ok(line))) => line,
                Ok(Some(Err(_))) | Err(_) => {
                    self.lines = None;
                    sleep(AGAIN).await;
                    continue;
                }
                Ok(None) => {
                    self.lines = None;
                    self.look_for_the_end().await;
                    continue;
                }
            };
            let (time, event) = read(&line);
            self.since = time.map(str::to_owned).or(self.since.take());
            // What is no event was printed by something else than the runner.
            let Some(event) = event.filter(|event| event.seq > self.seq) else {
                continue;
            };
            let missing = event.seq - self.seq - 1;
            if missing > 0 {
                self.seq = event.seq - 1;
                self.held = Some(event);
                return Some(Said::Gap(missing));
            }
            return Some(self.tell(event));
        }
        self.refused.take().map(Said::Refused)
    }

    fn tell(&mut self, event: Event) -> Said {
        self.seq = event.seq;
        self.is_done = matches!(event.kind, Kind::Result { .. });
        Said::Event(event.kind)
    }

    async fn connect(&mut self) {
        let parameters = LogParams {
            container: Some(self.container.name().to_owned()),
            follow: true,
            timestamps: true,
            since_time: self.since.as_deref().and_then(whole_second),
            ..LogParams::default()
        };
        let pods = self.cluster.all::<Pod>();
        let opened = timeout(ANSWER, pods.log_stream(&self.pod, &parameters)).await;
        match opened {
            Ok(Ok(stream)) => {
                self.is_seen = true;
                self.lines = Some(Box::pin(stream.lines()));
                return;
            }
            Ok(Err(error)) => match of_api("read the log of a pod", &error) {
                // Whoever follows another one's bake may come before its pod does.
                Trouble::Missing => self.is_done = self.is_seen,
                Trouble::Failed(refused) if is_refusal(&error) => {
                    self.refused = Some(refused);
                    self.is_done = true;
                }
                // Not running yet, for the most part.
                _ => {
                    self.is_seen |=
                        matches!(&error, kube::Error::Api(status) if status.code == 400);
                }
            },
            Err(_) => {}
        }
        if !self.is_done {
            sleep(AGAIN).await;
        }
    }

    /// A log that ends was cut, or is that of a container which has ended.
    async fn look_for_the_end(&mut self) {
        let pod = self.cluster.get::<Pod>(&self.pod, PATIENT).await;
        let Ok(Some(pod)) = pod else {
            self.is_done = pod.is_ok();
            return;
        };
        if state(&pod, self.container).is_some_and(|state| state.terminated.is_some()) {
            // All of it was there to be read, if the connection was whole: read once more.
            self.read_the_rest().await;
            self.is_done = self.lines.is_none();
        } else {
            sleep(AGAIN).await;
        }
    }

    async fn read_the_rest(&mut self) {
        let parameters = LogParams {
            container: Some(self.container.name().to_owned()),
            timestamps: true,
            since_time: self.since.as_deref().and_then(whole_second),
            ..LogParams::default()
        };
        let pods = self.cluster.all::<Pod>();
        let began = Instant::now();
        while began.elapsed() < ANSWER {
            match timeout(ANSWER, pods.logs(&self.pod, &parameters)).await {
                Ok(Ok(text)) => {
                    let seq = self.seq;
                    let news = text.lines().map(str::to_owned).filter(move |line| {
                        let (_, event) = read(line);
                        event.is_some_and(|event| event.seq > seq)
                    });
                    let news: Vec<std::io::Result<String>> = news.map(Ok).collect();
                    if !news.is_empty() {
                        self.lines = Some(Box::pin(futures_util::stream::iter(news)));
                    }
                    return;
                }
                Ok(Err(kube::Error::Api(status))) if status.code == 404 => return,
                _ => sleep(AGAIN).await,
            }
        }
    }
}

/// Not what a kubelet says that is just being started.
fn is_refusal(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 401 | 403))
}

/// The time that the container runtime puts before a line, and the event in it.
fn read(line: &str) -> (Option<&str>, Option<Event>) {
    let Some((time, rest)) = line.split_once(' ') else {
        return (None, None);
    };
    (Some(time), serde_json::from_str(rest).ok())
}

/// The whole second before a time: a fraction would be rounded, and up as well as down.
fn whole_second(time: &str) -> Option<k8s_openapi::jiff::Timestamp> {
    let time: k8s_openapi::jiff::Timestamp = time.parse().ok()?;
    k8s_openapi::jiff::Timestamp::from_second(time.as_second()).ok()
}

/// Both logs of a bake, as lines for who waits for it.
pub(super) struct Follower<'a> {
    logs: [Log<'a>; 2],
    at: usize,
    begun: String,
}

impl<'a> Follower<'a> {
    pub(super) fn of(cluster: &'a Cluster, pod: &str) -> Self {
        let log = |container| Log::of(cluster, pod, container);
        Self {
            logs: [log(Container::Checkout), log(Container::Steps)],
            at: 0,
            begun: String::new(),
        }
    }

    /// Its lines, as a stream: one that is given up half-way comes later.
    pub(super) fn stream(self) -> impl Stream<Item = String> + 'a {
        futures_util::stream::unfold(self, async |mut follower| {
            Some((follower.line().await?, follower))
        })
    }

    /// `None` after the last line.
    async fn line(&mut self) -> Option<String> {
        while let Some(log) = self.logs.get_mut(self.at) {
            let Some(said) = log.next().await else {
                self.at += 1;
                continue;
            };
            match said {
                Said::Gap(missing) => return Some(gap(missing)),
                Said::Refused(error) => return Some(format!("--> {error}")),
                Said::Event(Kind::Phase { text }) => return Some(format!("==> {text}")),
                Said::Event(Kind::Notice { text }) => return Some(format!("--> {text}")),
                Said::Event(Kind::Output { text, more: true }) => self.begun.push_str(&text),
                Said::Event(Kind::Output { text, more: false }) => {
                    return Some(std::mem::take(&mut self.begun) + &text);
                }
                Said::Event(_) => {}
            }
        }
        None
    }
}

pub(super) fn gap(missing: u64) -> String {
    format!("--> {missing} lines are missing here: the cluster has let go of them")
}

#[cfg(test)]
mod tests {
    use super::{read, whole_second};
    use crate::runner::protocol::Kind;

    #[test]
    fn a_line_is_a_time_and_an_event() {
        let line = r#"2026-01-02T03:04:05.987654321Z {"seq":7,"kind":"phase","text":"x"}"#;
        let (time, event) = read(line);
        assert_eq!(time, Some("2026-01-02T03:04:05.987654321Z"));
        let event = event.unwrap();
        assert_eq!(event.seq, 7);
        let text = "x".to_owned();
        assert_eq!(event.kind, Kind::Phase { text });
    }

    #[test]
    fn what_is_no_event_is_passed_over() {
        assert_eq!(read("2026-01-02T03:04:05Z sh: not found").1, None);
        assert_eq!(read("").1, None);
    }

    /// behaviours: lines are asked for from the second in which the last one was written, never from the next.
    #[test]
    fn times_are_rounded_down() {
        let rounded = whole_second("2026-01-02T03:04:05.987654321Z").unwrap();
        assert_eq!(rounded.to_string(), "2026-01-02T03:04:05Z");
    }
}
