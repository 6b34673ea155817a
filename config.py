"""Reads the settings from config.yaml and the environment. The implementation is `nightshift/config/load.py`."""

from nightshift.config.load import Settings, load_settings

__all__ = ["Settings", "load_settings"]
