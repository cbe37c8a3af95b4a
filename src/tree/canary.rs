//! The canary: are secret values in a layer?
//!
//! A value is looked for as it is, in base64 (the standard and the URL-safe alphabet, at each of the three places that it
//! can have in what was encoded) and percent-encoded; contents also with other line ends, or broken into lines. Not found
//! is what is compressed, encrypted or encoded in another way, but for git's loose objects; its packs are not opened either.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem::Finder;
use secrecy::zeroize::Zeroize;
use secrecy::{ExposeSecret, SecretBox};

mod cleanse;
mod forms;
mod joined;
mod object;
mod window;

pub use cleanse::cleanse;
pub use forms::base64_forms;
use joined::joined;
pub(super) use object::Object;
pub(super) use window::Window;

/// Shorter values, in bytes, are in everything.
const SHORTEST: usize = 6;

/// So many bytes of a form tell it from nearly everything; the rest, of a whole key, would make tables of megabytes.
const START: usize = 32;

/// How many forms one pass can look for at the speed of memory, on all processors: the vector algorithm of aho-corasick
/// takes no more.
const GROUP: usize = 48;

/// Shorter forms, in bytes, are not looked for across line ends: numbers below each other would be found.
const SHORTEST_JOINED: usize = 16;

/// The secret values to look for, in all their forms.
pub struct Needles {
    groups: Vec<Group>,
    /// Without line ends, for texts without line ends.
    joined: Vec<Group>,
    /// In bytes, of the longest form.
    longest: usize,
}

struct Group {
    /// Finds out quickly that nothing is there: how the forms begin. Without it, each form is looked for.
    any: Option<AhoCorasick>,
    /// Finds out what is there.
    forms: Vec<Form>,
}

struct Form {
    /// Which value it is a form of, by its index.
    secret: usize,
    finder: Finder<'static>,
}

/// A secret that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// From the layer's root, with `***` for any secret in it. Of a file with several names, the first one.
    pub path: PathBuf,
    /// Which of the values given to [`Needles::new`], by its index.
    pub secret: usize,
    pub place: Place,
}

/// What of an entry holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Name,
    Content,
    /// The inflated content of a loose object of git.
    Object,
    /// Where a symlink leads.
    Target,
    /// An extended attribute's name or value. The name has `***` for any secret in it.
    Attribute(String),
}

impl Needles {
    /// Takes the values to look for, and returns which of them, by index, are not looked for: those that have fewer than 6
    /// bytes. Line ends at the end of a value do not count and are not looked for; what reads a secret from a file drops
    /// them.
    ///
    /// The forms stay in memory until this is dropped, and are not erased then.
    pub fn new<S: AsRef<[u8]> + Zeroize + ?Sized>(secrets: &[SecretBox<S>]) -> (Self, Vec<usize>) {
        let mut left_out = Vec::new();
        let mut forms = Vec::new();
        for (index, secret) in secrets.iter().enumerate() {
            let value = forms::without_line_end(secret.expose_secret().as_ref());
            if value.len() < SHORTEST {
                left_out.push(index);
            } else {
                forms.extend(forms::of(value).into_iter().map(|form| (index, form)));
            }
        }
        let longest = forms.iter().map(|(_, form)| form.len()).max().unwrap_or(0);
        let groups = forms.chunks(GROUP).map(Group::new).collect();
        let joined = forms.iter().map(|(secret, form)| (*secret, joined(form)));
        let joined = joined.filter(|(_, form)| form.len() >= SHORTEST_JOINED);
        // Line ends of either kind make one form of several.
        let joined: Vec<_> = joined.collect::<BTreeSet<_>>().into_iter().collect();
        let needles = Self {
            groups,
            joined: joined.chunks(GROUP).map(Group::new).collect(),
            longest,
        };
        (needles, left_out)
    }

    /// Looks for nothing.
    pub fn none() -> Self {
        Self {
            groups: Vec::new(),
            joined: Vec::new(),
            longest: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// How many bytes of what was searched last must be searched again with what follows.
    pub(super) fn overlap(&self) -> usize {
        self.longest.saturating_sub(1)
    }

    /// In bytes, of the longest form.
    pub(in super::super) fn longest(&self) -> usize {
        self.longest
    }

    /// Adds the secrets in `bytes` to those found in the same place.
    pub(super) fn search(&self, bytes: &[u8], found: &mut Vec<usize>) {
        search(&self.groups, bytes, found);
    }

    /// The same with a text whose line ends have been taken out.
    fn search_joined(&self, bytes: &[u8], found: &mut Vec<usize>) {
        search(&self.joined, bytes, found);
    }

    /// `bytes` with `***` for each secret in it.
    pub(in super::super) fn mask<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.groups.iter().any(|group| group.may_be_in(bytes)) {
            return Cow::Borrowed(bytes);
        }
        let mut is_secret = vec![false; bytes.len()];
        for form in self.groups.iter().flat_map(|group| &group.forms) {
            let length = form.finder.needle().len();
            let mut from = 0;
            while let Some(at) = form.finder.find(&bytes[from..]) {
                is_secret[from + at..from + at + length].fill(true);
                from += at + 1;
            }
        }
        let mut masked = Vec::new();
        for (index, &byte) in bytes.iter().enumerate() {
            if !is_secret[index] {
                masked.push(byte);
            } else if index == 0 || !is_secret[index - 1] {
                masked.extend_from_slice(b"***");
            }
        }
        Cow::Owned(masked)
    }
}

fn search(groups: &[Group], bytes: &[u8], found: &mut Vec<usize>) {
    for group in groups {
        if group.may_be_in(bytes) {
            for form in &group.forms {
                if !found.contains(&form.secret) && form.finder.find(bytes).is_some() {
                    found.push(form.secret);
                }
            }
        }
    }
}

impl Group {
    fn new(forms: &[(usize, Vec<u8>)]) -> Self {
        let starts = forms.iter().map(|(_, form)| &form[..form.len().min(START)]);
        // Leftmost matches are those that the vector algorithm can find.
        let any = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(starts);
        let forms = forms.iter().map(|(secret, form)| Form {
            secret: *secret,
            finder: Finder::new(form).into_owned(),
        });
        Self {
            any: any.ok(),
            forms: forms.collect(),
        }
    }

    fn may_be_in(&self, bytes: &[u8]) -> bool {
        self.any.as_ref().is_none_or(|any| any.is_match(bytes))
    }
}

impl fmt::Debug for Needles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Needles").finish_non_exhaustive()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("in its name"),
            Self::Content => f.write_str("in its content"),
            Self::Object => f.write_str("in the git object that it holds"),
            Self::Target => f.write_str("in where it leads"),
            Self::Attribute(name) => write!(f, "in its attribute {name}"),
        }
    }
}

#[cfg(test)]
mod tests;
