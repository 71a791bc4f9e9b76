"""Text encoders: one file per way to run one."""
