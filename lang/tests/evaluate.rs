//! What files mean: defaults, inheritance, order.

mod support;

use support::evaluate_bytes;

#[test]
fn smoke() {
    let (_, outcome) = evaluate_bytes(
        b"from dev-base\nrepo \"github.com/a/b\" { run \"x\"; }\nrepo \".\" { run \"y\"; }\nrun \"bun install\" in=b\nenv A=1\n",
    );
    println!("{outcome:#?}");
    let (_, outcome) = evaluate_bytes(
        b"prebuild a { from prebuild=b; }\nprebuild b { from prebuild=a; }\nprebuild c { form dev; run bun install --x=y; }",
    );
    println!("{outcome:#?}");
}
