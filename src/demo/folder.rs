//! A folder of this process alone in the user's cache, and the removal of those that ended
//! processes left behind.
//!
//! A lock file stands beside each folder. Its owner holds the lock as long as it lives,
//! however it ends, so a folder whose lock can be had belongs to nobody.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use super::DemoError;

/// Demos of one process that may run at the same time.
const MOST_OF_A_PROCESS: u32 = 100;

/// A demo's folder; removed when dropped.
#[derive(Debug)]
pub(super) struct DemoFolder {
    path: PathBuf,
    lock_path: PathBuf,
    lock: File,
}

/// Where demos are unpacked.
pub(super) fn base() -> PathBuf {
    directories::ProjectDirs::from("", "", "statetop")
        .map_or_else(std::env::temp_dir, |dirs| dirs.cache_dir().to_owned())
        .join("demo")
}

impl DemoFolder {
    /// A new, empty folder under `base`.
    pub(super) fn create(base: &Path) -> Result<Self, DemoError> {
        let cannot = |source| DemoError::Unpack { path: base.to_owned(), source };
        fs::create_dir_all(base).map_err(cannot)?;
        sweep(base);
        for number in 0..MOST_OF_A_PROCESS {
            let path = base.join(format!("{}-{number}", process::id()));
            let lock_path = path.with_extension("lock");
            let lock = match File::create_new(&lock_path) {
                Ok(lock) => lock,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(cannot(error)),
            };
            // Another process's sweep may hold it for a moment: then the next number will do.
            if lock.try_lock().is_ok() {
                fs::create_dir(&path).map_err(cannot)?;
                return Ok(Self { path, lock_path, lock });
            }
        }
        Err(cannot(io::ErrorKind::AlreadyExists.into()))
    }

    /// Where the recording is unpacked.
    pub(super) fn staging(&self) -> PathBuf {
        self.path.join("staging")
    }

    /// The checkpoint that is shown.
    pub(super) fn checkpoint(&self) -> PathBuf {
        self.path.join("checkpoint")
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next demo's sweep.
        let _ = fs::remove_dir_all(&self.path);
        let _ = fs::remove_file(&self.lock_path);
        let _ = self.lock.unlock();
    }
}

/// Removes the folders of demos that have ended without doing so.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for lock_path in entries.flatten().map(|entry| entry.path()) {
        if lock_path.extension().is_none_or(|extension| extension != "lock") {
            continue;
        }
        let Ok(lock) = File::open(&lock_path) else { continue };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(lock_path.with_extension(""));
            let _ = fs::remove_file(&lock_path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_apart_and_go_when_dropped() {
        let base = tempfile::tempdir().unwrap();
        let (one, two) =
            (DemoFolder::create(base.path()).unwrap(), DemoFolder::create(base.path()).unwrap());
        assert_ne!(one.path, two.path);
        assert!(one.path.is_dir() && two.path.is_dir());
        drop(one);
        drop(two);
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_demo_left_is_swept() {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir_all(base.path().join("1-0/checkpoint")).unwrap();
        fs::write(base.path().join("1-0.lock"), "").unwrap();
        fs::write(base.path().join("notes.txt"), "not ours").unwrap();
        let folder = DemoFolder::create(base.path()).unwrap();
        assert!(!base.path().join("1-0").exists() && !base.path().join("1-0.lock").exists());
        assert!(base.path().join("notes.txt").exists() && folder.path.exists());
    }
}
