"""Settings of forges: the repositories to follow at GitHub, GitLab, Gitea or Forgejo, and the tokens."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, SecretStr

from nightshift.config.fields import ByHand, Heading, SettingsGroup

GIVES_TASKS = ByHand("it decides who else may give tasks, and where tokens are sent")


class ForgeSettings(SettingsGroup):
    """The forges whose issues become tasks and that receive pull requests."""

    heading: ClassVar[Heading | None] = Heading.REVIEWS
    on_page: ClassVar[frozenset[str]] = frozenset({"forges"})

    forges: Annotated[dict[str, str], GIVES_TASKS] = Field(default_factory=dict)
    """Repositories whose labelled issues become tasks: each address with the folder of its local checkout."""
    forge_kinds: Annotated[dict[str, str], GIVES_TASKS] = Field(default_factory=dict)
    """The kind of forge at each of your own hosts: github, gitlab, gitea or forgejo."""
    forge_label: Annotated[str, Field(min_length=1, max_length=50, pattern=r"^[^,:\n]+$"), GIVES_TASKS] = "nightshift"
    """The label that makes an issue a task."""
    forge_poll_s: Annotated[float, Field(ge=5, json_schema_extra={"unit": "s"})] = 60
    """How often a forge is polled. Webhooks report changes at once."""
    forge_webhook_secret: Annotated[SecretStr | None, GIVES_TASKS] = None
    """The secret that signs the forge's webhooks. Unset: no webhook is accepted."""
    github_token: Annotated[SecretStr | None, GIVES_TASKS] = None
    """The token for GitHub; GH_TOKEN is read as well."""
    gitlab_token: Annotated[SecretStr | None, GIVES_TASKS] = None
    """The token for GitLab."""
    gitea_token: Annotated[SecretStr | None, GIVES_TASKS] = None
    """The token for Gitea and Forgejo; FORGEJO_TOKEN is read as well."""
    forge_tokens: Annotated[dict[str, SecretStr], GIVES_TASKS] = Field(default_factory=dict)
    """Tokens for single hosts, such as an Enterprise server. They take precedence over the tokens above."""
