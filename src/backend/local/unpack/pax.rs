//! Extended headers of tar archives: records of a key and a value, and the maps of sparse files.

use std::collections::BTreeMap;
use std::io::Read;

use super::archive::{BLOCK, Fault};

/// Values are bytes: a capability holds any of them, also line breaks.
pub(super) type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// Parts of a sparse file that hold data: offset and length, in order, without overlap.
pub(super) type Map = Vec<(u64, u64)>;

/// More parts than any real file has.
const MAP_LIMIT: u64 = 1 << 20;

/// Reads `LENGTH KEY=VALUE\n`, where the length counts itself.
pub(super) fn parse(mut data: &[u8], into: &mut Records) -> Result<(), Fault> {
    let malformed = || Fault::Damaged("an extended header is malformed".to_owned());
    while !data.is_empty() {
        let space = data
            .iter()
            .position(|&byte| byte == b' ')
            .ok_or_else(malformed)?;
        let length: usize = number(&data[..space])
            .and_then(|n| n.try_into().ok())
            .ok_or_else(malformed)?;
        let record = data.get(space + 1..length).ok_or_else(malformed)?;
        let record = record.strip_suffix(b"\n").ok_or_else(malformed)?;
        let equals = record
            .iter()
            .position(|&byte| byte == b'=')
            .ok_or_else(malformed)?;
        let (key, value) = (record[..equals].to_vec(), record[equals + 1..].to_vec());
        // An empty value takes back what an earlier header said.
        if value.is_empty() && !key.starts_with(b"SCHILY.xattr.") {
            into.remove(&key);
        } else {
            into.insert(key, value);
        }
        data = &data[length..];
    }
    Ok(())
}

pub(super) fn number(text: &[u8]) -> Option<u64> {
    let is_plain = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text)
        .ok()
        .filter(|_| is_plain)?
        .parse()
        .ok()
}

/// Reads seconds with a fraction, such as `-1.5`, as whole seconds and nanoseconds after them.
pub(super) fn time(text: &[u8]) -> Option<(i64, u32)> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().ok()?;
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: String = fraction
        .chars()
        .chain("000000000".chars())
        .take(9)
        .collect();
    let nanoseconds: u32 = digits.parse().ok()?;
    if whole.starts_with('-') && nanoseconds > 0 {
        return Some((seconds.checked_sub(1)?, 1_000_000_000 - nanoseconds));
    }
    Some((seconds, nanoseconds))
}

/// A map in the header, `offset,length,…`: version 0.1 of the format.
pub(super) fn inline_map(text: &[u8]) -> Option<Map> {
    let numbers: Option<Vec<u64>> = text.split(|&byte| byte == b',').map(number).collect();
    pairs(&numbers?)
}

/// A map at the start of the data, a number a line, filled up to a block: version 1.0 of the format. Returns how many
/// bytes it took.
pub(super) fn leading_map(data: &mut impl Read) -> Result<(Map, u64), Fault> {
    let malformed = || Fault::Damaged("the map of a sparse file is malformed".to_owned());
    let mut taken = 0;
    let mut lines: Vec<u64> = Vec::new();
    let mut line = Vec::new();
    loop {
        let mut block = [0; BLOCK];
        data.read_exact(&mut block).map_err(Fault::Read)?;
        taken += BLOCK as u64;
        for byte in block {
            if is_whole(&lines) {
                break;
            }
            match byte {
                b'\n' => {
                    lines.push(number(&line).ok_or_else(malformed)?);
                    line.clear();
                }
                _ if line.len() < 20 => line.push(byte),
                _ => return Err(malformed()),
            }
        }
        if lines.first().is_some_and(|&count| count > MAP_LIMIT) {
            return Err(malformed());
        }
        if is_whole(&lines) {
            return pairs(&lines[1..])
                .map(|map| (map, taken))
                .ok_or_else(malformed);
        }
    }
}

fn is_whole(lines: &[u64]) -> bool {
    lines
        .first()
        .is_some_and(|&count| lines.len() as u64 > count.saturating_mul(2))
}

fn pairs(numbers: &[u64]) -> Option<Map> {
    let (pairs, rest) = numbers.as_chunks::<2>();
    rest.is_empty().then(|| {
        pairs
            .iter()
            .map(|&[offset, length]| (offset, length))
            .collect()
    })
}

/// Whether a map is in order, fits a file of `size` bytes and takes exactly `stored` bytes of data.
pub(super) fn is_sound(map: &Map, size: u64, stored: u64) -> bool {
    let mut end = 0;
    let mut sum = 0_u64;
    for &(offset, length) in map {
        let Some(next) = offset.checked_add(length).filter(|_| offset >= end) else {
            return false;
        };
        end = next;
        sum = sum.saturating_add(length);
    }
    end <= size && sum == stored
}

#[cfg(test)]
mod tests {
    use super::{Records, inline_map, is_sound, leading_map, parse, time};

    #[test]
    fn records_may_hold_any_bytes() {
        let mut records = Records::new();
        parse(b"21 SCHILY.xattr.a=\n\0\n11 path=ab\n", &mut records).unwrap();
        assert_eq!(records[&b"SCHILY.xattr.a"[..]], b"\n\0");
        assert_eq!(records[&b"path"[..]], b"ab");
        parse(b"8 path=\n", &mut records).unwrap();
        assert!(!records.contains_key(&b"path"[..]));
        for bad in [
            &b"5 a=b"[..],
            b"x a=b\n",
            b"99 a=b\n",
            b"6 abc\n",
            b"0 a=b\n",
            b"+6 a=b\n",
        ] {
            assert!(parse(bad, &mut records).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn times_have_fractions_and_signs() {
        assert_eq!(time(b"12"), Some((12, 0)));
        assert_eq!(time(b"12.5"), Some((12, 500_000_000)));
        assert_eq!(time(b"-1.25"), Some((-2, 750_000_000)));
        assert_eq!(time(b"1.0000000019"), Some((1, 1)));
        assert_eq!(time(b"1.x"), None);
        assert_eq!(time(b""), None);
    }

    #[test]
    fn maps_are_read_and_checked() {
        assert_eq!(
            inline_map(b"0,512,4096,10"),
            Some(vec![(0, 512), (4096, 10)])
        );
        assert_eq!(inline_map(b"0,512,4096"), None);
        let mut block = b"2\n0\n512\n4096\n10\n".to_vec();
        block.resize(512, 0);
        let (map, taken) = leading_map(&mut block.as_slice()).unwrap();
        assert_eq!((map.len(), taken), (2, 512));
        assert!(is_sound(&map, 4106, 522));
        assert!(!is_sound(&map, 4105, 522));
        assert!(!is_sound(&vec![(10, 5), (12, 5)], 100, 10));
        assert!(leading_map(&mut &[b'9'; 512][..]).is_err());
    }
}
