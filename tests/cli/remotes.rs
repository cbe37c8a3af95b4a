//! Remote repositories as teams have them, from the file to a sandbox.

mod lfs;
mod site;
mod submodules;
#[expect(dead_code, reason = "its TLS side is for tests to come")]
mod web_server;
