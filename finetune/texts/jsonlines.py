"""One JSON object a line: metadata.jsonl of Hugging Face's audiofolder, and NeMo's manifests."""

from __future__ import annotations

import json
from collections.abc import Iterator

from finetune.texts.records import Problem, excerpt
from finetune.texts.tables import Found, from_mapping


def is_jsonl(text: str) -> bool:
    """Whether most lines are objects."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    objects = sum(line.startswith("{") and line.endswith("}") for line in lines)
    return objects * 2 > len(lines)


def read_jsonl(text: str) -> Iterator[Found]:
    """Read objects by the names of their values."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            yield Problem(number, f"It is no JSON: {excerpt(line)}.")
            continue
        if isinstance(value, dict):
            yield from from_mapping(number, value)
        else:
            yield Problem(number, f"It is no JSON object: {excerpt(line)}.")
