"""The settings, from config.yaml and the environment. Behind it is `nightshift/config/load.py`."""

from nightshift.config.load import Settings, load_settings

__all__ = ["Settings", "load_settings"]
