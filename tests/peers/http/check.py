"""The door's HTTP channel, as clients see it that others have written: `openai` (chat completions) and `standardwebhooks`.

usage: check.py chat BASE WORDS ANSWER   (the token is OPENAI_API_KEY)
       check.py hook ADDRESS PATH        (the secret is SECRET)
"""

import datetime
import os
import sys
import urllib.error
import urllib.request


def chat(base, words, answer):
    import openai

    client = openai.OpenAI(base_url=base, max_retries=0)
    assert [model.id for model in client.models.list()] == ["metnos"]
    said = [{"role": "system", "content": "be brief"}, {"role": "user", "content": words}]
    whole = client.chat.completions.create(model="metnos", messages=said, temperature=0)
    assert whole.choices[0].message.content.strip() == answer.strip(), whole
    assert whole.choices[0].finish_reason == "stop" and whole.object == "chat.completion"
    text, ends = "", []
    for chunk in client.chat.completions.create(model="metnos", messages=said, stream=True):
        text += chunk.choices[0].delta.content or ""
        ends.append(chunk.choices[0].finish_reason)
    assert text.strip() == answer.strip() and ends[-1] == "stop", (text, ends)
    parts = [{"role": "user", "content": [{"type": "text", "text": words}]}]
    assert client.chat.completions.create(model="metnos", messages=parts).choices[0].message.content.strip() == answer.strip()

    def refused(kind, param, **more):
        try:
            client.chat.completions.create(**{"model": "metnos", "messages": said, **more})
        except kind as error:
            assert error.param == param, (error.param, param)
            return str(error)
        raise AssertionError(f"{param}: nothing was refused")

    tool = {"type": "function", "function": {"name": "x", "parameters": {"type": "object"}}}
    assert "tools of its own" in refused(openai.BadRequestError, "tools", tools=[tool])
    refused(openai.BadRequestError, "model", model="gpt-5")
    refused(openai.BadRequestError, "n", n=2)
    refused(openai.BadRequestError, "messages", messages=[{"role": "assistant", "content": "x"}])
    try:
        openai.OpenAI(base_url=base, api_key="0" * 64, max_retries=0).models.list()
    except openai.AuthenticationError:
        return
    raise AssertionError("a stranger was heard")


def hook(address, path):
    from standardwebhooks.webhooks import Webhook

    webhook, now = Webhook(os.environ["SECRET"]), datetime.datetime.now(tz=datetime.timezone.utc)
    body, name = '{"what": "came"}', "msg_from_the_library"
    head = {"webhook-id": name, "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": webhook.sign(name, now, body)}

    def send():
        request = urllib.request.Request(f"http://{address}{path}", body.encode(), head)
        try:
            return urllib.request.urlopen(request).status
        except urllib.error.HTTPError as error:
            return error.code

    assert [send(), send()] == [202, 409]


if __name__ == "__main__":
    {"chat": chat, "hook": hook}[sys.argv[1]](*sys.argv[2:])
    print("ok")
