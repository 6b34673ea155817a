"""A pytest plugin that runs tests which are coroutines, if the repository has no plugin for them."""

import inspect

from _pytest.config import hookimpl


class Coroutines:
    """The plugin's hooks."""

    @hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        """Run a coroutine test; None for other tests, or if another plugin runs coroutine tests."""
        plugins = pyfuncitem.config.pluginmanager
        if not inspect.iscoroutinefunction(pyfuncitem.obj) or any(map(plugins.has_plugin, ("asyncio", "anyio"))):
            return None
        import asyncio  # noqa: PLC0415 (only where tests use it)

        names = pyfuncitem._fixtureinfo.argnames  # noqa: SLF001 (as pytest's own hook does)
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True
