//! Work done by several threads whose output comes out in the order of the jobs, with bounded
//! memory: a thread that is far ahead waits.

use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::ReadError;
use crate::task::Cancel;

/// Bytes of a chunk that is passed on.
const CHUNK: usize = 128 << 10;
/// Chunks of one job that may wait.
const WAITING: usize = 16;

/// Rows of bytes.
struct Chunk {
    bytes: Vec<u8>,
    /// Where each row ends in `bytes`.
    ends: Vec<usize>,
}

/// Takes the rows of one job.
pub(super) struct Chunks<'a> {
    to: &'a Sender<Chunk>,
    chunk: Chunk,
    rows: u64,
    limit: Option<u64>,
}

impl Chunks<'_> {
    /// Appends a row. Breaks when nobody wants more.
    pub(super) fn row(&mut self, push: impl FnOnce(&mut Vec<u8>)) -> ControlFlow<()> {
        push(&mut self.chunk.bytes);
        self.chunk.ends.push(self.chunk.bytes.len());
        self.rows += 1;
        let enough = self.limit.is_some_and(|limit| self.rows >= limit);
        if self.chunk.bytes.len() >= CHUNK { self.pass_on() } else { ControlFlow::Continue(()) }?;
        if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn pass_on(&mut self) -> ControlFlow<()> {
        let next = Chunk { bytes: Vec::with_capacity(CHUNK + CHUNK / 8), ends: Vec::new() };
        let full = std::mem::replace(&mut self.chunk, next);
        if full.ends.is_empty() || self.to.send(full).is_ok() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

/// Does `work` for every job on `workers` threads and passes the rows to `out` in order, `limit`
/// of them at most. Returns how many.
pub(super) fn run<J: Sync>(
    jobs: &[J],
    workers: NonZeroUsize,
    cancel: &Cancel,
    limit: Option<u64>,
    work: impl Fn(&J, &mut Chunks<'_>) + Sync,
    out: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<u64, ReadError> {
    let next = AtomicUsize::new(0);
    let (senders, receivers): (Vec<Sender<Chunk>>, Vec<Receiver<Chunk>>) =
        jobs.iter().map(|_| bounded(WAITING)).unzip();
    // Each worker drops its end when a job is done, so that the receiver sees the end.
    let senders: Vec<_> = senders.into_iter().map(|to| std::sync::Mutex::new(Some(to))).collect();
    let worker = || {
        while !cancel.is_cancelled() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some(job), Some(slot)) = (jobs.get(index), senders.get(index)) else { break };
            let to = slot.lock().ok().and_then(|mut slot| slot.take());
            let Some(to) = to else { break };
            let chunk = Chunk { bytes: Vec::new(), ends: Vec::new() };
            let mut chunks = Chunks { to: &to, chunk, rows: 0, limit };
            work(job, &mut chunks);
            if chunks.pass_on().is_break() {
                break;
            }
        }
        // Jobs that nobody will take any more must not be waited for.
        if cancel.is_cancelled() {
            for slot in &senders {
                if let Ok(mut slot) = slot.lock() {
                    slot.take();
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..workers.get().min(jobs.len()) {
            scope.spawn(worker);
        }
        let written = drain(receivers, limit, out);
        // Whoever still works finds its receiver gone.
        next.store(jobs.len(), Ordering::Relaxed);
        written
    })
}

fn drain(
    receivers: Vec<Receiver<Chunk>>,
    limit: Option<u64>,
    out: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<u64, ReadError> {
    let mut rows = 0_u64;
    for receiver in receivers {
        for chunk in receiver {
            let left = limit.map_or(u64::MAX, |limit| limit - rows);
            let fitting = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.ends.len());
            let end = fitting.checked_sub(1).and_then(|last| chunk.ends.get(last)).copied();
            let bytes = chunk.bytes.get(..end.unwrap_or(0)).unwrap_or_default();
            out(bytes).map_err(ReadError::Output)?;
            rows += fitting as u64;
        }
        if limit.is_some_and(|limit| rows >= limit) {
            break;
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(limit: Option<u64>) -> (u64, Vec<u8>) {
        let jobs: Vec<u8> = (0..50).collect();
        let mut text = Vec::new();
        let three = NonZeroUsize::new(3).unwrap();
        let work = |job: &u8, chunks: &mut Chunks<'_>| {
            for _ in 0..10_000 {
                if chunks.row(|bytes| bytes.extend([*job; 4])).is_break() {
                    return;
                }
            }
        };
        let out = &mut |bytes: &[u8]| {
            text.extend_from_slice(bytes);
            Ok(())
        };
        let rows = run(&jobs, three, &Cancel::default(), limit, work, out).unwrap();
        (rows, text)
    }

    #[test]
    fn rows_come_in_the_order_of_the_jobs() {
        let (rows, text) = collect(None);
        assert_eq!((rows, text.len()), (500_000, 2_000_000));
        assert!(text.is_sorted());
    }

    #[test]
    fn a_limit_cuts_between_rows_and_ends_the_work() {
        for limit in [0, 1, 9_999, 10_000, 10_001, 123_456] {
            let (rows, text) = collect(Some(limit));
            assert_eq!((rows, text.len() as u64), (limit, limit * 4));
        }
    }

    #[test]
    fn a_closed_output_ends_the_work() {
        let jobs = [0_u8; 20];
        let work = |_: &u8, chunks: &mut Chunks<'_>| {
            while chunks.row(|bytes| bytes.push(1)).is_continue() {}
        };
        let out = &mut |_: &[u8]| Err(io::Error::from(io::ErrorKind::BrokenPipe));
        let ended = run(&jobs, NonZeroUsize::MIN, &Cancel::default(), None, work, out);
        assert!(matches!(ended, Err(ReadError::Output(_))));
    }
}
