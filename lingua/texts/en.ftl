# What Metnos says in English. One message a line; `it.ftl` has the same ones with the same variables, as a test makes sure.

## The reflex

greeting = Hello, I am Metnos.
greeting-example = Ask me something, for instance "{ $example }", or say "help".
welcome = You are welcome.
help = I can do what you ask in words like these:
help-nothing = I have no executor that I could call yet; `metnosctl executor list` shows why.
doubt-unknown = I am not sure what you mean, so I did nothing.
doubt-ambiguous = This could mean more than one thing, so I did nothing.
doubt-effects = This would have an effect, and I do not guess such things: I did nothing.
doubt-later = I cannot do things later or again and again yet: there are no schedules. I did nothing now, and noted the wish.
doubt-empty = You said nothing.
doubt-too-long = That is more than I can take in at once without a model, so I did nothing.
nearest = The nearest things I can do:
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
   *[other] { $class }
}
outcome-crashed = { $executor } crashed.
outcome-bad-output = { $executor } gave a result that does not fit its contract.
outcome-cpu = { $executor } used more processor time than granted.
outcome-memory = { $executor } used more memory than granted.
outcome-timeout = { $executor } took longer than granted.
outcome-output = { $executor } gave a larger result than granted.
outcome-processes = { $executor } started more processes than granted.
outcome-killed = { $executor } was stopped.
outcome-interrupted = { $executor } was interrupted; ask again.
outcome-sandbox = { $executor } was not run, because its sandbox could not be built (`metnosctl doctor` says more).
unreadable = { $executor } returned something that I cannot read.
empty = (empty)
done = Done.
truncated = … { $shown } of { $total } shown
truncated-somehow = … not everything is shown
yes = yes
no = no

## The end of a turn

gone = { $role } is not running, or stopped in the middle, so the turn ended. It is restarted by itself: ask again in a moment, or look at `metnosctl status`.
late = { $role } did not answer in time, so the turn ended; `metnosctl status` and its log say more.
ended = The turn ended: { $why }.
too-long = The turn took longer than a turn may, so it ended.
cancelled = Cancelled.
planner-gone = The planner stopped in the middle of the turn. It is restarted by itself: ask again in a moment.
planner-late = The planner did not end the turn in time, so it was broken off.
answer-cut = The answer is larger than an answer may be, so it was cut off.
not-recorded = The answer could not be recorded, so the turn counts as broken: { $why }.

## A turn with a model

model-useless = The model's replies could not be used.
model-repeated = The model asked again for what had been refused: { $why }
model-too-much = The model wrote more than is shown, so it was stopped.
model-cut-off = The model had no tokens left in the middle of its answer.
model-refused = The model's provider did not let it answer.
model-too-long = There is more to read than the model can take in.
model-bound = The model did not come to an end within the bounds of a turn.
model-unasked = The model could not be asked: { $why }
model-unfunded = The model may not be asked: { $why }
done-until-then = Done until then: { $executors }.
waits-for-card = It waits for an answer to the card, and then goes on.
