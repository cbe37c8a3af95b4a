//! A request on its way to a container's standard input.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::AttachParams;
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

use crate::backend::kubernetes::cluster::Cluster;
use crate::backend::kubernetes::pod::Container;
use crate::backend::{BackendError, Class};

/// Sends a request to a container's standard input. Returns only what went wrong: that it arrived, the runner says itself.
pub(super) async fn send(
    cluster: &Cluster,
    pod: &str,
    container: Container,
    request: &[u8],
) -> BackendError {
    let parameters = AttachParams {
        container: Some(container.name().to_owned()),
        stdin: true,
        // One of them has to be asked for; nothing of it is read.
        stdout: true,
        stderr: false,
        tty: false,
        max_stdin_buf_size: Some(256 << 10),
        max_stdout_buf_size: Some(256 << 10),
        max_stderr_buf_size: None,
    };
    let pods = cluster.all::<Pod>();
    let what = format!("attach to pod {pod}");
    let mut attached = match cluster.write(&what, pods.attach(pod, &parameters)).await {
        Ok(attached) => attached,
        Err(trouble) => return trouble.into_error(&what),
    };
    let (Some(mut input), Some(mut output)) = (attached.stdin(), attached.stdout()) else {
        return BackendError::new(Class::Bug, "an attachment has no standard input");
    };
    let status = attached.take_status();
    let ended = async {
        match status {
            Some(status) => drop(status.await),
            None => std::future::pending().await,
        }
    };
    let write = async {
        let written = input.write_all(request).await;
        if written.is_ok() && input.flush().await.is_ok() {
            // The other side closes its standard input with ours.
            std::future::pending::<()>().await;
        }
    };
    let mut nothing = tokio::io::sink();
    let read = async {
        tokio::io::copy(&mut output, &mut nothing).await.ok();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = ended => {}
        () = write => {}
        () = read => {}
    }
    let message = "the connection to the pod broke before its request was there";
    // What has arrived may be told of a moment later.
    sleep(Duration::from_secs(3)).await;
    BackendError::new(Class::Transient, message)
}
