"""``python -m txedit`` is the program ``txedit``."""

import os
import sys

from . import ProgramMissing, find_program

if __name__ == "__main__":
    try:
        program = find_program()
    except ProgramMissing as error:
        sys.exit(f"error: {error.message}")
    os.execv(program, [program, *sys.argv[1:]])
