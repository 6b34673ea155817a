"""Which settings are changed in their file alone, never through the API.

On the loopback the API asks programs for no token, so whatever may open a socket on this machine may write to it: other
users, a browser's extension, code of a sandbox that leaks. What such a program could do before is to give tasks, which
run in the sandbox. So nothing that it can set may lead out of there: no program that the daemon starts, no file that it
loads as code, nothing that weakens the sandbox or what looks at a change, and not who is let in. Who may edit the
owner's files has all of that already. Keys have a rule of their own, see `bootstrap.settings_service`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BY_HAND: Final[Mapping[str, str]] = {
    "notify_command": "it names a program that the daemon starts",
    "gpt4all_model_path": "it names a file that is loaded into the daemon",
    "embedder_model": "it may name files that are loaded into the daemon",
    "sandbox": "it decides what holds untrusted code",
    "docker_host": "it decides what holds untrusted code",
    "docker_image": "it decides what holds untrusted code",
    "checker_rules": "it decides which code is let through",
    "checker_allow": "it decides which code is let through",
    "blocked_commands": "it decides which code is let through",
    "flask_host": "it decides who can reach the daemon",
    "api_token": "it decides who is let in",
}
"""The name of each such setting to the reason, as the end of a sentence."""
