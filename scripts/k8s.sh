#!/usr/bin/env bash
# Runs jobs on a Kubernetes cluster; the convention is that of Kaldi's queue.pl and slurm.pl.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  cat <<'HELP'
usage: k8s.sh [options] [JOB=1:N] LOG COMMAND [ARGUMENT ...]
Submits a command, or N of them as one Indexed Job, with JOB replaced by 1 ... N in LOG and in the command, waits for the end,
and submits anew what failed or was lost. What they print is in LOG. Arguments without blanks are for the shell ('|', '&&',
'$[JOB+1]'), those with blanks are quoted. A pipe fails when any part of it fails. Status 0 if all jobs succeed. The folder that
it is called in and those of logs and data must be on volumes that pods mount under the same path. Pods run as the user who calls.
Needs kubectl, with a configuration for the cluster, and Kubernetes 1.29 or newer. e.g.:
  k8s.sh --image registry/nnet3 --volume claim:speech:/data --gpu 1 --mem 4G JOB=1:4 log/train.1.JOB.log nnet3-train 1.raw ark:egs.JOB.ark 2.JOB.raw

  --image NAME       the image of the container, with the programs on its PATH and bash (NNET3_K8S_IMAGE)
  --volume LIST      what pods mount, separated by commas: claim:NAME:PATH (a persistent volume claim), nfs:SERVER:EXPORT:PATH, or
                     host:PATH (a folder that all nodes have) (NNET3_K8S_VOLUME)
  --max-jobs-run N   at most so many at a time (no limit)
  --num-threads N    processors for a job (1)
  --mem SIZE         memory for a job, such as 4G or 500M (no limit)
  --gpu N            GPUs for a job, as nvidia.com/gpu (0)
  --time LIMIT       after which a job is killed, in minutes or as 4:00:00 (no limit)
  --retries N        how often to submit a failed job again (2)
  --namespace NAME   the namespace (that of kubectl's configuration)
  --patch FILE       what else the Job needs, such as a nodeSelector: YAML or JSON that is merged into it (NNET3_K8S_PATCH)
  --scripts FOLDER   where pods find the folder of this script (the same path as here); /usr/share/nnet3/scripts in our image
HELP
}

image=${NNET3_K8S_IMAGE-} volume=${NNET3_K8S_VOLUME-} max_jobs_run=0 num_threads=1 mem=0 gpu=0 time_limit= retries=2 namespace=
patch=${NNET3_K8S_PATCH-} scripts=$here
declare -A runner_options=([image]=image [volume]=volume [max-jobs-run]=max_jobs_run [num-threads]=num_threads [mem]=mem [gpu]=gpu
  [time]=time_limit [retries]=retries [namespace]=namespace [patch]=patch [scripts]=scripts)
source "$here/jobs/arguments.sh"
parse_arguments "$@"
check_shared_options
command -v kubectl >/dev/null || refuse "there is no kubectl here"
[[ $image ]] || refuse "which image? (--image, or NNET3_K8S_IMAGE)"
[[ $volume ]] || refuse "what do pods share with this machine? (--volume, or NNET3_K8S_VOLUME)"
[[ -z $patch || ( -f $patch && -r $patch ) ]] || refuse "--patch $patch: cannot be read"
if [[ $time_limit =~ ^([0-9]+):([0-9]{2}):([0-9]{2})$ ]]; then
  parts=("${BASH_REMATCH[@]:1}")
  number hours whole "--time $time_limit" "${parts[0]}" 0 1000000
  number minutes whole "--time $time_limit" "${parts[1]}" 0 59
  number seconds whole "--time $time_limit" "${parts[2]}" 0 59
  seconds=$((hours * 3600 + minutes * 60 + seconds))
elif [[ $time_limit =~ ^[0-9]+$ ]]; then
  number minutes whole --time "$time_limit" 0 100000000
  seconds=$((minutes * 60))
elif [[ -z $time_limit ]]; then seconds=
else refuse "--time $time_limit: expected minutes, or hours:minutes:seconds"
fi
[[ -z $seconds ]] || (( seconds > 0 )) || refuse "--time $time_limit: expected more than nothing"

source "$here/jobs/array.sh"
source "$here/jobs/kubernetes.sh"
find_volumes
make_spool
label=$(as_label "$name")
# Slurm hands the caller's environment over; here it is what programs and libraries look at.
while read -r variable; do
  if [[ $variable =~ ^(NNET3_[A-Z0-9_]*|OPENBLAS_NUM_THREADS|OMP_NUM_THREADS|LC_ALL)$ ]]; then printf 'export %s=%q\n' "$variable" "${!variable}"; fi
done < <(compgen -e) >"$spool/environment"
# A line for each task in a file: its index in the job, its number.
# shellcheck disable=SC2016
write_task '$(while read -r index task; do [[ $index != "$JOB_COMPLETION_INDEX" ]] || echo "$task"; done <'"$(printf %q "$spool/tasks"))" \
  "$scripts/jobs/job.sh" "$spool/environment"

submission=
submit() { # <task> …
  cancel # the last one has ended, but would stay to be looked at
  submission=$label-$(tail -c 7 <<<"${spool,,}")-$((++submissions))
  local task index=0
  for task; do echo "$((index++)) $task"; done >"$spool/tasks"
  job_manifest "$#" >"$spool/job.json"
  if [[ $patch ]]; then
    if ! kubectl patch --local --filename="$spool/job.json" --patch-file="$patch" --output=json >"$spool/patched.json" 2>"$spool/kubectl.log"
    then
      echo "$runner: --patch $patch: $(cat "$spool/kubectl.log")" >&2
      submission=
      return 1
    fi
    mv "$spool/patched.json" "$spool/job.json"
  fi
  # (What an older server does not know, such as a limit for each index, is an error and not ignored.)
  if ! kubectl create --raw "/apis/batch/v1/namespaces/$namespace/jobs?fieldValidation=Strict" --filename="$spool/job.json" \
    >/dev/null 2>"$spool/kubectl.log"; then
    echo "$runner: the cluster did not accept the job: $(cat "$spool/kubectl.log")" >&2
    submission=
    return 1
  fi
}

# A server that does not reply for a while says nothing about the tasks.
is_active() {
  local ended
  until ended=$(k8s get job "$submission" \
    --output='jsonpath={.status.conditions[?(@.status=="True")].type}' 2>"$spool/kubectl.log"); do
    if grep -q NotFound "$spool/kubectl.log"; then return 1; fi
    sleep 5
  done
  say_what_pods_wait_for
  [[ " $ended " != *" Complete "* && " $ended " != *" Failed "* ]]
}

cancel() { if [[ $submission ]]; then k8s delete job "$submission" --wait=false >/dev/null 2>&1; fi; }

cancel_earlier() { k8s delete jobs --selector="nnet3-log=$label" --wait=false >/dev/null 2>&1; }

submissions=0
run_array
