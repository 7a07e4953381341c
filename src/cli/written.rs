//! Files that commands write where the operator says: never into a checkpoint.

use std::path::Path;

use super::exit::CliError;
use super::text;

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
        Some(checkpoint) => Err(CliError::InCheckpoint {
            file: text::clean(&file.to_string_lossy()).into_owned(),
            checkpoint: text::clean(&checkpoint.to_string_lossy()).into_owned(),
        }),
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
