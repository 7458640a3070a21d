# Checks of dev/test-train.sh: trainings frame by frame in all variants.

is_good() { # <name> [<accuracy>]
  local accuracy
  accuracy=$(figure "$1" accuracy)
  echo "accuracy $accuracy, expected ${2:-0.95}"
  a="$accuracy" b="${2:-0.95}" awk 'BEGIN { a = ENVIRON["a"]; b = ENVIRON["b"]; exit !(a >= b) }'
}

reaches() { # <accuracy> <name> <options> …
  train "${@:2}" && is_good "$2" "$1"
}

is_not_much_longer() { # nothing is left to do
  scripts/train.sh --help >/dev/null && train plain "${tdnn[@]}" --cleanup=false --momentum=0.5 &&
    cmp "$work/plain/final.raw" "$work/plain.final"
}

report_is_whole() {
  grep -q '100.0%' "$work/plain/report.html" && grep -q '<td>final</td><td>' "$work/plain/report.html" &&
    [[ $(grep -o '<svg' "$work/plain/report.html" | wc -l) == 6 ]]
}

refuses() { ! train "$@" 2>"$own/said"; cat "$own/said"; }
damaged_examples_are_named() { # with workers, and with processes for each job
  cp -r "$work/plain/egs" "$work/damaged"
  head -c 3000 "$work/plain/egs/egs.3.ark" >"$work/damaged/egs.3.ark"
  local options
  for options in "--cmd=run.sh" "--cmd=run.sh --max-jobs-run 4"; do
    rm -rf "$work/of-damaged"
    refuses of-damaged --feats= --targets= --egs-dir="$work/damaged" "${tdnn[@]}" --restart=true "$options" >/dev/null
    grep -q 'train\.[0-9.]*\.log' "$own/said" && grep -q 'ERROR.*egs.3.ark' "$own/said" && grep -q 'a job failed' "$own/said" || return 1
    ! ls "$work/of-damaged"/final.raw 2>/dev/null && grep -q "^# Ended (code 255) at" "$work/of-damaged"/log/train.1.*.log || return 1
  done
}

with_and_without_workers() { # (Lines of a job's several programs come in any order.)
  train processes "${tdnn[@]}" --cleanup=false --momentum=0.5 --cmd="run.sh --max-jobs-run 4" &&
    cmp "$work/plain/final.raw" "$work/processes/final.raw" &&
    diff <(sed '/^# \(Started\|Ended\|Acc\)/d; s/[0-9.e-]* seconds.*//; s/\/processes\//\/plain\//g' "$work/processes/log/train.3.1.log" | sort) \
      <(sed '/^# \(Started\|Ended\|Acc\)/d; s/[0-9.e-]* seconds.*//' "$work/plain/log/train.3.1.log" | sort)
}

dense_is_good() {
  train dense --xconfig="$work/dense.xconfig" --target-type=dense --targets="scp:$data/dense.scp" || return 1
  echo "objective $(figure dense objective)"
  x="$(figure dense objective)" awk 'BEGIN { x = ENVIRON["x"]; exit !(x > -0.08) }'
}

a_data_folder() { # <name> <options> …
  train "$1" "${tdnn[@]}" --feats="$work/data_folder" --cmvn-opts=--norm-vars=true "${@:2}" && is_good "$1" || return 1
  [[ $(<"$work/$1/cmvn_opts") == --norm-vars=true ]] || { echo "no cmvn_opts"; return 1; }
  grep -q 'apply-cmvn --norm-vars=true' "$work/$1"/log/{get_egs,train}.*.log || { echo "no normalisation"; return 1; }
  valid="$work/$1/data/valid" awk 'BEGIN { valid = ENVIRON["valid"]; while ((getline key < valid) > 0) kept[key] = 1 }
    $1 in kept { in_valid[$2] = 1; next } { in_train[$2] = 1 }
    END { for (u in in_valid) if (u in in_train) { print u " is in both sets"; exit 1 } }' "$work/data_folder/utt2uniq"
}

is_not_normalised() { # <name>: Kaldi's scripts are told so; they would normalise
  diff "$work/$1/cmvn_opts" - <<<"--norm-means=false --norm-vars=false"
}

an_acoustic_model() { # <name> <options> …
  train "$1" --targets= --ali-dir="$work/ali" --xconfig="$work/am.xconfig" "${@:2}" && is_good "$1" &&
    nnet3-am-info "$work/$1/final.mdl" | grep -qx 'prior-dimension: 22' && cmp "$work/ali/tree" "$work/$1/tree" &&
    cmp "$work/ali/phones.txt" "$work/$1/phones.txt" && is_not_normalised "$1" && [[ ! -e $work/$1/frame_subsampling_factor ]]
}

refuses_early() { # <part of a sentence> <train|train_chain> <name> <options> …: before data are prepared
  ! "${@:2}" 2>"$own/said" && cat "$own/said" && grep -qF -- "$1" "$own/said" && [[ ! -e $work/$3/data && ! -e $work/$3/phone_lm.fst ]]
}

# A folder of alignments with a change.
other_ali() { rm -rf "$work/other_ali"; cp -r "$work/ali" "$work/other_ali"; } # <name>
of_another_tree() {
  other_ali
  echo "ContextDependency 1 0 ToPdf TE 0 4 ( NULL TE -1 2 ( CE 0 CE 1 ) TE -1 2 ( CE 2 CE 3 ) TE -1 2 ( CE 4 CE 5 ) ) EndContextDependency" >"$work/other_ali/tree"
  refuses_early "other_ali/tree has 6 pdfs, but $work/other_ali/final.mdl has 22: they are of different systems" train early2 "${of_other_ali[@]}"
}

without_alignments() {
  other_ali
  rm "$work/other_ali/ali.1.gz"
  refuses_early "--ali-dir=$work/other_ali/ali.1.gz: cannot read it" train early3 "${of_other_ali[@]}"
}

every_third() { awk '{ line = $1; for (i = 2; i <= NF; i += 3) line = line " " $i; print line }'; }
of_every_third_frame() {
  other_ali
  gunzip -c "$work/ali/ali.1.gz" | every_third | gzip >"$work/other_ali/ali.1.gz"
  refuses_early "has a frame for every 3 frames of the features: expected --frame-subsampling-factor=3, found 1" train early4 "${of_other_ali[@]}"
}

# The training `plain` is there.
frames() {
  cp "$work/plain/final.raw" "$work/plain.final"
  check "train.sh: a report" report_is_whole
  check "train.sh: again: nothing to do" is_not_much_longer
  check "train.sh: the same seed gives the same bytes" \
    eval 'train twin "${tdnn[@]}" --cleanup=false --momentum=0.5 && cmp "$work/plain/final.raw" "$work/twin/final.raw"' # lint: words of this script
  check "train.sh: other options in the same folder are refused" \
    eval 'refuses plain "${tdnn[@]}" --cleanup=false --momentum=0.6 | grep -q -- --momentum=0.5' # lint: words of this script
  check "train.sh: unknown options are refused" eval 'refuses x --num-epoch=3 | grep -qF "unknown option --num-epoch (did you mean --num-epochs?)"' # lint: words of this script
  check "train.sh: options of nnet3-train that there are not are refused at the start" refuses_early "--train-opts: " train early8 "${tdnn[@]}" --train-opts=--momentumm=0.5
  check "train.sh: a table that is not there is named at the start" refuses_early "--feats=scp:$work/none.scp: cannot open $work/none.scp: no such file" train early9 "${tdnn[@]}" \
    --feats="scp:$work/none.scp"
  ali-to-post --print-args=false "ark:$data/ali.ark" "ark,scp:$work/targets.post,$work/targets.scp"
  check "train.sh: posteriors as targets are told from alignments at the start" refuses_early "these are posteriors: expected --target-type=post" \
    train early10 "${tdnn[@]}" --targets="ark:$work/targets.post"
  check "train.sh: alignments as targets are told from posteriors at the start" refuses_early "these are alignments (a number for each frame): expected" \
    train early11 "${tdnn[@]}" --target-type=post
  check "train.sh: values that make no sense are refused" eval 'refuses x "${tdnn[@]}" --srand=x | grep -q "whole number"' # lint: words of this script
  sed 's/dim=4/dim=5/' "$data/tdnn.xconfig" >"$work/five.xconfig"
  check "train.sh: features that do not fit the network are refused" \
    eval 'refuses five --xconfig="$work/five.xconfig" | grep -q "have 4 columns, but the network.s input has 5"' # lint: words of this script
  check "train.sh: a folder in which nothing was made yet is taken again" reaches 0.95 five "${tdnn[@]}"
  check "train.sh: features and targets through pipes" reaches 0.95 pipes "${tdnn[@]}" \
    --feats="ark:copy-feats scp:$data/feats.scp ark:- |" --targets="ark:copy-int-vector ark:$data/ali.ark ark:- |"
  check "train.sh: examples on the fly" reaches 0.95 fly "${tdnn[@]}" --on-the-fly=true
  check "train.sh: a frame of each example at a time" \
    reaches 0.95 frame "${tdnn[@]}" --frame-level=true --num-epochs=1 --chunk-width=4 --minibatch-size=128
  check "train.sh: validation data of their own, no combination" reaches 0.94 valid "${tdnn[@]}" \
    --valid-feats="scp:$work/valid_data/feats.scp" --valid-targets="ark:$work/valid_data/ali.ark" --do-final-combination=false
  check "train.sh: on examples that are there" eval \
    'train egs --feats= --targets= --egs-dir="$work/plain/egs" "${tdnn[@]}" --backstitch-training-scale=0.3 \
     --backstitch-training-interval=2 && is_good egs'
  check "train.sh: damaged examples are named" damaged_examples_are_named
  check "train.sh: a process for each job gives the same bytes and logs" with_and_without_workers
  check "train.sh: from a model" reaches 0.95 more --input-model="$work/plain/final.raw" --num-epochs=1 --remove-egs=true \
    --minibatch-size=64,32
  cat >"$work/lda.xconfig" <<'XCONFIG'
input dim=4 name=input
fixed-affine-layer name=lda input=Append(-2,-1,0,1,2) affine-transform-file=anywhere/lda.mat
relu-batchnorm-dropout-layer name=tdnn1 dim=16 dropout-proportion=0.0
output-layer name=output dim=3
XCONFIG
  check "train.sh: a transform of the input, dropout" eval \
    'reaches 0.94 lda --xconfig="$work/lda.xconfig" --dropout-schedule="0,0.2@0.3,0" && [[ -s $work/lda/lda.mat ]] &&
     grep -q "set-dropout-proportion name=\* proportion=0.1" "$work"/lda/log/train.*.log'
  cat >"$work/lstm.xconfig" <<'XCONFIG'
input dim=4 name=input
fast-lstmp-layer name=lstm cell-dim=16 recurrent-projection-dim=8 non-recurrent-projection-dim=8 delay=-1
output-layer name=output dim=3
XCONFIG
  check "train.sh: an LSTM" reaches 0.80 lstm --xconfig="$work/lstm.xconfig" --chunk-width=20,10 --chunk-left-context=5 \
    --chunk-left-context-initial=0 --deriv-truncate-margin=3 --shrink-value=0.99 --num-epochs=4 --num-jobs-initial=1 \
    --num-jobs-final=1 --minibatch-size=16
  sed 's/output-layer name=output dim=3/output-layer name=output dim=3 include-log-softmax=false objective-type=quadratic/' \
    "$data/tdnn.xconfig" >"$work/dense.xconfig"
  check "train.sh: dense targets" dense_is_good
  # A data folder: two speakers, and versions of utterances that must not be parted between training and validation.
  mkdir -p "$work/data_folder"
  cp "$data/feats.scp" "$work/data_folder"
  awk '{ print $1, NR % 2 ? "a" : "b" }' "$data/feats.scp" >"$work/data_folder/utt2spk"
  awk '{ print $1, "u" int(NR / 3) }' "$data/feats.scp" >"$work/data_folder/utt2uniq"
  awk '{ u[$2] = u[$2] " " $1 } END { for (s in u) print s u[s] }' "$work/data_folder/utt2spk" >"$work/data_folder/spk2utt"
  compute-cmvn-stats --spk2utt="ark:$work/data_folder/spk2utt" "scp:$data/feats.scp" \
    "ark,scp:$work/data_folder/cmvn.ark,$work/data_folder/cmvn.scp" 2>/dev/null
  check "train.sh: cmvn_opts of features as they are" is_not_normalised plain
  check "train.sh: a data folder with normalisation" a_data_folder folder
  check "train.sh: a data folder with normalisation, on the fly" a_data_folder folder-fly --on-the-fly=true
  # Classes 0, 1, 2 become transition-ids of the first three of 22 pdfs.
  mkdir -p "$work/ali"
  cp tests/data/am/transitions.mdl "$work/ali/final.mdl"
  cp tests/data/am/tree "$work/ali"
  echo "<eps> 0" >"$work/ali/phones.txt"
  copy-int-vector "ark:$data/ali.ark" ark,t:- 2>/dev/null | awk '{ for (i = 2; i <= NF; i++) $i = 2 * $i + 1; print }' |
    gzip >"$work/ali/ali.1.gz"
  sed 's/dim=3/dim=22/' "$data/tdnn.xconfig" >"$work/am.xconfig"
  check "train.sh: an acoustic model" an_acoustic_model am
  of_other_ali=(--targets= --ali-dir="$work/other_ali" --xconfig="$work/am.xconfig")
  check "train.sh: --ali-dir: a network with other outputs is refused at the start" refuses_early \
    "output has 3 columns, but $work/ali/tree has 22 pdfs: the output layers need dim=22" train early1 "${tdnn[@]}" --targets= --ali-dir="$work/ali"
  check "train.sh: --ali-dir: the tree of another system is refused at the start" of_another_tree
  check "train.sh: --ali-dir: a folder without alignments is refused at the start" without_alignments
  check "train.sh: --ali-dir: alignments of every third frame name the option" of_every_third_frame
  check "train.sh: an acoustic model, examples on the fly, no combination" \
    an_acoustic_model am-fly --on-the-fly=true --do-final-combination=false
}
