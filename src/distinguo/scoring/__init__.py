"""Judge what runs left behind; nothing here runs a method."""
