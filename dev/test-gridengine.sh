#!/usr/bin/env bash
# Usage: test-gridengine.sh QUEUE_PL
# Starts a Grid Engine cluster of this machine, with its own configuration in a temporary folder, and trains through it with
# scripts/train.sh and Kaldi's queue.pl (of a checkout, egs/wsj/s5/utils/parallel/queue.pl): the model has to be the one that jobs on this
# machine make, also when a job is deleted while it runs and the training is started again. Installs Grid Engine (Debian:
# gridengine-master, -exec, -client) if it is missing, and stops all that it started. Needs to be root, as the daemons do.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/values.sh"
plain_usage 1 1 "$@"
plain_name QUEUE_PL "$1"
queue_pl=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
export LC_ALL=C OPENBLAS_NUM_THREADS=1

work=$(mktemp -d "${TMPDIR:-/tmp}/test-gridengine.XXXXXX")
chmod 755 "$work"
source tests/train/cluster.sh
programs=/usr/lib/gridengine
shown_logs=("$work"/*.out "$work/sge/spool/qmaster/messages")
stop_cluster() {
  if [[ -e $work/sge/default/common/bootstrap ]]; then
    timeout 20 "$programs/qdel" -f -u '*' &>/dev/null
    eventually queue_is_empty
  fi
}
finish_at_exit
(( EUID == 0 )) || fail "only root can start Grid Engine's daemons"
[[ -r $queue_pl ]] || fail "there is no $queue_pl"
missing=()
for name in master exec client; do
  dpkg-query --show "gridengine-$name" &>/dev/null || missing+=("gridengine-$name")
done
command -v perl >/dev/null || missing+=(perl)
scripts/common/install_packages.sh "${missing[@]}" || exit 1
find_programs
slow_down_training

# ---- a cluster of this machine, under the name localhost ----------------------------------------------------------------
export SGE_ROOT=$work/sge SGE_CELL=default SGE_QMASTER_PORT=26444 SGE_EXECD_PORT=26445 SGE_ARCH
SGE_ARCH=$(/usr/share/gridengine/util/arch)
common=$SGE_ROOT/default/common
mkdir -p "$common" "$SGE_ROOT"/spool/{qmaster,execd} "$SGE_ROOT/database"
for name in bin lib util utilbin; do ln -s "/var/lib/gridengine/$name" "$SGE_ROOT/$name"; done
echo localhost >"$common/act_qmaster"
echo "localhost $(hostname)" >"$common/host_aliases"
cat >"$common/bootstrap" <<CONF
admin_user none
default_domain none
ignore_fqdn true
spooling_method berkeleydb
spooling_lib libspoolb
spooling_params $SGE_ROOT/database
binary_path $programs
qmaster_spool_dir $SGE_ROOT/spool/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
CONF
/usr/share/gridengine/scripts/init_cluster "$SGE_ROOT" default "$SGE_ROOT/database" root &>"$work/init.out" ||
  fail "the cluster was not set up: $(cat "$work/init.out")"

PATH=$programs:$PATH
# In the foreground, as children of this script.
SGE_ND=1 sge_qmaster &>"$work/qmaster.out" &
daemons+=($!)
eventually qconf -sh || fail "sge_qmaster did not start: $(cat "$work/qmaster.out")"
qconf -as localhost
mkdir "$work/conf"
qconf -sconf | sed "s,^execd_spool_dir.*,execd_spool_dir $SGE_ROOT/spool/execd,; s,^\(min_[ug]id\).*,\1 0,
  s,^load_report_time.*,load_report_time 00:00:02," >"$work/conf/global"
qconf -ssconf | sed 's/^schedule_interval.*/schedule_interval 0:0:1/; s/^\(flush_[a-z]*_sec\).*/\1 1/' >"$work/conf/scheduler"
{
  qconf -sc
  echo 'ram_free rf MEMORY <= YES NO 0 0'
  echo 'gpu g INT <= YES YES 0 0'
} >"$work/conf/complexes"
cat >"$work/conf/smp" <<'CONF'
pe_name smp
slots 99
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule $pe_slots
control_slaves FALSE
job_is_first_task TRUE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
CONF
# How many processors the machine has is none of a test's business: all.q runs four jobs at a time.
queue() { # <name> <jobs at a time>
  qconf -sq | sed "s/^qname.*/qname $1/; s/^hostlist.*/hostlist localhost/; s/^slots.*/slots $2/; s/^pe_list.*/pe_list smp/
    s/^load_thresholds.*/load_thresholds NONE/; s,^shell .*,shell /bin/bash," >"$work/conf/$1"
  qconf -Aq "$work/conf/$1"
}
{
  qconf -Mconf "$work/conf/global" && qconf -Msconf "$work/conf/scheduler" && qconf -Mc "$work/conf/complexes" &&
    qconf -Ap "$work/conf/smp"
} &>"$work/conf.out" || fail "Grid Engine did not take its configuration: $(cat "$work/conf.out")"
SGE_ND=1 sge_execd &>"$work/execd.out" &
daemons+=($!)
{ queue all.q 4 && queue g.q 2; } &>"$work/conf.out" || fail "Grid Engine did not take its queues: $(cat "$work/conf.out")"
eventually qconf -se localhost || fail "sge_execd did not start: $(cat "$work/execd.out")"
qconf -mattr exechost complex_values gpu=2,ram_free=8G localhost &>>"$work/conf.out"
is_up() { [[ $(qhost -h localhost | tail -n 1) =~ localhost.*[0-9]G ]]; }
eventually is_up || fail "the node did not come up: $(cat "$work/execd.out")"
qhost | sed 's/^/    /'

# ---- tests ----------------------------------------------------------------------------------------------------------
cat >"$work/queue.conf" <<'CONF'
command qsub -v PATH -cwd -S /bin/bash -j y -l arch=*64*
option mem=* -l ram_free=$0
option mem=0
option num_threads=* -pe smp $0
option num_threads=1
option max_jobs_run=* -tc $0
default gpu=0
option gpu=0 -q all.q
option gpu=* -l gpu=$0 -q g.q
CONF
printf 'export PATH=%q OPENBLAS_NUM_THREADS=1\n' "$PATH" >"$work/path.sh" # a job's shell may be a login shell, with a PATH of its own
runner=(perl "$queue_pl" --config "$work/queue.conf")
queue_is_empty() { [[ -z $(qstat -u '*') ]]; }

a_queue_pl_array() {
  (cd "$work" && "${runner[@]}" --mem 50M JOB=1:3 "$logs/a.JOB.log" echo number JOB \| sed 's/number/a number/') || return 1
  local i
  for i in 1 2 3; do grep -qx "a number $i" "$logs/a.$i.log" || return 1; done
}

# Deletes the jobs of iteration 1 as soon as one of them runs.
delete_jobs() {
  local job
  while sleep 0.05; do
    training_process 1 >/dev/null || continue
    job=$(qstat | awk '/train/ { print $1; exit }')
    if [[ $job ]] && qdel "$job"; then
      echo "deleted job $job, iteration 1" >"$work/deleted"
      return
    fi
  done
}

# queue.pl's jobs begin with the path.sh of the folder that it was called in.
train_on_cluster() { (cd "$work" && train cluster "${runner[*]} --mem 100M" --train-cmd-opts="--gpu 1"); }

stops() {
  delete_jobs &
  local striker=$!
  ! train_on_cluster 2>&1 | tee "$work/train.log"
  kill $striker 2>/dev/null
  wait $striker 2>/dev/null
  [[ -e $work/deleted && ! -e $work/cluster/final.raw ]] && grep -q "logs are in $work/cluster/log" "$work/train.log"
}

goes_on() {
  eventually queue_is_empty
  train_on_cluster 2>&1 | tee "$work/train.log"
  grep -q 'has 1 of 4 iterations already' "$work/train.log" && [[ -s $work/cluster/final.raw ]]
}

in_the_queue_for_gpus() { (( $(qacct -q g.q -j 2>/dev/null | grep -c '^jobname *train') >= 4 )); } # lint: a count

check "queue.pl: an array" a_queue_pl_array
make_training_data
check "train.sh by queue.pl: stops where a job was deleted, and says where the logs are" stops
sed 's/^/        /' "$work/deleted" 2>/dev/null
check "train.sh by queue.pl: goes on from there" goes_on
check "train.sh by queue.pl: training asked for GPUs" in_the_queue_for_gpus
check "train.sh by queue.pl: a good model (frame accuracy $(accuracy "$work/cluster"))" good
check "train.sh by queue.pl: the bytes that jobs on this machine make" same_as_here

summary
