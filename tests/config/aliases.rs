//! What an alias stands for is in the key, and never its name.

use crate::oci_layout::OciLayout;
use crate::project::Project;

fn key(project: &Project, file: &str) -> String {
    project.write("prebuild.kdl", file);
    let ran = project.run(&["plan", "--json"]).expect(0);
    ran.column("key").remove(0).1
}

/// An image layout in the project, of one empty layer.
fn layout(project: &Project) {
    let layout = OciLayout::create(&project.root.join("image"));
    // Two blocks of zeros are an archive of nothing.
    let image = layout.image(&atelier::resolve::host::platform(), &[&[0; 1024]]);
    layout.set_top(&[image]);
}

#[test]
fn an_alias_is_the_image_it_names() {
    let project = Project::empty();
    layout(&project);
    let direct = key(&project, "from \"oci:./image\"");
    let host = key(&project, "from host");
    assert_ne!(direct, host);
    assert_eq!(key(&project, "from dev-base"), host);
    project.share("alias dev-base \"oci:../image\"\nalias other \"oci:../image\"\nalias here host");
    assert_eq!(key(&project, "from dev-base"), direct);
    assert_eq!(key(&project, "from other"), direct);
    assert_eq!(key(&project, "from here"), host);
    // The caller's own is relative to the caller's file.
    project.configure("alias mine \"oci:../../../project/image\"");
    assert_eq!(key(&project, "from mine"), direct);
}

#[test]
fn an_alias_of_an_image_boots_and_bakes() {
    let project = Project::of("from dev-base\nfile f \"text\"");
    layout(&project);
    project.share("alias dev-base \"oci:../image\"");
    project.run(&["build"]).expect(0);
}

#[test]
fn an_alias_that_is_not_configured_shows_the_line_to_add() {
    let project = Project::of("from team-base");
    let ran = project.run(&["plan"]).expect(5);
    let expected = "A0501

  × cannot resolve team-base
   ╭─[prebuild.kdl:1:6]
 1 │ from team-base
   ·      ────┬────
   ·          ╰── the configuration has no such alias
   ╰────
  help: add to .atelier/config.kdl: alias team-base \"IMAGE\"

";
    assert_eq!(ran.stderr, expected);
}

#[test]
fn an_image_that_cannot_be_used_names_the_line_of_the_alias() {
    let project = Project::of("from dev-base");
    project.configure("alias dev-base \"localhost:1/acme/dev:3\"");
    let ran = project.plainly(&["plan"], &[]).expect(5);
    let expected = "[home]/.config/atelier/config.kdl:1 says `localhost:1/acme/dev:3`: localhost:1 cannot be reached";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot resolve dev-base"));
    assert!(ran.stderr.contains("check the network"), "{}", ran.stderr);
}
