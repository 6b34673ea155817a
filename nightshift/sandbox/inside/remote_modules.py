"""Imports on the test side of a split run.

Modules of the workspace are those of the code side, helpers of the tests come from memory, and only the standard
library and the test libraries are imported as ever.
"""

import importlib.machinery
import sys
from types import ModuleType


class RemoteModule(ModuleType):
    """A module of the code side.

    Args:
        side: the connection.
        number: its handle.
        name: its full name.
        is_package: whether it may have modules of its own.
    """

    def __init__(self, side, number, name, is_package):
        super().__init__(name)
        vars(self).update(_side=side, _number=number, **({"__path__": []} if is_package else {}))

    def __getattr__(self, name):
        """An attribute of it, as it is now."""
        if name == "__all__":
            return self._side.request("names", self._number)
        if name.startswith("__"):
            raise AttributeError(name)
        return self._side.request("get", self._number, name)

    def __setattr__(self, name, value):
        """Set an attribute of it; the import system's own marks stay here."""
        if name.startswith("__") or isinstance(value, ModuleType):
            super().__setattr__(name, value)
        else:
            self._side.request("set", self._number, name, self._side.pack(value))


class Finder:
    """Finds modules first of all.

    Args:
        side: the connection.
        helpers: full name to path and text, for modules of the tests; the text is None for a package without one.
        libraries: import paths of the test libraries.
        own: packages of the workspace that are among these libraries as well.
    """

    def __init__(self, side, helpers, libraries, own=()):
        self._side, self._helpers = side, helpers
        self._libraries, self._known = libraries, dict.fromkeys(own, False)

    def find_spec(self, name, _path=None, _target=None):
        """Where a module comes from; None leaves it to the usual finders."""
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or self._is_library(top):
            return None
        found = self._helpers.get(name)
        is_package = bool(found) and found[0].endswith(("/", "__init__.py"))
        return importlib.machinery.ModuleSpec(name, self, is_package=is_package)

    def _is_library(self, top):
        if top not in self._known:
            self._known[top] = importlib.machinery.PathFinder.find_spec(top, self._libraries) is not None
        return self._known[top]

    def create_module(self, spec):
        """A module of the code side; an ordinary one for a helper."""
        if spec.name in self._helpers:
            return None
        return self._side.request("import", spec.name)

    def exec_module(self, module):
        """Run a helper's text."""
        if module.__name__ in self._helpers:
            path, text = self._helpers[module.__name__]
            exec(compile(text or "", path, "exec", dont_inherit=True), vars(module))  # noqa: S102 (of the tests)
