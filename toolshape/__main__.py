"""``python -m toolshape``: the command line."""

from toolshape._commands.cli import main

if __name__ == "__main__":
    main(prog_name="toolshape")
