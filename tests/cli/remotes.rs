//! Remote repositories as teams have them, from the file to a sandbox: on a real web server, private ones, with submodules,
//! files in LFS, and faults.

mod certificates;
mod faults;
mod formats;
mod lfs;
mod lifecycle;
mod moved;
mod site;
mod submodules;
mod tunnel;
mod web_server;
