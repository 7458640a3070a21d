#!/usr/bin/env bash
# Usage: install.sh [--built] [PROGRAM …]
# Installs what the recipe needs and the machine lacks: Debian packages with apt, Python packages into ./.venv. A PROGRAM is one that has
# to be there, and is in the package of its name. --built, or programs that are there (programs.sh): nothing is needed to build them.
# Looks for each thing itself rather than for a mark left by an earlier run; installs, and asks the network, only for what
# is missing. Run from the recipe's folder.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../../scripts/common/usage.sh"
built=false
if [[ ${1-} == --built ]]; then built=true; shift; fi
if "$(dirname "${BASH_SOURCE[0]}")/programs.sh" --built >/dev/null 2>&1; then built=true; fi
plain_usage 0 20 "$@"

fail() { echo "install.sh: $*" >&2; exit 1; }

# ---- programs and libraries -----------------------------------------------------------------------------------------
links_c_program() { echo 'int main(void) { return 0; }' | cc -x c - -o /dev/null 2>/dev/null; }
has_espeak() { python3 -c 'import ctypes; ctypes.CDLL("libespeak-ng.so.1")' 2>/dev/null; }
has_venv() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

command -v python3 >/dev/null || fail "python3 is missing; on Debian: apt install python3"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "needs Python 3.10 or later, found $(python3 --version)"

missing=()
if ! $built; then
  links_c_program || missing+=(build-essential)
  command -v pkg-config >/dev/null || missing+=(pkg-config)
  pkg-config --exists openblas 2>/dev/null || missing+=(libopenblas-dev)
fi
has_espeak || missing+=(libespeak-ng1)
has_venv || missing+=(python3-venv)
for program; do
  case $program in
    # A minimal Debian has a perl without the modules of Kaldi's scripts.
    perl) perl -MEncode -e 1 2>/dev/null || missing+=(perl) ;;
    *) command -v "$program" >/dev/null || missing+=("$program") ;;
  esac
done

if (( ${#missing[@]} )); then
  command -v apt-get >/dev/null || fail "this machine has no apt-get; please install the counterparts of: ${missing[*]}"
  as_root=()
  if (( EUID != 0 )); then
    command -v sudo >/dev/null || fail "neither root nor sudo; ask for: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  echo "installing with apt-get: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
  echo "programs and libraries: all there"
fi

# ---- Python packages ------------------------------------------------------------------------------------------------
mapfile -t imports < <(sed 's/[=;].*//; s/-/_/g' requirements.txt | sort -u)
venv_works() { .venv/bin/python -c 'import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]' "${imports[@]}" 2>/dev/null; }

if venv_works && cmp -s requirements.txt .venv/requirements.txt; then
  echo "Python packages: all there (.venv)"
else
  echo "installing with pip into $PWD/.venv: $(sed 's/;.*//' requirements.txt | sort -u -t= -k1,1 | paste -sd' ')"
  .venv/bin/python -c '' 2>/dev/null || { rm -rf .venv; python3 -m venv .venv; }
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
  venv_works || fail "pip succeeded, but the packages of requirements.txt cannot be imported"
  cp requirements.txt .venv/requirements.txt
fi
