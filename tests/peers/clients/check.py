"""What the makers of the models' servers say of our messages, by their own client libraries.

    check.py requests      reads lines {"kind", "body"} from standard input: is each a valid request?
    check.py read URL      asks a server in the words of each kind, and prints what each client has read, as lines

Nothing here knows anything of Metnos.
"""

import json
import sys
from collections.abc import Iterable, Mapping

import anthropic
import ollama
import openai
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

# What the client does not know it leaves out, so that what it has read is then less than what was said.
OPENAI = TypeAdapter(CompletionCreateParamsStreaming)
ANTHROPIC = TypeAdapter(MessageCreateParamsStreaming)


def whole(value):
    """Reads lists to their end: pydantic looks at the items of an iterable only when they are asked for."""
    if isinstance(value, Mapping):
        return {key: whole(one) for key, one in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [whole(one) for one in value]
    return value


def read(kind, body):
    """What the client has read of a request; it raises what it likes where that is none."""
    if kind in ("openai", "xai"):
        return whole(OPENAI.validate_python(body))
    if kind == "anthropic":
        return whole(ANTHROPIC.validate_python(body))
    # Of a tool's schema this client keeps less than JSON Schema has, so what it has read of that is not compared.
    ollama._types.ChatRequest.model_validate(body)
    known = {key: value for key, value in body.items() if key in ollama._types.ChatRequest.model_fields}
    messages = [ollama.Message.model_validate(one, extra="forbid") for one in body["messages"]]
    return {**known, "messages": [one.model_dump(exclude_unset=True) for one in messages]}


def requests():
    for line in sys.stdin:
        asked = json.loads(line)
        kind, body = asked["kind"], asked["body"]
        try:
            came = read(kind, body)
        except Exception as error:
            print(f"{kind}: {type(error).__name__}: {str(error).splitlines()[0]}")
            continue
        print(f"{kind}: valid" if came == body else f"{kind}: read otherwise: {json.dumps(came)}; it was {json.dumps(body)}")


def said(kind, text, calls, stop, tokens):
    print(json.dumps({"kind": kind, "text": text, "calls": calls, "stop": stop, "tokens": tokens}))


TOOL = {"type": "object", "properties": {}}


def read_openai(url):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, _strict_response_validation=True)
    tools = [{"type": "function", "function": {"name": "fs_list", "description": "lists", "parameters": TOOL}}]
    stream = client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "hello"}], tools=tools, stream=True,
        stream_options={"include_usage": True},
    )
    text, calls, stop, tokens = "", {}, None, None
    for chunk in stream:
        if chunk.usage:
            tokens = [chunk.usage.prompt_tokens, chunk.usage.completion_tokens]
        for choice in chunk.choices:
            text += choice.delta.content or ""
            stop = choice.finish_reason or stop
            for call in choice.delta.tool_calls or []:
                name, arguments = calls.setdefault(call.index, ["", ""])
                calls[call.index] = [name + (call.function.name or ""), arguments + (call.function.arguments or "")]
    said("openai", text, [[name, json.loads(arguments)] for name, arguments in calls.values()], stop, tokens)
    listed = [model.id for model in client.models.list()]
    assert listed == ["m"], listed


def read_anthropic(url):
    client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, _strict_response_validation=True)
    tools = [{"name": "fs_list", "description": "lists", "input_schema": TOOL}]
    with client.messages.stream(
        model="m", max_tokens=100, messages=[{"role": "user", "content": "hello"}], tools=tools
    ) as stream:
        message = stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [[block.name, block.input] for block in message.content if block.type == "tool_use"]
    said("anthropic", text, calls, message.stop_reason, [message.usage.input_tokens, message.usage.output_tokens])


def read_ollama(url):
    text, calls, stop, tokens = "", [], None, None
    for chunk in ollama.Client(host=url).chat(model="m", messages=[{"role": "user", "content": "hello"}], stream=True):
        text += chunk.message.content or ""
        calls += [[call.function.name, dict(call.function.arguments)] for call in chunk.message.tool_calls or []]
        if chunk.done:
            stop, tokens = chunk.done_reason, [chunk.prompt_eval_count, chunk.eval_count]
    said("ollama", text, calls, stop, tokens)


if __name__ == "__main__":
    if sys.argv[1:] == ["requests"]:
        requests()
    else:
        for client in (read_openai, read_anthropic, read_ollama):
            client(sys.argv[2])
