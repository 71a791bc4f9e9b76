"""Models by name: what they are, where they come from, and the folder that keeps them."""
