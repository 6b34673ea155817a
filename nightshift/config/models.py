"""Settings of models, and the limits of a task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, SecretStr, model_validator

from nightshift.config.fields import ByHand, Heading, SettingsGroup
from nightshift.config.values import Cost, Host, Positive, PositiveTokens, PriceIn, Seconds, Tokens, Variable
from nightshift.core.isolation import RUN_LIMITS
from nightshift.core.tasks.task import Explore

ThinkingLevel = Annotated[Literal["auto", "off", "low", "medium", "high"], BeforeValidator(Explore.read_typed)]
AGENT = ByHand("it decides which program is started, and what it sees and may reach")
LONGEST_PROMPT = 24_000
LEAST_CONTEXT = 32_768
"""Minimum context of a local model, in tokens, if the owner sets none."""
LONGEST_CONVERSATION = 96_000
"""Maximum tokens of a conversation. Successful conversations stay far below this limit (arXiv 2602.16069)."""
LEAST_PROMPT = 3_000
"""Number of tokens that a prompt may always have. A lower limit would leave room for the instructions but not for the
task.

No phase limits prompts below this value (`agent.services`).
"""


class ModelSettings(SettingsGroup):
    """The models to ask, and how long to wait for them."""

    heading: ClassVar[Heading | None] = Heading.MODELS
    on_page: ClassVar[frozenset[str]] = frozenset(
        {
            "model_type",
            "model_name",
            "phase_models",
            "openai_api_key",
            "openai_base_url",
            "anthropic_api_key",
            "gemini_api_key",
            "ollama_base_url",
            "gpt4all_model_path",
            "llama_cpp_model_path",
            "model_prices",
            "model_num_ctx",
            "model_max_tokens",
            "model_thinking",
        }
    )

    model_type: str = "auto"
    """The backends that are asked: `auto` for all that are configured, one name, or several in order of preference, \
such as `openai,ollama`."""
    model_name: str | None = None
    """The model, or several separated by commas; `backend=model` names its backend. Unset: each backend picks a model \
that can code."""
    phase_models: dict[str, str] = Field(default_factory=dict)
    """The model that a phase asks first, such as REVIEW: anthropic=claude-sonnet-5. The other models are fallbacks."""
    routing: Literal["fixed", "measured"] = "fixed"
    """The order in which models are asked: as configured (fixed), or as learned from earlier tasks (measured)."""
    openai_api_key: SecretStr | None = None
    """The key for OpenAI, or for the server at openai_base_url."""
    openai_base_url: str | None = None
    """The address of a server that speaks OpenAI's API. Unset: OpenAI itself."""
    openai_api: Literal["auto", "chat", "responses"] = "auto"
    """The API to use for OpenAI: chat completions, Responses, or Responses only at OpenAI itself (auto)."""
    anthropic_api_key: SecretStr | None = None
    """The key for Anthropic."""
    anthropic_base_url: str | None = None
    """The address of a server that speaks Anthropic's API. Unset: Anthropic itself."""
    gemini_api_key: SecretStr | None = None
    """The key for Gemini."""
    gemini_base_url: str | None = None
    """The address of a server that speaks Gemini's API. Unset: Google itself."""
    ollama_base_url: str = "http://localhost:11434"
    """The address at which Ollama listens."""
    gpt4all_model_path: Annotated[Path | None, ByHand("it names a file that is loaded into the daemon")] = None
    """A `.gguf` file for GPT4All, or a folder of them."""
    llama_cpp_model_path: Annotated[Path | None, ByHand("it names a file that native code loads")] = None
    """A `.gguf` file for llama.cpp, or a folder of them. Unset: gpt4all_model_path."""
    acp_command: Annotated[str | None, AGENT] = None
    """The command of a coding agent that speaks the Agent Client Protocol, such as `gemini --experimental-acp`."""
    acp_hosts: Annotated[list[Host], AGENT] = Field(default_factory=list)
    """The hosts that the agent may reach over TLS, such as `api.example.com` for its vendor's service."""
    acp_variables: Annotated[list[Variable], AGENT] = Field(default_factory=list)
    """Names of the daemon's environment variables that the agent gets, including the variable with its key."""
    acp_folders: Annotated[list[Path], AGENT] = Field(default_factory=list)
    """Folders that the agent may read, if its program or its interpreter is not below `/usr`."""
    acp_auth: Annotated[str | None, AGENT] = None
    """The agent's own name for its login method. Unset: the agent finds its key without help."""
    model_prices: dict[str, PriceIn] = Field(default_factory=dict)
    """The prices of models, by their names, in USD per million tokens. Without a price only tokens are counted."""
    edit_format: Literal["auto", "whole", "edit"] = "auto"
    """How models write changes: whole files, edits of a few lines, or whichever suits the model and file (auto)."""
    explore: Annotated[Literal["auto", "on", "off"], BeforeValidator(Explore.read_typed)] = "auto"
    """Use of tools to explore and try things: always (on), never (off), or when one prompt is not enough (auto)."""
    explore_steps: Annotated[int, Field(ge=2, le=500)] = 40
    """The maximum number of replies with tool calls that a model may use to write a change."""
    model_num_ctx: Annotated[Tokens, Field(ge=2048)] | None = None
    """The context of local models in tokens, for prompt and reply together. Unset: 65536 if that fits, else 32768."""
    model_max_tokens: PositiveTokens = 8192
    """The maximum length of a reply, including the thinking."""
    model_thinking: ThinkingLevel = "auto"
    """How much models think before they answer: off, low, medium, high, or auto (depends on phase and model)."""
    phase_thinking: dict[str, ThinkingLevel] = Field(default_factory=dict)
    """How much models think in a phase, such as CODING: high."""
    model_first_byte_s: Seconds = 300
    """How long a remote server may be silent before its reply begins."""
    model_silence_s: Seconds = 120
    """How long the server may be silent during a reply."""
    model_timeout_s: Seconds = 900
    """How long one reply may take in total."""
    model_max_wait_s: Seconds = 60
    """The longest wait that a server may request. If it requests more, the next backend is asked."""
    model_probe_s: Seconds = 30
    """How often an unavailable backend is checked."""
    repair_first_s: Annotated[float, Field(ge=0, json_schema_extra={"unit": "s"})] = 10
    """How long the built-in engine may search before a model is asked. 0: it searches only if no model answers."""
    repair_s: Seconds = 60
    """How long the built-in engine may search when no model can be asked."""


class LimitSettings(SettingsGroup):
    """How much time, how many tries and how much money work may use. A budget that is None is unlimited."""

    heading: ClassVar[Heading | None] = Heading.LIMITS
    on_page: ClassVar[frozenset[str]] = frozenset(
        {
            "task_timeout",
            "max_iterations",
            "suite_timeout_s",
            "task_tokens",
            "task_cost_usd",
            "day_cost_usd",
            "total_cost_usd",
        }
    )

    task_timeout: Seconds = 300
    """How long an attempt may work; waiting for models does not count."""
    max_iterations: Annotated[int, Field(ge=1, le=100)] = 15
    """How many tries an attempt has to make its tests pass."""
    warn_iterations: Annotated[int, Field(ge=1, le=100)] = 12
    """The number of tries after which the model is told that few tries are left."""
    suite_timeout_s: Seconds = RUN_LIMITS.cpu_s
    """Processor time that a test run may use. A run that mostly waits may last five times as long."""
    call_tokens: PositiveTokens | None = None
    """The token limit of one call, prompt and reply together."""
    call_cost_usd: Cost | None = None
    """The spending limit of one call."""
    task_model_calls: Positive | None = None
    """The maximum number of calls of a task. After that, the task asks you for the same number again."""
    task_tokens: PositiveTokens | None = None
    """The maximum number of tokens of a task. After that, the task asks you for the same number again."""
    task_cost_usd: Cost | None = None
    """The maximum cost of a task. After that, the task asks you for the same amount again."""
    day_tokens: PositiveTokens | None = None
    """The maximum number of tokens in a UTC day. After that, tasks wait for the next day."""
    day_cost_usd: Cost | None = None
    """The maximum cost of a UTC day. After that, tasks wait for the next day."""
    total_tokens: PositiveTokens | None = None
    """The maximum number of tokens in total. After that, tasks wait until you raise the limit."""
    total_cost_usd: Cost | None = None
    """The maximum cost in total. After that, tasks wait until you raise the limit."""


class PromptSettings(ModelSettings, LimitSettings):
    """The token limits of prompts, which follow from the settings of models and tasks together."""

    @property
    def prompt_tokens(self) -> int:
        """Maximum tokens of a prompt: the context without the reply, but at most 3/4 of a call's token limit.

        The limit is never above `LONGEST_PROMPT`, because longer prompts cost more than they help.
        """
        of_call = LONGEST_PROMPT if self.call_tokens is None else self.call_tokens * 3 // 4
        return min(LONGEST_PROMPT, (self.model_num_ctx or LEAST_CONTEXT) - self.model_max_tokens, of_call)

    @property
    def conversation_tokens(self) -> int:
        """Maximum tokens of a conversation with tools, whatever the context of the model.

        After that, a new conversation begins.
        """
        return LONGEST_CONVERSATION if self.call_tokens is None else self.call_tokens * 3 // 4

    @model_validator(mode="after")
    def _room_for_a_prompt(self) -> PromptSettings:
        context, reply = self.model_num_ctx or LEAST_CONTEXT, self.model_max_tokens
        if context - reply < LEAST_PROMPT:
            shorter = f"MODEL_MAX_TOKENS to {context - LEAST_PROMPT} or less, or " if context > LEAST_PROMPT else ""
            raise ValueError(
                f"model_max_tokens: replies of up to {reply} tokens (MODEL_MAX_TOKENS) leave less than {LEAST_PROMPT} "
                f"for a prompt in a context of {context} (MODEL_NUM_CTX); the instructions alone take half of that; "
                f"set {shorter}MODEL_NUM_CTX to {reply + LEAST_PROMPT} or more"
            )
        if self.call_tokens is not None and self.prompt_tokens < LEAST_PROMPT:
            least = -(-LEAST_PROMPT * 4 // 3)
            raise ValueError(
                f"call_tokens: {self.call_tokens} are too few for a prompt and a reply; set CALL_TOKENS to "
                f"{least} or more"
            )
        return self
