//! Pages of documents, one a line: what the owner looks at in the chronicle, and what others see of it. Each reads a bounded
//! part and says where to go on; nothing is changed by it.

pub(super) mod exchanges;
pub(super) mod lines;
pub(super) mod outlines;
pub(super) mod sealed;

use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{PageOf, QueryResult};
use serde::Serialize;

use super::journal::{Answer, refused};
use crate::chronicle::Chronicle;
use crate::chronicle::index::IndexRow;

/// The most bytes of lines on one page; the newest that fit, and at least one.
pub const MAX_PAGE_BYTES: usize = 8 * 1024 * 1024;

/// How many rows of the index are read at once.
const ROWS: u32 = 256;

/// Documents, one a line, and where to go on.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: Vec<u8>,
    lines: u32,
    pub(super) next: u64,
}

impl Page {
    /// The answer, and the documents beside it.
    pub(super) fn answer(self) -> (QueryResult, Vec<u8>) {
        (QueryResult { lines: self.lines, next: self.next }, self.text)
    }

    /// Adds one document.
    pub(super) fn add(&mut self, document: &impl Serialize) -> Answer<()> {
        serde_json::to_writer(&mut self.text, document)
            .map_err(|error| refused(RefusalCode::Internal, "look.format", error.to_string()))?;
        self.end_line();
        Ok(())
    }

    fn add_line(&mut self, line: &[u8]) {
        self.text.extend_from_slice(line);
        self.end_line();
    }

    fn end_line(&mut self) {
        self.text.push(b'\n');
        self.lines += 1;
    }

    fn has_room_for(&self, bytes: u64) -> bool {
        self.lines == 0 || self.text.len() as u64 + bytes <= MAX_PAGE_BYTES as u64
    }
}

/// A page of what `shown` makes of the lines of the chronicle, the newest first; of at most `most` rows of the index, so that nobody
/// waits for a page on which little is somebody's.
///
/// # Errors
/// When the chronicle cannot be read.
fn newest_first<T: Serialize>(
    chronicle: &Chronicle,
    wanted: &PageOf,
    most: u32,
    mut shown: impl FnMut(&IndexRow) -> Answer<Option<T>>,
) -> Answer<Page> {
    let mut page = Page::default();
    let mut before = if wanted.from == 0 { u64::MAX } else { wanted.from };
    let mut left = most;
    loop {
        let rows = chronicle.index().rows_before(before, ROWS)?;
        let Some(last) = rows.last().map(|row| row.seq) else { return Ok(page) };
        for row in &rows {
            if page.lines == wanted.lines || !page.has_room_for(row.place.bytes) {
                page.next = row.seq + 1;
                return Ok(page);
            }
            if let Some(document) = shown(row)? {
                page.add(&document)?;
            }
        }
        before = last;
        left = left.saturating_sub(ROWS);
        if left == 0 {
            page.next = before;
            return Ok(page);
        }
    }
}

/// A page of all these documents.
pub(super) fn list(documents: Vec<impl Serialize>) -> Answer<Page> {
    let mut page = Page::default();
    documents.iter().try_for_each(|document| page.add(document))?;
    Ok(page)
}
