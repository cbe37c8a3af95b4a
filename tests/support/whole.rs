//! The table's examples as whole files: with what has to stand around them.

use atelier_lang::table::Statement;

/// What `import` finds.
pub(crate) const IMPORTED: (&str, &str) = ("org.kdl", "prebuild base { from host; }\n");

pub(crate) fn whole(row: &Statement) -> String {
    let line = row.example;
    match row.name {
        "prebuild" | "from" => format!("{line}\n"),
        "import" => format!("{line}\nfrom prebuild=org.base\n"),
        "let" => format!("{line}\nfrom (f)\"node:{{node}}\"\n"),
        "param" => format!("{line}\nfrom dev-base\nenv CHANNEL=(f)\"{{channel}}\"\n"),
        "template" => format!("{line}\nfrom dev-base\nuse tools\n"),
        "use" => format!("template tools {{ path \".local/bin\"; }}\nfrom dev-base\n{line}\n"),
        "group" => format!(
            "prebuild wallet {{ from dev-base; }}\nprebuild api {{ from dev-base; }}\n{line}\n"
        ),
        "matrix" => format!("prebuild web {{\n    from (f)\"node:{{node}}\"\n    {line}\n}}\n"),
        "skip" => of_two_axes(&format!(
            "        os debian alpine\n        node 22 24\n        {line}\n"
        )),
        "cell" => of_two_axes(&format!("        {line}\n        cell node=24 os=alpine\n")),
        "only" | "layer" => {
            format!("from dev-base\nrepo \"github.com/frak-id/wallet\" {{\n    {line}\n}}\n")
        }
        "stub" => format!(
            "from dev-base\nrepo \"github.com/acme/tool\" {{\n    only Cargo.lock \"**/Cargo.toml\"\n    {line}\n}}\n"
        ),
        "secret" => {
            format!("{line}\nfrom dev-base\nrepo \"github.com/acme/private\" auth=GIT_TOKEN\n")
        }
        "atelier" => format!("{line}\nfrom dev-base\n"),
        "allow" => format!(
            "{line}\nfrom dev-base\nrun \"test ghp_0123456789abcdefghijklmnopqrstuvwxyz != \\\"$A\\\"\"\n"
        ),
        _ => format!("from dev-base\n{line}\n"),
    }
}

fn of_two_axes(lines: &str) -> String {
    format!(
        "prebuild web {{\n    from (f)\"node:{{node}}-{{os}}\"\n    matrix {{\n{lines}    }}\n}}\n"
    )
}
