//! Descriptors that travel with bytes over a socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// As many as any message has: the namespaces of a sandbox.
const MOST: usize = 5;

/// Sends what of `bytes` there is room for, and all of `descriptors` with the first of them.
pub(super) fn send(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let bytes = [IoSlice::new(bytes)];
    Ok(sendmsg(
        socket,
        &bytes,
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?)
}

/// Receives some bytes, and adds what comes with them to `come`. No process that is started later has it open.
pub(super) fn receive(
    socket: impl AsFd,
    buffer: &mut [u8],
    come: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    loop {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [IoSliceMut::new(&mut *buffer)];
        let received = recvmsg(&socket, &mut bytes, &mut ancillary, RecvFlags::CMSG_CLOEXEC);
        let received = match received {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                come.extend(descriptors);
            }
        }
        return Ok(received.bytes);
    }
}
