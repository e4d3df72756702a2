//! `mnest`: what followed on what, and worked, as memoryd derived it.

use metnos_proto::doc::mnestome::{DesiredField, DesiredSignature, Mnest};
use metnos_proto::edges::CtlMemoryd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::memoryd::{Mnests, OwnersAct, Reasoned, Tagged};

use crate::command_line::cli::MnestCommand;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::memory::mnest_list;
use crate::screen::Screen;
use crate::screen::human::{ago, now_ms, shortened};
use crate::screen::table::{Table, cell};

/// The most characters that are shown of a name: a wish is named by its words.
const MAX_NAME_SHOWN: usize = 60;

/// `mnest …`.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn mnest(screen: &mut Screen, instance: &Instance, command: &MnestCommand) -> Result<Exit, CtlError> {
    let reach = &mut Connection::to(instance)?;
    let reasoned = |id: &str, why: &str| Reasoned { id: id.to_owned(), why: why.to_owned() };
    match command {
        MnestCommand::List => list(screen, reach),
        MnestCommand::Top { lines, from } => top(screen, reach, from, *lines),
        MnestCommand::Show { id } => mnest_list::show(screen, reach, id),
        MnestCommand::Graph { svg, .. } => mnest_list::graph(screen, reach, *svg),
        MnestCommand::Proposals => mnest_list::proposals(screen, reach),
        MnestCommand::Snapshots => mnest_list::snapshots(screen, reach),
        MnestCommand::Tag { id, word, remove } => {
            let tagged = Tagged { id: whole_id(reach, id)?, tag: word.clone() };
            let act = if *remove { OwnersAct::Untag(tagged) } else { OwnersAct::Tag(tagged) };
            mnest_list::decide(screen, reach, act, "Done.")
        }
        MnestCommand::Archive { id, why } => {
            let act = OwnersAct::Archive(reasoned(&whole_id(reach, id)?, why));
            mnest_list::decide(screen, reach, act, "It is out of use, and kept.")
        }
        MnestCommand::Restore { id, why } => {
            let act = OwnersAct::Restore(reasoned(&whole_id(reach, id)?, why));
            mnest_list::decide(screen, reach, act, "It is in use again.")
        }
        MnestCommand::Decline { id, why } => {
            mnest_list::decide(screen, reach, OwnersAct::Decline(reasoned(id, why)), "It will not be proposed again.")
        }
        MnestCommand::Snapshot { name, why } => {
            mnest_list::decide(screen, reach, OwnersAct::Snapshot(reasoned(name, why)), "The mnestome is kept.")
        }
        MnestCommand::Rollback { name, why } => {
            let done = "The mnestome is what it was; what it was before this is kept.";
            mnest_list::decide(screen, reach, OwnersAct::Rollback(reasoned(name, why)), done)
        }
    }
}

/// `freeze` and `defrost`.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn freeze(screen: &mut Screen, instance: &Instance, frozen: bool, why: String) -> Result<Exit, CtlError> {
    let reasoned = Reasoned { id: String::new(), why };
    let (act, done) = if frozen {
        (OwnersAct::Freeze(reasoned), "The clock of use stands still.")
    } else {
        (OwnersAct::Defrost(reasoned), "The clock of use runs again.")
    };
    mnest_list::decide(screen, &mut Connection::to(instance)?, act, done)
}

fn whole_id(reach: &mut Connection, end: &str) -> Result<String, CtlError> {
    Ok(mnest_list::one(reach, end)?.id)
}

fn top(screen: &mut Screen, reach: &mut Connection, from: &str, lines: u32) -> Result<Exit, CtlError> {
    let mnests = mnest_list::heaviest(reach, from, lines)?;
    if screen.json() {
        screen.document(&mnests)?;
    } else if mnests.is_empty() {
        screen.line("There are none.")?;
    } else {
        show(screen, &mnests, now_ms())?;
    }
    Ok(Exit::Done)
}

fn list(screen: &mut Screen, reach: &mut Connection) -> Result<Exit, CtlError> {
    let (_, [text]) = reach.open::<CtlMemoryd>()?.mnests(TraceId::NONE, Mnests {}, [])?;
    let unreadable = |why: String| CtlError::failed("the mnests", why, "look at `metnosctl doctor`");
    let bytes = text.read().map_err(|error| unreadable(error.to_string()))?;
    let mnests: Vec<Mnest> = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    if screen.json() {
        screen.document(&mnests)?;
        return Ok(Exit::Done);
    }
    if mnests.is_empty() {
        screen.line("There are no mnests yet: none of the calls so far has used the result of another.")?;
        return Ok(Exit::Done);
    }
    show(screen, &mnests, now_ms())?;
    Ok(Exit::Done)
}

fn show(screen: &mut Screen, mnests: &[Mnest], now_ms: u64) -> Result<(), CtlError> {
    let mut table = Table::new(&["FROM", "TO", "WEIGHT", "USES", "STATE", "LAST", "ID"]);
    for mnest in mnests {
        let both = |name: &str, version: &str| shortened(format!("{name} {version}").trim_end(), MAX_NAME_SHOWN);
        let wished = mnest.desired_signature.as_ref().map_or_else(String::new, |one| wished(one) + &ways(mnest, one));
        let to = both(&mnest.dst_executor, mnest.dst_version.as_deref().unwrap_or_default()) + &wished;
        // A wish may come from nothing but words.
        let from = Some(both(&mnest.src_executor, &mnest.src_version)).filter(|from| !from.is_empty());
        table.row(vec![
            cell(from.as_deref().unwrap_or("–")),
            cell(to),
            cell(format!("{:.3}", mnest.weight)),
            cell(mnest.uses.to_string()),
            cell(mnest.state.clone()),
            cell(ago(mnest.ts_last, now_ms)),
            cell(mnest.id.clone()),
        ]);
    }
    table.show(screen, 0)
}

/// What something wished for would take and give, as far as that was said: ` (path: string → text: string)`.
fn wished(signature: &DesiredSignature) -> String {
    let fields = |fields: &[DesiredField]| -> String {
        let list: Vec<String> = fields.iter().map(|field| format!("{}: {}", field.name, field.kind)).collect();
        list.join(", ")
    };
    let (takes, gives) = (fields(&signature.inputs), fields(&signature.outputs));
    match (takes.is_empty(), gives.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!(" ({takes})"),
        (true, false) => format!(" (→ {gives})"),
        (false, false) => format!(" ({takes} → {gives})"),
    }
}

/// In which words a wish was said, where they are not its name: `, said as: email; manda mail`.
fn ways(mnest: &Mnest, signature: &DesiredSignature) -> String {
    let said = &signature.summary;
    if said.is_empty() || *said == mnest.dst_executor { String::new() } else { format!(", said as: {said}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;

    #[test]
    fn a_mnest_is_one_row_and_a_proto_mnest_has_no_version() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        let field = |name: &str| vec![DesiredField { kind: "string".to_owned(), name: name.to_owned() }];
        let signature =
            DesiredSignature { inputs: field("path"), outputs: field("text"), ..DesiredSignature::default() };
        let said = DesiredSignature { summary: "email; manda mail".to_owned(), ..DesiredSignature::default() };
        let mnests = [
            Mnest { uses: 2, ..mnest_list::mnest(["fs_read", "text_stats"], 0.15, "active") },
            mnest_list::mnest(["", "wish"], 0.1, "proto"),
            Mnest { desired_signature: Some(signature), ..mnest_list::mnest(["", "pdf to text"], 0.1, "proto") },
            Mnest { desired_signature: Some(said), ..mnest_list::mnest(["", "send mail"], 0.1, "proto") },
        ];
        show(&mut paper, &mnests, 61_000).unwrap();
        let lines: Vec<String> = out.text().lines().map(str::to_owned).collect();
        assert!(lines[4].contains("send mail, said as: email; manda mail  "), "{}", lines[4]);
        // The column is as wide as the longest wish.
        assert!(lines[1].starts_with("fs_read 1.0.0  text_stats 1.0.0 "), "{}", lines[1]);
        assert!(lines[1].contains("  0.150   2"), "{}", lines[1]);
        assert!(lines[1].contains("active  1 min"), "{}", lines[1]);
        assert!(lines[2].starts_with("–              wish  "), "{}", lines[2]);
        assert!(lines[3].contains("pdf to text (path: string → text: string)"), "{}", lines[3]);
    }
}
