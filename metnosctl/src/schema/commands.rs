//! Which type each command prints.

use std::collections::BTreeMap;

use metnos_policy::replay::ReplayVerdict;
use metnos_proto::doc::automation::{Automatic, AutomationAdded, HookMade};
use metnos_proto::doc::budget::{BudgetRaised, BudgetReport, BudgetRestored};
use metnos_proto::doc::card::{CardList, CardView};
use metnos_proto::doc::chronicle::{EventLine, SecretFound};
use metnos_proto::doc::draft::{DraftReport, GrowthReport};
use metnos_proto::doc::executor::{ExecutorImported, LifecycleChange, SignReport};
use metnos_proto::doc::grant::GrantList;
use metnos_proto::doc::memory::{Explanation, RecentTalk, RememberedTurn};
use metnos_proto::doc::mnestome::{Mnest, MnestProposal, MnestomeSnapshot, OneTrace, Traces};
use metnos_proto::doc::models::{ModelList, ModelScan};
use metnos_proto::doc::people::{
    BrokenSeals, Invitation, LanguageSet, LevelSet, PeopleList, PersonList, PersonRemoved, PersonView, PrincipalLevel,
    PrincipalPaired, Unpaired,
};
use metnos_proto::doc::policy::PolicyCheck;
use metnos_proto::doc::sandbox::ExecutorProfile;
use metnos_proto::doc::schedule::{ScheduleHistory, ScheduleList};
use metnos_proto::doc::undo::{ActList, UndoReport};
use metnos_proto::doc::vaglio::{ConstitutionReport, Proposal, TelosReport};
use metnos_proto::doc::vault::{
    AccountKept, AccountRemoved, AccountRow, SecretGranted, SecretRemoved, SecretRow, SecretVersion, SecretWithdrawn,
};
use metnos_quality::ask::AskFound;
use metnos_quality::growth::GrowthFound;
use metnos_quality::{NextFound, RecallFound, ReflexFound, RouteFound};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::audit::proof::{Exported, Proven, Redacted, SignedHeads};
use crate::audit::witness::Proof;
use crate::bench::Measured;
use crate::memory::mnest_list::{DecisionRecorded, MnestPicture};
use crate::turns::show::PromptSent;
use crate::turns::turn::TurnEvent;

/// A command, and the type of what it prints.
pub struct Typed {
    /// The command.
    pub name: &'static str,
    /// Whether each line of the output is a document.
    pub by_line: bool,
    /// The schema of that type.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

const fn document<T: JsonSchema>(name: &'static str) -> Typed {
    Typed { name, by_line: false, schema: subschema::<T> }
}

const fn lines<T: JsonSchema>(name: &'static str) -> Typed {
    Typed { name, by_line: true, schema: subschema::<T> }
}

const fn either<A: JsonSchema, B: JsonSchema>(name: &'static str) -> Typed {
    Typed { name, by_line: false, schema: one_of::<A, B> }
}

fn one_of<A: JsonSchema, B: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [generator.subschema_for::<A>(), generator.subschema_for::<B>()] })
}

fn subschema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Every command whose output has a type; and what every command prints that was not done.
pub const TYPED: &[Typed] = &[
    document::<crate::daemons::up::Started>("up"),
    document::<crate::daemons::down::Stopped>("down"),
    document::<crate::birth::BirthDone>("birth"),
    document::<crate::health::status::Status>("status"),
    document::<crate::health::doctor::Checkup<'static>>("doctor"),
    document::<Vec<crate::daemons::survey::DaemonReport>>("daemon list"),
    document::<crate::daemons::daemon::DaemonRestarted>("daemon restart"),
    document::<crate::backup::BackedUp>("backup"),
    document::<crate::backup::Restored>("restore"),
    document::<crate::command_line::completions::Completions>("completions"),
    document::<crate::command_line::completions::ManPages>("man"),
    document::<BTreeMap<String, Value>>("schema"),
    document::<ModelList>("models list"),
    document::<ModelScan>("models scan"),
    document::<crate::models::RoleSet>("models set"),
    document::<crate::models::ModelTests>("models test"),
    document::<crate::models::KeyPut>("models key"),
    document::<crate::people::telegram::TokenPut>("telegram token"),
    document::<crate::people::telegram::BotStatus>("telegram status"),
    document::<Vec<Automatic>>("hook list"),
    document::<Vec<Automatic>>("timer list"),
    document::<crate::people::automation::HookAdded>("hook add"),
    document::<HookMade>("hook rotate"),
    document::<ScheduleList>("schedule list"),
    document::<ScheduleList>("schedule add"),
    document::<ScheduleList>("schedule pause"),
    document::<ScheduleList>("schedule resume"),
    document::<ScheduleList>("schedule cancel"),
    document::<ScheduleList>("schedule modify"),
    document::<ScheduleHistory>("schedule show"),
    document::<ScheduleHistory>("schedule history"),
    document::<ScheduleList>("schedule run-now"),
    document::<crate::schedule::parse::Parsed>("schedule parse"),
    document::<AutomationAdded>("timer add"),
    lines::<TurnEvent<'static>>("ask"),
    lines::<TurnEvent<'static>>("chat"),
    lines::<TurnEvent<'static>>("timer fire"),
    document::<Unpaired>("hook remove"),
    document::<Unpaired>("timer remove"),
    document::<crate::turns::run::RunReport>("run"),
    document::<crate::executors::switches::PanicDone>("panic"),
    document::<crate::executors::switches::ResumeDone>("resume"),
    document::<crate::executors::switches::ExecutorSwitched>("executor disable"),
    document::<crate::executors::switches::ExecutorSwitched>("executor enable"),
    document::<PolicyCheck>("policy check"),
    lines::<ReplayVerdict>("policy replay"),
    lines::<metnos_soul::case::Outcome>("soul compile"),
    document::<GrowthReport>("synt gaps"),
    document::<Vec<Proposal>>("synt proposals"),
    document::<DraftReport>("synt run"),
    document::<DraftReport>("synt show"),
    document::<LifecycleChange>("synt withdraw"),
    document::<crate::synt::DryRun>("synt dry-run"),
    document::<CardList>("approval list"),
    document::<CardView>("approval show"),
    document::<crate::approvals::approval::Approved>("approval approve"),
    document::<crate::approvals::approval::CardDenied>("approval deny"),
    document::<GrantList>("grant list"),
    document::<crate::approvals::grant::Accepted>("grant revoke"),
    document::<crate::approvals::grant::TotpEnrolled>("totp enrol"),
    document::<crate::approvals::grant::Accepted>("totp confirm"),
    document::<crate::approvals::grant::Accepted>("totp remove"),
    document::<Vec<crate::executors::executor::ExecutorListed>>("executor list"),
    document::<crate::executors::record::ExecutorShown>("executor show"),
    document::<Vec<crate::executors::executor::ExecutorVerified>>("executor verify"),
    document::<crate::executors::unquarantine::QuarantineShown>("executor lift"),
    document::<crate::executors::unquarantine::QuarantineShown>("executor relock"),
    document::<Vec<crate::executors::profile::ProfileDiff>>("executor diff"),
    document::<LifecycleChange>("executor archive"),
    document::<LifecycleChange>("executor restore"),
    document::<LifecycleChange>("executor revoke"),
    document::<crate::executors::scaffold::ExecutorWritten>("executor new"),
    document::<crate::executors::parcel::ExecutorExported>("executor export"),
    document::<ExecutorImported>("executor import"),
    document::<SignReport>("executor sign"),
    document::<UndoReport>("undo"),
    document::<ActList>("undo list"),
    document::<Vec<Proposal>>("vaglio digest"),
    document::<Vec<Proposal>>("vaglio unasked"),
    document::<Proposal>("vaglio explain"),
    document::<Proposal>("vaglio accept"),
    document::<Proposal>("vaglio refuse"),
    document::<TelosReport>("vaglio telos"),
    document::<ConstitutionReport>("rite constitution"),
    document::<PersonList>("people list"),
    document::<PersonView>("people show"),
    document::<PersonView>("people add"),
    document::<PersonView>("people change"),
    document::<PersonView>("people join"),
    document::<PersonView>("people merge"),
    document::<PersonRemoved>("people remove"),
    document::<BrokenSeals>("seal list"),
    document::<BrokenSeals>("seal break"),
    document::<BrokenSeals>("seal close"),
    document::<PeopleList>("pairing list"),
    document::<PrincipalPaired>("pairing approve"),
    document::<Invitation>("pairing invite"),
    document::<LanguageSet>("pairing language"),
    document::<crate::people::web::WebLink>("web"),
    document::<Unpaired>("pairing revoke"),
    document::<Vec<SecretRow>>("secret list"),
    document::<SecretVersion>("secret set"),
    document::<SecretVersion>("secret rotate"),
    document::<SecretRemoved>("secret remove"),
    document::<SecretGranted>("secret grant"),
    document::<SecretWithdrawn>("secret withdraw"),
    document::<Vec<AccountRow>>("account list"),
    document::<AccountKept>("account add"),
    document::<crate::turns::run::RunReport>("account test"),
    document::<AccountRemoved>("account remove"),
    document::<BudgetReport>("budget show"),
    document::<BudgetRaised>("budget raise"),
    document::<BudgetRestored>("budget restore"),
    document::<Vec<ExecutorProfile>>("executor profile"),
    document::<crate::health::selftest::SelftestReport>("sandbox selftest"),
    document::<Vec<EventLine>>("audit tail"),
    document::<Vec<EventLine>>("audit search"),
    document::<EventLine>("audit show"),
    document::<crate::audit::Verification>("audit verify"),
    either::<Exported, EventLine>("audit export"),
    document::<SignedHeads<'static>>("audit anchors"),
    either::<Proof, Proven>("audit prove"),
    document::<Redacted>("audit redact"),
    document::<Vec<SecretFound>>("audit scan"),
    either::<Vec<EventLine>, Vec<PromptSent>>("turn show"),
    document::<DecisionRecorded>("turn feedback"),
    document::<DecisionRecorded>("mnest tag"),
    document::<MnestPicture>("mnest graph"),
    document::<DecisionRecorded>("mnest decline"),
    document::<DecisionRecorded>("mnest archive"),
    document::<DecisionRecorded>("mnest restore"),
    document::<DecisionRecorded>("mnest snapshot"),
    document::<DecisionRecorded>("mnest rollback"),
    document::<DecisionRecorded>("freeze"),
    document::<DecisionRecorded>("defrost"),
    document::<Vec<Mnest>>("mnest list"),
    document::<Vec<Mnest>>("mnest top"),
    document::<Mnest>("mnest show"),
    document::<Vec<MnestProposal>>("mnest proposals"),
    document::<Vec<MnestomeSnapshot>>("mnest snapshots"),
    document::<Traces>("trace list"),
    document::<OneTrace>("trace show"),
    document::<crate::models::spend::Spending>("spend"),
    document::<Vec<RememberedTurn>>("memory search"),
    document::<RecentTalk>("memory late"),
    document::<Explanation>("memory explain"),
    document::<Vec<PrincipalLevel>>("autonomy show"),
    document::<LevelSet>("autonomy set"),
    document::<Measured<RecallFound>>("bench recall"),
    document::<Measured<NextFound>>("bench next"),
    document::<Measured<ReflexFound>>("bench reflex"),
    document::<Measured<RouteFound>>("bench route"),
    document::<Measured<AskFound>>("bench ask"),
    document::<Measured<GrowthFound>>("bench synt"),
];

/// The schema of an error.
pub const ERROR: fn(&mut SchemaGenerator) -> Schema = subschema::<crate::error::ErrorReport>;
