// Every sentence of the page, in the languages that Metnos speaks.

/** @type {Record<string, [string, string]>} English, Italian. */
const WORDS = {
  today: ["Today", "Oggi"],
  waiting: ["Waiting", "In attesa"],
  plans: ["Plans", "Programmi"],
  memory: ["Memory", "Memoria"],
  book: ["Book", "Registro"],
  abilities: ["Abilities", "Capacità"],
  mnestome: ["Mnestome", "Mnestoma"],
  house: ["House", "Casa"],
  views: ["Views", "Pagine"],
  skip: ["Skip to the content", "Vai al contenuto"],
  loading: ["One moment…", "Un momento…"],
  more: ["Show more", "Mostra altro"],
  failed: ["That did not work: {why}", "Non ha funzionato: {why}"],
  away: ["Metnos is not reachable. Trying again…", "Metnos non è raggiungibile. Riprovo…"],
  offline: ["Metnos is not reachable now.", "Metnos non è raggiungibile adesso."],

  in_title: ["Good day. This is Metnos.", "Buongiorno. Questo è Metnos."],
  in_help: [
    "To come in, enter the code of an invitation. Whoever looks after Metnos makes one with “metnosctl web” or “metnosctl pairing invite http”.",
    "Per entrare, scrivi il codice di un invito. Chi si occupa di Metnos ne crea uno con «metnosctl web» o «metnosctl pairing invite http».",
  ],
  in_code: ["Code", "Codice"],
  in_enter: ["Come in", "Entra"],
  in_already: ["You are here as {name} already.", "Sei già qui come {name}."],
  in_other: ["Use the new invitation", "Usa il nuovo invito"],
  in_stay: ["Stay", "Resta così"],
  in_wrong: ["No open invitation has this code. A code works once, within ten minutes.", "Nessun invito aperto ha questo codice. Un codice vale una volta sola, per dieci minuti."],

  hello: ["Good day, {name}.", "Ciao, {name}."],
  hello_nobody: ["Good day.", "Ciao."],
  hello_more: ["Write what you want. These are a few things to begin with:", "Scrivi cosa ti serve. Ecco qualche idea per cominciare:"],
  try_1: ["what can you do", "cosa sai fare"],
  try_2: ["what is on the shopping list", "cosa c'è sulla lista della spesa"],
  try_3: ["remind me tomorrow at 9 to call the dentist", "ricordami domani alle 9 di chiamare il dentista"],
  try_4: ["what is planned", "cosa è in programma"],
  say: ["Write to Metnos", "Scrivi a Metnos"],
  send: ["Send", "Invia"],
  stop: ["Stop", "Ferma"],
  talk: ["Conversation", "Conversazione"],
  you: ["You", "Tu"],
  thinking: ["Working on it…", "Ci sto lavorando…"],
  earlier: ["Earlier messages", "Messaggi precedenti"],
  undo: ["Undo", "Annulla"],
  forget: ["Forget", "Dimentica"],
  forget_sure: ["Forget for good?", "Dimenticare per sempre?"],
  forgotten: ["This was taken out of the memory.", "Questo è stato tolto dalla memoria."],
  reminder: ["Reminder", "Promemoria"],
  next: ["Coming up", "In arrivo"],
  next_none: ["Nothing is planned.", "Non c'è niente in programma."],
  look_back: ["Looking back", "Uno sguardo indietro"],
  look_back_say: ["what happened today?", "cosa è successo oggi?"],
  due: ["Waits for you", "Aspetta te"],
  due_none: ["Nothing waits for an answer.", "Niente aspetta una risposta."],
  due_some: ["{count} waiting", "{count} in attesa"],
  end_denied: ["Not allowed", "Non permesso"],
  end_unsuccessful: ["Did not work", "Non riuscito"],
  end_cancelled: ["Stopped", "Fermato"],
  end_broken: ["Interrupted", "Interrotto"],
  end_not_understood: ["Not understood", "Non capito"],
  call_started: ["running", "in corso"],
  call_succeeded: ["done", "fatto"],
  call_unsuccessful: ["did not work", "non riuscito"],
  call_denied: ["not allowed", "non permesso"],
  call_waits: ["waits for you", "aspetta te"],
  steps: ["What was done", "Cosa è stato fatto"],

  card: ["Metnos asks", "Metnos chiede"],
  card_of: ["{who} asks", "{who} chiede"],
  card_yes: ["Allow once", "Permetti una volta"],
  card_turn: ["Allow for this request", "Permetti per questa richiesta"],
  card_no: ["Do not allow", "Non permettere"],
  card_code: ["One-time code", "Codice monouso"],
  card_elsewhere: ["This is decided at the machine: metnosctl approvals", "Questo si decide alla macchina: metnosctl approvals"],
  card_until: ["Can be answered until {when}", "Si può rispondere fino alle {when}"],
  card_approved: ["Allowed.", "Permesso."],
  card_denied: ["Not allowed.", "Non permesso."],
  card_planned: ["All right: from now on I tell you this unasked.", "Va bene: d’ora in poi te lo dico io."],
  card_declined: ["All right, I leave it.", "Va bene, lascio stare."],
  offer: ["Shall I tell you this unasked from now on?", "Vuoi che d’ora in poi te lo dica senza che tu me lo chieda?"],
  offer_yes: ["Yes, please", "Sì, grazie"],
  offer_no: ["No, thanks", "No, grazie"],
  card_expired: ["Nobody answered in time.", "Nessuno ha risposto in tempo."],
  waiting_none: ["Nothing waits for an answer", "Niente aspetta una risposta"],
  waiting_more: ["What Metnos may not do without asking appears here and in the conversation.", "Quello che Metnos non può fare senza chiedere compare qui e nella conversazione."],

  plans_none: ["Nothing is planned", "Non c'è niente in programma"],
  plans_more: ["Say it in the conversation: “remind me tomorrow at 9 to call the dentist”.", "Dillo nella conversazione: «ricordami domani alle 9 di chiamare il dentista»."],
  plans_new: ["New reminder", "Nuovo promemoria"],
  plans_hint: ["tomorrow at 9 to call the dentist", "domani alle 9 di chiamare il dentista"],
  plans_say: ["remind me {what}", "ricordami {what}"],
  plans_add: ["Plan it", "Aggiungi"],
  plans_past: ["Over", "Passati"],
  plan_cancel: ["Cancel", "Annulla"],
  plan_sure: ["Really cancel?", "Annullare davvero?"],
  plan_for: ["for {person}", "per {person}"],
  plan_held: ["Held back until {when}", "Rimandato fino a {when}"],
  kind_reminder: ["Reminder", "Promemoria"],
  kind_message: ["Message", "Messaggio"],
  kind_ask: ["Question", "Domanda"],
  kind_do: ["Action", "Azione"],
  state_active: ["", ""],
  state_cancelled: ["cancelled", "annullato"],
  state_paused: ["paused", "in pausa"],
  state_done: ["given", "dato"],
  state_unsure: ["may not have arrived", "forse non è arrivato"],

  memory_help: [
    "What you have said to Metnos, here and elsewhere, and what it answered. Nobody else is shown it. What you forget is taken out for good.",
    "Quello che hai detto a Metnos, qui e altrove, e che cosa ha risposto. Non lo vede nessun altro. Quello che dimentichi è tolto per sempre.",
  ],
  memory_search: ["Search in it", "Cerca"],
  memory_none: ["Nothing is remembered here", "Qui non c'è niente in memoria"],
  memory_none_more: ["What you say to Metnos stands here afterwards.", "Quello che dici a Metnos poi si trova qui."],
  memory_not_found: ["Nothing was found with these words", "Con queste parole non c'è niente"],
  memory_not_found_more: ["Try fewer words, or look further back.", "Prova con meno parole, o guarda più indietro."],
  memory_back: ["Look further back", "Guarda più indietro"],
  memory_elsewhere: [
    "What you had planned stands in Plans; your notes and lists are files: “what did I note”, “my private list”.",
    "Quello che hai programmato sta in Programmi; le tue note e liste sono file: «cosa ho annotato», «la mia lista privata».",
  ],
  on_cli: ["at the terminal", "al terminale"],
  on_http: ["on a page", "su una pagina"],
  on_telegram: ["on Telegram", "su Telegram"],
  book_none: ["Nothing has happened yet", "Non è ancora successo niente"],
  book_help: [
    "Everything that happens is written down in a chain that nobody can change. What was said stays between those who said it.",
    "Tutto quello che succede è scritto in una catena che nessuno può cambiare. Quello che si è detto resta tra chi l'ha detto.",
  ],
  book_filter: ["Show", "Mostra"],
  book_all: ["Everything", "Tutto"],
  book_turns: ["Requests", "Richieste"],
  book_house: ["The house itself", "La casa stessa"],
  ev_owner_message: ["Something was asked", "È stato chiesto qualcosa"],
  ev_assistant_message: ["Metnos answered", "Metnos ha risposto"],
  ev_policy_decision: ["Decided", "Deciso"],
  ev_run_started: ["Began to run", "Avviato"],
  ev_run_ended: ["Ran", "Eseguito"],
  ev_turn_open: ["The request was opened", "Richiesta aperta"],
  ev_turn_close: ["The request was closed", "Richiesta chiusa"],
  ev_approval: ["A card was answered", "Risposta a una scheda"],
  ev_schedule_event: ["A plan", "Un programma"],
  ev_system_event: ["The system", "Il sistema"],
  ev_checkpoint: ["The chain was signed", "Catena firmata"],
  ev_cost_entry: ["Costs", "Costi"],
  ev_identity_check: ["Identity checked", "Identità controllata"],
  ev_world_action: ["A change", "Una modifica"],
  ev_evolution: ["An ability was added or changed", "Una capacità aggiunta o cambiata"],
  ev_payload_redacted: ["Words were taken out", "Parole tolte"],
  ev_constitution_modified: ["The Laws were changed", "Le Leggi sono cambiate"],
  ev_tool_call: ["A model asked for something", "Un modello ha chiesto qualcosa"],
  ev_tool_result: ["A model was given a result", "Un modello ha ricevuto un risultato"],
  how_allow: ["allowed", "permesso"],
  how_deny: ["not allowed", "non permesso"],
  how_ask: ["waited for an answer", "in attesa di una risposta"],
  how_ok: ["worked", "riuscito"],
  how_error: ["did not work", "non riuscito"],
  how_crashed: ["broke", "si è rotto"],
  how_bad_output: ["gave something odd", "ha dato qualcosa di strano"],
  how_cpu_exceeded: ["worked too long", "ha lavorato troppo a lungo"],
  how_timeout: ["took too long", "ci ha messo troppo"],
  how_memory_exceeded: ["needed too much memory", "troppa memoria"],
  how_output_too_large: ["gave too much", "ha dato troppo"],
  how_processes_exceeded: ["started too much", "ha avviato troppo"],
  how_disk_exceeded: ["wrote too much", "ha scritto troppo"],
  how_killed: ["was stopped", "fermato"],
  how_interrupted: ["was interrupted", "interrotto"],
  how_sandbox_failed: ["could not be started", "non si è potuto avviare"],
  ev_thought: ["A model was asked", "È stato chiesto a un modello"],

  abilities_help: ["What Metnos can do, and how far each ability reaches.", "Cosa sa fare Metnos e fin dove arriva ogni capacità."],
  abilities_find: ["Find an ability", "Cerca una capacità"],
  abilities_none: ["No ability is called so", "Nessuna capacità si chiama così"],
  class_read: ["reads", "legge"],
  class_compute: ["computes", "calcola"],
  class_self_create: ["adds files of yours", "aggiunge file tuoi"],
  class_self_modify: ["changes files of yours", "modifica file tuoi"],
  class_destroy: ["puts into the trash", "sposta nel cestino"],
  class_net_read: ["reads from the network", "legge dalla rete"],
  class_shell: ["runs programs", "esegue programmi"],
  class_send: ["sends", "invia"],
  class_spend: ["spends", "spende"],
  st_active: ["at work", "attiva"],
  st_below_threshold: ["on trial", "in prova"],
  st_quarantined: ["set aside", "in quarantena"],
  st_archived: ["archived", "archiviata"],
  st_staged: ["not signed", "non firmata"],
  st_signed: ["signed", "firmata"],
  st_revoked: ["revoked", "revocata"],

  mnestome_help: [
    "Abilities that have worked together. The stronger the line, the more often; a dashed line is a wish.",
    "Le capacità che hanno lavorato insieme. Più la linea è spessa, più spesso è successo; una linea tratteggiata è un desiderio.",
  ],
  mnestome_none: ["Nothing has been learnt yet", "Non è stato ancora imparato niente"],
  mnestome_more: ["When the result of one ability was used by another, a line appears here.", "Quando il risultato di una capacità è usato da un'altra, qui compare una linea."],
  mnestome_owner: ["Only the owner sees what the house has learnt.", "Solo chi è proprietario vede cosa ha imparato la casa."],
  mnestome_picture: ["A picture of {nodes} abilities and {edges} connections; the table below says the same.", "Un disegno di {nodes} capacità e {edges} collegamenti; la tabella sotto dice lo stesso."],
  from: ["From", "Da"],
  to: ["To", "A"],
  weight: ["Strength", "Forza"],
  uses: ["Uses", "Usi"],
  last: ["Last", "Ultima volta"],
  words: ["what was said", "quello che si è detto"],

  house_you: ["You", "Tu"],
  house_is: ["You are here as", "Sei qui come"],
  standing_owner: ["owner", "proprietario"],
  standing_adult: ["grown-up of the household", "adulto della casa"],
  standing_guest: ["guest", "ospite"],
  house_level: ["Without asking, Metnos may", "Senza chiedere, Metnos può"],
  level_readonly: ["only read", "solo leggere"],
  level_supervised: ["do everyday things that can be undone", "fare cose di tutti i giorni che si possono annullare"],
  level_full: ["do almost everything at home, for a while", "fare quasi tutto in casa, per un po'"],
  house_name: ["In the book you are", "Nel registro sei"],
  house_page: ["This page", "Questa pagina"],
  house_look: ["Appearance", "Aspetto"],
  look_auto: ["As the device", "Come il dispositivo"],
  look_light: ["Light", "Chiaro"],
  look_dark: ["Dark", "Scuro"],
  house_lang: ["Language", "Lingua"],
  house_door: ["The door", "La porta"],
  door_models: ["Language models", "Modelli linguistici"],
  door_none: ["none: simple requests are understood all the same", "nessuno: le richieste semplici si capiscono lo stesso"],
  door_turns: ["Requests since the start", "Richieste dall'avvio"],
  door_open: ["Under way", "In corso"],
  door_sessions: ["Open terminals", "Terminali aperti"],
  door_connections: ["Connections", "Connessioni"],
  house_out: ["Sign out of this browser", "Esci da questo browser"],
  house_leave: [
    "At the machine, the owner ends it with: metnosctl pairing revoke {who}",
    "Alla macchina, chi è proprietario toglie l'accesso con: metnosctl pairing revoke {who}",
  ],
};

/** @typedef {"en" | "it"} Lang */

/** @type {Lang} */
let lang = "en";

/** @param {Lang} to */
export function speak(to) {
  lang = to;
  document.documentElement.lang = to;
}

/** The language that is spoken. @returns {Lang} */
export function spoken() {
  return lang;
}

/**
 * A sentence, with its gaps filled. A key that there is not is shown as it is: it was a name from outside.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  const pair = Object.hasOwn(WORDS, key) ? WORDS[key] : undefined;
  const text = pair ? pair[lang === "it" ? 1 : 0] : key;
  return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}

/**
 * The sentence for a name from outside, such as the kind of an event: the name itself where there is none.
 * @param {string} prefix
 * @param {string} name
 */
export function named(prefix, name) {
  const key = `${prefix}_${name}`;
  return Object.hasOwn(WORDS, key) ? t(key) : name.replaceAll("_", " ");
}

/** How times are written: as this browser has it, where it speaks the same language. */
function locale() {
  const own = navigator.languages.find((tag) => tag.slice(0, 2) === lang);
  return own ?? (lang === "it" ? "it-IT" : "en-GB");
}

/**
 * The time of day.
 * @param {number} ms
 * @param {string} [zone] As a schedule has it, with its rule behind it: the household's, which may be another than the browser's.
 */
export function clock(ms, zone) {
  const how = /** @type {const} */ ({ hour: "2-digit", minute: "2-digit" });
  try {
    return new Date(ms).toLocaleTimeString(locale(), { ...how, ...(zone ? { timeZone: zone.split(" ")[0] } : {}) });
  } catch {
    // A zone that the browser does not know.
    return new Date(ms).toLocaleTimeString(locale(), how);
  }
}

/**
 * A moment as people write it: the time today, else the day too.
 * @param {number} ms
 * @param {string} [zone]
 */
export function moment(ms, zone) {
  const at = new Date(ms);
  const now = new Date();
  const time = clock(ms, zone);
  if (at.toDateString() === now.toDateString()) {
    return time;
  }
  const near = Math.abs(at.getTime() - now.getTime()) < 6 * 86400000;
  const day = near
    ? at.toLocaleDateString(locale(), { weekday: "short" })
    : at.toLocaleDateString(locale(), { day: "numeric", month: "short", ...(at.getFullYear() === now.getFullYear() ? {} : { year: "numeric" }) });
  return `${day} ${time}`;
}

/**
 * A day as the head of a list.
 * @param {number} ms
 */
export function day(ms) {
  const at = new Date(ms);
  return at.toLocaleDateString(locale(), { weekday: "long", day: "numeric", month: "long" });
}
