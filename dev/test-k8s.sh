#!/usr/bin/env bash
# Usage: test-k8s.sh
# Tests scripts/k8s.sh with a stand-in for a Kubernetes cluster (tests/train/kubernetes.py): the API of the batch group as far as
# kubectl asks for it, pods that are processes of this machine. So it tests the runner and its calls of kubectl, not that a cluster
# with nodes, images and volumes does the same. Trains through it with scripts/train.sh: a job is deleted and a program is killed
# while they run; the model has to be the one that jobs on this machine make. Installs kubectl (Debian: kubernetes-client) if it
# is missing.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
plain_usage 0 0 "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
export LC_ALL=C OPENBLAS_NUM_THREADS=1

work=$(mktemp -d "${TMPDIR:-/tmp}/test-k8s.XXXXXX")
source tests/train/cluster.sh
shown_logs=("$work/cluster.log")
stop_cluster() { :; } # ends with its pods
finish_at_exit
command -v kubectl >/dev/null || scripts/common/install_packages.sh kubernetes-client || exit 1
find_programs
slow_down_training

python3 tests/train/kubernetes.py 4 >"$work/port" 2>"$work/cluster.log" &
daemons+=($!)
eventually test -s "$work/port" || fail "the stand-in did not start"
cat >"$work/config" <<CONFIG
{"apiVersion": "v1", "kind": "Config", "current-context": "test",
 "clusters": [{"name": "test", "cluster": {"server": "http://127.0.0.1:$(<"$work/port")"}}],
 "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "speech"}}],
 "users": [{"name": "test", "user": {}}]}
CONFIG
export KUBECONFIG=$work/config KUBECACHEDIR=$work/cache NNET3_K8S_IMAGE=nnet3 NNET3_K8S_VOLUME=host:$PWD,claim:speech:$work

runner=(scripts/k8s.sh)
queue_is_empty() { ! { kubectl get jobs --output=name; pgrep --full --list-full "job.sh $work"; } | grep .; }

cancel_a_task() { # <file>
  local job
  while sleep 0.05; do
    training_process 1 >/dev/null || continue
    job=$(kubectl get jobs --output=name | grep nnet3-train-1 | head -n 1)
    if [[ $job ]] && kubectl delete --wait=false "$job"; then
      echo "deleted $job" >"$1"
      return
    fi
  done
}

refused() { # <words of the message> <options> …
  if scripts/k8s.sh "${@:2}" "$logs/r.log" true 2>"$work/said"; then return 1; fi
  cat "$work/said"
  grep -q "$1" "$work/said" && [[ ! -e $work/logs/q ]]
}

with_a_patch() {
  echo '{"spec": {"template": {"spec": {"nodeSelector": {"kind": "large"}}}}}' >"$work/patch"
  scripts/k8s.sh --patch "$work/patch" "$logs/p.log" true || return 1
  echo '{"spec": {"template": {"spec": {"nodeSelectors": {"kind": "large"}}}}}' >"$work/patch"
  refused nodeSelectors --patch "$work/patch"
}

sees_its_environment() {
  NNET3_REQUIRE_GPU=1 scripts/k8s.sh --gpu 1 "$logs/e.log" echo require '$NNET3_REQUIRE_GPU' && grep -qx 'require 1' "$logs/e.log"
}

too_long() { # a time limit of one second, twice
  ! scripts/k8s.sh --retries 1 --time 0:00:01 "$logs/t.log" sleep 60 2>"$work/said" && grep -q 'Ended (code 143)' "$logs/t.log"
}

without_image() { # says why nothing happens, and goes on waiting
  scripts/k8s.sh --image missing "$logs/m.log" true 2>"$work/said" &
  local pid=$! status
  eventually grep -q 'wait: ImagePullBackOff' "$work/said"
  status=$?
  kill "$pid"
  wait "$pid"
  eventually queue_is_empty && (( status == 0 ))
}

not_mounted() { ! NNET3_K8S_VOLUME=host:/nowhere scripts/k8s.sh --retries 0 "$logs/n.log" true; }

check "k8s.sh: an array, with logs as Kaldi's scripts expect them" an_array '# Kubernetes pod .*, index [0-2]'
check "k8s.sh: a failing task is tried again, then named" a_failure
check "k8s.sh: so many jobs at a time" bounded
check "k8s.sh: SIGTERM deletes the jobs" interrupted
check "k8s.sh: the jobs of a call that was killed go with the next one" after_a_killed_call
check "k8s.sh: a time limit" too_long
check "k8s.sh: the job's own settings, and what the cluster refuses is an error" with_a_patch
check "k8s.sh: a volume that is none is an error" refused 'expected claim:' --volume /data
check "k8s.sh: pods that do not see the folder fail" not_mounted
check "k8s.sh: pods know what programs look at" sees_its_environment
check "k8s.sh: an image that is not there is said" without_image
check_training Kubernetes

summary
