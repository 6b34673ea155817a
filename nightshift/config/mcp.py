"""Settings of MCP servers, whose tools tasks may use."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, SecretStr

from nightshift.config.fields import ByHand, Heading, SettingsGroup

STARTS_PROGRAMS = ByHand("it names programs that run outside of the sandbox, and where tokens are sent")


class McpSettings(SettingsGroup):
    """External tools, for models that call tools while they work."""

    heading: ClassVar[Heading | None] = Heading.MODELS

    mcp_servers: Annotated[dict[str, str], STARTS_PROGRAMS] = Field(default_factory=dict)
    """MCP servers whose tools tasks may use: a name for each, and its address or the command that starts it."""
    mcp_tokens: Annotated[dict[str, SecretStr], STARTS_PROGRAMS] = Field(default_factory=dict)
    """Tokens for servers that have an address, by the servers' names."""
