//! The files behind the memory: names, locks, torn lines, bounds.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::thin::thinned;
use super::{Record, Sample};
use crate::analysis::pauses::{Pause, merge};
use crate::units::UnixMillis;

/// A file that outgrows this is thinned.
const BOUND: u64 = 4 << 20;
/// Lines longer than this are not ours.
const LONGEST_LINE: u64 = 64 << 10;
/// The least time between two samples, in milliseconds.
const SAMPLE_EVERY: u64 = 10_000;

/// Why something cannot be remembered or read.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The query's id cannot be a file's name.
    #[error(
        "nothing is kept for query id {0:?}: it is no UUID, as Spark writes it into `metadata`"
    )]
    BadId(String),
    /// Another console writes.
    #[error("{}: another statetop is writing here", .0.display())]
    Locked(PathBuf),
    /// No home directory, and no `STATETOP_DATA_DIR`.
    #[error("there is no data directory: set HOME or STATETOP_DATA_DIR")]
    NoDirectory,
    /// The system's answer about a file.
    #[error("{}: {error}", .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
}

/// Where statetop keeps what it remembers: `STATETOP_DATA_DIR`, else the data directory of the
/// platform (`~/.local/share/statetop` on Linux, or below `XDG_DATA_HOME`).
///
/// # Errors
/// When there is neither.
pub fn directory() -> Result<PathBuf, MemoryError> {
    if let Some(chosen) = std::env::var_os("STATETOP_DATA_DIR").filter(|dir| !dir.is_empty()) {
        return Ok(PathBuf::from(chosen));
    }
    let dirs = directories::ProjectDirs::from("", "", "statetop");
    dirs.map(|dirs| dirs.data_dir().to_owned()).ok_or(MemoryError::NoDirectory)
}

/// What is remembered of one query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    path: PathBuf,
}

/// What a file held.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Remembered {
    /// The records, oldest first.
    pub records: Vec<Record>,
    /// Lines that say nothing to this version: torn, damaged, or of a newer one.
    pub skipped: u64,
}

impl Remembered {
    /// The samples, oldest first.
    pub fn samples(&self) -> Vec<Sample> {
        self.records.iter().filter_map(sample).collect()
    }

    /// The repartitions, each once, oldest first.
    pub fn pauses(&self) -> Vec<Pause> {
        let pauses = self.records.iter().filter_map(|record| match record {
            Record::Repartition(pause) => Some(pause.clone()),
            Record::Sample(_) => None,
        });
        merge(pauses)
    }
}

impl Memory {
    /// The memory of the query with that id, in a data directory. Nothing is created.
    ///
    /// # Errors
    /// When the id is none that Spark writes.
    pub fn of(directory: &Path, query_id: &str) -> Result<Self, MemoryError> {
        if !is_uuid(query_id) {
            return Err(MemoryError::BadId(query_id.chars().take(80).collect()));
        }
        let name = format!("{}.jsonl", query_id.to_ascii_lowercase());
        Ok(Self { path: directory.join("queries").join(name) })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything that is remembered; nothing when there is no file.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn read(&self) -> Result<Remembered, MemoryError> {
        match File::open(&self.path) {
            Ok(file) => remembered(file).map_err(|error| self.failed(error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Remembered::default()),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Takes the file for writing, until the writer is dropped. Thins it when it is too large.
    ///
    /// # Errors
    /// [`MemoryError::Locked`] while another has it; else when it cannot be made or read.
    pub fn writer(&self, now: UnixMillis) -> Result<Writer, MemoryError> {
        let parent = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(|error| self.failed(error))?;
        let lock = self.path.with_extension("lock");
        let open = OpenOptions::new().create(true).truncate(false).write(true).open(&lock);
        let lock = open.map_err(|error| MemoryError::Io { path: lock, error })?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(MemoryError::Locked(self.path.clone())),
            Err(TryLockError::Error(error)) => return Err(self.failed(error)),
        }
        self.thin(now).map_err(|error| self.failed(error))?;
        let file = self.append().map_err(|error| self.failed(error))?;
        let last = self.read()?.records.iter().rev().find_map(sample);
        Ok(Writer { memory: self.clone(), file, last, _lock: lock })
    }

    /// Removes what is remembered. Whether there was anything.
    ///
    /// # Errors
    /// [`MemoryError::Locked`] while a console writes; else when the file cannot be removed.
    pub fn forget(&self, now: UnixMillis) -> Result<bool, MemoryError> {
        if !self.path.exists() {
            return Ok(false);
        }
        let _writer = self.writer(now)?;
        fs::remove_file(&self.path).map_err(|error| self.failed(error))?;
        // Removed while it is held: whoever waits for it makes a new one.
        let _ = fs::remove_file(self.path.with_extension("lock"));
        Ok(true)
    }

    /// Opens the file at its end, on a new line.
    fn append(&self) -> io::Result<File> {
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(&self.path)?;
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        Ok(file)
    }

    /// Writes the file anew with fewer samples, when it is too large.
    fn thin(&self, now: UnixMillis) -> io::Result<()> {
        match fs::metadata(&self.path) {
            Ok(metadata) if metadata.len() > BOUND => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        let records = thinned(remembered(File::open(&self.path)?)?.records, now);
        let parent = self.path.parent().unwrap_or(Path::new("."));
        let mut fresh = tempfile::NamedTempFile::new_in(parent)?;
        for record in &records {
            serde_json::to_writer(&mut fresh, record)?;
            fresh.write_all(b"\n")?;
        }
        fresh.as_file().sync_all()?;
        fresh.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }

    fn failed(&self, error: io::Error) -> MemoryError {
        MemoryError::Io { path: self.path.clone(), error }
    }
}

/// The one who may add to a memory.
#[derive(Debug)]
pub struct Writer {
    memory: Memory,
    file: File,
    last: Option<Sample>,
    _lock: File,
}

impl Writer {
    /// Adds a sample, unless the last one is of the same batch or too near. Whether it was added.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn sample(&mut self, sample: Sample) -> Result<bool, MemoryError> {
        let news = self.last.is_none_or(|last| {
            let moved = sample.batch != last.batch || sample.partitions != last.partitions;
            let set_back = sample.at < last.at;
            moved && (set_back || last.at.until(sample.at) >= SAMPLE_EVERY)
        });
        if news {
            self.add(&Record::Sample(sample))?;
            self.last = Some(sample);
        }
        Ok(news)
    }

    /// Adds a record and has it written to the disk.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, record: &Record) -> Result<(), MemoryError> {
        let line = serde_json::to_vec(record).map_err(io::Error::from);
        let written = line.and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)?;
            self.file.sync_data()
        });
        written.map_err(|error| self.memory.failed(error))
    }
}

fn sample(record: &Record) -> Option<Sample> {
    match record {
        Record::Sample(sample) => Some(*sample),
        Record::Repartition(_) => None,
    }
}

fn remembered(file: File) -> io::Result<Remembered> {
    let mut reader = BufReader::new(file);
    let mut found = Remembered::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(found);
        }
        match serde_json::from_slice(&line) {
            Ok(record) => found.records.push(record),
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(_) => found.skipped += 1,
        }
    }
}

fn is_uuid(id: &str) -> bool {
    let groups: Vec<&str> = id.split('-').collect();
    let hexadecimal = |group: &&str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]) && groups.iter().all(hexadecimal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::BatchId;

    const ID: &str = "11111111-2222-4333-8444-555555555501";

    fn at(second: i64, batch: u64) -> Sample {
        Sample {
            at: UnixMillis(second * 1000),
            batch: BatchId(batch),
            rows: Some(3),
            bytes: None,
            partitions: Some(5),
            batch_ms: None,
            max_over_mean: Some(1.5),
        }
    }

    fn memory() -> (tempfile::TempDir, Memory) {
        let dir = tempfile::tempdir().unwrap();
        let memory = Memory::of(dir.path(), ID).unwrap();
        (dir, memory)
    }

    #[test]
    fn what_is_added_is_remembered() {
        let (_dir, memory) = memory();
        assert_eq!(memory.read().unwrap(), Remembered::default());
        let mut writer = memory.writer(UnixMillis(0)).unwrap();
        assert!(writer.sample(at(0, 1)).unwrap());
        assert!(!writer.sample(at(60, 1)).unwrap(), "the same batch");
        assert!(!writer.sample(at(9, 2)).unwrap(), "too near");
        assert!(writer.sample(at(10, 2)).unwrap());
        let pause = Record::Repartition(Pause::of(BatchId(3)));
        writer.add(&pause).unwrap();
        let all = vec![Record::Sample(at(0, 1)), Record::Sample(at(10, 2)), pause];
        assert_eq!(memory.read().unwrap(), Remembered { records: all, skipped: 0 });
    }

    #[test]
    fn only_one_writes() {
        let (_dir, memory) = memory();
        let writer = memory.writer(UnixMillis(0)).unwrap();
        assert!(matches!(memory.writer(UnixMillis(0)), Err(MemoryError::Locked(_))));
        drop(writer);
        assert!(memory.writer(UnixMillis(0)).is_ok());
    }

    #[test]
    fn a_torn_line_costs_itself_only() {
        let (_dir, memory) = memory();
        memory.writer(UnixMillis(0)).unwrap().sample(at(0, 1)).unwrap();
        let mut file = OpenOptions::new().append(true).open(memory.path()).unwrap();
        file.write_all(br#"{"kind":"sample","at":12"#).unwrap();
        memory.writer(UnixMillis(0)).unwrap().sample(at(60, 2)).unwrap();
        let found = memory.read().unwrap();
        let all = vec![Record::Sample(at(0, 1)), Record::Sample(at(60, 2))];
        assert_eq!(found, Remembered { records: all, skipped: 1 });
    }

    #[test]
    fn a_file_that_is_too_large_is_thinned() {
        let (_dir, memory) = memory();
        memory.writer(UnixMillis(0)).unwrap();
        let mut file = OpenOptions::new().append(true).open(memory.path()).unwrap();
        let mut batch = 0;
        while file.metadata().unwrap().len() <= BOUND {
            let mut lines = Vec::new();
            for _ in 0..10_000 {
                serde_json::to_writer(&mut lines, &Record::Sample(at(batch, 7))).unwrap();
                lines.push(b'\n');
                batch += 1;
            }
            file.write_all(&lines).unwrap();
        }
        // One a second; all of them today: one a minute remains.
        memory.writer(UnixMillis(batch * 1000)).unwrap();
        let kept = memory.read().unwrap().records.len();
        assert_eq!(kept, usize::try_from(batch).unwrap().div_ceil(60));
    }

    #[test]
    fn an_id_that_is_no_uuid_names_no_file() {
        for id in ["", "../../etc/passwd", "11111111-2222-4333-8444-55555555550g", "1-2-3-4-5"] {
            assert!(matches!(Memory::of(Path::new("/x"), id), Err(MemoryError::BadId(_))), "{id}");
        }
    }

    #[test]
    fn what_is_forgotten_is_gone() {
        let (dir, memory) = memory();
        assert!(!memory.forget(UnixMillis(0)).unwrap());
        memory.writer(UnixMillis(0)).unwrap().sample(at(0, 1)).unwrap();
        assert!(memory.forget(UnixMillis(0)).unwrap());
        assert_eq!(fs::read_dir(dir.path().join("queries")).unwrap().count(), 0);
    }
}
