"""Pages of docs/ that are made: they name every command, key, column, function, method and word."""

import yaml

import dpbayes_bench
from methods import contract
from reports import glossary, manual
from workflow import cli


def test_every_command_and_option_is_named():
    text = manual.commands()
    for word in cli.COMMANDS:
        assert f"## ./bench {word}\n" in text
        for p in getattr(cli.command(word), "params", []):
            assert manual.parameter(p)[0] in text
    assert all(f"| `./bench {word}" in text for word in ("full", "test", "compare"))


def test_every_key_is_named_in_both_pages_of_settings():
    for key in yaml.safe_load((manual.ROOT / "config/config.yaml").read_text(encoding="utf-8")):
        assert f"| `{key}` |" in manual.configuration()
        assert f"| `{key}` |" in manual.config_folder()


def test_every_column_function_method_and_word_is_named():
    columns, covered, words = manual.columns(), manual.covered(), manual.words()
    python = manual.python() + manual.python_fits() + manual.python_schemas()
    assert all(f"| `{c}` |" in columns for c in dpbayes_bench.columns()["column"])
    assert all(f"\n## {name}\n" in python for name in dpbayes_bench.__all__)
    assert all(f"| `{name}` |" in covered for name in contract.names())
    assert all(f"\n## {w.word}\n\n{w.meaning}\n" in words for w in glossary.load())


def test_a_docstring_becomes_markdown():
    doc = "A thing, see :func:`pkg.other` and ``x``.\n\nParameters\n----------\nn : rows.\n"
    assert manual.markdown(doc) == "A thing, see `pkg.other` and `x`.\n\n**Parameters**\n\n* `n`: rows.\n"


def test_a_bar_in_a_cell_ends_no_column():
    assert list(manual.table(("a", "b"), [("x|y", 1)])) == ["| a | b |", "| --- | --- |", "| x\\|y | 1 |", ""]
