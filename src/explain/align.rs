//! Which items of two lists stand for each other, where they have no names of their own.

use crate::key::tree::{Content, Tree};

/// What coming and going costs; a change costs as much as the leaves that differ.
const ALONE: usize = 1;

/// Beyond so many pairs, items are paired by their numbers.
const MOST: usize = 1 << 20;

/// An item and its counterpart; one is missing where an item came or went.
type Pair<'a> = (Option<&'a Tree>, Option<&'a Tree>);

/// Pairs the items so that the fewest leaves differ: an item that comes first moves the others on, and does not change
/// them.
pub(super) fn align<'a>(old: &'a [Tree], new: &'a [Tree]) -> Vec<Pair<'a>> {
    let same = |(old, new): &(&Tree, &Tree)| old.content == new.content;
    let head = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = tail.take_while(same).count();
    let (old_middle, old_tail) = old_rest.split_at(old_rest.len() - tail);
    let (new_middle, new_tail) = new_rest.split_at(new_rest.len() - tail);
    let both = |(old, new)| (Some(old), Some(new));
    let mut pairs: Vec<Pair<'a>> = old.iter().zip(&new[..head]).map(both).collect();
    pairs.extend(match old_middle.len() * new_middle.len() > MOST {
        true => by_number(old_middle, new_middle),
        false => cheapest(old_middle, new_middle),
    });
    pairs.extend(old_tail.iter().zip(new_tail).map(both));
    pairs
}

fn by_number<'a>(old: &'a [Tree], new: &'a [Tree]) -> Vec<Pair<'a>> {
    let length = old.len().max(new.len());
    (0..length)
        .map(|index| (old.get(index), new.get(index)))
        .collect()
}

fn cheapest<'a>(old: &'a [Tree], new: &'a [Tree]) -> Vec<Pair<'a>> {
    // costs[i][j]: of the first i old items beside the first j new ones.
    let mut costs = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in 0..=old.len() {
        for j in 0..=new.len() {
            costs[i][j] = match (i, j) {
                (0, j) => j * ALONE,
                (i, 0) => i * ALONE,
                (i, j) => {
                    let paired = costs[i - 1][j - 1] + cost(&old[i - 1], &new[j - 1]);
                    let alone = costs[i - 1][j].min(costs[i][j - 1]) + ALONE;
                    paired.min(alone)
                }
            };
        }
    }
    let (mut i, mut j) = (old.len(), new.len());
    let mut pairs = Vec::new();
    while i > 0 || j > 0 {
        let here = costs[i][j];
        if i > 0 && j > 0 && here == costs[i - 1][j - 1] + cost(&old[i - 1], &new[j - 1]) {
            (i, j) = (i - 1, j - 1);
            pairs.push((Some(&old[i]), Some(&new[j])));
        } else if j > 0 && here == costs[i][j - 1] + ALONE {
            j -= 1;
            pairs.push((None, Some(&new[j])));
        } else {
            i -= 1;
            pairs.push((Some(&old[i]), None));
        }
    }
    pairs.reverse();
    pairs
}

/// How many leaves of two items differ.
fn cost(old: &Tree, new: &Tree) -> usize {
    match (&old.content, &new.content) {
        (Content::Pieces(old), Content::Pieces(new)) => {
            let pairs = old.iter().zip(new);
            pairs
                .filter(|(old, new)| old.content != new.content)
                .count()
        }
        (old, new) => usize::from(old != new),
    }
}
