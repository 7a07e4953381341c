//! Both backends, through the same calls.

use std::fs;

use object_store::memory::InMemory;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use tempfile::TempDir;

use super::*;

const FILES: [(&str, &str); 4] =
    [("metadata", "{}"), ("offsets/0", "v1"), ("offsets/10", "v1\nten"), ("offsets/9", "")];

fn local() -> (TempDir, Storage) {
    let dir = tempfile::tempdir().unwrap();
    for (path, content) in FILES {
        let path = dir.path().join("ck").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let storage = Storage::open(dir.path().join("ck").to_str().unwrap()).unwrap();
    (dir, storage)
}

fn remote() -> Storage {
    let store = InMemory::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    for (path, content) in FILES {
        let path = ObjectPath::parse(format!("some/ck/{path}")).unwrap();
        runtime.block_on(store.put(&path, content.into())).unwrap();
    }
    // Beside the root: must never show.
    let other = ObjectPath::parse("some/ck2/offsets/5").unwrap();
    runtime.block_on(store.put(&other, "x".into())).unwrap();
    let store: Arc<dyn ObjectStore> = Arc::new(store);
    Storage::from_object_store(store, "some/ck", "memory:///some/ck").unwrap()
}

fn both(check: impl Fn(&Storage)) {
    let (_dir, local) = local();
    check(&local);
    check(&remote());
}

fn names_of(storage: &Storage, dir: &str) -> Vec<(String, EntryKind)> {
    storage.names(dir).unwrap().into_iter().map(|name| (name.name, name.kind)).collect()
}

#[test]
fn a_listing_is_one_level_sorted_by_name() {
    both(|storage| {
        let root = vec![
            ("metadata".to_owned(), EntryKind::File),
            ("offsets".to_owned(), EntryKind::Directory),
        ];
        assert_eq!(names_of(storage, ""), root);
        let offsets = storage.list("offsets").unwrap();
        let sizes: Vec<_> = offsets.iter().map(|e| (e.name.as_str(), e.bytes.0)).collect();
        assert_eq!(sizes, [("0", 2), ("10", 6), ("9", 0)]);
        assert!(offsets.iter().all(|entry| entry.modified.is_some()));
        assert!(storage.list("commits").unwrap_err().is_not_found());
        assert!(storage.names("commits").unwrap_err().is_not_found());
    });
}

#[test]
fn reads_are_bounded() {
    both(|storage| {
        assert_eq!(storage.read("offsets/10", Bytes(6)).unwrap(), b"v1\nten");
        assert_eq!(storage.read("offsets/9", Bytes(0)).unwrap(), b"");
        let error = storage.read("offsets/10", Bytes(5)).unwrap_err();
        assert!(matches!(error, StorageError::TooLarge { bytes: Bytes(6), .. }), "{error}");
        assert!(storage.read("offsets/11", Bytes(5)).unwrap_err().is_not_found());
        assert!(storage.read("offsets", Bytes(5)).is_err());
    });
}

#[test]
fn ranges_are_whole_or_an_error() {
    both(|storage| {
        assert_eq!(storage.read_range("offsets/10", 3, 3).unwrap(), b"ten");
        assert_eq!(storage.read_range("offsets/10", 6, 0).unwrap(), b"");
        for (offset, length) in [(3, 4), (6, 1), (100, 1), (u64::MAX, 1), (0, u64::MAX)] {
            let error = storage.read_range("offsets/10", offset, length).unwrap_err();
            assert!(matches!(error, StorageError::Short { .. }), "{offset} {length}: {error}");
        }
        assert!(storage.read_range("offsets/11", 0, 1).unwrap_err().is_not_found());
    });
}

#[test]
fn stat_tells_files_from_directories() {
    both(|storage| {
        let file = storage.stat("offsets/10").unwrap();
        assert_eq!((file.name.as_str(), file.kind, file.bytes), ("10", EntryKind::File, Bytes(6)));
        assert_eq!(storage.stat("offsets").unwrap().kind, EntryKind::Directory);
        assert!(storage.stat("state").unwrap_err().is_not_found());
    });
}

#[test]
fn a_copy_is_whole_or_removed() {
    let into = tempfile::tempdir().unwrap();
    both(|storage| {
        let path = into.path().join("copy");
        assert_eq!(storage.copy_to("offsets/10", &path, Bytes(6)).unwrap(), Bytes(6));
        assert_eq!(fs::read(&path).unwrap(), b"v1\nten");
        assert!(storage.copy_to("offsets/10", &path, Bytes(5)).is_err());
        assert!(!path.exists());
    });
}

#[test]
fn no_path_leaves_the_root() {
    both(|storage| {
        for path in ["../x", "/etc/passwd", "offsets/../../x", "offsets//0", "a\u{0}b"] {
            let error = storage.read(path, Bytes(100)).unwrap_err();
            assert!(matches!(error, StorageError::InvalidPath { .. }), "{path:?}: {error}");
            assert!(storage.list(path).is_err() && storage.stat(path).is_err());
            assert_eq!(storage.local_path(path), None);
        }
    });
}

#[test]
fn only_local_files_have_a_path() {
    let (dir, local) = local();
    assert!(local.is_local());
    assert_eq!(local.local_path("metadata"), Some(dir.path().join("ck/metadata")));
    assert_eq!(local.local_path("missing"), None);
    assert!(local.open_local("metadata").unwrap().is_some());
    let remote = remote();
    assert!(!remote.is_local());
    assert_eq!(remote.local_path("metadata"), None);
    assert!(remote.open_local("metadata").unwrap().is_none());
    assert_eq!(remote.workers().get(), 32);
}

#[test]
fn empty_and_missing_directories_differ_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let storage = Storage::open(dir.path().to_str().unwrap()).unwrap();
    assert_eq!(storage.list("").unwrap(), []);
    let missing = Storage::open(dir.path().join("x").to_str().unwrap()).unwrap();
    assert!(missing.list("").unwrap_err().is_not_found());
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn kind(storage: &Storage, dir: &str, name: &str) -> EntryKind {
        let listed = storage.list(dir).unwrap();
        let listed = listed.iter().find(|entry| entry.name == name).unwrap().kind;
        let named = storage.names(dir).unwrap();
        let named = named.iter().find(|entry| entry.name == name).unwrap().kind;
        assert_eq!(listed, named);
        listed
    }

    #[test]
    fn links_are_followed_only_inside_the_root() {
        let (dir, storage) = local();
        let root = dir.path().join("ck");
        fs::write(dir.path().join("secret"), "secret").unwrap();
        symlink(dir.path().join("secret"), root.join("offsets/1")).unwrap();
        symlink(dir.path(), root.join("commits")).unwrap();
        symlink("10", root.join("offsets/11")).unwrap();
        symlink("nowhere", root.join("offsets/12")).unwrap();
        assert_eq!(kind(&storage, "offsets", "1"), EntryKind::Other);
        assert_eq!(kind(&storage, "", "commits"), EntryKind::Other);
        assert_eq!(kind(&storage, "offsets", "11"), EntryKind::File);
        assert_eq!(kind(&storage, "offsets", "12"), EntryKind::Other);
        assert_eq!(storage.read("offsets/11", Bytes(100)).unwrap(), b"v1\nten");
        for outside in ["offsets/1", "commits/secret"] {
            let error = storage.read(outside, Bytes(100)).unwrap_err();
            assert!(matches!(error, StorageError::Outside { .. }), "{error}");
            assert_eq!(storage.local_path(outside), None);
        }
    }

    #[test]
    fn the_root_itself_may_be_a_link() {
        let (dir, _) = local();
        symlink(dir.path().join("ck"), dir.path().join("link")).unwrap();
        let storage = Storage::open(dir.path().join("link").to_str().unwrap()).unwrap();
        assert_eq!(storage.read("offsets/0", Bytes(9)).unwrap(), b"v1");
    }

    #[test]
    fn only_regular_files_are_read() {
        let (dir, storage) = local();
        let _socket = UnixListener::bind(dir.path().join("ck/offsets/5")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(dir.path().join("ck/offsets/6"))
            .status()
            .is_ok_and(|status| status.success());
        let special = if made { vec!["offsets/5", "offsets/6"] } else { vec!["offsets/5"] };
        for path in special {
            let error = storage.read(path, Bytes(100)).unwrap_err();
            assert!(matches!(error, StorageError::NotAFile { .. }), "{path}: {error}");
        }
        assert_eq!(kind(&storage, "offsets", "5"), EntryKind::Other);
    }

    #[test]
    fn names_that_make_no_path_are_listed_and_never_read() {
        let (dir, storage) = local();
        let offsets = dir.path().join("ck/offsets");
        fs::write(offsets.join("a\nb"), "").unwrap();
        fs::write(offsets.join(OsStr::from_bytes(b"\xff")), "").unwrap();
        assert_eq!(kind(&storage, "offsets", "a\nb"), EntryKind::Other);
        assert_eq!(kind(&storage, "offsets", "\u{fffd}"), EntryKind::Other);
    }
}

#[test]
fn a_directory_below_the_root_is_a_root_of_its_own() {
    both(|storage| {
        let offsets = storage.below("offsets").unwrap();
        assert_eq!(offsets.address(), format!("{}/offsets", storage.address()));
        assert_eq!(names_of(&offsets, ""), names_of(storage, "offsets"));
        assert_eq!(
            offsets.read("9", Bytes(10)).unwrap(),
            storage.read("offsets/9", Bytes(10)).unwrap()
        );
        assert_eq!(storage.below("").unwrap().address(), storage.address());
        assert!(storage.below("../x").is_err());
        assert!(!storage.is_link("offsets"));
    });
}
