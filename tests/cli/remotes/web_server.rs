//! A real web server with git and LFS behind it, over HTTP and, with the certificate of a private authority, over HTTPS.
//! What is below `private` wants the login `me` with the password [`PASSWORD`].

use std::fmt::Write as _;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::processes::wait_until;
use crate::repo::Repo;

pub(crate) const PASSWORD: &str = "s3cret-canary";

pub(crate) struct WebServer {
    folder: TempDir,
    apache: Child,
    pub(crate) port: u16,
    pub(crate) tls_port: u16,
    proxy_port: u16,
}

impl WebServer {
    pub(crate) fn start() -> Self {
        // Its processes are another user's, who has to get there.
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        open_to_all(folder.path());
        for name in ["srv", "lfs"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        certify(folder.path());
        let lfs = folder.path().join("lfs.py");
        fs::write(&lfs, include_str!("lfs.py")).unwrap();
        open_to_all(&lfs);
        let [port, tls_port, proxy_port] = free_ports();
        let config = folder.path().join("apache.conf");
        fs::write(
            &config,
            configuration(folder.path(), [port, tls_port, proxy_port]),
        )
        .unwrap();
        let apache = Command::new("apache2")
            .args(["-D", "FOREGROUND", "-f"])
            .arg(&config)
            .env("PATH", path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // It ends itself with its whole group.
            .process_group(0)
            .spawn()
            .expect("apache2, which ./check installs");
        wait_until("the web server to answer", || {
            let answers = |port| TcpStream::connect(("127.0.0.1", port)).is_ok();
            [port, tls_port, proxy_port].into_iter().all(answers)
        });
        Self {
            folder,
            apache,
            port,
            tls_port,
            proxy_port,
        }
    }

    /// Where the bare repository `name` is pushed to.
    pub(crate) fn bare(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("srv/{name}.git"))
    }

    pub(crate) fn new_bare(&self, name: &str) -> Repo {
        Repo::init(&self.bare(name), &["--bare"])
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }

    pub(crate) fn tls_url(&self, name: &str) -> String {
        format!("https://127.0.0.1:{}/{name}", self.tls_port)
    }

    /// A proxy through which its HTTPS can be reached.
    pub(crate) fn proxy(&self) -> String {
        format!("http://127.0.0.1:{}", self.proxy_port)
    }

    /// As a configuration calls it.
    pub(crate) fn tls_host(&self) -> String {
        format!("127.0.0.1:{}", self.tls_port)
    }

    /// The certificate of the authority.
    pub(crate) fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Keeps a content in LFS, and returns its pointer.
    pub(crate) fn keep(&self, content: &[u8]) -> String {
        let oid = hex::encode(Sha256::digest(content));
        fs::write(self.object(&oid), content).unwrap();
        pointer(&oid, content.len())
    }

    pub(crate) fn object(&self, oid: &str) -> PathBuf {
        self.folder.path().join("lfs").join(oid)
    }

    /// Port, method, path, status and user of each request so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder.path().join("access.log")).unwrap();
        log.lines().map(str::to_owned).collect()
    }
}

pub(crate) fn pointer(oid: &str, size: usize) -> String {
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n")
}

impl Drop for WebServer {
    fn drop(&mut self) {
        // It ends its children; killed, it would leave them.
        let pid = rustix::process::Pid::from_child(&self.apache);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        self.apache.wait().ok();
    }
}

/// Debian has it where a user's PATH does not lead.
fn path() -> String {
    format!("{}:/usr/sbin", std::env::var("PATH").unwrap())
}

fn free_ports<const N: usize>() -> [u16; N] {
    // All held at the same time, so that they differ.
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A private authority, a certificate of the server by it, and the one user.
fn certify(folder: &Path) {
    fs::write(
        folder.join("names"),
        "subjectAltName=IP:127.0.0.1,DNS:git.acme.dev\n",
    )
    .unwrap();
    let script = format!(
        "key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
        openssl req -x509 $key -keyout ca.key -out ca.pem -days 2 -subj '/CN=Acme' \
            -addext basicConstraints=critical,CA:true -addext keyUsage=critical,keyCertSign
        openssl req $key -keyout server.key -out server.csr -subj /CN=127.0.0.1
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem
        echo \"me:$(openssl passwd -apr1 {PASSWORD})\" >users"
    );
    let mut openssl = Command::new("sh");
    let made = openssl.args(["-euc", &script]).current_dir(folder).output();
    let made = made.unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    open_to_all(&folder.join("users"));
}

const MODULES: &[&str] = &[
    "mpm_prefork",
    "authz_core",
    "authz_user",
    "authn_core",
    "authn_file",
    "auth_basic",
    "alias",
    "env",
    "cgi",
    "ssl",
    "proxy",
    "proxy_connect",
];

fn configuration(folder: &Path, ports: [u16; 3]) -> String {
    let [port, tls_port, proxy_port] = ports;
    let mut text = String::new();
    if rustix::process::geteuid().is_root() {
        // It does not serve as root.
        text += "User www-data\nGroup www-data\n";
    }
    for module in MODULES {
        writeln!(
            text,
            "LoadModule {module}_module /usr/lib/apache2/modules/mod_{module}.so"
        )
        .unwrap();
    }
    let git = Command::new("git").arg("--exec-path").output().unwrap();
    let git = String::from_utf8(git.stdout).unwrap();
    let values = [
        ("FOLDER", folder.to_str().unwrap()),
        ("GIT", git.trim()),
        ("TLS_PORT", &tls_port.to_string()),
        ("PROXY_PORT", &proxy_port.to_string()),
        ("PORT", &port.to_string()),
    ];
    let fill =
        |text: String, (name, value): &(&str, &str)| text.replace(&format!("@{name}@"), value);
    values.iter().fold(text + SERVER, fill)
}

const SERVER: &str = r#"
ServerRoot "@FOLDER@"
ServerName 127.0.0.1
DefaultRuntimeDir "@FOLDER@"
PidFile "@FOLDER@/pid"
ErrorLog "@FOLDER@/error.log"
CustomLog "@FOLDER@/access.log" "%{local}p %m %U %>s %u"
StartServers 3
Mutex posixsem
Listen 127.0.0.1:@PORT@
Listen 127.0.0.1:@TLS_PORT@
Listen 127.0.0.1:@PROXY_PORT@
PassEnv PATH
SetEnv GIT_PROJECT_ROOT "@FOLDER@/srv"
SetEnv GIT_HTTP_EXPORT_ALL 1
SetEnv GIT_CONFIG_COUNT 3
SetEnv GIT_CONFIG_KEY_0 safe.directory
SetEnv GIT_CONFIG_VALUE_0 *
SetEnv GIT_CONFIG_KEY_1 uploadpack.allowAnySHA1InWant
SetEnv GIT_CONFIG_VALUE_1 true
SetEnv GIT_CONFIG_KEY_2 uploadpack.allowFilter
SetEnv GIT_CONFIG_VALUE_2 true
SetEnv LFS_ROOT "@FOLDER@/lfs"
ScriptAliasMatch "^/(.*)/info/lfs/objects/batch$" "@FOLDER@/lfs.py"
Alias /objects/ "@FOLDER@/lfs/"
ScriptAlias / "@GIT@/git-http-backend/"
<Directory "/">
    Require all granted
</Directory>
<LocationMatch "^/(objects/)?private/">
    AuthType Basic
    AuthName git
    AuthUserFile "@FOLDER@/users"
    Require valid-user
</LocationMatch>
<VirtualHost 127.0.0.1:@TLS_PORT@>
    SSLEngine on
    SSLCertificateFile "@FOLDER@/server.pem"
    SSLCertificateKeyFile "@FOLDER@/server.key"
</VirtualHost>
<VirtualHost 127.0.0.1:@PROXY_PORT@>
    ProxyRequests On
    AllowCONNECT @TLS_PORT@
</VirtualHost>
"#;
