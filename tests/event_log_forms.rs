//! The same event logs in every layout and codec, growing, cut, damaged, and among others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use statetop::task::Cancel;
use statetop::telemetry::event_log::{Ended, EventLog, Options};
use statetop::telemetry::follow::Until;
use statetop::telemetry::{Event, EventKind};
use statetop::units::UnixMillis;

use support::event_logs::{self, notes, progress, read, read_with, told};

#[test]
fn a_log_is_the_same_in_every_layout_and_codec() {
    let recording = event_logs::named("small-4.3.0");
    let unpacked = recording.unpack();
    let expected = read(&unpacked.log());
    let expected = told(&expected);
    let forms: Vec<String> = unpacked.forms().into_iter().map(|form| form.name).collect();
    for codec in ["none", "zstd", "lz4", "snappy", "lzf"] {
        assert!(forms.contains(&format!("single-{codec}")), "{forms:?}");
        assert!(forms.contains(&format!("single-{codec}-inprogress")), "{forms:?}");
    }
    assert!(forms.contains(&"rolling-none".to_owned()), "{forms:?}");
    assert!(forms.contains(&"rolling-zstd".to_owned()), "{forms:?}");
    for form in unpacked.forms() {
        let events = read(&form.log);
        let told = told(&events);
        if form.name.ends_with("-inprogress") {
            // What Spark had not flushed is missing at the end.
            assert!(expected.starts_with(&told), "{}", form.name);
            assert!(told.len() * 10 > expected.len() * 9, "{}: {} events", form.name, told.len());
        } else if !form.name.starts_with("compacted") {
            assert_eq!(notes(&events), [] as [&str; 0], "{}", form.name);
            assert!(told == expected, "{}", form.name);
        }
    }
}

#[test]
fn a_compacted_log_has_what_was_left_of_it_and_says_so() {
    let recording = event_logs::named("small-4.3.0");
    let unpacked = recording.unpack();
    let form = unpacked.form("compacted-zstd");
    let names = fs::read_dir(&form).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    assert!(names.iter().any(|name| name.ends_with(".compact")), "{names:?}");
    let (whole, compacted) = (read(&unpacked.log()), read(&form));
    // Spark drops the progress of what it compacts, and keeps the starts and ends of queries.
    let (all, left) = (progress(&whole), progress(&compacted));
    assert!(!left.is_empty() && left.len() < all.len() && all.ends_with(&left));
    let starts = |events: &[Event]| {
        events.iter().filter(|event| matches!(event.kind, EventKind::Started(_))).count()
    };
    assert_eq!(starts(&compacted), starts(&whole));
    let [note] = notes(&compacted)[..] else { panic!("{:?}", notes(&compacted)) };
    assert!(note.contains("compacted by the history server"), "{note}");
}

#[test]
fn the_beginning_of_a_log_in_the_default_form_of_4_x_is_the_beginning_of_the_log() {
    for recording in event_logs::all() {
        let unpacked = recording.unpack();
        let (whole, part) = (read(&unpacked.log()), read(&unpacked.form("rolling-zstd")));
        let (whole, part) = (progress(&whole), progress(&part));
        assert!(!part.is_empty() && whole.starts_with(&part), "{}", recording.name);
    }
}

/// Follows a log in `dir/name` while `grow` writes it, until it has ended.
fn followed(dir: &Path, name: &str, grow: impl FnOnce()) -> Vec<Event> {
    let target = dir.join(name);
    let options = Options { until: Until::Cancelled, ..Options::default() };
    let log = EventLog::open(target.to_str().unwrap(), options).unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut events = Vec::new();
            let ended = log.read(&Cancel::default(), &mut |event| {
                events.push(event);
                ControlFlow::Continue(())
            });
            assert_eq!(ended, Ended::Complete);
            events
        });
        grow();
        reader.join().unwrap()
    })
}

#[test]
fn a_log_that_grows_and_is_renamed_gives_the_same_events() {
    let recording = event_logs::named("small-4.3.0");
    let unpacked = recording.unpack();
    let whole = read(&unpacked.log());
    for codec in ["none", "zstd", "lz4", "snappy", "lzf"] {
        let form = unpacked.form(&format!("single-{codec}"));
        let bytes = fs::read(&form).unwrap();
        let name = form.file_name().unwrap().to_string_lossy().into_owned();
        let dir = tempfile::tempdir().unwrap();
        let growing = dir.path().join(format!("{name}.inprogress"));
        fs::write(&growing, b"").unwrap();
        let events = followed(dir.path(), &format!("{name}.inprogress"), || {
            let mut file = fs::File::options().append(true).open(&growing).unwrap();
            // Pieces that fit no line, block or frame; a pause now and then lets them be seen.
            for (number, piece) in bytes.chunks(bytes.len() / 97 + 1).enumerate() {
                file.write_all(piece).unwrap();
                if number % 5 == 0 {
                    std::thread::sleep(Duration::from_millis(3));
                }
            }
            fs::rename(&growing, dir.path().join(&name)).unwrap();
        });
        assert!(told(&events) == told(&whole), "{codec}");
        assert_eq!(notes(&events), [] as [&str; 0], "{codec}");
    }
}

#[test]
fn a_rolling_log_is_followed_from_file_to_file() {
    let recording = event_logs::named("small-4.3.0");
    let unpacked = recording.unpack();
    let whole = read(&unpacked.log());
    let form = unpacked.form("rolling-zstd");
    let dir = tempfile::tempdir().unwrap();
    let name = form.file_name().unwrap();
    let into = dir.path().join(name);
    fs::create_dir(&into).unwrap();
    let mut files: Vec<_> = fs::read_dir(&form).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let status = files.remove(0).file_name().unwrap().to_string_lossy().into_owned();
    assert!(status.starts_with("appstatus_") && files.len() == 3, "{files:?}");
    let growing = into.join(format!("{status}.inprogress"));
    fs::write(&growing, b"").unwrap();
    let events = followed(dir.path(), name.to_str().unwrap(), || {
        for file in files {
            let to = into.join(file.file_name().unwrap());
            let mut to = fs::File::create(to).unwrap();
            for piece in fs::read(&file).unwrap().chunks(5000) {
                to.write_all(piece).unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::rename(&growing, into.join(&status)).unwrap();
    });
    assert!(told(&events) == told(&whole));
    assert_eq!(notes(&events), [] as [&str; 0]);
}

#[test]
fn only_what_is_newer_is_given_when_that_is_asked_for() {
    let recording = event_logs::named("small-4.3.0");
    let unpacked = recording.unpack();
    let whole = read(&unpacked.log());
    let ends: Vec<UnixMillis> = whole
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::PartitionLoad(load) => load.timestamp,
            _ => None,
        })
        .collect();
    let since = ends[ends.len() / 2];
    for name in ["rolling-zstd", "single-none"] {
        let form = unpacked.form(name);
        event_logs::touch(&form);
        let newer = read_with(&form, Options { since: Some(since), ..Options::default() });
        let loads: Vec<&EventKind> = told(&newer)
            .into_iter()
            .filter(|kind| matches!(kind, EventKind::PartitionLoad(_)))
            .collect();
        let expected: Vec<&EventKind> = told(&whole)
            .into_iter()
            .filter(|kind| matches!(kind, EventKind::PartitionLoad(load) if load.timestamp >= Some(since)))
            .collect();
        assert_eq!(loads, expected, "{name}");
        assert!(newer.iter().any(|event| matches!(event.kind, EventKind::Environment(_))));
    }
}

#[test]
fn a_directory_gives_the_applications_that_have_the_query() {
    let dir = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    let mut wanted = None;
    for name in ["small-4.3.0", "all-3.5.9"] {
        let recording = event_logs::named(name);
        let unpacked = recording.unpack();
        let log = unpacked.log();
        event_logs::copy(&log, &dir.path().join(log.file_name().unwrap()));
        if name.starts_with("small") {
            wanted = recording.truth["queries"][0]["runs"][0]["id"].as_str().map(str::to_owned);
            expected = read(&log);
        }
    }
    fs::write(dir.path().join("notes.txt"), "nothing\n".repeat(300_000)).unwrap();
    fs::write(dir.path().join("small.txt"), "nothing\n").unwrap();
    let options = Options { query: wanted.as_deref().map(Into::into), ..Options::default() };
    let events = read_with(dir.path(), options);
    let is_wanted = |kind: &&EventKind| match kind {
        EventKind::Progress(progress) => progress.query.id == wanted.as_deref().map(Into::into),
        _ => false,
    };
    let progress: Vec<&EventKind> = told(&events).into_iter().filter(is_wanted).collect();
    assert_eq!(progress, told(&expected).into_iter().filter(is_wanted).collect::<Vec<_>>());
    assert!(progress.len() > 3);
    assert_eq!(notes(&events), [] as [&str; 0]);
    let environments = events.iter().filter_map(|event| match &event.kind {
        EventKind::Environment(environment) => Some(environment.query.as_ref()),
        _ => None,
    });
    let (sessions, applications): (Vec<_>, Vec<_>) = environments.partition(Option::is_some);
    assert_eq!(applications.len(), 1, "that of the one application");
    let of = |query: &&statetop::telemetry::QueryRef| query.id.as_deref() == wanted.as_deref();
    assert_eq!(sessions.iter().flatten().filter(|query| of(query)).count(), 2, "of both runs");
    assert_eq!(sessions.len(), 2, "and of no other query");
}

/// One small log in each codec.
fn small_forms() -> Vec<Vec<u8>> {
    let recording = event_logs::named("small-4.3.0");
    let unpacked = recording.unpack();
    let codecs = ["none", "zstd", "lz4", "snappy", "lzf"].iter();
    codecs.map(|codec| fs::read(unpacked.form(&format!("single-{codec}"))).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_damage_panics_or_hangs(
        form in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        thread_local! {
            static FORMS: Vec<Vec<u8>> = small_forms();
        }
        let mut bytes = FORMS.with(|forms| form.get(forms).clone());
        bytes.truncate(cut.index(bytes.len()) + 1);
        for (place, byte) in flips {
            let place = place.index(bytes.len());
            bytes[place] ^= byte;
        }
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("app");
        fs::write(&target, &bytes).unwrap();
        let _ = read(&target);
    }
}
