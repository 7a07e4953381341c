//! Which relative paths are accepted: those that cannot leave the root they are joined to.

use super::StorageError;

/// Whether `name` can be one segment of a path: not empty, not `.` or `..`, and without
/// separators or control characters.
pub fn is_plain_name(name: &str) -> bool {
    problem(name).is_none()
}

/// Checks that `path` is `""` (the root) or plain names joined by `/`.
pub(super) fn check(path: &str) -> Result<(), StorageError> {
    if path.is_empty() {
        return Ok(());
    }
    match path.split('/').find_map(problem) {
        None => Ok(()),
        Some(reason) => Err(StorageError::InvalidPath { path: path.to_owned(), reason }),
    }
}

fn problem(segment: &str) -> Option<&'static str> {
    match segment {
        "" => Some("it is absolute or has an empty segment"),
        "." | ".." => Some("it has a `.` or `..` segment"),
        // A backslash separates on Windows, where a colon also starts a drive or a stream.
        _ if segment.contains(['/', '\\']) => Some("it has a separator inside a name"),
        _ if cfg!(windows) && segment.contains(':') => Some("it has a colon"),
        _ if segment.contains(char::is_control) => Some("it has a control character"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_stay_inside_are_accepted() {
        for good in ["", "metadata", "state/0/1/12_a-b.zip", ".hidden", "a..b", "x=1%20y"] {
            assert!(check(good).is_ok(), "{good:?}");
        }
        for bad in ["/etc/passwd", "a//b", "a/", "..", "a/../b", "./a", "a\\b", "a\nb", "\0"] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        assert!(!is_plain_name("a/b"));
    }
}
