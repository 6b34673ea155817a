"""Exceptions that a function must raise: a condition on the arguments that tells these calls from all others."""

from .context import Context
from .goals import Goal


class Guards:
    """The conditions, one for each kind of exception.

    Args:
        search: shares the time.
        raising: the examples whose calls raise; `wanted` is the exception's name and its message.
        ready: called when the last condition was found.
    """

    def __init__(self, search, raising, ready):
        self.search, self._ready = search, ready
        self.kinds = list(dict.fromkeys(tuple(one.wanted) for one in raising))
        self.found = {}
        everything = [*search.used, *raising]
        variables = [
            (name, [one.arguments[place] for one in everything]) for place, name in enumerate(search.parameters)
        ]
        for kind in self.kinds:
            context = Context(variables, search.constants, search, depth=2, weight=2.0)
            wanted = [one.how == "raises" and tuple(one.wanted) == kind for one in everything]
            Goal(context, wanted, lambda entry, kind=kind: self._take(kind, entry), search, 0, evidence=len(wanted))

    @property
    def complete(self):
        """Whether all conditions are known."""
        return len(self.found) == len(self.kinds)

    @property
    def text(self):
        """The statements that raise."""
        lines = []
        for (name, message), test in self.found.items():
            lines += [f"if {test}:", f"    raise {name}({message!r})" if message else f"    raise {name}"]
        return "".join(f"{line}\n" for line in lines)

    def _take(self, kind, entry):
        if kind not in self.found:
            self.found[kind] = entry.text
            if self.complete:
                self._ready()
