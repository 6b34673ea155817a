"""The version of Nightshift."""

VERSION = "0.2.0"
