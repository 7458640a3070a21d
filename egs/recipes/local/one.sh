#!/usr/bin/env bash
# Usage: one.sh RECIPE FOLDER
# Runs one recipe in a folder. run.sh calls it, with its settings in the environment.
set -euo pipefail
source "$here/../../scripts/common/usage.sh"
source "$here/../../scripts/common/values.sh"
plain_usage 2 2 "$@"
recipe=$1 work=$2
# shellcheck disable=SC2034 # messages name the script that was started
runner=run.sh
mkdir -p "$work"
source "$here/local/steps.sh"
# shellcheck disable=SC1090 # the recipe, whose name run.sh has checked
source "$here/local/$recipe.sh"
checkout "${recipe_folders[@]}"
make_data
recipe_environment
only_ours "$here/programs/$recipe.txt"
run_recipe
