//! The time that a server names in the header `Retry-After`: in seconds, or as a date.

use std::time::Duration;

pub(crate) fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    let time = then.duration_since(jiff::Timestamp::now());
    Some(time.try_into().unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse;

    #[test]
    fn it_is_seconds_or_a_date() {
        assert_eq!(parse(" 7\r"), Some(Duration::from_secs(7)));
        assert_eq!(parse("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(1);
        let wait = parse(&soon.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()).unwrap();
        assert!(wait > Duration::from_secs(50) && wait <= Duration::from_mins(1));
        assert_eq!(parse("soon"), None);
    }
}
