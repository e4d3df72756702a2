//! `models`: the language models, as mind knows them. A key goes from the terminal or standard input to mind and nowhere
//! else; and the one line that says which model serves a role is changed only to one that has just answered.

pub mod spend;

use std::path::Path;

use metnos_proto::doc::models::{ModelPrice, ModelTest, RoleModels};
use metnos_proto::edges::CtlMind;
use metnos_proto::ids::TraceId;
use metnos_proto::models::{MAX_FALLBACKS, ModelName};
use metnos_proto::msg::mind::{ListModels, MAX_KEY, MindHealth, PutKey, ScanModels, TestModel};
use metnos_proto::payload::Sealed;
use metnos_proto::role::RoleName;
use schemars::JsonSchema;
use serde::Serialize;
use toml_edit::{Array, value};

use crate::birth::plan::with_key;
use crate::command_line::nouns::ModelsCommand;
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::health::host::Finding;
use crate::instance::atomic_file;
use crate::instance::{CONFIG, Instance, MAX_CONFIG};
use crate::models::spend::money;
use crate::people::secret::{Given, typed};
use crate::screen::escape;
use crate::screen::table::{Table, cell, inked};
use crate::screen::{Ink, Screen};

/// Does what `models` says.
///
/// # Errors
/// When mind refuses or cannot be reached, a model does not answer, or the configuration cannot be written.
pub fn models(screen: &mut Screen, instance: &Instance, command: &ModelsCommand) -> Result<Exit, CtlError> {
    match command {
        ModelsCommand::List => list(screen, instance),
        ModelsCommand::Scan => scan(screen, instance),
        ModelsCommand::Test { which } => test(screen, instance, which.as_deref()),
        ModelsCommand::Set { role, models } => set(screen, instance, role, models),
        ModelsCommand::Key { substrate } => key(screen, instance, substrate),
    }
}

/// Whether models answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelTests {
    /// Whether all of them did.
    ok: bool,
    /// Each.
    tests: Vec<ModelTest>,
}

/// The models that serve a role from now on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RoleSet {
    /// The role.
    role: String,
    /// As SUBSTRATE/MODEL, in the order in which they are tried.
    models: Vec<String>,
}

/// The key of a server was given, or taken away.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeyPut {
    /// The server's name in the configuration.
    substrate: String,
    /// Where its key comes from.
    key: Given,
}

fn list(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    let mut mind = Connection::to(instance)?.open::<CtlMind>()?;
    let answer = opened(mind.list_models(TraceId::NONE, ListModels {}, [])?)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    if answer.substrates.is_empty() {
        screen.line("No language model is configured: Metnos answers what it understands, without one.")?;
        screen.line("A server is a line of `substrates` in [models] of metnos.toml, which shows examples.")?;
        return Ok(Exit::Done);
    }
    let mut servers = Table::new(&["SERVER", "KIND", "ADDRESS", "KEY", "STATE"]);
    for one in &answer.substrates {
        let key = if one.key_problem.is_empty() { one.key.name() } else { &one.key_problem };
        let state = if one.reachable { ("", Ink::Plain) } else { ("did not answer", Ink::Bad) };
        servers.row(vec![cell(&one.name), cell(&one.kind), cell(&one.url), cell(key), inked(state.0, state.1)]);
    }
    servers.show(screen, 0)?;
    let mut table = Table::new(&["ROLE", "MODEL", "TAKES", "PRICE (IN / OUT / CACHED, A MILLION)", "STATE"]);
    for RoleModels { role, models } in &answer.roles {
        for (at, model) in models.iter().enumerate() {
            let name = if at == 0 { role } else { "  else" };
            let state = match (model.stale, model.callable) {
                (true, _) => inked("stale: its server has it no more", Ink::Bad),
                (false, false) => inked("does not answer", Ink::Bad),
                (false, true) => inked("", Ink::Plain),
            };
            let how = match (model.constrained, model.tools) {
                (true, _) => ", in steps",
                (false, true) => "",
                (false, false) => ", no tools",
            };
            let takes = format!("{} tokens{how}", model.context);
            let price = price(model.price_per_million.as_ref());
            table.row(vec![cell(name), cell(&model.model), cell(takes), cell(price), state]);
        }
    }
    table.show(screen, 0)?;
    if answer.roles.is_empty() {
        screen.line(
            "No role has a model: `metnosctl models scan`, then `metnosctl models set interface SUBSTRATE/MODEL`.",
        )?;
    }
    Ok(Exit::Done)
}

fn price(price: Option<&ModelPrice>) -> String {
    match price {
        None => "unknown: its tokens count, its money is 0".to_owned(),
        Some(of) => format!("{} / {} / {}", money(of.micro_in), money(of.micro_out), money(of.micro_cached)),
    }
}

fn scan(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    let mut mind = Connection::to(instance)?.open::<CtlMind>()?;
    let answer = opened(mind.scan_models(TraceId::NONE, ScanModels {}, [])?)?;
    let well = answer.substrates.iter().all(|one| one.ok && one.stale.is_empty());
    let exit = if well { Exit::Done } else { Exit::Failed };
    if screen.json() {
        screen.document(&answer)?;
        return Ok(exit);
    }
    if answer.substrates.is_empty() {
        screen.line("No server of models is configured: see `substrates` in [models] of metnos.toml.")?;
    }
    for one in &answer.substrates {
        let name = escape::line(&one.name);
        if !one.ok {
            screen.line(&format!("{name}: {}", escape::line(&one.why)))?;
            continue;
        }
        screen.line(&format!("{name}:"))?;
        for model in &one.models {
            let roles = model.roles.join(", ");
            let serves = if roles.is_empty() { String::new() } else { format!("  ({})", escape::line(&roles)) };
            screen.line(&format!("  {}{serves}", escape::line(&model.model)))?;
        }
        for gone in &one.stale {
            let gone = escape::line(gone);
            screen.line(&format!(
                "  {gone} is stale: a role has it, its server has it no more; `metnosctl models set`"
            ))?;
        }
    }
    Ok(exit)
}

fn test_one(instance: &Instance, which: &str) -> Result<ModelTest, CtlError> {
    let mut mind = Connection::to(instance)?.open::<CtlMind>()?;
    opened(mind.test_model(TraceId::NONE, TestModel { model: which.to_owned() }, [])?)
}

fn test(screen: &mut Screen, instance: &Instance, which: Option<&str>) -> Result<Exit, CtlError> {
    let names: Vec<String> = match which {
        Some(which) => vec![which.to_owned()],
        None => {
            let mut mind = Connection::to(instance)?.open::<CtlMind>()?;
            let (report, []) = mind.health(TraceId::NONE, MindHealth {}, [])?;
            report.roles.into_iter().map(|role| role.role).collect()
        }
    };
    let mut results = Vec::new();
    for name in &names {
        let result = test_one(instance, name)?;
        if !screen.json() {
            screen.line(&tested(name, &result))?;
            screen.flush()?;
        }
        results.push(result);
    }
    let well = !results.is_empty() && results.iter().all(|one| one.ok);
    if screen.json() {
        screen.document(&ModelTests { ok: well, tests: results })?;
    } else if results.is_empty() {
        screen.line("No role has a model: `metnosctl models set ROLE SUBSTRATE/MODEL`.")?;
    }
    Ok(if well { Exit::Done } else { Exit::Failed })
}

fn tested(name: &str, result: &ModelTest) -> String {
    let model = escape::line(&result.model);
    let who = if name == model { model } else { format!("{name}: {model}") };
    if result.ok {
        return format!("{who} answers in {} ms: {}", result.took_ms, escape::line(&result.said));
    }
    format!("{who} cannot be called: {}\n  → {}", escape::line(&result.why), escape::line(&result.remedy))
}

fn set(screen: &mut Screen, instance: &Instance, role: &str, models: &[String]) -> Result<Exit, CtlError> {
    let unnamed = models.iter().find(|model| ModelName::parse(model).is_none());
    if let Some(bad) = unnamed.or(models.get(MAX_FALLBACKS)) {
        let what = format!("`{}` is no model, or one too many", escape::line(bad));
        return Err(CtlError::failed("models set", what, format!("1 to {MAX_FALLBACKS} of `metnosctl models scan`")));
    }
    for model in models {
        let result = test_one(instance, model)?;
        if !result.ok {
            let remedy = format!("nothing was changed. {}", escape::line(&result.remedy));
            return Err(CtlError::failed(format!("`{model}` cannot be called"), escape::line(&result.why), remedy));
        }
    }
    let path = instance.directory().join(CONFIG);
    write_role(&path, role, models).map_err(|why| CtlError::failed("metnos.toml", why, "nothing was changed"))?;
    Connection::to(instance)?.restart(RoleName::Mind)?;
    if screen.json() {
        screen.document(&RoleSet { role: role.to_owned(), models: models.to_vec() })?;
    } else {
        screen.line(&format!("`{role}` is served by {} from now on.", models.join(", else ")))?;
    }
    Ok(Exit::Done)
}

/// Writes the role's one line into the file, and leaves everything else in it as it is.
fn write_role(path: &Path, role: &str, models: &[String]) -> Result<(), String> {
    let text = atomic_file::read(path, MAX_CONFIG).map_err(|error| error.to_string())?.unwrap_or_default();
    let changed = with_role(&text, role, models)?;
    atomic_file::replace(path, &changed, 0o600).map_err(|error| error.to_string())
}

fn with_role(text: &str, role: &str, models: &[String]) -> Result<String, String> {
    let models = models.iter().map(String::as_str).collect::<Array>();
    with_key(text, &format!("models.{role}"), value(models))
}

fn key(screen: &mut Screen, instance: &Instance, substrate: &str) -> Result<Exit, CtlError> {
    // Before anything is typed: is there a person to give it to?
    let mut mind = Connection::to(instance)?.open::<CtlMind>()?;
    let known = opened(mind.list_models(TraceId::NONE, ListModels {}, [])?)?;
    if !known.substrates.iter().any(|one| one.name == substrate) {
        let what = format!("there is no server `{}` in metnos.toml", escape::line(substrate));
        return Err(CtlError::failed("models key", what, "`metnosctl models list` shows which there are"));
    }
    let value = typed(screen, &format!("the key of `{substrate}`; nothing takes it away"), MAX_KEY)?;
    let sealed = Sealed::new(&value).map_err(|error| CtlError::failed("the key", error, ""))?;
    mind.put_key(TraceId::NONE, PutKey { substrate: substrate.to_owned() }, [sealed])?;
    let given = !value.trim_ascii().is_empty();
    if screen.json() {
        screen.document(&KeyPut { substrate: substrate.to_owned(), key: Given::is(given) })?;
    } else if given {
        screen.line(&format!(
            "mind keeps the key of `{substrate}`. `metnosctl models scan` shows whether it opens anything."
        ))?;
    } else {
        screen.line(&format!("mind has no key of `{substrate}` any more."))?;
    }
    Ok(Exit::Done)
}

/// What `doctor` finds about models.
#[must_use]
pub fn finding(reach: &mut Connection) -> Finding {
    const NAME: &str = "models";
    let asked = reach.open::<CtlMind>().and_then(|mut mind| Ok(mind.health(TraceId::NONE, MindHealth {}, [])?.0));
    match asked {
        Err(error) => Finding::bad(NAME, error.to_string(), error.remedy()),
        Ok(report) if report.roles.iter().all(|role| role.reachable) => Finding::good(NAME, report.says),
        Ok(report) => {
            Finding::bad(NAME, report.says, "`metnosctl models scan` asks the servers; `metnosctl models test`")
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn model_setting_changes_one_line_of_the_configuration() {
        let text = "# mine\n[instance]\nlang = \"it\" # yes\n\n[models]\n# servers\nsubstrates = [\"a ollama http://127.0.0.1:1\"]\ninterface = [\"a/old\"]\n\n[net]\n";
        let models = ["a/new".to_owned(), "a/\"odd".to_owned()];
        let changed = with_role(text, "interface", &models).unwrap();
        assert_eq!(changed, text.replace("[\"a/old\"]", "[\"a/new\", 'a/\"odd']"));
        let added = with_role(text, "judge", &models[..1]).unwrap();
        assert!(
            added.contains("interface = [\"a/old\"]\njudge = [\"a/new\"]\n") && added.contains("lang = \"it\" # yes"),
            "{added}"
        );
        assert_eq!(with_role("", "judge", &models[..1]).unwrap(), "[models]\njudge = [\"a/new\"]\n");
        assert!(with_role("models = 1\n", "judge", &models).is_err() && with_role("[", "judge", &models).is_err());
    }

    #[test]
    fn a_role_is_written_into_the_file_with_the_rights_it_had() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CONFIG);
        std::fs::write(&path, "[instance]\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        write_role(&path, "fast", &["a/b".to_owned()]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[instance]\n\n[models]\nfast = [\"a/b\"]\n");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
