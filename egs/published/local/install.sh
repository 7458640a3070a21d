#!/usr/bin/env bash
# Usage: install.sh
# Installs what the recipe needs and the machine lacks: espeak-ng with apt, vosk and its Korean model with pip into .venv. Run
# from the recipe's folder.
set -euo pipefail
scripts=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../../scripts")
source "$scripts/common/usage.sh"
plain_usage 0 0 "$@"
missing=()
command -v espeak-ng >/dev/null || missing+=(espeak-ng)
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3 python3-venv)
"$scripts/common/install_packages.sh" "${missing[@]}"
if ! cmp -s requirements.txt .venv/requirements.txt; then
  echo "installing with pip into $PWD/.venv: $(paste -sd' ' requirements.txt)"
  rm -rf .venv
  python3 -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
  cp requirements.txt .venv/requirements.txt
fi
