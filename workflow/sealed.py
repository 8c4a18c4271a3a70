"""JSON objects that carry their own checksum, so that a line that was cut or edited is known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

KEY = "sha256"


def digest(value: Mapping[str, Any]) -> str:
    """Checksum of an object without its seal."""
    text = json.dumps({k: v for k, v in value.items() if k != KEY}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(value: Mapping[str, Any]) -> dict[str, Any]:
    """The object as a file gives it back, with its checksum."""
    plain = json.loads(json.dumps(value))
    return {**plain, KEY: digest(plain)}


def intact(value: object) -> bool:
    """Is it an object, with the checksum of what it holds?"""
    return isinstance(value, dict) and value.get(KEY) == digest(value)
