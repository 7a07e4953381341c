//! The demo from a made-up recording to a played-out checkpoint.

use std::fs;
use std::time::Instant;

use super::*;

/// A recording with these entries, compressed.
fn recording(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, text) in entries {
        let mut header = tar::Header::new_gnu();
        // Written raw: the crate itself refuses to write the names that are to be refused.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, text.as_bytes()).unwrap();
    }
    zstd::encode_all(tar.into_inner().unwrap().as_slice(), 0).unwrap()
}

/// `batches` batches of one state file each, beside `metadata`, which no batch lists.
fn query(batches: u64) -> Vec<u8> {
    let mut entries = vec![("checkpoint/metadata".to_owned(), "{}".to_owned())];
    let mut listed = Vec::new();
    for batch in 0..batches {
        let files = [
            format!("commits/{batch}"),
            format!("offsets/{batch}"),
            format!("state/0/0/{}.changelog", batch + 1),
            format!("state/0/0/removed-{batch}"),
        ];
        entries.extend(files[..3].iter().map(|file| (format!("checkpoint/{file}"), file.clone())));
        listed.push(serde_json::json!({"batch": batch, "files": files}));
    }
    let script = serde_json::json!({"name": "fraud-join", "batches": listed}).to_string();
    let mut all = vec![("demo.json", script.as_str())];
    all.extend(entries.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    recording(&all)
}

/// A source that knows nothing.
struct Nothing;

impl Observe for Nothing {
    fn name(&self) -> &'static str {
        "a path"
    }

    fn mark(&self) -> Result<Mark, ReadError> {
        Ok(Mark::default())
    }

    fn observe(
        &self,
        _: &Request,
        _: &Cancel,
        _: &(dyn Fn(Progress) + Sync),
    ) -> Result<Observation, ReadError> {
        Err(ReadError::Unreadable("nothing".to_owned()))
    }
}

fn start(recording: &[u8], base: &Path, pace: Pace) -> Result<(Demo, PathBuf), DemoError> {
    let mut checkpoint = PathBuf::new();
    let demo = Demo::of(recording, base, pace, |path| {
        path.clone_into(&mut checkpoint);
        Ok(Arc::new(Nothing))
    })?;
    Ok((demo, checkpoint))
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn the_complete_demo_has_every_file_and_leaves_none() {
    let base = tempfile::tempdir().unwrap();
    let (demo, checkpoint) = start(&query(12), base.path(), Pace::Complete).unwrap();
    assert_eq!(demo.source().name(), "demo: fraud-join");
    assert!(checkpoint.join("metadata").is_file());
    assert_eq!(count(&checkpoint.join("offsets")), 12);
    assert_eq!(count(&checkpoint.join("commits")), 12);
    assert_eq!(count(&checkpoint.join("state/0/0")), 12);
    let modified = |file: &str| fs::metadata(checkpoint.join(file)).unwrap().modified().unwrap();
    assert_eq!(
        modified("commits/11").duration_since(modified("commits/9")).unwrap(),
        2 * PAST_INTERVAL
    );
    drop(demo);
    assert_eq!(count(base.path()), 0);
}

#[test]
fn later_batches_arrive_one_by_one_commit_last() {
    let base = tempfile::tempdir().unwrap();
    let pace = Pace::Live { every: Duration::from_millis(40) };
    let begun = Instant::now();
    let (demo, checkpoint) = start(&query(13), base.path(), pace).unwrap();
    let counts = || ["commits", "state/0/0", "offsets"].map(|dir| count(&checkpoint.join(dir)));
    assert!(counts()[0] < 13, "not all at once");
    loop {
        let [commits, state, offsets] = counts();
        assert!(commits <= state && state <= offsets, "{commits} {state} {offsets}");
        if commits == 13 {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "only {commits} commits");
        std::thread::sleep(Duration::from_millis(3));
    }
    assert!(begun.elapsed() >= Duration::from_millis(390), "ten batches, 40 ms each");
    drop(demo);
}

#[test]
fn dropping_a_demo_ends_it_at_once() {
    let base = tempfile::tempdir().unwrap();
    let pace = Pace::Live { every: Duration::from_secs(3600) };
    let (demo, checkpoint) = start(&query(13), base.path(), pace).unwrap();
    assert_eq!(count(&checkpoint.join("commits")), 3);
    let begun = Instant::now();
    drop(demo);
    assert!(begun.elapsed() < Duration::from_secs(10) && !checkpoint.exists());
}

#[test]
fn a_damaged_recording_is_refused_and_leaves_nothing() {
    let json = r#"{"batches":[{"batch":0,"files":["offsets/0"]}]}"#;
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("not zstd", b"hello".to_vec()),
        ("empty", recording(&[])),
        ("no table of contents", recording(&[("checkpoint/offsets/0", "v1")])),
        ("no batches", recording(&[("demo.json", r#"{"batches":[]}"#)])),
        ("bad json", recording(&[("demo.json", "{")])),
        (
            "lists outside",
            recording(&[("demo.json", r#"{"batches":[{"batch":0,"files":["../x"]}]}"#)]),
        ),
        ("climbs out", recording(&[("demo.json", json), ("checkpoint/../../x", "!")])),
        ("absolute", recording(&[("demo.json", json), ("/etc/x", "!")])),
        ("elsewhere", recording(&[("demo.json", json), ("x", "!")])),
        ("twice", recording(&[("demo.json", json), ("checkpoint/a", ""), ("checkpoint/a", "")])),
        ("cut", {
            let mut whole = query(3);
            whole.truncate(whole.len() / 2);
            whole
        }),
    ];
    for (case, bytes) in cases {
        let base = tempfile::tempdir().unwrap();
        assert!(start(&bytes, base.path(), Pace::Complete).is_err(), "{case}");
        assert_eq!(count(base.path()), 0, "{case} leaves something");
    }
}

#[test]
fn the_bundled_recording_is_whole() {
    let base = tempfile::tempdir().unwrap();
    let (demo, checkpoint) = start(RECORDING, base.path(), Pace::Complete).unwrap();
    assert!(demo.source().name().starts_with("demo: "));
    let entries = |log: &str| {
        let names = fs::read_dir(checkpoint.join(log)).unwrap();
        let mut names: Vec<u64> = names
            .filter_map(|entry| entry.unwrap().file_name().to_str().and_then(|n| n.parse().ok()))
            .collect();
        names.sort_unstable();
        names
    };
    assert!(entries("commits").len() > HELD_BACK);
    assert_eq!(entries("commits"), entries("offsets"), "every planned batch is committed");
}

#[test]
fn a_link_is_refused() {
    let mut tar = tar::Builder::new(Vec::new());
    let json = br#"{"batches":[{"batch":0,"files":["offsets/0"]}]}"#;
    let mut header = tar::Header::new_gnu();
    header.set_path("demo.json").unwrap();
    header.set_size(json.len() as u64);
    header.set_cksum();
    tar.append(&header, json.as_slice()).unwrap();
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_path("checkpoint/offsets").unwrap();
    link.set_link_name("/etc").unwrap();
    link.set_size(0);
    link.set_cksum();
    tar.append(&link, std::io::empty()).unwrap();
    let bytes = zstd::encode_all(tar.into_inner().unwrap().as_slice(), 0).unwrap();
    let base = tempfile::tempdir().unwrap();
    let error = start(&bytes, base.path(), Pace::Complete).err().unwrap().to_string();
    assert!(error.contains("Symlink"), "{error}");
}
