"""What the papers compare themselves with: one idea, one module."""
