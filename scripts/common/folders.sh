# Folders that scripts write into. A file `.made-by` in a folder has a line for each script that it belongs to; scripts empty and
# replace only what lies in such folders. Temporary files have names that nobody else has.

# Makes a folder, or ends the script if it is there, holds files, and is not marked as one that this script made.
claim_folder() { # <folder> <script> [<file or folder that may be there already> …]
  local folder=$1 script=$2 path name marker=$1/.made-by
  shift 2
  if [[ -f $marker ]] && grep -qxF -- "$script" "$marker"; then return; fi
  if [[ -e $folder || -L $folder ]]; then
    [[ -d $folder ]] || refuse_value "$folder is not a folder"
    for path in "$folder"/* "$folder"/.[!.]* "$folder"/..?*; do
      name=${path##*/}
      [[ -e $path || -L $path ]] || continue
      [[ $name != .made-by ]] || continue
      [[ " $* " != *" $name "* ]] || continue
      refuse_value "$folder holds files that $script did not make, such as $name; take another folder"
    done
  fi
  if ! { mkdir -p "$folder" && [[ ! -L $marker ]] && printf '%s\n' "$script" >>"$marker"; } 2>/dev/null; then refuse_value "cannot write to $folder"; fi
}

# Sets `private` to a new folder, with a name that nobody else has, in another one. It goes when the script ends, if that calls
# `remove_private`.
private=
make_private() { # <folder>
  private=$(mktemp -d "$1/.tmp.XXXXXX") || refuse_value "cannot write to $1"
}

remove_private() {
  if [[ $private ]]; then rm -rf "$private"; fi
  private=
}

# ---- results that stay -----------------------------------------------------------------------------------------------
# A folder that is made in one go has a file `.made-of`: the options of the script, and sums of the files that it was made of.

# Prints the options but those of running, and a line for each file or folder. What comes through a pipe or from a device is new each time.
describe_inputs() { # <file or folder> …
  local path
  options_except Running
  for path; do
    if [[ -d $path ]]; then echo "$path $(find -L "$path" -type f -printf '%P %s %T@\n' 2>/dev/null | sort | cksum)"
    elif [[ -f $path ]]; then echo "$path $(cksum <"$path")"
    elif [[ -e $path ]]; then echo "$path $(date +%s%N)"
    elif [[ $path ]]; then echo "$path is not there"
    fi
  done
}

# True, and says so, if a folder was made of these inputs.
is_made() { # <folder> <inputs, described> <result in the folder> …
  local folder=$1 inputs=$2 result
  [[ -f $folder/.made-of && $(tr -d '\0' <"$folder/.made-of") == "$inputs" ]] || return 1
  for result in "${@:3}"; do
    if [[ -s $folder/$result ]]; then say "$folder is there already, made of the same files with the same options"; return; fi
  done
  return 1
}

keep_inputs() { printf '%s\n' "$2" >"$1/.made-of"; } # <folder> <inputs, described>
