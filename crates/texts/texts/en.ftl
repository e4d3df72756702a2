# What Metnos says in English. One message a line; `it.ftl` has the same ones with the same variables, as a test makes sure.

## The reflex

greeting = Hello{ $person ->
    [none] {""}
   *[other] {" "}{ $person }
}, I am { $butler }.
how-it-is = I am well, and I am here for you. I can do { $abilities } kinds of things; say "help" to see some of them. How each of my parts is: `metnosctl status`.
what-waits = What waits for your word has been shown as a card where it was asked for. All of them: `metnosctl approval list` at the machine, /approvals on Telegram, GET /v1/approvals for programs.
words-approve-nothing = Words like these approve nothing, so that nobody's text can. Answer the card itself: where it was shown, or by `metnosctl approval list` and `metnosctl approval approve`.
greeting-example = Ask me something, for instance "{ $example }", or say "help".
welcome = You are welcome{ $person ->
    [none] {""}
   *[other] , { $person }
}.
who-it-is = I am { $butler }, the butler of this house: I read, find, count, note and tidy up what you ask me to, and ask before anything serious. "help" shows examples.
who-you-are = { $person ->
    [none] I do not know your name. If this house is yours, it stands in USER.md: `metnosctl birth` asks for it.
   *[other] You are { $person }.
}
household = { $names ->
    [none] { $person ->
        [none] I know nobody here by name yet. The owner tells me with `metnosctl people add NAME`.
       *[other] Besides you, { $person }, I know nobody here by name yet. The owner tells me with `metnosctl people add NAME`.
    }
   *[other] { $person ->
        [none] I know { $names }.
       *[other] I know you, { $person }, and also { $names }.
    }
}
help = I can do what you ask in words like these:
help-nothing = I have no executor that I could call yet; `metnosctl executor list` shows why.
doubt-unknown = I am not sure what you mean, so I did nothing.
doubt-ambiguous = This could mean more than one thing, so I did nothing.
doubt-effects = This would have an effect, and I do not guess such things: I did nothing.
doubt-later = At a set time I can answer a question by myself (“every morning at 8 tell me what is planned today”), change a list (“tomorrow at 9 add milk to the shopping list”) or remind you (“remind me every morning at 8 to …”), and cannot do anything else yet. Each needs an hour. I did nothing now, and noted the wish.
doubt-empty = You said nothing.
doubt-too-long = That is more than I can take in at once without a model, so I did nothing.
nearest = The nearest things I can do:
which = Which one: { $names }?
which-by-name = What changes something is not chosen by its place in a row, because the row may have changed. Say the name: { $names }.
or = { $some } or { $last }
left-alone = All right, I leave it.
not-again = I do not repeat on my own what changes something. Say the whole request once more.
no-private-list = I keep a private list only for somebody I know by name, and I do not know you yet. The owner does that with `metnosctl people add NAME` and `metnosctl people join`.
last-exchange = You said “{ $said }”, and I answered: “{ $answer }”
last-done = You said “{ $said }”, and that is done.
hint = I did nothing by myself. If you want it done, say “yes” or “{ $example }”.
nothing-to-stop = All right. Nothing is under way; what waits for your decision is on its card.
nothing-asks = Nothing waits for a yes or a no in words. What waits for your decision is on its card: answer it there. All of them: `metnosctl approval list`.
reminder-made = I will remind { $who ->
    [none] you
   *[other] { $who }
} { $when } ({ $zone }): { $what }. Say “undo” to take it back.
reminder-already = That is planned already, { $when } ({ $zone }): { $what }. It stays one.
reminder-next = The next times: { $times }.
reminder-here = I can tell you only here: while this chat or page is open, or when you next say something. In a Telegram chat I write by myself.
reminder-elsewhere = If you are not here then, I write to you on Telegram.
reminder-in-chat = I write to you on Telegram.
reminder-there = { $who } gets it in an open chat, or with the next answer: on Telegram I could write by myself.
message-sent = I pass it on to { $who }: “{ $what }”.
message-held = I do not disturb { $who } now: it arrives at { $until }.
message-nobody = There was nobody to tell.
message = { $from ->
    [none] { $what }
   *[other] { $from } says: { $what }
}
seal-broken = The owner of this house reads for one hour what I keep of what you said and asked. The reason given: { $why }
person-unknown = I know nobody called { $name } here, so I passed nothing on. I know { $names }.
reminder-none = Nothing is planned.
reminder-none-then = { $when } I have nothing planned for you. That is only about reminders: ask for the calendar to hear what is there.
reminder-beside = And these reminders:
reminder-none-beside = There are no reminders for then.
reminder-only = These are only reminders: ask for the calendar to hear what is there.
reminder-line = { $number }. { $when }: { $what }{ $who ->
    [none] {""}
   *[other] {" "}(for { $who })
}{ $state ->
    [active] {""}
    [paused] {" "}(paused)
   *[other] {" "}({ $state })
}
reminder-changed = { $act ->
    [cancelled] I will not remind { $who ->
        [none] you
       *[other] { $who }
    } any more: { $what } ({ $when }).
    [paused] Paused: { $what } ({ $when }).
    [resumed] I remind { $who ->
        [none] you
       *[other] { $who }
    } again: { $what } ({ $when }).
    [moved] I will remind { $who ->
        [none] you
       *[other] { $who }
    } { $when } instead: { $what }.
   *[other] { $act }: { $what } ({ $when }, { $who }).
}
reminder-found = { $what }: { $when }{ $left ->
    [none] .
   *[other] , in { $left }.
}
reminder-not-found = I have nothing planned about “{ $called }”.
timer-none = No timer is running, and nothing else is due once within a day.
left = { $hours ->
    [0] {""}
    [one] one hour{ $minutes ->
        [0] {""}
       *[other] {" "}and{" "}
    }
   *[other] { $hours } hours{ $minutes ->
        [0] {""}
       *[other] {" "}and{" "}
    }
}{ $minutes ->
    [0] {""}
    [one] one minute
   *[other] { $minutes } minutes
}
ask-made = I will answer “{ $what }” { $when } ({ $zone }). Say “undo” to take it back.
ask-named = the answer to “{ $what }”
ask-changed = { $act ->
    [cancelled] I will not answer “{ $what }” by myself any more ({ $when }).
    [paused] Paused: the answer to “{ $what }” ({ $when }).
    [resumed] I answer “{ $what }” by myself again ({ $when }).
    [moved] I will answer “{ $what }” { $when } instead.
   *[other] { $act }: “{ $what }” ({ $when }).
}
ask-answer = “{ $what }”, as you asked:
ask-silent = I write only when there is something to tell.
ask-nothing = There is nothing to tell.
do-made = I will do this { $when } ({ $zone }): “{ $what }”. I ask nobody then, and tell you what became of it. Say “undo” to take it back.
do-named = done by itself: “{ $what }”
do-changed = { $act ->
    [cancelled] I will not do “{ $what }” by myself any more ({ $when }).
    [paused] Paused: “{ $what }” ({ $when }).
    [resumed] I do “{ $what }” by myself again ({ $when }).
    [moved] I will do “{ $what }” { $when } instead.
   *[other] { $act }: “{ $what }” ({ $when }).
}
do-done = “{ $what }”, as planned:
do-unsure = I began “{ $what }” as planned and was interrupted. I do not know whether it was done, and do not do it twice: please look.
review-head = { $when ->
    [none] Today
   *[other] { $when }
}: { $count ->
    [0] you asked me for nothing.
    [one] you asked me for one thing.
   *[other] you asked me for { $count } things.
}
review-done = Done:
review-reminded = I reminded you:
review-unmet = Not understood, or beyond me:
review-to-come = Still to come:
review-line = - { $at } { $what }
review-more = … and { $count } more.
review-waiting = { $count ->
    [one] One act waits for your decision.
   *[other] { $count } acts wait for your decision.
}
reminder-of-what = Of what shall I remind you? Say it in one sentence, for instance “remind me tomorrow at 9 to call the dentist”. I planned nothing yet.
reminder-when = When shall I remind { $who ->
    [none] you
   *[other] { $who }
}: { $what }? Say for instance “tomorrow at 9”, “in 20 minutes” or “every Monday at 7:30”. I planned nothing yet.
reminder-which = At { $one } or at { $other }? I planned nothing yet.
reminder = { $from ->
    [none] Reminder
   *[other] Reminder from { $from }
}: { $what }
reminder-due = It was due { $due }.
reminder-missed = { $count ->
    [one] One time before it went by unnoticed.
   *[other] { $count } times before it went by unnoticed.
}
reminder-again = I may have told you this before: I could not find out whether it reached you.
you-said = { $when ->
    [none] Among the last things you said: “{ $text }”
   *[other] On { $when }, you said: “{ $text }”
}
you-said-nothing = I find nothing that you have told me about that.
cannot-yet = { $kind ->
    [reminder] I can remind you, and others of the household whom I know by name, at a time that you name (“remind me tomorrow at 9 to call the dentist”). Other things with reminders, alarms or timers I cannot do yet.
    [mail] I can read, mark, move, answer and send mails, once a mailbox is connected (“do I have new mail?”, “send an email to anna@example.org: I will be late”). To send one I need an address or a contact, and what it says. I cannot forward mails or attach files yet.
    [calendar] I can tell what is on a calendar, add to it, and move or cancel what is there, once one is connected (“what is on my calendar tomorrow”, “put the dentist on Tuesday at 15”, “put yoga on the calendar every Tuesday at 18”). I cannot change events that have guests, nor a whole series, and I cannot invite anybody yet.
    [weather] I can tell the weather of a town for two weeks (“will it rain in Milan tomorrow”). More about the weather I do not know.
    [music] I cannot play music or videos yet.
    [home] I can look at and switch lights, plugs, blinds, the heating and scenes, and open or lock doors, gates and the garage after you confirm, once a house is connected (“turn on the kitchen light”, “set the thermostat to 20 degrees”, “is the garage open”). Other things in the house I cannot do yet.
    [phone] I cannot make calls, nor send messages to anybody but the people of the household whom I know by name (`metnosctl people add`).
    [news] I cannot look up the news yet.
    [shopping] I cannot buy, order or pay anything yet.
    [search] I cannot search the web yet. I can read a page whose address you type (“read https://example.org”).
    [maps] I cannot look up ways, traffic, timetables or places nearby yet.
    [translation] I cannot translate by myself; with a language model I can.
    [fun] I know no jokes, stories or games by myself; with a language model I do.
    [knowledge] I know what you tell me and what stands in your files, and not the rest of the world; a language model does.
   *[other] I cannot do that yet ({ $kind }).
} I did nothing, and noted the wish.
goodbye = Goodbye{ $person ->
    [none] {""}
   *[other] , { $person }
}.
chance-heads = Heads.
chance-tails = Tails.
chance-dice = Rolled: { $rolled }.
chance-number = { $number }.
chance-choice = I choose { $choice }.
looked-up = I cannot answer that by myself, but this stands in your files:
sorry = I am sorry. Say “undo” to take back what I did last, and tell me again in other words.
memory-of-you = I keep what you say to me and what I answer, encrypted with a key of your own. “What did I say today?” shows it, “forget what I just said” takes it out for good, and the page has all of it under Memory. Your notes and lists are files: “what did I note?”. What I am to do for you: “what is planned?”.
privacy = What you say to me I show to nobody else of the household. Whoever looks after this machine can break that seal, and then I tell you at once. In a group, all its members read. What you put on the household’s lists and notes, the household reads; “note that …” and “my private list” are for you alone. Where a language model is set up, it is shown what it needs for an answer. I hear only what is written to me.
languages = I understand English and Italian. Write in either; I answer in the same.
good-night = Good night{ $person ->
    [none] {""}
   *[other] , { $person }
}.
still-starting = I have only just started and am still trying out { $count ->
    [one] one of my abilities
   *[other] { $count } of my abilities
}, so I may not have understood that yet. Ask me again in a moment.
no-model = No language model is configured, so I only understand simple requests.

## What became of a call

error-class = { $class ->
    [NotFound] not found
    [PermissionDenied] permission denied
    [TooLarge] too large
    [NotAFile] not a file
    [NotADirectory] not a folder
    [NotAFolder] not a folder
    [NotText] not text
    [BadPath] not a valid path
    [Exists] already there
    [IsAFolder] it is a folder
    [NoSpace] no room left
    [TooMany] too many
    [TooMuch] too much
    [BadText] not a text to be written
    [BadContent] not a text to be written
    [NoColumn] no such column
    [UnknownDay] no such day
    [UnknownZone] unknown place
    [Timeout] too slow
   *[other] { $class }
}
error-about = { $class ->
    [NotFound] I cannot find { $what }.
    [PermissionDenied] I may not touch { $what }: it is a link, is kept for taking things back, or lies outside of the workspace.
    [TooLarge] { $what } is too large for that.
    [NotAFile] { $what } is not a file.
    [NotADirectory] { $what } is not a folder.
    [NotAFolder] { $what } is not a folder.
    [NotText] { $what } is not a text, so I cannot read it.
    [BadPath] { $what } is not a name that a file can have.
    [Exists] { $what } is there already, so I changed nothing.
    [IsAFolder] { $what } is a folder.
    [NoSpace] There is no room left on the disk for { $what }. Free some space, then ask again.
   *[other] { $what } ({ $class })
}
error-other = { $message }.
outcome-crashed = That broke off in the middle, by a fault of mine. Ask again; if it happens again, tell whoever looks after this machine.
outcome-bad-output = What came back was not in order, so I do not show it. Ask again; if it happens again, tell whoever looks after this machine.
outcome-memory = That needed more memory than it may have, so it was stopped. Ask for a smaller part.
outcome-timeout = That took too long, so it was stopped. Ask for a smaller part, or try again later.
outcome-output = There is more to show than fits into one answer. Ask for a smaller part.
outcome-processes = That started more programs than it may, so it was stopped.
outcome-killed = That was stopped before it was done.
outcome-interrupted = That was interrupted before it was done. Ask again.
outcome-sandbox = I could not do that safely, so I did not start it. Whoever looks after this machine finds the reason with `metnosctl doctor`.
outcome-disk = That wanted to write more to the disk than it may, so it was stopped, and what it had begun was removed.
outcome-disk-full = That was stopped because the disk is nearly full. Free some space, then ask again.
outcome-failed = That could not be finished: the system refused something it needed, such as opening one more file or a very long path.
unreadable = I could not read what came back, so I have no answer. Ask again.
empty = There is nothing there.
done = Done.
truncated = These are the first { $shown } of { $total }.
truncated-somehow = There is more than is shown here.
yes = yes
no = no

## The end of a turn

gone = A part of me ({ $role }) stopped in the middle, so this ended here. It restarts by itself: ask again in a moment.
late = A part of me ({ $role }) did not answer in time, so this ended here. Ask again in a moment.
ended = The turn ended: { $why }.
too-long = The turn took longer than a turn may, so it ended.
cancelled = Cancelled.
planner-gone = The planner stopped in the middle of the turn. It is restarted by itself: ask again in a moment.
planner-late = The planner did not end the turn in time, so it was broken off.
answer-cut = The answer is larger than an answer may be, so it was cut off.
not-recorded = The answer could not be recorded, so the turn counts as broken: { $why }.

## A turn with a model

model-useless = The model's replies could not be used.
model-repeated = The model asked again for what had been refused: { $why }.
model-too-much = The model wrote more than is shown, so it was stopped.
model-cut-off = The model had no tokens left in the middle of its answer.
model-refused = The model's provider did not let it answer.
model-too-long = There is more to read than the model can take in.
model-bound = The model did not come to an end within the bounds of a turn.
model-unasked = The model could not be asked: { $why }.
model-unfunded = The model may not be asked: { $why }.
steps-cannot = I have nothing that could do this. I noted the wish.
steps-not-found = I looked, and what I found does not say it.
steps-not-allowed = It was not allowed, so nothing was done.
model-used-up = The model may not be asked: nothing is left for this turn.
models-none = no language model is configured; the reflex answers what it understands, without a model
models-unheard = mind was not heard yet
models-gone = mind is not running
models-silent = { $role }: { $model } (does not answer)
waits-for-card = It waits for an answer to the card, and then goes on.

## What stands below a model's answer: what was done, by the records

said-done = Done: { $what }.
said-not-done = Not done: { $what }.
said-unread = Not looked at: what came of { $what }. The answer does not rest on it.
said-nothing-changed = Note: nothing was changed in this turn.
said-nothing-sent = Note: nothing was sent in this turn.
said-line = line { $line }
said-lines = lines { $lines }
said-act = { $executor ->
    [archive_pack] { $count ->
        [one] 1 archive made
       *[other] { $count } archives made
    }
    [archive_unpack] { $count ->
        [one] 1 archive unpacked
       *[other] { $count } archives unpacked
    }
    [calendar_add] { $count ->
        [one] 1 event put on the calendar
       *[other] { $count } events put on the calendar
    }
    [calendar_cancel] { $count ->
        [one] 1 event cancelled
       *[other] { $count } events cancelled
    }
    [calendar_move] { $count ->
        [one] 1 event moved
       *[other] { $count } events moved
    }
    [contact_add] { $count ->
        [one] 1 contact written
       *[other] { $count } contacts written
    }
    [fs_append] { $count ->
        [one] 1 file added to
       *[other] { $count } times added to files
    }
    [fs_delete] { $count ->
        [one] 1 file or folder moved to the trash
       *[other] { $count } files or folders moved to the trash
    }
    [fs_move] { $count ->
        [one] 1 file or folder moved
       *[other] { $count } files or folders moved
    }
    [fs_restore] { $count ->
        [one] 1 file or folder brought back
       *[other] { $count } files or folders brought back
    }
    [fs_write] { $count ->
        [one] 1 file written
       *[other] { $count } files written
    }
    [home_act] { $count ->
        [one] devices of the house switched 1 time
       *[other] devices of the house switched { $count } times
    }
    [home_secure] { $count ->
        [one] a lock, gate or alarm switched 1 time
       *[other] locks, gates or alarms switched { $count } times
    }
    [imap_flag] { $count ->
        [one] 1 time mails marked
       *[other] { $count } times mails marked
    }
    [imap_move] { $count ->
        [one] 1 time mails moved
       *[other] { $count } times mails moved
    }
    [note_add] { $count ->
        [one] 1 note added
       *[other] { $count } notes added
    }
    [notify] { $count ->
        [one] 1 message sent
       *[other] { $count } messages sent
    }
    [shell_run] { $count ->
        [one] 1 program run
       *[other] { $count } programs run
    }
    [smtp_send] { $count ->
        [one] 1 mail sent
       *[other] { $count } mails sent
    }
    [table_convert] { $count ->
        [one] 1 table converted
       *[other] { $count } tables converted
    }
    [undo] the last change taken back
   *[other] { $count ->
        [one] { $executor }
       *[other] { $executor }, { $count } times
    }
}
said-try = { $executor ->
    [archive_pack] packing an archive
    [archive_unpack] unpacking an archive
    [calendar_add] putting an event into the calendar
    [calendar_cancel] cancelling an event
    [calendar_events] looking into the calendar
    [calendar_find_free] looking for free time
    [calendar_move] moving an event
    [calendar_restore] putting the calendar back as it was
    [contact_add] writing down a contact
    [csv_query] reading a table
    [doc_find] searching the documents
    [doc_text] reading a document
    [fs_append] adding to a file
    [fs_delete] moving a file or folder to the trash
    [fs_hash] comparing a file
    [fs_list] listing a folder
    [fs_move] moving a file or folder
    [fs_read] reading a file
    [fs_restore] bringing a file or folder back
    [fs_write] writing a file
    [home_act] switching devices of the house
    [home_list] listing the devices of the house
    [home_restore] setting devices of the house back
    [home_secure] switching a lock, gate or alarm
    [home_state] looking at a device of the house
    [image_info] looking at an image
    [imap_attachment] fetching what is attached to a mail
    [attachment_add] keeping what is attached
    [imap_fetch] reading a mail
    [imap_fetch_headers] listing the mails
    [imap_flag] marking mails
    [imap_move] moving mails
    [imap_restore] putting mails back as they were
    [imap_search] looking for mails
    [imap_status] looking into the mailbox
    [note_add] adding a note
    [notify] sending a message
    [ocr_text] reading what is written in an image
    [pdf_text] reading a PDF
    [schedule] planning a reminder
    [shell_run] running a program
    [smtp_send] sending a mail
    [smtp_status] trying the server that sends mail
    [table_convert] converting a table
    [table_read] reading a workbook
    [text_search] searching the files
    [undo] taking back the last change
    [weather_get] looking up the weather
    [web_fetch] reading a page
    [web_search] searching the web
    [feed_read] looking at what is new on a site
    [price_watch] looking at what an article costs
   *[other] { $executor }
}

## Cards

card-asks = May this be done?
card-what = What
card-on-what = On what
card-how-many = How many
card-where-from = From where
card-way-back = Way back
card-cost = Cost
card-why = Why it is asked
card-who = Who may answer
card-does = { $executor ->
    [archive_pack] packs files into an archive
    [archive_unpack] unpacks an archive into a new folder
    [calendar_add] puts an event on the calendar
    [calendar_cancel] cancels an event on the calendar
    [calendar_move] moves an event on the calendar to another time
    [calendar_restore] puts the calendar back as it was
    [contact_add] writes down a contact
    [file_get] sends a file to you
    [fs_append] adds lines at the end of a file
    [fs_delete] moves something to the trash
    [fs_move] gives a file or folder another name
    [fs_restore] takes an earlier change back
    [fs_write] writes a file
    [home_act] switches devices of the house
    [home_restore] sets devices of the house back to what they were
    [home_secure] locks, unlocks, opens or closes the house, or switches its alarm
    [imap_flag] marks mails as read, unread or important
    [imap_move] moves mails to another folder
    [imap_restore] puts mails back as they were
    [attachment_add] keeps what is attached to a mail
    [inbox_add] keeps a file that was sent
    [list_remove] takes things off a list
    [note_add] writes down a note
    [notify] sends a message
    [shell_run] runs a program on this machine
    [smtp_send] sends a mail from your account
    [smtp_status] tries the server that sends mail
    [table_convert] makes a file of a table
    [telegram_send] sends a message on Telegram
    [weather_get] asks open-meteo.com on the internet for the weather
    [web_fetch] reads a page of the internet
    [feed_read] reads what is new on a site of the internet
    [price_watch] reads on the page of a shop what an article costs
   *[other] { $executor }
}
card-argument = { $name ->
    [from] who it is from
    [into] into which folder
    [set] how it is marked
    [seen] what was told before
    [below] only below
    [watch] to be watched
    [since] since when
    [uid] number of the mail
    [uidvalidity] numbering of the folder
    [unread] only unread ones
    [account] with which account
    [address] where somebody lives
    [all] everything
    [argv] program and its words
    [birthday] date of birth
    [blake3] fingerprint
    [body] what it says
    [bytes] size in bytes
    [calendar] in which calendar
    [cc] copies to
    [channel] where to
    [content] text
    [cwd] in the folder
    [date] on the day
    [day] when
    [do] what is done
    [done] only what is done
    [everybody] for everybody
    [folder] a whole folder
    [format] in which format
    [heading] title
    [home] where the household is
    [italian] in Italian
    [keep] kept for taking back as
    [kind] what kind of device
    [lang] language
    [lasts] how long it takes
    [level] in percent
    [limit] how many at most
    [mail] mail address
    [message] what is said
    [minutes] for how many minutes
    [name] who or what
    [of] what was done
    [offset] clock, against UTC
    [on] when it is now
    [other] and the other file
    [overwrite] replaces what is there
    [own] in the private folder
    [page] page
    [part] part of the day
    [path] file
    [person] to whom
    [phone] phone number
    [place] where
    [rain] about rain
    [recipient] to the address
    [reply] answers the mail number
    [series] all times of a series
    [sheet] which sheet
    [stdin] what the program reads
    [subject] with the subject
    [temperature] about the temperature
    [text] what is noted
    [title] what it is called
    [to] new name
    [to_page] to page
    [url] address
    [waiting] only those that wait for an answer
    [when] when it is
    [wind] about wind
    [words] what is looked for
   *[other] { $name }
}
card-class = { $class ->
    [read] reads
    [net_read] reads from the net
    [self_create] makes something new
    [self_modify] changes something
    [destroy] removes something
    [send] sends something
    [share] shares something
    [publish] publishes something
    [acl] changes who may see something
    [money] spends money
    [account] changes an account
    [book] books something
    [shell] runs a command
    [schedule] does something later
    [confirm] confirms something
    [mark] marks something
   *[other] { $class }
}
card-not-counted = not counted beforehand
card-no-arguments = nothing in particular
card-written = written { $text }
card-left-out = … { $count } characters left out, fingerprint { $mark } …
card-source = { $source ->
    [intent] typed by you, for this
    [prompt] typed by you
    [slot] planned from your words, but not typed by you
    [owner] your own
    [designated] found by what you typed
    [called] a file that you called by its name
    [contact] a person you know
    [result] a part of something that was read
    [ctx] not typed by anybody: Metnos put it together
   *[other] { $source }
}
card-label = { $label ->
    [trusted] trusted
    [vouched] vouched for
    [untrusted] from a source that is not trusted
   *[other] { $label }
}
card-cost-nothing = nothing
card-reason = { $rule ->
    [guest-write] a guest wants something changed: an owner decides
    [level-readonly] whoever asks may only read without being asked back: an owner decides
    [net_read-url] the address carries something that you have not typed to another machine
    [destroy-irreversible] it cannot be undone
    [destroy-many] it may remove more than one thing at once
    [destroy-selector] you have not said yourself what is to be removed
    [send-dest] you did not name the person who gets the message
    [send-composed] you have not typed what is said in your name
    [send-derived] it was put together after something was read that could be by anybody
    [account-frozen] nothing of this was typed by the owner
    [money-payee] nothing says who is paid
    [money-amount] the amount is not one that you typed
    [money-cap] it is more than is paid without asking
    [shell-tainted] it runs a program, after something was read that could be by anybody
    [shell-unlisted] it runs a program that is not on the list of this house
    [confirm-alone] nothing came right before that it could confirm
    [confirm-card] it reaches others or cannot be undone, which is always asked
    [mark-lasting] it cannot be undone
    [intent-spent] it was planned, and has been done as often as planned
    [intent-none] something was read that could be by anybody, and this was not planned before
    [budget-cost] it costs more than is spent without asking
    [undo-missing] what is needed to undo it later cannot be kept
    [adult-core] it is one of the files that say what Metnos is: the owner decides
    [workspace-core] it is one of the files that say what Metnos is, and your words do not have both its name and the text
    [secret-file] it is a file of secrets, and your words do not name it
   *[other] { $rule }
}
card-who-asked = whoever asked ({ $principal }), where it was asked; or the owner at the machine
card-one-of = { $number } of { $total }
card-state = { $state ->
    [waiting] waiting
    [approved] approved
    [denied] denied
    [expired] expired
   *[other] { $state }
}
card-prompt = Do it?  [y] yes, once   [t] yes, and the same again for this request   [n] no   [Enter] not now
card-yes-or-no = Allow it?  [y] yes   [n] no   [Enter] not now:{" "}
card-decide-here = Type /approvals to decide.
card-later = it waits; to answer it: metnosctl approval show { $card }
card-yes = Yes, once
card-yes-turn = Yes, and the same again for this request
card-no = No
card-too-long = It is too long to be shown here: metnosctl approval show { $card }
card-touches-at-least = at least { $files ->
    [one] { $files } file
   *[other] { $files } files
} in { $folders ->
    [one] { $folders } folder
   *[other] { $folders } folders
}; what is in { $covered ->
    [one] { $covered } folder
   *[other] { $covered } folders
} that I may not look into is not counted
card-touches = { $files ->
    [one] { $files } file
   *[other] { $files } files
} in { $folders ->
    [one] { $folders } folder
   *[other] { $folders } folders
}
card-reversible = It can be undone: say “undo”.
card-irreversible = It cannot be undone.
card-others = { $principal } asks for this, and you decide, here or at the machine
card-at-the-machine = The owner decides this, where he is or at the machine: metnosctl approval show { $card }
card-approved = Approved by { $by ->
    [owner] the owner
   *[other] { $by }
}; { $ran } done.
card-denied = Denied by { $by ->
    [owner] the owner
   *[other] { $by }
}; nothing was done.
card-declined = All right: it stays as it is, and nothing was done.
chat-card = This waits for your word: { $what }. To answer card { $card }: metnosctl approval show { $card } at the machine, or POST /v1/approvals/{ $card }.
card-stale = This does not wait for your word, or not any more. Nothing was done.
quiet-set = From { $from } to { $upto } I hold what others send you, and deliver it afterwards. Your own reminders come at their time.
quiet-none = All right: what others send you is delivered at any hour.
quiet-are = From { $from } to { $upto } I hold what others send you. “No more quiet hours” ends that.
quiet-are-none = You have no quiet hours: what others send you is delivered at any hour. “Don’t disturb me between 22 and 7” makes some.
mood = { $person ->
    [none] I am sorry to hear that. If I can take something off your mind, say it: a reminder, a list, a note.
   *[other] I am sorry to hear that, { $person }. If I can take something off your mind, say it: a reminder, a list, a note.
}
clock-ends = It ends at { $time }{ $day ->
    [same] .
    [next] , on the next day.
   *[other] ({ $day }).
}
clock-born = Somebody born in { $year } is { $before }, and { $after } from this year’s birthday on.
clock-leap = { $is ->
    [yes] Yes, { $year } has 366 days.
    [no] No, { $year } has 365 days.
   *[other] { $year }: { $is }.
}
clock-then = It will be { $time }{ $day ->
    [same] .
    [next] , tomorrow.
    [later] , on a later day.
   *[other] ({ $day }).
}
clock-then-past = It was { $time }{ $day ->
    [same] .
    [before] , yesterday.
    [earlier] , some days ago.
   *[other] ({ $day }).
}
clock-hours = { $count ->
    [one] { $count } hour
   *[other] { $count } hours
}
clock-minutes = { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}
clock-until = { $long } until { $time }.
clock-between = { $long }
clock-difference = { $way ->
    [same] { $here } and { $there } have the same time.
    [later] In { $there } the clock is { $long } ahead of { $here }.
    [earlier] In { $there } the clock is { $long } behind { $here }.
   *[other] { $there }, { $here }: { $long } ({ $way }).
}
clock-elsewhere = In { $there } it is { $time } then{ $day ->
    [same] .
    [next] , on the next day.
    [before] , on the day before.
   *[other] ({ $day }).
}
offer-asks = Shall I tell you this unasked from now on?
offer-what = “{ $what }”, { $when }
offer-why = You have asked me this on { $days } days at about { $time }.
offer-way-back = Say “what is planned” to see it, and cancel it whenever you like.
offer-prompt = Shall I?  [y] yes   [n] no   [Enter] not now
offer-yes = Yes, please
offer-no = No, thanks
offer-planned = All right: from now on I tell you this unasked.
offer-declined = All right, I leave it.
card-heard = Heard.
card-none = Nothing waits for your word.

## A chat

command-help = what can be said here
command-status = how Metnos is
command-undo = take back the last thing that was done
command-approvals = what waits for your word
command-file = send a file of the workspace: /file notes/plan.pdf
command-pause = stop everything now
chat-help = Write what you wish in your own words. What needs your word comes with buttons.
chat-stranger = I do not know you, so I do not read what you write. Your code, for { $minutes ->
    [one] { $minutes } minute
   *[other] { $minutes } minutes
}: { $code }. The owner types: metnosctl pairing approve telegram { $code }
chat-known = The code was good: you are known here from now on. /help says what can be said.
chat-private-only = In a group I hear words only. Files, commands and answers to cards belong in a private chat with me.
chat-unknown-group = I do not know this group, so I do not read what is written here. Its code, for { $minutes ->
    [one] { $minutes } minute
   *[other] { $minutes } minutes
}: { $code }. The owner types: metnosctl pairing approve telegram { $code } --as adult for the household's own group, or --as guest for any other.
chat-group-card = The owner answers this in a private chat, or at the machine.
chat-passed-on = That is someone else's text, passed on: I do not take it for your words. Write what you wish yourself.
chat-no-files = I cannot take in a message of this kind, and it was not read. Write it in words, or send it as a file.
file-kept = Kept as { $path } ({ $bytes } bytes).
file-there = The very same file was there already: { $path }.
file-too-large = This file has { $size } MiB, and a bot can fetch at most { $most } MiB from Telegram, so it was not taken. Put it into the workspace folder at home, then name it here, or send it in smaller parts.
file-over-limit = This file has more than { $most } MiB, and a bot can fetch no more from Telegram, so it was not taken. Put it into the workspace folder at home, then name it here, or send it in smaller parts.
file-too-large-to-send = { $path } has { $size } MiB, and at most { $most } MiB are sent here, so it was not sent. Take it from the workspace folder at home, or ask for smaller parts of it.
file-too-many = Too many files at once: { $name } was left out. Ask again when the others are done.
file-not-fetched = The file could not be fetched, so nothing was kept. Send it again.
file-not-kept = The file was not kept: { $why }.
file-which = Which file? Write its path in the workspace behind the command: /file notes/plan.pdf
file-empty = There is nothing in { $path }, and an empty file cannot be sent.
file-not-sent = The file was not sent: { $why }.
file-not-taken = The file could not be delivered. Ask for it again.
chat-too-many = Too many messages at once: this one was not heard. Send it again when the others are answered.
chat-interrupted = I was interrupted in the middle of this. What had been done stands in the record, and nothing is done a second time: look, and say again what is still to be done.
chat-nothing-said = Done.
chat-as-a-file = The whole answer, as a file.
chat-working = Working on it
chat-stopped = Everything is stopped; { $killed ->
    [one] { $killed } call was
   *[other] { $killed } calls were
} ended. To go on, at the machine: metnosctl resume
chat-own-stopped = What was under way for you is stopped.
owner-set-aside = { $executor } is in quarantine and does not run any more: { $why }. What to do, at the machine: metnosctl executor show { $name }
owner-alarm = { $executor } tried what no executor has a use for: { $why }. What stops that is the sandbox. To switch it off, at the machine: metnosctl executor disable { $name }
chat-status = Metnos is up. Turns under way: { $turns }. Waiting for your word: { $waiting }.

# What was taken back.
forgotten-last = I have forgotten what you said last, and what I answered. What was done or planned stays: “undo” takes it back.
forgotten-nothing = There is nothing that you said here and that I could forget.
undo-nothing = There is nothing of yours to take back.
undo-left = { $left ->
    [one] One thing is left as it was.
   *[other] { $left } things are left as they were.
}
undo-act = { $state ->
    [undone] { $executor ->
        [fs_append] What was added to { $path } is out of it again.
        [note_add] { $path ->
            [none] The note is taken out again.
           *[other] The note is out of { $path } again.
        }
        [fs_delete] { $path } is back.
        [fs_move] { $path } has its old name again.
        [fs_write] { $path } is as it was before.
        [list_remove] What was taken off { $path } is on it again.
        [calendar_add] The event is off the calendar again.
        [calendar_cancel] The event is on the calendar as it was before.
        [calendar_move] The event is on the calendar as it was before.
        [imap_flag] The mails have the marks again that they had.
        [imap_move] The mails are back where they were, as far as they were still there.
        [home_act] The devices of the house are as they were before.
        [contact_add] The contacts are as they were before.
        [inbox_add] { $path } is taken out of the inbox again.
        [attachment_add] The attachment is taken out of the inbox again.
        [archive_pack] The archive that was made of { $path } is gone again.
        [archive_unpack] What was unpacked from { $path } is gone again.
        [table_convert] The file that was made of { $path } is gone again.
        [reminder] I will not remind you of this any more: { $path }.
       *[other] What { $executor } did is taken back.
    }
    [nothing] { $path ->
        [none] There was nothing left to take back.
       *[other] There was nothing left to take back of { $path }.
    }
    [undoing] It broke off; say “undo” again, and it goes on where it stopped.
   *[other] { $path ->
        [none] { $why ->
            [Changed] It was changed since, so it could not be taken back, and is left as it is.
           *[other] It could not be taken back, and is left as it is.
        }
       *[other] { $why ->
            [Changed] { $path } was changed since, so it could not be taken back, and is left as it is.
            [Exists] Something else has the name { $path } by now, so it could not be taken back, and is left as it is.
            [NotFound] What { $path } was before is not in the trash any more, so it could not be taken back.
            [NoSpace] There is no room left on the disk, so { $path } could not be taken back. Free some space, then say “undo” again.
            [PermissionDenied] I may not touch { $path } now, so it could not be taken back, and is left as it is.
            [none] What was done to { $path } could not be taken back, and is left as it is.
           *[other] What { $executor } did to { $path } could not be taken back ({ $state }: { $why }), and is left as it is.
        }
    }
}

## Refusals, by their rule: what is not here is said as the daemon says it

refusal = { $rule ->
    [approval-waiting] this waits for a yes: the card says what it is about
    [approval-denied] this was denied on its card, so I did not do it
    [guard-path] that place is closed to me, and no setting or approval opens it. Copy what you need into the workspace, and name it there
    [guard-climb] that path leads out of the workspace, and nothing opens that for me. Name something within the workspace
    [guard-passage] the way to that file leads through a place that is closed to me. Copy what you need into the workspace, and name it there
    [guard-spelling] that path is written in a way that I do not accept. Write it plainly, such as notes/trip.md
    [guest-read] guests see only the folder shared and those that the owner opens for them, so for you the rest is not there
    [law-constitution] that is against the Laws of this house, so I do not do it
    [law-perimeter] that is outside of what this house allows
    [level-readonly] you can read here, and whatever changes something is for the owner to allow
    [grant-never] the owner has said that this is never to be done
    [panic-stopped] everything is stopped. The owner starts it again at the machine with `metnosctl resume`
    [program-unlisted] that program is not on the owner's list, so I cannot run it. The owner adds it to `sandbox.commands` in metnos.toml and restarts Metnos
    [executor-disabled] the owner has switched that off
    [executor-archived] that was put away. `metnosctl executor restore` brings it back
    [executor-quarantined] a part that this needs is in quarantine, so I did not use it. Whoever looks after this machine finds the reason with `metnosctl doctor`
    [executor-unreadable] a part that this needs cannot be checked right now. Try again in a moment
    [executor-waiting] I am still starting. Try again in a moment
    [schema-input] I would have to do this with details that do not fit, so I did not. Say it in other words
    [arguments-reference] that refers to something that I do not have in this conversation any more. Say what you mean once more
    [arguments-json] I could not put that together in the right form, so I did nothing. Say it in other words
    [path-busy] something else is changing the same file right now, so I did nothing. Try again in a moment
    [quota-rate] that was too much in a short time. Try again in a moment
    [quota-turn] that was more than I may do for one request. Say what is still to be done
    [quota-concurrent] too much is being done at once. Try again in a moment
    [quota-results] there are too many results of open requests. Wait until one of them has ended
    [quota-turns] too many requests are open at once. Wait until one of them has ended
    [quota-writes_per_day] that has changed as much today as it may. Try again tomorrow
    [quota-bytes_per_day] that has written as much today as it may. Try again tomorrow
    [budget-calls-day] what may be done in a day is used up. Try again tomorrow
    [budget-writes-day] what may be changed in a day is used up. Try again tomorrow
    [sandbox-gone] the part of me that does the work is not there. It restarts by itself: try again in a moment
    [sandbox-named] what you named cannot be opened like that
    [sandbox-hard_link] that file has a second name elsewhere, so I leave it alone
    [sandbox-disk_full] the disk is nearly full, so nothing can be written. Free some space, then ask again
    [folder-link] the way to that file leads through a link or another disk. Name the file itself, where it lies
    [folder-unlisted] the owner has not put that folder among those that may be shown. The owner lists it in metnos.toml and restarts Metnos
    [profile-paths] that path lies outside of what I can see for this. Copy what you need into the workspace
    [door-listens] this chat waits for reminders already
    [schedule-unknown] I find no reminder like that. Ask “what is planned?” to see them; I changed nothing
    [schedule-several] more than one reminder may be meant, so I changed nothing. Say which one, such as “cancel the first one”
    [schedule-shown] I do not know which one you mean. Ask “what is planned?” first, then say for instance “cancel the second reminder”
    [schedule-form] a reminder has one line, of at most about 500 letters, so I planned nothing. Say it shorter
    [schedule-full] too many reminders are planned already. Cancel some of them first
    [schedule-time] I do not understand that time, so I planned nothing. Say it like “tomorrow at 9”, “in 20 minutes” or “every Monday at 7:30”
    [schedule-ambiguous] that may be in the morning or in the evening, so I planned nothing. Say for instance “at 8 in the morning” or “at 20:00”
    [schedule-past] that time is over, so I planned nothing. Name one that is still to come
    [schedule-moved] I do not put a reminder back to its old time by myself. Say when it is to come, for instance “move the reminder to 9”
    [schedule-repeats] that reminder repeats, so I changed nothing. Say when it is to come from now on, for instance “every Monday at 8:00”
    [schedule-vague] that is not exact enough, so I planned nothing. Name a day, and if you like an hour
    [schedule-words] you did not ask for this change of your reminders, so I changed nothing
    [schedule-literal] of what and when I remind you must stand in your own words, so I planned nothing
    [schedule-turn] that is more than I plan for one request. Say anew what is still to be done
    [schedule-unattended] nobody has asked for this, so nothing was planned
    [schedule-often] I answer or do something by myself at most every 15 minutes, so I planned nothing. Name a longer time
    [schedule-asks] I answer or do as much by myself as I keep for one person. Cancel some of them first: ask “what is planned?”
    [schedule-reads] that changes something, and nobody was there who asked for it. Ask for it yourself
    [schedule-level] what you change here an adult agrees to each time, so I do not do it by myself
    [schedule-unasked] somebody would have to be asked about that, and nobody was there. Ask for it yourself
    [people-private] that is in somebody's private folder, and only that person is shown what is there
    [people-unknown] I know nobody called so here, so I passed nothing on
    [people-nobody] I do not know your name yet, so I pass nothing on to others. The owner of this machine can add you: `metnosctl people add NAME`, and for himself `metnosctl people add NAME --role owner`
    [people-guest] a guest has nothing passed on to others
    [people-child] I pass nothing on outside the household
    [people-self] that is you
    [people-alone] there is nobody else of the household whom I could reach
    [people-unreachable] I know this person by name, but no chat or page of theirs yet: `metnosctl pairing invite telegram --person NAME` makes a code for one
    [people-one] a message is for one person, so I passed nothing on. Say for whom it is
    [people-words] your words do not say that, so I passed nothing on
    [schedule-sent] what was passed on cannot be taken back
    [undo-nothing] there is nothing that can be taken back
    [undo-thing] I find nothing that you did to this and that could be taken back, so I changed nothing
    [undo-several] this was added or taken off together with other things, so I changed nothing. Take it off the list or put it on it by its name, or say “undo what you did with the list”
    [undo-missing] what is needed to take this back later cannot be kept, so it was not done without asking
    [forget-open] that request is not over yet: try again in a moment
    [forget-today] enough was forgotten today: the owner takes out the rest at the machine
    [turn-unknown] that request has ended. Ask again
    [turn-stopped] that needed more questions than one request may put. Say what is still to be done
    [chronicle-disk_full] the disk is full, so nothing can be written down, and nothing is done. Free some space
    [policy-disk_full] the disk is full, so nothing is done. Free some space
    [memory-gone] my memory does not answer, so nothing is done. It restarts by itself: try again in a moment
    [mind-no_model] no language model is set up for this
    [mind-unreachable] the server of the language model does not answer. Try again later
    [workspace-core] that file says who I am: only the owner changes it, with an editor
   *[other] { $rule }
}

## The terminal

term-listens = Metnos listens. /help for help, Ctrl-D to end.
term-help = Say what you want done: "read notes/welcome.md", "what can you do".
    A backslash at the end of a line begins another line of the same message; so does an open ```, and what is pasted stays one.
    Ctrl-C cancels a turn, or the line being typed. Ctrl-D or /quit ends the conversation.
    /approvals shows what waits for your word. A line that begins with a blank is not remembered.
term-unknown = { $word } is nothing that can be said here: /help, /approvals, /quit.
term-cancelling = cancelling …
term-unsuccessful = did not succeed
term-denied = was denied
term-http-away = Programs and pages of this machine do not reach Metnos: { $why }. `metnosctl doctor` says what to do.
term-telegram-away = The Telegram bot { $why }. `metnosctl doctor` says what to do.
term-steps = { $count ->
    [one] { $count } step
   *[other] { $count } steps
}
term-settled = card { $card }: { $what }
term-end-not-understood = It was not clear what is wanted.
term-end-denied = It was denied.
term-end-unsuccessful = A call did not succeed.
term-end-cancelled = The turn was cancelled.
term-end-suspended = It waits for an answer, and goes on then.
term-end-broken = A part that was needed went away in the middle.
term-silent = nothing was heard of the turn { $turn } for { $seconds } s
term-silent-remedy = look at `metnosctl status`; what has happened so far stands in `metnosctl audit tail`
term-too-many-words = these are too many words: { $why }
term-too-many-words-remedy = put the text into a file of the workspace, and ask about the file
term-not-running = Metnos is not running in { $place }. To start it: metnosctl up --detach
term-unreachable = A part of Metnos that is needed cannot be reached. It is started anew by itself: try again in a moment, or look at `metnosctl status`.
term-not-remembered = the lines of this conversation are not remembered: { $file }: { $why }

## The first interview

birth-hello = A few questions, and Metnos is set up for this house. The key Enter takes what stands in brackets; Ctrl-C stops, and nothing that was answered is lost. Everything can be changed later, with any editor.
birth-again = { $count ->
    [one] { $count } answer is there already
   *[other] { $count } answers are there already
}; only what is missing is asked.
birth-question = { $field ->
    [language] In which language are you spoken to? / In quale lingua ti si parla? (en, it)
    [name] What is the butler called?
    [owner] What are you called? (may be left empty)
    [owner_user] Which account of this machine speaks as the owner at the terminal? "directory": the owner of the instance's directory.
    [time_zone] Where does your clock stand? A place such as Europe/Rome, or an offset such as UTC+1. Quiet hours are reckoned by it.
    [place] In which town do you live? The weather is told for it. (may be left empty)
    [telos] What is it for? Three to seven ends, with ; between them. Empty: order, calm and trust, as workspace/TELOS.md has them.
    [model_server] A server of language models: NAME KIND ADDRESS, such as "claude anthropic https://api.anthropic.com" or "local ollama http://127.0.0.1:11434". None is needed. Its key is asked for later, and never here.
    [model] Which of its models talks and plans? NAME/MODEL, such as "local/qwen3".
    [http] Where may programs and pages of this machine speak to Metnos? An address of this machine with its port, or "off".
    [telegram] Do you want a bot of Telegram? (yes, no) Its token is asked for later, and never here.
   *[other] { $field }
}
birth-wanted = { $field ->
    [language] en or it
    [name] 1 to 64 characters in one line
    [owner] at most 64 characters in one line
    [owner_user] "directory", or the name or number of an account of this machine
    [time_zone] a place such as Europe/Rome, or an offset such as UTC+1 or -03:30
    [place] at most 64 characters in one line
    [telos] nothing, or 3 to 7 ends of at most 512 bytes each
    [model_server] "none", or NAME KIND ADDRESS, where KIND is anthropic, openai, xai or ollama
    [model] "none", or NAME/MODEL, where NAME is that of model_server
    [http] "off", or an address of this machine such as 127.0.0.1:42618
    [telegram] yes or no; in a file true or false
   *[other] { $field }
}
birth-wrong = { $field }: `{ $value }` is not taken; wanted is: { $wanted }.
birth-unknown = There is no question `{ $field }`; there are: { $wanted }.
birth-near = (did you mean `{ $word }`?)
birth-no-terminal = there is no terminal to ask at
birth-from-file = `metnosctl birth --answers FILE` takes the answers from a TOML file
birth-unchanged = nothing was changed; docs/cli.md has every key, and what it takes
birth-stopped = Stopped. What was answered is kept: `metnosctl birth` goes on from here.
birth-plan = These are the answers, and what will be written:
birth-confirm = Enter does it; the name of a question asks that again; n stops here.
birth-set = { $place }: { $after }
birth-kept = { $place }: stays as you have it, { $before } (answered was { $after }; `metnosctl birth --replace` replaces it)
birth-replaced = { $place }: { $after }, in the place of your { $before }
birth-created = Created an instance in { $place }.
birth-nothing = There is nothing to do: everything stands as it was answered.
birth-next = What is left for you:
birth-next-why = { $step ->
    [start] starts Metnos
    [name] tells it your name, so that it can pass on what you say to the others
    [restart] starts it anew: the configuration counts from then on
    [key] takes the key of that server, without showing it
    [test] asks the model for a word
    [scan] shows which models the server has
    [token] takes the token of the bot from @BotFather, without showing it
    [pair] makes a code, which you say to the bot
   *[other] { $step }
}

# When something is or was.
day = { $weekday ->
    [0] Sunday
    [1] Monday
    [2] Tuesday
    [3] Wednesday
    [4] Thursday
    [5] Friday
    [6] Saturday
   *[other] { $weekday }
} { $day } { $month ->
    [1] January
    [2] February
    [3] March
    [4] April
    [5] May
    [6] June
    [7] July
    [8] August
    [9] September
    [10] October
    [11] November
    [12] December
   *[other] { $month }
} { $year }
moment = { $day }, { $time }
join-last = { $before } and { $last }
workspace = the workspace
