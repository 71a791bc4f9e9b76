"""The world behind the ports: models, engines, indexes, and the generic wrappers around them."""
