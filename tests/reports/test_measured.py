"""Sizes, times and counts that texts quote: what is recorded, what is computed, and every place that quotes one."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reports import measured
from workflow.experiments import cells, experiment_files

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def facts():
    """Of a process of its own, with the heavy libraries that it imports."""
    code = "import json, sys; from reports.measured import facts; found = facts()\n"
    code += "print(json.dumps([found, sorted({'torch', 'jax', 'numpyro', 'matplotlib'} & set(sys.modules))]))"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    found, heavy = json.loads(made.stdout)
    assert not heavy
    return found


def test_every_recorded_number_says_what_it_is_and_how_it_was_measured():
    for name, entry in measured.recorded().items():
        assert entry["value"] > 0, name
        assert re.match(r"\d{4}-\d{2}-\d{2}, .", entry["measured"]), name


def test_an_entry_without_its_measurement_is_refused(tmp_path):
    path = tmp_path / "measured.yaml"
    path.write_text("packages_mb: {value: 530, unit: MB, meaning: a guess}\n")
    with pytest.raises(ValueError, match="packages_mb needs the keys"):
        measured.recorded(path)


@pytest.mark.nightly
def test_computed_numbers_are_of_the_run_and_of_the_sample(facts):
    every = [c for path in experiment_files() for c in cells(path, "full")]
    assert facts["full_cells"] == len({c.id for c in every})
    assert facts["full_hours_2_cores"] == facts["full_cpu_hours"] / 2 > 1
    assert facts["full_download_mb"] > facts["sample_download_mb"] > 1
    methods = {c.method for c in every}
    assert facts["sample_methods"] <= facts["sample_cells"]
    assert facts["sample_cells"] > len(methods) / 2


#: file -> pattern around a number -> the measured number that it quotes, to as many digits as it has.
QUOTED = {"bench": {r"recomputed here: ([\d.]+) CPU minutes": "bench_cpu_minutes"}}
PLACES = [(name, pattern, key) for name, of in QUOTED.items() for pattern, key in of.items()]


@pytest.mark.parametrize(("name", "pattern", "key"), PLACES)
def test_a_text_quotes_the_measured_number(name, pattern, key):
    found = re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{name} has no '{pattern}' any more"
    for text in found:
        digits = len(text.partition(".")[2])
        expected = measured.recorded()[key]["value"]
        assert float(text) == round(expected, digits), f"{name}: {key} is {expected}"


@pytest.mark.parametrize("name", ["bench", "config/README.md"])
def test_no_other_size_or_time_of_a_run_is_typed(name):
    """They moved with every experiment, and three texts gave three counts of cells; ``facts`` has the one of today."""
    text = (ROOT / name).read_text(encoding="utf-8")
    for pattern in QUOTED.get(name, {}):
        text = re.sub(pattern, "", text)
    number = r"(?:\d[\d,.]*|two|three|six|half an?|a hundred|an?)"
    assert not re.findall(rf"\b{number} (?:CPU )?(?:minutes?|hours?|cells|MB|GB)\b", text)


@pytest.mark.parametrize(
    ("wheels", "expected"),
    [
        ([("x-1-cp311-cp311-win_amd64.whl", 1), ("x-1-py3-none-any.whl", 2)], 2),
        ([("x-1-cp27-cp27m-win_amd64.whl", 1)], 7),
    ],
)
def test_the_size_of_a_package_is_that_of_the_file_that_fits_here(wheels, expected):
    package = {"name": "x", "sdist": {"url": "https://example.org/x-1.tar.gz", "size": 7}}
    package["wheels"] = [{"url": f"https://example.org/{name}", "size": size} for name, size in wheels]
    assert measured._bytes(package) == expected


def test_a_size_that_no_index_tells_is_that_of_a_file_at_hand_or_is_refused(tmp_path):
    (tmp_path / "x-1+cpu-py3-none-any.whl").write_bytes(b"12345")
    wheel = {"url": (tmp_path / "x-1+cpu-py3-none-any.whl").as_uri()}
    assert measured._bytes({"name": "x", "wheels": [wheel]}) == 5
    with pytest.raises(ValueError, match="UV_FIND_LINKS"):
        measured._bytes({"name": "x", "wheels": [{"url": "https://example.org/x-1-py3-none-any.whl"}]})
