//! Submodules, made by hand: git itself would refuse most of what tests want.

use crate::repo::Repo;

impl Repo {
    /// Names a commit of another repository at a path, and says in `.gitmodules` that it comes from there; commits nothing.
    pub(crate) fn link(&self, name: &str, path: &str, url: &str, commit: &str) {
        let entry = format!("[submodule \"{name}\"]\n\tpath = {path}\n\turl = {url}\n");
        let file = self.0.join(".gitmodules");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        std::fs::write(&file, text + &entry).unwrap();
        self.git(&["add", ".gitmodules"]);
        self.gitlink(path, commit);
    }

    pub(crate) fn gitlink(&self, path: &str, commit: &str) {
        // Without its folder it would count as deleted.
        std::fs::create_dir_all(self.0.join(path)).unwrap();
        let entry = format!("160000,{commit},{path}");
        self.git(&["update-index", "--add", "--cacheinfo", &entry]);
    }
}
