//! Unpacks a recording, checking every name and size on the way.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::DemoError;
use super::script::{Script, is_inside};

/// More than a recording is ever allowed to hold, unpacked.
const MOST_BYTES: u64 = 512 << 20;
/// More files than a recording is ever allowed to hold.
const MOST_FILES: usize = 100_000;
/// More than its table of contents may take.
const MOST_SCRIPT_BYTES: u64 = 16 << 20;
/// The folder of the archive that holds the checkpoint.
const CHECKPOINT: &str = "checkpoint";

/// Unpacks the checkpoint of `archive` (a tar in zstd) into the new folder `into` and
/// returns its table of contents, which is the first entry.
pub(super) fn unpack(archive: &[u8], into: &Path) -> Result<Script, DemoError> {
    let decoder = zstd::Decoder::new(archive).map_err(damaged)?;
    let mut tar = tar::Archive::new(decoder.take(MOST_BYTES));
    let mut entries = tar.entries().map_err(damaged)?;

    let first = entries.next().ok_or_else(|| wrong("it is empty"))?.map_err(damaged)?;
    let script = script(first)?;
    create_folder(into)?;
    for (number, entry) in entries.enumerate() {
        let mut entry = entry.map_err(damaged)?;
        if number >= MOST_FILES {
            return Err(wrong("it holds too many files"));
        }
        match entry.header().entry_type() {
            tar::EntryType::Directory => {}
            tar::EntryType::Regular => {
                let path = into.join(inside(&entry)?);
                write(&mut entry, &path)?;
            }
            kind => return Err(wrong(&format!("it holds an entry of kind {kind:?}"))),
        }
    }
    Ok(script)
}

fn script(entry: tar::Entry<'_, impl Read>) -> Result<Script, DemoError> {
    let path = entry.path().map_err(damaged)?;
    if path.as_ref() != Path::new("demo.json") {
        return Err(wrong(&format!("it starts with {} instead of demo.json", path.display())));
    }
    let mut json = Vec::new();
    entry.take(MOST_SCRIPT_BYTES).read_to_end(&mut json).map_err(damaged)?;
    Script::parse(&json)
}

/// The entry's path within the checkpoint.
fn inside(entry: &tar::Entry<'_, impl Read>) -> Result<PathBuf, DemoError> {
    let path = entry.path().map_err(damaged)?;
    path.strip_prefix(CHECKPOINT)
        .ok()
        .filter(|inner| is_inside(inner))
        .map(Path::to_owned)
        .ok_or_else(|| wrong(&format!("it names {}", path.display())))
}

fn write(entry: &mut impl Read, path: &Path) -> Result<(), DemoError> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    // A name that comes twice is refused, so no entry can replace another.
    let mut file = File::create_new(path).map_err(|error| cannot(path, error))?;
    io::copy(entry, &mut file).map_err(|error| cannot(path, error))?;
    Ok(())
}

fn create_folder(path: &Path) -> Result<(), DemoError> {
    fs::create_dir_all(path).map_err(|error| cannot(path, error))
}

fn cannot(path: &Path, source: io::Error) -> DemoError {
    DemoError::Unpack { path: path.to_owned(), source }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn damaged(error: io::Error) -> DemoError {
    DemoError::Damaged(error.to_string())
}

fn wrong(what: &str) -> DemoError {
    DemoError::Damaged(what.to_owned())
}
