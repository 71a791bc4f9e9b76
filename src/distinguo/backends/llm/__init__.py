"""Language models: one file per way to reach one."""
