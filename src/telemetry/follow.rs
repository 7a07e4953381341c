//! The bytes of files and pipes, as they come: read on threads of their own, into bounded queues.
//!
//! A file may be followed beyond its end: while it grows, through being cut (`copytruncate`) and
//! replaced (rotated), and before it is there at all. It is looked at a few times a second, since
//! not every file system tells of changes. Must not know what the bytes are.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::task::Cancel;

/// Bytes read at once.
const CHUNK: usize = 64 << 10;
/// Chunks that may wait to be taken.
const QUEUE: usize = 16;
/// Time between two looks at a file that does not grow.
const PAUSE: Duration = Duration::from_millis(200);

/// How long a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Until {
    /// To its present end.
    #[default]
    End,
    /// Until the reader is cancelled.
    Cancelled,
}

/// What reading gives.
#[derive(Debug)]
pub enum Chunk {
    /// The next bytes.
    Bytes(Vec<u8>),
    /// What follows is read from the start of a file: the one before was cut or replaced. The
    /// text says which.
    Again(&'static str),
    /// Nothing can be read for now, which is tried again: why.
    Waiting(String),
    /// Nothing more can be read.
    Failed(io::Error),
}

/// Whoever takes the chunks is gone.
struct Gone;

/// Reads a file. The queue ends when the file does (for [`Until::End`]), or soon after `cancel`.
pub fn file(path: PathBuf, until: Until, cancel: Cancel) -> Receiver<Chunk> {
    let (sender, chunks) = bounded(QUEUE);
    thread::spawn(move || {
        let follower = Follower { path, cancel, sender, file: None, mark: None, told: false };
        // The error says that nobody waits for the rest.
        let _ = match until {
            Until::End => follower.once(),
            Until::Cancelled => follower.follow(),
        };
    });
    chunks
}

/// Reads what `open` gives, to its end. Opening a pipe may take as long as reading it, so that
/// both happen on the thread.
pub fn reader<R: Read>(
    open: impl FnOnce() -> io::Result<R> + Send + 'static,
    cancel: Cancel,
) -> Receiver<Chunk> {
    let (sender, chunks) = bounded(QUEUE);
    thread::spawn(move || {
        let read = open().map(|mut reader| drain(&mut reader, &cancel, &sender));
        if let Ok(Ok(Err(error))) | Err(error) = read {
            let _ = sender.send(Chunk::Failed(error));
        }
    });
    chunks
}

/// Reads to the end and says how many bytes there were, or what failed.
fn drain(
    reader: &mut impl Read,
    cancel: &Cancel,
    sender: &Sender<Chunk>,
) -> Result<io::Result<u64>, Gone> {
    let mut buffer = vec![0; CHUNK];
    let mut total = 0;
    while !cancel.is_cancelled() {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                let bytes = buffer.get(..read).unwrap_or_default().to_vec();
                sender.send(Chunk::Bytes(bytes)).map_err(|_| Gone)?;
                total += read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(total))
}

/// A file in reading.
struct Follower {
    path: PathBuf,
    cancel: Cancel,
    sender: Sender<Chunk>,
    /// The file, as long as it can be read.
    file: Option<File>,
    /// How far it was read.
    mark: Option<Mark>,
    /// Whether it was told that the file cannot be read.
    told: bool,
}

/// A place in a file.
#[derive(Debug, Clone, Copy)]
struct Mark {
    id: FileId,
    offset: u64,
}

/// What a file is, whatever its name: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

impl FileId {
    fn of(metadata: &Metadata) -> Self {
        Self(metadata.dev(), metadata.ino())
    }
}

impl Follower {
    /// Reads the file once.
    fn once(self) -> Result<(), Gone> {
        let read = match File::open(&self.path) {
            Ok(mut file) => drain(&mut file, &self.cancel, &self.sender)?.map(|_| ()),
            Err(error) => Err(error),
        };
        match read {
            Ok(()) => Ok(()),
            Err(error) => self.send(Chunk::Failed(error)),
        }
    }

    /// Reads the file, whatever becomes of it, until cancelled.
    fn follow(mut self) -> Result<(), Gone> {
        loop {
            if self.file.is_none() {
                self.open()?;
            }
            self.read_on()?;
            if self.has_changed()? {
                // The last that was written before it was replaced.
                self.read_on()?;
                self.file = None;
            } else if self.cancel.sleep(PAUSE).is_err() {
                return Ok(());
            }
        }
    }

    /// Opens the file where it was left, or from its start when it is no longer the same.
    fn open(&mut self) -> Result<(), Gone> {
        let opened = File::open(&self.path).and_then(|mut file| {
            let metadata = file.metadata()?;
            let id = FileId::of(&metadata);
            let again = self.mark.and_then(|mark| mark.is_gone(&metadata));
            let offset = self.mark.filter(|_| again.is_none()).map_or(0, |mark| mark.offset);
            file.seek(SeekFrom::Start(offset))?;
            Ok((file, Mark { id, offset }, again))
        });
        match opened {
            Ok((file, mark, again)) => {
                (self.file, self.mark, self.told) = (Some(file), Some(mark), false);
                again.map_or(Ok(()), |why| self.send(Chunk::Again(why)))
            }
            Err(error) => self.wait(&error),
        }
    }

    /// Reads to the present end.
    fn read_on(&mut self) -> Result<(), Gone> {
        let (Some(file), Some(mark)) = (&mut self.file, &mut self.mark) else { return Ok(()) };
        match drain(file, &self.cancel, &self.sender)? {
            Ok(read) => {
                mark.offset += read;
                Ok(())
            }
            Err(error) => {
                // What was read before the error is known to the file alone.
                mark.offset = file.stream_position().unwrap_or(mark.offset);
                self.file = None;
                self.wait(&error)
            }
        }
    }

    /// Whether the name now stands for another file, or for less of the same.
    fn has_changed(&mut self) -> Result<bool, Gone> {
        let (Some(_), Some(mark)) = (&self.file, self.mark) else { return Ok(false) };
        match std::fs::metadata(&self.path) {
            Ok(metadata) => {
                self.told = false;
                Ok(mark.is_gone(&metadata).is_some())
            }
            // Its writer may go on, under another name or none.
            Err(error) => self.wait(&error).map(|()| false),
        }
    }

    /// Tells once that the file cannot be read.
    fn wait(&mut self, error: &io::Error) -> Result<(), Gone> {
        if std::mem::replace(&mut self.told, true) {
            return Ok(());
        }
        self.send(Chunk::Waiting(match (error.kind(), self.mark) {
            (ErrorKind::NotFound, None) => "is not there yet; waiting for it".to_owned(),
            (ErrorKind::NotFound, Some(_)) => "is gone; waiting for it to come back".to_owned(),
            _ => format!("cannot be read now, which is tried again: {error}"),
        }))
    }

    fn send(&self, chunk: Chunk) -> Result<(), Gone> {
        self.sender.send(chunk).map_err(|_| Gone)
    }
}

impl Mark {
    /// Why a file does not go on from this place, if it does not.
    fn is_gone(self, now: &Metadata) -> Option<&'static str> {
        if FileId::of(now) != self.id {
            Some("was replaced by another file, which is read from its start")
        } else if now.len() < self.offset {
            Some("was cut, and is read from its start again")
        } else {
            None
        }
    }
}

/// Whether a path is a pipe or a device: read once, as it comes.
pub(super) fn is_stream(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// The bytes of a queue up to as many as expected, and what else came.
    fn take(chunks: &Receiver<Chunk>, expected: &str) -> Vec<String> {
        let (mut text, mut told) = (String::new(), Vec::new());
        while text.len() < expected.len() {
            match chunks.recv_timeout(PATIENCE).unwrap() {
                Chunk::Bytes(bytes) => text.push_str(std::str::from_utf8(&bytes).unwrap()),
                Chunk::Again(why) => told.push(why.to_owned()),
                Chunk::Waiting(why) => told.push(why),
                Chunk::Failed(error) => panic!("{error}"),
            }
        }
        assert_eq!(text, expected);
        told
    }

    fn append(path: &Path, text: &str) {
        File::options().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn a_file_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let text = "x".repeat(CHUNK * 2 + 7);
        fs::write(&path, &text).unwrap();
        let chunks = file(path, Until::End, Cancel::default());
        assert!(take(&chunks, &text).is_empty());
        assert!(chunks.recv_timeout(PATIENCE).is_err(), "and that is all");
    }

    #[test]
    fn a_file_that_is_not_there_fails_unless_it_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let chunks = file(path.clone(), Until::End, Cancel::default());
        let Chunk::Failed(error) = chunks.recv_timeout(PATIENCE).unwrap() else { panic!("fails") };
        assert_eq!(error.kind(), ErrorKind::NotFound);

        let chunks = file(path.clone(), Until::Cancelled, Cancel::default());
        let Chunk::Waiting(_) = chunks.recv_timeout(PATIENCE).unwrap() else { panic!("waits") };
        fs::write(&path, "hello").unwrap();
        assert!(take(&chunks, "hello").is_empty());
    }

    #[test]
    fn a_file_is_followed_through_everything() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        fs::write(&path, "one\n").unwrap();
        let cancel = Cancel::default();
        let chunks = file(path.clone(), Until::Cancelled, cancel.clone());
        assert!(take(&chunks, "one\n").is_empty());
        append(&path, "two\n");
        assert!(take(&chunks, "two\n").is_empty());

        let rotated = folder.path().join("a.log.1");
        fs::rename(&path, &rotated).unwrap();
        append(&rotated, "three\n");
        fs::write(&path, "four\n").unwrap();
        let told = take(&chunks, "three\nfour\n");
        assert!(told.last().unwrap().starts_with("was replaced"), "{told:?}");

        File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        let Chunk::Again(why) = chunks.recv_timeout(PATIENCE).unwrap() else { panic!("again") };
        assert!(why.starts_with("was cut"));
        append(&path, "five\n");
        assert!(take(&chunks, "five\n").is_empty());

        fs::remove_file(&path).unwrap();
        let Chunk::Waiting(why) = chunks.recv_timeout(PATIENCE).unwrap() else { panic!("waits") };
        assert!(why.starts_with("is gone"));
        fs::write(&path, "six\n").unwrap();
        let told = take(&chunks, "six\n");
        assert!(told.last().unwrap().starts_with("was replaced"), "{told:?}");

        cancel.cancel();
        assert!(chunks.recv_timeout(PATIENCE).is_err(), "cancelled");
    }

    #[test]
    fn a_reader_is_read_to_its_end_or_fault() {
        let chunks = reader(|| Ok(io::Cursor::new("abc")), Cancel::default());
        assert!(take(&chunks, "abc").is_empty());
        assert!(chunks.recv_timeout(PATIENCE).is_err());
        let failing = || Err::<io::Empty, _>(io::Error::other("no"));
        let chunks = reader(failing, Cancel::default());
        assert!(matches!(chunks.recv_timeout(PATIENCE), Ok(Chunk::Failed(_))));
    }
}
