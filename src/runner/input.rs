//! The request, as it comes.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::protocol::{CheckoutRequest, Class, Failure, LARGEST_ATTACHMENTS, LARGEST_REQUEST};
use super::{broken, machine};

/// Reads a request from standard input. What follows it is left there.
pub(super) async fn read<T: DeserializeOwned + Send + 'static>() -> Result<T, Failure> {
    received(|| request(&mut io::stdin().lock())).await
}

/// Reads a request and its attachments, which go into files of `folder`, in their order.
pub(super) async fn read_with_attachments(
    folder: PathBuf,
) -> Result<(CheckoutRequest, Vec<PathBuf>), Failure> {
    received(move || {
        let mut stdin = io::stdin().lock();
        let request: CheckoutRequest = request(&mut stdin)?;
        let mut left = LARGEST_ATTACHMENTS;
        let attachments = (0..request.attachments)
            .map(|index| attachment(&mut stdin, &folder, index, &mut left))
            .collect::<io::Result<_>>()?;
        Ok((request, attachments))
    })
    .await
}

/// A thread waits: input may never come, and a signal has to be heard meanwhile.
async fn received<T: Send + 'static>(
    read: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Failure> {
    super::aside(move || {
        read().map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                machine(Class::Transient, "the request did not arrive whole")
            }
            _ => broken("read the request", &error),
        })
    })
    .await
}

fn request<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > LARGEST_REQUEST {
        return Err(too_large("the request"));
    }
    let mut text = Vec::new();
    from.take(length.into()).read_to_end(&mut text)?;
    if text.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // The text may hold secrets, and an error could repeat it.
    serde_json::from_slice(&text).map_err(|error| {
        let place = format!("it is no request (column {})", error.column());
        io::Error::new(io::ErrorKind::InvalidData, place)
    })
}

fn attachment(
    from: &mut impl Read,
    folder: &Path,
    index: usize,
    left: &mut u64,
) -> io::Result<PathBuf> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    *left = left
        .checked_sub(length)
        .ok_or_else(|| too_large("what is attached"))?;
    let path = folder.join(format!("attachment-{index}"));
    let copied = io::copy(&mut from.take(length), &mut File::create(&path)?)?;
    match copied == length {
        true => Ok(path),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn too_large(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is too large"))
}

#[cfg(test)]
mod tests {
    use super::request;

    #[test]
    fn a_request_that_is_cut_is_none() {
        let mut whole = 7_u32.to_le_bytes().to_vec();
        whole.extend_from_slice(b"\"right\"");
        assert_eq!(request::<String>(&mut whole.as_slice()).unwrap(), "right");
        for length in 0..whole.len() {
            let error = request::<String>(&mut &whole[..length]).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{length}");
        }
    }

    #[test]
    fn what_is_wrong_in_a_request_is_not_repeated() {
        let mut text = 9_u32.to_le_bytes().to_vec();
        text.extend_from_slice(b"\"s3cret!\"");
        let error = request::<u32>(&mut text.as_slice()).unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}
