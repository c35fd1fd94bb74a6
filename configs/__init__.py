"""The default configuration, one TOML file per section, shipped as package data."""
