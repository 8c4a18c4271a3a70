"""What the page of a method says that it is: a description of its own, for readers, which names no code."""

import inspect
import re

import pytest

from methods import contract
from methods.contract import Method

CLASSES = list(dict.fromkeys(type(contract.get(name, kind)) for kind, name in contract.pairs()))
#: in backticks: a name that begins with an underscore, or a module of the project.
CODE = re.compile(r"`(?:[^`]*\.)?_\w[^`]*`|`(?:datasets|evaluation|methods|models|privacy|reports|workflow)\.[^`]*`")


def problems(cls: type) -> list[str]:
    """Why the docstring of a class cannot be shown to readers."""
    own = vars(cls).get("__doc__")
    if not own:
        return ["it has no docstring of its own"]
    text = inspect.cleandoc(own)
    found = [f"it names {code}" for code in CODE.findall(text)]
    found += [f"it names a class by a role, {role}" for role in re.findall(r":\w+:`[^`]+`", text)]
    return found + ([] if len(text.partition("\n\n")[0].split()) > 4 else ["its first paragraph says too little"])


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_a_method_is_described_for_readers(cls):
    assert not problems(cls), cls


@pytest.mark.parametrize("kinds", [[t for t in CLASSES if t.name == name] for name in contract.names()])
def test_kinds_of_one_method_do_not_inherit_each_others_description(kinds):
    assert all(vars(cls).get("__doc__") is not vars(base).get("__doc__") for cls in kinds for base in cls.__mro__[1:])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (None, "of its own"),
        ("The numbers of the run follow by the formulas of ``_box``.", "names `_box`"),
        ("The bound is the one of ``methods._shared.adassp.read`` here.", "names `methods._shared"),
        ("Its posterior is a ``models.noise_aware.TracePosterior`` of draws.", "names `models."),
        (":class:`DPVI` on rows that are scaled to the unit box.", "by a role"),
        ("As :class:`Chain`.", "too little"),
    ],
)
def test_what_readers_should_not_see_is_found(text, word):
    assert any(word in said.replace("``", "`") for said in problems(type("Toy", (Method,), {"__doc__": text})))
