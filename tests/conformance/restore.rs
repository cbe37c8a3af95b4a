//! What is booted is what was baked, entry by entry, however deep the chain.

use std::fs;

use atelier::backend::{Backend, BakeRequest, Cancel, WorkspaceFile};

use crate::house::{Caller, House, OnDisk, boot, sh};
use crate::programs;
use crate::requests::request;

/// Every kind of entry.
const MAKE: &str = r#"
umask 000
mkdir -p dir/sub/deep set; chmod 3750 set; chmod 555 dir/sub/deep
echo text > file; chmod 640 file; touch -d '2001-02-03 04:05:06.123456789' file
printf '#!/bin/sh\n' > script; chmod 6755 script; : > empty; chmod 000 empty
ln file hard; ln file dir/hard; ln -s file soft; ln -s nowhere broken; ln -s /etc/passwd absolute
touch -h -d '1980-01-01 00:00:00.000000001' soft
truncate -s 8M sparse; printf end >> sparse; printf mid | dd of=sparse bs=1 seek=3000000 conv=notrunc 2>/dev/null
truncate -s 1M hole
mkfifo pipe; chmod 622 pipe; touch 'odd
name' ' ' ./-n "$(printf 'b\377d')" .hidden '*' 'a"b' '$HOME'
for n in 1 2 3 4 5 6; do mkdir -p d$n/e; echo $n > d$n/f; echo $n > d$n/e/g; done
./tool set file user.note 'kept for ever' dir user.dir x
touch -d '1999-12-31 23:59:59.5' dir
"#;

/// Changes, renames and deletions, of which each chain of five has all. What is linked is new: of a file from below, the
/// kernel shows two numbers as long as the mount lives in which a second name was made for it.
const CHANGES: [&str; 5] = [
    "echo more >> file; chmod 600 script; mv d1 moved; rm -r d2; echo new > d3/new; touch -d '2010-10-10 10:10:10.1' d3",
    "rm soft; ln -s file/../dir soft; rm -rf d3; mkdir d3; echo again > d3/f; mv moved/e d4/from-moved; ./tool set file user.note changed",
    "rm hard; cp -p file linked; ln linked hard2; truncate -s 9M sparse; printf x | dd of=hole bs=1 seek=500000 conv=notrunc 2>/dev/null; rm pipe; mkdir pipe; chmod 1777 pipe",
    "mv dir renamed; mkdir dir; echo fresh > dir/fresh; rm 'odd\nname' -f; mv d5 d6/in; echo l > d4/l; ln d4/l d4/linked; ./tool drop renamed user.dir",
    "chmod 700 set; rm -rf d4; mv d6 d4; rmdir pipe; mkfifo pipe; cp script copied; mv renamed/hard hard; touch -d '@1234567890.987654321' file",
];

/// The listing that a bake printed, and that a sandbox prints.
async fn baked(house: &OnDisk, request: &BakeRequest) -> Vec<String> {
    let mut caller = Caller::new();
    let cancel = Cancel::new();
    let bake = house.backend().bake(request, &caller.sink, &cancel);
    bake.await.unwrap();
    listing(caller.events.output())
}

async fn booted(house: &OnDisk, request: &BakeRequest) -> Vec<String> {
    let sandbox = boot(house.backend(), request).await;
    let (ending, said) = sh(house.backend(), &sandbox, "./list .").await;
    house.backend().destroy(&sandbox).await.unwrap();
    assert!(ending.success());
    listing(said)
}

fn listing(mut lines: Vec<String>) -> Vec<String> {
    lines.retain(|line| line.starts_with("| "));
    lines.sort();
    lines
}

fn first(house: &OnDisk, commands: &[String]) -> BakeRequest {
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let mut request = request("first", None, &commands);
    for (name, source) in [
        ("list", include_str!("../restore/list.c")),
        ("tool", include_str!("../restore/tool.c")),
    ] {
        let program = programs::compile(house.root().parent().unwrap(), name, source);
        request.files.push(WorkspaceFile {
            path: name.to_owned(),
            mode: 0o755,
            content: fs::read(program).unwrap(),
        });
    }
    request
}

const LIST: &str = "./list .";

/// behaviours 1.20
pub(crate) async fn one_snapshot_restores_exactly(house: &OnDisk) {
    let mut commands = vec![MAKE.to_owned()];
    commands.extend(CHANGES.map(str::to_owned));
    commands.push(LIST.to_owned());
    let request = first(house, &commands);
    let expected = baked(house, &request).await;
    assert!(expected.len() > 30, "{expected:#?}");
    assert_eq!(booted(house, &request).await, expected);
}

/// behaviours 1.20
pub(crate) async fn a_chain_of_five_restores_exactly(house: &OnDisk) {
    chain(house, 5, &[1, 2, 3, 4, 5]).await;
}

/// behaviours 1.20, and 1, near misses: deeper than what is merged.
pub(crate) async fn a_chain_of_seventy_restores_exactly(house: &OnDisk) {
    chain(house, 70, &[5, 63, 64, 65, 66, 70]).await;
}

/// A chain in which the first snapshot makes everything, and each next one changes something.
async fn chain(house: &OnDisk, length: usize, compared: &[usize]) {
    let mut parent = first(house, &[MAKE.to_owned(), LIST.to_owned()]);
    let mut expected = vec![baked(house, &parent).await];
    let mut all = vec![];
    for number in 1..length {
        let change = match CHANGES.get(number - 1) {
            Some(change) => (*change).to_owned(),
            // What comes after all changes: files come, go, and come back in the place of others.
            None => format!(
                "mkdir -p n{0}; echo {0} > n{0}/f; ln n{0}/f h{0}; rm -rf n{1} h{2}; mkdir -p d3/o; echo {0} > d3/o/f; rm -rf d3/o; mkdir d3/o; touch d3/o/{0}",
                number % 7,
                (number + 3) % 7,
                (number + 2) % 7,
            ),
        };
        let child = request(&number.to_string(), Some(&parent), &[&change, LIST]);
        expected.push(baked(house, &child).await);
        all.push(std::mem::replace(&mut parent, child));
    }
    all.push(parent);
    for &number in compared {
        let found = booted(house, &all[number - 1]).await;
        let expected = &expected[number - 1];
        let without = |these: &[String], those: &[String]| {
            let these = these.iter().filter(|line| !those.contains(line));
            these.cloned().collect::<Vec<_>>()
        };
        let (lost, come) = (without(expected, &found), without(&found, expected));
        assert_eq!(lost, come, "snapshot {number} of {length}");
    }
}
