"""Recognises projects of Django, whose tests run with `manage.py test`."""

from __future__ import annotations

from collections.abc import Callable


def is_django(text_of: Callable[[str], str | None]) -> bool:
    """Check whether the root has the `manage.py` of a project; `text_of` returns a file's text, or None."""
    return "DJANGO_SETTINGS_MODULE" in (text_of("manage.py") or "")
