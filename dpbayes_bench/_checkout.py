"""In a checkout, ``dpbayes_bench.methods`` and its siblings are the folders at the top level, module by module.

An installed package has these folders inside (``_build``). A method in another package imports
``dpbayes_bench.methods.contract``, and works in both. No class exists twice, because the module is the same object.
"""

from __future__ import annotations

import importlib
import importlib.util
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PACKAGE = __package__
#: folders of the checkout that an installed package has inside, as in ``CORE`` of ``_build``.
CORE = ("evaluation", "methods", "models", "privacy")


class SameModule(MetaPathFinder, Loader):
    """Finds ``dpbayes_bench.methods.contract`` as ``methods.contract``."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The spec of a module below a core folder; None for other modules, or if the checkout lacks it."""
        package, _, name = fullname.partition(".")
        if package != PACKAGE or name.split(".")[0] not in CORE or importlib.util.find_spec(name) is None:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of the checkout. Its own spec is kept in ``spec``, because the import overwrites it."""
        module = importlib.import_module(spec.name.partition(".")[2])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, because the module has been executed."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state
