//! `statetop verify` on real checkpoints: silent on healthy ones, and it finds what is planted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Fixture, Unpacked};

mod support;

/// Fixtures that are made to be broken, or that an offline repartition of Spark's has broken.
fn is_broken(fixture: &Fixture) -> bool {
    let known = ["broken-", "resized-join-v4", "resized-no-keys"];
    known.iter().any(|name| fixture.name.starts_with(name))
}

fn fixture(name: &str) -> Unpacked {
    let found = support::all().into_iter().find(|fixture| fixture.name == name);
    found.unwrap_or_else(|| panic!("no fixture {name}")).unpack()
}

/// The report and the exit code.
fn verify(checkpoint: &Unpacked) -> (Value, i32) {
    let mut command = assert_cmd::Command::cargo_bin("statetop").unwrap();
    let output =
        command.args(["verify", checkpoint.target(), "--format", "json"]).output().unwrap();
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (report, output.status.code().unwrap())
}

/// The ids and files of the faults.
fn faults(report: &Value) -> Vec<(&str, &str)> {
    let faults = report["faults"].as_array().unwrap().iter();
    faults.map(|f| (f["id"].as_str().unwrap(), f["file"].as_str().unwrap_or_default())).collect()
}

/// Files below `dir` whose names end with `ending`, by name.
fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_str().unwrap().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Flips a bit in the middle of a file.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

/// A path as the report has it.
fn name(checkpoint: &Unpacked, path: &Path) -> String {
    path.strip_prefix(&checkpoint.path).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn healthy_checkpoints_are_sound() {
    let mut sound = 0;
    for fixture in support::all() {
        let truth = &fixture.truth;
        let has_batch = !truth["last_committed_batch"].is_null();
        if is_broken(&fixture) || !has_batch {
            continue;
        }
        let (report, code) = verify(&fixture.unpack());
        assert_eq!(faults(&report), [], "{}", fixture.name);
        assert_eq!((&report["verdict"], code), (&"sound".into(), 0), "{}", fixture.name);
        // Every key that Spark counts was decoded and placed.
        let last = &truth["last_committed_batch"];
        let counts = truth["counts"].as_array().unwrap().iter();
        let keys: u64 = counts
            .filter(|store| store["batch"] == *last)
            .flat_map(|store| store["families"].as_object().unwrap().values())
            .flat_map(|family| family["partitions"].as_object().unwrap().values())
            .map(|partition| partition["rows"].as_u64().unwrap())
            .sum();
        if truth["stateful"] == true && truth["spark_reader_error"].is_null() {
            assert!(report["checked"]["keys"].as_u64().unwrap() >= keys, "{}", fixture.name);
        }
        sound += 1;
    }
    assert!(sound >= 100 || std::env::var_os("STATETOP_FIXTURES").is_some(), "only {sound}");
}

/// Partitions 0 and 1 change places: every key of both is where it does not belong.
#[test]
fn rows_in_wrong_partitions_are_found() {
    let checkpoint = fixture("agg-window-changelog-4.3.0");
    let (before, _) = verify(&checkpoint);
    let state = checkpoint.path.join("state/0");
    fs::rename(state.join("0"), state.join("away")).unwrap();
    fs::rename(state.join("1"), state.join("0")).unwrap();
    fs::rename(state.join("away"), state.join("1")).unwrap();
    // The schema is kept in partition 0.
    fs::rename(state.join("1/_metadata"), state.join("0/_metadata")).unwrap();
    let (report, code) = verify(&checkpoint);
    assert_eq!(faults(&report), [("misplaced-keys", "state/0/0"), ("misplaced-keys", "state/0/1")]);
    assert_eq!((&report["verdict"], code), (&"faults".into(), 1));
    assert_eq!(report["checked"]["keys"], before["checked"]["keys"]);
}

#[test]
fn a_flipped_bit_is_found_in_every_table_file_and_changelog() {
    for (name_of, ending, id) in [
        ("agg-window-hot-4.3.0", ".sst", "damaged-sst"),
        ("agg-window-changelog-4.3.0", ".changelog", "damaged-changelog"),
        ("hdfs-agg-4.3.0", ".delta", "damaged-changelog"),
    ] {
        let count = files(&fixture(name_of).path.join("state"), ending).len();
        assert!(count > 10, "{name_of} has {count} files {ending}");
        // Each of a few files spread over all of them, in a checkpoint of its own.
        for index in (0..count).step_by(count / 6) {
            let checkpoint = fixture(name_of);
            let file = files(&checkpoint.path.join("state"), ending)[index].clone();
            flip(&file);
            let (report, code) = verify(&checkpoint);
            let file = name(&checkpoint, &file);
            assert!(faults(&report).contains(&(id, &file)), "{name_of} {file}: {report:#}");
            assert_eq!(code, 1);
        }
    }
}

#[test]
fn a_cut_snapshot_is_found_wherever_it_is() {
    let count = files(&fixture("agg-window-hot-4.3.0").path.join("state"), ".zip").len();
    for index in (0..count).step_by(count / 6) {
        let checkpoint = fixture("agg-window-hot-4.3.0");
        let zip = files(&checkpoint.path.join("state"), ".zip")[index].clone();
        let bytes = fs::read(&zip).unwrap();
        fs::write(&zip, &bytes[..bytes.len() / 2]).unwrap();
        let (report, code) = verify(&checkpoint);
        let zip = name(&checkpoint, &zip);
        assert!(faults(&report).contains(&("damaged-snapshot", &zip)), "{zip}: {report:#}");
        assert_eq!(code, 1);
    }
}

/// Writes a zip again with its manifest cut in half; every entry has the checksum of its bytes.
fn cut_manifest(path: &Path) {
    let mut old = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let mut new = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for at in 0..old.len() {
        let mut entry = old.by_index(at).unwrap();
        let name = entry.name().unwrap().into_owned();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        if name.starts_with("MANIFEST") {
            bytes.truncate(bytes.len() / 2);
        }
        new.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut new, &bytes).unwrap();
    }
    fs::write(path, new.finish().unwrap().into_inner()).unwrap();
}

/// Also of snapshots that no retained batch is read from, all of whose table files are in others.
#[test]
fn a_manifest_that_ends_early_is_found_wherever_it_is() {
    let count = files(&fixture("agg-window-hot-4.3.0").path.join("state"), ".zip").len();
    for index in (0..count).step_by(count / 6) {
        let checkpoint = fixture("agg-window-hot-4.3.0");
        let zip = files(&checkpoint.path.join("state"), ".zip")[index].clone();
        cut_manifest(&zip);
        let (report, code) = verify(&checkpoint);
        let zip = name(&checkpoint, &zip);
        assert!(faults(&report).contains(&("damaged-snapshot", &zip)), "{zip}: {report:#}");
        assert_eq!(code, 1);
    }
}

/// In state checkpoint format 2 the commit names the state of every operator.
#[test]
fn state_that_a_commit_names_and_is_gone_is_unreadable() {
    let checkpoint = fixture("agg-format2-4.3.0");
    fs::remove_dir_all(checkpoint.path.join("state")).unwrap();
    let (report, code) = verify(&checkpoint);
    assert_eq!(faults(&report), [("missing-operator-directory", "state/0")]);
    assert_eq!((&report["verdict"], code), (&"unreadable".into(), 1));
}

/// A snapshot whose bytes are whole but are not the ones that its checksum file is of.
#[test]
fn a_wrong_file_checksum_is_found() {
    let checkpoint = fixture("agg-format2-4.3.0");
    let sidecar = files(&checkpoint.path.join("state"), ".zip.crc")[0].clone();
    let text = fs::read_to_string(&sidecar).unwrap();
    let mut fields: Value = serde_json::from_str(&text).unwrap();
    fields["value"] = (fields["value"].as_i64().unwrap() ^ 1).into();
    fs::write(&sidecar, fields.to_string()).unwrap();
    let (report, code) = verify(&checkpoint);
    let file = name(&checkpoint, &sidecar.with_extension(""));
    assert_eq!(faults(&report), [("file-checksum", file.as_str())]);
    assert_eq!(code, 1);
    assert!(report["checked"]["file_checksums"].as_u64().unwrap() > 1);
}

/// What the broken fixtures are expected to show, `verify` shows too.
#[test]
fn broken_checkpoints_are_not_sound() {
    // A batch without a commit is not yet done, which is no fault; these have nothing to read.
    let exempt = ["broken-commit-missing", "broken-only-metadata"];
    for fixture in support::all().into_iter().filter(is_broken) {
        if exempt.iter().any(|name| fixture.name.starts_with(name)) {
            continue;
        }
        let (report, code) = verify(&fixture.unpack());
        assert_ne!(report["verdict"], "sound", "{}", fixture.name);
        assert_eq!(code, 1, "{}", fixture.name);
        let unreadable = fixture.truth["expect"]["unreadable_partitions"].as_array().unwrap();
        if !unreadable.is_empty() {
            assert_eq!(report["verdict"], "unreadable", "{}", fixture.name);
        }
    }
}
