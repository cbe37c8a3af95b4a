use super::*;

#[test]
fn names() {
    for right in ["a", "web-22", &"a".repeat(40)] {
        assert!(name(right).is_ok(), "{right}");
    }
    for wrong in ["", "A", "1a", "a_b", "ä", &"a".repeat(41), "a\u{200b}b"] {
        assert!(name(wrong).is_err(), "{wrong}");
    }
    assert_eq!(kebab("Web_App"), "web-app");
    assert_eq!(kebab("nodeVersion"), "node-version");
    assert_eq!(kebab("HTTPServer"), "httpserver");
    assert_eq!(kebab("a\u{200b}b"), "ab");
}

#[test]
fn variables() {
    assert!(env_key("_x1").is_ok() && env_key("MIX_ENV").is_ok());
    assert!(env_key("1x").is_err() && env_key("a-b").is_err() && env_key("").is_err());
    assert!(secret_name("GIT_TOKEN").is_ok() && secret_name("git").is_err());
    assert!(secret_name(&"A".repeat(64)).is_ok() && secret_name(&"A".repeat(65)).is_err());
}

#[test]
fn paths() {
    for right in ["a", "a/b", ".npmrc", "...", "caf\u{e9}"] {
        assert!(relative_path(right).is_ok(), "{right}");
    }
    for wrong in [
        "",
        ".",
        "..",
        "a/../b",
        "a//b",
        "a/",
        "/a",
        "~/x",
        "a\\b",
        "a\nb",
        "cafe\u{301}",
    ] {
        assert!(relative_path(wrong).is_err(), "{wrong}");
    }
    assert!(folder("/opt/x").is_ok() && folder("/").is_err() && folder("//a").is_err());
    assert!(search_folder("/opt/x").is_ok() && search_folder("a:b").is_err());
}

#[test]
fn measures() {
    assert_eq!(duration("90s").ok(), Some(Duration::from_secs(90)));
    assert!(duration("0s").is_err() && duration("5").is_err() && duration("1d").is_err());
    assert!(duration("99999999999999999999h").is_err() && duration("+1s").is_err());
    assert_eq!(size("4GiB").ok(), Some(4 << 30));
    assert!(size("4GB").is_err() && size("99999999999TiB").is_err());
    assert_eq!(count("0", 0).ok(), Some(0));
    assert!(count("0", 1).is_err() && count("-1", 0).is_err() && count("+1", 0).is_err());
}

#[test]
fn references() {
    assert!(reference("feat/x").is_ok() && reference("v1.2").is_ok());
    for wrong in [
        "", "-x", "a..b", "a b", "a/", "/a", "a.lock", "@", "x@{1}", "a:b",
    ] {
        assert!(reference(wrong).is_err(), "{wrong}");
    }
    assert!(commit(&"a".repeat(40)).is_ok() && commit(&"a".repeat(64)).is_ok());
    assert!(commit("abc").is_err() && commit(&"A".repeat(40)).is_err());
}

#[test]
fn modes_and_platforms() {
    assert!(mode("0755").is_ok() && mode("755").is_err() && mode("0888").is_err());
    assert!(platform("linux/amd64").is_ok() && platform("linux").is_err());
}
