# Checks of dev/test-train.sh: trainings and workers that are killed.

# Every model that is there must be the one that the undisturbed training made.
models_are_whole() { # <name>
  local file
  for file in "$work/$1"/[0-9]*.raw "$work/$1"/final.raw; do
    [[ -e $file && $(basename "$file") != *.*.raw ]] || continue
    cmp "$file" "$work/plain/$(basename "$file")" || return 1
  done
}

# One of: the driver gets a signal; everything is killed at once; one of the programs is killed. (Background processes of a
# script cannot get SIGINT.)
strike() { # <leader of the session> <kind>
  local try
  case $2 in
    0) kill -TERM "$1" ;;
    1) kill -HUP "$1" ;;
    2) kill -KILL "$1" ;;
    3) pkill -KILL --session "$1" ;;
    4) # programs are gone as fast as they come
      for ((try = 0; try < 40; try++)); do
        pkill -KILL --session "$1" --newest nnet3- && return
        sleep 0.02
      done
      return 1
      ;;
  esac 2>/dev/null
}

survives() {
  local struck=0 whole=0 pid strikes=(0 0 0 0 0) kind attempt
  for ((attempt = 0; attempt < kills; attempt++)); do
    setsid scripts/train.sh --feats="scp:$data/feats.scp" --targets="ark:$data/ali.ark" --archives=4 --num-epochs=3 \
      --num-jobs-initial=2 --num-jobs-final=3 --minibatch-size=32 --initial-effective-lrate=0.001 "${tdnn[@]}" \
      --cleanup=false --momentum=0.5 "$work/killed" 2>>"$work/killed.log" &
    pid=$!
    sleep "$(r=$RANDOM awk 'BEGIN { r = ENVIRON["r"]; printf "%.3f", 0.05 + 0.5 * r / 32768 }')"
    kind=$((attempt % 5))
    if strike $pid $kind; then strikes[kind]=$((strikes[kind] + 1)) struck=$((struck + 1)); fi
    wait $pid 2>/dev/null
    models_are_whole killed || return 1
    if [[ -e $work/killed/final.raw ]]; then
      whole=$((whole + 1))
      rm -rf "${work:?}/killed"
    fi
  done
  train killed "${tdnn[@]}" --cleanup=false --momentum=0.5 || return 1
  models_are_whole killed || return 1
  echo "struck $struck times (${strikes[*]}) during $((whole + 1)) trainings" >"$work/struck"
}

replaces_workers() { # two of them are killed
  local pid worker struck=0
  (exec scripts/train.sh --feats="scp:$data/feats.scp" --targets="ark:$data/ali.ark" --archives=4 --num-epochs=3 --num-jobs-initial=2 \
    --num-jobs-final=3 --minibatch-size=32 --initial-effective-lrate=0.001 "${tdnn[@]}" --cleanup=false --momentum=0.5 "$work/replaced") \
    2>"$own/said" &
  pid=$!
  while kill -0 $pid 2>/dev/null; do
    sleep 0.2
    worker=$(pgrep --parent $pid --full 'nnet3-train --worker' | tail -n 1)
    if (( struck < 2 )) && [[ $worker ]] && kill -KILL "$worker" 2>/dev/null; then struck=$((struck + 1)); fi
  done
  wait $pid || { cat "$own/said"; return 1; }
  cat "$own/said"
  (( struck == 2 )) && grep -q 'was killed by signal 9, .* is done again, attempt 2 of 3' "$own/said" && ! grep -q '\.sh: line' "$own/said" &&
    cmp "$work/replaced/final.raw" "$work/plain/final.raw"
}

gives_up() { # each is killed at once
  local status
  mkdir -p "$work/deadly"
  # shellcheck disable=SC2016
  printf '%s\n' '#!/bin/sh' 'kill -KILL $$' >"$work/deadly/nnet3-train"
  chmod +x "$work/deadly/nnet3-train"
  PATH=$work/deadly:$PATH train given-up "${tdnn[@]}" 2>"$own/said"
  status=$?
  cat "$own/said"
  (( status == 1 )) && grep -q 'was killed by signal 9, .* at attempt 3 of 3: .*/log/train.0.1.log' "$own/said" &&
    grep -q 'stopped: a job failed' "$own/said" && ! grep -q '\.sh: line' "$own/said"
}

# They end as the training `plain`, which is there.
interruptions() {
  check "train.sh: killed at $kills random moments, the same bytes at the end" survives
  sed 's/^/        /' "$work/struck" 2>/dev/null
  if [[ -e /dev/nvidiactl ]]; then return; fi # Where there is a GPU, jobs have processes of their own.
  check "train.sh: a worker that is killed is replaced, and its job done again" replaces_workers
  check "train.sh: workers that are always killed end the training with a sentence" gives_up
}
