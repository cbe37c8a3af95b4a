//! Remote repositories as teams have them, from the file to a sandbox.

mod lfs;
mod site;
mod submodules;
mod web_server;
