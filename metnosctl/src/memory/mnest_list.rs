//! `mnest top|show|graph|proposals|snapshots` and what the owner decides about mnests: as memoryd reports it, drawn here.

use std::collections::BTreeMap;
use std::fmt::Write;

use metnos_proto::doc::mnestome::{Mnest, MnestProposal, MnestomeSnapshot};
use metnos_proto::edges::CtlMemoryd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::memoryd::{MnestsWanted, OwnersAct, Query};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::audit::documents;
use crate::audit::search::page;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::json_constant::ConstTrue;
use crate::screen::Screen;
use crate::screen::human::{ago, now_ms, shortened, show_object};
use crate::screen::table::{Table, cell};

/// The most mnests that a picture shows: beyond that it is no picture.
pub const MAX_DRAWN: u32 = 200;
/// The most characters of a reason in a table.
const MAX_CELL: usize = 60;

fn unreadable(why: impl ToString) -> CtlError {
    CtlError::failed("the mnests", why, "look at `metnosctl doctor`")
}

/// All documents of a look.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn all<T: DeserializeOwned>(reach: &mut Connection, look: Query) -> Result<Vec<T>, CtlError> {
    let (bytes, _) = page(reach, look)?;
    documents(&bytes).map_err(unreadable)
}

/// The heaviest mnests, all or those that lead from one executor.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn heaviest(reach: &mut Connection, from: &str, lines: u32) -> Result<Vec<Mnest>, CtlError> {
    all(reach, Query::Mnests(MnestsWanted { from: from.to_owned(), lines }))
}

/// The one mnest whose name ends like this.
///
/// # Errors
/// When there is none or more than one, or memoryd cannot be reached.
pub fn one(reach: &mut Connection, end: &str) -> Result<Mnest, CtlError> {
    let mnests = heaviest(reach, "", metnos_proto::msg::memoryd::MAX_TAIL)?;
    let mut fitting = mnests.into_iter().filter(|one| !end.is_empty() && one.id.ends_with(end));
    let told =
        |why: &str| CtlError::failed(format!("mnest {end}"), why, "`metnosctl mnest list` shows those that there are");
    match (fitting.next(), fitting.next()) {
        (Some(found), None) => Ok(found),
        (None, _) => Err(told("there is none whose name ends so")),
        (Some(_), Some(_)) => Err(told("more than one has a name that ends so")),
    }
}

/// `mnest show`.
///
/// # Errors
/// As [`one`].
pub fn show(screen: &mut Screen, reach: &mut Connection, end: &str) -> Result<Exit, CtlError> {
    let found = one(reach, end)?;
    if screen.json() {
        screen.document(&found)?;
    } else if let Ok(Value::Object(fields)) = serde_json::to_value(&found) {
        show_object(screen, &fields, 0)?;
    }
    Ok(Exit::Done)
}

/// `mnest proposals`.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn proposals(screen: &mut Screen, reach: &mut Connection) -> Result<Exit, CtlError> {
    let rows: Vec<MnestProposal> = all(reach, Query::Proposals)?;
    let shown = |row: &MnestProposal| {
        [row.id.clone(), row.kind.clone(), row.mnest.clone(), row.state.clone(), shortened(&row.why, MAX_CELL)]
    };
    table(screen, &rows, ["ID", "KIND", "MNEST", "STATE", "WHY"], shown, "The ager proposes nothing.")
}

/// `mnest snapshots`.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn snapshots(screen: &mut Screen, reach: &mut Connection) -> Result<Exit, CtlError> {
    let rows: Vec<MnestomeSnapshot> = all(reach, Query::Snapshots)?;
    let now = now_ms();
    let shown = |row: &MnestomeSnapshot| {
        [row.name.clone(), ago(row.ts_ms, now), row.at_seq.to_string(), shortened(&row.why, MAX_CELL)]
    };
    table(screen, &rows, ["NAME", "TS", "AT_SEQ", "WHY"], shown, "Nothing was kept yet.")
}

fn table<T: Serialize, const N: usize>(
    screen: &mut Screen,
    rows: &[T],
    heading: [&str; N],
    shown: impl Fn(&T) -> [String; N],
    none: &str,
) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(&rows)?;
    } else if rows.is_empty() {
        screen.line(none)?;
    } else {
        let mut table = Table::new(&heading);
        rows.iter().for_each(|row| table.row(shown(row).map(cell).into()));
        table.show(screen, 0)?;
    }
    Ok(Exit::Done)
}

/// That what the owner decided was recorded.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Done")]
pub struct DecisionRecorded {
    /// It was done.
    ok: ConstTrue,
    /// The line that says so.
    recorded: u64,
}

/// Has memoryd record what the owner decided.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn decide(screen: &mut Screen, reach: &mut Connection, act: OwnersAct, done: &str) -> Result<Exit, CtlError> {
    let (recorded, []) = reach.open::<CtlMemoryd>()?.decide(TraceId::NONE, act, [])?;
    if screen.json() {
        screen.document(&DecisionRecorded { ok: ConstTrue, recorded: recorded.seq })?;
    } else {
        screen.line(&format!("{done} (line {})", recorded.seq))?;
    }
    Ok(Exit::Done)
}

/// An edge of the picture.
struct Edge {
    from: usize,
    to: usize,
    weight: f64,
    dashed: bool,
}

/// What is drawn: names and edges between them.
struct Picture {
    names: Vec<String>,
    edges: Vec<Edge>,
}

impl Picture {
    fn of(mnests: &[Mnest]) -> Self {
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let ends = |mnest: &Mnest| {
            let from = if mnest.src_executor.is_empty() { "words" } else { &mnest.src_executor };
            (from.to_owned(), mnest.dst_executor.clone())
        };
        for (from, to) in mnests.iter().map(ends) {
            places.insert(from, 0);
            places.insert(to, 0);
        }
        for (at, place) in places.values_mut().enumerate() {
            *place = at;
        }
        let edges = mnests.iter().map(|mnest| {
            let (from, to) = ends(mnest);
            let at = |name: &str| places.get(name).copied().unwrap_or(0);
            Edge { from: at(&from), to: at(&to), weight: mnest.weight.clamp(0.0, 1.0), dashed: mnest.state != "active" }
        });
        Self { edges: edges.collect(), names: places.keys().cloned().collect() }
    }

    /// In Graphviz' language.
    fn dot(&self) -> String {
        let mut text = String::from("digraph mnestome {\n  node [shape=box, style=rounded];\n");
        // Writing into memory has no way to go wrong.
        for (at, name) in self.names.iter().enumerate() {
            let _ = writeln!(text, "  n{at} [label={}];", Value::from(shortened(name, 40)));
        }
        for Edge { from, to, weight, dashed } in &self.edges {
            let style = if *dashed { ", style=dashed" } else { "" };
            let width = 0.5 + 4.0 * weight;
            let _ = writeln!(text, "  n{from} -> n{to} [label=\"{weight:.2}\", penwidth={width:.2}{style}];");
        }
        text.push_str("}\n");
        text
    }

    /// As a picture: the names on a circle, in the order of the alphabet; the same mnests give the same bytes.
    fn svg(&self) -> String {
        const SIZE: f64 = 800.0;
        #[allow(clippy::cast_precision_loss, reason = "a few hundred places on a circle")]
        let place = |at: usize| {
            let turn = std::f64::consts::TAU * at as f64 / self.names.len().max(1) as f64 - std::f64::consts::FRAC_PI_2;
            (SIZE / 2.0 + turn.cos() * SIZE * 0.38, SIZE / 2.0 + turn.sin() * SIZE * 0.38)
        };
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {SIZE}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\" \
             markerUnits=\"userSpaceOnUse\"><path d=\"M0 0L8 4L0 8z\" fill=\"#456\"/></marker></defs>\n"
        );
        for edge in &self.edges {
            let ((x1, y1), (x2, y2)) = (place(edge.from), place(edge.to));
            // Bent towards the middle, so that there and back are two lines; it ends before the name.
            let (cx, cy) = ((x1 + x2) / 2.0 + (y2 - y1) * 0.12, (y1 + y2) / 2.0 - (x2 - x1) * 0.12);
            let (ex, ey) = (x2 + (cx - x2) * 0.12, y2 + (cy - y2) * 0.12);
            let dash = if edge.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
            let width = 1.0 + 5.0 * edge.weight;
            let _ = writeln!(
                text,
                "<path d=\"M{x1:.1} {y1:.1}Q{cx:.1} {cy:.1} {ex:.1} {ey:.1}\" fill=\"none\" stroke=\"#456\" \
                 stroke-opacity=\"0.7\" stroke-width=\"{width:.2}\"{dash} marker-end=\"url(#a)\"><title>{:.3}</title></path>",
                edge.weight
            );
        }
        for (at, name) in self.names.iter().enumerate() {
            let (x, y) = place(at);
            let _ = writeln!(
                text,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"#123\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                y - 10.0,
                escaped(&shortened(name, 40))
            );
        }
        text.push_str("</svg>\n");
        text
    }
}

/// A text as XML holds it; what XML cannot hold is left out.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars().filter(|c| !c.is_control()) {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// A picture of the mnests.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MnestPicture {
    /// How it is written.
    format: PictureFormat,
    /// The picture.
    picture: String,
}

metnos_proto::names! {
    /// How a picture is written.
    pub enum PictureFormat {
        /// In the language of graphviz.
        Dot = "dot",
        /// As SVG.
        Svg = "svg",
    }
}

/// `mnest graph`.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn graph(screen: &mut Screen, reach: &mut Connection, svg: bool) -> Result<Exit, CtlError> {
    let mnests = heaviest(reach, "", MAX_DRAWN)?;
    let picture = Picture::of(&mnests);
    let (format, picture) = if svg { (PictureFormat::Svg, picture.svg()) } else { (PictureFormat::Dot, picture.dot()) };
    if screen.json() {
        screen.document(&MnestPicture { format, picture })?;
    } else {
        screen.raw(picture.as_bytes())?;
    }
    Ok(Exit::Done)
}

/// A mnest as memoryd sends it.
#[cfg(test)]
pub(super) fn mnest([from, to]: [&str; 2], weight: f64, state: &str) -> Mnest {
    let version = |name: &str| if name.is_empty() { String::new() } else { "1.0.0".to_owned() };
    Mnest {
        id: "mnest_1".to_owned(),
        src_executor: from.to_owned(),
        src_version: version(from),
        dst_executor: to.to_owned(),
        dst_version: (state != "proto").then(|| version(to)),
        weight,
        uses: 1,
        ts_first: 1_000,
        ts_last: 1_000,
        decay_lambda: 0.05,
        tags: Vec::new(),
        state: state.to_owned(),
        desired_signature: None,
        why: None,
        last_event_seq: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(name: &str) -> Picture {
        Picture::of(&[mnest(["fs_read", "text_stats"], 0.3, "active"), mnest(["", name], 0.15, "proto")])
    }

    #[test]
    fn a_picture_names_everything_once_and_nothing_in_a_name_is_markup() {
        let hostile = "<script>\"&'\u{1}";
        let (svg, dot) = (picture(hostile).svg(), picture(hostile).dot());
        assert!(svg.contains("&lt;script&gt;&quot;&amp;&#39;<") && !svg.contains("<script"));
        assert_eq!(svg.matches("<text").count(), 4);
        assert_eq!(svg.matches("<path d=\"M").count(), 3, "two edges and the arrow's head");
        assert!(
            dot.contains("label=\"<script>\\\"&'\\u0001\"") && dot.contains("n0 -> n1") || dot.contains("n1 -> n2")
        );
        assert!(dot.contains("style=dashed") && svg.contains("stroke-dasharray"));
        assert_eq!(picture(hostile).svg(), svg, "the same mnests give the same bytes");
    }

    #[test]
    fn an_empty_mnestome_is_an_empty_picture() {
        let empty = Picture::of(&[]);
        assert!(empty.svg().ends_with("</svg>\n") && empty.dot().ends_with("}\n"));
    }
}
