//! Reads tar archives: ustar, GNU and PAX, as image tools write them.
//!
//! Yields members as they are written; judges neither names nor links.

use std::io::{self, Read};

use super::pax::{self, Map, Records};

pub(super) const BLOCK: usize = 512;

/// Of a long name or an extended header; the largest real ones hold a few attributes of 64 KiB.
const HEADER_LIMIT: u64 = 8 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Symlink,
    HardLink,
    Fifo,
    Device,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) kind: Kind,
    pub(super) name: Vec<u8>,
    /// Of a symlink or a hard link.
    pub(super) target: Vec<u8>,
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// Seconds, and nanoseconds after them.
    pub(super) time: (i64, u32),
    /// Of a file, holes counted.
    pub(super) size: u64,
    /// Where the data of a sparse file goes.
    pub(super) map: Option<Map>,
    pub(super) xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

#[derive(Debug)]
pub(super) enum Fault {
    Read(io::Error),
    Damaged(String),
    Unsupported { name: String, kind: String },
}

/// Reads one member after the other; the data of the current one through [`Read`].
pub(super) struct Reader<R> {
    inner: R,
    /// Of the current member.
    data: u64,
    padding: u64,
    global: Records,
}

/// What headers before a member say about it.
#[derive(Default)]
struct Ahead {
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    records: Records,
    is_announced: bool,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            data: 0,
            padding: 0,
            global: Records::new(),
        }
    }

    pub(super) fn into_inner(self) -> R {
        self.inner
    }

    /// The next member; `None` at the end of the archive. What is left of the current one's data is skipped.
    pub(super) fn next_member(&mut self) -> Result<Option<Member>, Fault> {
        let mut ahead = Ahead {
            records: self.global.clone(),
            ..Ahead::default()
        };
        loop {
            self.skip()?;
            let Some(header) = self.header()? else {
                let what = "it ends after an extended header".to_owned();
                return if ahead.is_announced {
                    Err(Fault::Damaged(what))
                } else {
                    Ok(None)
                };
            };
            let size = header
                .entry_size()
                .map_err(|error| Fault::Damaged(error.to_string()))?;
            match header.entry_type().as_byte() {
                b'L' => ahead.name = Some(self.text(size)?),
                b'K' => ahead.target = Some(self.text(size)?),
                b'x' => pax::parse(&self.whole(size)?, &mut ahead.records)?,
                b'g' => {
                    let content = self.whole(size)?;
                    pax::parse(&content, &mut self.global)?;
                    pax::parse(&content, &mut ahead.records)?;
                    continue;
                }
                kind => return self.member(&header, kind, size, ahead).map(Some),
            }
            ahead.is_announced = true;
        }
    }

    /// `None` at the end: a block of zeros, or no block at all.
    fn header(&mut self) -> Result<Option<tar::Header>, Fault> {
        let mut header = tar::Header::new_old();
        let block = header.as_mut_bytes();
        let mut filled = 0;
        while filled < BLOCK {
            match self.inner.read(&mut block[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(Fault::Read(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::Read(error)),
            }
        }
        if block.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let without_sum = block[..148].iter().chain(&block[156..]);
        let sum = without_sum.map(|&byte| u32::from(byte)).sum::<u32>() + 8 * u32::from(b' ');
        match header.cksum() {
            Ok(written) if written == sum => Ok(Some(header)),
            _ => Err(Fault::Damaged(
                "the checksum of a header is wrong".to_owned(),
            )),
        }
    }

    fn member(
        &mut self,
        header: &tar::Header,
        kind: u8,
        size: u64,
        ahead: Ahead,
    ) -> Result<Member, Fault> {
        let Ahead {
            name,
            target,
            records,
            ..
        } = ahead;
        let record = |key: &str| records.get(key.as_bytes());
        let number = |key: &str, own: io::Result<u64>| match record(key) {
            Some(text) => {
                pax::number(text).ok_or_else(|| Fault::Damaged(format!("its {key} is no number")))
            }
            None => own.map_err(|error| Fault::Damaged(error.to_string())),
        };
        let own_name = || name.unwrap_or_else(|| header.path_bytes().into_owned());
        let name = record("path").cloned().unwrap_or_else(own_name);
        let own_target =
            || target.unwrap_or_else(|| header.link_name_bytes().unwrap_or_default().into_owned());
        let target = record("linkpath").cloned().unwrap_or_else(own_target);
        let kind = kind_of(kind, &name)?;
        let small = |number: u64| {
            u32::try_from(number)
                .map_err(|_| Fault::Damaged(format!("the owner {number} is out of range")))
        };
        let time = match record("mtime") {
            Some(text) => pax::time(text),
            None => header
                .mtime()
                .ok()
                .and_then(|time| i64::try_from(time).ok())
                .map(|time| (time, 0)),
        };
        // Only files have data; others may state a size all the same.
        let stored = if kind == Kind::File {
            number("size", Ok(size))?
        } else {
            0
        };
        self.expect(stored);
        let mut member = Member {
            kind,
            name,
            target,
            mode: header
                .mode()
                .map_err(|error| Fault::Damaged(error.to_string()))?
                & 0o7777,
            uid: small(number("uid", header.uid())?)?,
            gid: small(number("gid", header.gid())?)?,
            time: time.ok_or_else(|| Fault::Damaged("a time is malformed".to_owned()))?,
            size: stored,
            map: None,
            xattrs: xattrs(&records),
        };
        self.read_map(header, &records, &mut member)?;
        Ok(member)
    }

    /// Finds out where the data of a sparse file goes, in any of the ways in which that is written.
    fn read_map(
        &mut self,
        header: &tar::Header,
        records: &Records,
        member: &mut Member,
    ) -> Result<(), Fault> {
        let record = |key: &str| records.get(key.as_bytes());
        let malformed = || Fault::Damaged("a sparse file is malformed".to_owned());
        let (map, size) = if header.entry_type().is_gnu_sparse() {
            self.old_map(header)?
        } else if let Some(map) = record("GNU.sparse.map") {
            let size = record("GNU.sparse.size").and_then(|text| pax::number(text));
            (
                pax::inline_map(map).ok_or_else(malformed)?,
                size.ok_or_else(malformed)?,
            )
        } else if record("GNU.sparse.major").is_some_and(|major| major == b"1") {
            let (map, taken) = pax::leading_map(&mut *self)?;
            member.size = member.size.checked_sub(taken).ok_or_else(malformed)?;
            let size = record("GNU.sparse.realsize").and_then(|text| pax::number(text));
            (map, size.ok_or_else(malformed)?)
        } else if records.keys().any(|key| key.starts_with(b"GNU.sparse.")) {
            let name = String::from_utf8_lossy(&member.name).into_owned();
            return Err(Fault::Unsupported {
                name,
                kind: "a sparse file of an old format".to_owned(),
            });
        } else {
            return Ok(());
        };
        if !pax::is_sound(&map, size, member.size) {
            return Err(malformed());
        }
        if let Some(name) = record("GNU.sparse.name") {
            member.name.clone_from(name);
        }
        member.size = size;
        member.map = Some(map);
        Ok(())
    }

    /// GNU's own form: a few parts in the header, more in blocks after it, which the size does not count.
    fn old_map(&mut self, header: &tar::Header) -> Result<(Map, u64), Fault> {
        let failed = |error: io::Error| Fault::Damaged(error.to_string());
        let gnu = header
            .as_gnu()
            .ok_or_else(|| Fault::Damaged("a sparse file without a map".to_owned()))?;
        let mut map = Map::new();
        let mut add = |part: &tar::GnuSparseHeader| {
            if !part.is_empty() {
                map.push((part.offset()?, part.length()?));
            }
            Ok(())
        };
        gnu.sparse.iter().try_for_each(&mut add).map_err(failed)?;
        let mut is_extended = gnu.is_extended();
        while is_extended {
            let mut more = tar::GnuExtSparseHeader::new();
            self.inner
                .read_exact(more.as_mut_bytes())
                .map_err(Fault::Read)?;
            more.sparse.iter().try_for_each(&mut add).map_err(failed)?;
            is_extended = more.is_extended();
        }
        Ok((map, gnu.real_size().map_err(failed)?))
    }

    fn expect(&mut self, size: u64) {
        self.data = size;
        self.padding = size.wrapping_neg() % BLOCK as u64;
    }

    fn skip(&mut self) -> Result<(), Fault> {
        let rest = self.data.saturating_add(self.padding);
        let skipped =
            io::copy(&mut (&mut self.inner).take(rest), &mut io::sink()).map_err(Fault::Read)?;
        self.expect(0);
        if skipped == rest {
            Ok(())
        } else {
            Err(Fault::Read(io::ErrorKind::UnexpectedEof.into()))
        }
    }

    fn whole(&mut self, size: u64) -> Result<Vec<u8>, Fault> {
        if size > HEADER_LIMIT {
            return Err(Fault::Damaged(format!(
                "an extended header has {size} bytes"
            )));
        }
        self.expect(size);
        let mut content = Vec::new();
        self.read_to_end(&mut content).map_err(Fault::Read)?;
        Ok(content)
    }

    /// A long name, which may end with a zero.
    fn text(&mut self, size: u64) -> Result<Vec<u8>, Fault> {
        let mut text = self.whole(size)?;
        if let Some(end) = text.iter().position(|&byte| byte == 0) {
            text.truncate(end);
        }
        Ok(text)
    }
}

impl<R: Read> Read for Reader<R> {
    /// Reads of the current member's data.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.data).map_or(buffer.len(), |data| data.min(buffer.len()));
        let count = self.inner.read(&mut buffer[..wanted])?;
        if count == 0 && wanted > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.data -= count as u64;
        Ok(count)
    }
}

fn kind_of(kind: u8, name: &[u8]) -> Result<Kind, Fault> {
    match kind {
        // Before there was a type for folders, a slash at the end told them from files.
        b'0' | 0 if name.ends_with(b"/") => Ok(Kind::Folder),
        b'0' | 0 | b'7' | b'S' => Ok(Kind::File),
        b'1' => Ok(Kind::HardLink),
        b'2' => Ok(Kind::Symlink),
        b'3' | b'4' => Ok(Kind::Device),
        b'5' => Ok(Kind::Folder),
        b'6' => Ok(Kind::Fifo),
        other => Err(Fault::Unsupported {
            name: String::from_utf8_lossy(name).into_owned(),
            kind: format!("type {:?}", char::from(other)),
        }),
    }
}

fn xattrs(records: &Records) -> Vec<(Vec<u8>, Vec<u8>)> {
    let named = records.iter().filter_map(|(key, value)| {
        let name = key.strip_prefix(b"SCHILY.xattr.")?;
        Some((name.to_vec(), value.clone()))
    });
    named.collect()
}
