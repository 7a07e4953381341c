//! What is remembered: when it is opened, what is added to it.

use super::super::effect::{Effect, Remember};
use super::super::msg::MemoryNews;
use super::super::state::{Keeping, State};
use crate::reader::Depth;

/// Something new was read: asks for the memory of the query, and adds to it.
pub(super) fn observed(state: &mut State) -> Vec<Effect> {
    let Some(data) = state.newest.clone() else { return Vec::new() };
    match &state.remembered.keeping {
        Keeping::Waiting => {
            // Nothing to tell queries apart by; said where it matters, for it is no fault.
            let Some(id) = data.inspect().query_id.clone() else { return Vec::new() };
            state.remembered.keeping = Keeping::Opening;
            vec![Effect::Remember(Remember::Open(id))]
        }
        Keeping::Adding => {
            let sample = state.sample().map(Remember::Add).into_iter();
            sample.chain(resizes(state)).map(Effect::Remember).collect()
        }
        Keeping::Off | Keeping::Opening | Keeping::ReadOnly(_) | Keeping::Failed(_) => Vec::new(),
    }
}

/// Repartitions that are done and not remembered.
fn resizes(state: &mut State) -> Option<Remember> {
    let newest = state.newest.as_ref()?;
    // It reads a lot: what the screens show comes first.
    if newest.depth() == Depth::Logs {
        return None;
    }
    let committed = newest.inspect().last_committed_batch?;
    let known = &state.remembered;
    let news: Vec<_> = state
        .resizes()?
        .into_iter()
        .filter(|batch| *batch <= committed && !known.asked.contains(batch))
        .filter(|batch| known.pauses.iter().all(|pause| pause.batch != *batch))
        .collect();
    if news.is_empty() {
        return None;
    }
    state.remembered.asked.extend(news);
    Some(Remember::Resizes)
}

/// The memory answers.
pub(super) fn answered(state: &mut State, news: MemoryNews) -> Vec<Effect> {
    let remembered = &mut state.remembered;
    match news {
        MemoryNews::Opened { samples, pauses, read_only } => {
            (remembered.samples, remembered.pauses) = (samples, pauses);
            remembered.keeping = match read_only {
                None => Keeping::Adding,
                Some(why) => Keeping::ReadOnly(why),
            };
        }
        MemoryNews::Added(sample) => remembered.add(sample),
        MemoryNews::Resizes(pauses) => remembered.pauses = pauses,
        MemoryNews::Failed(why) => remembered.keeping = Keeping::Failed(why),
    }
    if let Some((what, why)) = state.remembered.trouble() {
        state.notice = Some(format!("{what}: {why}"));
    }
    state.pauses.join(&state.remembered.pauses);
    state.dirty = true;
    match state.remembered.keeping {
        Keeping::Adding => observed_again(state),
        _ => Vec::new(),
    }
}

/// What was read before the memory was open is added now; a sample that was added is not again.
fn observed_again(state: &mut State) -> Vec<Effect> {
    if state.remembered.samples.last().map(|sample| sample.batch)
        == state.newest.as_ref().and_then(|data| data.batch())
    {
        return Vec::new();
    }
    observed(state)
}
