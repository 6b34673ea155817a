"""The groups of settings, each with its defaults. `config` combines and reads them."""
