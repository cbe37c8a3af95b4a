//! The names that git allows for refs. Names come from servers and from files, and become paths below `refs/`.

/// Whether `name` is a full ref name, by the rules of `git check-ref-format`.
pub fn is_valid_ref(name: &str) -> bool {
    let forbidden = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    let fine_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.as_bytes().ends_with(b".lock")
            && !part.ends_with('.')
    };
    name.starts_with("refs/")
        && name.len() < 1024
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(forbidden)
        && name.split('/').all(fine_part)
}

#[cfg(test)]
mod tests {
    use super::is_valid_ref;

    #[test]
    fn names_that_git_refuses_are_refused() {
        for good in [
            "refs/heads/main",
            "refs/heads/feature/x-1.2",
            "refs/tags/v1@a",
            "refs/heads/é",
        ] {
            assert!(is_valid_ref(good), "{good}");
        }
        let bad = [
            "main",
            "refs/heads/",
            "refs/heads/../x",
            "refs/heads/a..b",
            "refs/heads/.a",
            "refs/heads/a.lock",
            "refs/heads/a b",
            "refs/heads/a^",
            "refs/heads/a\n",
            "refs//a",
            "refs/heads/a@{1}",
            "refs/heads/a.",
        ];
        for bad in bad {
            assert!(!is_valid_ref(bad), "{bad}");
        }
    }
}
