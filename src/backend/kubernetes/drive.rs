//! One container with a runner in it: its pod is waited for, the request is sent, and its events are read up to the result.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{FutureExt, LocalBoxFuture};
use k8s_openapi::api::core::v1::Pod;
use tokio::time::{Instant, sleep, sleep_until};

use super::cluster::Cluster;
use super::follow::{Log, Said, gap};
use super::pod::{Container, Verdict, is_running, judge, state};
use super::watch::Watch;
use crate::backend::local::log::Log as Transcript;
use crate::backend::{BackendError, Class};
use crate::runner::protocol::{Failure, Kind, Outcome};

mod held_up;
mod send;

use held_up::LOOK;
use send::send;

/// How long a request of no size takes to arrive, at the most.
const RECEIPT: Duration = Duration::from_secs(30);

/// How long the last lines of a container that has ended may take.
const LAST_LINES: Duration = Duration::from_secs(20);

/// What became of a container.
#[derive(Debug)]
pub(super) enum Ran {
    Outcome(Outcome),
    /// The memory was used up; the index of the step that ran.
    OutOfMemory {
        step: usize,
    },
    /// The pod's own deadline.
    TooLong,
}

/// A pod that is being followed.
pub(super) struct Drive<'a> {
    cluster: &'a Cluster,
    name: String,
    watch: Watch<'a, Pod>,
    pod: Option<Pod>,
    /// Which container is waited for, and since when.
    container: Container,
    since: Instant,
    /// Why the pod's own status says that it is held up; empty if it does not.
    reason: String,
    /// What people were told of that.
    told: String,
    next_look: Instant,
    /// Since when there is something that holds it up.
    stuck_since: Option<Instant>,
    /// For people, and not told yet.
    notices: Vec<String>,
}

impl<'a> Drive<'a> {
    pub(super) fn of(cluster: &'a Cluster, name: &str) -> Self {
        Self {
            cluster,
            name: name.to_owned(),
            watch: Watch::of(cluster, name),
            pod: None,
            container: Container::Checkout,
            since: Instant::now(),
            reason: String::new(),
            told: String::new(),
            next_look: Instant::now() + LOOK,
            stuck_since: None,
            notices: Vec::new(),
        }
    }

    fn expect(&mut self, container: Container) {
        self.container = container;
        self.since = Instant::now();
        self.next_look = Instant::now() + LOOK;
        self.stuck_since = None;
    }

    fn tell(&mut self, transcript: &mut Transcript) {
        for text in self.notices.drain(..) {
            transcript.notice(&text);
        }
    }

    /// Waits until a container runs that has no runner in it.
    pub(super) async fn until_running(
        &mut self,
        container: Container,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), BackendError> {
        self.expect(container);
        loop {
            match &self.pod {
                Some(pod) if is_running(pod, container) => return Ok(()),
                Some(pod) if has_ended(pod, container) => {
                    let message = "the pod ended at once: does its image have `sh` and `sleep`?";
                    return Err(BackendError::new(Class::Denied, message));
                }
                _ => {}
            }
            let ran = self.wait(0).await?;
            self.notices.drain(..).for_each(|text| say(&text));
            match ran {
                None => {}
                Some(ran) => {
                    let message = format!("the pod ended before it was there: {ran:?}");
                    return Err(BackendError::new(Class::Transient, message));
                }
            }
        }
    }

    /// The node that the pod is on.
    pub(super) fn node(&self) -> Option<String> {
        self.pod.as_ref()?.spec.as_ref()?.node_name.clone()
    }

    /// Runs one container of the pod to its result.
    pub(super) async fn run(
        &mut self,
        container: Container,
        nonce: &str,
        request: &[u8],
        transcript: &mut Transcript,
    ) -> Result<Ran, BackendError> {
        let log = Log::of(self.cluster, self.name.clone(), container);
        let mut log = std::pin::pin!(log.stream());
        let mut step = 0;
        self.expect(container);
        let limit = RECEIPT + Duration::from_secs(request.len() as u64 / (1 << 20));
        if let Some(ran) = self.until_ready(container, transcript).await? {
            return Ok(ran);
        }
        let (cluster, name) = (self.cluster, self.name.clone());
        let mut sent = Some(send(cluster, &name, container, request).boxed_local());
        let deadline = Instant::now() + limit;
        let mut ended: Option<Instant> = None;
        loop {
            let last = ended.map_or(Instant::now() + LAST_LINES, |ended| ended + LAST_LINES);
            tokio::select! {
                biased;
                said = log.next() => match said {
                    Some(Said::Gap(missing)) => transcript.notice(&gap(missing)),
                    Some(Said::Refused(error)) => return Err(error),
                    Some(Said::Event(Kind::Request { nonce: told })) if told == nonce => {
                        // Not a moment longer: nobody reads what comes back on it, and the pod would wait for that.
                        sent = None;
                    }
                    Some(Said::Event(Kind::Result { outcome })) => {
                        transcript.flush();
                        // By whom, the pod's status says: it may be too late, or have been evicted.
                        if outcome == Outcome::Failed(Failure::Terminated) {
                            return self.without_result(container, step).await;
                        }
                        return Ok(Ran::Outcome(outcome));
                    }
                    Some(Said::Event(event)) => tell(event, transcript, &mut step).await,
                    None => return self.without_result(container, step).await,
                },
                lost = lost(&mut sent) => return Err(lost),
                () = sleep_until(deadline), if sent.is_some() => return Err(not_received()),
                () = sleep_until(last), if ended.is_some() => {
                    return self.without_result(container, step).await;
                }
                ran = self.wait(step), if ended.is_none() => {
                    self.tell(transcript);
                    if let Some(ran) = ran? {
                        return Ok(ran);
                    }
                    if self.pod.as_ref().is_none_or(|pod| has_ended(pod, container)) {
                        ended = Some(Instant::now());
                    }
                }
            }
        }
    }

    /// Waits until there is something to be sent to: nothing is said before. What became of it, if it does not come to that.
    async fn until_ready(
        &mut self,
        container: Container,
        transcript: &mut Transcript,
    ) -> Result<Option<Ran>, BackendError> {
        loop {
            let ready = self
                .pod
                .as_ref()
                .is_some_and(|pod| is_running(pod, container) || has_ended(pod, container));
            if ready {
                return Ok(None);
            }
            let ran = self.wait(0).await?;
            self.tell(transcript);
            if ran.is_some() {
                return Ok(ran);
            }
        }
    }

    /// Waits for the pod's next change, or for the end of patience with it.
    async fn wait(&mut self, step: usize) -> Result<Option<Ran>, BackendError> {
        let is_held_up = self.is_held_up();
        tokio::select! {
            news = self.watch.next() => {
                let news = news?;
                if news.is_none() && self.pod.is_some() {
                    self.pod = None;
                    return Err(BackendError::new(Class::Transient, "somebody has deleted the pod"));
                }
                self.pod = news;
            }
            () = sleep_until(self.next_look), if is_held_up => {
                self.look_into_it().await?;
                return Ok(None);
            }
        }
        let Some(pod) = &self.pod else {
            return Ok(None);
        };
        self.reason = String::new();
        match judge(pod) {
            Verdict::Fine => {}
            Verdict::Stuck(why) => self.reason = why,
            Verdict::Failed(error) => return Err(error),
            Verdict::OutOfMemory => return Ok(Some(Ran::OutOfMemory { step })),
            Verdict::TooLong => return Ok(Some(Ran::TooLong)),
        }
        Ok(None)
    }

    /// A container that ended without a result was killed; its status says by what.
    async fn without_result(
        &mut self,
        container: Container,
        step: usize,
    ) -> Result<Ran, BackendError> {
        let look = self.cluster.get::<Pod>(&self.name, super::cluster::PATIENT);
        let Some(mut pod) = look.await? else {
            let message = "somebody has deleted the pod";
            return Err(BackendError::new(Class::Transient, message));
        };
        let began = Instant::now();
        while !has_ended(&pod, container) && began.elapsed() < LAST_LINES {
            sleep(Duration::from_millis(200)).await;
            let look = self.cluster.get::<Pod>(&self.name, super::cluster::PATIENT);
            match look.await? {
                Some(now) => pod = now,
                None => break,
            }
        }
        match judge(&pod) {
            Verdict::OutOfMemory => return Ok(Ran::OutOfMemory { step }),
            Verdict::TooLong => return Ok(Ran::TooLong),
            Verdict::Failed(error) => return Err(error),
            Verdict::Fine | Verdict::Stuck(_) => {}
        }
        let ended = state(&pod, container).and_then(|state| state.terminated.as_ref());
        let code = ended.map_or("an unknown status".to_owned(), |ended| {
            format!("exit status {}", ended.exit_code)
        });
        let message = format!("the runner was ended from outside, with {code}");
        Err(BackendError::new(Class::Transient, message))
    }
}

/// What went wrong with a request that is on its way.
async fn lost(sent: &mut Option<LocalBoxFuture<'_, BackendError>>) -> BackendError {
    match sent {
        Some(sent) => sent.await,
        None => std::future::pending().await,
    }
}

fn has_ended(pod: &Pod, container: Container) -> bool {
    state(pod, container).is_some_and(|state| state.terminated.is_some())
}

async fn tell(event: Kind, transcript: &mut Transcript, step: &mut usize) {
    match event {
        Kind::Phase { text } => {
            if let Some(number) = text.strip_prefix("step ") {
                let number = number.split(' ').next().unwrap_or_default();
                *step = number
                    .parse::<usize>()
                    .map_or(*step, |number| number.saturating_sub(1));
            }
            transcript.phase(&text);
        }
        Kind::Output { text, more } => {
            let end = if more { "" } else { "\n" };
            transcript.output(format!("{text}{end}").as_bytes()).await;
        }
        Kind::Notice { text } => transcript.notice(&text),
        Kind::Request { .. } | Kind::Step { .. } | Kind::Result { .. } => {}
    }
}

fn not_received() -> BackendError {
    let message = "the pod does not tell that it has got its request";
    BackendError::new(Class::Transient, message)
}
