"""``python -m distinguo`` is the command ``distinguo``."""

from distinguo.cli.main import run

if __name__ == "__main__":
    run()
