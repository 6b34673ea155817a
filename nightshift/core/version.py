"""The version of Nightshift."""

VERSION = "0.1.0"
