//! One of the repositories that a checkout is made of.

use crate::node::ObjectId;

/// A repository of which a commit was fetched: the one that was asked for, or a submodule of it at any depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Of its work tree, from that of the repository that was asked for, which has none.
    pub path: String,
    /// Of its `.git`, from the one of the repository that was asked for, which has none.
    pub git_dir: String,
    pub commit: ObjectId,
    /// The files whose contents are in its `lfs`, by their paths in its work tree.
    pub lfs: Vec<Vec<u8>>,
}

impl Part {
    /// From its `.git` to its work tree.
    pub fn work_tree(&self) -> String {
        // Below the work tree of all lies its `.git`, and there this one's.
        let up = self.git_dir.split('/').count() + 1;
        "../".repeat(up) + &self.path
    }

    /// What stands in the file `.git` of its work tree.
    pub fn git_file(&self) -> String {
        let up = self.path.split('/').count();
        format!("gitdir: {}.git/{}", "../".repeat(up), self.git_dir)
    }
}

#[cfg(test)]
mod tests {
    use super::Part;
    use crate::node::ObjectId;

    #[test]
    fn a_part_is_found_from_both_sides() {
        let part = Part {
            path: "vendor/lib/deep/inner".to_owned(),
            git_dir: "modules/vendor/lib/modules/inner".to_owned(),
            commit: ObjectId::Sha1([0; 20]),
            lfs: Vec::new(),
        };
        assert_eq!(part.work_tree(), "../../../../../../vendor/lib/deep/inner");
        assert_eq!(
            part.git_file(),
            "gitdir: ../../../../.git/modules/vendor/lib/modules/inner"
        );
    }
}
