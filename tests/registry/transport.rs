//! HTTPS with a CA of one's own, plain HTTP where it is allowed, and proxies.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::front::Front;
use crate::project::{Project, Ran};
use crate::registry::Registry;
use crate::tokens::openssl;
use crate::{Bench, rootfs};

/// A CA, and a certificate for this machine that it has signed.
fn certificates(folder: &Path) {
    openssl(
        &[
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=a CA",
            "-keyout", "ca.key", "-out", "ca.pem",
        ],
        folder,
        &[],
    );
    openssl(
        &[
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=localhost",
            "-keyout",
            "server.key",
            "-out",
            "server.csr",
        ],
        folder,
        &[],
    );
    fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    openssl(
        &[
            "x509",
            "-req",
            "-in",
            "server.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            "names",
            "-out",
            "server.pem",
        ],
        folder,
        &[],
    );
}

/// An image in a registry, and a project that has it from `host`.
fn project(registry: &Registry, host: &str) -> Project {
    let bench = Bench::new();
    let image = bench.image(&[&rootfs::file("hello", b"hello")]);
    registry.push(&bench.layout, &image, "dev", "1");
    let project = Project::empty();
    let text = format!("from \"{host}/dev:1\"\nrun \"cat /hello > f\" shell=sh\n");
    project.write("prebuild.kdl", &text);
    project
}

fn build(project: &Project, variables: &[(&str, &str)]) -> Ran {
    let mut command = project.atelier(&["build", "--force", "default"]);
    command.envs(variables.iter().copied());
    project.run_command(command)
}

fn words(ran: &Ran) -> String {
    ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_ca_of_one_s_own_is_trusted_if_it_is_named() {
    let plain = Registry::open();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    certificates(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let secure = plain.again(&format!(
        "http: {{ addr: \"127.0.0.1:0\", tls: {{ certificate: {}, key: {} }} }}",
        file("server.pem"),
        file("server.key")
    ));
    let host = format!("localhost:{}", secure.port);
    let project = project(&plain, &host);
    // On this machine plain HTTP is usual.
    let told = words(&build(&project, &[]).expect(5));
    assert!(told.contains("refused the request (HTTP 400)"), "{told}");
    project.configure(&format!("registry \"{host}\" http=#false"));
    let told = words(&build(&project, &[]).expect(5));
    assert!(
        told.contains("has a certificate that is not trusted"),
        "{told}"
    );
    assert!(told.contains("ca=\"~/ca.pem\""), "{told}");
    build(&project, &[("SSL_CERT_FILE", &file("ca.pem"))]).expect(0);
    project.configure(&format!("registry \"{host}\" ca=\"{}\"", file("ca.pem")));
    build(&project, &[]).expect(0);
    project.configure(&format!("registry \"{host}\" ca=\"{}\"", file("none.pem")));
    let told = words(&build(&project, &[]).expect(5));
    assert!(told.contains("none.pem: No such file"), "{told}");
    project.configure(&format!("registry \"{host}\" ca=\"{}\"", file("names")));
    let told = words(&build(&project, &[]).expect(5));
    assert!(told.contains("has no certificate in PEM"), "{told}");
}

#[test]
fn plain_http_is_for_this_machine_and_for_who_is_named() {
    let registry = Registry::open();
    let proxy = Front::of(registry.port);
    let project = project(&registry, "registry.acme.test:5000");
    let address = format!("http://127.0.0.1:{}", proxy.port);
    let proxies = [
        ("HTTP_PROXY", address.as_str()),
        ("HTTPS_PROXY", address.as_str()),
        ("http_proxy", address.as_str()),
        ("https_proxy", address.as_str()),
        ("NO_PROXY", ""),
        ("no_proxy", ""),
    ];
    build(&project, &proxies).expect(5);
    // Not a word in the clear: a tunnel is asked for.
    let requests = proxy.requests();
    assert!(
        !requests.is_empty() && requests.iter().all(|one| one.method() == "CONNECT"),
        "{requests:?}"
    );
    proxy.forget();
    project.configure("registry \"registry.acme.test:5000\" http=#true");
    build(&project, &proxies).expect(0);
    let expected = "http://registry.acme.test:5000/v2/dev/manifests/1";
    assert_eq!(proxy.requests()[0].target(), expected);
}

#[test]
fn this_machine_is_not_reached_through_a_proxy() {
    let registry = Registry::open();
    let project = project(&registry, &format!("localhost:{}", registry.port));
    let nowhere = [
        ("HTTP_PROXY", "http://127.0.0.1:1"),
        ("http_proxy", "http://127.0.0.1:1"),
    ];
    build(&project, &nowhere).expect(0);
}

#[test]
fn a_registry_of_plain_http_is_told_as_that() {
    let registry = Registry::open();
    let host = format!("localhost:{}", registry.port);
    let project = project(&registry, &host);
    project.configure(&format!("registry \"{host}\" http=#false"));
    let told = words(&build(&project, &[]).expect(5));
    assert!(
        told.contains(&format!("{host} does not speak HTTPS")),
        "{told}"
    );
    assert!(told.contains("http=#true"), "{told}");
}

#[test]
fn nobody_is_led_from_https_to_plain_http() {
    let registry = Registry::open();
    let front = Front::of(registry.port);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    certificates(folder.path());
    // The file is what a server answers who has HTTPS and points elsewhere.
    let place = folder.path().join("v2/dev/manifests");
    fs::create_dir_all(&place).unwrap();
    let target = format!("http://localhost:{}/v2/dev/manifests/1", front.port);
    let answer = format!("HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n");
    fs::write(place.join("1"), answer).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut server = Command::new("openssl")
        .args([
            "s_server",
            "-quiet",
            "-HTTP",
            "-cert",
            "server.pem",
            "-key",
            "server.key",
        ])
        .args(["-accept", &format!("127.0.0.1:{port}")])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    crate::processes::wait_until("it listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let host = format!("localhost:{port}");
    let project = project(&registry, &host);
    let ca = folder.path().join("ca.pem");
    project.configure(&format!("registry \"{host}\" ca=\"{}\"", ca.display()));
    let told = words(&build(&project, &[]).expect(5));
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(told.contains("redirects"), "{told}");
    assert!(front.requests().is_empty());
}
