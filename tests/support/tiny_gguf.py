"""Writes a llama model of random weights, about half a megabyte, that GPT4All can load and run.

The model knows no language: its replies are noise. It lets tests load, stream, stop and count for real. It never ends a
reply on its own: only the printable characters have a score above the middle, and only the best tokens are drawn.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

WIDTH, HEADS, LAYERS, HIDDEN = 64, 4, 2, 128
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_tiny_gguf(
    path: Path, *, context_length: int = 512, seed: int = 1, template: str | None = CHAT_TEMPLATE
) -> Path:
    """Write the model to `path` and return it; the same seed gives the same file."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny random llama")
    writer.add_context_length(context_length)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    vocabulary = _vocabulary()
    _add_tokenizer(writer, vocabulary, template)
    _add_weights(writer, vocabulary, np.random.default_rng(seed))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _vocabulary() -> list[tuple[bytes, float, int]]:
    """Return a SentencePiece vocabulary: the special tokens, every byte, and the printable characters."""
    kinds = gguf.TokenType
    special = [(b"<unk>", 0.0, kinds.UNKNOWN), (b"<s>", 0.0, kinds.CONTROL), (b"</s>", 0.0, kinds.CONTROL)]
    raw = [(f"<0x{byte:02X}>".encode(), 0.0, kinds.BYTE) for byte in range(256)]
    chat = [(b"<|im_start|>", 0.0, kinds.CONTROL), (b"<|im_end|>", 0.0, kinds.CONTROL)]
    letters = ["\u2581", *map(chr, range(33, 127))]
    letter_tokens = [(letter.encode(), -float(rank), kinds.NORMAL) for rank, letter in enumerate(letters)]
    return [*special, *raw, *chat, *letter_tokens]


def _add_tokenizer(writer: gguf.GGUFWriter, vocabulary: list[tuple[bytes, float, int]], template: str | None) -> None:
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token for token, _, _ in vocabulary])
    writer.add_token_scores([score for _, score, _ in vocabulary])
    writer.add_token_types([int(kind) for _, _, kind in vocabulary])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    if template:
        writer.add_chat_template(template)


def _add_weights(
    writer: gguf.GGUFWriter, vocabulary: list[tuple[bytes, float, int]], random: np.random.Generator
) -> None:
    def weights(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) * 0.05).astype(np.float32)

    def tensor(name: str, *shape: int) -> None:
        writer.add_tensor(name, weights(*shape))

    tensor("token_embd.weight", len(vocabulary), WIDTH)
    output = weights(len(vocabulary), WIDTH)
    output[[kind != gguf.TokenType.NORMAL for _, _, kind in vocabulary]] = 0.0
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"blk.{layer}.{name}.weight", WIDTH, WIDTH)
        tensor(f"blk.{layer}.ffn_gate.weight", HIDDEN, WIDTH)
        tensor(f"blk.{layer}.ffn_up.weight", HIDDEN, WIDTH)
        tensor(f"blk.{layer}.ffn_down.weight", WIDTH, HIDDEN)
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
