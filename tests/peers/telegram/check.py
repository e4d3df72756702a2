"""The tests' server of the Bot API, as a client library sees it that others have written (python-telegram-bot).

usage: check.py ADDRESS TOKEN. The test beside it writes one message, presses one button, and asks to be left alone once.
"""

import asyncio
import sys

from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup
from telegram.error import BadRequest, Conflict, InvalidToken, RetryAfter


async def refused(kind, part, what):
    try:
        await what
    except kind as error:
        assert part in str(error), (part, error)
    else:
        raise AssertionError(f"{part}: nothing was refused")


async def updates(bot, offset):
    while True:
        found = await bot.get_updates(offset=offset, timeout=20)
        if found:
            return found


async def main(address, token):
    bot = Bot(token, base_url=f"{address}/bot", base_file_url=f"{address}/file/bot")
    async with bot:
        me = await bot.get_me()
        assert me.is_bot and me.username == "metnos_test_bot", me
        assert await bot.set_my_commands([("help", "says what can be said")])
        assert (await bot.get_my_commands())[0].command == "help"

        first = (await updates(bot, 0))[0]
        chat = first.message.chat.id
        assert first.message.text == "first \U0001f980" and first.message.from_user.id == chat, first
        again = await updates(bot, 0)
        assert again[0].update_id == first.update_id, "what is not confirmed is said again"

        keys = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="pressed")]])
        sent = await bot.send_message(chat, "\U0001f980 <b>a &lt; b</b>", parse_mode="HTML", reply_markup=keys)
        assert sent.text == "\U0001f980 a < b", sent.text
        assert [(e.type, e.offset, e.length) for e in sent.entities] == [("bold", 3, 5)], sent.entities
        assert sent.parse_entities() == {sent.entities[0]: "a < b"}

        pressed = (await updates(bot, first.update_id + 1))[0]
        assert pressed.callback_query.data == "pressed" and pressed.callback_query.from_user.id == chat, pressed
        assert await pressed.callback_query.answer("heard")
        await refused(BadRequest, "too old", bot.answer_callback_query("none such"))

        while True:
            try:
                await bot.send_message(chat, "until I am to be quiet")
            except RetryAfter as error:
                wait = error.retry_after
                assert getattr(wait, "total_seconds", lambda: wait)() == 7, wait
                break
            await asyncio.sleep(0.01)

        marked = await bot.send_message(chat, "*a\\.b* `c`", parse_mode="MarkdownV2")
        assert [e.type for e in marked.entities] == ["bold", "code"] and marked.text == "a.b c", marked
        same = {"chat_id": chat, "message_id": sent.message_id}
        edited = await bot.edit_message_text("other", **same)
        assert edited.text == "other" and edited.reply_markup is None
        await refused(BadRequest, "not modified", bot.edit_message_text("other", **same))
        await refused(BadRequest, "not found", bot.edit_message_text("x", chat_id=chat, message_id=999))
        await refused(BadRequest, "parse entities", bot.send_message(chat, "<b>open", parse_mode="HTML"))
        await refused(BadRequest, "reserved", bot.send_message(chat, "a.b", parse_mode="MarkdownV2"))
        await refused(BadRequest, "empty", bot.send_message(chat, " "))
        assert (await bot.send_message(chat, "\U0001f980" * 2048)).text
        await refused(BadRequest, "too long", bot.send_message(chat, "\U0001f980" * 2048 + "x"))
        long = InlineKeyboardMarkup([[InlineKeyboardButton("x", callback_data="x" * 65)]])
        await refused(BadRequest, "BUTTON_DATA_INVALID".lower(), lowered(bot.send_message(chat, "x", reply_markup=long)))

        kept = await bot.send_document(chat, document=b"the bytes", filename="a.txt", caption="a file")
        assert kept.document.file_name == "a.txt" and kept.caption == "a file", kept
        assert bytes(await (await bot.get_file(kept.document.file_id)).download_as_bytearray()) == b"the bytes"

        assert await bot.set_webhook("https://example.org/")
        await refused(Conflict, "webhook", bot.get_updates(timeout=0))
        assert await bot.delete_webhook()
        async with Bot(token, base_url=f"{address}/bot") as other:
            older = asyncio.create_task(other.get_updates(offset=pressed.update_id + 1, timeout=20))
            while not older.done():
                assert await bot.get_updates(offset=pressed.update_id + 1, timeout=0) == ()
                await asyncio.sleep(0.05)
            await refused(Conflict, "other getUpdates", older)
    await refused(InvalidToken, "", Bot("1:wrong-wrong-wrong", base_url=f"{address}/bot").initialize())
    print("all as it should be")


async def lowered(what):
    try:
        return await what
    except BadRequest as error:
        raise BadRequest(str(error).lower()) from error


asyncio.run(main(*sys.argv[1:]))
