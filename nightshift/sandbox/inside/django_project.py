"""Prepares Django for the tests of a project without pytest-django, in the way of `manage.py test`.

The settings are those that `manage.py` names. Databases are created only for tests that need them. A project whose
conftest configures Django itself is left alone.
"""

import importlib.util
import os
import re
from pathlib import Path

_SETTINGS = re.compile(r"""DJANGO_SETTINGS_MODULE["']\s*,\s*["']([\w.]+)["']""")


def find_settings():
    """Return the name of the settings module that `manage.py` names; None if this is not for us to prepare."""
    try:
        match = _SETTINGS.search(Path("manage.py").read_text("utf-8", "replace"))
    except OSError:
        return None
    is_needed = importlib.util.find_spec("django") and not importlib.util.find_spec("pytest_django")
    return match[1] if match and is_needed else None


class DjangoProject:
    """A plugin of pytest that prepares Django before tests are collected, and databases before tests run."""

    def __init__(self, settings):
        self._settings, self._runner, self._databases = settings, None, None

    def pytest_sessionstart(self):
        """Configure Django, because test modules import models."""
        from django.conf import settings  # noqa: PLC0415 - the project's Django

        if settings.configured:
            return
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", self._settings)
        import django  # noqa: PLC0415 - the project's Django
        from django.test.runner import DiscoverRunner  # noqa: PLC0415 - needs the settings

        django.setup()
        self._runner = DiscoverRunner(verbosity=0, interactive=False)
        self._runner.setup_test_environment()

    def pytest_collection_finish(self, session):
        """Create the databases if a test uses them."""
        from django.test import TransactionTestCase  # noqa: PLC0415 - the project's Django

        classes = [item.cls for item in session.items if getattr(item, "cls", None)]
        if self._runner and any(issubclass(each, TransactionTestCase) for each in classes):
            self._databases = self._runner.setup_databases()

    def pytest_sessionfinish(self):
        """Remove the databases."""
        if self._databases is not None:
            self._runner.teardown_databases(self._databases)
