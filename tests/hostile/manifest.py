"""Lists the hostile programs that run inside isolations, each with the effect that it must not have there.

No program may succeed in a strong isolation (bubblewrap, its warm pool, docker). The `process` isolation does not
isolate: `OPEN` lists the programs that succeed in it, so that its weakness is not only documented but also tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.support.hostile import (
    Attack,
    Effect,
    answer,
    carry,
    change,
    collect,
    has_arrived,
    has_flooded,
    has_harmed,
    has_hogged,
    has_leaked,
    has_outlasted,
    keep,
    leave,
    more,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A hostile program and its forbidden effect.

    Attributes:
        attack: The program, with the limits and settings of its job.
        effect: The effect that the program has when it runs bare, and that it must not have in a strong isolation.
        rooted: True if even the bare program needs a daemon that runs as root.
        grouped: True if only control groups stop the program.
    """

    attack: Attack
    effect: Effect
    rooted: bool = False
    grouped: bool = False


def _each(
    group: str, effect: Effect, *names: str, rooted: bool = False, bait: bool = False, caller: bool = False,
    as_job: bool = False, shown: bool = False,
) -> dict[str, Entry]:  # fmt: skip
    def entry(name: str) -> Entry:
        attack = Attack(name=name, bait=bait, caller=caller, as_job=as_job, shown=shown)
        return Entry(attack=attack, effect=effect, rooted=rooted)

    return {f"{group}/{name}": entry(f"{group}/{name}") for name in names}


def _make_entry(
    name: str, effect: Effect, *, grouped: bool = False, tidy: bool = False, **limits: Any
) -> dict[str, Entry]:
    attack = Attack(name=name, books=True, tidy=tidy).within(**limits)
    return {name: Entry(attack=attack, effect=effect, grouped=grouped)}


# Twice the limit. Without a control group the kernel counts all processes of the user, so more than the limit can start
# when the user's other jobs end.
_PROCESSES = more("processes", lambda limits: 2 * limits.pids)
_THREADS = more("threads", lambda limits: 2 * limits.pids)
_MEMORY = more("memory_mb", lambda limits: 1.5 * limits.memory_mb)  # pages shared by forked processes count repeatedly
_DISK = more("disk_mb", lambda limits: limits.work_mb + 1)

SECRETS = {
    **_each(
        "secrets", has_leaked, "private_key", "own_environment", "inherited_descriptor", "search_of_the_disk",
        "climbing_out_of_a_root",
    ),
    **_each("secrets", has_leaked, "file_by_handle", rooted=True),
    **_each("secrets", has_leaked, "other_environments", "memory_of_a_process", bait=True),
}  # fmt: skip
PRIVILEGE = {
    **_each("privilege", change, "writes_a_file"),
    **_each(
        "privilege", carry, "mounts", "mounts_by_the_new_calls", "makes_a_user_namespace",
        "makes_a_namespace_by_clone", "keeps_keys_in_the_kernel", "uses_io_uring", "handles_page_faults",
        "calls_by_the_old_gate",
    ),
    **_each(
        "privilege", carry, "lifts_its_limits", "sets_the_kernel", "makes_a_device", "becomes_root",
        "loads_a_bpf_map", "counts_events", rooted=True,
    ),
    **_each("privilege", carry, "starts_a_program_of_roots", rooted=True, as_job=True, shown=True),
    **_each("privilege", change, "writes_libraries", shown=True),
}  # fmt: skip
RESOURCES = {
    **_make_entry("resources/many_processes", _PROCESSES),
    **_make_entry("resources/many_threads", _THREADS),
    **_make_entry("resources/much_memory", _MEMORY),
    **_make_entry("resources/much_memory_together", _MEMORY, grouped=True),
    **_make_entry("resources/memory_in_files", _MEMORY),
    **_make_entry("resources/locked_memory", more("locked_mb", lambda _: 1)),
    **_make_entry("resources/full_disk", _DISK),
    **_make_entry("resources/one_big_file", more("file_mb", lambda limits: limits.work_mb + 0.5)),
    **_make_entry("resources/many_files", more("files", lambda _: 6_500), grouped=True, memory_mb=64),
    **_make_entry("resources/deep_folders", keep, tidy=True),
    **_make_entry("resources/many_descriptors", more("descriptors", lambda _: 256)),
    **_make_entry("resources/busy_children", has_hogged, grouped=True, cpus=0.1),
    **_each("resources", has_flooded, "endless_output"),
    **_make_entry("resources/deaf_to_signals", has_outlasted, wall_s=0.5),
    **_make_entry("resources/stopped", has_outlasted, wall_s=0.5),
    **_make_entry("resources/stream_held_open", has_outlasted, wall_s=0.5),
    **_each("resources", leave, "child_without_a_trace"),
}
NETWORK = {
    **_each("network", has_arrived, "tcp", "control_socket", "abstract_socket"),
    **_each("network", answer, "listens", caller=True),
    **_each("network", carry, "virtual_machine_socket", "kernel_socket", "raw_packets"),
    **_each("network", has_leaked, "shared_memory_file", "shared_memory_by_key"),
}  # fmt: skip
PROCESSES = {
    **_each("processes", has_harmed, "ends_another", "ends_another_by_handle", "slows_another", bait=True),
    **_each("processes", has_harmed, "limits_another", bait=True, as_job=True),
    **_each("processes", has_leaked, "traces_another", "copies_memory", "takes_a_descriptor", bait=True),
    **_each("processes", carry, "traces_its_child", "changes_its_kind"),
    **_each("processes", carry, "rises_in_rank", rooted=True),
}  # fmt: skip
ARTEFACTS = _each("artefacts", collect, "link_to_a_secret", "second_name_of_a_secret", "pipe_instead_of_a_report")

ENTRIES: dict[str, Entry] = {**SECRETS, **PRIVILEGE, **RESOURCES, **NETWORK, **PROCESSES, **ARTEFACTS}
LEFTOVERS = ("files", "process", "abstract_socket", "shared_memory", "keys", "terminal")
"""Programs in two halves. The first half leaves something behind; the second looks for it, both while the first still
runs and after it has ended.
"""
STAYS = frozenset({"files", "process", "shared_memory", "keys"})
"""The `LEFTOVERS` that outlive a job in the `process` isolation. While the job still runs, other jobs there find all
`LEFTOVERS`.
"""

OPEN = frozenset({
    "secrets/private_key", "secrets/search_of_the_disk", "secrets/climbing_out_of_a_root",
    "secrets/other_environments", "secrets/memory_of_a_process", "privilege/writes_a_file",
    "privilege/writes_libraries",
    "privilege/mounts", "privilege/mounts_by_the_new_calls", "privilege/makes_a_user_namespace",
    "privilege/makes_a_namespace_by_clone", "privilege/keeps_keys_in_the_kernel", "privilege/uses_io_uring",
    "privilege/handles_page_faults", "privilege/calls_by_the_old_gate", "privilege/counts_events",
    "resources/much_memory_together", "resources/full_disk", "resources/many_files",
    "resources/busy_children", "resources/child_without_a_trace",
    *NETWORK, *PROCESSES,
}) - {"processes/rises_in_rank"}  # fmt: skip
"""The programs that succeed in the `process` isolation. Limits, closed descriptors or the user id stop the others."""
