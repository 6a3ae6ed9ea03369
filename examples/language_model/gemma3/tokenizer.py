# SPDX-License-Identifier: Apache-2.0
"""The tokenizer of a GGUF file, run by sentencepiece, whose model the file's metadata came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sentencepiece import SentencePieceProcessor
from sentencepiece import sentencepiece_model_pb2 as model

_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
_USER_DEFINED = 4  # GGUF numbers the types of tokens as sentencepiece does


class Tokenizer:
    def __init__(self, metadata: Mapping[str, Any]) -> None:
        if metadata["tokenizer.ggml.model"] != "llama":
            raise ValueError("the tokenizer of this file is not a sentencepiece model")
        entries = ("tokens", "scores", "token_type")
        proto = model.ModelProto()
        for token, score, kind in zip(*(metadata[f"tokenizer.ggml.{entry}"] for entry in entries), strict=True):
            # GGUF writes the spaces of these as they are, sentencepiece matches them with its own sign.
            piece = token.replace(" ", _SPACE) if kind == _USER_DEFINED else token
            proto.pieces.add(piece=piece, score=score, type=kind)
        trainer, normalizer = proto.trainer_spec, proto.normalizer_spec
        trainer.model_type = model.TrainerSpec.BPE
        trainer.byte_fallback = True
        trainer.vocab_size = len(proto.pieces)
        for name, entry in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding")):
            setattr(trainer, f"{name}_id", metadata[f"tokenizer.ggml.{entry}_token_id"])
        proto.pieces[trainer.unk_id].type = model.ModelProto.SentencePiece.UNKNOWN
        normalizer.name = "identity"
        normalizer.add_dummy_prefix = metadata["tokenizer.ggml.add_space_prefix"]
        normalizer.remove_extra_whitespaces = False
        self._processor = SentencePieceProcessor(model_proto=proto.SerializeToString())
        self._begin = [trainer.bos_id] if metadata["tokenizer.ggml.add_bos_token"] else []
        self.end: int = trainer.eos_id

    def encode(self, text: str) -> list[int]:
        """Token ids of a prompt, with the token that begins every text."""
        return [*self._begin, *self._processor.encode(text)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of generated tokens, up to the token that ends a text."""
        ids = list(ids)
        return str(self._processor.decode(ids[: ids.index(self.end)] if self.end in ids else ids))
