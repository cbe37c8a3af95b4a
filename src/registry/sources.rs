//! Who is asked for what a registry has: its mirror, and itself.

use std::rc::Rc;

use super::endpoint::Endpoint;
use super::fault::{Fault, RegistryError};
use super::reference::canonical;
use super::{Reference, Registries, of};

/// Why a mirror is not asked any more.
pub(super) struct Told {
    notice: String,
    is_told: bool,
}

impl Registries {
    /// What happened that is no failure, told once.
    pub fn notices(&self) -> Vec<String> {
        let mut passed_over = self.0.passed_over.borrow_mut();
        let news = passed_over.values_mut().filter(|told| !told.is_told);
        news.map(|told| {
            told.is_told = true;
            told.notice.clone()
        })
        .collect()
    }

    /// Asks the mirror if there is one, and the registry itself if that cannot say.
    pub(super) async fn ask<T>(
        &self,
        reference: &Reference,
        ask: impl AsyncFn(Rc<Endpoint>) -> Result<T, Fault>,
    ) -> Result<T, RegistryError> {
        let registry = &reference.registry;
        if let Some(mirror) = self.mirror_of(registry) {
            let asked = match self.endpoint(&mirror, true) {
                Ok(endpoint) => Box::pin(ask(endpoint)).await,
                Err(fault) => Err(fault),
            };
            match asked {
                Ok(answer) => return Ok(answer),
                Err(Fault::NotFound) => {}
                Err(fault @ Fault::Store(_)) => return Err(of(reference, fault)),
                Err(fault) => self.pass_over(registry, &mirror, &fault),
            }
        }
        let asked = match self.endpoint(registry, false) {
            Ok(endpoint) => Box::pin(ask(endpoint)).await,
            Err(fault) => Err(fault),
        };
        asked.map_err(|fault| of(reference, fault))
    }

    fn mirror_of(&self, registry: &str) -> Option<String> {
        let mirror = self.0.settings.get(registry)?.mirror.clone()?;
        let is_passed_over = self.0.passed_over.borrow().contains_key(&mirror);
        (!is_passed_over).then_some(mirror)
    }

    /// One that failed is not waited for again.
    fn pass_over(&self, registry: &str, mirror: &str, fault: &Fault) {
        let notice = format!("{registry} itself is asked: its mirror {mirror} {fault}");
        let is_told = false;
        let told = Told { notice, is_told };
        let mut passed_over = self.0.passed_over.borrow_mut();
        passed_over.entry(mirror.to_owned()).or_insert(told);
    }

    fn endpoint(&self, place: &str, is_mirror: bool) -> Result<Rc<Endpoint>, Fault> {
        let key = format!("{}{place}", if is_mirror { "mirror " } else { "" });
        if let Some(endpoint) = self.0.endpoints.borrow().get(&key) {
            return Ok(Rc::clone(endpoint));
        }
        let host = place.split('/').next().unwrap_or(place);
        let settings = self.0.settings.get(&canonical(host)).cloned();
        let settings = settings.unwrap_or_default();
        let endpoint = Rc::new(match is_mirror {
            true => Endpoint::mirror(place, &settings)?,
            false => Endpoint::registry(place, &settings)?,
        });
        let mut endpoints = self.0.endpoints.borrow_mut();
        endpoints.insert(key, Rc::clone(&endpoint));
        Ok(endpoint)
    }
}
