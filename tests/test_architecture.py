"""The import graph, read from the source: layers, no cycle, and what a method may not do.

Every rule is a function of source text, so that the tests below can show that each one catches what it forbids.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from methods.contract import Leak, Method

ROOT = Path(__file__).resolve().parents[1]

#: package -> what it may import of this project, as prefixes of module names.
MAY_IMPORT = {
    "dpbayes_bench": ("dpbayes_bench",),
    "datasets": ("datasets",),
    "privacy": ("privacy",),
    "models": ("models",),
    "methods": ("methods", "models", "privacy"),
    "evaluation": ("evaluation", "methods.contract", "models", "privacy"),
    "audit": ("audit", "methods", "models", "privacy", "datasets.files"),
    "workflow": ("workflow", "audit", "evaluation", "methods", "models", "privacy", "datasets", "dpbayes_bench"),
}
MAY_IMPORT["reports"] = ("reports", *MAY_IMPORT["workflow"])
for _package in ("papers", "common_tasks", "benchmarks"):
    MAY_IMPORT[_package] = (_package, "reports", *MAY_IMPORT["workflow"])
#: modules that lie above the rest of their package.
_SCHEMA = ("datasets.arrays", "datasets.schema")
ABOVE = {
    f"dpbayes_bench.{m}": ("dpbayes_bench", "evaluation", *_SCHEMA, *MAY_IMPORT["methods"])
    for m in ("fits", "private_fit")
}
ABOVE["dpbayes_bench"] = ("dpbayes_bench", "datasets.schema")
ABOVE["dpbayes_bench.suite"] = ("dpbayes_bench", *MAY_IMPORT["reports"])
#: seconds to import each; a scan of methods/ would pay them all.
HEAVY = ("torch", "jax", "jaxlib", "numpyro", "numba", "sklearn", "blackjax", "opacus", "pandas", "matplotlib")
NETWORK_AND_PROCESS = ("requests", "urllib", "http", "socket", "ftplib", "subprocess", "shutil", "tempfile")
FILE_CALLS = {
    "read_text", "write_text", "read_bytes", "write_bytes", "urlopen", "memmap", "fromfile", "tofile",
    "loadtxt", "savetxt", "genfromtxt", "savez", "savez_compressed", "read_csv", "to_csv", "read_excel", "read_parquet",
}  # fmt: skip
#: numpy.random names that carry their own state and none of the process.
EXPLICIT_RANDOM = {"Generator", "default_rng", "SeedSequence", "BitGenerator", "PCG64", "PCG64DXSM", "Philox", "SFC64"}


def modules() -> dict[str, Path]:
    """Module name -> file, for every package of the project."""
    found = {}
    for package in MAY_IMPORT:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()
ADAPTERS = [m for m in MODULES if m.startswith("methods.") and m.count(".") == 2 and "._" not in m]
METHOD_FILES = [m for m in MODULES if m.split(".")[0] == "methods"]
#: what asks a method about itself: all but adapters and their numerics, which look at settings and arrays.
READERS = [ROOT / "methods/contract.py", *(MODULES[m] for m in MODULES if m.split(".")[0] not in ("methods", "models"))]
READERS += sorted((ROOT / "tests").rglob("*.py"))


#: the tree of a source; nobody changes it.
parsed = functools.lru_cache(maxsize=None)(ast.parse)


def imported(tree: ast.AST, module: str, is_package: bool = False) -> Iterator[tuple[str, int]]:
    """(dotted name, line) of each import in ``tree``; ``from a import b`` gives both a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                drop = node.level - is_package
                base = ".".join([*parts[: len(parts) - drop], *([base] if base else [])])
            yield base, node.lineno
            for alias in node.names:
                yield f"{base}.{alias.name}", node.lineno
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "import_module"
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value), node.lineno


def at_import_time(tree: ast.Module) -> ast.Module:
    """The statements that run when the module is imported: no function bodies, no ``if TYPE_CHECKING``."""

    class Strip(ast.NodeTransformer):
        def visit_FunctionDef(self, node):
            return None

        visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

        def visit_If(self, node):
            if "TYPE_CHECKING" in ast.unparse(node.test):
                return node.orelse or None
            return self.generic_visit(node)

    return Strip().visit(copy.deepcopy(tree))


def below(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def layer_faults(source: str, module: str, is_package: bool = False) -> list[str]:
    """Imports of this project that the layer of ``module`` may not make."""
    allowed = ABOVE.get(module) or MAY_IMPORT[module.split(".")[0]]
    return sorted(
        {
            f"{module}:{line} imports {name}"
            for name, line in imported(parsed(source), module, is_package)
            if name.split(".")[0] in (*MAY_IMPORT, "tests")
            and name not in MAY_IMPORT  # `from methods import x` shows again as methods.x
            and not any(below(name, prefix) for prefix in allowed)
        }
    )


def heavy_faults(source: str, module: str) -> list[str]:
    """Heavy libraries imported as soon as an adapter is listed, directly."""
    return sorted(
        {
            f"{module}:{line} imports {name} at module level; do it inside of the function that needs it"
            for name, line in imported(at_import_time(parsed(source)), module)
            if name.split(".")[0] in HEAVY
        }
    )


def conduct_faults(source: str, module: str) -> list[str]:
    """Printing, files, network, other processes and global random state in a file of methods/."""
    faults = []
    tree = parsed(source)
    for name, line in imported(tree, module):
        root = name.split(".")[0]
        if root in NETWORK_AND_PROCESS or root == "random":
            faults.append(f"{module}:{line} imports {name}")
        if below(name, "numpy.random") and name.count(".") == 2 and name.split(".")[2] not in EXPLICIT_RANDOM:
            faults.append(f"{module}:{line} uses {name}")
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("print", "open", "input")
        ):
            faults.append(f"{module}:{node.lineno} calls {node.func.id}()")
        if isinstance(node, ast.Attribute):
            text = ast.unparse(node)
            if node.attr in FILE_CALLS or text in ("np.load", "np.save", "torch.load", "torch.save", "os.system"):
                faults.append(f"{module}:{node.lineno} touches a file or process: {text}")
            owner = text.rpartition(".")[0]
            if owner in ("np.random", "numpy.random") and node.attr not in EXPLICIT_RANDOM:
                faults.append(f"{module}:{node.lineno} uses global random state: {text}")
            if text in ("torch.manual_seed", "torch.seed", "torch.set_rng_state", "torch.random.manual_seed"):
                faults.append(f"{module}:{node.lineno} uses global random state: {text}")
        if (
            isinstance(node, ast.Call)
            and not node.args
            and not node.keywords
            and ast.unparse(node.func).rpartition(".")[2] in EXPLICIT_RANDOM
        ):
            faults.append(f"{module}:{node.lineno} seeds {ast.unparse(node.func)}() from the system, not from the rng")
    return sorted(set(faults))


def adapter_faults(source: str, module: str, adapters: list[str]) -> list[str]:
    """An adapter that leans on another: editing one would then re-run both."""
    return sorted(
        {
            f"{module}:{line} imports the adapter {name}"
            for name, line in imported(parsed(source), module)
            if name in adapters and name != module
        }
    )


def family_faults(source: str, module: str, is_package: bool = False) -> list[str]:
    """What a family takes from another family, and ``methods/_shared`` from any: what several need lies in _shared."""
    mine = module.split(".")[1]
    return sorted(
        {
            f"{module}:{line} imports {name}"
            for name, line in imported(parsed(source), module, is_package)
            if name.startswith("methods.") and name.split(".")[1] not in (mine, "_shared", "contract")
        }
    )


#: names under which the suite holds a method, or something that a method has written for readers.
_METHOD_NAMES = {"method", "adapter", "maker", "reader"}
_PROSE_NAMES = {"leak", "sentence"}
_PROSE_FIELDS = {"reference", "sentence", "leaks"}
_TEXT_CALLS = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "split", "find", "index"}


def guess_faults(source: str, module: str) -> list[str]:
    """Places that read a method other than by the fields of ``methods.contract.Method``.

    ``getattr`` or ``hasattr`` on a method, or with the name of one of its fields; and searches in the text of its
    reference or of its leaks, which are for readers: what a program needs to know is a field.
    """
    fields = {name for cls in (Method, Leak) for name in (*vars(cls), *cls.__annotations__) if name[0] != "_"}
    fields -= {"name", "kind", "fit", "datasets", "scaling"}  # others than methods have these, too
    faults = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("getattr", "hasattr") and node.args:
                of, *field = node.args
                named = field and isinstance(field[0], ast.Constant) and field[0].value in fields
                if named or _is_method(of):
                    faults.append(
                        f"{module}:{node.lineno} {called} on a method: declare the field in methods/contract.py"
                    )
            looks = called.startswith("re.") or called.rpartition(".")[2] in _TEXT_CALLS
            texts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
            if looks and any(_is_prose(t) for t in texts):
                faults.append(f"{module}:{node.lineno} {called} searches words of a method: give it a field")
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            texts = [t for t in node.comparators if _is_prose(t)]
            if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str) and texts:
                faults.append(f"{module}:{node.lineno} searches words of a method: give it a field")
    return sorted(set(faults))


def _is_method(node: ast.expr) -> bool:
    """A name for a method, or a call that gives one."""
    if isinstance(node, ast.Call):
        text = ast.unparse(node.func)
        return text in ("contract.get", "method_of") or text.rpartition(".")[2] == "adapter"
    return isinstance(node, ast.Name) and node.id in _METHOD_NAMES


def _is_prose(node: ast.expr) -> bool:
    """What a method tells its readers, as it is or changed by a method of strings."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    if isinstance(node, ast.Attribute):
        return node.attr in _PROSE_FIELDS
    return isinstance(node, ast.Name) and node.id in _PROSE_NAMES


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """One cycle of the graph as a list of nodes, or an empty list."""
    done: set[str] = set()

    def visit(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        for other in sorted(graph.get(node, ())):
            if found := visit(other, [*path, node]):
                return found
        done.add(node)
        return []

    for node in sorted(graph):
        if found := visit(node, []):
            return found
    return []


def test_the_graph_is_not_empty():
    """Guards the tests below against scanning an empty folder."""
    assert {"methods.contract", "privacy.budget", "models.task"} <= set(MODULES)
    assert len(ADAPTERS) >= 5


def text_of(module: str) -> str:
    return MODULES[module].read_text(encoding="utf-8")


def test_imports_go_up_the_road_only():
    packages = {m for m, path in MODULES.items() if path.name == "__init__.py"}
    assert not [fault for m in MODULES for fault in layer_faults(text_of(m), m, m in packages)]


def test_no_module_imports_itself_by_a_detour():
    graph = {}
    for module, path in MODULES.items():
        tree = parsed(path.read_text(encoding="utf-8"))
        names = {name for name, _ in imported(tree, module, path.name == "__init__.py")}
        graph[module] = {name for name in names if name in MODULES and name != module}
        # `from package import module` names the package as well, without needing anything that it defines
        graph[module] -= {name for name in graph[module] if any(below(o, name) and o != name for o in graph[module])}
    assert cycle(graph) == []


@pytest.mark.parametrize("module", ADAPTERS)
def test_an_adapter_keeps_the_rules_of_its_layer(module):
    """A case per adapter, so that ``./bench try NAME`` asks its own."""
    source = text_of(module)
    faults = [*heavy_faults(source, module), *adapter_faults(source, module, ADAPTERS), *layer_faults(source, module)]
    assert not [*faults, *conduct_faults(source, module), *family_faults(source, module)]


def test_methods_touch_no_file_no_network_and_no_global_state():
    assert not [fault for m in METHOD_FILES for fault in conduct_faults(text_of(m), m)]


def test_a_family_stands_alone():
    packages = {m for m in METHOD_FILES if MODULES[m].name == "__init__.py"}
    assert not [fault for m in METHOD_FILES for fault in family_faults(text_of(m), m, m in packages)]


def test_a_method_is_read_by_the_fields_of_the_contract():
    faults = [guess_faults(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))) for path in READERS]
    assert not [fault for found in faults for fault in found]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("privacy.x", "from methods.contract import Fit"),
        ("models.x", "def f():\n    import privacy.budget"),
        ("methods.x", "from datasets.protocols import splits"),
        ("methods.x", "import tests.helper"),
        ("methods.ep._x", "from evaluation.metrics import rmse"),
        ("evaluation.x", "from methods import ridge"),
        ("evaluation.x", "import importlib\nimportlib.import_module('reports.tables')"),
        ("models.x", "from ..privacy import ledger"),
        ("privacy.x", "from audit import cases"),
        ("methods.x", "from audit.cases import get"),
        ("audit.x", "from workflow import cell"),
        ("dpbayes_bench.tables", "def f():\n    from methods import contract"),
        ("dpbayes_bench.suite", "from common_tasks import best"),
        ("dpbayes_bench.fits", "from reports.verdict import judge"),
    ],
)
def test_an_upward_import_is_caught(module, source):
    assert layer_faults(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("methods.x", "from privacy.budget import Budget\nfrom models.task import Task"),
        ("evaluation.x", "from methods.contract import Fit"),
        ("methods.ep._pbp.x", "from . import state\nfrom .state import State"),
        ("reports.x", "import numpy"),
        ("dpbayes_bench.suite", "def f():\n    from reports.verdict import judge"),
    ],
)
def test_a_lawful_import_passes(module, source):
    assert not layer_faults(source, module)


def test_a_cycle_is_caught():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


@pytest.mark.parametrize(
    "source",
    [
        "print('x')",
        "open('f')",
        "from pathlib import Path\nPath('f').read_text()",
        "import numpy as np\nnp.random.seed(1)",
        "import numpy as np\nnp.random.normal()",
        "from numpy.random import normal",
        "import numpy as np\nnp.random.default_rng()",
        "import random",
        "import requests",
        "import urllib.request",
        "import torch\ntorch.manual_seed(0)",
        "import numpy as np\nnp.load('f')",
    ],
)
def test_misconduct_is_caught_with_its_line(source):
    last = source.count("\n") + 1
    found = conduct_faults(source, "methods.x")
    assert f"methods.x:{last}" in " ".join(found)


def test_explicit_randomness_passes():
    source = "import numpy as np\ndef f(rng: np.random.Generator):\n    return np.random.default_rng(rng.integers(9))"
    assert not conduct_faults(source, "methods.x")


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("import torch", 1),
        ("class A:\n    import jax", 1),
        ("try:\n    from numba import njit\nexcept ImportError:\n    pass", 2),  # numba and numba.njit
        ("def fit():\n    import torch", 0),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch", 0),
    ],
)
def test_heavy_imports_are_caught_only_where_they_run(source, faults):
    found = heavy_faults(source, "methods.x")
    assert len(found) == faults
    lines = source.split("\n")
    assert all("import" in lines[int(f.split(":")[1].split()[0]) - 1] for f in found)


def test_an_adapter_that_leans_on_another_is_caught():
    adapters = ["methods.f.a", "methods.f.b"]
    assert adapter_faults("def fit():\n    from methods.f.b import B", "methods.f.a", adapters)
    assert not adapter_faults("from methods.f._b import B", "methods.f.a", adapters)


def test_a_family_that_leans_on_another_is_caught():
    assert family_faults("def fit():\n    from methods.g import _x", "methods.f.a")
    assert family_faults("from methods.f._x import X", "methods._shared.y")
    assert not family_faults("from methods.f import _x\nfrom methods._shared.y import Y", "methods.f._z")
    assert not family_faults("from methods.contract import Fit\nfrom models.task import Task", "methods.f.a")


@pytest.mark.parametrize(
    "source",
    [
        "getattr(method, 'grid', None)",
        "hasattr(cell.adapter(), 'anything')",
        "getattr(contract.get(name), field)",
        "x = getattr(found, 'releases_a_draw', False)",
        "re.search('of this suite', found.reference)",
        "'standardise' in leak",
        "any('mixture' in leak.sentence for leak in method.leaks)",
        "leak.sentence.lower().startswith('on the network')",
        "[s for s in leaks if re.match('on wine only', s.sentence)]",
    ],
)
def test_a_guess_about_a_method_is_caught(source):
    assert guess_faults(source, "reports.x")


@pytest.mark.parametrize(
    "source",
    [
        "method.grid",
        "getattr(settings, field.name)",
        "hasattr(posterior, 'sample')",
        "re.search('epsilon', row['reason'])",
        "'wine' in leak.datasets",
        "leak.kind is LeakKind.TUNED",
        "footnotes(*(leak.sentence for leak in found.leaks))",
    ],
)
def test_a_question_to_the_contract_passes(source):
    assert not guess_faults(source, "reports.x")
