"""Writes a tiny model of random weights, in the form that llama.cpp reads: what it says means nothing, how it says it is real.

usage: random_model.py FILE
"""

import sys

import gguf
import numpy

WIDTH, HEADS, LAYERS, INNER, CONTEXT = 64, 4, 2, 128, 65536


def vocabulary():
    """One token for each byte, and the three that every such model has."""
    yield "<unk>", gguf.TokenType.UNKNOWN
    yield "<s>", gguf.TokenType.CONTROL
    yield "</s>", gguf.TokenType.CONTROL
    for byte in range(256):
        yield f"<0x{byte:02X}>", gguf.TokenType.BYTE
    # And letters, so that most of a prompt is not spelled in bytes.
    for letter in "▁abcdefghijklmnopqrstuvwxyz":
        yield letter, gguf.TokenType.NORMAL


def main(path):
    random = numpy.random.default_rng(7)
    tokens = list(vocabulary())
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([int(kind) for _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)

    def tensor(name, *shape):
        writer.add_tensor(name, random.normal(0.0, 0.3, shape).astype(numpy.float32))

    def norm(name):
        writer.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))

    tensor("token_embd.weight", len(tokens), WIDTH)
    norm("output_norm.weight")
    tensor("output.weight", len(tokens), WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        norm(block + "attn_norm.weight")
        norm(block + "ffn_norm.weight")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"{block}{part}.weight", WIDTH, WIDTH)
        tensor(block + "ffn_gate.weight", INNER, WIDTH)
        tensor(block + "ffn_up.weight", INNER, WIDTH)
        tensor(block + "ffn_down.weight", WIDTH, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(sys.argv[1])
