# A Job of Kubernetes for an array of tasks. Sourced by k8s.sh.

k8s() { kubectl --namespace="$namespace" "$@"; }

json_string() { # <text>
  local text=${1//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//$'\n'/\\n}
  printf '"%s"' "${text//$'\t'/\\t}"
}

# Names and labels: at most 63 small letters, digits and hyphens, of which a Job's pods and submissions add some.
as_label() { # <text>
  local sum
  sum=$(printf '%s' "$1" | cksum | cut -d' ' -f1)
  local text
  text=${1%-*}
  text=$(printf '%s' "${text,,}" | tr -c 'a-z0-9' - | cut -c1-24)
  text=nnet3-${text#"${text%%[!-]*}"}
  echo "${text%"${text##*[!-]}"}-$sum"
}

# Sets volumes and mounts, lists of JSON, from --volume, and the namespace.
find_volumes() {
  local entry number=0 kind source path
  local -a entries
  volumes= mounts=
  IFS=, read -ra entries <<<"$volume"
  for entry in "${entries[@]}"; do
    kind=${entry%%:*} path=/${entry##*:/}
    case $entry in
      claim:?*:/*)
        source=${entry#claim:}
        source="\"persistentVolumeClaim\": {\"claimName\": $(json_string "${source%:"$path"}")}" ;;
      nfs:?*:/*:/*)
        source=${entry#nfs:} source=${source%:"$path"}
        source="\"nfs\": {\"server\": $(json_string "${source%%:*}"), \"path\": $(json_string "${source#*:}")}" ;;
      host:/*) source="\"hostPath\": {\"path\": $(json_string "$path"), \"type\": \"Directory\"}" ;;
      *) refuse "--volume $entry: expected claim:NAME:/PATH, nfs:SERVER:/EXPORT:/PATH or host:/PATH" ;;
    esac
    [[ $path != *:* ]] || refuse "--volume $entry: expected ${kind}:…, with one path in pods"
    volumes+="${volumes:+, }{\"name\": \"volume-$number\", $source}"
    mounts+="${mounts:+, }{\"name\": \"volume-$number\", \"mountPath\": $(json_string "$path")}"
    number=$((number + 1))
  done
  [[ $namespace ]] || namespace=$(kubectl config view --minify --output='jsonpath={..namespace}' 2>/dev/null)
  namespace=${namespace:-default}
  [[ $namespace =~ ^[a-z0-9-]+$ ]] || refuse "--namespace $namespace: expected small letters, digits and hyphens"
}

# Kaldi's sizes are powers of two.
kubernetes_size() { # <size>
  case $1 in
    *[KkMmGgTt]) echo "${1%?}$(tr 'kmgt' 'KMGT' <<<"${1: -1}")i" ;;
    *) echo "$1" ;;
  esac
}

job_manifest() { # <number of tasks>
  local resources="\"cpu\": \"$num_threads\"" limits= deadline=
  if [[ $mem != 0 ]]; then
    limits="\"memory\": \"$(kubernetes_size "$mem")\""
    resources+=", $limits"
  fi
  (( gpu == 0 )) || limits+="${limits:+, }\"nvidia.com/gpu\": \"$gpu\""
  [[ -z $seconds ]] || deadline="\"activeDeadlineSeconds\": $seconds, "
  local parallelism=$1 # lint: whole: parallelism
  (( max_jobs_run == 0 || max_jobs_run > parallelism )) || parallelism=$max_jobs_run
  cat <<JSON
{"apiVersion": "batch/v1", "kind": "Job",
 "metadata": {"name": "$submission", "labels": {"nnet3-log": "$label"}},
 "spec": {"completions": $1, "parallelism": $parallelism, "completionMode": "Indexed", "backoffLimitPerIndex": 0,
  "ttlSecondsAfterFinished": 3600,
  "template": {"metadata": {"labels": {"nnet3-log": "$label"}},
   "spec": {"restartPolicy": "Never", ${deadline}"securityContext": {"runAsUser": $(id -u), "runAsGroup": $(id -g)},
    "volumes": [$volumes],
    "containers": [{"name": "job", "image": $(json_string "$image"), "command": ["bash", $(json_string "$spool/task.sh")],
     "workingDir": $(json_string "$PWD"), "volumeMounts": [$mounts],
     "resources": {"requests": {$resources}, "limits": {$limits}}}]}}}}
JSON
}

# Pods that wait for an image or settings may do so for ever.
say_what_pods_wait_for() {
  local reasons
  reasons=$(k8s get pods --selector="job-name=$submission" \
    --output='jsonpath={range .items[*]}{.status.containerStatuses[*].state.waiting.reason}{"\n"}{end}' 2>/dev/null |
    grep -E '^(ErrImagePull|ImagePullBackOff|InvalidImageName|CreateContainer.*Error|RunContainerError)' | sort -u | paste -sd' ')
  if [[ $reasons && $reasons != "${said_reasons-}" ]]; then
    echo "$runner: WARNING: pods of $submission wait: $reasons ($image)" >&2
    said_reasons=$reasons
  fi
}
