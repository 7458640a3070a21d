"""`python -m nnet3 PROGRAM …` becomes that program."""

import os
import sys

from ._programs import find_bin

if __name__ == "__main__":
    binary = find_bin()
    os.execv(binary, [binary, *sys.argv[1:]])
