//! "Did you mean": the nearest of the names that would have been right.

/// The closest candidate within two edits, a swap of neighbours counting as one. The first of equals wins.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    // Cheap, and it keeps long texts away from the quadratic comparison.
    let is_near = |candidate: &&str| candidate.chars().count().abs_diff(length) <= 2;
    candidates
        .into_iter()
        .filter(is_near)
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        // Two edits turn half of a short word into another, and one edit any letter into any other.
        .filter(|(distance, _)| match distance {
            0 | 1 => *distance < length,
            distance => *distance == 2 && length > 4,
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// What other tools call it.
const ELSEWHERE: &[(&str, &str)] = &[
    ("clone", "repo"),
    ("git", "repo"),
    ("repository", "repo"),
    ("url", "repo"),
    ("image", "from"),
    ("base", "from"),
    ("step", "run"),
    ("exec", "run"),
    ("command", "run"),
    ("script", "run"),
    ("copy", "file"),
    ("write", "file"),
    ("environment", "env"),
    ("variables", "env"),
    ("description", "about"),
    ("limits", "resources"),
    ("cwd", "in"),
    ("dir", "in"),
    ("folder", "in"),
    ("workdir", "in"),
    ("user", "as"),
    ("retries", "retry"),
    ("ref", "branch"),
    ("rev", "commit"),
    ("sha", "commit"),
    ("token", "auth"),
    ("dest", "path"),
    ("source", "from"),
    ("src", "from"),
    ("permissions", "mode"),
    ("mem", "memory"),
    ("cpus", "cpu"),
    ("arch", "platform"),
    ("parent", "prebuild"),
];

/// Like [`nearest`], but first by meaning: what other tools call the same thing.
pub(crate) fn meant<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let translated = ELSEWHERE
        .iter()
        .filter(|(other, _)| *other == word)
        .map(|(_, ours)| *ours);
    for ours in translated {
        if let Some(found) = candidates
            .clone()
            .into_iter()
            .find(|candidate| *candidate == ours)
        {
            return Some(found);
        }
    }
    nearest(word, candidates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_edits_at_most() {
        assert_eq!(nearest("form", ["from", "run"]), Some("from"));
        assert_eq!(nearest("brnach", ["branch", "tag"]), Some("branch"));
        assert_eq!(nearest("xyz", ["from", "run"]), None);
        assert_eq!(nearest("ab", ["cd"]), None);
        assert_eq!(nearest("port", ["import", "from"]), None);
        assert_eq!(nearest("a", ["b"]), None);
    }

    #[test]
    fn other_tools_words_come_first() {
        assert_eq!(meant("cwd", ["in", "as"]), Some("in"));
        assert_eq!(meant("image", ["from", "file"]), Some("from"));
        assert_eq!(meant("image", ["file"]), None);
    }
}
