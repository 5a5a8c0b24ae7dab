"""Runs the command line: ``python -m toolshape``."""

from toolshape._cli.cli import main

if __name__ == "__main__":
    main(prog_name="toolshape")
