//! The time that a server names in the header `Retry-After`: in seconds, or as a date.

use std::time::Duration;

/// A server may say any number, and no clock can be moved by each.
const LONGEST: Duration = Duration::from_hours(24);

/// At most a day.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(LONGEST));
    }
    let then = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    let time = then.duration_since(jiff::Timestamp::now());
    let time = Duration::try_from(time).unwrap_or(Duration::ZERO);
    Some(time.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LONGEST, parse};

    #[test]
    fn it_is_seconds_or_a_date() {
        assert_eq!(parse(" 7\r"), Some(Duration::from_secs(7)));
        assert_eq!(parse("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(1);
        let wait = parse(&soon.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()).unwrap();
        assert!(wait > Duration::from_secs(50) && wait <= Duration::from_mins(1));
        for text in ["soon", "", "-1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_server_cannot_ask_for_more_than_a_clock_has() {
        for text in [
            "18446744073709551615",
            "99999999999999999999999",
            "Fri, 24 Dec 9999 23:59:59 GMT",
        ] {
            assert_eq!(parse(text), Some(LONGEST), "{text}");
        }
    }
}
