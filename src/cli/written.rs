//! Files that commands write where the operator says: never into a checkpoint, and over another
//! file only where that was asked for.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use super::exit::CliError;
use super::text;

/// Makes the file; with `force` over one that is there.
///
/// # Errors
/// When it is there without `force`, lies in a checkpoint or cannot be made.
pub(crate) fn create(file: &Path, force: bool) -> Result<File, CliError> {
    outside_checkpoints(file)?;
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    options.open(file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CliError::FileExists { file: shown(file) },
        _ => failed(file, error),
    })
}

/// Why a file could not be written.
pub(crate) fn failed(file: &Path, source: io::Error) -> CliError {
    CliError::File { file: shown(file), source }
}

/// A file's name, harmless to print.
pub(crate) fn shown(file: &Path) -> String {
    text::clean(&file.to_string_lossy()).into_owned()
}

/// Refuses a file that would lie in a checkpoint: in or below a directory with both logs.
///
/// # Errors
/// When it would.
pub(crate) fn outside_checkpoints(file: &Path) -> Result<(), CliError> {
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    // Links are followed as far as there is something to follow.
    let parent = absolute.parent().map(|parent| parent.canonicalize().unwrap_or(parent.into()));
    let is_checkpoint = |dir: &Path| dir.join("offsets").is_dir() && dir.join("commits").is_dir();
    match parent.iter().flat_map(|parent| parent.ancestors()).find(|dir| is_checkpoint(dir)) {
        Some(checkpoint) => {
            Err(CliError::InCheckpoint { file: shown(file), checkpoint: shown(checkpoint) })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_goes_into_a_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = folder.path().join("ckpt");
        for log in ["offsets", "commits"] {
            std::fs::create_dir_all(checkpoint.join(log)).unwrap();
        }
        for inside in ["metadata", "new.md", "offsets/7", "state/0/x"] {
            assert!(outside_checkpoints(&checkpoint.join(inside)).is_err(), "{inside}");
        }
        assert!(outside_checkpoints(&folder.path().join("resize.md")).is_ok());
        std::os::unix::fs::symlink(&checkpoint, folder.path().join("link")).unwrap();
        assert!(outside_checkpoints(&folder.path().join("link/new.md")).is_err());
    }
}
