# Ciò che Metnos dice in italiano: gli stessi messaggi di `en.ftl`, con le stesse variabili.

## The reflex

greeting = Ciao, sono Metnos.
greeting-example = Chiedimi qualcosa, per esempio «{ $example }», oppure di' «aiuto».
welcome = Prego.
help = So fare quello che chiedi con parole come queste:
help-nothing = Non ho ancora nessun executor da chiamare; `metnosctl executor list` mostra il perché.
doubt-unknown = Non sono sicuro di aver capito, quindi non ho fatto nulla.
doubt-ambiguous = Può voler dire più di una cosa, quindi non ho fatto nulla.
doubt-effects = Questo avrebbe un effetto, e cose simili non le tiro a indovinare: non ho fatto nulla.
doubt-later = Non so ancora fare cose più tardi o a ripetizione: le pianificazioni non ci sono ancora. Ora non ho fatto nulla, e ho annotato il desiderio.
doubt-empty = Non hai detto nulla.
doubt-too-long = È più di quanto riesca a capire in una volta senza un modello: non ho fatto nulla.
nearest = Le cose più vicine che so fare:
no-model = Nessun modello linguistico è configurato, quindi capisco solo richieste semplici.

## What became of a call

error-class = { $class ->
    [NotFound] non trovato
    [PermissionDenied] permesso negato
    [TooLarge] troppo grande
    [NotAFile] non è un file
    [NotADirectory] non è una cartella
    [NotAFolder] non è una cartella
    [NotText] non è testo
    [BadPath] percorso non valido
   *[other] { $class }
}
outcome-crashed = { $executor } si è interrotto in modo anomalo.
outcome-bad-output = { $executor } ha dato un risultato non conforme.
outcome-cpu = { $executor } ha usato troppo tempo di calcolo.
outcome-memory = { $executor } ha usato troppa memoria.
outcome-timeout = { $executor } ha impiegato troppo tempo.
outcome-output = { $executor } ha dato un risultato troppo grande.
outcome-processes = { $executor } ha avviato troppi processi.
outcome-killed = { $executor } è stato fermato.
outcome-interrupted = { $executor } è stato interrotto; chiedi di nuovo.
outcome-sandbox = { $executor } non è stato eseguito, perché la sua sandbox non si è potuta creare (`metnosctl doctor` dice di più).
unreadable = { $executor } ha restituito qualcosa che non so leggere.
empty = (vuoto)
done = Fatto.
truncated = … { $shown } di { $total } mostrati
truncated-somehow = … non è mostrato tutto
yes = sì
no = no

## The end of a turn

gone = { $role } non è in esecuzione, o si è fermato a metà, quindi il turno è finito. Viene riavviato da solo: chiedi di nuovo tra un momento, o guarda `metnosctl status`.
late = { $role } non ha risposto in tempo, quindi il turno è finito; `metnosctl status` e il log dicono di più.
ended = Il turno è finito: { $why }.
too-long = Il turno è durato più di quanto un turno possa durare, quindi è finito.
cancelled = Annullato.
planner-gone = Il planner si è fermato a metà del turno. Viene riavviato da solo: chiedi di nuovo tra un momento.
planner-late = Il planner non ha concluso il turno in tempo, quindi è stato interrotto.
answer-cut = La risposta è più grande di quanto possa essere, quindi è stata tagliata.
not-recorded = La risposta non si è potuta registrare, quindi il turno vale come interrotto: { $why }.

## A turn with a model

model-useless = Le risposte del modello non erano utilizzabili.
model-repeated = Il modello ha chiesto di nuovo ciò che era stato rifiutato: { $why }
model-too-much = Il modello ha scritto più di quanto si mostri, quindi è stato fermato.
model-cut-off = Il modello ha finito i token a metà della risposta.
model-refused = Il fornitore del modello non lo ha lasciato rispondere.
model-too-long = C'è da leggere più di quanto il modello possa accogliere.
model-bound = Il modello non ha concluso entro i limiti di un turno.
model-unasked = Non è stato possibile interpellare il modello: { $why }
model-unfunded = Il modello non può essere interpellato: { $why }
done-until-then = Fatto fino a quel punto: { $executors }.
waits-for-card = Aspetta una risposta alla richiesta, e poi prosegue.

## Cards

card-asks = Si può fare?
card-yes = Sì, una volta
card-yes-turn = Sì, e anche le simili in questo turno
card-no = No
card-too-long = È troppo lunga per essere mostrata qui: metnosctl approval show { $card }
card-from = (da: { $source })
card-touches = { $files } file in { $folders ->
    [one] { $folders } cartella
   *[other] { $folders } cartelle
}
card-reversible = Si può annullare.
card-irreversible = Non si può annullare.
card-at-the-machine = Risponde il proprietario, alla macchina: metnosctl approval show { $card }
card-approved = Approvata da { $by }; { $ran ->
    [one] { $ran } eseguita
   *[other] { $ran } eseguite
}.
card-denied = Rifiutata da { $by }; non è stato fatto nulla.
card-stale = Questo non aspetta la tua parola, o non più. Non è stato fatto nulla.
card-heard = Ricevuto.
card-none = Nulla aspetta la tua parola.

## A chat

command-help = che cosa si può dire qui
command-status = come sta Metnos
command-undo = annulla l'ultima cosa fatta
command-approvals = che cosa aspetta la tua parola
command-pause = ferma tutto subito
chat-help = Scrivi che cosa desideri con parole tue. Ciò che richiede la tua parola arriva con dei pulsanti.
chat-stranger = Non ti conosco, quindi non ascolto nulla di ciò che scrivi. Il tuo codice, per { $minutes ->
    [one] { $minutes } minuto
   *[other] { $minutes } minuti
}: { $code }. Il proprietario scrive: metnosctl pairing approve telegram { $code }
chat-known = Il codice era giusto: da adesso sei conosciuto qui. /help dice che cosa si può dire.
chat-private-only = Parlo solo in chat private: ciò che si dice in un gruppo non viene ascoltato.
chat-passed-on = Quello è testo di qualcun altro, inoltrato: non lo prendo per parole tue. Scrivi tu che cosa desideri.
chat-no-files = Su questo canale non prendo file, e questo messaggio non è stato letto. Metti il file nella cartella workspace a casa, poi nominalo qui.
chat-too-many = Troppi messaggi insieme: questo non è stato ascoltato. Rimandalo quando gli altri hanno risposta.
chat-interrupted = Sono stato interrotto a metà. Ciò che era già fatto sta nel registro, e nulla si fa una seconda volta: guarda, e ripeti ciò che resta da fare.
chat-nothing-said = Fatto, senza parole.
chat-as-a-file = La risposta intera, in un file.
chat-working = Ci sto lavorando
chat-stopped = Tutto è fermo; { $killed ->
    [one] { $killed } chiamata è stata interrotta
   *[other] { $killed } chiamate sono state interrotte
}. Per riprendere, alla macchina: metnosctl resume
chat-own-stopped = Ciò che era in corso per te è fermo.
chat-status = Metnos è in funzione. Turni in corso: { $turns }. In attesa della tua parola: { $waiting }.
chat-undone = Annullate: { $done }; lasciate come sono: { $left }.
