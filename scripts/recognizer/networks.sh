# Networks as layers, by size: a layer that sees five frames, then factorised TDNN layers.

# width, bottleneck, size before the output; the strides in time of the layers
network_shape() { # <size>
  case $1 in
    tiny) echo 160 40 80 "1 1 0 3 3" ;;
    small) echo 384 64 128 "1 1 1 0 3 3 3 3" ;;
    medium) echo 768 96 192 "1 1 1 0 3 3 3 3 3 3 3" ;;
    large) echo 1536 160 256 "1 1 1 0 3 3 3 3 3 3 3 3 3 3 3" ;;
  esac
}

# With an LDA transform of three frames before it, whose matrix the training estimates, the first layer sees one.
write_network() { # <size or file> <outputs> <lda|flat> <file>
  if [[ ! $(network_shape "$1") ]]; then
    sed "s/@TARGETS@/$2/g; s/@IVECTOR_DIM@/${dim-0}/g" "$1" >"$4"
    return
  fi
  local width bottleneck small strides stride layer=1 speaker='' first='input=Append(-2,-1,0,1,2) '
  read -r width bottleneck small strides <<<"$(network_shape "$1")"
  {
    if [[ $3 == lda && $ivectors == true ]]; then
      echo "input dim=$dim name=ivector"
      speaker=",ReplaceIndex(ivector,t,0)"
    fi
    echo "input dim=${input_dim-40} name=input"
    if [[ $3 == lda ]]; then
      echo "fixed-affine-layer name=lda input=Append(-1,0,1$speaker) affine-transform-file=lda.mat"
      first=
    fi
    echo "relu-batchnorm-layer name=tdnn1 ${first}dim=$width l2-regularize=0.01"
    for stride in $strides; do # lint: words of this script
      layer=$((layer + 1))
      echo "tdnnf-layer name=tdnnf$layer dim=$width bottleneck-dim=$bottleneck time-stride=$stride l2-regularize=0.01 bypass-scale=0.66"
    done
    echo "linear-component name=prefinal-l dim=$small l2-regularize=0.01 orthonormal-constraint=-1.0"
    echo "prefinal-layer name=prefinal-chain input=prefinal-l big-dim=$width small-dim=$small l2-regularize=0.01"
    echo "output-layer name=output include-log-softmax=false dim=$2 l2-regularize=0.005"
    echo "prefinal-layer name=prefinal-xent input=prefinal-l big-dim=$width small-dim=$small l2-regularize=0.01"
    echo "output-layer name=output-xent dim=$2 learning-rate-factor=5.0 l2-regularize=0.005"
  } >"$4"
}

num_pdfs() { tree-info --print-args=false "$1" 2>"$dir/log/tree_info.log" | sed -n 's/^num-pdfs //p'; } # <tree>

choose_by_hours() { # <option's value> <hours, size> … <size beyond>
  if [[ $1 ]]; then echo "$1"; return; fi
  shift
  while (( $# > 1 )); do
    if is_less "$hours" "$1"; then echo "$2"; return; fi
    shift 2
  done
  echo "$1"
}
