"""From a TOML file to components: names, signatures, places."""
