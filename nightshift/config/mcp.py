"""Settings of MCP servers: which there are, so that tasks may name their tools."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, SecretStr

from nightshift.config.fields import ByHand, SettingsGroup

STARTS_PROGRAMS = ByHand("it names programs that run outside of the sandbox, and where tokens are sent")


class McpSettings(SettingsGroup):
    """Tools from outside, for models that work in steps."""

    heading: ClassVar[str] = "MCP servers"

    mcp_servers: Annotated[dict[str, str], STARTS_PROGRAMS] = Field(default_factory=dict)
    """MCP servers whose tools tasks may name: a name for each, and the command that starts it or its address."""
    mcp_tokens: Annotated[dict[str, SecretStr], STARTS_PROGRAMS] = Field(default_factory=dict)
    """Tokens for servers with an address, by their names."""
