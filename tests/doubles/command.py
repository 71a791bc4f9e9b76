"""The command line, called in this process."""

import pytest

from distinguo.cli.main import run


def distinguo(*arguments: str) -> int:
    """Run the command; its exit code."""
    with pytest.raises(SystemExit) as ended:
        run(list(arguments))
    return int(ended.value.code or 0)
