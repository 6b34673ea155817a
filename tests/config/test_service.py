"""The environment variables of a service manager."""

from nightshift.config.service import VARIABLES, ServiceManager, service_manager_in


def test_the_watchdog_counts_for_the_process_that_it_names() -> None:
    environment = {"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"}
    assert service_manager_in(environment, pid=7) == ServiceManager(socket="/run/x", watchdog_s=30.0)
    assert service_manager_in(environment, pid=8) == ServiceManager(socket="/run/x", watchdog_s=None)
    assert service_manager_in({"WATCHDOG_USEC": "5"}, pid=8).watchdog_s == 5e-6


def test_nonsense_and_nothing_count_as_nobody() -> None:
    assert service_manager_in({}, pid=1) == ServiceManager()
    for text in ("", "0", "-3", "soon", "²"):
        assert service_manager_in({"WATCHDOG_USEC": text}, pid=1).watchdog_s is None
    assert {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} <= set(VARIABLES)
