"""How a claim names what it compares: methods of the PAPER, in its published tables.

A name; a :class:`Method` (``Method("dp_sep", setting="clip=1")`` picks one setting, ``own("adf")`` is a method of this
suite that the paper has no column for); or a tuple of alternatives.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """A method of the paper, or (``own``) of this suite; ``setting``: the only one that is meant, "" for every one."""

    name: str
    setting: str = ""
    own: bool = False

    def __str__(self) -> str:
        return ("own:" if self.own else "") + self.name + (f"[{self.setting}]" if self.setting else "")


#: types of the fields of tests, which ``ClaimTest`` checks: methods; names of tables, data sets, metrics.
OneMethod = str | Method
Methods = OneMethod | tuple[OneMethod, ...]
Words = tuple[str, ...]


def own(name: str) -> Method:
    """A method of this suite that the paper has no column for."""
    return Method(name, own=True)


def methods_of(given: Methods) -> tuple[Method, ...]:
    """The alternatives that ``given`` names. Raises TypeError for anything else than names and methods."""
    return tuple(method_of(m) for m in (given if isinstance(given, tuple) else (given,)))


def method_of(given: OneMethod) -> Method:
    """The method that ``given`` names. Raises TypeError where it is neither a name nor a method."""
    if not isinstance(given, str | Method):
        raise TypeError(f"{given!r} is no method; give a name, Method(...) or own(...)")
    return given if isinstance(given, Method) else Method(given)
