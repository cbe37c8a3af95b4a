//! The client that requests are made with, and what is told of those that do not get through.

use std::error::Error;
use std::fs;

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client};

use super::endpoint::Patience;
use super::fault::Fault;
use super::settings::Settings;

/// `is_plain` for one that may speak plain HTTP, `is_here` for one of this machine alone.
pub(super) fn client(
    settings: &Settings,
    patience: Patience,
    is_plain: bool,
    is_here: bool,
) -> Result<Client, Fault> {
    // Somebody may have done so already, which is as good.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let mut builder = Client::builder()
        .user_agent(concat!("atelier/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(patience.connect)
        .read_timeout(patience.silence)
        .https_only(!is_plain)
        .redirect(Policy::limited(5))
        .referer(false);
    if is_here {
        // What a proxy calls by this name is not this machine.
        builder = builder.no_proxy();
    }
    if let Some(path) = &settings.ca {
        let unusable = |error: &dyn Error| Fault::Settings(format!("{}: {error}", path.display()));
        let text = fs::read(path).map_err(|error| unusable(&error))?;
        let certificates = Certificate::from_pem_bundle(&text);
        let certificates = certificates.map_err(|error| unusable(innermost(&error)))?;
        if certificates.is_empty() {
            return Err(Fault::Settings(format!(
                "{} has no certificate in PEM",
                path.display()
            )));
        }
        builder = builder.tls_certs_merge(certificates);
    }
    builder
        .build()
        .map_err(|error| Fault::Settings(innermost(&error).to_string()))
}

/// What of an error is told is what lies deepest: the rest names the URL.
pub(super) fn of_transport(error: &reqwest::Error, patience: Patience) -> Fault {
    let deepest = innermost(error);
    let text = deepest.to_string();
    let of_tls = chain(error).find_map(|source| match source.downcast_ref() {
        Some(rustls::Error::InvalidCertificate(_)) => Some(Fault::Certificate(source.to_string())),
        Some(rustls::Error::InvalidMessage(_)) => Some(Fault::Plain),
        _ => None,
    });
    match of_tls {
        Some(fault) => fault,
        None if error.is_connect() && error.is_timeout() => Fault::TimedOut(patience.connect),
        None if error.is_timeout() => Fault::TimedOut(patience.silence),
        None if error.is_connect() => Fault::Unreachable(text),
        None if error.is_redirect() => Fault::Garbled("it redirects for ever".to_owned()),
        None if error.is_builder() => Fault::Garbled(text),
        None => Fault::Lost(text),
    }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // An error of IO shows what it wraps, and names it nowhere.
        let wrapped = error.downcast_ref::<std::io::Error>();
        match wrapped.and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}

fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    chain(error).last().unwrap_or(error)
}
