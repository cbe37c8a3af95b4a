//! Keys: golden vectors, what must and must not change a key, and the properties of the encoding.
#![cfg(test)]

mod fields;
mod kept;
mod mutations;
mod nodes;
mod only;
mod pinning;
mod places;
mod properties;
mod reference;
mod spelling;
mod statements;
mod table;
mod vectors;

#[path = "../support/python.rs"]
mod python;

#[path = "../../lang/tests/support/kept.rs"]
mod files;
#[path = "../support/preimages.rs"]
mod preimages;
