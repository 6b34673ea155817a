"""Settings: the precedence of sources, and the messages to a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.config.load import Settings, load_settings, settings_at, sources
from nightshift.config.origins import Origin
from nightshift.config.places import Places
from nightshift.core.errors import ConfigError
from nightshift.core.text.masking import MASK, Masker


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.yaml").write_text("worker_count: 4\nmax_retries: 5\ntask_timeout: 60\n")
    (tmp_path / ".env").write_text("MAX_RETRIES=6\nTASK_TIMEOUT=70\n")
    monkeypatch.setenv("TASK_TIMEOUT", "80")
    monkeypatch.setenv("FLASK_PORT", "81")
    settings = load_settings({"flask_port": 82, "model_name": None}, tmp_path)
    assert (settings.worker_count, settings.max_retries, settings.task_timeout, settings.flask_port) == (4, 6, 80, 82)


def test_every_fault_is_reported_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.yaml").write_text("workr_count: 2\nlog_level: LOUD\n")
    monkeypatch.setenv("FLASK_PORT", "many")
    with pytest.raises(ConfigError) as refused:
        load_settings(home=tmp_path)
    faults = "\n".join(refused.value.faults)
    assert "did you mean worker_count?" in faults
    assert "log_level (LOG_LEVEL)" in faults
    assert "flask_port (FLASK_PORT)" in faults


@pytest.mark.parametrize(
    ("variable", "kind"),
    [("GITHUB_TOKEN", "github"), ("GH_TOKEN", "github"), ("GITLAB_TOKEN", "gitlab"), ("GITEA_TOKEN", "forgejo"),
     ("FORGEJO_TOKEN", "gitea")],
)  # fmt: skip
def test_tokens_of_forges_are_found_under_their_usual_names_and_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, kind: str
) -> None:
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN", "FORGEJO_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "a-token-of-the-forge")
    (tmp_path / "config.yaml").write_text("forge_tokens: {git.lan: a-token-for-one-host}\n")
    settings = load_settings(home=tmp_path)
    assert settings.forge_token(kind, "any.host") == "a-token-of-the-forge"
    assert settings.forge_token(kind, "git.lan") == "a-token-for-one-host"
    assert {"a-token-of-the-forge", "a-token-for-one-host"} <= set(settings.secrets)
    assert "a-token" not in repr(settings)
    assert "GITEA" in variable or settings.forge_token("gitea" if kind != "gitea" else "github", "any.host") == ""


@pytest.mark.parametrize(
    ("variables", "text", "is_masked"),
    [
        ({"API_TOKEN": "hunter"}, "the word is hunter.", True),
        ({"OPENAI_API_KEY": "unused", "OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"}, "an unused import", False),
        ({"OPENAI_API_KEY": "sk-1234", "OPENAI_BASE_URL": "http://gpu.lan/v1"}, "the key sk-1234", True),
        ({"ACP_VARIABLES": '["BUILD_PROFILE"]', "BUILD_PROFILE": "development"}, "for development only", False),
        ({"ACP_VARIABLES": '["AGENT_PASSWORD"]', "AGENT_PASSWORD": "swordf"}, "say swordf", True),
        ({"ACP_VARIABLES": '["AGENT_PASSWORD"]', "AGENT_PASSWORD": "sword"}, "say sword", False),
    ],
)
def test_a_value_is_masked_by_its_name_from_six_characters_on_and_else_by_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], text: str, *, is_masked: bool
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (MASK in Masker(load_settings(home=tmp_path).secrets)(text)) == is_masked


def test_a_secret_does_not_show_in_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "token-very-secret")
    monkeypatch.setenv("FLASK_HOST", "0.0.0.0")
    monkeypatch.setenv("WORKER_COUNT", "token-very-secret")
    with pytest.raises(ConfigError) as refused:
        load_settings(home=tmp_path)
    assert "very-secret" not in str(refused.value)


def test_an_open_address_without_a_token_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASK_HOST", "0.0.0.0")
    with pytest.raises(ConfigError, match="API_TOKEN"):
        load_settings(home=tmp_path)


def test_rules_of_the_checker_are_read_and_a_bare_off_is_no_truth_value(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "checker_rules: {bandit: off, python.socket: note}\n"
        "checker_allow: {/src/shop: [python.subprocess]}\n"
        "blocked_commands: ['terraform apply *']\n"
    )
    settings = load_settings(home=tmp_path)
    assert settings.checker_rules == {"bandit": "off", "python.socket": "note"}
    assert settings.checker_allow == {"/src/shop": ["python.subprocess"]}
    assert settings.blocked_commands == ["terraform apply *"]
    (tmp_path / "config.yaml").write_text("checker_rules: {python.socket: loud}\n")
    with pytest.raises(ConfigError, match=r"checker_rules\.python\.socket"):
        load_settings(home=tmp_path)


def test_a_line_that_is_no_yaml_is_named_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("worker_count: 2\nopenai_api_key: very-secret: key\n")
    with pytest.raises(ConfigError, match=r"config\.yaml: cannot be read: line 2, column") as refused:
        load_settings(home=tmp_path)
    assert "very-secret" not in str(refused.value)


def test_each_value_says_where_it_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.yaml").write_text(
        "worker_count: 4\nmax_retries: 5\ntask_timeout: 60\nmodel_name:\nlog_keep: 7\nlog_days: 8\n"
    )
    (tmp_path / "settings.overrides.yaml").write_text("log_keep: 9\nlog_days: 8\nrepair_s: 5\nmax_retries: 7\n")
    (tmp_path / ".env").write_text("MAX_RETRIES=6\ntask_timeout=70\nOTHER=1\n")
    monkeypatch.setenv("Task_Timeout", "80")
    value_sources = sources(load_settings(home=tmp_path))
    assert value_sources.origins == {
        "worker_count": Origin.FILE, "max_retries": Origin.DOTENV, "task_timeout": Origin.ENVIRONMENT,
        "log_keep": Origin.PAGE, "log_days": Origin.PAGE, "repair_s": Origin.PAGE,
    }  # fmt: skip
    assert value_sources.overruled == ("log_keep",), (
        "where both say something, not the same, and the page's value holds"
    )


def test_other_overrides_are_judged_as_the_file_would_be(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("worker_count: 4\n")
    (tmp_path / "settings.overrides.yaml").write_text("worker_count: 6\n")
    assert settings_at(Places(home=tmp_path), overrides="worker_count: 5\n").worker_count == 5
    assert settings_at(Places(home=tmp_path), overrides="").worker_count == 4
    with pytest.raises(ConfigError, match=r"settings\.overrides\.yaml: workr_count.*did you mean worker_count"):
        settings_at(Places(home=tmp_path), overrides="workr_count: 5\n")


def test_what_is_changed_by_hand_alone_is_not_taken_from_the_page(tmp_path: Path) -> None:
    for text in ("sandbox: process\n", "api_token: null\n"):
        (tmp_path / "settings.overrides.yaml").write_text(text)
        with pytest.raises(ConfigError, match=r"settings\.overrides\.yaml: .* only be changed in config\.yaml"):
            load_settings(home=tmp_path)


def test_the_example_of_a_dotenv_file_names_settings_with_their_defaults(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / ".env.example").read_text(encoding="utf-8")
    pairs = [line[1:].split("=", 1) for line in text.splitlines() if line.startswith("#") and line[1:2].isupper()]
    assert len(pairs) > 10
    (tmp_path / ".env").write_text("".join(f"{name}={value}\n" for name, value in pairs if value and "/" not in value))
    settings, default = load_settings(home=tmp_path), load_settings(home=tmp_path / "other")
    for name, value in pairs:
        assert name.lower() in Settings.model_fields
        if value and "/" not in value:
            assert getattr(settings, name.lower()) == getattr(default, name.lower()), name
