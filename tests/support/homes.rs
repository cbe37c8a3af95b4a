//! A /home in which the machine's own /home/dev is not: for what runs without a sandbox.

use std::path::Path;
use std::process::Command;

/// In a mount namespace of its own; all else below /home stays where it is.
const SCRIPT: &str = r#"
old=$(mktemp -d)
mount --rbind /home "$old"
mount -t tmpfs none /home
for folder in "$old"/*/; do
    name=$(basename "$folder")
    [ "$name" = dev ] || [ "$name" = "*" ] || { mkdir "/home/$name" && mount --rbind "$folder" "/home/$name"; }
done
umount -l "$old"
rmdir "$old"
mount -t tmpfs none /var/cache
"#;

/// `program` in such a place, after `prepare`, a piece of shell. Only for root.
pub(crate) fn elsewhere(program: &Path, prepare: &str) -> Command {
    let script = format!("{SCRIPT}\n{prepare}\nexec \"$0\" \"$@\"");
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--propagation", "private", "sh", "-euc"])
        .arg(script)
        .arg(program);
    command
}
