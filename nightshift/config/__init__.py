"""The groups of settings, each with its defaults; `config` puts them together and reads them."""
