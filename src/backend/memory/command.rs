//! The few commands of a shell that run in memory.

use std::cell::RefCell;
use std::time::Duration;

use super::Files;
use crate::backend::{BackendError, Class, Ending};

/// Runs `text`: commands of the forms below, joined by ` && `. Anything else is refused, rather than ignored.
pub(super) async fn run(
    text: &str,
    files: &RefCell<Files>,
    print: &dyn Fn(String),
) -> Result<Ending, BackendError> {
    for command in text.split(" && ") {
        let words: Vec<&str> = command.split(' ').collect();
        let ending = match words.as_slice() {
            ["true"] => Ending::Exited(0),
            ["exit", code] => Ending::Exited(code.parse().map_err(|_| unknown(command))?),
            ["sleep", seconds] => {
                let seconds = seconds.parse().map_err(|_| unknown(command))?;
                tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
                Ending::Exited(0)
            }
            ["echo", word] => {
                print((*word).to_owned());
                Ending::Exited(0)
            }
            ["echo", word, ">", path] => {
                let content = format!("{word}\n").into_bytes();
                files.borrow_mut().insert((*path).to_owned(), content);
                Ending::Exited(0)
            }
            ["cat", path] => show(files.borrow().get(*path), print),
            ["rm", path] => removed(files.borrow_mut().remove(*path).is_some()),
            ["test", "-e", path] => removed(files.borrow().contains_key(*path)),
            _ => return Err(unknown(command)),
        };
        if !ending.success() {
            return Ok(ending);
        }
    }
    Ok(Ending::Exited(0))
}

fn show(content: Option<&Vec<u8>>, print: &dyn Fn(String)) -> Ending {
    let Some(content) = content else {
        return Ending::Exited(1);
    };
    for line in String::from_utf8_lossy(content).lines() {
        print(line.to_owned());
    }
    Ending::Exited(0)
}

fn removed(was_there: bool) -> Ending {
    Ending::Exited(i32::from(!was_there))
}

fn unknown(command: &str) -> BackendError {
    BackendError::new(Class::Bug, format!("`{command}` does not run in memory"))
}
