//! Two chains of snapshots side by side.

/// For each name of a chain, which of another chain's stands for it. Both begin with the snapshots that are compared, which
/// stand for each other whatever they are called; each ancestor's counterpart is the one of its name, and those that are
/// left are paired in order.
pub fn pair(chain: &[&str], other: &[&str]) -> Vec<Option<usize>> {
    let mut is_free = vec![true; other.len()];
    let mut pairs = vec![None; chain.len()];
    if let (Some(first), Some(free)) = (pairs.first_mut(), is_free.first_mut()) {
        *first = Some(0);
        *free = false;
    }
    let by_name = |name: &str, is_free: &[bool]| {
        let mut places = other.iter().zip(is_free);
        places.position(|(other, is_free)| *is_free && *other == name)
    };
    for (pair, name) in pairs.iter_mut().zip(chain).skip(1) {
        *pair = by_name(name, &is_free);
        if let Some(place) = *pair {
            is_free[place] = false;
        }
    }
    for pair in pairs.iter_mut().filter(|pair| pair.is_none()) {
        *pair = is_free.iter().position(|is_free| *is_free);
        if let Some(place) = *pair {
            is_free[place] = false;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::pair;

    #[test]
    fn ancestors_are_paired_by_name_and_then_in_order() {
        let pairs = |chain: &[&str], other: &[&str]| pair(chain, other);
        assert_eq!(
            pairs(&["app", "deps"], &["web", "deps"]),
            [Some(0), Some(1)]
        );
        // One was put between.
        let inserted = pairs(&["app", "layer", "deps"], &["app", "deps"]);
        assert_eq!(inserted, [Some(0), None, Some(1)]);
        // One was renamed, and one is called like the other's head.
        let renamed = pairs(&["app", "new", "base"], &["app", "old", "base"]);
        assert_eq!(renamed, [Some(0), Some(1), Some(2)]);
        assert_eq!(pairs(&["app", "web"], &["web"]), [Some(0), None]);
        assert_eq!(pairs(&["app"], &[]), [None]);
        assert_eq!(pairs(&[], &["app"]), []);
    }
}
