//! What each kind of slot takes up of a request, and what becomes of it. Whether a pattern goes on behind it is not its matter.

use metnos_calendar::zone::Zone;
use metnos_proto::envelope::Candidate;
use metnos_proto::executor::pattern::SlotKind;
use metnos_proto::msg::common::Lang;
use metnos_rank::forms::{are_forms, name_words};
use serde_json::Value;

use super::Request;
use crate::matching::contract::{self, Want};
use crate::matching::names::PlaceWant;
use crate::matching::paths::{is_naming, is_no_folder};
use crate::words::grammar;
use crate::words::lexicon::Mark;
use crate::words::lists;
use crate::words::places;
use crate::words::said;
use crate::words::token::{Kind, Token};
use crate::words::when;

/// What a table of rows is written as.
const TABLE: &str = "text/csv";
/// The most words of the name of a thing.
const MAX_NAME: usize = 8;
/// The most words of the name of a place on earth.
const MAX_PLACE: usize = 4;
/// The most words of a day.
const MAX_DAY: usize = 8;
/// The most words of what says how often something takes place.
const MAX_REPEATING: usize = 14;
/// The most words of a slot for a few words.
const MAX_WORDS: usize = 6;
/// What a file may be called before its name.
const FILE_NOUNS: &str = "file document note page table documento nota pagina tabella foglio appunto";
/// What a folder may be called before its name.
const FOLDER_NOUNS: &str = "folder directory subfolder cartella sottocartella";
/// Several words that stand for the workspace.
const ALL: &[&str] = &[
    "workspace",
    "working directory",
    "area di lavoro",
    "spazio di lavoro",
    "all files",
    "all documents",
    "tutti i file",
    "tutti i documenti",
    "tutti i miei file",
    "tutti i miei documenti",
    "everything",
];
/// Those that do only behind a possessive.
const ALL_OF_MINE: &str = "files documents file documenti";
const POSSESSIVES: &str = "my our miei nostri";

/// The longest name that is made of words for a file, in bytes.
const MAX_FILE_NAME: usize = 60;

/// Words of which no town is called: times, and what is in a house. "How warm is it in the kitchen" asks for no town.
const NO_TOWN: &str = "today tomorrow tonight now morning afternoon evening night week weekend monday tuesday wednesday thursday \
    friday saturday sunday here there outside outdoors house home kitchen bathroom bedroom bed room living garage garden cellar \
    attic fridge freezer oven pool water bath shower office car tank general particular case me us this that these those it \
    nel nella per on for at was is were will be nice good bad great lovely terrible and but or \
    oggi domani dopodomani stasera stanotte adesso ora fine mattina pomeriggio sera notte settimana lunedi martedi mercoledi giovedi \
    venerdi sabato domenica qui qua li fuori casa cucina bagno camera stanza salotto soggiorno sala garage giardino cantina \
    soffitta frigo frigorifero freezer forno piscina acqua vasca doccia ufficio macchina auto serbatoio generale questo questa";

/// What stands before a day or a time that comes again and again, and which these are.
const EVERY: &str = "every each ogni tutti tutte";
const OFTEN: &str = "day week month year weekday weekend morning afternoon evening night monday tuesday wednesday thursday friday saturday \
    sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays other second two three giorno giorni settimana \
    settimane mese mesi anno anni mattina mattine pomeriggio sera sere notte lunedi martedi mercoledi giovedi venerdi sabato sabati \
    domenica domeniche due tre";

/// What people make appointments for.
const APPOINTMENTS: &str = "dentist doctor vet hairdresser haircut barber plumber electrician pediatrician physio optician lawyer \
    notary meeting appointment interview exam visit checkup check-up lunch dinner breakfast brunch coffee drinks party birthday \
    wedding concert theatre theater cinema match training practice rehearsal lesson class course call conference workshop trip \
    flight holiday vacation date event dentista medico dottore dottoressa veterinario veterinaria parrucchiere parrucchiera barbiere \
    idraulico elettricista pediatra fisioterapista oculista ortodontista avvocato notaio commercialista riunione appuntamento \
    colloquio esame visita controllo pranzo cena colazione aperitivo caffè caffe festa compleanno matrimonio concerto teatro \
    partita allenamento prova lezione corso chiamata videochiamata conferenza gita volo ferie vacanza evento incontro";

/// What people have in a house and switch.
const DEVICES: &str = "light lights lamp lamps heating heater heaters thermostat thermostats radiator radiators temperature fan fans plug plugs \
    socket sockets blind blinds shutter shutters curtain curtains awning tv television oven boiler conditioning conditioner dishwasher washer dryer \
    sprinkler sprinklers fireplace stereo speaker speakers vacuum humidifier dehumidifier purifier \
    luce luci lampada lampade lampadario abatjour riscaldamento termostato termostati termosifone termosifoni temperatura ventilatore ventilatori \
    presa prese tapparella tapparelle persiana persiane tenda tende tendone veneziana veneziane scuri tv televisione televisore forno caldaia stufa \
    condizionatore condizionatori lavastoviglie lavatrice asciugatrice irrigazione camino aspirapolvere deumidificatore umidificatore";

/// What leads into a house, or guards it.
const ENTRANCES: &str = "door doors gate gates garage lock locks alarm shutter-door porta porte portone portoncino cancello cancelli cancelletto \
    garage serranda saracinesca basculante serratura serrature allarme antifurto";

/// What else may stand in the name of what leads into a house: "the alarm for seven" guards nothing.
const OF_ENTRANCES: &str = "front back main side garden car house home shed cellar basement left right first second big small and of the my our \
    principale ingresso retro giardino box casa cantina carraio pedonale destro sinistro destra sinistra grande piccolo di del della dell e il la";

/// What says where something is put: "dinner in the oven" is no appointment.
const ELSEWHERE: &str =
    "in into on onto to off under behind nel nella nello nei nelle sul sulla sullo su dentro sotto sopra";

/// What makes of an appointment something that reminds of it: "the dentist reminder".
const OF_REMINDERS: &str = "reminder reminders alarm alarms timer timers promemoria sveglia sveglie avviso allarme";

/// What is said of a list that is not there yet.
const MAKING: &str =
    "make create start begin write prepare set crea creare fai fare prepara preparare scrivi scrivere inizia comincia";

/// What a slot takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Takes {
    /// A file; with a media type, what is in it.
    File(Option<String>),
    /// A file of this media type, by how its name ends.
    FileOf(String),
    /// A folder.
    Folder,
    /// Either; with a media type, what is in it.
    Place(Option<String>),
    /// A typed path.
    New,
    /// What a note is called, or is to be.
    Note,
    /// A new name for the file that the request is about.
    Name,
    /// A list by its name.
    List,
    /// Things for a list.
    Items,
    /// Any words.
    Text,
    /// A few plain words.
    Words,
    /// One word.
    Word,
    /// A quotation.
    Quoted,
    /// A number; whether it must be whole.
    Number {
        /// Without a fraction.
        whole: bool,
    },
    /// A day.
    Date,
    /// A time of day.
    Time,
    /// A duration.
    Duration,
    /// One of these values.
    Choice(Vec<String>),
    /// A web address.
    Url,
    /// A mail address or a host.
    Address,
    /// A place on earth.
    Zone,
    /// A town by its name, known or not.
    Town,
    /// A stretch of time.
    Stretch,
    /// When something is to take place.
    Appointment,
    /// When something is to take place again and again.
    Repeating,
    /// What takes place.
    Event,
    /// A device of the house.
    Device,
    /// What leads into the house.
    Entrance,
}

/// A value that a slot may take up.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Took {
    /// The word behind it.
    pub end: usize,
    /// What becomes of it; `None` for words as they were typed.
    pub value: Option<Value>,
    /// The kind of path it is, when it is one.
    pub path: Option<Kind>,
    /// How many words of a text it is.
    pub loose: usize,
}

impl Took {
    fn value(end: usize, value: impl Into<Value>) -> Self {
        Self { end, value: Some(value.into()), path: None, loose: 0 }
    }

    fn place(end: usize, path: &str, kind: Kind) -> Self {
        Self { path: Some(kind), ..Self::value(end, path) }
    }

    const fn words(begin: usize, end: usize) -> Self {
        Self { end, value: None, path: None, loose: end - begin }
    }
}

impl Takes {
    /// What the slot for `pointer` takes; `None` when the executor has no such argument.
    pub(super) fn of(pointer: &str, kind: Option<SlotKind>, candidate: &Candidate) -> Option<Self> {
        let part = contract::part(&candidate.input, pointer)?;
        let role = candidate.roles.iter().find(|(at, _)| metnos_proto::json::pointer_fits(at, pointer));
        let role = role.map(|(_, role)| role.as_str());
        let want = contract::want(part, role);
        let of_kind = contract::file_kind(part, role).map(str::to_owned);
        // A text that has a media type, and is no path, is what stands in the file.
        let media = match &want {
            Want::Text(media) => media.clone(),
            Want::Path
            | Want::Url
            | Want::Address
            | Want::Number(_)
            | Want::Choice(_)
            | Want::Date
            | Want::Time
            | Want::Duration
            | Want::Flag
            | Want::Other => None,
        };
        let choices = || match part.get("enum").and_then(Value::as_array) {
            Some(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            None => Vec::new(),
        };
        Some(match kind {
            Some(SlotKind::File) => of_kind.map_or(Self::File(media), Self::FileOf),
            Some(SlotKind::Folder) => Self::Folder,
            Some(SlotKind::Place) => Self::Place(media),
            Some(SlotKind::New) => Self::New,
            Some(SlotKind::Note) => Self::Note,
            Some(SlotKind::Name) => Self::Name,
            Some(SlotKind::List) => Self::List,
            Some(SlotKind::Items) => Self::Items,
            Some(SlotKind::Text) => Self::Text,
            Some(SlotKind::Words) => Self::Words,
            Some(SlotKind::Word) => Self::Word,
            Some(SlotKind::Quoted) => Self::Quoted,
            Some(SlotKind::Number) => Self::Number { whole: want == Want::Number(true) },
            Some(SlotKind::Date) => Self::Date,
            Some(SlotKind::Time) => Self::Time,
            Some(SlotKind::Duration) => Self::Duration,
            Some(SlotKind::Choice) => Self::Choice(choices()),
            Some(SlotKind::Url) => Self::Url,
            Some(SlotKind::Address) => Self::Address,
            Some(SlotKind::Zone) => Self::Zone,
            Some(SlotKind::Town) => Self::Town,
            Some(SlotKind::Stretch) => Self::Stretch,
            Some(SlotKind::Appointment) => Self::Appointment,
            Some(SlotKind::Repeating) => Self::Repeating,
            Some(SlotKind::Event) => Self::Event,
            Some(SlotKind::Device) => Self::Device,
            Some(SlotKind::Entrance) => Self::Entrance,
            None => match want {
                Want::Path => Self::Place(None),
                Want::Url => Self::Url,
                Want::Address => Self::Address,
                Want::Number(whole) => Self::Number { whole },
                Want::Choice(choices) => Self::Choice(choices),
                Want::Date => Self::Date,
                Want::Time => Self::Time,
                Want::Duration => Self::Duration,
                Want::Text(_) => Self::Text,
                Want::Flag | Want::Other => return None,
            },
        })
    }

    /// Whether an article before its words belongs to them.
    pub(super) const fn keeps_articles(&self) -> bool {
        matches!(self, Self::Text | Self::Items)
    }

    /// What it may take up from the word at `at` on.
    pub(super) fn options(&self, request: &Request<'_>, at: usize, lang: Lang, changes: bool) -> Vec<Took> {
        let Some(token) = request.words.tokens.get(request.token(at)) else { return Vec::new() };
        let after = request.at_token(request.token(at) + 1);
        let one = |found: Option<Value>| found.map(|value| Took::value(after, value)).into_iter().collect();
        let text = |is: bool| is.then(|| Value::from(token.text));
        match self {
            Self::File(Some(media)) if media == TABLE => {
                let meant = outlay(request, at);
                let others = place(request, at, PlaceWant::File).into_iter();
                let others: Vec<Took> =
                    others.filter(|one| meant.as_ref().is_none_or(|meant| meant.end != one.end)).collect();
                meant.into_iter().chain(others).collect()
            }
            Self::File(_) => place(request, at, PlaceWant::File),
            Self::FileOf(media) => of_kind(request, at, media),
            Self::Folder => place(request, at, PlaceWant::Folder),
            Self::Place(_) => place(request, at, PlaceWant::Any),
            Self::New => {
                if token.is_path() {
                    vec![Took::place(after, token.text, token.path_kind())]
                } else {
                    Vec::new()
                }
            }
            Self::Note => notes(request, at, token, after),
            Self::Name => few(request, at, token, after)
                .into_iter()
                .filter(|took| request.between(at, took.end).is_some_and(|words| file_name(words).is_some()))
                .collect(),
            Self::List => list(request, at, lang, changes),
            Self::Items | Self::Text => texts(request, at, token, after),
            Self::Words => few(request, at, token, after),
            Self::Word => {
                let is_word = token.kind != Kind::Url && token.kind != Kind::Address;
                let is_plain = token.kind != Kind::Word
                    || !said::is_pronoun(&said::plain(token.text)) && grammar::way(token.text).is_none();
                one(text(is_word && is_plain))
            }
            Self::Quoted => one(text(token.kind == Kind::Quoted)),
            Self::Url => one(text(token.kind == Kind::Url)),
            Self::Address => one(text(token.kind == Kind::Address)),
            Self::Number { whole } => one(number(token, *whole)),
            Self::Date => days(request, at, token, lang),
            Self::Time => one(when::time(token.text).filter(|_| token.kind == Kind::Time).map(Value::from)),
            Self::Duration => duration(request, at, token),
            Self::Choice(choices) => choice(request, at, choices, lang),
            Self::Zone => zones(request, at),
            Self::Town => towns(request, at, token, after),
            Self::Stretch => times(request, at, MAX_DAY, |words| when::stretch(words, lang, request.words.now)),
            Self::Appointment => times(request, at, MAX_DAY, |words| when::appointment(words, lang, request.words.now)),
            Self::Repeating => {
                times(request, at, MAX_REPEATING, |words| when::repeating(words, lang, request.words.now))
            }
            Self::Event => events(request, at, token, after),
            Self::Device => devices(request, at, token, after, false),
            Self::Entrance => devices(request, at, token, after, true),
        }
    }
}

/// The plain words from `at` on as one text, up to so many, each with the word behind it.
fn phrases(request: &Request<'_>, at: usize, most: usize) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    let mut text = String::new();
    for end in at + 1..=request.len().min(at + most) {
        let Some(one) = request.said.get(end - 1).filter(|one| one.is_word) else { break };
        // "The trip and list notes" is no name: what is joined is another thing.
        if request.words.tokens[one.token].mark == Mark::And {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&one.plain);
        if request.is_edge(end) {
            all.push((end, text.clone()));
        }
        // A name does not go on behind a comma.
        if request.is_edge(end) && request.words.tokens[one.token].ends_clause {
            break;
        }
    }
    all
}

fn is_one_of(word: &str, words: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// A file or folder: as it is typed, behind what it is, or by its name.
fn place(request: &Request<'_>, at: usize, want: PlaceWant) -> Vec<Took> {
    let plain = |at: usize| request.said.get(at).filter(|one| one.is_word).map_or("", |one| one.plain.as_str());
    let (files, folders) = (want != PlaceWant::Folder, want != PlaceWant::File);
    // "The file notes/a.md", "a folder called attic": the noun belongs to it.
    let is_file = files && is_one_of(plain(at), FILE_NOUNS);
    let is_folder = folders && is_one_of(plain(at), FOLDER_NOUNS);
    let mut begin = at + usize::from(is_file || is_folder);
    begin += usize::from(begin > at && is_naming(plain(begin)));
    let mut found: Vec<Took> = typed(request, begin, want).into_iter().collect();
    if is_folder && found.is_empty() && begin < request.len() && request.is_edge(begin) {
        found.extend(named_folder(request, begin));
    }
    // What calls a list names that list, and no file of which a word is like it.
    let is_list = lists::called_at(request.words.tokens, request.token(at)).is_some();
    for (end, text) in phrases(request, at, MAX_NAME) {
        if folders && is_all(request, at, &text) {
            found.push(Took::place(end, ".", Kind::Folder));
        }
        if let Some(path) = request.resolved(at, end, want).filter(|_| !is_list) {
            let is_folder = request.words.lists.there.iter().any(|one| one.folder && one.path == path);
            let kind = if is_folder { Kind::Folder } else { Kind::File };
            found.push(Took::place(end, &path, kind));
        }
    }
    if folders {
        found.extend(known_folder(request, at));
    }
    found.dedup_by(|a, b| a == b);
    let mut seen: Vec<Took> = Vec::new();
    for one in found {
        // Of two ways to name a place with the same words, the first.
        if !seen.iter().any(|known| known.end == one.end) {
            seen.push(one);
        }
    }
    seen
}

/// A file of a kind: of all that the words may name, those that end like it. "The bill" is the only bill that is a PDF.
fn of_kind(request: &Request<'_>, at: usize, media: &str) -> Vec<Took> {
    let is_of_kind = |took: &Took| {
        took.value.as_ref().and_then(Value::as_str).and_then(contract::kind_of_file).is_some_and(|kind| kind == media)
    };
    place(request, at, PlaceWant::File).into_iter().filter(is_of_kind).collect()
}

/// "La spesa più grossa" is one of the spese: where a table is wanted, no list of what is to be bought is meant.
fn outlay(request: &Request<'_>, at: usize) -> Option<Took> {
    let rest = request.said.get(at..)?;
    let articles = rest.iter().take_while(|one| one.is_word && said::is_article(&one.plain, Lang::It)).count();
    let said = rest.get(articles).filter(|one| one.is_word && one.plain == "spesa")?;
    let is_meant = |path: &str| path.ends_with(".csv") && name_words(path).iter().any(|word| are_forms(word, "spese"));
    let mut tables = request.words.lists.there.iter().filter(|one| !one.folder && is_meant(&one.path));
    let (Some(table), None) = (tables.next(), tables.next()) else { return None };
    Some(Took::place(request.at_token(said.token + 1), &table.path, Kind::File))
}

/// A path that is typed at `at`.
fn typed(request: &Request<'_>, at: usize, want: PlaceWant) -> Option<Took> {
    let token = request.words.tokens.get(request.token(at)).filter(|_| request.is_edge(at) && at < request.len())?;
    let kind = token.is_path().then(|| token.path_kind())?;
    let fits = match want {
        PlaceWant::File => kind != Kind::Folder,
        PlaceWant::Folder => kind != Kind::File,
        PlaceWant::Any => true,
    };
    fits.then(|| Took::place(request.at_token(request.token(at) + 1), token.text, kind))
}

/// The word behind "folder": a name, whether or not it is known.
fn named_folder(request: &Request<'_>, at: usize) -> Option<Took> {
    let token = request.words.tokens.get(request.token(at))?;
    let is_name = match token.kind {
        Kind::Word => matches!(token.mark, Mark::Stem(_)) && !is_no_folder(token.text),
        Kind::Quoted => true,
        Kind::File
        | Kind::Folder
        | Kind::Path
        | Kind::Url
        | Kind::Address
        | Kind::Number
        | Kind::Date
        | Kind::Time
        | Kind::Pattern => false,
    };
    let end = request.at_token(request.token(at) + 1);
    let path = || request.resolved(at, end, PlaceWant::Folder).unwrap_or_else(|| token.text.to_owned());
    is_name.then(|| Took::place(end, &path(), Kind::Folder))
}

/// A bare word that is known as a folder, with or without "folder" behind it.
fn known_folder(request: &Request<'_>, at: usize) -> Vec<Took> {
    let Some(token) = request.words.tokens.get(request.token(at)).filter(|token| token.kind == Kind::Word) else {
        return Vec::new();
    };
    if !matches!(token.mark, Mark::Stem(_)) {
        return Vec::new();
    }
    let end = request.at_token(request.token(at) + 1);
    let behind = request.said.get(end).is_some_and(|one| is_one_of(&one.plain, FOLDER_NOUNS));
    let is_known = request.words.known.contains(&token.text.to_lowercase());
    let bare = is_known.then(|| Took::place(end, token.text, Kind::Folder));
    let full = (behind && !is_no_folder(token.text)).then(|| Took::place(end + 1, token.text, Kind::Folder));
    bare.into_iter().chain(full).collect()
}

/// Whether words stand for all that there is.
fn is_all(request: &Request<'_>, at: usize, text: &str) -> bool {
    let mine = || at.checked_sub(1).is_some_and(|before| is_one_of(&request.said[before].plain, POSSESSIVES));
    ALL.contains(&text)
        || is_one_of(text, ALL_OF_MINE) && mine()
        || text.split_once(' ').is_some_and(|(of, what)| is_one_of(of, POSSESSIVES) && is_one_of(what, ALL_OF_MINE))
}

fn list(request: &Request<'_>, at: usize, lang: Lang, changes: bool) -> Vec<Took> {
    let tokens = request.words.tokens;
    let Some((count, kind)) = lists::called_at(tokens, request.token(at)) else { return whole_names(request, at) };
    let end = request.at_token(request.token(at) + count);
    // One that only "the list" calls is not made: nobody knows what it is of. Who asks for "a list of hotels" to be made wants
    // to be told of some.
    let says = |words: &[said::Said], of: &str| words.iter().any(|one| is_one_of(&one.plain, of));
    let asks_for_some = says(&request.said[..at], MAKING) && says(&request.said[at..end], "of for di per");
    let makes = changes && count > 1 && !asks_for_some;
    let lists = lists::Places { italian: lang == Lang::It, ..request.words.lists };
    let path = lists.place(&kind, request.words.text, makes);
    path.map(|path| Took::place(end, &path, Kind::File)).into_iter().collect()
}

/// What a note is called: the one that is there under just this name, else the place of a new one.
fn notes(request: &Request<'_>, at: usize, token: &Token<'_>, after: usize) -> Vec<Took> {
    let place = |(end, name): (usize, String)| {
        let there = request.words.lists.there.iter().find(|one| !one.folder && stem(&one.path) == name);
        // A guest's goes where his lists go.
        let path = there.map_or_else(|| format!("{}/{name}.md", request.words.lists.folder()), |one| one.path.clone());
        Took::place(end, &path, Kind::File)
    };
    if token.kind == Kind::Quoted {
        return file_name(token.text).map(|name| place((after, name))).into_iter().collect();
    }
    let begins_plainly = token.kind == Kind::Word && grammar::way(token.text).is_none();
    let names = few(request, at, token, after).into_iter().filter(|_| begins_plainly);
    names.filter_map(|took| Some(place((took.end, file_name(request.between(at, took.end)?)?)))).collect()
}

/// The path of a file that gets another name by these words, beside where it lies.
pub(super) fn renamed(path: &str, words: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let ending = name.rsplit_once('.').map_or(String::new(), |(_, ending)| format!(".{ending}"));
    let new = file_name(words)?;
    Some(if folder.is_empty() { format!("{new}{ending}") } else { format!("{folder}/{new}{ending}") })
}

/// The name of a file without its folder and its ending, in small letters.
fn stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_lowercase()
}

/// What a file is named by these words: `gita-a-roma`. `None` where nothing is left that a name can have.
fn file_name(words: &str) -> Option<String> {
    let parts = words.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let name = parts.map(str::to_lowercase).collect::<Vec<_>>().join("-");
    (!name.is_empty() && name.len() <= MAX_FILE_NAME).then_some(name)
}

/// Files whose whole name of several words stands at `at`: "i film da vedere" is `notes/film-da-vedere.md`.
fn whole_names(request: &Request<'_>, at: usize) -> Vec<Took> {
    let is_text = |path: &str| path.ends_with(".md") || path.ends_with(".txt");
    let files = request.words.lists.there.iter().filter(|one| !one.folder && is_text(&one.path));
    let called: Vec<(String, &str)> = files.map(|one| (spoken(&stem(&one.path)), one.path.as_str())).collect();
    let mut found = Vec::new();
    for (end, text) in phrases(request, at, MAX_NAME).into_iter().filter(|(_, text)| text.contains(' ')) {
        let mut fitting = called.iter().filter(|(name, _)| *name == text);
        if let (Some((_, path)), None) = (fitting.next(), fitting.next()) {
            found.push(Took::place(end, path, Kind::File));
        }
    }
    found
}

/// A name as it is said: words with spaces, without accents.
fn spoken(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(said::plain).collect::<Vec<_>>().join(" ")
}

/// A quotation, or any words up to each later place.
fn texts(request: &Request<'_>, at: usize, token: &Token<'_>, after: usize) -> Vec<Took> {
    if token.kind == Kind::Quoted {
        return vec![Took { loose: 1, ..Took::value(after, token.text) }];
    }
    // "Note it" passes nothing on; "email Anna: it is late" does.
    let points = request.said.get(at).is_some_and(|one| one.is_word && said::is_pronoun(&one.plain));
    if points && !request.quotes(at) {
        return Vec::new();
    }
    let (tokens, first) = (request.words.tokens, request.token(at));
    if says_where(&tokens[first..]) {
        return Vec::new();
    }
    // A text that something follows holds no paths, addresses or quotations.
    let is_foreign = |token: &Token<'_>| token.is_path() || matches!(token.kind, Kind::Quoted | Kind::Url);
    let plain = tokens[first..].iter().position(is_foreign).map_or(tokens.len(), |foreign| first + foreign);
    let ends = (at + 1..=request.len())
        .filter(|end| request.is_edge(*end) && (request.token(*end) <= plain || request.ends.contains(end)));
    ends.map(|end| Took::words(at, end)).collect()
}

/// Whether words begin with the place where something is to stand, as in "jot down in notes/ideas.md that we paint": no text
/// begins so, and what is written elsewhere was not asked for.
fn says_where(tokens: &[Token<'_>]) -> bool {
    let Some((first, rest)) = tokens.split_first() else { return false };
    let is_passed = |one: &&Token<'_>| grammar::is_filler(one.text, false) || is_one_of(one.text, FILE_NOUNS);
    grammar::way(first.text) == Some(grammar::Way::To)
        && rest.iter().find(|one| !is_passed(one)).is_some_and(Token::is_path)
}

/// A quotation, or a few words that are neither values nor pronouns.
fn few(request: &Request<'_>, at: usize, token: &Token<'_>, after: usize) -> Vec<Took> {
    if matches!(token.kind, Kind::Quoted | Kind::Pattern) {
        return vec![Took { loose: 1, ..Took::value(after, token.text) }];
    }
    let mut found = Vec::new();
    for end in at + 1..=request.len().min(at + MAX_WORDS) {
        let Some(one) = request.said.get(end - 1) else { break };
        let token = &request.words.tokens[one.token];
        let plain = one.is_word && !said::is_pronoun(&one.plain);
        if end > at + 1 && is_how_often(request, end - 1) {
            break;
        }
        if !plain && !matches!(token.kind, Kind::Number | Kind::Date | Kind::Time) {
            break;
        }
        if request.is_edge(end) {
            found.push(Took::words(at, end));
        }
        // "It is finished, put it on the list": a few words are of one clause.
        if token.ends_clause && request.is_edge(end) {
            break;
        }
    }
    found
}

/// Whether the words from here on say how often: "every Tuesday", "tutti i martedì". They are no part of what a thing is called.
fn is_how_often(request: &Request<'_>, at: usize) -> bool {
    let is_one = |at: usize, of: &str| request.said.get(at).is_some_and(|one| is_one_of(&one.plain, of));
    is_one(at, EVERY) && (is_one(at + 1, OFTEN) || is_one(at + 1, "i gli le the") && is_one(at + 2, OFTEN))
}

/// The name of a town: a few words of which none is a number, a time, or something of a house.
fn towns(request: &Request<'_>, at: usize, token: &Token<'_>, after: usize) -> Vec<Took> {
    let is_name = |one: &said::Said| one.is_word && !is_one_of(&one.plain, NO_TOWN);
    let mut found = few(request, at, token, after);
    found.retain(|took| {
        took.value.is_some() || took.end - at <= MAX_PLACE && request.said[at..took.end].iter().all(is_name)
    });
    found
}

fn number(token: &Token<'_>, whole: bool) -> Option<Value> {
    let text = match token.kind {
        Kind::Number => token.text,
        // "40%" and "20°": the unit stands at the number.
        Kind::Word => {
            token.text.strip_suffix(['%', '°']).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?
        }
        Kind::File
        | Kind::Folder
        | Kind::Path
        | Kind::Url
        | Kind::Address
        | Kind::Date
        | Kind::Time
        | Kind::Pattern
        | Kind::Quoted => return None,
    };
    match when::whole(text) {
        Some(number) => Some(Value::from(number)),
        None if whole => None,
        None => Some(Value::Number(serde_json::Number::from_f64(text.replace(',', ".").parse().ok()?)?)),
    }
}

fn duration(request: &Request<'_>, at: usize, token: &Token<'_>) -> Vec<Took> {
    let unit = request.words.tokens.get(request.token(at) + 1);
    let counts = token.kind == Kind::Number || when::number_word(token.text).is_some();
    let found = unit.filter(|_| counts).and_then(|unit| when::duration(token.text, unit.text));
    let end = request.at_token(request.token(at) + 2);
    found.map(|text| Took::value(end, text)).into_iter().collect()
}

/// A day: a date, or words such as "Christmas", "il 25 aprile 2020", "next Friday". Today is excluded: "what day is it today" asks
/// for the date.
fn days(request: &Request<'_>, at: usize, token: &Token<'_>, lang: Lang) -> Vec<Took> {
    let typed = when::date(token.text, request.words.lang).filter(|_| token.kind == Kind::Date);
    if let Some(day) = typed {
        return vec![Took::value(request.at_token(request.token(at) + 1), day)];
    }
    let said = |end: usize| -> Option<Took> {
        let words = request.between(at, end).filter(|_| request.is_edge(end))?;
        let day = when::day(words, lang, request.words.now)?;
        Some(Took::value(end, day))
    };
    (at + 1..=request.len().min(at + MAX_DAY)).filter_map(said).collect()
}

/// Words of time, as `read` has them.
fn times(request: &Request<'_>, at: usize, most: usize, read: impl Fn(&str) -> Option<String>) -> Vec<Took> {
    let said = |end: usize| -> Option<Took> {
        let words = request.between(at, end).filter(|_| request.is_edge(end))?;
        Some(Took::value(end, read(words)?))
    };
    (at + 1..=request.len().min(at + most)).filter_map(said).collect()
}

/// What takes place: a few words that begin with what people make appointments for.
fn events(request: &Request<'_>, at: usize, token: &Token<'_>, after: usize) -> Vec<Took> {
    if !request.said.get(at).is_some_and(|one| one.is_word && is_one_of(&one.plain, APPOINTMENTS)) {
        return Vec::new();
    }
    let is_other = |word: &str| is_one_of(word, ELSEWHERE) || is_one_of(word, OF_REMINDERS);
    let is_elsewhere = |took: &Took| request.said[at..took.end].iter().any(|one| is_other(&one.plain));
    few(request, at, token, after).into_iter().filter(|took| !is_elsewhere(took)).collect()
}

/// The words that name a device of the house, or, for `is_entrance`, a door, a gate, a lock or an alarm.
fn devices(request: &Request<'_>, at: usize, token: &Token<'_>, after: usize, is_entrance: bool) -> Vec<Took> {
    let of = |took: &Took, known: &str| request.said[at..took.end].iter().any(|one| is_one_of(&one.plain, known));
    let is_known = |one: &said::Said| is_one_of(&one.plain, ENTRANCES) || is_one_of(&one.plain, OF_ENTRANCES);
    let fits = |took: &Took| match of(took, ENTRANCES) {
        true => is_entrance && request.said[at..took.end].iter().all(is_known),
        false => !is_entrance && of(took, DEVICES),
    };
    let is_quoted = |took: &Took| took.value.is_some();
    few(request, at, token, after).into_iter().filter(|took| !is_quoted(took) && fits(took)).collect()
}

/// The month that these words mean beside today, and how many months back: "last month".
const MONTHS_BESIDE_TODAY: [(&str, usize); 9] = [
    ("this month", 0),
    ("last month", 1),
    ("the last month", 1),
    ("questo mese", 0),
    ("mese scorso", 1),
    ("il mese scorso", 1),
    ("lo scorso mese", 1),
    ("scorso mese", 1),
    ("il mese passato", 1),
];
/// The one of these values that such words mean, where they are the names of the months in their order.
fn month_beside_today<'a>(request: &Request<'_>, text: &str, choices: &'a [String], lang: Lang) -> Option<&'a str> {
    let (_, back) = MONTHS_BESIDE_TODAY.iter().find(|(words, _)| *words == text)?;
    let (now, zone) = request.words.now;
    let today = Zone::read(zone).unwrap_or_default().at(now).filter(|_| now > 0)?;
    let month = usize::try_from(today.month()).ok()?;
    let january = if lang == Lang::It { "gennaio" } else { "january" };
    let first = choices.iter().position(|choice| choice == january)?;
    choices.get(first + (month + 11 - back) % 12).map(String::as_str)
}

/// One of the values of the schema, or a word of either language that orders things.
fn choice(request: &Request<'_>, at: usize, choices: &[String], lang: Lang) -> Vec<Took> {
    let tokens = &request.words.tokens[request.token(at)..];
    let mut found = Vec::new();
    for (end, text) in phrases(request, at, 3) {
        if let Some(month) = month_beside_today(request, &text, choices, lang) {
            found.push(Took::value(end, month));
        }
        if let Some(choice) = choices.iter().find(|choice| said::plain(choice).replace(['_', '-'], " ") == text) {
            found.push(Took::value(end, choice.as_str()));
        }
    }
    let before = grammar::is_before_superlative(tokens[0].text);
    let word = if before { tokens.get(1) } else { tokens.first() };
    let order = word.and_then(|word| grammar::superlative(before.then_some(tokens[0].text), word.text));
    if let Some(choice) = order.and_then(|order| choices.iter().find(|choice| *choice == order)) {
        found.push(Took::value(request.at_token(request.token(at) + 1 + usize::from(before)), choice.as_str()));
    }
    if let Mark::Concept(concept @ ("file" | "folder")) = tokens[0].mark
        && let Some(choice) = choices.iter().find(|choice| *choice == concept)
    {
        found.push(Took::value(request.at_token(request.token(at) + 1), choice.as_str()));
    }
    let mut seen = Vec::new();
    found.retain(|one| {
        !seen.contains(&one.end) && {
            seen.push(one.end);
            true
        }
    });
    found
}

fn zones(request: &Request<'_>, at: usize) -> Vec<Took> {
    let first = request.token(at);
    let most = request.words.tokens.len().min(first + MAX_PLACE);
    let mut found = Vec::new();
    for last in first..most {
        let words: Vec<&str> = request.words.tokens[first..=last].iter().map(|token| token.text).collect();
        if let Some(zone) = places::zone(&words) {
            found.push(Took::value(request.at_token(last + 1), zone));
        }
    }
    found
}
