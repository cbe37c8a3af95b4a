//! The library of templates that `use` finds without an import, embedded in the program.

/// The files of stdlib/, by name, in order: each without its ending, and its text.
pub const FILES: &[(&str, &str)] = &[
    ("deno", include_str!("../stdlib/deno.kdl")),
    ("dotnet", include_str!("../stdlib/dotnet.kdl")),
    ("elixir", include_str!("../stdlib/elixir.kdl")),
    ("git-lfs", include_str!("../stdlib/git-lfs.kdl")),
    ("go", include_str!("../stdlib/go.kdl")),
    ("java", include_str!("../stdlib/java.kdl")),
    ("node", include_str!("../stdlib/node.kdl")),
    ("php", include_str!("../stdlib/php.kdl")),
    ("python", include_str!("../stdlib/python.kdl")),
    ("ruby", include_str!("../stdlib/ruby.kdl")),
    ("rust", include_str!("../stdlib/rust.kdl")),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::FILES;

    #[test]
    fn the_table_is_the_folder() {
        let entries = fs::read_dir("stdlib").unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let files = paths.filter(|path| path.extension().is_some_and(|ending| ending == "kdl"));
        let folder: BTreeMap<String, String> = files
            .map(|path| {
                let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
                (stem, fs::read_to_string(&path).unwrap())
            })
            .collect();
        let table = FILES
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        assert_eq!(table.collect::<BTreeMap<_, _>>(), folder);
        assert!(FILES.is_sorted(), "in order");
    }

    /// What is found by name before a file is parsed is at the start of a line, and there once.
    #[test]
    fn a_template_is_defined_once() {
        let mut defined = BTreeMap::new();
        for (file, text) in FILES {
            for line in text
                .lines()
                .filter(|line| line.trim_start().starts_with("template "))
            {
                let name = line
                    .strip_prefix("template ")
                    .and_then(|rest| rest.split([' ', '{']).next());
                let name = name.expect("a template starts its line").to_owned();
                assert_eq!(defined.insert(name.clone(), file), None, "{name}");
            }
        }
    }
}
