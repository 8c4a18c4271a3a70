"""Reads a YAML file of a user as plain values, with limits on size and depth, and refuses repeated keys.

``TEXT`` keeps every scalar as the text that is written. The other loader follows YAML 1.1, in which 010 is 8, 08:30 is
510 and NO is false.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

#: the parser in C, if PyYAML has it: the same values in a tenth of the time.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
TEXT = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
#: eight times the largest committed experiment.
MOST_BYTES = 100_000
#: limits on the number of values with each ``*alias`` written out, and on their depth.
MOST_VALUES, DEEPEST = 50_000, 40


def read(path: Path, error: type[ValueError], of: Any = LOADER) -> Any:
    """The values of the file by the loader ``of``. Raises ``error`` with the file and the line."""
    try:
        text = path.read_bytes()[: MOST_BYTES + 1].decode("utf-8-sig")
        if len(text.encode()) > MOST_BYTES:
            raise error(f"{path} has more than {MOST_BYTES // 1000} kB; cut it into several files")
        _check_depth(path, text, error)
        loader = of(text)
        try:
            node = loader.get_single_node()
            _measure(path, node, {}, error)
            return None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except UnicodeDecodeError as e:
        raise error(f"{path} is not UTF-8 ({e}); save it as UTF-8") from None
    except (yaml.YAMLError, ValueError, OverflowError) as e:
        if isinstance(e, error):
            raise
        raise error(f"{path}: not readable as YAML: {' '.join(str(e).split())}") from None


def _check_depth(path: Path, text: str, error: type[ValueError]) -> None:
    """Refuse deep nesting before parsing, because the parser in C crashes on ten thousand brackets."""
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            line = event.start_mark.line + 1
            raise error(f"{path}, line {line}: more than {DEEPEST} lists and mappings in one another; write it flat")


def _measure(path: Path, node: yaml.Node | None, known: dict, error: type[ValueError]) -> tuple[int, int]:
    """The number of values of a node with its aliases written out, and their depth. ``known``: results by id."""
    if node is None:
        return 0, 0
    where = f"{path}, line {node.start_mark.line + 1}"
    if isinstance(node, yaml.ScalarNode):
        if node.tag.endswith(":float") and node.value.lower().strip("+-.") == "nan":
            raise error(f"{where}: {node.value} is no number")
        return 1, 1
    if id(node) not in known:
        known[id(node)] = MOST_VALUES + 1, 0  # inside itself it has no end
        if isinstance(node, yaml.MappingNode):
            _check_keys(path, node, error)
        children = [c for pair in node.value for c in (pair if isinstance(pair, tuple) else (pair,))]
        sizes = [_measure(path, c, known, error) for c in children]
        known[id(node)] = 1 + sum(n for n, _ in sizes), 1 + max((d for _, d in sizes), default=0)
    count, depth = known[id(node)]
    if count > MOST_VALUES or depth > DEEPEST:
        raise error(f"{where}: with its aliases written out it has more than {MOST_VALUES} values, or is too deep")
    return count, depth


def _check_keys(path: Path, node: yaml.MappingNode, error: type[ValueError]) -> None:
    seen: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if not key.tag.endswith((":str", ":merge")):
            raise error(f"{path}, line {line}: the key {getattr(key, 'value', '')!r} is no word; write it in quotes")
        if key.value in seen:
            raise error(f"{path}, line {line}: the key '{key.value}' is there in line {seen[key.value]} too; keep one")
        seen[key.value] = line
