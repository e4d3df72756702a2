//! `mnest top|show|graph|proposals|snapshots` and what the owner decides about mnests: as memoryd tells it, drawn here.

use std::collections::BTreeMap;
use std::fmt::Write;

use metnos_proto::edges::CtlMemoryd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::memoryd::{MnestsWanted, OwnersAct, Query};
use serde_json::{Value, json};

use crate::audit::documents;
use crate::audit::search::page;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::screen::Screen;
use crate::screen::human::{ago, now_ms, scalar, shortened, show_object};
use crate::screen::table::{Table, cell};

/// The most mnests that a picture shows: beyond that it is no picture.
pub const MAX_DRAWN: u32 = 200;

fn unreadable(why: impl ToString) -> CtlError {
    CtlError::failed("the mnests", why, "look at `metnosctl doctor`")
}

fn all(reach: &mut Connection, look: Query) -> Result<Vec<Value>, CtlError> {
    let (bytes, _) = page(reach, look)?;
    documents(&bytes).map_err(unreadable)
}

/// The heaviest mnests, all or those that lead from one executor.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn heaviest(reach: &mut Connection, from: &str, lines: u32) -> Result<Vec<Value>, CtlError> {
    all(reach, Query::Mnests(MnestsWanted { from: from.to_owned(), lines }))
}

/// The one mnest whose name ends like this.
///
/// # Errors
/// When there is none or more than one, or memoryd cannot be reached.
pub fn one(reach: &mut Connection, end: &str) -> Result<Value, CtlError> {
    let mnests = heaviest(reach, "", metnos_proto::msg::memoryd::MAX_TAIL)?;
    let mut fitting =
        mnests.into_iter().filter(|one| one["id"].as_str().is_some_and(|id| !end.is_empty() && id.ends_with(end)));
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
    } else if let Value::Object(fields) = &found {
        show_object(screen, fields, 0)?;
    }
    Ok(Exit::Done)
}

/// `mnest proposals` and `mnest snapshots`: a table of these columns.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn table(
    screen: &mut Screen,
    reach: &mut Connection,
    look: Query,
    columns: &[&str],
    none: &str,
) -> Result<Exit, CtlError> {
    let rows = all(reach, look)?;
    if screen.json() {
        screen.document(&Value::Array(rows))?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        screen.line(none)?;
        return Ok(Exit::Done);
    }
    let heading: Vec<String> = columns.iter().map(|column| column.trim_end_matches("_ms").to_uppercase()).collect();
    let mut table = Table::new(&heading.iter().map(String::as_str).collect::<Vec<_>>());
    for row in &rows {
        let shown = columns.iter().map(|column| match row[*column].as_u64() {
            Some(then) if column.ends_with("_ms") => cell(ago(then, now_ms())),
            Some(_) | None => cell(shortened(&scalar(&row[*column]), 60)),
        });
        table.row(shown.collect());
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

/// Has memoryd record what the owner decided.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn decide(screen: &mut Screen, reach: &mut Connection, act: OwnersAct, done: &str) -> Result<Exit, CtlError> {
    let (recorded, []) = reach.open::<CtlMemoryd>()?.decide(TraceId::NONE, act, [])?;
    if screen.json() {
        screen.document(&json!({ "ok": true, "recorded": recorded.seq }))?;
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
    fn of(mnests: &[Value]) -> Self {
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let ends = |mnest: &Value| {
            let text = |key: &str| mnest[key].as_str().unwrap_or("").to_owned();
            let from = Some(text("src_executor")).filter(|name| !name.is_empty()).unwrap_or_else(|| "words".to_owned());
            (from, text("dst_executor"))
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
            Edge {
                from: at(&from),
                to: at(&to),
                weight: mnest["weight"].as_f64().unwrap_or(0.0).clamp(0.0, 1.0),
                dashed: mnest["state"] != "active",
            }
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

/// `mnest graph`.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn graph(screen: &mut Screen, reach: &mut Connection, svg: bool) -> Result<Exit, CtlError> {
    let mnests = heaviest(reach, "", MAX_DRAWN)?;
    let picture = Picture::of(&mnests);
    let text = if svg { picture.svg() } else { picture.dot() };
    if screen.json() {
        screen.document(&json!({ "format": if svg { "svg" } else { "dot" }, "picture": text }))?;
    } else {
        screen.raw(text.as_bytes())?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(name: &str) -> Picture {
        Picture::of(&[
            json!({ "src_executor": "fs_read", "dst_executor": "text_stats", "weight": 0.3, "state": "active" }),
            json!({ "src_executor": "", "dst_executor": name, "weight": 0.15, "state": "proto" }),
        ])
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
