"""Gives tested code its own copy of a package that the test framework has as well, as where `packaging` is tested.

The framework keeps the modules that it has imported; under their names only the workspace's are found from then on, and
nothing where the workspace has none. A package is chosen by the base of the run, never by the change.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH109, PTH118

import os
import sys


class Finder:
    """Finds these packages first of all.

    Args:
        folders: name to the folder that holds the package.
    """

    def __init__(self, folders):
        self._folders = folders

    def find_spec(self, name, _path=None, _target=None):
        """Where a package comes from; None leaves any other module to the usual finders."""
        folder = self._folders.get(name)
        if folder is None:
            return None
        from importlib.machinery import PathFinder  # noqa: PLC0415 (only where it is needed)

        spec = PathFinder.find_spec(name, [folder])
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec


def take(own, workspace=None):
    """Have the workspace's packages found.

    Args:
        own: name to the folder that holds the package, as a path in the workspace.
        workspace: its folder; the current one without it.
    """
    if own:
        forget(own)
        sys.meta_path.insert(0, Finder(dict(zip(own, folders(own, workspace), strict=True))))


def forget(names):
    """Have what was imported of these packages be imported again by whoever asks for it from now on."""
    for name in [name for name in sys.modules if name.partition(".")[0] in names]:
        del sys.modules[name]


def folders(own, workspace=None):
    """The folders that hold the packages; the arguments are those of `take`."""
    return [os.path.normpath(os.path.join(workspace or os.getcwd(), folder)) for folder in own.values()]


def search_path(own, libraries=()):
    """The variable that has programs find the packages before others, with the libraries' paths; none for none."""
    paths = [*dict.fromkeys(folders(own)), *libraries]
    return {"PYTHONPATH": os.pathsep.join(paths)} if paths else {}
