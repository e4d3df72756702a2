//! What others see of the mnestome: the owner's views, what syntd carries on, and what a planner is shown.

use metnos_proto::envelope::{Candidate, Known};
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{
    AgerProposal, AgerProposalList, AgerProposals, Gap, GapList, MAX_AGER_PROPOSALS, MAX_AGER_TEXT, MAX_GAPS, MAX_TAIL,
    MnestCount, MnestsWanted, PageOf,
};

use super::super::journal::{Answer, refused};
use super::super::owner_files::cut;
use super::super::views::Page;
use super::Usage;
use crate::mnestome::ager::Proposal;
use crate::tiers::envelope::MAX_CANDIDATES;

/// The most mnests that are shown at all on a channel.
const MAX_MNESTS: u64 = 10_000;

impl Usage {
    /// What the ager proposes; a fusion only of two that belong to one trace, as the traces are now.
    pub(in crate::memory) fn proposals(&self) -> Answer<Vec<Proposal>> {
        let mut kept = Vec::new();
        for one in self.mnestome.proposals()? {
            if one.kind == "fusion" && one.state == "open" && !self.in_one_trace(&one.mnest)? {
                continue;
            }
            kept.push(one);
        }
        Ok(kept)
    }

    fn in_one_trace(&self, id: &str) -> Answer<bool> {
        let Some(mnest) = self.mnestome.one(id)? else { return Ok(false) };
        let trace = |name: &str, version: &str| self.traces.of(name, version).map(|trace| trace.id.clone());
        let src = trace(&mnest.src_executor, &mnest.src_version);
        Ok(src.is_some() && src == trace(&mnest.dst_executor, mnest.dst_version.as_deref().unwrap_or("")))
    }

    /// The heaviest mnests, all or those that lead from one executor.
    pub(in crate::memory) fn heaviest(&self, wanted: &MnestsWanted) -> Answer<Page> {
        let limit = usize::try_from(wanted.lines.clamp(1, MAX_TAIL)).unwrap_or(usize::MAX);
        let mut page = Page::default();
        for mnest in self.mnestome.top(&wanted.from, limit)? {
            page.add(&mnest)?;
        }
        Ok(page)
    }

    /// A page of mnests, the heaviest first.
    pub(in crate::memory) fn page(&self, wanted: &PageOf) -> Answer<Page> {
        let mut page = Page::default();
        let end = wanted.from.min(MAX_MNESTS).saturating_add(wanted.lines.into());
        let all = self.mnestome.top("", usize::try_from(end + 1).unwrap_or(usize::MAX))?;
        for mnest in all.iter().skip(usize::try_from(wanted.from).unwrap_or(usize::MAX)).take(wanted.lines as usize) {
            page.add(mnest)?;
        }
        page.next = if all.len() as u64 > end && end <= MAX_MNESTS { end } else { 0 };
        Ok(page)
    }

    /// What was wished for and does not exist.
    ///
    /// # Errors
    /// When the mnestome cannot be read.
    pub(in crate::memory) fn gaps(&self) -> Answer<GapList> {
        let wishes = self.mnestome.wishes(MAX_GAPS)?;
        let gap = |wish: crate::mnestome::graph::Wish| Gap {
            wish: wish.text,
            times: u32::try_from(wish.times).unwrap_or(u32::MAX),
        };
        Ok(GapList { gaps: wishes.into_iter().map(gap).collect() })
    }

    /// What the ager proposes and is not settled, a page at a time. Two executors are proposed to become one
    /// only as long as they belong to one trace (design: memory §2).
    ///
    /// # Errors
    /// When the mnestome cannot be read.
    pub(in crate::memory) fn ager_proposals(&self, word: &AgerProposals) -> Answer<AgerProposalList> {
        let mut after = (word.after_seq, word.after_id.clone());
        let mut proposals = Vec::new();
        loop {
            let open = self.mnestome.open_proposals((after.0, &after.1), MAX_AGER_PROPOSALS)?;
            let Some((last, _)) = open.last() else { return Ok(AgerProposalList { proposals, more: false }) };
            after = (last.seq, last.id.clone());
            for (one, [src, dst]) in open {
                if one.kind == "fusion" && !self.traces.share(&src, &dst) {
                    continue;
                }
                if proposals.len() == MAX_AGER_PROPOSALS {
                    return Ok(AgerProposalList { proposals, more: true });
                }
                proposals.push(AgerProposal {
                    seq: one.seq,
                    id: one.id,
                    kind: one.kind,
                    mnest: one.mnest,
                    src: cut(src, MAX_AGER_TEXT),
                    dst: cut(dst, MAX_AGER_TEXT),
                    why: cut(one.why, MAX_AGER_TEXT),
                });
            }
        }
    }

    /// Every mnest, as a JSON array.
    ///
    /// # Errors
    /// When the mnestome cannot be read.
    pub(in crate::memory) fn mnests(&self) -> Answer<(MnestCount, Vec<u8>)> {
        let mnests = self.mnestome.list()?;
        let bytes = serde_json::to_vec(&mnests)
            .map_err(|error| refused(RefusalCode::Internal, "mnests.format", error.to_string()))?;
        Ok((MnestCount { mnests: u32::try_from(mnests.len()).unwrap_or(u32::MAX) }, bytes))
    }

    /// The mnests between executors that are shown.
    pub(in crate::memory) fn between(&self, candidates: &[Candidate]) -> Answer<Vec<Known>> {
        let mut known = Vec::new();
        for from in candidates {
            for one in self.mnestome.neighbours(&from.name, &from.version, MAX_CANDIDATES)? {
                if candidates.iter().any(|to| to.name == one.name && to.version == one.version) {
                    known.push(Known { from: from.name.clone(), to: one.name, weight: one.weight });
                }
            }
        }
        Ok(known)
    }
}
