//! Snapshots of every fixture, read by the program's own reader of table files and by `RocksDB`:
//! the same keys and values in the same order.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use statetop::state::rocks::snapshot::{open_zip, read_metadata};
use statetop::state::rocks::{BadFile, Contents, MergeDelimiter, RocksStore, Tables};
use statetop::storage::Storage;

mod support;

/// Snapshot descriptors below a directory.
fn zips(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(zips(&path));
        } else if path.extension().is_some_and(|ending| ending == "zip") {
            found.push(path);
        }
    }
    found
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn rows(scan: impl FnOnce(&mut dyn FnMut(&[u8], &[u8])) -> Result<(), BadFile>) -> Rows {
    let mut rows = Vec::new();
    scan(&mut |key, value| rows.push((key.to_vec(), value.to_vec()))).unwrap();
    rows
}

#[test]
fn table_files_are_read_as_rocksdb_reads_them() {
    let (mut compared, mut left, mut seen) = (0, 0, 0);
    for fixture in support::all() {
        let checkpoint = fixture.unpack();
        let storage = Storage::open(checkpoint.target()).unwrap();
        for zip_path in zips(&checkpoint.path.join("state")) {
            let relative = zip_path.strip_prefix(&checkpoint.path).unwrap();
            let (dir, path) =
                (relative.parent().unwrap().to_str().unwrap(), relative.to_str().unwrap());
            let Ok(mut zip) = open_zip(&storage, path) else { continue };
            let Ok(metadata) = read_metadata(&mut zip) else { continue };
            for delimiter in [MergeDelimiter::Comma, MergeDelimiter::Nothing] {
                let ours = Tables::open(&storage, dir, &mut zip, &metadata, delimiter);
                let theirs = RocksStore::open(&storage, dir, path, &mut zip, &metadata, delimiter);
                let (Some(ours), Ok(theirs)) = (ours, theirs) else {
                    // A damaged fixture; nothing healthy is left to RocksDB.
                    assert!(fixture.name.starts_with("broken-"), "{} {path}", fixture.name);
                    left += 1;
                    continue;
                };
                let expected = rows(|each| {
                    theirs.scan(&metadata, |key, value| {
                        each(key, value());
                        ControlFlow::Continue(())
                    })
                });
                let found = rows(|each| {
                    ours.scan(|key, value| {
                        each(key, value());
                        ControlFlow::Continue(())
                    })
                });
                assert!(found == expected, "{} {path}", fixture.name);
                compared += 1;
                seen += found.len();
            }
        }
    }
    assert!(compared > 500 && seen > 10_000, "{compared} compared, {left} left, {seen} rows");
    assert!(left < compared / 20, "{left} of {compared}");
}

/// Whatever bit of a table file is flipped: rows as they are, or an error; never other rows.
#[test]
fn a_damaged_table_file_never_gives_other_rows() {
    let fixture = support::all().into_iter().find(|one| one.name == "agg-hot-windows-4.3.0");
    let checkpoint = fixture.unwrap().unpack();
    let storage = Storage::open(checkpoint.target()).unwrap();
    let zip_path = zips(&checkpoint.path.join("state")).into_iter().next().unwrap();
    let relative = zip_path.strip_prefix(&checkpoint.path).unwrap();
    let (dir, path) = (relative.parent().unwrap().to_str().unwrap(), relative.to_str().unwrap());
    let mut zip = open_zip(&storage, path).unwrap();
    let metadata = read_metadata(&mut zip).unwrap();
    let table =
        checkpoint.path.join(dir).join("SSTs").join(&metadata.sst_files[0].dfs_sst_file_name);
    let healthy = fs::read(&table).unwrap();
    let mut read = || -> Option<Rows> {
        let delimiter = MergeDelimiter::Nothing;
        let contents = Contents::open(&storage, dir, path, &mut zip, &metadata, delimiter).ok()?;
        let mut rows = Vec::new();
        let scanned = contents.scan(&metadata, |key, value| {
            rows.push((key.to_vec(), value().to_vec()));
            ControlFlow::Continue(())
        });
        scanned.ok().map(|()| rows)
    };
    let expected = read().unwrap();
    assert!(!expected.is_empty());
    let mut refused = 0;
    for at in (0..healthy.len()).step_by(7) {
        let mut damaged = healthy.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&table, damaged).unwrap();
        match read() {
            None => refused += 1,
            Some(rows) => assert!(rows == expected, "byte {at}"),
        }
    }
    assert!(refused > 10, "{refused}");
}
