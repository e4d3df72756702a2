# Ciò che Metnos dice in italiano: gli stessi messaggi di `en.ftl`, con le stesse variabili.

## The reflex

greeting = Ciao{ $person ->
    [none] {""}
   *[other] {" "}{ $person }
}, sono { $butler }.
how-it-is = Ci sono, e sto bene. So fare { $abilities } tipi di cose: di' «aiuto» per vederne alcune. Come sta ciascuna delle mie parti lo dice `metnosctl status`.
what-waits = Ciò che attende una tua parola è stato mostrato come scheda dove è stato chiesto. Tutte le schede: `metnosctl approval list` sulla macchina, /approvals su Telegram, GET /v1/approvals per i programmi.
words-approve-nothing = Parole come queste non approvano nulla, perché nessun testo altrui possa farlo. Rispondi alla scheda stessa: dove è stata mostrata, oppure con `metnosctl approval list` e `metnosctl approval approve`.
greeting-example = Chiedimi qualcosa, per esempio «{ $example }», oppure di' «aiuto».
welcome = Prego{ $person ->
    [none] {""}
   *[other] , { $person }
}.
who-it-is = Sono { $butler }, il maggiordomo di questa casa: leggo, cerco, conto, annoto e metto in ordine ciò che mi chiedi, e domando prima di ogni cosa seria. «aiuto» mostra degli esempi.
who-you-are = { $person ->
    [none] Non so come ti chiami. Se la casa è tua, il nome sta in USER.md: lo chiede `metnosctl birth`.
   *[other] Sei { $person }.
}
household = { $names ->
    [none] { $person ->
        [none] Non conosco ancora nessuno per nome. Me lo dice il proprietario, con `metnosctl people add NOME`.
       *[other] Oltre a te, { $person }, non conosco ancora nessuno per nome. Me lo dice il proprietario, con `metnosctl people add NOME`.
    }
   *[other] { $person ->
        [none] Conosco { $names }.
       *[other] Conosco te, { $person }, e poi { $names }.
    }
}
help = So fare quello che chiedi con parole come queste:
help-nothing = Non ho ancora nessun executor da chiamare; `metnosctl executor list` mostra il perché.
doubt-unknown = Non sono sicuro di aver capito, quindi non ho fatto nulla.
doubt-ambiguous = Può voler dire più di una cosa, quindi non ho fatto nulla.
doubt-effects = Questo avrebbe un effetto, e cose simili non le tiro a indovinare: non ho fatto nulla.
doubt-later = A un'ora stabilita so rispondere da solo a una domanda («ogni mattina alle 8 dimmi che cosa c’è in programma oggi»), cambiare una lista («domani alle 9 aggiungi il latte alla lista della spesa») o ricordarti qualcosa («ricordami ogni mattina alle 8 di …»), e altro ancora no. Ci vuole sempre un'ora. Ora non ho fatto nulla, e ho annotato il desiderio.
doubt-empty = Non hai detto nulla.
doubt-too-long = È più di quanto riesca a capire in una volta senza un modello: non ho fatto nulla.
nearest = Le cose più vicine che so fare:
which = Quale: { $names }?
which-by-name = Ciò che modifica qualcosa non si sceglie per posizione, perché l'ordine può essere cambiato. Di’ il nome: { $names }.
or = { $some } o { $last }
left-alone = Va bene, lascio stare.
not-again = Non ripeto da solo ciò che modifica qualcosa. Di’ di nuovo la richiesta intera.
no-private-list = Una lista privata la tengo solo per chi conosco per nome, e te non ti conosco ancora. Ci pensa il proprietario, con `metnosctl people add NOME` e `metnosctl people join`.
last-exchange = Mi hai detto «{ $said }», e ho risposto: «{ $answer }»
last-done = Mi hai detto «{ $said }», ed è fatto.
hint = Da solo non ho fatto nulla. Se vuoi che lo faccia, di’ «sì» oppure «{ $example }».
nothing-to-stop = Va bene. Non c’è niente in corso; quello che aspetta una tua decisione è sulla sua scheda.
nothing-asks = Niente aspetta un sì o un no a parole. Ciò che aspetta una tua decisione sta sulla sua scheda: rispondi lì. Tutte: `metnosctl approval list`.
reminder-made = { $who ->
    [none] Te lo ricorderò
   *[other] Lo ricorderò a { $who }
} { $when } ({ $zone }): { $what }. Di’ «annulla» per tornare indietro.
reminder-already = È già in programma, { $when } ({ $zone }): { $what }. Resta uno solo.
reminder-next = Le prossime volte: { $times }.
reminder-here = Te lo posso dire solo qui: mentre la chat o la pagina è aperta, o la prossima volta che mi scrivi. In una chat di Telegram ti scrivo io.
reminder-elsewhere = Se allora non sei qui, ti scrivo su Telegram.
reminder-in-chat = Ti scrivo su Telegram.
reminder-there = { $who } lo riceve in una chat aperta, o con la prossima risposta: su Telegram potrei scrivere io.
message-sent = Lo dico a { $who }: «{ $what }».
message-held = Ora non disturbo { $who }: arriva alle { $until }.
message-nobody = Non c'era nessuno a cui dirlo.
message = { $from ->
    [none] { $what }
   *[other] { $from } dice: { $what }
}
seal-broken = Il proprietario di casa legge per un’ora quello che conservo di ciò che hai detto e chiesto. Il motivo indicato: { $why }
person-unknown = Qui non conosco nessuno di nome { $name }, quindi non ho riferito niente. Conosco { $names }.
reminder-none = Non c'è niente in programma.
reminder-none-then = { $when } non ho nulla in programma per te. Questo vale solo per i promemoria: chiedi del calendario per sapere che cosa c’è lì.
reminder-beside = E questi promemoria:
reminder-none-beside = Promemoria non ce ne sono.
reminder-only = Questi sono solo i promemoria: chiedi del calendario per sapere che cosa c’è lì.
reminder-line = { $number }. { $when }: { $what }{ $who ->
    [none] {""}
   *[other] {" "}(per { $who })
}{ $state ->
    [active] {""}
    [paused] {" "}(sospeso)
   *[other] {" "}({ $state })
}
reminder-changed = { $act ->
    [cancelled] { $who ->
        [none] Non te lo ricorderò più
       *[other] Non lo ricorderò più a { $who }
    }: { $what } ({ $when }).
    [paused] Sospeso: { $what } ({ $when }).
    [resumed] { $who ->
        [none] Te lo ricordo di nuovo
       *[other] Lo ricordo di nuovo a { $who }
    }: { $what } ({ $when }).
    [moved] { $who ->
        [none] Te lo ricorderò
       *[other] Lo ricorderò a { $who }
    } { $when }: { $what }.
   *[other] { $act }: { $what } ({ $when }, { $who }).
}
reminder-found = { $what }: { $when }{ $left ->
    [none] .
   *[other] , fra { $left }.
}
reminder-not-found = Non ho niente in programma su «{ $called }».
timer-none = Non c'è nessun timer in corso, e niente altro che debba suonare una volta sola nelle prossime 24 ore.
left = { $hours ->
    [0] {""}
    [one] un'ora{ $minutes ->
        [0] {""}
       *[other] {" "}e{" "}
    }
   *[other] { $hours } ore{ $minutes ->
        [0] {""}
       *[other] {" "}e{" "}
    }
}{ $minutes ->
    [0] {""}
    [one] un minuto
   *[other] { $minutes } minuti
}
ask-made = Risponderò a «{ $what }» { $when } ({ $zone }). Di’ «annulla» per tornare indietro.
ask-named = la risposta a «{ $what }»
ask-changed = { $act ->
    [cancelled] Non risponderò più da solo a «{ $what }» ({ $when }).
    [paused] Sospesa: la risposta a «{ $what }» ({ $when }).
    [resumed] Rispondo di nuovo da solo a «{ $what }» ({ $when }).
    [moved] Risponderò a «{ $what }» { $when }.
   *[other] { $act }: «{ $what }» ({ $when }).
}
ask-answer = «{ $what }», come mi hai chiesto:
ask-silent = Ti scrivo solo se c’è qualcosa da dirti.
ask-nothing = Non c’è niente da segnalare.
do-made = Lo farò { $when } ({ $zone }): «{ $what }». In quel momento non chiederò nulla a nessuno e ti dirò com’è andata. Di’ «annulla» per tornare indietro.
do-named = da fare da solo: «{ $what }»
do-changed = { $act ->
    [cancelled] Non farò più da solo «{ $what }» ({ $when }).
    [paused] In pausa: «{ $what }» ({ $when }).
    [resumed] Faccio di nuovo da solo «{ $what }» ({ $when }).
    [moved] Farò «{ $what }» { $when }.
   *[other] { $act }: «{ $what }» ({ $when }).
}
do-done = «{ $what }», come previsto:
do-unsure = Ho cominciato «{ $what }» come previsto e sono stato interrotto. Non so se è stato fatto e non lo faccio due volte: per favore controlla.
review-head = { $when ->
    [none] Oggi
   *[other] { $when }
}: { $count ->
    [0] non mi hai chiesto niente.
    [one] mi hai chiesto una cosa.
   *[other] mi hai chiesto { $count } cose.
}
review-done = Fatto:
review-reminded = Ti ho ricordato:
review-unmet = Non capito, o che non so fare:
review-to-come = In arrivo:
review-line = - { $at } { $what }
review-more = … e altre { $count }.
review-waiting = { $count ->
    [one] Una cosa aspetta la tua decisione.
   *[other] { $count } cose aspettano la tua decisione.
}
reminder-of-what = Che cosa ti devo ricordare? Dillo in una frase, per esempio «ricordami domani alle 9 di chiamare il dentista». Non ho ancora programmato niente.
reminder-when = { $who ->
    [none] Quando te lo devo ricordare
   *[other] Quando lo devo ricordare a { $who }
}: { $what }? Di’ per esempio «domani alle 9», «fra 20 minuti» o «ogni lunedì alle 7:30». Non ho ancora programmato niente.
reminder-which = Alle { $one } o alle { $other }? Non ho ancora programmato niente.
reminder = { $from ->
    [none] Promemoria
   *[other] Promemoria da { $from }
}: { $what }
reminder-due = Era per { $due }.
reminder-missed = { $count ->
    [one] La volta prima è passata senza avviso.
   *[other] Le { $count } volte prima sono passate senza avviso.
}
reminder-again = Forse te l'ho già detto: non ho potuto sapere se ti era arrivato.
you-said = { $when ->
    [none] Tra le ultime cose che hai detto: «{ $text }»
   *[other] { $when }: hai detto «{ $text }»
}
you-said-nothing = Non trovo niente che tu mi abbia detto su questo.
cannot-yet = { $kind ->
    [reminder] Posso ricordare qualcosa a te, e ad altri di casa che conosco per nome, all'ora che mi dici («ricordami domani alle 9 di chiamare il dentista»). Altro con promemoria, sveglie o timer non lo so ancora fare.
    [mail] So leggere, segnare e spostare le mail, rispondere e inviarne, quando è collegata una casella («ho nuova posta?», «manda una mail a anna@example.org: arrivo tardi»). Per inviarne una mi servono un indirizzo o un contatto, e che cosa scrivere. Inoltrare mail e allegare file non lo so ancora fare.
    [calendar] So dire che cosa c’è su un calendario, aggiungere eventi, spostarli e cancellarli, se ne è collegato uno («che cosa ho sul calendario domani», «metti il dentista martedì alle 15», «metti yoga in calendario ogni martedì alle 18»). Cambiare quelli che hanno invitati o un’intera serie, e invitare qualcuno, non lo so ancora fare.
    [weather] So dire che tempo fa in una città, per due settimane («domani piove a Milano?»). Altro sul tempo non lo so.
    [music] Non so ancora far sentire musica o mostrare video.
    [home] So guardare e comandare luci, prese, tapparelle, riscaldamento e scenari, e aprire o chiudere porte, cancelli e garage dopo una tua conferma, quando una casa è collegata («accendi la luce in cucina», «imposta il termostato a 20 gradi», «il garage è aperto?»). Altro nella casa non lo so ancora fare.
    [phone] Non so telefonare, né mandare messaggi ad altri che a chi in casa conosco per nome (`metnosctl people add`).
    [news] Non so ancora cercare le notizie.
    [shopping] Non so ancora comprare, ordinare o pagare.
    [search] Non so ancora cercare in rete. Posso leggere una pagina di cui scrivi l’indirizzo («leggi https://example.org»).
    [maps] Non so ancora cercare strade, traffico, orari o posti qui vicino.
    [translation] Da solo non so tradurre; con un modello linguistico sì.
    [fun] Da solo non conosco barzellette, storie o giochi; con un modello linguistico sì.
    [knowledge] So quello che mi dici e quello che c’è nei tuoi file, non il resto del mondo; un modello linguistico sì.
   *[other] Non so ancora farlo ({ $kind }).
} Non ho fatto niente, e ho annotato il desiderio.
goodbye = Arrivederci{ $person ->
    [none] {""}
   *[other] , { $person }
}.
chance-heads = Testa.
chance-tails = Croce.
chance-dice = È uscito: { $rolled }.
chance-number = { $number }.
chance-choice = Scelgo { $choice }.
looked-up = Da solo non so rispondere, ma nei tuoi file c’è scritto:
sorry = Mi dispiace. Di’ «annulla» per annullare l’ultima cosa che ho fatto, e dimmelo con altre parole.
memory-of-you = Tengo quello che mi dici e quello che ti rispondo, cifrato con una chiave tutta tua. «Cosa ho detto oggi?» te lo mostra, «dimentica quello che ho detto» lo toglie per sempre, e sulla pagina lo trovi tutto in Memoria. Le tue note e liste sono file: «cosa ho annotato?». Quello che devo fare per te: «cosa è in programma?».
privacy = Quello che mi dici non lo mostro a nessun altro in casa. Chi si occupa di questa macchina può rompere quel sigillo, e allora te lo dico subito. In un gruppo leggono tutti i suoi membri. Quello che metti nelle liste e nelle note di casa lo legge la casa; «annota che …» e «la mia lista privata» sono solo per te. Se è configurato un modello linguistico, gli mostro quello che serve per rispondere. Sento solo quello che mi si scrive.
languages = Capisco l’italiano e l’inglese. Scrivimi come preferisci: ti rispondo nella stessa lingua.
good-night = Buonanotte{ $person ->
    [none] {""}
   *[other] , { $person }
}.
still-starting = Sono appena partito e sto ancora provando { $count ->
    [one] una delle cose che so fare
   *[other] { $count } delle cose che so fare
}, quindi forse non ho ancora capito. Riprova tra un momento.
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
    [Exists] c'è già
    [IsAFolder] è una cartella
    [NoSpace] non c'è più posto
    [TooMany] troppi
    [TooMuch] troppo
    [BadText] non è un testo che si possa scrivere
    [BadContent] non è un testo che si possa scrivere
    [NoColumn] colonna inesistente
    [UnknownDay] giorno che non esiste
    [UnknownZone] luogo sconosciuto
    [Timeout] troppo lento
   *[other] { $class }
}
error-about = { $class ->
    [NotFound] Non trovo { $what }.
    [PermissionDenied] Non posso toccare { $what }: è un collegamento, serve per tornare indietro, oppure sta fuori dall'area di lavoro.
    [TooLarge] { $what }: è troppo grande per questo.
    [NotAFile] { $what } non è un file.
    [NotADirectory] { $what } non è una cartella.
    [NotAFolder] { $what } non è una cartella.
    [NotText] { $what } non è un testo, quindi non so leggerlo.
    [BadPath] { $what } non è un nome che un file possa avere.
    [Exists] { $what } c'è già, quindi non ho cambiato nulla.
    [IsAFolder] { $what } è una cartella.
    [NoSpace] Sul disco non c'è più posto per { $what }. Libera un po' di spazio, poi chiedi di nuovo.
   *[other] { $what } ({ $class })
}
error-other = Non è riuscito: { $message }.
outcome-crashed = Si è interrotto a metà, per un errore mio. Chiedi di nuovo; se succede ancora, dillo a chi cura questa macchina.
outcome-bad-output = Ciò che è tornato non era in ordine, quindi non lo mostro. Chiedi di nuovo; se succede ancora, dillo a chi cura questa macchina.
outcome-memory = Serviva più memoria di quella permessa, quindi l'ho fermato. Chiedi una parte più piccola.
outcome-timeout = Ci voleva troppo tempo, quindi l'ho fermato. Chiedi una parte più piccola, o riprova più tardi.
outcome-output = C'è da mostrare più di quanto stia in una risposta. Chiedi una parte più piccola.
outcome-processes = Avviava più programmi di quanti può, quindi l'ho fermato.
outcome-killed = È stato fermato prima di finire.
outcome-interrupted = È stato interrotto prima di finire. Chiedi di nuovo.
outcome-sandbox = Non ho potuto farlo in modo sicuro, quindi non l'ho avviato. Chi cura questa macchina trova il motivo con `metnosctl doctor`.
outcome-disk = Voleva scrivere sul disco più di quanto può, quindi l'ho fermato e ho tolto ciò che aveva iniziato.
outcome-disk-full = L'ho fermato perché il disco è quasi pieno. Libera un po' di spazio, poi chiedi di nuovo.
outcome-failed = Non è riuscito a finire: il sistema ha negato qualcosa che serviva, per esempio aprire un altro file o un percorso troppo lungo.
unreadable = Non ho potuto leggere ciò che è tornato, quindi non ho una risposta. Chiedi di nuovo.
empty = Non c'è niente.
done = Fatto.
truncated = Questi sono i primi { $shown } di { $total }.
truncated-somehow = C'è più di quanto sia mostrato qui.
yes = sì
no = no

## The end of a turn

gone = Una parte di me ({ $role }) si è fermata a metà, quindi tutto è finito qui. Si riavvia da sola: chiedi di nuovo tra un momento.
late = Una parte di me ({ $role }) non ha risposto in tempo, quindi tutto è finito qui. Chiedi di nuovo tra un momento.
ended = Il turno è finito: { $why }.
too-long = Il turno è durato più di quanto un turno possa durare, quindi è finito.
cancelled = Annullato.
planner-gone = Il planner si è fermato a metà del turno. Viene riavviato da solo: chiedi di nuovo tra un momento.
planner-late = Il planner non ha concluso il turno in tempo, quindi è stato interrotto.
answer-cut = La risposta è più grande di quanto possa essere, quindi è stata tagliata.
not-recorded = La risposta non si è potuta registrare, quindi il turno vale come interrotto: { $why }.

## A turn with a model

model-useless = Le risposte del modello non erano utilizzabili.
model-repeated = Il modello ha chiesto di nuovo ciò che era stato rifiutato: { $why }.
model-too-much = Il modello ha scritto più di quanto si mostri, quindi è stato fermato.
model-cut-off = Il modello ha finito i token a metà della risposta.
model-refused = Il fornitore del modello non lo ha lasciato rispondere.
model-too-long = C'è da leggere più di quanto il modello possa accogliere.
model-bound = Il modello non ha concluso entro i limiti di un turno.
model-unasked = Non è stato possibile interpellare il modello: { $why }.
model-unfunded = Il modello non può essere interpellato: { $why }.
steps-cannot = Non ho nulla che possa farlo. Ho annotato il desiderio.
steps-not-found = Ho cercato, e quello che ho trovato non lo dice.
steps-not-allowed = Non è stato permesso, quindi non è stato fatto nulla.
model-used-up = Il modello non si può interrogare: per questo turno non resta nulla.
models-none = nessun modello linguistico è configurato; risponde il riflesso, per ciò che capisce, senza modello
models-unheard = mind non si è ancora sentito
models-gone = mind non è in funzione
models-silent = { $role }: { $model } (non risponde)
waits-for-card = Aspetta una risposta alla richiesta, e poi prosegue.

## What stands below a model's answer: what was done, by the records

said-done = Fatto: { $what }.
said-not-done = Non fatto: { $what }.
said-unread = Non guardato: ciò che è venuto da { $what }. La risposta non si basa su questo.
said-nothing-changed = Nota: in questo turno non è stato cambiato nulla.
said-nothing-sent = Nota: in questo turno non è stato inviato nulla.
said-line = riga { $line }
said-lines = righe { $lines }
said-act = { $executor ->
    [archive_pack] { $count ->
        [one] 1 archivio creato
       *[other] { $count } archivi creati
    }
    [archive_unpack] { $count ->
        [one] 1 archivio estratto
       *[other] { $count } archivi estratti
    }
    [calendar_add] { $count ->
        [one] 1 evento messo sul calendario
       *[other] { $count } eventi messi sul calendario
    }
    [calendar_cancel] { $count ->
        [one] 1 evento cancellato
       *[other] { $count } eventi cancellati
    }
    [calendar_move] { $count ->
        [one] 1 evento spostato
       *[other] { $count } eventi spostati
    }
    [contact_add] { $count ->
        [one] 1 contatto scritto
       *[other] { $count } contatti scritti
    }
    [fs_append] { $count ->
        [one] 1 aggiunta a un file
       *[other] { $count } aggiunte a dei file
    }
    [fs_delete] { $count ->
        [one] 1 file o cartella nel cestino
       *[other] { $count } file o cartelle nel cestino
    }
    [fs_move] { $count ->
        [one] 1 file o cartella spostata
       *[other] { $count } file o cartelle spostati
    }
    [fs_restore] { $count ->
        [one] 1 file o cartella ripristinata
       *[other] { $count } file o cartelle ripristinati
    }
    [fs_write] { $count ->
        [one] 1 file scritto
       *[other] { $count } file scritti
    }
    [home_act] { $count ->
        [one] dispositivi della casa comandati 1 volta
       *[other] dispositivi della casa comandati { $count } volte
    }
    [home_secure] { $count ->
        [one] una serratura, un cancello o un allarme comandati 1 volta
       *[other] serrature, cancelli o allarmi comandati { $count } volte
    }
    [imap_flag] { $count ->
        [one] mail segnate 1 volta
       *[other] mail segnate { $count } volte
    }
    [imap_move] { $count ->
        [one] mail spostate 1 volta
       *[other] mail spostate { $count } volte
    }
    [note_add] { $count ->
        [one] 1 nota aggiunta
       *[other] { $count } note aggiunte
    }
    [notify] { $count ->
        [one] 1 messaggio mandato
       *[other] { $count } messaggi mandati
    }
    [shell_run] { $count ->
        [one] 1 programma eseguito
       *[other] { $count } programmi eseguiti
    }
    [smtp_send] { $count ->
        [one] 1 mail inviata
       *[other] { $count } mail inviate
    }
    [table_convert] { $count ->
        [one] 1 tabella convertita
       *[other] { $count } tabelle convertite
    }
    [undo] l'ultima modifica è stata annullata
   *[other] { $count ->
        [one] { $executor }
       *[other] { $executor }, { $count } volte
    }
}
said-try = { $executor ->
    [archive_pack] creare un archivio
    [archive_unpack] estrarre un archivio
    [calendar_add] mettere un evento sul calendario
    [calendar_cancel] cancellare un evento
    [calendar_events] guardare il calendario
    [calendar_find_free] cercare del tempo libero
    [calendar_move] spostare un evento
    [calendar_restore] rimettere il calendario com'era
    [contact_add] annotare un contatto
    [csv_query] leggere una tabella
    [doc_find] cercare nei documenti
    [doc_text] leggere un documento
    [fs_append] aggiungere a un file
    [fs_delete] mettere nel cestino un file o una cartella
    [fs_hash] confrontare un file
    [fs_list] elencare una cartella
    [fs_move] spostare un file o una cartella
    [fs_read] leggere un file
    [fs_restore] ripristinare un file o una cartella
    [fs_write] scrivere un file
    [home_act] comandare i dispositivi della casa
    [home_list] elencare i dispositivi della casa
    [home_restore] rimettere i dispositivi della casa com'erano
    [home_secure] comandare una serratura, un cancello o un allarme
    [home_state] guardare un dispositivo della casa
    [image_info] guardare un’immagine
    [imap_attachment] prendere un allegato
    [attachment_add] conservare un allegato
    [imap_fetch] leggere una mail
    [imap_fetch_headers] elencare le mail
    [imap_flag] segnare le mail
    [imap_move] spostare le mail
    [imap_restore] rimettere le mail com'erano
    [imap_search] cercare delle mail
    [imap_status] guardare nella casella di posta
    [note_add] aggiungere una nota
    [notify] mandare un messaggio
    [ocr_text] leggere quello che c’è scritto in un’immagine
    [pdf_text] leggere un PDF
    [schedule] programmare un promemoria
    [shell_run] eseguire un programma
    [smtp_send] inviare una mail
    [smtp_status] provare il server che invia la posta
    [table_convert] convertire una tabella
    [table_read] leggere un foglio di calcolo
    [text_search] cercare nei file
    [undo] annullare l'ultima modifica
    [weather_get] guardare il meteo
    [web_fetch] leggere una pagina
    [web_search] cercare su internet
    [feed_read] guardare le novità di un sito
    [price_watch] guardare quanto costa un articolo
   *[other] { $executor }
}

## Cards

card-asks = Si può fare?
card-what = Cosa
card-on-what = Su cosa
card-how-many = Quanti
card-where-from = Da dove
card-way-back = Ritorno
card-cost = Costo
card-why = Perché si chiede
card-who = Chi può rispondere
card-does = { $executor ->
    [archive_pack] comprime dei file in un archivio
    [archive_unpack] estrae un archivio in una cartella nuova
    [calendar_add] mette un evento sul calendario
    [calendar_cancel] cancella un evento dal calendario
    [calendar_move] sposta un evento del calendario
    [calendar_restore] rimette il calendario com'era
    [contact_add] annota un contatto
    [file_get] ti manda un file
    [fs_append] aggiunge righe in fondo a un file
    [fs_delete] sposta qualcosa nel cestino
    [fs_move] dà un altro nome a un file o a una cartella
    [fs_restore] annulla una modifica precedente
    [fs_write] scrive un file
    [home_act] comanda dispositivi della casa
    [home_restore] rimette i dispositivi della casa com'erano
    [home_secure] chiude o apre la casa, o comanda il suo allarme
    [imap_flag] segna le mail come lette, da leggere o importanti
    [imap_move] sposta le mail in un'altra cartella
    [imap_restore] rimette le mail com'erano
    [attachment_add] conserva quello che è allegato a una mail
    [inbox_add] conserva un file che è stato mandato
    [list_remove] toglie cose da una lista
    [note_add] scrive una nota
    [notify] manda un messaggio
    [shell_run] esegue un programma su questa macchina
    [smtp_send] invia una mail dal tuo account
    [smtp_status] prova il server che invia la posta
    [table_convert] fa un file di una tabella
    [telegram_send] manda un messaggio su Telegram
    [weather_get] chiede il meteo a open-meteo.com su internet
    [web_fetch] legge una pagina di internet
    [feed_read] legge le novità di un sito di internet
    [price_watch] legge sulla pagina di un negozio quanto costa un articolo
   *[other] { $executor }
}
card-argument = { $name ->
    [from] da chi viene
    [into] in quale cartella
    [set] come si segna
    [seen] che cosa è già stato detto
    [below] solo sotto
    [watch] da tenere d’occhio
    [since] da quando
    [uid] numero della mail
    [uidvalidity] numerazione della cartella
    [unread] solo da leggere
    [account] con quale account
    [address] dove abita
    [all] tutto
    [argv] programma e sue parole
    [birthday] data di nascita
    [blake3] impronta
    [body] che cosa dice
    [bytes] grandezza in byte
    [calendar] in quale calendario
    [cc] in copia a
    [channel] verso dove
    [content] testo
    [cwd] nella cartella
    [date] nel giorno
    [day] quando
    [do] che cosa si fa
    [done] solo ciò che è fatto
    [everybody] per tutti
    [folder] una cartella intera
    [format] in quale formato
    [heading] titolo
    [home] dove sta la casa
    [italian] in italiano
    [keep] conservato per annullare come
    [kind] che tipo di dispositivo
    [lang] lingua
    [lasts] quanto dura
    [level] in percento
    [limit] quanti al massimo
    [mail] indirizzo mail
    [message] che cosa si dice
    [minutes] per quanti minuti
    [name] chi o che cosa
    [of] che cosa era stato fatto
    [offset] orologio, rispetto a UTC
    [on] quando è adesso
    [other] e l’altro file
    [overwrite] sostituisce ciò che c'è
    [own] nella cartella privata
    [page] pagina
    [part] parte del giorno
    [path] file
    [person] a chi
    [phone] numero di telefono
    [place] dove
    [rain] sulla pioggia
    [recipient] all'indirizzo
    [reply] risponde alla mail numero
    [series] tutte le date di una serie
    [sheet] quale foglio
    [stdin] ciò che il programma legge
    [subject] con l'oggetto
    [temperature] sulla temperatura
    [text] che cosa si annota
    [title] come si chiama
    [to] nome nuovo
    [to_page] fino alla pagina
    [url] indirizzo
    [waiting] solo quelle che aspettano una risposta
    [when] quando si svolge
    [wind] sul vento
    [words] che cosa si cerca
   *[other] { $name }
}
card-class = { $class ->
    [read] legge
    [net_read] legge dalla rete
    [self_create] crea qualcosa di nuovo
    [self_modify] cambia qualcosa
    [destroy] toglie qualcosa
    [send] manda qualcosa
    [share] condivide qualcosa
    [publish] pubblica qualcosa
    [acl] cambia chi può vedere qualcosa
    [money] spende denaro
    [account] cambia un conto
    [book] prenota qualcosa
    [shell] esegue un comando
    [schedule] fa qualcosa più tardi
    [confirm] conferma qualcosa
    [mark] segna qualcosa
   *[other] { $class }
}
card-not-counted = non contati prima
card-no-arguments = niente in particolare
card-written = scritto { $text }
card-left-out = … { $count } caratteri omessi, impronta { $mark } …
card-source = { $source ->
    [intent] scritto da te, per questo
    [prompt] scritto da te
    [slot] previsto secondo le tue parole, ma non scritto da te
    [owner] tuo
    [designated] trovato con ciò che hai scritto
    [called] un file che hai chiamato per nome
    [contact] qualcuno che conosci
    [result] parte di qualcosa che è stato letto
    [ctx] non l'ha scritto nessuno: l'ha composto Metnos
   *[other] { $source }
}
card-label = { $label ->
    [trusted] fidato
    [vouched] garantito
    [untrusted] da una fonte non fidata
   *[other] { $label }
}
card-cost-nothing = niente
card-reason = { $rule ->
    [guest-write] un ospite vuole cambiare qualcosa: decide il proprietario
    [level-readonly] chi lo chiede può solo leggere senza che si chieda: decide il proprietario
    [net_read-url] l'indirizzo porta a un'altra macchina qualcosa che non hai scritto tu
    [destroy-irreversible] non si può annullare
    [destroy-many] può togliere più di una cosa alla volta
    [destroy-selector] non hai detto tu che cosa va tolto
    [send-dest] non hai indicato tu la persona a cui mandare il messaggio
    [send-composed] quello che si dice a tuo nome non l'hai scritto tu
    [send-derived] è stato composto dopo aver letto qualcosa che può essere di chiunque
    [account-frozen] niente di questo è stato scritto dal proprietario
    [money-payee] niente dice chi viene pagato
    [money-amount] l'importo non è uno che hai scritto tu
    [money-cap] è più di quanto si paga senza chiedere
    [shell-tainted] esegue un programma, dopo aver letto qualcosa che può essere di chiunque
    [shell-unlisted] esegue un programma che non è nell'elenco di questa casa
    [confirm-alone] subito prima non c'è niente che potrebbe confermare
    [confirm-card] arriva ad altri o non si può annullare, e questo si chiede sempre
    [mark-lasting] non si può annullare
    [intent-spent] era previsto, ed è già stato fatto tante volte quante previsto
    [intent-none] è stato letto qualcosa che può essere di chiunque, e prima questo non era previsto
    [budget-cost] costa più di quanto si spende senza chiedere
    [undo-missing] ciò che serve per annullarlo dopo non si può conservare
    [adult-core] è uno dei file che dicono cos'è Metnos: decide il proprietario
    [workspace-core] è uno dei file che dicono cos'è Metnos, e le tue parole non ne contengono il nome e il testo
    [secret-file] è un file di segreti, e le tue parole non lo nominano
   *[other] { $rule }
}
card-who-asked = chi l'ha chiesto ({ $principal }), dove è stato chiesto; o il proprietario alla macchina
card-one-of = { $number } di { $total }
card-state = { $state ->
    [waiting] in attesa
    [approved] approvata
    [denied] negata
    [expired] scaduta
   *[other] { $state }
}
card-prompt = Farlo?  [s] sì, una volta   [t] sì, e lo stesso ancora per questa richiesta   [n] no   [Invio] non ora
card-yes-or-no = Lo permetti?  [s] sì   [n] no   [Invio] non ora:{" "}
card-decide-here = Scrivi /approvals per decidere.
card-later = resta in attesa; per rispondere: metnosctl approval show { $card }
card-yes = Sì, una volta
card-yes-turn = Sì, e lo stesso ancora per questa richiesta
card-no = No
card-too-long = È troppo lunga per essere mostrata qui: metnosctl approval show { $card }
card-touches-at-least = almeno { $files } file in { $folders ->
    [one] { $folders } cartella
   *[other] { $folders } cartelle
}; quello che c'è in { $covered ->
    [one] { $covered } cartella
   *[other] { $covered } cartelle
} in cui non posso guardare non è contato
card-touches = { $files } file in { $folders ->
    [one] { $folders } cartella
   *[other] { $folders } cartelle
}
card-reversible = Si può annullare: di’ «annulla».
card-irreversible = Non si può annullare.
card-others = Lo chiede { $principal }, e decidi tu, qui o alla macchina
card-at-the-machine = Decide il proprietario, dove si trova o alla macchina: metnosctl approval show { $card }
card-approved = Approvata { $by ->
    [owner] dal proprietario
   *[other] da { $by }
}; { $ran ->
    [one] { $ran } eseguita
   *[other] { $ran } eseguite
}.
card-denied = Rifiutata { $by ->
    [owner] dal proprietario
   *[other] da { $by }
}; non è stato fatto nulla.
card-declined = Va bene: resta tutto com'è, e non è stato fatto nulla.
chat-card = Questo aspetta la tua parola: { $what }. Per rispondere alla scheda { $card }: metnosctl approval show { $card } alla macchina, oppure POST /v1/approvals/{ $card }.
card-stale = Questo non aspetta la tua parola, o non più. Non è stato fatto nulla.
quiet-set = Dalle { $from } alle { $upto } trattengo quello che ti mandano gli altri, e te lo do dopo. I tuoi promemoria arrivano alla loro ora.
quiet-none = Va bene: quello che ti mandano gli altri arriva a qualsiasi ora.
quiet-are = Dalle { $from } alle { $upto } trattengo ciò che gli altri ti mandano. «Niente più ore di silenzio» le toglie.
quiet-are-none = Non hai ore di silenzio: ciò che gli altri ti mandano arriva a qualsiasi ora. «Non disturbarmi dalle 22 alle 7» le imposta.
mood = { $person ->
    [none] Mi dispiace. Se posso toglierti un pensiero, dimmelo: un promemoria, una lista, una nota.
   *[other] Mi dispiace, { $person }. Se posso toglierti un pensiero, dimmelo: un promemoria, una lista, una nota.
}
clock-ends = Finisce alle { $time }{ $day ->
    [same] .
    [next] , il giorno dopo.
   *[other] ({ $day }).
}
clock-born = Chi è nato nel { $year } ha { $before } anni, e { $after } dal compleanno di quest’anno.
clock-leap = { $is ->
    [yes] Sì, il { $year } ha 366 giorni.
    [no] No, il { $year } ha 365 giorni.
   *[other] { $year }: { $is }.
}
clock-then = Saranno le { $time }{ $day ->
    [same] .
    [next] {" "}di domani.
    [later] {" "}di un altro giorno.
   *[other] ({ $day }).
}
clock-then-past = Erano le { $time }{ $day ->
    [same] .
    [before] {" "}di ieri.
    [earlier] {" "}di qualche giorno fa.
   *[other] ({ $day }).
}
clock-hours = { $count ->
    [one] { $count } ora
   *[other] { $count } ore
}
clock-minutes = { $count ->
    [one] { $count } minuto
   *[other] { $count } minuti
}
clock-until = Mancano { $long } alle { $time }.
clock-between = { $long }
clock-difference = { $way ->
    [same] { $here } e { $there } hanno la stessa ora.
    [later] A { $there } l’orologio è avanti di { $long } rispetto a { $here }.
    [earlier] A { $there } l’orologio è indietro di { $long } rispetto a { $here }.
   *[other] { $there }, { $here }: { $long } ({ $way }).
}
clock-elsewhere = A { $there } sono le { $time }{ $day ->
    [same] .
    [next] {" "}del giorno dopo.
    [before] {" "}del giorno prima.
   *[other] ({ $day }).
}
offer-asks = Vuoi che d’ora in poi te lo dica senza che tu me lo chieda?
offer-what = «{ $what }», { $when }
offer-why = Me l’hai chiesto in { $days } giorni, sempre verso le { $time }.
offer-way-back = Chiedimi «cosa c’è in programma» per vederlo; lo puoi annullare quando vuoi.
offer-prompt = Lo faccio?  [s] sì   [n] no   [Invio] non ora
offer-yes = Sì, grazie
offer-no = No, grazie
offer-planned = Va bene: d’ora in poi te lo dico io.
offer-declined = Va bene, lascio stare.
card-heard = Ricevuto.
card-none = Nulla aspetta la tua parola.

## A chat

command-help = che cosa si può dire qui
command-status = come sta Metnos
command-undo = annulla l'ultima cosa fatta
command-approvals = che cosa aspetta la tua parola
command-file = manda un file dello spazio di lavoro: /file notes/piano.pdf
command-pause = ferma tutto subito
chat-help = Scrivi che cosa desideri con parole tue. Ciò che richiede la tua parola arriva con dei pulsanti.
chat-stranger = Non ti conosco, quindi non ascolto nulla di ciò che scrivi. Il tuo codice, per { $minutes ->
    [one] { $minutes } minuto
   *[other] { $minutes } minuti
}: { $code }. Il proprietario scrive: metnosctl pairing approve telegram { $code }
chat-known = Il codice era giusto: da adesso sei conosciuto qui. /help dice che cosa si può dire.
chat-private-only = In un gruppo ascolto solo le parole. File, comandi e risposte alle richieste vanno nella chat privata con me.
chat-unknown-group = Non conosco questo gruppo, quindi non leggo ciò che vi si scrive. Il suo codice, per { $minutes ->
    [one] { $minutes } minuto
   *[other] { $minutes } minuti
}: { $code }. Il proprietario scrive: metnosctl pairing approve telegram { $code } --as adult per il gruppo di casa, oppure --as guest per ogni altro.
chat-group-card = A questo risponde il proprietario in una chat privata, o al computer di casa.
chat-passed-on = Quello è testo di qualcun altro, inoltrato: non lo prendo per parole tue. Scrivi tu che cosa desideri.
chat-no-files = Un messaggio di questo tipo non lo posso accogliere, e non è stato letto. Scrivilo a parole, o mandalo come file.
file-kept = Conservato come { $path } ({ $bytes } byte).
file-there = Lo stesso identico file c'era già: { $path }.
file-too-large = Questo file è di { $size } MiB, e da Telegram un bot può prendere al massimo { $most } MiB, quindi non è stato preso. Mettilo nella cartella dello spazio di lavoro a casa, poi nominalo qui, oppure mandalo in parti più piccole.
file-over-limit = Questo file supera i { $most } MiB, e da Telegram un bot non può prendere di più, quindi non è stato preso. Mettilo nella cartella dello spazio di lavoro a casa, poi nominalo qui, oppure mandalo in parti più piccole.
file-too-large-to-send = { $path } è di { $size } MiB, e da qui se ne mandano al massimo { $most } MiB, quindi non è stato mandato. Prendilo dalla cartella dello spazio di lavoro a casa, oppure chiedine parti più piccole.
file-too-many = Troppi file insieme: { $name } è rimasto fuori. Riprova quando gli altri hanno finito.
file-not-fetched = Il file non si è potuto prendere, quindi non è stato conservato nulla. Mandalo di nuovo.
file-not-kept = Il file non è stato conservato: { $why }.
file-which = Quale file? Scrivi il suo percorso nello spazio di lavoro dopo il comando: /file notes/piano.pdf
file-empty = In { $path } non c'è nulla, e un file vuoto non si può mandare.
file-not-sent = Il file non è stato mandato: { $why }.
file-not-taken = Il file non si è potuto consegnare. Chiedilo di nuovo.
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
owner-set-aside = { $executor } è in quarantena e non gira più: { $why }. Che fare, alla macchina: metnosctl executor show { $name }
owner-alarm = { $executor } ha tentato ciò che a nessun esecutore serve: { $why }. A fermarlo è la sandbox. Per spegnerlo, alla macchina: metnosctl executor disable { $name }
chat-status = Metnos è in funzione. Turni in corso: { $turns }. In attesa della tua parola: { $waiting }.

# What was taken back.
forgotten-last = Ho dimenticato l’ultima cosa che hai detto, e la mia risposta. Quello che è stato fatto o programmato resta: «annulla» lo toglie.
forgotten-nothing = Non c’è niente che tu abbia detto qui e che io possa dimenticare.
undo-nothing = Non c'è niente di tuo da annullare.
undo-left = { $left ->
    [one] Una cosa è rimasta com'era.
   *[other] { $left } cose sono rimaste com'erano.
}
undo-act = { $state ->
    [undone] { $executor ->
        [fs_append] Ciò che era stato aggiunto a { $path } non c'è più.
        [note_add] { $path ->
            [none] La nota non c'è più.
           *[other] La nota in { $path } non c'è più.
        }
        [fs_delete] { $path } è di nuovo al suo posto.
        [fs_move] { $path } ha di nuovo il suo nome.
        [fs_write] { $path } è di nuovo com'era prima.
        [list_remove] Ciò che era stato tolto da { $path } c'è di nuovo.
        [calendar_add] L'evento non è più sul calendario.
        [calendar_cancel] L'evento è di nuovo sul calendario com'era.
        [calendar_move] L'evento è di nuovo sul calendario com'era.
        [imap_flag] Le mail sono di nuovo segnate com'erano.
        [imap_move] Le mail sono tornate dov'erano, se c'erano ancora.
        [home_act] I dispositivi della casa sono di nuovo com'erano.
        [contact_add] I contatti sono di nuovo com'erano prima.
        [inbox_add] { $path } è stato tolto di nuovo.
        [attachment_add] L’allegato è stato tolto di nuovo dalla cartella inbox.
        [archive_pack] L'archivio fatto da { $path } non c'è più.
        [archive_unpack] Ciò che era stato estratto da { $path } non c'è più.
        [table_convert] Il file fatto da { $path } non c'è più.
        [reminder] Non te lo ricorderò più: { $path }.
       *[other] Ciò che ha fatto { $executor } è annullato.
    }
    [nothing] { $path ->
        [none] Non c'era più niente da annullare.
       *[other] Non c'era più niente da annullare in { $path }.
    }
    [undoing] Si è interrotto nel mezzo; di’ di nuovo «annulla», e riprende da dove si era fermato.
   *[other] { $path ->
        [none] { $why ->
            [Changed] Nel frattempo è cambiato, quindi non si è potuto annullare, ed è rimasto com'è.
           *[other] Non si è potuto annullare, ed è rimasto com'è.
        }
       *[other] { $why ->
            [Changed] Nel frattempo qualcuno ha cambiato { $path }, quindi non si è potuto annullare, ed è rimasto com'è.
            [Exists] Intanto qualcos'altro si chiama { $path }, quindi non si è potuto annullare, ed è rimasto com'è.
            [NotFound] Ciò che { $path } era prima non è più nel cestino, quindi non si è potuto annullare.
            [NoSpace] Sul disco non c'è più posto, quindi { $path } non si è potuto annullare. Libera un po' di spazio, poi di’ di nuovo «annulla».
            [PermissionDenied] Adesso non posso toccare { $path }, quindi non si è potuto annullare, ed è rimasto com'è.
            [none] Ciò che è stato fatto a { $path } non si è potuto annullare, ed è rimasto com'è.
           *[other] Ciò che { $executor } ha fatto a { $path } non si è potuto annullare ({ $state }: { $why }), ed è rimasto com'è.
        }
    }
}

## Refusals, by their rule: what is not here is said as the daemon says it

refusal = { $rule ->
    [approval-waiting] aspetta un sì: la scheda dice di che cosa si tratta
    [approval-denied] è stato negato sulla sua scheda
    [approvals-answered] a questa scheda è già stato risposto; non è stato fatto nulla
    [approvals-expired] questa scheda è scaduta; non è stato fatto nulla
    [approvals-altered] ciò a cui si è risposto non è ciò di cui tratta la scheda; non è stato fatto nulla
    [approvals-unknown] una scheda così non c'è
    [approvals-hard] questo si risponde solo alla macchina; non è stato fatto nulla
    [approvals-code] ci vuole un codice monouso; non è stato fatto nulla
    [guest-read] gli ospiti leggono solo la cartella shared e quelle che il proprietario elenca per loro: il resto, per loro, non c'è
    [sandbox-narrow] non si è potuto limitare ciò che un ospite può vedere, quindi non è partito nulla
    [people-self] non ti conosco per nome, quindi non posso tenere le tue ore di silenzio: ci pensa il proprietario, con `metnosctl people add NOME` e `metnosctl people join`
    [approvals-offer] a una proposta si risponde sì o no; non è stato fatto niente
    [approvals-full] troppe schede aspettano già una risposta: rispondi prima a qualcuna
    [approvals-changed] l'esecutore non è più quello di quando la scheda è stata fatta: chiedi di nuovo
    [folder-closed] quel file non si può guardare, quindi non si tocca
    [folder-gone] la cartella che serve non si può mostrare: chi cura la macchina guardi `metnosctl status`
    [folder-link] per arrivare a quel file si passa da un collegamento o da un altro disco: di' il file stesso, dove sta
    [folder-unlisted] il proprietario non ha messo quella cartella tra quelle che si possono mostrare. Il proprietario la elenca in metnos.toml e riavvia Metnos
    [program-unlisted] quel programma non è nell'elenco del proprietario, quindi non si può eseguire. Il proprietario lo aggiunge a `sandbox.commands` in metnos.toml e riavvia Metnos
    [program-unknown] non si sa che cosa verrebbe eseguito: di' il comando parola per parola
    [guard-path] quel percorso è vietato, e nessuna impostazione o approvazione lo permette. Copia ciò che ti serve nello spazio di lavoro, e indica quello
    [guard-climb] quel percorso esce dallo spazio di lavoro, e nessuna impostazione o approvazione lo permette. Indica qualcosa che sta nello spazio di lavoro
    [guard-passage] quel percorso passa per un luogo vietato. Copia ciò che ti serve nello spazio di lavoro, e indica quello
    [guard-spelling] quel percorso è scritto in un modo che non si accetta. Scrivilo in modo semplice, come notes/viaggio.md
    [law-constitution] è contro le Leggi di questa casa
    [law-perimeter] è fuori da ciò che questa casa permette
    [level-readonly] a questo livello si può solo leggere
    [grant-never] il proprietario ha detto mai
    [panic-stopped] tutto è fermo; il proprietario lo fa ripartire alla macchina con metnosctl resume
    [panic-owner] solo il proprietario può fermare tutto
    [schema-input] gli argomenti non sono quelli che l'esecutore si aspetta
    [executor-unknown] un esecutore così non c'è
    [executor-disabled] questo esecutore è disattivato
    [executor-not_offered] questo esecutore non è per chi pianifica: Metnos lo chiama da sé per chi chiede proprio questo, o il proprietario per nome
    [executor-archived] questo esecutore è in archivio; `metnosctl executor restore` lo riporta
    [executor-revoked] la firma di questo esecutore è revocata
    [executor-staged] nessuno ha approvato questo esecutore
    [executor-reason] ci vuole una ragione, di una riga
    [executor-quarantined] questo esecutore è in quarantena
    [turn-questions] troppe domande in un turno: si è fermato
    [quota-rate] troppe chiamate in poco tempo: riprova tra un momento
    [quota-concurrent] troppe chiamate insieme: riprova tra un momento
    [door-listens] questa chat aspetta già i promemoria
    [schedule-unknown] non trovo un promemoria così. Chiedi «cosa c'è in programma?» per vederli; non ho cambiato niente
    [schedule-several] i promemoria che potresti intendere sono più di uno, quindi non ho cambiato niente. Di' quale, per esempio «annulla il primo»
    [schedule-shown] non so quale intendi. Chiedi prima «cosa c'è in programma?», poi di' per esempio «cancella il secondo promemoria»
    [schedule-form] un promemoria sta su una riga, di circa 500 lettere al massimo, quindi non ho programmato niente. Dillo più in breve
    [schedule-full] ci sono già troppi promemoria in programma. Prima cancellane qualcuno
    [schedule-time] non capisco quando, quindi non ho programmato niente. Di' per esempio «domani alle 9», «fra 20 minuti» o «ogni lunedì alle 7:30»
    [schedule-ambiguous] può essere di mattina o di sera, quindi non ho programmato niente. Di' per esempio «alle 8 di mattina» o «alle 20»
    [schedule-past] quell'ora è già passata, quindi non ho programmato niente. Dimmene una che deve ancora venire
    [schedule-moved] non rimetto da solo un promemoria all'ora di prima. Di' quando deve arrivare, per esempio «sposta il promemoria alle 9»
    [schedule-repeats] quel promemoria si ripete, quindi non ho cambiato niente. Di' quando deve arrivare d'ora in poi, per esempio «ogni lunedì alle 8:00»
    [schedule-vague] non è abbastanza preciso, quindi non ho programmato niente. Dimmi un giorno, e se vuoi un'ora
    [schedule-words] non mi hai chiesto di cambiare così i tuoi promemoria, quindi non ho cambiato niente
    [schedule-literal] che cosa e quando ricordarti deve stare nelle tue parole, quindi non ho programmato niente
    [schedule-turn] è più di quanto programmo per una sola richiesta. Di' di nuovo quello che manca
    [schedule-unattended] non me l'ha chiesto nessuno, quindi non ho programmato niente
    [schedule-often] faccio qualcosa da solo al massimo ogni 15 minuti, quindi non ho programmato niente. Di’ un intervallo più lungo
    [schedule-asks] faccio già da solo tante cose quante ne tengo per una persona. Annullane prima qualcuna: chiedi «che cosa c’è in programma?»
    [schedule-reads] questo modifica qualcosa, e non c'era nessuno che lo avesse chiesto. Chiedilo tu
    [schedule-level] quello che cambi tu lo approva ogni volta un adulto, quindi non lo faccio da solo
    [schedule-unasked] per questo bisognerebbe chiedere a qualcuno, e non c'era nessuno. Chiedilo tu
    [people-private] è nella cartella privata di qualcuno, e solo quella persona può vedere che cosa contiene
    [people-unknown] qui non conosco nessuno che si chiami così, quindi non ho riferito niente
    [people-nobody] non so ancora come ti chiami, quindi non riferisco niente ad altri. Il proprietario di questa macchina ti può aggiungere con `metnosctl people add NOME`, e sé stesso con `metnosctl people add NOME --role owner`
    [people-guest] un ospite non fa riferire niente ad altri
    [people-child] fuori di casa non riferisco niente
    [people-self] quella persona sei tu
    [people-alone] in casa non c'è nessun altro che io possa raggiungere
    [people-unreachable] conosco questa persona per nome, ma non so ancora dove raggiungerla: `metnosctl pairing invite telegram --person NOME` crea un codice per una chat
    [people-one] un messaggio è per una persona sola, quindi non ho riferito niente. Di’ per chi è
    [people-words] le tue parole non dicono questo, quindi non ho riferito niente
    [schedule-sent] ciò che è stato riferito non si può ritirare
    [undo-nothing] non c'è niente che si possa annullare
    [undo-thing] non trovo niente che tu abbia fatto a questo e che si possa annullare, quindi non ho cambiato niente
    [undo-several] questo è stato aggiunto o tolto insieme ad altre cose, quindi non ho cambiato niente. Toglilo dalla lista o rimettilo chiamandolo per nome, oppure di’ «annulla quello che hai fatto con la lista»
    [door-turns] troppi turni sono già in corso: aspetta che uno finisca
    [door-sessions] troppe sessioni sono aperte: riprova tra un momento
    [door-draining] Metnos si sta fermando
    [planner-turns] troppi turni insieme: riprova tra un momento
    [secret-sink] un segreto non si dà a questo
    [approvals-code_locked] troppi codici sbagliati: per un quarto d'ora nessun codice vale
    [approvals-empty] una risposta che non doveva contare ha contato: guarda `metnosctl doctor`
    [approvals-large] gli argomenti sono più di quanto una scheda possa mostrare
    [approvals-unseen] una scheda mostra ogni valore, e questa chiamata ne passa uno che nessuno ha guardato
    [arguments-json] gli argomenti non si possono leggere
    [arguments-reference] gli argomenti si riferiscono a un risultato che in questo turno non c'è
    [arguments-reserved] un argomento ha un nome riservato
    [budget-calls-day] le chiamate di oggi sono finite
    [budget-calls-running] troppe chiamate insieme: riprova tra un momento
    [budget-money-day] il denaro di oggi è finito
    [budget-money-house_day] il denaro di oggi di tutta la casa è finito
    [budget-money-house_month] il denaro di questo mese di tutta la casa è finito
    [budget-money-month] il denaro di questo mese è finito
    [budget-money-turn] il denaro di questo turno è finito
    [budget-tokens-day] i token di oggi sono finiti
    [budget-tokens-month] i token di questo mese sono finiti
    [budget-tokens-turn] i token di questo turno sono finiti
    [budget-writes-day] per oggi le modifiche sono finite
    [call-twice] questa stessa chiamata è già stata fatta: nulla si fa due volte
    [chronicle-altered] il registro non è più quello di prima, quindi non si fa e non si scrive nulla: il proprietario guardi `metnosctl audit verify`
    [chronicle-anchor] il registro non è quello che era stato firmato, quindi non si decide nulla: il proprietario guardi `metnosctl audit verify`
    [chronicle-disk_full] il disco è pieno, quindi non si può registrare nulla: fai spazio
    [chronicle-keys] ci sono già troppe persone diverse di cui si tiene memoria, e di un’altra non si scrive nulla: il proprietario tolga chi non serve più
    [chronicle-locked] la memoria è cifrata e con le chiavi che ci sono non si apre: il proprietario rimetta `.audit/keys` e `.policy/vault.key` dalla stessa copia di riserva
    [chronicle-read_only] il disco si può solo leggere, quindi non si può registrare nulla: chi cura la macchina guardi `metnosctl doctor`
    [chronicle-unproven] la memoria non ha ancora mostrato che il registro è quello firmato, quindi non si decide nulla: riprova tra un momento
    [chronicle-unsigned] il registro non si è potuto firmare, quindi non si fa nulla: riprova tra un momento
    [chronicle-verifying] la memoria sta ancora rileggendo tutto il registro: riprova tra un momento
    [chronicle-write] il registro non si può scrivere, quindi non si fa nulla
    [constitution-pending] SOUL.md non dice più le Leggi in vigore: il proprietario guardi `metnosctl rite constitution`, alla macchina
    [file-large] il file è più grande di quanto si può prendere
    [file-missing] il file non è più qui: fallo mandare di nuovo
    [file-other] questo esecutore non prende né dà file così
    [file-path] un percorso ha da 1 a 4096 byte
    [http-body] il corpo della richiesta è troppo grande, o non è arrivato intero
    [http-callers] troppi client sono conosciuti qui in questo momento
    [http-csrf] la richiesta non mostra di venire da una pagina di questa porta
    [http-field] una parte della richiesta non è quella che ci si aspetta: `field` dice quale
    [http-host] l'indirizzo a cui è rivolta la richiesta non è quello di questa porta
    [http-method] qui non si chiede in questo modo
    [http-origin] la richiesta viene da un altro sito
    [http-pairing] troppi codici sono stati provati: aspetta un momento
    [http-path] a questo indirizzo non c'è nulla
    [http-random] la macchina non dà numeri casuali: riprova tra un momento
    [http-rate] hai chiesto più spesso di quanto si risponda: aspetta un momento
    [http-slow] la richiesta non è arrivata in tempo
    [http-streams] troppi ascolti sono già aperti: chiudine uno
    [http-unknown] troppe richieste di sconosciuti: aspetta un momento
    [hook-full] non si tengono altri webhook
    [hook-name] un webhook ha un nome di lettere minuscole, cifre e trattini
    [hook-rate] questo webhook chiama più spesso di quanto si ascolti: aspetta un momento
    [hook-replay] questa chiamata era già stata ascoltata; non è stato fatto nulla
    [hook-secrets] i segreti dei webhook non si possono leggere o scrivere
    [hook-signature] nessun webhook di questo nome conosce questa firma, o non è il suo momento
    [ws-asks] troppe domande sono in corso su questo collegamento: aspetta una risposta
    [ws-frame] ciò che è arrivato non è un WebSocket come dev'essere
    [ws-text] qui si parla solo in testo
    [ws-upgrade] qui si parla con un WebSocket
    [door-answer] la risposta non si può leggere
    [door-cards] le schede non si possono leggere
    [door-look] ciò che è stato chiesto non si può leggere
    [door-owner] questo è del proprietario
    [door-paired] il codice era giusto: da ora sei conosciuto qui. Di' che cosa vuoi
    [door-pairing] nessun invito aperto ha questo codice; un codice vale una volta, per dieci minuti
    [door-stranger] non sei conosciuto qui: chiedi al proprietario
    [effects-order] chi legge si decide prima di chi agisce
    [executor-contract] il contratto dell'esecutore non si può leggere
    [executor-staged] questo esecutore non è ancora nato
    [executor-unfit] i file di questo esecutore non formano un esecutore
    [executor-unreadable] questo esecutore non si può verificare ora: riprova tra un momento
    [executor-waiting] Metnos sta ancora avviando i suoi esecutori: riprova tra un momento
    [guard-kind] una proposta di questo tipo non c'è
    [guard-nul] c'è un carattere che nessun percorso può avere
    [guard-obfuscated] è scritto in modo da nascondere ciò che è
    [guard-secret] contiene un segreto, e non si passa a nessuno
    [guard-text] il testo è troppo lungo, o ha caratteri che nessuno schermo dovrebbe ricevere
    [handle-unknown] in questo turno quel risultato non c'è
    [inbox-name] un file si conserva sotto un nome che non comincia con un punto e non è troppo lungo
    [inbox-read] il file non si può leggere
    [inbox-size] il file mandato è troppo grande
    [intent-form] ciò che è stato previsto non si può leggere
    [intent-tainted] non si prevede più nulla dopo aver letto dati non fidati
    [memory-gone] la memoria non risponde, quindi non si fa nulla: si riavvia da sola, riprova tra un momento
    [memory-index] la memoria ora non si può leggere; chi cura la macchina guardi `metnosctl doctor`
    [memory-killed] la memoria si è fermata
    [memory-question] la domanda non si può leggere
    [mind-assist] il modello non si è potuto interrogare
    [mind-at_once] questo turno pensa già quanto può: aspetta che finisca
    [mind-fund] per questo pensiero non c'è più denaro, o non ci sono più token
    [mind-gone] chi parla con i modelli non risponde
    [mind-key] quel server di modelli non ha la chiave giusta, o non c'è
    [mind-no_model] non è configurato nessun modello per questo
    [mind-prompt] ciò che si dovrebbe far leggere al modello è troppo, o non si può leggere
    [mind-queue] troppi pensieri aspettano già: riprova tra un momento
    [mind-reply] la risposta del modello non si può usare
    [mind-report] come stanno i modelli non si può dire
    [mind-role] quel ruolo non è di chi lo chiede
    [mind-thought] il pensiero non si può fare così
    [mind-tokens] per una risposta non resta posto
    [mind-told] conterrebbe la chiave di un server, e non si manda a nessuno
    [mind-turns] troppi turni pensano già: riprova tra un momento
    [mind-unknown] un modello così non c'è
    [mind-unreachable] il server del modello non risponde
    [pairing-code] nessuno che aspetta su questo canale ha quel codice
    [pairing-form] così nessuno può essere conosciuto
    [pairing-group] un gruppo non è una persona e non può essere il proprietario
    [pairing-full] troppe persone sono già conosciute
    [pairing-locked] cinque codici sbagliati: ora nessun codice di questo canale vale più; scrivi di nuovo per averne un altro
    [pairing-unknown] nessuno di quel nome è conosciuto
    [path-busy] un'altra richiesta sta modificando lo stesso file o la stessa cartella: non è stato fatto nulla, riprova tra un momento
    [peer-gone] una parte di Metnos non è in funzione, o si è fermata nel mezzo: si riavvia da sola, riprova tra un momento
    [peer-late] una parte di Metnos non ha risposto in tempo; chi cura la macchina guardi `metnosctl status`
    [peer-protocol] due parti di Metnos non si intendono; chi cura la macchina guardi `metnosctl doctor`
    [policy-disk_full] il disco è pieno, quindi non si fa nulla: fai spazio
    [policy-read_only] il disco si può solo leggere, quindi non si fa nulla: chi cura la macchina guardi `metnosctl doctor`
    [policyd-internal] qualcosa non va in chi decide, quindi non si fa nulla; chi cura la macchina guardi `metnosctl doctor`
    [policyd-random] qualcosa non va in chi decide, quindi non si fa nulla; chi cura la macchina guardi `metnosctl doctor`
    [policyd-stopping] Metnos si sta fermando: riprova tra un momento
    [policyd-store] non si è potuto scrivere sul disco, quindi non si fa nulla
    [pool-unreadable] gli esecutori non si possono leggere; chi cura la macchina guardi `metnosctl doctor`
    [principal-members] in questo gruppo c’è chi non è un adulto di casa, o non si sa chi ci sia: qui per ora non dico e non faccio niente
    [principal-group] questo non è un gruppo
    [principal-sender] quel mittente non ha una forma conosciuta
    [principal-unpaired] chi chiede non è conosciuto qui
    [profile-paths] quel percorso è fuori da ciò che questo esecutore può vedere: copia ciò che serve nello spazio di lavoro
    [prompt-form] ciò che è stato detto è troppo, o non si può leggere
    [quota-bytes_per_day] questo esecutore ha scritto oggi quanto può
    [quota-files] altri file stanno già passando: riprova tra un momento
    [quota-files_waiting] troppi file aspettano già la parola del proprietario: mandalo di nuovo quando ha risposto
    [quota-results] troppi risultati di turni aperti: aspetta che uno finisca
    [quota-thinking] troppi esecutori pensano già: chiedi di nuovo tra un momento
    [quota-turn] questo turno ha già fatto tutte le chiamate che un turno può fare
    [quota-turns] troppi turni sono aperti: aspetta che uno finisca
    [quota-writes_per_day] questo esecutore ha fatto oggi tutte le modifiche che può
    [reference-read] il risultato a cui ci si riferisce non si può leggere
    [reference-size] il risultato a cui ci si riferisce è troppo grande
    [reference-unknown] il risultato a cui ci si riferisce non c'è
    [sandbox-gone] chi esegue non risponde: si riavvia da solo, riprova tra un momento
    [sandbox-disk_full] il disco è quasi pieno, quindi non si può scrivere: libera un po' di spazio e chiedi di nuovo
    [sandbox-look_through] la cartella contiene troppi file per poter escludere con certezza quelli segreti: spostane una parte altrove
    [sandbox-hard_link] quel file ha anche un altro nome, e così non si può toccare
    [sandbox-mount_below] sotto quella cartella è montato un altro disco; chi cura la macchina guardi `metnosctl status`
    [sandbox-named] ciò che è stato nominato non si può aprire così
    [sandboxd-internal] qualcosa non va in chi esegue; chi cura la macchina guardi `metnosctl doctor`
    [sandboxd-stopping] Metnos si sta fermando: riprova tra un momento
    [account-missing_mail] la tua posta non è ancora collegata: chi è proprietario la collega alla macchina, con `metnosctl account add mail`
    [account-missing_calendar] il tuo calendario non è ancora collegato: chi è proprietario lo collega alla macchina, con `metnosctl account add calendar`
    [account-missing_home] la casa non è ancora collegata: chi è proprietario la collega alla macchina, con `metnosctl account add home`
    [account-missing_search] il server di ricerca non è ancora collegato: chi è proprietario lo collega alla macchina, con `metnosctl account add search`
    [account-unopened] la password di quell’account non si può leggere: va aggiunto di nuovo, con `metnosctl account add`
    [account-no_sending] da quell’account non si può inviare posta: chi è proprietario indica alla macchina un server che la invia, con `metnosctl account add mail --smtp`
    [account-form] qualcosa di quell’account non va
    [account-full] di account ce ne sono già troppi
    [account-guest] chi è ospite non ha account qui
    [account-unknown] un account con quel nome non c’è
    [secret-grant] il proprietario non ha dato il suo segreto a questo esecutore
    [secret-missing] il segreto che serve a questo esecutore non c'è
    [thought-count] questo turno ha già pensato tutto ciò che un turno può
    [thought-model] quel modello non è quello di questo pensiero
    [thought-other] non si esegue: le parole di un modello non sono al loro posto
    [thought-size] il pensiero è troppo lungo per essere registrato
    [turn-closed] quel turno è già finito
    [turn-kept] ciò che era stato conservato del turno non si può leggere: chiedi di nuovo
    [turn-none] quel turno non c'è
    [turn-not_suspended] nessun turno così aspetta: chiedi di nuovo
    [turn-principal] il turno non dice di chi è
    [turn-stopped] questo turno ha fatto più domande di quante un turno ne possa fare, e si è fermato: ripeti ciò che resta da fare
    [forget-open] quel turno non è ancora finito: riprova tra un momento
    [forget-today] per oggi ho dimenticato abbastanza: il resto lo toglie chi è proprietario, alla macchina
    [turn-unknown] quel turno non è più aperto: chiedi di nuovo
    [undo-missing] non è stato conservato ciò che serve per annullare
    [words-mark] il segno delle parole non è valido
    [words-read] le parole non si possono leggere
    [words-seal] le parole non si possono passare
    [words-share] le parole non si possono passare
    [words-size] sono troppe parole: dillo più in breve
    [words-stranger] chi parla non è conosciuto qui
    [words-text] le parole non si possono leggere
    [workspace-core] quel file dice chi è Metnos: lo cambia solo il proprietario, con un editor
    [workspace-file] uno dei file che dicono chi è Metnos non si può leggere
   *[other] { $rule }
}

## The terminal

term-listens = Metnos ascolta. /help per aiuto, Ctrl-D per finire.
term-help = Di' che cosa vuoi: "leggi notes/welcome.md", "che cosa sai fare".
    Una barra rovescia in fondo alla riga comincia un'altra riga dello stesso messaggio; così anche un ``` aperto, e ciò che si incolla resta uno.
    Ctrl-C annulla un turno, o la riga che si sta scrivendo. Ctrl-D o /quit finisce la conversazione.
    /approvals mostra che cosa aspetta la tua parola. Una riga che comincia con uno spazio non viene ricordata.
term-unknown = { $word } non è niente che si possa dire qui: /help, /approvals, /quit.
term-cancelling = annullo …
term-unsuccessful = non è riuscito
term-denied = è stato negato
term-http-away = I programmi e le pagine di questa macchina non raggiungono Metnos ({ $why }). `metnosctl doctor` dice che cosa fare.
term-telegram-away = Il bot di Telegram non risponde ({ $why }). `metnosctl doctor` dice che cosa fare.
term-steps = { $count ->
    [one] { $count } passo
   *[other] { $count } passi
}
term-settled = scheda { $card }: { $what }
term-end-not-understood = Non era chiaro che cosa si vuole.
term-end-denied = È stato negato.
term-end-unsuccessful = Una chiamata non è riuscita.
term-end-cancelled = Il turno è stato annullato.
term-end-suspended = Aspetta una risposta, e poi continua.
term-end-broken = Una parte che serviva è venuta a mancare nel mezzo.
term-silent = del turno { $turn } non si è sentito nulla per { $seconds } s
term-silent-remedy = guarda `metnosctl status`; ciò che è successo finora sta in `metnosctl audit tail`
term-too-many-words = sono troppe parole: { $why }
term-too-many-words-remedy = metti il testo in un file dello spazio di lavoro, e chiedi del file
term-not-running = Metnos non è in funzione in { $place }. Per avviarlo: metnosctl up --detach
term-unreachable = Una parte di Metnos che serve non si raggiunge. Si riavvia da sola: riprova tra un momento, o guarda `metnosctl status`.
term-not-remembered = le righe di questa conversazione non vengono ricordate: { $file }: { $why }

## La prima intervista

birth-hello = Poche domande, e Metnos è pronto per questa casa. Il tasto Invio prende ciò che sta tra parentesi; Ctrl-C ferma, e nulla di ciò che è stato risposto va perso. Tutto si può cambiare dopo, con qualunque editor.
birth-again = { $count ->
    [one] C'è già { $count } risposta
   *[other] Ci sono già { $count } risposte
}; si chiede solo ciò che manca.
birth-question = { $field ->
    [language] In quale lingua ti si parla? / In which language are you spoken to? (en, it)
    [name] Come si chiama il maggiordomo?
    [owner] Come ti chiami? (si può lasciare vuoto)
    [owner_user] Quale utente di questa macchina parla da proprietario al terminale? "directory": chi possiede la cartella dell'istanza.
    [time_zone] Dov'è il tuo orologio? Un luogo come Europe/Rome, o uno scarto come UTC+1. Le ore di silenzio si contano con questo.
    [place] In che città abitate? Il tempo che fa si dice per quella. (si può lasciare vuoto)
    [telos] A che cosa serve? Da tre a sette fini, separati da ; . Vuoto: ordine, calma e fiducia, come stanno in workspace/TELOS.md.
    [model_server] Un server di modelli linguistici: NOME TIPO INDIRIZZO, come "claude anthropic https://api.anthropic.com" o "local ollama http://127.0.0.1:11434". Non ne serve nessuno (none). La sua chiave si chiede dopo, mai qui.
    [model] Quale dei suoi modelli parla e pianifica? NOME/MODELLO, come "local/qwen3".
    [http] Dove possono parlare con Metnos i programmi e le pagine di questa macchina? Un indirizzo di questa macchina con la porta, oppure "off".
    [telegram] Vuoi un bot di Telegram? (sì, no) Il suo token si chiede dopo, mai qui.
   *[other] { $field }
}
birth-wanted = { $field ->
    [language] en oppure it
    [name] da 1 a 64 caratteri in una riga
    [owner] al massimo 64 caratteri in una riga
    [owner_user] "directory", o il nome o il numero di un utente di questa macchina
    [time_zone] un luogo come Europe/Rome, o uno scarto come UTC+1 o -03:30
    [place] al massimo 64 caratteri in una riga
    [telos] niente, o da 3 a 7 fini di al massimo 512 byte ciascuno
    [model_server] "none", o NOME TIPO INDIRIZZO, dove TIPO è anthropic, openai, xai o ollama
    [model] "none", o NOME/MODELLO, dove NOME è quello di model_server
    [http] "off", o un indirizzo di questa macchina come 127.0.0.1:42618
    [telegram] sì o no; in un file true o false
   *[other] { $field }
}
birth-wrong = { $field }: `{ $value }` non si può accettare; ci vuole: { $wanted }.
birth-unknown = La domanda `{ $field }` non c'è; ci sono: { $wanted }.
birth-near = (intendevi `{ $word }`?)
birth-no-terminal = non c'è un terminale dove chiedere
birth-from-file = `metnosctl birth --answers FILE` prende le risposte da un file TOML
birth-unchanged = nulla è stato cambiato; docs/cli.md elenca ogni chiave e che cosa accetta
birth-stopped = Fermato. Ciò che è stato risposto è conservato: `metnosctl birth` riprende da qui.
birth-plan = Queste sono le risposte, e ciò che verrà scritto:
birth-confirm = Invio lo fa; il nome di una domanda la rifà; n si ferma qui.
birth-set = { $place }: { $after }
birth-kept = { $place }: resta come l'hai scritto, { $before } (la risposta era { $after }; `metnosctl birth --replace` lo sostituisce)
birth-replaced = { $place }: { $after }, al posto del tuo { $before }
birth-created = Creata un'istanza in { $place }.
birth-nothing = Non c'è niente da fare: tutto sta come è stato risposto.
birth-next = Che cosa resta a te:
birth-next-why = { $step ->
    [start] avvia Metnos
    [name] gli dice come ti chiami, così può riferire agli altri quello che dici
    [restart] lo riavvia: la configurazione vale da allora
    [key] prende la chiave di quel server, senza mostrarla
    [test] chiede una parola al modello
    [scan] mostra quali modelli ha il server
    [token] prende il token del bot da @BotFather, senza mostrarlo
    [pair] fa un codice, che dirai al bot
   *[other] { $step }
}

# When something is or was.
day = { $weekday ->
    [0] domenica
    [1] lunedì
    [2] martedì
    [3] mercoledì
    [4] giovedì
    [5] venerdì
    [6] sabato
   *[other] { $weekday }
} { $day } { $month ->
    [1] gennaio
    [2] febbraio
    [3] marzo
    [4] aprile
    [5] maggio
    [6] giugno
    [7] luglio
    [8] agosto
    [9] settembre
    [10] ottobre
    [11] novembre
    [12] dicembre
   *[other] { $month }
} { $year }
moment = { $day }, { $time }
join-last = { $before } e { $last }
workspace = l'area di lavoro
